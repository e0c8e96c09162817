/* A short form of one of several names, which leaves out what it has in common with the others.
 *
 * A folder that all names are in is left out. If the name is still too long, the part that it has
 * in common with the name most like it is left out: "measured…left.wav", "measured…right.wav".
 * UTF-8. Threads: any. */
#ifndef HALO_DISTINCT_NAME_H
#define HALO_DISTINCT_NAME_H

#include <stddef.h>
#include <wchar.h>

enum { DISTINCT_NAME_BYTES = 400 };

/* Writes names[which] in at most `columns` columns of a terminal. */
void distinct_name(const char *const *names, size_t count, size_t which, int columns,
                   char text[DISTINCT_NAME_BYTES]);

/* Reads the next character of a text that is not empty, and its width in columns. A character that
 * cannot be displayed becomes '?'. Returns its number of bytes. */
size_t next_column(const char *text, mbstate_t *state, wchar_t *character, int *width);

#endif
