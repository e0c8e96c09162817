/* A library that is opened by the first command that needs it, so that others start without it.
 *
 * The program is not linked with it. cmake/libraries.cmake lists the functions used of each library
 * and makes FOLDER/NAME_library.h, which includes the library's own headers. A file that includes
 * it calls the functions by their own names, through pointers. library_open sets all pointers at
 * once, so nothing is bound in a real-time step. Before that they are NULL. As with a linked
 * library, definitions of the program or of a preloaded library come first. A library stays open
 * until the process ends. Threads: any.
 */
#ifndef HALO_LIBRARY_H
#define HALO_LIBRARY_H

#include "base/status.h"

#include <stdatomic.h>

enum { LIBRARY_FILES_MOST = 8 };

struct library {
    const char *title;   /* for messages */
    const char *package; /* package of this system with its first file; empty: unknown */
    const char *files[LIBRARY_FILES_MOST]; /* in the order of linking; NULL-terminated */
    const char *const *names;              /* names of its functions and data */
    size_t count;                          /* number of names */
    void *symbols;                         /* `count` pointers, in the order of `names` */
    void *handles[LIBRARY_FILES_MOST];
    atomic_bool is_open;
};

/* Opens the library, if it is not open. Errors (one line): not installed, or lacks a function. */
MUST_CHECK enum status library_open(struct library *library);

/* library_open without a message. */
bool library_is_there(struct library *library);

/* library_open for one of several ways to do something. NULL: this way needs no library. If the
 * library is missing and the user did not name this way (`named`), the message is a note and
 * *status is STATUS_OK, since the other ways are left. */
bool library_of_choice(struct library *library, bool named, enum status *status);

/* A function or data of the library, or of its own libraries, that is not in its list. NULL: there
 * is nothing of that name. */
void *library_symbol(const struct library *library, const char *name);

#endif
