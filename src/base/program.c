#include "base/program.h"

#include "base/suggest.h"
#include "base/wrapped_text.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --help: prints a command's usage, subcommands and options. */

enum { HEAD_WIDTH = 29 };

enum help { HELP_NONE, HELP_BRIEF, HELP_ALL };

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

static void print_help(const struct command *command, enum help help)
{
    if (help == HELP_BRIEF && command->brief)
        wrapped_print_text(stdout, command->brief);
    else
        print_all(command);
}

/* Parses the options and arguments of a command, by getopt_long. */

enum {
    FIRST_LONG = 0x100, /* getopt's values for rows; greater than all characters */
    OPTIONS_MOST = 128,
    NAMES_BYTES = 256,
};

struct parser {
    const struct command *command;
    void *options;
    const struct option_row *argument; /* next argument, or NULL */
    enum help help;
    struct option longs[OPTIONS_MOST + 1];
    char shorts[2 * OPTIONS_MOST + 3];
};

static void fill_tables(struct parser *parser)
{
    const struct option_group *group;
    const struct option_row *row;
    struct option *next = parser->longs, *end = next + OPTIONS_MOST;
    /* '-': arguments in order; ':': report a missing value */
    char *shorts = stpcpy(parser->shorts, "-:");
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

static void offer_options(const struct parser *parser, struct suggest *near)
{
    const struct option_group *group;
    const struct option_row *row;
    char name[64];
    for (size_t i = 0; (row = program_option(parser->command, i, &group)); i++) {
        snprintf(name, sizeof name, "--%s", row->name);
        suggest_offer(near, name);
    }
}

/* Lists options that begin with `word`, as "--replay or --reproducible". Returns their number. */
static size_t list_begun(const struct parser *parser, const char *word, char names[NAMES_BYTES])
{
    size_t count = 0, length = strlen(word);
    names[0] = '\0';
    for (const struct option *option = parser->longs; option->name; option++)
        if (length > 2 && strncmp(option->name, word + 2, length - 2) == 0)
            snprintf(names + strlen(names), NAMES_BYTES - strlen(names), "%s--%s",
                     count++ ? " or " : "", option->name);
    return count;
}

static bool is_long(const struct parser *parser, const char *word)
{
    const struct option *option = parser->longs;
    while (option->name && (strncmp(word, "--", 2) != 0 || strcmp(option->name, word + 2) != 0))
        option++;
    return option->name;
}

static enum status refuse_unknown(const struct parser *parser, const char *text)
{
    char word[64], names[NAMES_BYTES];
    const char *command = parser->command->name;
    struct suggest near;
    snprintf(word, sizeof word, "%.*s", (int)strcspn(text, "="), text);
    if (is_long(parser, word))
        return fail(CAUSE_USAGE, "%s takes no value, not '%s'; see %s --help", word, text, command);
    if (list_begun(parser, word, names) > 1)
        return fail(CAUSE_USAGE, "%s is ambiguous; did you mean %s?", word, names);
    suggest_init(&near, word);
    offer_options(parser, &near);
    const char *meant = suggest_text(&near);
    enum status status =
        fail(CAUSE_USAGE, "%s is not an option%s%s %s --help%s lists them", text, meant,
             *meant ? "" : ";", command, parser->command->brief ? " all" : "");
    suggest_free(&near);
    return status;
}

static enum status refuse_missing(const struct parser *parser, const char *option,
                                  const struct option_row *row)
{
    return fail(CAUSE_USAGE, "%s needs a value: %s; see %s --help", option, row->argument,
                parser->command->name);
}

static enum status refuse(const struct parser *parser, int number, char **argv)
{
    const struct option_group *group;
    char letter[3] = {'-', (char)optopt, '\0'};
    const char *text = optopt > 0 && optopt < FIRST_LONG ? letter : argv[optind - 1];
    for (char **word = argv + optind - 1; word <= argv + optind && *word; word++)
        /* getopt read it as letters, one by one */
        if (word[0][0] == '-' && access(*word, F_OK) == 0)
            return fail(CAUSE_USAGE, "%s is taken for an option; for the file write ./%s", *word,
                        *word);
    if (number == ':')
        return refuse_missing(parser, text, row_of(parser, optopt, &group));
    return refuse_unknown(parser, text);
}

/* The names of the arguments, as "IN and OUT". */
static const char *argument_names(const struct command *command, char names[NAMES_BYTES])
{
    names[0] = '\0';
    for (const struct option_row *row = command->arguments;
         row && row->name && (row->kind != OPTION_STRINGS || row->least > 0); row++)
        snprintf(names + strlen(names), NAMES_BYTES - strlen(names), "%s%s",
                 row == command->arguments ? "" : " and ", row->name);
    return *names ? names : command->commands ? "a command first" : "options only";
}

/* An argument's field. An argument of one word may also be an option: a row for the same field. */
static const char **argument_field(const struct parser *parser, const struct option_row *argument)
{
    bool is_word = argument->kind == OPTION_STRING;
    return is_word ? (void *)((char *)parser->options + argument->offset) : NULL;
}

static const struct option_row *argument_of_option(const struct command *command,
                                                   const struct option_group *group,
                                                   const struct option_row *row)
{
    const struct option_row *argument = command->arguments;
    while (argument && argument->name &&
           (row->kind != OPTION_STRING || argument->kind != OPTION_STRING ||
            argument->offset != group->offset + row->offset))
        argument++;
    return argument && argument->name ? argument : NULL;
}

static enum status check_once(const struct parser *parser, const struct option_row *argument,
                              const char *value)
{
    const char **field = argument_field(parser, argument);
    if (!field || !*field)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "%s is given twice: '%s' and '%s'; see %s --help", argument->name,
                *field, value, parser->command->name);
}

