/* Masks of two dimensions as text, and from a user's words.
 *
 * Text: a row a line, numbers separated by blanks, commas or semicolons, decimals with a point,
 * `#` begins a comment. All rows are equally long. Lines are rows of time from past to future as
 * an impulse is answered, numbers are columns from low to high frequency: see mask2d.h. A file is
 * called NAME.mask2d.
 *
 *   # what it is
 *   0.25 0.5 0.25
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_MASK2D_FILE_H
#define HALO_MASK2D_FILE_H

#include "mask/mask2d.h"

/* Errors, with the file and the line: no such file, not text, no number, a row longer or shorter
 * than the first, NaN or infinity, more coefficients than MASK2D_TAPS_MOST. */
MUST_CHECK enum status mask2d_load(const char *file, struct mask2d **mask);

/* The same from a stream, which stays the caller's; `file` is for messages. */
MUST_CHECK enum status mask2d_read(const char *file, FILE *stream, struct mask2d **mask);

/* With a comment that says where its origin is and how it is read. */
void mask2d_write(const struct mask2d *mask, FILE *stream);

/* Whether a word names a mask of two dimensions: by its ending, or one that is made. */
bool mask2d_is_named(const char *word);

/* From words that spec_split has made: a file, or one that is made (mask2d_design.h), which takes
 * its options out of them. */
MUST_CHECK enum status mask2d_from_spec(char **spec, struct mask2d **mask);

#endif
