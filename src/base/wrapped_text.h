/* Text for 80 columns: --help. Words are separated by blanks or line feeds. */
#ifndef HALO_WRAPPED_TEXT_H
#define HALO_WRAPPED_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Print `before`, and the first `length` bytes of `text` beside it, from column `indent` on. Where
 * a | ends a line, the word goes on in the next. */
void wrapped_print(FILE *stream, const char *before, size_t indent, const char *text,
                   size_t length);

/* Print lines as they are; where one is too long, wrap the paragraph that it is in: the lines of
 * the same indent. */
void wrapped_print_text(FILE *stream, const char *text);

#endif
