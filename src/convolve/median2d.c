#include "convolve/median2d.h"

#include "signal/median.h"

#include <stdlib.h>
#include <string.h>

enum { LANES = MEDIAN_LANES };

/* A worker's scratch for one row along frequency, in LANES segments; lane k runs over segment k. */
struct median2d_row {
    int32_t *window;
    float *laid;  /* the row with its extension */
    float *lanes; /* the row, place by place, with the segments side by side */
};

struct median2d {
    struct median2d_settings settings;
    size_t tiles;   /* tiles of LANES columns */
    size_t segment; /* columns of a segment, for the median along frequency */
    size_t width;   /* width of a row with its extension */
    int32_t *windows;
    struct median2d_row *scratch; /* one for each worker */
    size_t workers;
};

struct median2d_job {
    struct median2d *median;
    const float *const *in;
    float *const *out;
    size_t pitch;
    size_t rows;
    size_t changed;
};

HALO_REALTIME static size_t window_count(size_t extent)
{
    return (extent - 1) * LANES;
}

/* ---- along time: a lane is a column ---- */

static void run_tile(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct median2d_job *job = context;
    const struct median2d *median = job->median;
    size_t extent = median->settings.over_rows, back = extent / 2 * job->pitch;
    size_t channel = piece / median->tiles, at = piece % median->tiles * LANES;
    int32_t *window = median->windows + piece * window_count(extent);
    for (size_t r = 0; r < job->rows; r++) {
        const float *row = job->in[channel] + at + r * job->pitch;
        if (r == job->changed)
            median_lanes_fill(window, extent, row - back, job->pitch);
        median_lanes_step(window, extent, row + back, row - back,
                          job->out[channel] + at + r * job->pitch);
    }
}

void median2d_along_time(struct median2d *median, const float *const *in, float *const *out,
                         size_t pitch, size_t rows, size_t changed)
{
    struct median2d_job job = {median, in, out, pitch, rows, changed};
    workers_run(median->settings.workers, median->settings.channels * median->tiles, run_tile,
                &job);
}

/* ---- along frequency: a lane is a segment of the row ---- */

static void lay_out(const struct median2d *median, const float *row, float *laid)
{
    const struct median2d_settings *settings = &median->settings;
    size_t half = settings->over_columns / 2, columns = settings->columns;
    memcpy(laid + half, row, columns * sizeof *row);
    for (size_t k = 0; k + columns < median->width; k++) {
        size_t to = k < half ? k : k + columns;
        ptrdiff_t from =
            convolve2d_column(settings->boundary, (ptrdiff_t)to - (ptrdiff_t)half, columns);
        laid[to] = from < 0 ? 0 : row[from];
    }
}

static void run_row(void *context, size_t piece, size_t worker)
{
    const struct median2d_job *job = context;
    const struct median2d *median = job->median;
    const struct median2d_row *scratch = &median->scratch[worker];
    size_t extent = median->settings.over_columns, segment = median->segment;
    size_t channel = piece / job->rows, start = piece % job->rows * job->pitch;
    float *out = job->out[channel] + start, results[LANES];
    lay_out(median, job->in[channel] + start, scratch->laid);
    for (size_t p = 0; p < segment + extent - 1; p++)
        for (size_t l = 0; l < LANES; l++)
            scratch->lanes[p * LANES + l] = scratch->laid[l * segment + p];
    median_lanes_fill(scratch->window, extent, scratch->lanes, LANES);
    for (size_t p = 0; p < segment; p++) {
        const float *oldest = scratch->lanes + p * LANES;
        median_lanes_step(scratch->window, extent, oldest + (extent - 1) * LANES, oldest, results);
        for (size_t l = 0; l < LANES && l * segment + p < median->settings.columns; l++)
            out[l * segment + p] = results[l];
    }
}

void median2d_along_frequency(struct median2d *median, const float *const *in, float *const *out,
                              size_t pitch, size_t rows)
{
    struct median2d_job job = {median, in, out, pitch, rows, rows};
    workers_run(median->settings.workers, median->settings.channels * rows, run_row, &job);
}

/* ---- life cycle ---- */

void median2d_reset(struct median2d *median)
{
    size_t windows = median->settings.channels * median->tiles;
    memset(median->windows, 0,
           windows * window_count(median->settings.over_rows) * sizeof *median->windows);
}

static bool make_row(const struct median2d *median, struct median2d_row *row)
{
    size_t extent = median->settings.over_columns;
    row->window = calloc(window_count(extent) + 1, sizeof *row->window);
    row->laid = calloc(median->width, sizeof *row->laid);
    row->lanes = calloc((median->segment + extent - 1) * LANES, sizeof *row->lanes);
    return row->window && row->laid && row->lanes;
}

enum status median2d_create(const struct median2d_settings *settings, struct median2d **result)
{
    struct median2d *median = calloc(1, sizeof *median);
    if (!median)
        return fail_memory("medians");
    median->settings = *settings;
    median->tiles = median->segment = (settings->columns + LANES - 1) / LANES;
    median->width = median->segment * LANES + settings->over_columns - 1;
    median->workers = workers_count(settings->workers);
    median->windows =
        calloc(settings->channels * median->tiles * window_count(settings->over_rows) + 1,
               sizeof(int32_t));
    median->scratch = calloc(median->workers, sizeof *median->scratch);
    bool complete = median->windows && median->scratch;
    for (size_t w = 0; complete && w < median->workers; w++)
        complete = make_row(median, &median->scratch[w]);
    if (!complete) {
        median2d_destroy(median);
        return fail_memory("medians");
    }
    *result = median;
    return STATUS_OK;
}

void median2d_destroy(struct median2d *median)
{
    if (!median)
        return;
    for (size_t w = 0; median->scratch && w < median->workers; w++) {
        free(median->scratch[w].window);
        free(median->scratch[w].laid);
        free(median->scratch[w].lanes);
    }
    free(median->scratch);
    free(median->windows);
    free(median);
}
