#include "signal/variable_resampler.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HALF = 48,    /* taps on each side, at the slower rate */
    PHASES = 128, /* phases of the table, per input frame */
    AROUND = 3,   /* phases before and after, for the interpolation */
    LANES = 8,    /* sums that are formed separately, since a compiler may not split one sum */
};
static const double PASS = 0.4535;      /* end of the pass band, as a part of the slower rate */
static const double ATTENUATION = 120;  /* dB */
static const double STEP_EXCESS = 1.02; /* factor by which a step may exceed the first */

struct variable_resampler {
    size_t channels;
    size_t half;     /* taps on each side */
    size_t capacity; /* input frames that fit */
    size_t count;    /* input frames held */
    size_t at;       /* place of the next output frame among the frames held */
    double fraction;
    double *table; /* row p + 1: 2 * half taps for fraction p / PHASES */
    double *taps;  /* taps for one output frame */
    struct block_in_double held;
};

/* ---- the table ---- */

static double kernel(double x, double half, double cutoff, double beta)
{
    double place = x / half, angle = 2 * M_PI * cutoff * x;
    if (fabs(place) >= 1)
        return 0;
    return 2 * cutoff * (x == 0 ? 1 : sin(angle) / angle) * window_kaiser(beta, 1 - place * place);
}

/* The pass band ends at PASS of the slower rate. The transition is as narrow as HALF allows. */
static void fill_table(struct variable_resampler *resampler, double step)
{
    size_t taps = 2 * resampler->half;
    double slower = step > 1 ? 1 / step : 1;
    double width = window_taps(WINDOW_KAISER, ATTENUATION, 1) / (2.0 * HALF);
    double cutoff = slower * (PASS + width / 2), beta = window_kaiser_beta(ATTENUATION);
    for (int row = 0; row < PHASES + AROUND; row++)
        for (size_t k = 0; k < taps; k++) {
            double x = (double)(row - 1) / PHASES + (double)resampler->half - 1 - (double)k;
            resampler->table[(size_t)row * taps + k] =
                kernel(x, (double)resampler->half, cutoff, beta);
        }
}

void variable_resampler_destroy(struct variable_resampler *resampler)
{
    if (!resampler)
        return;
    block_free_in_double(&resampler->held);
    free(resampler->table);
    free(resampler->taps);
    free(resampler);
}

enum status variable_resampler_create(size_t channels, double step,
                                      struct variable_resampler **result)
{
    enum status status = STATUS_OK;
    struct variable_resampler *resampler = calloc(1, sizeof *resampler);
    if (!resampler)
        return fail_memory("a resampler");
    resampler->channels = channels;
    resampler->half = LANES / 2 * (size_t)ceil(2.0 / LANES * HALF * (step > 1 ? step : 1));
    size_t taps = 2 * resampler->half;
    resampler->capacity = taps + (size_t)ceil(VARIABLE_RESAMPLER_FRAMES * step * STEP_EXCESS) + 2;
    resampler->table = audio_alloc_in_double((PHASES + AROUND) * taps);
    resampler->taps = audio_alloc_in_double(taps);
    if (!resampler->table || !resampler->taps)
        status = fail_memory("a resampler");
    else
        status =
            block_init_in_double(&resampler->held, channels, resampler->capacity, "a resampler");
    if (status != STATUS_OK) {
        variable_resampler_destroy(resampler);
        return status;
    }
    fill_table(resampler, step);
    variable_resampler_reset(resampler, 0);
    *result = resampler;
    return STATUS_OK;
}

/* ---- real-time ---- */

HALO_REALTIME size_t variable_resampler_reach(const struct variable_resampler *resampler)
{
    return resampler->half + 1;
}

HALO_REALTIME void variable_resampler_reset(struct variable_resampler *resampler, double fraction)
{
    for (size_t c = 0; c < resampler->channels; c++)
        memset(resampler->held.data[c], 0, resampler->half * sizeof(double));
    resampler->at = resampler->count = resampler->half;
    resampler->fraction = fraction;
}

