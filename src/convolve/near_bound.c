#include "convolve/near_bound.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One name for each precision. For clones, clang makes resolvers that the linker sees. */
#define energy_of REAL(energy_of)
#define multiply_add_double REAL(multiply_add_double)
#define multiply_add_odd REAL(multiply_add_odd)

static const double NEAR = 0.25; /* part of the bound; up to it, single precision keeps -132 dB */
/* The largest `delta` relative to `norm` with which single precision is enough. An output that is
 * one tap times a sample has up to 11 rounding errors; with more taps the errors average. */
static const double NEAR_DELTA = 0.35;

static const double NS_A_TAP = 2; /* time to measure a tap and its spectra */

enum { SUMS = 8 }; /* sums at once, so that they vectorise */

/* One column's share of an output. */
struct column_sums {
    double norm;   /* sum |h| */
    double energy; /* sum h^2 */
    double gain;   /* largest magnitude of each of its spectra, added up */
};

struct measure_job {
    const struct mask *mask;
    const struct near_bound_spectra *sets;
    size_t set_count;
    struct column_sums *columns;
};

double near_bound_largest(const real *spectrum, size_t n)
{
    real largest[ODD_FFT_PARTS] = {0};
    for (size_t i = 0; i < n; i += 2 * ODD_FFT_PARTS)
        for (size_t k = 0; k < ODD_FFT_PARTS; k++) {
            real re = spectrum[i + k], im = spectrum[i + ODD_FFT_PARTS + k];
            real square = re * re + im * im;
            largest[k] = square > largest[k] ? square : largest[k];
        }
    for (size_t k = 1; k < ODD_FFT_PARTS; k++)
        largest[0] = largest[k] > largest[0] ? largest[k] : largest[0];
    return (double)largest[0];
}

static void add_taps(const double *taps, size_t count, struct column_sums *sums)
{
    double norm[SUMS] = {0}, energy[SUMS] = {0};
    size_t i = 0;
    for (; i + SUMS <= count; i += SUMS)
        for (size_t k = 0; k < SUMS; k++) {
            norm[k] += fabs(taps[i + k]);
            energy[k] += taps[i + k] * taps[i + k];
        }
    for (; i < count; i++) {
        norm[0] += fabs(taps[i]);
        energy[0] += taps[i] * taps[i];
    }
    for (size_t k = 0; k < SUMS; k++) {
        sums->norm += norm[k];
        sums->energy += energy[k];
    }
}

static void measure_column(void *context, size_t column, size_t worker)
{
    (void)worker;
    const struct measure_job *job = context;
    struct column_sums *sums = &job->columns[column];
    add_taps(mask_column(job->mask, column), job->mask->taps, sums);
    for (size_t s = 0; s < job->set_count; s++) {
        const struct near_bound_spectra *set = &job->sets[s];
        size_t floats = fft_spectrum_floats(set->n);
        const real *spectra = set->spectra + column * set->partitions * floats;
        for (size_t i = 0; i < set->partitions; i++)
            sums->gain += (double)set->n * sqrt(near_bound_largest(spectra + i * floats, set->n));
    }
}

static void include_output(const struct measure_job *job, size_t output, struct near_bound *bound)
{
    struct column_sums all = {0};
    for (size_t p = 0; p < job->mask->path_count; p++) {
        if (job->mask->paths[p].output != output)
            continue;
        const struct column_sums *column = &job->columns[job->mask->paths[p].column];
        all.norm += column->norm;
        all.energy += column->energy;
        all.gain += column->gain;
    }
    bound->norm = fmax(bound->norm, all.norm);
    bound->delta = fmax(bound->delta, sqrt(all.energy));
    bound->gain = fmax(bound->gain, all.gain);
}

enum status near_bound_measure(struct near_bound *bound, const struct mask *mask,
                               const struct near_bound_spectra *sets, size_t count,
                               struct workers *workers)
{
    struct measure_job job = {mask, sets, count, calloc(mask->columns, sizeof *job.columns)};
    if (!job.columns)
        return fail_memory("a mask");
    double time = NS_A_TAP * (double)(mask->columns * mask->taps);
    workers_run(workers_worth(workers, time), mask->columns, measure_column, &job);
    *bound = (struct near_bound){0};
    for (size_t o = 0; o < mask->outputs; o++)
        include_output(&job, o, bound);
    free(job.columns);
    return STATUS_OK;
}

bool near_bound_is_possible(const struct near_bound *bound)
{
    return !REAL_IS_DOUBLE && bound->gain > NEAR * bound->norm;
}

/* A job on whole columns. Each of `shares` shares takes every `shares`th, with its own buffers. */
struct spectrum_job {
    const struct mask *mask;
    size_t shares;
    struct fft_double **ffts; /* one for each share */
    double *largest;          /* largest magnitude in each column's spectrum */
};

static double largest_in_column(const struct fft_double *fft, const struct mask *mask, size_t c)
{
    size_t n = fft_double_length(fft), taps = mask->taps;
    double *samples = fft_double_samples(fft), square = 0;
    memcpy(samples, mask_column(mask, c), taps * sizeof *samples);
    memset(samples + taps, 0, (n - taps) * sizeof *samples);
    fft_double_forward(fft);
    const double *bins = (const double *)fft_double_bins(fft);
    for (size_t i = 0; i < 2 * (n / 2 + 1); i += 2)
        square = fmax(square, bins[i] * bins[i] + bins[i + 1] * bins[i + 1]);
    return sqrt(square);
}

