/* Names in one line of a message: some twenty, and how many more there are. */
#ifndef HALO_SHORT_LIST_H
#define HALO_SHORT_LIST_H

#include <stddef.h>

enum { SHORT_LIST_BYTES = 1200, SHORT_LIST_MOST = 20 };

/* All zero: empty. */
struct short_list {
    char text[SHORT_LIST_BYTES];
    size_t count;
};

/* A name that does not fit any more is cut. */
void short_list_add(struct short_list *list, const char *name);

/* "gain, mix and 3 more", with `more` ("; halo plugins info tells all") where names are left out;
 * "none". Nothing is added after it. */
const char *short_list_text(struct short_list *list, const char *more);

#endif