/* Whether a value such as gain=3 was meant as --gain 3. It may also be a file of that name. */
static bool is_slip(const struct parser *parser, const char *value)
{
    char option[64];
    size_t length = strcspn(value, "=");
    snprintf(option, sizeof option, "--%.*s", (int)length, value);
    return length > 0 && value[length] && is_long(parser, option) && access(value, F_OK) != 0;
}

static enum status refuse_surplus(const struct parser *parser, const char *value)
{
    const struct command *command = parser->command;
    char names[NAMES_BYTES], advice[NAMES_BYTES];
    size_t length = strcspn(value, "=");
    if (is_slip(parser, value))
        snprintf(advice, sizeof advice, "did you mean --%.*s %s?", (int)length, value,
                 value + length + 1);
    else if (command->surplus)
        snprintf(advice, sizeof advice, "%s", command->surplus);
    else
        snprintf(advice, sizeof advice, "see %s --help", command->name);
    return fail(CAUSE_USAGE, "%s takes %s, not %s'%s'; %s", command->name,
                argument_names(command, names), parser->argument ? "also " : "", value, advice);
}

static enum status parse_argument(struct parser *parser, const char *value)
{
    const struct option_row *row = parser->argument;
    const char *command = parser->command->name;
    if (!row || !row->name || (row->kind == OPTION_STRINGS && is_slip(parser, value)))
        return refuse_surplus(parser, value);
    if (!*value)
        return fail(CAUSE_USAGE, "%s of %s is empty; see %s --help", row->name, command, command);
    TRY(check_once(parser, row, value));
    parser->argument += row->kind != OPTION_STRINGS;
    return option_store(row, parser->options, value);
}

static bool is_given(const struct parser *parser, const struct option_row *argument)
{
    const char **field = argument_field(parser, argument);
    const struct string_list *list = (void *)((char *)parser->options + argument->offset);
    return field ? *field != NULL : list->count > 0;
}

static enum status check_arguments(const struct parser *parser)
{
    const struct option_row *row = parser->argument;
    char names[NAMES_BYTES];
    while (row && row->name && (row->least == 0 || is_given(parser, row)))
        row++;
    if (parser->help || !row || !row->name)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "%s needs %s; see %s --help", parser->command->name,
                argument_names(parser->command, names), parser->command->name);
}

/* Whether a word in place of a value is an option. */
static bool is_option(const struct parser *parser, const char *word)
{
    const struct option_group *group;
    bool is_letter = word[0] == '-' && word[1] && !word[2];
    return strncmp(word, "--", 2) == 0 || (is_letter && row_of(parser, word[1], &group));
}

static enum status check_value(const struct parser *parser, const struct option_row *row,
                               const char *value, const char *word)
{
    char name[64];
    snprintf(name, sizeof name, "--%s", row->name);
    if (value && !*value)
        return refuse_missing(parser, name, row);
    if (value == word && is_option(parser, value))
        return fail(CAUSE_USAGE, "%s needs a value: %s, not the option %s; or write %s=%s", name,
                    row->argument, value, name, value);
    return STATUS_OK;
}

