/* Makes foreign text (names of files and plugins, keys, tags) safe for terminals, tables and plots.
 * Characters that a terminal would obey (C0, DEL, C1, Unicode's overrides of direction) and bytes
 * that are not UTF-8 become visible, as \x1b. A name then is one line, and printf '%b' restores its
 * bytes. Threads: any. Not real-time. */
#ifndef HALO_PRINTABLE_H
#define HALO_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { PRINTABLE_MOST = 4096 }; /* the most bytes, with the 0, of a text that was changed */

/* Returns `text` itself if all is printable. Otherwise a copy in a buffer of this thread, cut at
 * PRINTABLE_MOST, which is valid until the fourth following call. */
const char *printable(const char *text);

/* Copies a text, cut to `size` bytes with the 0. `size` is at least 1. An escape is never cut. */
void printable_copy(char *to, size_t size, const char *text);

/* The length in bytes of the UTF-8 character at `text`. 0: there is none. */
size_t printable_utf8(const char *text);

/* Whether a control character is at `text`: C0, which includes the 0 at the end, DEL, C1 in UTF-8,
 * or an embedding, override or isolate of direction. */
bool printable_is_control(const char *text);

#endif
