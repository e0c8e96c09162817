/* Text in 80 columns, for --help. Words are separated by blanks or line feeds. */
#ifndef HALO_WRAPPED_TEXT_H
#define HALO_WRAPPED_TEXT_H

#include <stddef.h>
#include <stdio.h>

/* Prints `before` and, beside it from column `indent` on, the first `length` bytes of `text`. If a
 * line ends with |, its last word continues in the next line. */
void wrapped_print(FILE *stream, const char *before, size_t indent, const char *text,
                   size_t length);

/* Prints lines as they are. Too long ones are wrapped with neighbours that have the same indent. */
void wrapped_print_text(FILE *stream, const char *text);

#endif
