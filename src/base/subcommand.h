/* Commands that have commands of their own: halo mask show, halo plugins list, ... */
#ifndef HALO_SUBCOMMAND_H
#define HALO_SUBCOMMAND_H

#include "base/status.h"

struct subcommand {
    const char *name; /* NULL ends a table */
    const char *help; /* a line */
    enum status (*run)(int argc, char **argv); /* NULL: it is not in this build */
};

/* Run what argv[1] names, or print the table's help. `command` is for messages: "halo mask".
 * Errors: wrong usage; one that is not in
 * this build; the subcommand's. */
MUST_CHECK enum status subcommand_run(const char *command, const struct subcommand *table, int argc,
                                      char **argv);

#endif
