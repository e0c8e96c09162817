/* Numbers as users and files write them: decimal, such as -6, .5 or 1e-3. Threads: any. */
#ifndef HALO_DECIMAL_H
#define HALO_DECIMAL_H

#include <stdbool.h>

/* Reads a number as strtod does, but no hexadecimal numbers, leading blanks, infinities or NaNs.
 * False: there is no number, and *end is `text`. A number beyond double becomes infinite. */
bool decimal_read(const char *text, char **end, double *value);

/* Parses the whole text. False: it is not a number. */
bool decimal_parse(const char *text, double *value);

#endif
