#include "cells.h"

#include "convolve/convolver.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double BOUND_DB = -130; /* relative to max|x| sum|h|, for every signal and mask */
static const double PEAK_DB = -125; /* relative to the peak of the truth, for noise through noise */

struct workers *cells_crew(size_t count)
{
    struct workers *workers;
    ck_assert_int_eq(workers_create(count, &workers), STATUS_OK);
    return workers;
}

struct filter *cells_make(const char *backend, const struct mask *mask, size_t block, size_t taps,
                          struct workers *workers)
{
    char name[32];
    const char *slash = strchr(backend, '/'), *way = slash ? slash + 1 : NULL;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(backend, "/"), backend);
    struct convolver_settings settings = {
        .backend = name, .block = block, .taps = taps, .workers = workers};
    if (way && strcmp(way, "resident") == 0)
        settings.gpu.mode = GPU_MODE_RESIDENT;
    else if (way && strcmp(way, "graph") == 0)
        settings.gpu.mode = GPU_MODE_GRAPH;
    else if (way && strcmp(way, "live") == 0)
        settings.live = true;
    else
        settings.gpu.kernel = way;
    struct filter *filter;
    ck_assert_int_eq(convolver_create(&settings, mask, &filter), STATUS_OK);
    return filter;
}

void cells_expect_within(const struct block *out, double *const *truth, const struct mask *mask,
                         const struct block *x, bool noise, const char *what)
{
    struct truth_error error = stream_error(out, truth, mask, x);
    double bound = truth_error_bound_db(&error), peak = truth_error_peak_db(&error);
    if (getenv("HALO_TEST_SHOW"))
        printf("%7.1f %7.1f dB  %s\n", bound, peak, what);
    ck_assert_msg(bound <= BOUND_DB, "%s: error %.1f dB of max|x| sum|h|", what, bound);
    if (noise)
        ck_assert_msg(peak <= PEAK_DB, "%s: error %.1f dB of the peak", what, peak);
}

void cells_check(const char *backend, size_t taps, size_t block, size_t channels, size_t n,
                 struct workers *workers)
{
    char what[160];
    snprintf(what, sizeof what, "%s, %zu taps, blocks of %zu, %zu channels, %zu frames", backend,
             taps, block, channels, n);
    struct mask *mask = truth_noise_mask(taps + 7, channels, taps);
    struct block x = stream_noise(taps + block, channels, n);
    double **truth = truth_render(mask, x.data, n);
    struct filter *filter = cells_make(backend, mask, block, 0, workers);
    ck_assert_uint_eq(filter->tail, taps - 1);
    ck_assert_uint_eq(filter->latency, 0);
    struct block out = stream_through(filter, x.data, n, n + taps - 1);
    ck_assert_msg(convolver_failures(filter) == 0, "%s: the GPU was given up", what);
    if (n > 0)
        cells_expect_within(&out, truth, mask, &x, n > taps, what);
    for (size_t c = 0; n == 0 && c < channels; c++)
        for (size_t i = 0; i < out.frames; i++)
            ck_assert_msg(out.data[c][i] == 0, "%s: sound out of silence", what);
    filter_destroy(filter);
}

void cells_check_lengths(const char *backend, size_t taps, size_t block, size_t channels,
                         struct workers *workers)
{
    const size_t lengths[] = {0, 1, block - 1, block, block + 1, 3 * (taps + block) + 7};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        cells_check(backend, taps, block, channels, lengths[i], workers);
}

/* ---- sounds whose output comes near max|x| sum|h| all the time ---- */

static const double near_hz[] = {0, 50, 200, 20, 9001, 0};

static float near_sample(enum cells_near signal, size_t i)
{
    double level = signal == NEAR_LOST ? 0.51 : 0.9; /* just above a power of two */
    double value = level * cos(2 * acos(-1) * near_hz[signal] * (double)i / 48000);
    return signal == NEAR_SQUARE ? copysignf(0.9f, (float)value) : (float)value;
}

/* Noise of one sign, for a carrier in phase with it, or now and then a tap beside which the others
 * are lost, one by one, in a sum in single precision. */
static struct mask *near_mask(enum cells_near signal, size_t channels, size_t taps)
{
    struct mask *mask = truth_noise_mask(taps, channels, taps);
    for (size_t i = 0; i < mask->columns * taps; i++) {
        if (signal == NEAR_LOST)
            mask->coefficients[i] = i % taps % 8 == 0 ? 1 : 0x1.fp-25F;
        float sign = signal == NEAR_CARRIER ? near_sample(signal, i % taps) : 1;
        mask->coefficients[i] = copysign(mask->coefficients[i], (double)sign);
    }
    return mask;
}

