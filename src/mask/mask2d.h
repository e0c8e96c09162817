/* A two-dimensional mask: rows of coefficients, convolved with a picture of rows and columns.
 *
 * In sound the picture is a spectrogram: rows run from past to future, columns from low to high
 * frequency. True convolution, the origin in the middle, floor(n / 2) of each dimension:
 *
 *   y[r][c] = sum over i, j of x[r - i + floor(rows/2)][c - j + floor(columns/2)] m[i][j]
 *
 * so that row 0 of the mask weighs what is floor(rows/2) rows later, and its last row what was rows
 * - 1 - floor(rows/2) rows before; the same holds for columns. The response to an impulse is the
 * mask as it is written. Textbook kernels slide the mask unflipped: the same with the mask rotated
 * by 180 degrees.
 *
 * Coefficients are linear. Immutable. Threads: created on one, then read by many.
 */
#ifndef HALO_MASK2D_H
#define HALO_MASK2D_H

#include "base/status.h"

#include <stdio.h>

enum {
    MASK2D_TAPS_MOST = 16384, /* 64 KB of coefficients: what a GPU's constant memory holds */
};

struct mask2d {
    char *name; /* what the user called it */
    size_t rows;
    size_t columns;
    float *taps;       /* row after row */
    bool is_separable; /* to float accuracy: taps[i][j] = down[i] across[j] */
    float *down;       /* `rows` of them; NULL where it is not separable */
    float *across;     /* `columns` of them, or NULL */
};

/* Errors: no coefficient, or more than MASK2D_TAPS_MOST. */
MUST_CHECK enum status mask2d_check_size(const char *name, size_t rows, size_t columns);

/* From `rows` x `columns` numbers, of which it takes a copy; finds out whether it is separable.
 * Errors: its size, NaN, infinity, memory. */
MUST_CHECK enum status mask2d_create(const char *name, size_t rows, size_t columns,
                                     const float *taps, struct mask2d **mask);
void mask2d_destroy(struct mask2d *mask);

/* ---- as text ----
 *
 * Text: a row a line, numbers separated by blanks, commas or semicolons, decimals with a point,
 * `#` begins a comment. All rows are equally long. Lines are rows of time from past to future as
 * an impulse is answered, numbers are columns from low to high frequency: see mask2d.h. A file is
 * called NAME.mask2d.
 *
 *   # what it is
 *   0.25 0.5 0.25
 */

/* Errors, with the file and the line: no such file, not text, no number, a row longer or shorter
 * than the first, NaN or infinity, more coefficients than MASK2D_TAPS_MOST. */
MUST_CHECK enum status mask2d_load(const char *file, struct mask2d **mask);

/* The same from a stream, which stays the caller's; `file` is for messages. */
MUST_CHECK enum status mask2d_read(const char *file, FILE *stream, struct mask2d **mask);

/* With a comment that says where its origin is and how it is read. */
void mask2d_write(const struct mask2d *mask, FILE *stream);

/* Whether a word names a mask of two dimensions: by its ending, or one that is made. */
bool mask2d_is_named(const char *word);

/* From words as spec_split makes them: a file, or a specification, whose options are removed from
 * them. */
MUST_CHECK enum status mask2d_from_spec(char **spec, struct mask2d **mask);

/* ---- from a specification: gaussian2d:7x7,sigma=1.5 ----
 *
 * Sizes are rows (time) x columns (frequency). A new kind is a function and a row of the table in
 * mask2d_design.c. */

/* Whether `word` begins with a kind's name. */
bool mask2d_design_is_spec(const char *word);

/* words[0] is the spec; its own options are taken out of the others. Errors (usage). */
MUST_CHECK enum status mask2d_design_make(char **spec, struct mask2d **mask);

void mask2d_design_print_kinds(FILE *stream);

#endif