static void find_largest(void *context, size_t share, size_t worker)
{
    (void)worker;
    const struct spectrum_job *job = context;
    for (size_t c = share; c < job->mask->columns; c += job->shares)
        job->largest[c] = largest_in_column(job->ffts[share], job->mask, c);
}

static enum status make_ffts(struct fft_double **ffts, size_t count, size_t n)
{
    for (size_t i = 0; i < count; i++)
        TRY(fft_double_create(n, &ffts[i]));
    return STATUS_OK;
}

static double gain_of(const struct mask *mask, size_t output, const double *largest)
{
    double gain = 0;
    for (size_t p = 0; p < mask->path_count; p++)
        gain += mask->paths[p].output == output ? largest[mask->paths[p].column] : 0;
    return gain;
}

enum status near_bound_find(struct near_bound *bound, const struct mask *mask,
                            struct workers *workers)
{
    size_t count = workers_count(workers) < mask->columns ? workers_count(workers) : mask->columns;
    struct spectrum_job job = {mask, count, calloc(count, sizeof *job.ffts),
                               calloc(mask->columns, sizeof *job.largest)};
    enum status status = near_bound_measure(bound, mask, NULL, 0, workers);
    if (status == STATUS_OK && (!job.ffts || !job.largest))
        status = fail_memory("a mask");
    if (status == STATUS_OK)
        status = make_ffts(job.ffts, count, fft_double_fitting(mask->taps));
    if (status == STATUS_OK) {
        workers_run(workers, count, find_largest, &job);
        for (size_t o = 0; o < mask->outputs; o++)
            bound->gain = fmax(bound->gain, gain_of(mask, o, job.largest));
    }
    for (size_t i = 0; i < count && job.ffts; i++)
        fft_double_destroy(job.ffts[i]);
    free(job.ffts);
    free(job.largest);
    return status;
}

bool near_bound_concerns(const struct mask *mask, struct workers *workers)
{
    struct near_bound bound;
    return near_bound_find(&bound, mask, workers) != STATUS_OK || near_bound_is_possible(&bound);
}

SIMD_CLONES
HALO_REALTIME static real energy_of(const real *values, size_t count)
{
    real sums[16] = {0};
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (size_t k = 0; k < 16; k++)
            sums[k] += values[i + k] * values[i + k];
    for (; i < count; i++)
        sums[0] += values[i] * values[i];
    for (size_t k = 1; k < 16; k++)
        sums[0] += sums[k];
    return sums[0];
}

HALO_REALTIME real near_bound_energy(const real *samples, size_t count)
{
    return energy_of(samples, count);
}

HALO_REALTIME bool near_bound_is_near(const struct near_bound *bound, const real *samples,
                                      size_t count, size_t n, real peak)
{
    if (bound->delta > NEAR_DELTA * bound->norm)
        return true;
    double near = NEAR * bound->norm * (double)peak / bound->gain;
    return (double)energy_of(samples, count) > near * near * (double)n;
}

HALO_REALTIME void near_bound_forward(const struct fft_double *fft, const real *samples,
                                      size_t count, real *spectrum)
{
    size_t n = fft_double_length(fft);
    double *wide = fft_double_samples(fft);
    for (size_t i = 0; i < count; i++)
        wide[i] = samples[i];
    memset(wide + count, 0, (n - count) * sizeof *wide);
    fft_double_forward(fft);
    const double *bins = (const double *)fft_double_bins(fft);
    for (size_t i = 0; i < fft_spectrum_floats(n); i++)
        spectrum[i] = (real)bins[i];
}

HALO_REALTIME void near_bound_clear(const struct fft_double *fft)
{
    memset(fft_double_bins(fft), 0, (fft_double_length(fft) / 2 + 1) * sizeof(double complex));
}

SIMD_CLONES
HALO_REALTIME static void multiply_add(double *restrict sum, const real *restrict a,
                                       const real *restrict b, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2 * ODD_FFT_PARTS)
        for (size_t k = i; k < i + ODD_FFT_PARTS; k++) {
            double ar = a[k], ai = a[k + ODD_FFT_PARTS], br = b[k], bi = b[k + ODD_FFT_PARTS];
            sum[k] += ar * br - ai * bi;
            sum[k + ODD_FFT_PARTS] += ar * bi + ai * br;
        }
}

HALO_REALTIME void near_bound_multiply_add(const struct fft_double *fft, const real *a,
                                           const real *b)
{
    multiply_add((double *)fft_double_bins(fft), a, b, fft_double_length(fft));
}

HALO_REALTIME void near_bound_inverse(const struct fft_double *fft, size_t from, size_t frames,
                                      real *samples)
{
    fft_double_inverse(fft);
    const double *wide = fft_double_samples(fft) + from;
    for (size_t i = 0; i < frames; i++)
        samples[i] = (real)wide[i];
}