HALO_REALTIME double variable_resampler_ahead(const struct variable_resampler *resampler)
{
    return (double)resampler->count - (double)resampler->at - resampler->fraction;
}

/* The position after `frames` output frames, relative to the frames held. */
HALO_REALTIME static double position_after(const struct variable_resampler *resampler,
                                           size_t frames, double step, double growth)
{
    double n = (double)frames;
    return (double)resampler->at + resampler->fraction + n * step + growth * n * (n - 1) / 2;
}

HALO_REALTIME size_t variable_resampler_wants(const struct variable_resampler *resampler,
                                              size_t frames, double step, double growth)
{
    size_t end = (size_t)position_after(resampler, frames, step, growth) + resampler->half + 1;
    return end > resampler->count ? end - resampler->count : 0;
}

/* Drops input frames before those of the next output frame. */
HALO_REALTIME static void drop_used(struct variable_resampler *resampler)
{
    size_t drop = resampler->at + 1 - resampler->half;
    for (size_t c = 0; c < resampler->channels; c++)
        memmove(resampler->held.data[c], resampler->held.data[c] + drop,
                (resampler->count - drop) * sizeof(double));
    resampler->count -= drop;
    resampler->at -= drop;
}

HALO_REALTIME void variable_resampler_write(struct variable_resampler *resampler,
                                            const float *frames, size_t count)
{
    if (resampler->count + count > resampler->capacity)
        drop_used(resampler);
    for (size_t c = 0; c < resampler->channels; c++) {
        double *to = resampler->held.data[c] + resampler->count;
        for (size_t i = 0; i < count; i++)
            to[i] = frames[i * resampler->channels + c];
    }
    resampler->count += count;
}

/* Computes the taps for a fraction, by Lagrange's cubic through four phases. */
HALO_REALTIME SIMD_CLONES static void interpolate_taps(struct variable_resampler *resampler)
{
    size_t taps = 2 * resampler->half;
    double place = resampler->fraction * PHASES;
    size_t phase = (size_t)place;
    double x = place - (double)phase;
    double a = -x * (x - 1) * (x - 2) / 6, b = (x + 1) * (x - 1) * (x - 2) / 2,
           c = -(x + 1) * x * (x - 2) / 2, d = (x + 1) * x * (x - 1) / 6;
    const double *restrict before = resampler->table + phase * taps;
    const double *restrict here = before + taps, *restrict next = here + taps,
                           *restrict after = next + taps;
    double *restrict to = resampler->taps;
    for (size_t k = 0; k < taps; k++)
        to[k] = a * before[k] + b * here[k] + c * next[k] + d * after[k];
}

HALO_REALTIME SIMD_CLONES static double sum_products(const double *restrict taps,
                                                     const double *restrict in, size_t count)
{
    double sums[LANES] = {0}, sum = 0;
    for (size_t k = 0; k < count; k += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += taps[k + lane] * in[k + lane];
    for (size_t lane = 0; lane < LANES; lane++)
        sum += sums[lane];
    return sum;
}

HALO_REALTIME static void advance(struct variable_resampler *resampler, double step)
{
    resampler->fraction += step;
    size_t whole = (size_t)resampler->fraction;
    resampler->at += whole;
    resampler->fraction -= (double)whole;
}

HALO_REALTIME void variable_resampler_read(struct variable_resampler *resampler, float *const *out,
                                           size_t at, size_t frames, double step, double growth)
{
    for (size_t i = 0; i < frames; i++) {
        size_t first = resampler->at + 1 - resampler->half;
        interpolate_taps(resampler);
        for (size_t c = 0; c < resampler->channels; c++)
            out[c][at + i] = (float)sum_products(resampler->taps, resampler->held.data[c] + first,
                                                 2 * resampler->half);
        advance(resampler, step + (double)i * growth);
    }
}
