/* Convolution of a picture (rows x columns) with a 2-D mask, a batch of rows at a time.
 *
 * Consecutive rows lie `pitch` floats apart; channels are planar, one pointer each. A convolution
 * is created for one mask, width and boundary. It extends the columns itself; the caller supplies
 * the rows around the batch:
 *
 *   in[c] points to the first row to convolve. convolve2d_before rows before it and
 *   floor(rows/2) rows after the last must be readable, at the same pitch.
 *   out[c] receives the requested rows. in and out must not overlap.
 *
 *   y[r][c] = sum over i, j of x[r - i + floor(rows/2)][c - j + floor(columns/2)] m[i][j]
 *
 * On one backend the result does not depend on the batch size, bit for bit. All backends agree
 * with a double-precision reference within -120 dB of max |x| times the sum of |m|.
 */
#ifndef HALO_CONVOLVE2D_H
#define HALO_CONVOLVE2D_H

#include "base/realtime.h"
#include "base/status.h"
#include "base/workers.h"
#include "design/mask2d.h"

/* Extension of the columns a b c d:
 *   zero       0 0 0 | a b c d | 0 0 0
 *   replicate  a a a | a b c d | d d d
 *   reflect    d c b | a b c d | c b a    (the end is not repeated; wide masks reflect repeatedly)
 */
enum convolve2d_boundary { CONVOLVE2D_ZERO, CONVOLVE2D_REPLICATE, CONVOLVE2D_REFLECT };

struct convolve2d_settings {
    const char *backend; /* "cpu", "cuda" or "auto" */
    size_t channels;
    size_t columns;   /* columns of the picture */
    size_t rows_most; /* the most rows of one call */
    double rows;      /* rows of the whole picture, which "auto" asks for; 0: unknown */
    enum convolve2d_boundary boundary;
    bool live;               /* the caller waits for each call */
    struct workers *workers; /* not owned; must outlive the convolution */
};

struct convolve2d_kind;

struct convolve2d {
    const struct convolve2d_kind *kind;
    struct convolve2d_settings settings;
    size_t before;      /* rows that the mask looks back */
    size_t after;       /* rows that the mask looks ahead */
    const char *notice; /* a message that the caller prints once and clears; or NULL */
};

struct convolve2d_kind {
    const char *name;
    /* Whether "auto", which takes the first kind that says yes, may select this one. NULL: yes. */
    bool (*suits)(const struct convolve2d_settings *settings, const struct mask2d *mask);
    /* Allocates the convolution and sets the kind's own members, after struct convolve2d. Does not
     * keep the mask. NULL: the kind is not in this build; only `name` is set. Errors: memory, the
     * device. */
    enum status (*create)(const struct convolve2d_settings *settings, const struct mask2d *mask,
                          struct convolve2d **convolve);
    void (*destroy)(struct convolve2d *convolve);
    /* Real-time; at most settings.rows_most rows. If a GPU fails, the CPU takes over (`notice`). */
    void (*process)(struct convolve2d *convolve, const float *const *in, size_t in_pitch,
                    float *const *out, size_t out_pitch, size_t rows);
};

extern const struct convolve2d_kind convolve2d_cpu;
extern const struct convolve2d_kind convolve2d_cuda;

/* Errors: memory, an unknown backend, a backend that is not available. */
MUST_CHECK enum status convolve2d_create(const struct convolve2d_settings *settings,
                                         const struct mask2d *mask, struct convolve2d **convolve);
void convolve2d_destroy(struct convolve2d *convolve);

/* Number of rows the mask looks back. */
size_t convolve2d_before(const struct mask2d *mask);

/* Real-time. */
HALO_REALTIME static inline void convolve2d_process(struct convolve2d *convolve,
                                                    const float *const *in, size_t in_pitch,
                                                    float *const *out, size_t out_pitch,
                                                    size_t rows)
{
    convolve->kind->process(convolve, in, in_pitch, out, out_pitch, rows);
}

/* The column that column `at`, maybe outside, takes its value from. -1: the value is zero. */
ptrdiff_t convolve2d_column(enum convolve2d_boundary boundary, ptrdiff_t at, size_t columns);

#endif
