/* --help: a command's usage, subcommands and options. */
#include "base/program.h"
#include "base/wrapped_text.h"

#include <string.h>

enum { HEAD_WIDTH = 29 };

static void print_option(const struct option_row *row)
{
    char head[64];
    char letter[8] = "    ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(head, sizeof head, "  %s--%s%s%s%s", letter, row->name,
             row->optional   ? "[="
             : row->argument ? " "
                             : "",
             row->argument ? row->argument : "", row->optional ? "]" : "");
    if (strlen(head) >= HEAD_WIDTH) {
        printf("%s\n", head);
        head[0] = '\0';
    }
    wrapped_print(stdout, head, HEAD_WIDTH, row->help, strlen(row->help));
}

static void print_commands(const struct command *command)
{
    if (!command->usage)
        printf("usage: %s WHAT [arguments]\n\n", command->name);
    for (const struct command *const *own = command->commands; *own; own++)
        if ((*own)->summary)
            printf("  %-12s %s\n", program_short_name(*own), (*own)->summary);
    if (!command->usage)
        printf("\n%s WHAT --help describes a command.\n", command->name);
}

static void print_all(const struct command *command)
{
    const struct option_group *group, *before = NULL;
    const struct option_row *row;
    if (command->usage)
        wrapped_print_text(stdout, command->usage);
    if (command->commands)
        print_commands(command);
    for (size_t i = 0; command->usage && (row = program_option(command, i, &group)); i++) {
        if (!command->groups && i == 0)
            puts("\noptions:");
        if (group && group != before && group->heading)
            printf("\n%s:\n", group->heading);
        print_option(row);
        before = group;
    }
    if (command->ending) {
        putchar('\n');
        wrapped_print_text(stdout, command->ending);
    }
    if (command->print_ending)
        command->print_ending();
}

void program_print_help(const struct command *command, enum help help)
{
    if (help == HELP_BRIEF && command->brief)
        wrapped_print_text(stdout, command->brief);
    else
        print_all(command);
}
