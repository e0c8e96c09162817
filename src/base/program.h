/* A program's commands, each with the tables of its options: halo, halo render, halo mask show.
 *
 * A command is a `const struct command` at the end of its file; those that have commands of
 * their own list them in `commands`. Threads: the main one.
 */
#ifndef HALO_PROGRAM_H
#define HALO_PROGRAM_H

#include "base/options.h"

#include <stdio.h>

struct option_group {
    const char *heading;           /* in --help; NULL: goes on with the group before */
    const struct option_row *rows; /* or: */
    const struct option_row *(*make_rows)(void);
    size_t offset; /* of the struct that the rows are of, in the command's options */
    /* For rows without a function of their own, given the struct at `offset`. */
    enum status (*parse)(void *options, const struct option_row *row, const char *value);
};

/* The groups of a command with one table of options, and a command's arguments. */
#define OPTION_GROUP(ROWS) (const struct option_group[]){{.heading = "options", .rows = ROWS}, {0}}
#define OPTION_ARGUMENTS(...) (const struct option_row[]){__VA_ARGS__, {0}}

struct command {
    const char *name;           /* in full: "halo mask show" */
    const char *summary;        /* a line; NULL: for halo itself and not in any list */
    const char *usage;          /* --help up to the options; NULL: made up from the commands */
    const char *ending;         /* --help behind the options, or NULL */
    void (*print_ending)(void); /* likewise, after that */
    const struct option_row *arguments;    /* what is not an option, in this order; NULL: none */
    const struct option_group *groups;     /* ends with {0}; --help itself comes last of all */
    const char *surplus;                   /* an advice for too many arguments, or NULL */
    const struct command *const *commands; /* its own, NULL-terminated, or NULL */

    size_t size;          /* of the struct of options */
    const void *defaults; /* what it begins as; NULL: zeros */
    enum status (*run)(void *options);
    void (*free)(void *options); /* what parsing and running left in there; NULL: nothing */
    enum status (*main)(int argc, char **argv); /* in place of these: reads its own arguments */
};

/* Find the command that argv names, parse its options and run it, or print its help. Errors:
 * usage, memory, the command's. */
MUST_CHECK enum status program_run(const struct command *command, int argc, char **argv);

/* A command's options in order, the last of them --help, then NULL; `group` becomes the one that
 * a row is of, NULL for --help. */
const struct option_row *program_option(const struct command *command, size_t index,
                                        const struct option_group **group);

/* A command's name without what it belongs to: "show". */
const char *program_short_name(const struct command *command);

#endif
