/* Commands with their tables of options: halo, halo render, halo mask show. A command is a `const
 * struct command` at the end of its file and lists its subcommands. Threads: the main one. */
#ifndef HALO_PROGRAM_H
#define HALO_PROGRAM_H

#include "base/options.h"

#include <stdio.h>

struct option_group {
    const char *heading;           /* in --help; NULL: continues the group before */
    const struct option_row *rows; /* or: */
    const struct option_row *(*make_rows)(void);
    size_t offset; /* of the struct that the rows are of, in the command's options */
    /* For rows without a parser, called with the struct at `offset`. */
    enum status (*parse)(void *options, const struct option_row *row, const char *value);
};

/* The groups of a command with one table of options, and a command's arguments. */
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
    const struct option_row *arguments; /* in this order; NULL: none. One that is a word may be an
                                         * option, too, whose row is for the same field */
    const struct option_group *groups;  /* ends with {0}; --help is added */
    const char *surplus;                /* advice on too many arguments, or on a file in the place
                                         * of a subcommand; or NULL */
    const struct command *const *commands; /* subcommands, NULL-terminated, or NULL */

    size_t size;          /* of the struct of options */
    const void *defaults; /* initial values; NULL: zeros */
    enum status (*run)(void *options);
    void (*free)(void *options);                /* free what it points to; NULL: nothing */
    enum status (*main)(int argc, char **argv); /* instead of `run`: reads its own arguments */
};

/* Find the command that argv names, parse its options and run it, or print its help: for --help, or
 * the word help before or after the command's name. Errors: usage, memory, the command's. */
MUST_CHECK enum status program_run(const struct command *command, int argc, char **argv);

/* Store a value, NULL for a flag, of the option of that long name. Errors (usage): there is no such
 * option, or what it says of the value. */
MUST_CHECK enum status program_set(const struct command *command, void *options, const char *name,
                                   const char *value);

/* Option `index` of a command, last --help, then NULL; `group` becomes its group, NULL for --help.
 */
const struct option_row *program_option(const struct command *command, size_t index,
                                        const struct option_group **group);

/* The last word of a command's name: "show". */
const char *program_short_name(const struct command *command);

#endif
