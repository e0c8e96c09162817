/* Numbers in listings of equalisers, as programs of all countries write them: -6.5 dB, -6,5 dB, and
 * frequencies with separators between thousands (1,155 Hz, 8.000 Hz). Threads: any. */
#ifndef HALO_EQ_NUMBER_H
#define HALO_EQ_NUMBER_H

#include <stdbool.h>

enum { EQ_NUMBER_MOST = 40 }; /* characters */

/* Replace no-break and thin spaces, of UTF-8 or Latin-1, by blanks, and remove those that separate
 * thousands, in place. */
void eq_number_plain_blanks(char *text);

/* The number at the start of *rest, behind blanks, with or without its unit (NULL: none); *rest
 * advances past both. The decimal mark is a point or a comma. False: not a number; *rest stays. */
bool eq_number_read(char **rest, const char *unit, double *value);

/* The same of a frequency in Hz. As Equalizer APO does, one separator before exactly three last
 * digits is taken as one between thousands, unless the digits before it are 0 or more than three;
 * then, or where Equalizer APO reads another frequency, `grouped` holds the number as it is
 * written, else it is empty. */
bool eq_number_read_hertz(char **rest, double *value, char grouped[EQ_NUMBER_MOST + 1]);

/* The frequency that Equalizer APO reads in a number; 0: none. */
double eq_number_hertz_elsewhere(const char *number);

/* Whether *rest begins with a word, in any case, behind blanks; then it advances past it. */
bool eq_number_take(char **rest, const char *word);

/* Whether the text before `end`, behind which something was read, ends with a word or unit in just
 * this spelling, blanks aside. */
bool eq_number_is_exact(const char *end, const char *word);

#endif
