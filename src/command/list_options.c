/* halo list-options: the options of all commands as text, from which the build makes the shell
 * completion (completions/) and the man page (docs/man_page.awk). Each line has an option, with
 * fields separated by tabs:
 *
 *   COMMAND  command|option|argument  HEADING LETTER NAME ARGUMENT VALUE CHOICES HELP
 *
 *   COMMAND  key   OF  -  NAME      -  VALUE  CHOICES  of the spec that OF takes, after a comma
 *   COMMAND  made  OF  -  BEGINNING -  KEYS            what such a spec may begin with but a file,
 *                                                      and keys of its own
 *
 * OF is the name of the option or argument whose line follows. VALUE is file, choice (one of
 * CHOICES), list (several of them), any, or empty for none or one that can be left out: its
 * ARGUMENT is [=NAME]. */
#include "chain/stages.h"
#include "command/commands.h"

#include <string.h>

static void print_help(const char *help)
{
    putchar('\t');
    for (; help && *help; help++)
        putchar(*help == '\n' ? ' ' : *help);
    putchar('\n');
}

static const char *value_of(const struct option_row *row)
{
    if (row->optional)
        return "";
    if (row->is_file)
        return "file";
    if (option_choice(row, 0))
        return row->kind == OPTION_CHOICES ? "list" : "choice";
    return row->argument ? "any" : "";
}

/* Length of "lowpass:" in "lowpass:1000". */
static size_t beginning(const char *example)
{
    size_t length = strcspn(example, ":,");
    return length + (example[length] == ':');
}

static void print_keys(const char *command, const char *of, const struct option_row *keys)
{
    for (; keys && keys->name; keys++) {
        printf("%s\tkey\t%s\t\t%s\t\t%s\t", command, of, keys->name,
               option_choice(keys, 0) ? "choice" : "any");
        for (size_t i = 0; option_choice(keys, i); i++)
            printf("%s%s", i ? " " : "", option_choice(keys, i));
        puts("\t");
    }
}

/* If the value of an option or argument is a spec, prints the keys that it takes. */
static void print_spec(const char *command, const struct option_row *row)
{
    const char *example, *own = "";
    print_keys(command, row->name, row->keys);
    if (stage_ops_named(row->name))
        print_keys(command, row->name, stage_mix_rows);
    for (size_t i = 0; row->made_at && (example = row->made_at(i, &own)); i++) {
        printf("%s\tmade\t%s\t\t%.*s\t\trate=", command, row->name, (int)beginning(example),
               example);
        for (size_t length; *own; own += length + strspn(own + length, ", ")) {
            length = strcspn(own, ", ");
            printf(" %.*s=", (int)length, own);
        }
        puts("\t\t");
    }
}

static void print_option(const struct command *command, const char *heading,
                         const struct option_row *row)
{
    printf("%s\toption\t%s\t%.1s\t%s\t", command->name, heading, &row->letter, row->name);
    printf(row->optional ? "[=%s]\t%s\t" : "%s\t%s\t", row->argument ? row->argument : "",
           value_of(row));
    for (size_t i = 0; option_choice(row, i); i++)
        printf("%s%s", i ? " " : "", option_choice(row, i));
    print_help(row->help);
}

static void print_command(const struct command *command)
{
    const char *heading = "";
    const struct option_group *group;
    const struct option_row *row;
    printf("%s\tcommand\t\t\t%s\t\t\t", command->name, program_short_name(command));
    print_help(command->summary);
    for (const struct command *const *own = command->commands; own && *own; own++)
        if ((*own)->summary)
            print_command(*own);
    for (row = command->arguments; row && row->name; row++) {
        print_spec(command->name, row);
        printf("%s\targument\t\t\t%s\t\t%s\t\t\n", command->name, row->name, value_of(row));
    }
    for (size_t i = 0; (row = program_option(command, i, &group)); i++) {
        if (group && group->heading)
            heading = group->heading;
        print_spec(command->name, row);
        print_option(command, heading, row);
    }
}

static enum status run(void *options)
{
    (void)options;
    print_command(&command_halo);
    return STATUS_OK;
}

const struct command command_list_options = {
    .name = "halo list-options",
    .usage = "usage: halo list-options\n\n"
             "List the options of all commands in machine-readable form.",
    .run = run,
};
