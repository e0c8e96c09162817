/* Text of others (names of files and plugins, keys, tags) for terminals, tables and plots: what a
 * terminal would obey (C0, DEL, C1, Unicode's overrides of direction) and bytes that are no UTF-8
 * become visible, as \x1b. Names so shown are of one line, and printf '%b' gives their bytes back.
 * Threads: any. Not real-time. */
#ifndef HALO_PRINTABLE_H
#define HALO_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>

enum { PRINTABLE_MOST = 4096 }; /* bytes, with the 0, of a text that had to be changed */

/* `text` itself if nothing has to change, else a copy in a buffer of this thread: cut at
 * PRINTABLE_MOST, and valid until the fourth next call. */
const char *printable(const char *text);

/* Copy, cut to `size` bytes with the 0, which is at least 1; an escape is never cut. */
void printable_copy(char *to, size_t size, const char *text);

/* The bytes of the UTF-8 character at `text`; 0: there is none. */
size_t printable_utf8(const char *text);

/* Whether a control character is at `text`: C0 and the 0 at its end, DEL, or in UTF-8 C1
 * or an embedding, override or isolate of direction. */
bool printable_is_control(const char *text);

#endif
