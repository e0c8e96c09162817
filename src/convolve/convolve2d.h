/* Convolution of pictures by a mask of two dimensions, some rows at a time.
 *
 * A picture has rows, and a column for each bin; a row begins `pitch` floats after the one before.
 * Channels are planar: one pointer each. Every convolution is made for one mask, one width and one
 * edge; what lies beside the picture's columns follows from the edge, what lies before and
 * after its rows is there already, since whoever has the rows knows best:
 *
 *   in[c] points to the first row to be convolved. convolve2d_before rows before it and
 *   floor(rows/2) rows after the last are there to be read, at the same pitch.
 *   out[c] gets as many rows as are asked for. in and out do not overlap.
 *
 *   y[r][c] = sum over i, j of x[r - i + floor(rows/2)][c - j + floor(columns/2)] m[i][j]
 *
 * A row's result is the same to the bit however many rows come at a time, on one kind. All kinds
 * agree with a double-precision truth to -120 dB of the largest |x| times the sum of |m|.
 * Kinds are rows of a table (convolve2d.c): "cuda", "cpu".
 */
#ifndef HALO_CONVOLVE2D_H
#define HALO_CONVOLVE2D_H

#include "base/status.h"
#include "base/workers.h"
#include "mask/mask2d.h"

/* What lies beside a picture of the columns a b c d:
 *   zero       0 0 0 | a b c d | 0 0 0
 *   replicate  a a a | a b c d | d d d
 *   reflect    d c b | a b c d | c b a    (the end is not repeated; wider masks go on to and fro)
 */
enum convolve2d_boundary { CONVOLVE2D_ZERO, CONVOLVE2D_REPLICATE, CONVOLVE2D_REFLECT };

struct convolve2d_settings {
    const char *backend; /* a kind's name, or "auto" */
    size_t channels;
    size_t columns;   /* of the picture */
    size_t rows_most; /* in one call */
    double rows;      /* of the whole picture, for auto; 0: not known */
    enum convolve2d_boundary boundary;
    bool live;               /* each call is waited for */
    struct workers *workers; /* not owned; outlives the convolution */
};

struct convolve2d_kind;

struct convolve2d {
    const struct convolve2d_kind *kind;
    struct convolve2d_settings settings;
    size_t before;      /* rows */
    size_t after;       /* rows */
    const char *notice; /* what whoever drives it should print once and clear; NULL */
};

struct convolve2d_kind {
    const char *name;
    /* Whether auto should take it for this; it takes the first. NULL: always. */
    bool (*suits)(const struct convolve2d_settings *settings, const struct mask2d *mask);
    /* NULL: the kind is not in this build; nothing else is there but its name.
     * The mask is not kept. Fills in kind; the rest of struct convolve2d is convolve2d_create's.
     * Errors: memory, or it cannot work here. */
    enum status (*create)(const struct convolve2d_settings *settings, const struct mask2d *mask,
                          struct convolve2d **convolve);
    void (*destroy)(struct convolve2d *convolve);
    /* Real-time. At most settings.rows_most rows. One that fails (a GPU) has the CPU do it, then
     * and from then on, and says so in `notice`. */
    void (*process)(struct convolve2d *convolve, const float *const *in, size_t in_pitch,
                    float *const *out, size_t out_pitch, size_t rows);
};

extern const struct convolve2d_kind convolve2d_cpu;
extern const struct convolve2d_kind convolve2d_cuda;

/* Errors: memory, an unknown backend, one that cannot work here. */
MUST_CHECK enum status convolve2d_create(const struct convolve2d_settings *settings,
                                         const struct mask2d *mask, struct convolve2d **convolve);
void convolve2d_destroy(struct convolve2d *convolve);

/* Rows of the picture that a mask reaches back. */
size_t convolve2d_before(const struct mask2d *mask);

/* Real-time. */
static inline void convolve2d_process(struct convolve2d *convolve, const float *const *in,
                                      size_t in_pitch, float *const *out, size_t out_pitch,
                                      size_t rows)
{
    convolve->kind->process(convolve, in, in_pitch, out, out_pitch, rows);
}

/* Where column `at`, which may lie beside a picture of `columns`, has its value: a column of the
 * picture, or -1 for zero. */
ptrdiff_t convolve2d_column(enum convolve2d_boundary boundary, ptrdiff_t at, size_t columns);

#endif
