/* Numbers as users and files write them: decimal, such as -6, .5 or 1e-3. Threads: any. */
#ifndef HALO_DECIMAL_H
#define HALO_DECIMAL_H

#include <stdbool.h>

/* As strtod, but neither hexadecimal numbers nor blanks, infinities and NaNs. False: there is no
 * number; *end is `text`. A number beyond double becomes infinite. */
bool decimal_read(const char *text, char **end, double *value);

/* The whole text. */
bool decimal_parse(const char *text, double *value);

#endif
