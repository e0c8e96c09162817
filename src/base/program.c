#include "base/program.h"

#include "base/suggest.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_LONG = 0x100, /* getopt values of rows, above all characters */
    OPTIONS_MOST = 128,
    NAMES_BYTES = 256,
    HEAD_WIDTH = 28,
};

const char *program_short_name(const struct command *command)
{
    const char *blank = strrchr(command->name, ' ');
    return blank ? blank + 1 : command->name;
}

const struct option_row *program_option(const struct command *command, size_t index,
                                        const struct option_group **group)
{
    static const struct option_row help = {
        .name = "help", .letter = 'h', .help = "print this help"};
    for (*group = command->groups; *group && ((*group)->rows || (*group)->make_rows); ++*group) {
        const struct option_row *row = (*group)->rows ? (*group)->rows : (*group)->make_rows();
        for (; row->name; row++)
            if (index-- == 0)
                return row;
    }
    *group = NULL;
    return index == 0 ? &help : NULL;
}

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
    for (const char *line = row->help; line; head[0] = '\0') {
        size_t length = strcspn(line, "\n");
        if (strlen(head) > HEAD_WIDTH) {
            printf("%s\n", head);
            head[0] = '\0';
        }
        printf("%-*s %.*s\n", HEAD_WIDTH, head, (int)length, line);
        line = line[length] ? line + length + 1 : NULL;
    }
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

static void print_help(const struct command *command)
{
    const struct option_group *group, *before = NULL;
    const struct option_row *row;
    if (command->usage)
        puts(command->usage);
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
    if (command->ending)
        printf("\n%s\n", command->ending);
    if (command->print_ending)
        command->print_ending();
}

struct parser {
    const struct command *command;
    void *options;
    const struct option_row *argument; /* the next one, or NULL */
    bool help;
    struct option longs[OPTIONS_MOST + 1];
    char shorts[2 * OPTIONS_MOST + 3];
};

static void fill_tables(struct parser *parser)
{
    const struct option_group *group;
    const struct option_row *row;
    struct option *next = parser->longs, *end = next + OPTIONS_MOST;
    char *shorts = stpcpy(parser->shorts, "-:"); /* arguments in order; ':' for a missing value */
    for (size_t i = 0; next < end && (row = program_option(parser->command, i, &group)); i++) {
        struct option option = {
            .name = row->name,
            .has_arg = row->optional   ? optional_argument
                       : row->argument ? required_argument
                                       : no_argument,
            .val = FIRST_LONG + (int)i,
        };
        *next++ = option;
        option.name = row->former_name;
        if (option.name && next < end)
            *next++ = option;
        if (row->letter)
            shorts += sprintf(shorts, "%c%s", row->letter, row->argument ? ":" : "");
    }
}

static const struct option_row *row_of(const struct parser *parser, int number,
                                       const struct option_group **group)
{
    if (number >= FIRST_LONG)
        return program_option(parser->command, (size_t)(number - FIRST_LONG), group);
    const struct option_row *row;
    for (size_t i = 0; (row = program_option(parser->command, i, group)); i++)
        if (row->letter == number)
            break;
    return row;
}

static enum status refuse_unknown(const struct parser *parser, const char *text)
{
    char word[64];
    struct suggest near;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
    suggest_init(&near, word);
    for (const struct option *option = parser->longs; option->name; option++) {
        char name[64];
        snprintf(name, sizeof name, "--%s", option->name);
        suggest_offer(&near, name);
    }
    const char *problem = strncmp(text, "--", 2) == 0 && strchr(text, '=')
                              ? "is not an option or takes no value"
                              : "is not an option";
    const char *names = suggest_text(&near);
    enum status status = fail(STATUS_USAGE, "%s %s%s%s %s --help lists them", text, problem, names,
                              *names ? "" : ";", parser->command->name);
    suggest_free(&near);
    return status;
}

static enum status refuse(const struct parser *parser, int number, char **argv)
{
    char letter[3] = {'-', (char)optopt, '\0'};
    const char *text = optopt > 0 && optopt < FIRST_LONG ? letter : argv[optind - 1];
    if (number == ':')
        return fail(STATUS_USAGE, "%s needs a value; %s --help lists them", text,
                    parser->command->name);
    return refuse_unknown(parser, text);
}

/* "IN and OUT" */
static const char *argument_names(const struct command *command, char names[NAMES_BYTES])
{
    names[0] = '\0';
    for (const struct option_row *row = command->arguments; row && row->name; row++)
        snprintf(names + strlen(names), NAMES_BYTES - strlen(names), "%s%s",
                 row == command->arguments ? "" : " and ", row->name);
    return *names ? names : command->commands ? "a command first" : "options only";
}

