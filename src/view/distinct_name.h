/* One of several names, made short by what it has in common with the others.
 *
 * The folder that all are in is left out. What is still too long for its place loses the part in
 * which the name that is most like it is the same: "measured…left.wav", "measured…right.wav".
 * UTF-8. Threads: any.
 */
#ifndef HALO_DISTINCT_NAME_H
#define HALO_DISTINCT_NAME_H

#include <stddef.h>
#include <wchar.h>

enum { DISTINCT_NAME_BYTES = 400 };

/* names[which], in at most `columns` columns of a terminal. */
void distinct_name(const char *const *names, size_t count, size_t which, int columns,
                   char text[DISTINCT_NAME_BYTES]);

/* The next character of a text that is not empty, and its width in columns: a '?' for what cannot
 * be shown. The bytes it takes. */
size_t next_column(const char *text, mbstate_t *state, wchar_t *character, int *width);

#endif
