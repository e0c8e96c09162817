#include "base/program.h"

#include "base/suggest.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES_BYTES = 256, DEPTH_MOST = 2 /* of subcommands */ };

const char *program_short_name(const struct command *command)
{
    const char *blank = strrchr(command->name, ' ');
    return blank ? blank + 1 : command->name;
}

const struct option_row *program_option(const struct command *command, size_t index,
                                        const struct option_group **group)
{
    static const struct option_row help = {.name = "help", .letter = 'h', .help = "print help"},
                                   help_all = {.name = "help",
                                               .letter = 'h',
                                               .help = "print help; --help all: of all options"};
    for (*group = command->groups; *group && ((*group)->rows || (*group)->make_rows); ++*group) {
        const struct option_row *row = (*group)->rows ? (*group)->rows : (*group)->make_rows();
        for (; row->name; row++)
            if (index-- == 0)
                return row;
    }
    *group = NULL;
    return index > 0 ? NULL : command->brief ? &help_all : &help;
}

static enum status run(const struct command *command, int argc, char **argv)
{
    enum help help;
    void *options = calloc(1, command->size + 1);
    if (!options)
        return fail_memory("options");
    if (command->defaults)
        memcpy(options, command->defaults, command->size);
    enum status status = program_parse(command, argc, argv, options, &help);
    if (status == STATUS_OK && help)
        program_print_help(command, help);
    else if (status == STATUS_OK)
        status = command->run(options);
    if (command->free)
        command->free(options);
    for (const struct option_row *row = command->arguments; row && row->name; row++)
        if (row->kind == OPTION_STRINGS)
            free(((struct string_list *)(void *)((char *)options + row->offset))->values);
    free(options);
    return status;
}

/* Subcommands, at that depth, by their last word, as what to type behind `above`. */
static void offer_commands(struct suggest *near, const struct command *above,
                           const struct command *command, int depth)
{
    for (const struct command *const *own = command->commands; own && *own; own++) {
        if (!(*own)->summary)
            continue;
        if (depth > 1)
            offer_commands(near, above, *own, depth - 1);
        else
            suggest_offer_as(near, program_short_name(*own),
                             (*own)->name + strlen(above->name) + 1);
    }
}

static bool has_close(const struct suggest *near)
{
    return near->best[0].name && near->best[0].distance <= 1;
}

/* "version" for --version. */
static void offer_flags(struct suggest *near, const struct command *command)
{
    const struct option_group *group;
    const struct option_row *row;
    char shown[64];
    for (size_t i = 0; command->run && (row = program_option(command, i, &group)); i++) {
        snprintf(shown, sizeof shown, "--%s", row->name);
        suggest_offer_as(near, row->name, shown);
    }
}

static enum status refuse_command(const struct command *command, const char *word)
{
    char names[NAMES_BYTES] = "";
    struct suggest near;
    for (const struct command *const *own = command->commands; own && *own; own++)
        if ((*own)->summary)
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                     *names ? ", " : "", program_short_name(*own));
    if (!*word)
        return fail(CAUSE_USAGE, "which command? %s has %s; see %s --help", command->name, names,
                    command->name);
    suggest_init(&near, word);
    for (int depth = 1; depth <= DEPTH_MOST && !has_close(&near); depth++)
        offer_commands(&near, command, command, depth);
    offer_flags(&near, command);
    const char *meant = suggest_text(&near);
    enum status status;
    if (command->surplus && access(word, F_OK) == 0)
        status =
            fail(CAUSE_USAGE, "%s has no command '%s'; %s", command->name, word, command->surplus);
    else if (*meant || !*names)
        status = fail(CAUSE_USAGE, "%s has no command '%s'%s%s see %s --help", command->name, word,
                      meant, *meant ? "" : ";", command->name);
    else
        status = fail(CAUSE_USAGE, "%s has no command '%s'; it has %s", command->name, word, names);
    suggest_free(&near);
    return status;
}

static const struct command *find_command(const struct command *command, const char *word)
{
    for (const struct command *const *own = command->commands; own && *own; own++)
        if (strcmp(program_short_name(*own), word) == 0)
            return *own;
    return NULL;
}

static bool is_help(const char *word)
{
    return strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* halo help mask show, halo mask help show, halo --help mask show, halo help render all. */
static enum status help(const struct command *command, char **words)
{
    enum help asked = HELP_BRIEF;
    for (; *words; words++) {
        if (strcmp(*words, "all") == 0 && !words[1]) {
            asked = HELP_ALL;
            break;
        }
        const struct command *own = is_help(*words) ? command : find_command(command, *words);
        if (!own || (!own->summary && !own->usage))
            return refuse_command(command, *words);
        command = own;
    }
    if (command->main && !command->usage)
        return command->main(0, words);
    bool is_alone = !command->usage && command->commands && !command->commands[1];
    program_print_help(is_alone ? command->commands[0] : command, asked);
    return STATUS_OK;
}

enum status program_set(const struct command *command, void *options, const char *name,
                        const char *value)
{
    const struct option_group *group;
    const struct option_row *row;
    for (size_t i = 0; (row = program_option(command, i, &group)) && group; i++) {
        if (strcmp(row->name, name) != 0)
            continue;
        if ((row->argument != NULL) != (value != NULL) && !row->optional)
            return fail(CAUSE_USAGE, "\"%s\" %s", name,
                        row->argument ? "needs a value" : "is true or false");
        void *of_group = (char *)options + group->offset;
        return row->kind == OPTION_PARSE && !row->parse ? group->parse(of_group, row, value)
                                                        : option_store(row, of_group, value);
    }
    return fail(CAUSE_USAGE, "\"%s\" is not an option of %s", name, command->name);
}

enum status program_run(const struct command *command, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (command->main)
        return command->main(argc, argv);
    if (!command->commands)
        return run(command, argc, argv);
    const struct command *own = find_command(command, word);
    if (own)
        return program_run(own, argc - 1, argv + 1);
    if (is_help(word))
        return help(command, argv + 2);
    if (command->run && (command->arguments || word[0] == '-' || !word[0]))
        return run(command, argc, argv);
    return refuse_command(command, word);
}
