/* The systemd user unit that runs `halo live`: its path, its text, and its name. */
#ifndef HALO_SERVICE_UNIT_H
#define HALO_SERVICE_UNIT_H

#include "base/options.h"

struct service_unit {
    const char *name; /* the user's: "halo" */
    char *folder;     /* ~/.config/systemd/user, or in $XDG_CONFIG_HOME */
    char *path;       /* of the unit */
    char *link;       /* by which systemd starts it at login */
};

/* Errors: the name, no home folder, memory. Free it in any case. */
MUST_CHECK enum status service_unit_init(struct service_unit *unit, const char *name);
void service_unit_free(struct service_unit *unit);

bool service_unit_exists(const struct service_unit *unit);

/* Errors: it is not there or not halo's. */
MUST_CHECK enum status service_unit_check_ours(const struct service_unit *unit);

/* Write it, with these arguments for halo live, which runs in the current folder. Errors: it is
 * there (without `force`) or not halo's, writing. */
MUST_CHECK enum status service_unit_write(const struct service_unit *unit,
                                          const struct string_list *arguments, bool force);

/* Remove it, its link and folders that are empty then. Errors: it is not there or not halo's. */
MUST_CHECK enum status service_unit_remove(const struct service_unit *unit);

/* The line that starts halo. The caller frees it; NULL: there is none. */
char *service_unit_command(const struct service_unit *unit);

/* A word in systemd's quotes, where "$" is not followed by the name of a variable. The caller frees
 * it; NULL: memory. */
char *service_unit_quote(const char *word, bool is_program);

#endif
