/* A library that is opened by the first command that needs it, so that the others start without.
 *
 * The program is not linked with it. cmake/libraries.cmake lists what is used of each, and makes
 * FOLDER/NAME_library.h of that, which includes the library's own headers. Where it is included the
 * functions are called by their own names, through pointers that library_open sets, all of them at
 * once: nothing is bound in a real-time step. Before that they are NULL. As when linked, what the
 * program or a preloaded library defines comes first. A library stays open until the process ends.
 * Threads: any.
 */
#ifndef HALO_LIBRARY_H
#define HALO_LIBRARY_H

#include "base/status.h"

#include <stdatomic.h>

enum { LIBRARY_FILES_MOST = 8 };

struct library {
    const char *title;   /* for messages */
    const char *package; /* of this system, that has its first file; empty: unknown */
    const char *files[LIBRARY_FILES_MOST]; /* in the order of linking; NULL ends them */
    const char *const *names;              /* of functions and data */
    size_t count;
    void *symbols; /* `count` pointers, in the order of names */
    void *handles[LIBRARY_FILES_MOST];
    atomic_bool is_open;
};

/* Open it, if it is not open. Errors (one line): it is not installed, or lacks a function. */
MUST_CHECK enum status library_open(struct library *library);

/* The same without a line. */
bool library_is_there(struct library *library);

/* The same for one of several ways to do something, which may need none (NULL). Where it is missing
 * and no user `named` that way, the line is a note and *status is OK: the others are left. */
bool library_of_choice(struct library *library, bool named, enum status *status);

/* What it may have beside the list, its own libraries included; NULL: nothing of that name. */
void *library_symbol(const struct library *library, const char *name);

#endif
