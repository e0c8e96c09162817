/* A two-dimensional mask: rows of coefficients, convolved with a picture of rows and columns.
 *
 * For sound the picture is a spectrogram: rows run from past to future, columns from low to high
 * frequency. It is true convolution, with the origin in the middle, floor(n / 2) of each dimension:
 *
 *   y[r][c] = sum over i, j of x[r - i + floor(rows/2)][c - j + floor(columns/2)] m[i][j]
 *
 * So row 0 of the mask weighs a later row of the picture: by floor(rows/2) rows. Columns are weighed
 * in the same way. The response to an impulse is the mask as it is written. Textbook kernels slide the mask
 * unflipped, which is this with the mask rotated by 180 degrees.
 *
 * Coefficients are linear. Immutable. Threads: created on one, then read by many.
 */
#ifndef HALO_MASK2D_H
#define HALO_MASK2D_H

#include "base/status.h"

#include <stdio.h>

enum {
    MASK2D_TAPS_MOST = 16384, /* 64 KB of coefficients, which fit a GPU's constant memory */
};

struct mask2d {
    char *name; /* the user's name for it */
    size_t rows;
    size_t columns;
    float *taps;       /* row after row */
    bool is_separable; /* taps[i][j] = down[i] across[j], to float accuracy */
    float *down;       /* `rows` values; NULL: not separable */
    float *across;     /* `columns` values; NULL: not separable */
};

/* Errors: no coefficient, or more than MASK2D_TAPS_MOST. */
MUST_CHECK enum status mask2d_check_size(const char *name, size_t rows, size_t columns);

/* Copies the taps and finds out whether they are separable. Errors: size, NaN, infinity, memory. */
MUST_CHECK enum status mask2d_create(const char *name, size_t rows, size_t columns,
                                     const float *taps, struct mask2d **mask);
void mask2d_destroy(struct mask2d *mask);

/* Reads NAME.mask2d: text with a row a line. Numbers are separated by blanks, commas or semicolons;
 * `#` begins a comment. Errors, with the file and the line: no such file, not text, not a number,
 * rows of different lengths, NaN or infinity, too many coefficients. */
MUST_CHECK enum status mask2d_load(const char *file, struct mask2d **mask);

/* Reads such text from a stream. `file` is its name for messages. */
MUST_CHECK enum status mask2d_read(const char *file, FILE *stream, struct mask2d **mask);

/* Writes the mask as text, with a comment about the origin. */
void mask2d_write(const struct mask2d *mask, FILE *stream);

/* Whether a word names a two-dimensional mask, by its ending or as a specification. */
bool mask2d_is_named(const char *word);

/* Loads a file or makes a specification. `spec`: its words, from which options are removed. */
MUST_CHECK enum status mask2d_from_spec(char **spec, struct mask2d **mask);

/* ---- specifications, such as gaussian2d:7x7,sigma=1.5; sizes: rows (time) x columns ----
 *
 * Whether `word` begins with the name of a kind.
 */
bool mask2d_design_is_spec(const char *word);

/* An example of each kind. *keys: the options of the kind. NULL: no more kinds. */
const char *mask2d_design_made_at(size_t index, const char **keys);

/* Harmonic/percussive separation by medians, such as median2d:17x31,part=percussive. It has no
 * coefficients; --spectral takes it in place of a mask.
 *
 * H is the median of each bin over `rows` of time, P the median of each row over `columns` of
 * frequency. A part's share is a soft mask, a^power / (a^power + b^power). The harmonic part has a
 * = H and b = margin P, the percussive part a = P and b = margin H. The residual is the rest. If
 * both a and b are 0, each part gets one half if margin is 1, otherwise nothing. D. FitzGerald,
 * "Harmonic/percussive separation using median filtering", 2010. The margin is from J. Driedger, M.
 * Mueller and S. Disch, "Extending harmonic-percussive separation of audio signals", 2014.
 */
enum separation_part { SEPARATION_HARMONIC, SEPARATION_PERCUSSIVE, SEPARATION_RESIDUAL };

struct separation {
    size_t rows, columns; /* odd */
    enum separation_part part;
    double power;
    double margin; /* at least 1 */
};

enum { SEPARATION_EXTENT_MOST = 511 };

/* in the order of enum separation_part; NULL-terminated */
extern const char *const separation_part_names[];

bool separation_is_spec(const char *word);

/* Errors: usage, memory. */
MUST_CHECK enum status separation_from_spec(char **spec, struct separation *separation);

void mask2d_design_print_kinds(FILE *stream);

#endif
