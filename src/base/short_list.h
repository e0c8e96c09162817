/* A list of up to 20 names for a message, and the number of further ones. */
#ifndef HALO_SHORT_LIST_H
#define HALO_SHORT_LIST_H

#include <stddef.h>

enum { SHORT_LIST_BYTES = 1200, SHORT_LIST_MOST = 20 };

/* All zero: empty. */
struct short_list {
    char text[SHORT_LIST_BYTES];
    size_t count;
};

/* Adds a name. A name that does not fit is cut. */
void short_list_add(struct short_list *list, const char *name);

/* The list as "gain, mix and 3 more", or "none". If names are left out, `more` follows, such as ";
 * see halo plugins info". Add no names afterwards. */
const char *short_list_text(struct short_list *list, const char *more);

#endif