/* `word` is the last word that was read. */
static enum status parse_option(struct parser *parser, int number, const char *value,
                                const char *word)
{
    const struct option_group *group;
    const struct option_row *row = row_of(parser, number, &group);
    if (!group) {
        parser->help = HELP_BRIEF;
        return STATUS_OK;
    }
    TRY(check_value(parser, row, value, word));
    void *options = (char *)parser->options + group->offset;
    const struct option_row *argument = argument_of_option(parser->command, group, row);
    if (argument)
        TRY(check_once(parser, argument, value));
    return row->kind == OPTION_PARSE && !row->parse ? group->parse(options, row, value)
                                                    : option_store(row, options, value);
}

/* Length of a typographic dash, or a single dash, at the start of a word. 0: there is none. */
static size_t strange_dash(const char *word)
{
    static const char *const dashes[] = {"\u2013", "\u2014", "\u2212"};
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++)
        if (strncmp(word, dashes[i], strlen(dashes[i])) == 0)
            return strlen(dashes[i]);
    return word[0] == '-' && word[1] != '-';
}

/* Refuses words such as -force, which would be -f with the value "orce". */
static enum status check_dashes(const struct parser *parser, char **argv)
{
    for (char **word = argv; *word && strcmp(*word, "--") != 0; word++) {
        char option[64];
        size_t dash = strange_dash(*word), length = strcspn(*word, "=");
        snprintf(option, sizeof option, "--%.*s", (int)(length - dash), *word + dash);
        if (dash > 0 && length > dash + 1 && is_long(parser, option))
            return fail(CAUSE_USAGE, "%s is not an option; did you mean %s%s?", *word, option,
                        *word + length);
    }
    return STATUS_OK;
}

/* The value of an option. If it may be missing, and the command takes no arguments, the next word is
 * the value, unless that is an option. NULL: there is none. */
static const char *value_of(const struct parser *parser, int number, char **argv)
{
    const struct option_group *group;
    const struct option_row *row = row_of(parser, number, &group);
    const char *next = argv[optind];
    if (optarg || !row->optional || parser->command->arguments || !next || next[0] == '-')
        return optarg;
    optind++;
    return next;
}

static enum status parse_all(struct parser *parser, int argc, char **argv)
{
    fill_tables(parser);
    enum status status = check_dashes(parser, argv);
    opterr = 0;
    optind = 0; /* makes GNU getopt restart */
    while (status == STATUS_OK && !parser->help) {
        int number = getopt_long(argc, argv, parser->shorts, parser->longs, NULL);
        if (number == -1)
            break;
        const char *word = argv[optind - 1];
        if (number == '?' || number == ':')
            status = refuse(parser, number, argv);
        else if (number == 1)
            status = parse_argument(parser, optarg);
        else
            status = parse_option(parser, number, value_of(parser, number, argv), word);
    }
    if (parser->help && optind < argc && strcmp(argv[optind], "all") == 0)
        parser->help = HELP_ALL;
    for (int i = optind; status == STATUS_OK && !parser->help && i < argc; i++)
        status = parse_argument(parser, argv[i]); /* arguments after -- */
    return status == STATUS_OK ? check_arguments(parser) : status;
}

/* Parses the words of a command into `options`, which has the defaults. *help: --help or --help all
 * was there, and the words after it were not read. Errors: usage, those of parsers. */
static enum status parse(const struct command *command, int argc, char **argv, void *options,
                         enum help *help)
{
    struct parser parser = {.command = command, .options = options, .argument = command->arguments};
    enum status status = parse_all(&parser, argc, argv);
    *help = parser.help;
    return status;
}

enum { DEPTH_MOST = 2 /* of subcommands */ };

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
    enum status status = parse(command, argc, argv, options, &help);
    if (status == STATUS_OK && help)
        print_help(command, help);
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

/* Offers subcommands at that depth by their last word. Suggests the text to type after `above`. */
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

/* Offers flags for a word without dashes, as --version for "version". */
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

/* Prints help for the words of halo help mask show, halo --help mask show, halo help render all. */
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
    print_help(is_alone ? command->commands[0] : command, asked);
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