void cells_check_near(const char *backend, enum cells_near signal, size_t taps, size_t block,
                      struct workers *workers)
{
    char what[160];
    size_t n = 3 * taps + 2 * block + 20000;
    snprintf(what, sizeof what, "%s, %zu taps in phase, blocks of %zu, signal %d", backend, taps,
             block, (int)signal);
    struct mask *mask = near_mask(signal, 2, taps);
    struct block x = stream_noise(1, 2, n);
    for (size_t i = 0; i < 2 * n; i++)
        x.data[i % 2][i / 2] = near_sample(signal, i / 2);
    double **truth = truth_render(mask, x.data, n);
    struct filter *filter = cells_make(backend, mask, block, 0, workers);
    struct block out = stream_through(filter, x.data, n, n + taps - 1);
    cells_expect_within(&out, truth, mask, &x, false, what);
    filter_destroy(filter);
}

void cells_switched(double **a, double **b, size_t outputs, size_t frames, size_t at, size_t fade,
                    enum switch_shape shape)
{
    for (size_t i = at; i < frames; i++) {
        double t = i - at >= fade ? 1 : (double)(i - at) / (double)fade, old = 1 - t, new = t;
        if (shape == SWITCH_DUCK) { /* falling in the first half, rising in the second */
            old = t < 0.5 ? 1 - 2 * t : 0;
            new = t < 0.5 ? 0 : 2 * t - 1;
        } else if (shape == SWITCH_GAP) { /* in the first and the last quarter */
            old = t < 0.25 ? 1 - 4 * t : 0;
            new = t < 0.75 ? 0 : 4 * t - 3;
        }
        for (size_t o = 0; o < outputs; o++)
            a[o][i] = old * a[o][i] + new * b[o][i];
    }
}

void cells_crossfade(double **a, double **b, size_t outputs, size_t frames, size_t at, size_t fade)
{
    cells_switched(a, b, outputs, frames, at, fade, SWITCH_FADE);
}

void cells_switch(struct filter *filter, const struct mask *mask, size_t at, size_t fade)
{
    struct convolver_mask *prepared;
    ck_assert_int_eq(convolver_prepare(filter, mask, &prepared), STATUS_OK);
    const struct convolver_switch change = {.to = prepared, .at = at, .frames = fade};
    ck_assert_int_eq(convolver_switch(filter, &change), STATUS_OK);
}

void cells_check_change(const char *backend, size_t taps_a, size_t taps_b, size_t block,
                        size_t channels, size_t at, size_t fade)
{
    char what[160];
    snprintf(what, sizeof what, "%s, %zu to %zu taps, blocks of %zu, at %zu, fade %zu", backend,
             taps_a, taps_b, block, at, fade);
    struct workers *workers = cells_crew(strstr(backend, "/live") ? 2 : 1); /* with a worker */
    size_t longest = taps_a > taps_b ? taps_a : taps_b;
    size_t n = at + fade + 2 * longest + 5 * block;
    struct mask *a = truth_noise_mask(3, channels, taps_a);
    struct mask *b = truth_noise_mask(4, channels, taps_b);
    struct block x = stream_noise(9, channels, n);
    double **truth = truth_render(a, x.data, n), **after = truth_render(b, x.data, n);
    struct filter *filter = cells_make(backend, a, block, longest, workers);
    cells_switch(filter, b, at, fade);
    ck_assert(!convolver_switched(filter, NULL));
    struct block out = stream_through(filter, x.data, n, n);
    uint64_t began = 0;
    ck_assert_msg(convolver_switched(filter, &began), "%s: the change never ended", what);
    bool may_wait = strstr(backend, "/live") || strstr(backend, "/graph"); /* until it is armed */
    ck_assert_msg(began == at || (may_wait && began > at), "%s: began at %llu", what,
                  (unsigned long long)began);
    cells_crossfade(truth, after, channels, n, (size_t)began, fade);
    ck_assert_msg(convolver_failures(filter) == 0, "%s: the GPU was given up", what);
    cells_expect_within(&out, truth, taps_a > taps_b ? a : b, &x, true, what);
    filter_destroy(filter);
    workers_destroy(workers);
}
