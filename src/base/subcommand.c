#include "base/subcommand.h"

#include <stdio.h>
#include <string.h>

enum { NAMES_BYTES = 256 };

static void print_help(const char *command, const struct subcommand *table)
{
    printf("usage: %s WHAT [arguments]\n\n", command);
    for (const struct subcommand *row = table; row->name; row++)
        printf("  %-12s %s\n", row->name, row->help);
    printf("\n%s WHAT --help tells more.\n", command);
}

enum status subcommand_run(const char *command, const struct subcommand *table, int argc,
                           char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    for (const struct subcommand *row = table; row->name; row++)
        if (strcmp(what, row->name) == 0)
            return row->run ? row->run(argc - 1, argv + 1)
                            : fail(STATUS_FAILED,
                                   "this build has no %s %s; halo --version says "
                                   "what is missing",
                                   command, what);
    if (strcmp(what, "--help") == 0 || strcmp(what, "-h") == 0) {
        print_help(command, table);
        return STATUS_OK;
    }
    char names[NAMES_BYTES] = "";
    for (const struct subcommand *row = table; row->name; row++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s",
                 row == table ? "" : ", ", row->name);
    return fail(STATUS_USAGE, "%s has %s%s%s%s; %s --help tells more", command, names,
                *what ? ", but no '" : "", what, *what ? "'" : "", command);
}
