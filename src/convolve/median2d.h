/* The medians of a picture (rows x columns) along time and along frequency, a batch of rows at a
 * time.
 *
 * Rows lie `pitch` floats apart, a multiple of MEDIAN_LANES; channels are planar, one pointer each.
 * in[c] points to the first row to filter: floor(rows/2) rows before it, and as many after the last
 * of the batch, must be readable. Columns are extended as convolve2d.h says; the caller supplies
 * the rows. Cells are not negative and not NaN. in and out must not overlap.
 *
 *   along time       y[r][c] = the median of x[r - rows/2 .. r + rows/2][c]
 *   along frequency  y[r][c] = the median of x[r][c - columns/2 .. c + columns/2]
 *
 * Exact: the result does not depend on the batch size. Along time a batch continues where the one
 * before it ended. Threads: one caller. Processing and reset are real-time.
 */
#ifndef HALO_MEDIAN2D_H
#define HALO_MEDIAN2D_H

#include "base/realtime.h"
#include "base/status.h"
#include "base/workers.h"
#include "convolve/convolve2d.h"

struct median2d_settings {
    size_t channels;
    size_t columns;      /* columns of the picture */
    size_t over_rows;    /* rows of the median along time; odd */
    size_t over_columns; /* columns of the median along frequency; odd */
    enum convolve2d_boundary boundary;
    struct workers *workers; /* not owned; must outlive the medians */
};

struct median2d;

/* Errors: memory. */
MUST_CHECK enum status median2d_create(const struct median2d_settings *settings,
                                       struct median2d **median);
void median2d_destroy(struct median2d *median);

/* Sets the state to that after a picture of zeros. */
HALO_REALTIME void median2d_reset(struct median2d *median);

/* `changed`: the first row of the batch for which the caller changed rows that an earlier batch had
 * read. If it is `rows` or more, no such rows were changed. */
HALO_REALTIME void median2d_along_time(struct median2d *median, const float *const *in,
                                       float *const *out, size_t pitch, size_t rows,
                                       size_t changed);
HALO_REALTIME void median2d_along_frequency(struct median2d *median, const float *const *in,
                                            float *const *out, size_t pitch, size_t rows);

#endif