static enum status parse_argument(struct parser *parser, const char *value)
{
    const struct option_row *row = parser->argument;
    const struct command *command = parser->command;
    char names[NAMES_BYTES], help[NAMES_BYTES];
    if (row && row->name) {
        parser->argument += row->kind != OPTION_STRINGS;
        return option_store(row, parser->options, value);
    }
    snprintf(help, sizeof help, "see %s --help", command->name);
    return fail(STATUS_USAGE, "%s takes %s, not %s'%s'; %s", command->name,
                argument_names(command, names), row ? "also " : "", value,
                command->surplus ? command->surplus : help);
}

static enum status check_arguments(const struct parser *parser)
{
    const struct option_row *row = parser->argument;
    char names[NAMES_BYTES];
    if (parser->help || !row || !row->name || row->least == 0)
        return STATUS_OK;
    const struct string_list *list = (void *)((char *)parser->options + row->offset);
    if (row->kind == OPTION_STRINGS && list->count > 0)
        return STATUS_OK;
    return fail(STATUS_USAGE, "%s needs %s; see %s --help", parser->command->name,
                argument_names(parser->command, names), parser->command->name);
}

static enum status parse_option(struct parser *parser, int number, const char *value)
{
    const struct option_group *group;
    const struct option_row *row = row_of(parser, number, &group);
    if (!group) {
        parser->help = true;
        return STATUS_OK;
    }
    void *options = (char *)parser->options + group->offset;
    return row->kind == OPTION_PARSE && !row->parse ? group->parse(options, row, value)
                                                    : option_store(row, options, value);
}

static enum status parse(struct parser *parser, int argc, char **argv)
{
    enum status status = STATUS_OK;
    fill_tables(parser);
    opterr = 0;
    optind = 0; /* GNU: restart */
    while (status == STATUS_OK && !parser->help) {
        int number = getopt_long(argc, argv, parser->shorts, parser->longs, NULL);
        if (number == -1)
            break;
        if (number == '?' || number == ':')
            status = refuse(parser, number, argv);
        else if (number == 1)
            status = parse_argument(parser, optarg);
        else
            status = parse_option(parser, number, optarg);
    }
    for (int i = optind; status == STATUS_OK && !parser->help && i < argc; i++)
        status = parse_argument(parser, argv[i]); /* after -- */
    return status == STATUS_OK ? check_arguments(parser) : status;
}

static enum status run(const struct command *command, int argc, char **argv)
{
    struct parser parser = {.command = command, .argument = command->arguments};
    parser.options = calloc(1, command->size + 1);
    if (!parser.options)
        return fail_memory("options");
    if (command->defaults)
        memcpy(parser.options, command->defaults, command->size);
    enum status status = parse(&parser, argc, argv);
    if (status == STATUS_OK && parser.help)
        print_help(command);
    else if (status == STATUS_OK)
        status = command->run(parser.options);
    if (command->free)
        command->free(parser.options);
    for (const struct option_row *row = command->arguments; row && row->name; row++)
        if (row->kind == OPTION_STRINGS)
            free(((struct string_list *)(void *)((char *)parser.options + row->offset))->values);
    free(parser.options);
    return status;
}

static enum status refuse_command(const struct command *command, const char *word)
{
    char names[NAMES_BYTES] = "";
    struct suggest near;
    suggest_init(&near, word);
    for (const struct command *const *own = command->commands; *own; own++) {
        if (!(*own)->summary)
            continue;
        suggest_offer(&near, program_short_name(*own));
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "",
                 program_short_name(*own));
    }
    const char *meant = suggest_text(&near);
    enum status status;
    if (!*word)
        status = fail(STATUS_USAGE, "which command? %s has %s; see %s --help", command->name, names,
                      command->name);
    else if (*meant)
        status = fail(STATUS_USAGE, "%s has no command '%s'%s see %s --help", command->name, word,
                      meant, command->name);
    else
        status =
            fail(STATUS_USAGE, "%s has no command '%s'; it has %s", command->name, word, names);
    suggest_free(&near);
    return status;
}

enum status program_run(const struct command *command, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (command->main)
        return command->main(argc, argv);
    if (!command->commands || (command->run && (word[0] == '-' || !word[0])))
        return run(command, argc, argv);
    for (const struct command *const *own = command->commands; *own; own++)
        if (strcmp(program_short_name(*own), word) == 0)
            return program_run(*own, argc - 1, argv + 1);
    if (strcmp(word, "--help") != 0 && strcmp(word, "-h") != 0)
        return refuse_command(command, word);
    print_help(command->commands[1] ? command : command->commands[0]);
    return STATUS_OK;
}
