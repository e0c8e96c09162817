/* Commands with their tables of options: halo, halo render, halo mask show. A command is a `const
 * struct command` at the end of its file and lists its subcommands. Threads: the main one. */
#ifndef HALO_PROGRAM_H
#define HALO_PROGRAM_H

#include "base/options.h"

#include <stdio.h>

struct option_group {
    const char *heading;           /* in --help; NULL: continues the group before */
    const struct option_row *rows; /* NULL: `make_rows` is used */
    const struct option_row *(*make_rows)(void);
    size_t offset; /* place of the rows' struct in the command's options */
    /* Parses rows that have no parser. Gets the struct at `offset`. */
    enum status (*parse)(void *options, const struct option_row *row, const char *value);
};

/* OPTION_GROUP: groups of a command with one table of options. OPTION_ARGUMENTS: its arguments. */
#define OPTION_GROUP(ROWS)                                                                         \
    (const struct option_group[])                                                                  \
    {                                                                                              \
        {.heading = "options", .rows = ROWS}, {0}                                                  \
    }
#define OPTION_ARGUMENTS(...)                                                                      \
    (const struct option_row[])                                                                    \
    {                                                                                              \
        __VA_ARGS__, {0}                                                                           \
    }

struct command {
    const char *name;           /* Full name, such as "halo mask show". */
    const char *summary;        /* One line. NULL: no list names the command. */
    const char *brief;          /* Text of --help. NULL: --help prints all, like --help all. */
    const char *usage;          /* Text before the options. NULL: made from the commands. */
    const char *ending;         /* Text after the options, or NULL. */
    void (*print_ending)(void); /* Prints more after `ending`. NULL: nothing. */
    /* In order; NULL: none. An argument of one word may also be an option: a row for its field. */
    const struct option_row *arguments;
    const struct option_group *groups; /* ends with {0}; --help is added automatically */
    const char *surplus; /* advice on surplus arguments, or a file as a subcommand; or NULL */
    const struct command *const *commands; /* subcommands, NULL-terminated, or NULL */

    size_t size;          /* size of the struct of options */
    const void *defaults; /* initial values; NULL: zeros */
    enum status (*run)(void *options);
    void (*free)(void *options);                /* frees what the options point to; NULL: nothing */
    enum status (*main)(int argc, char **argv); /* used instead of `run`; reads its own arguments */
};

/* Finds the command that argv names, parses its options and runs it. For --help, or the word help
 * before or after the command's name, prints its help. Errors: usage, memory, the command's. */
MUST_CHECK enum status program_run(const struct command *command, int argc, char **argv);

/* Stores the value of the option with that long name. A flag's value is NULL. Errors (usage): there
 * is no such option, or it does not take the value. */
MUST_CHECK enum status program_set(const struct command *command, void *options, const char *name,
                                   const char *value);

/* Option number `index` of a command; the last is --help, then NULL. *group: NULL for --help. */
const struct option_row *program_option(const struct command *command, size_t index,
                                        const struct option_group **group);

/* The last word of a command's name, such as "show". */
const char *program_short_name(const struct command *command);

#endif
