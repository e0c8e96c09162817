/* Transforms: right at every kind of length, in both directions and precisions, against sums term
 * by term in double precision. */
#include "base/noise.h"
#include "base/workers.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_double.h"
#include "signal/fft_odd.h"
#include "suite.h"

#include <complex.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ODD_BINS_MOST = 1 << 10 }; /* the longest transform whose bins are all compared */

static const double ERROR_MOST = 1e-6; /* relative to the root of n, for noise within -1..1 */

/* Both precisions of one length. */
struct both {
    size_t n;
    double scale; /* what errors are relative to: the root of the samples' energy, or their sum */
    float *samples, *spectrum, *back;
    double *wide_samples, *wide_spectrum, *wide_back;
    double complex *turns;
    struct fft *fft;
    struct fft_in_double *wide;
};

/* For lengths up to a million. */
static const double SINGLE_MOST = 1.5e-6, DOUBLE_MOST = 3e-14;

static void begin_both(struct both *both, size_t n)
{
    *both = (struct both){.n = n};
    both->samples = audio_alloc(n);
    both->back = audio_alloc(n);
    both->spectrum = audio_alloc(n + 2);
    both->wide_samples = audio_alloc_in_double(n);
    both->wide_back = audio_alloc_in_double(n);
    both->wide_spectrum = audio_alloc_in_double(n + 2);
    both->turns = calloc(n, sizeof *both->turns);
    ck_assert_int_eq(fft_create(n, &both->fft), STATUS_OK);
    ck_assert_int_eq(fft_create_in_double(n, &both->wide), STATUS_OK);
    ck_assert_uint_eq(fft_length(both->fft), n);
    ck_assert_uint_eq(fft_length_in_double(both->wide), n);
    for (size_t i = 0; i < n; i++)
        both->turns[i] = cexp(-I * 2 * M_PI * (double)i / (double)n);
}

static void end_both(struct both *both)
{
    fft_destroy(both->fft);
    fft_destroy_in_double(both->wide);
    free(both->samples);
    free(both->back);
    free(both->spectrum);
    free(both->wide_samples);
    free(both->wide_back);
    free(both->wide_spectrum);
    free(both->turns);
}

static void check_sum(const struct both *both, size_t bin)
{
    long double re = 0, im = 0;
    for (size_t i = 0, at = 0; i < both->n; i++, at = (at + bin) % both->n) {
        re += (long double)(both->wide_samples[i] * creal(both->turns[at]));
        im += (long double)(both->wide_samples[i] * cimag(both->turns[at]));
    }
    double complex sum = (double)re + I * (double)im;
    const float *single = both->spectrum + 2 * bin;
    const double *wide = both->wide_spectrum + 2 * bin;
    double most = both->scale * SINGLE_MOST, wide_most = both->scale * DOUBLE_MOST;
    ck_assert_msg(cabs((double)single[0] + I * (double)single[1] - sum) <= most,
                  "%zu samples: bin %zu", both->n, bin);
    ck_assert_msg(cabs(wide[0] + I * wide[1] - sum) <= wide_most,
                  "%zu samples: bin %zu in double precision", both->n, bin);
}

static void check_way_back(struct both *both)
{
    size_t n = both->n;
    bool finite = true;
    both->spectrum[1] = 1; /* which is ignored, as is the last one */
    both->wide_spectrum[n + 1] = 1;
    fft_inverse(both->fft, both->spectrum, both->back);
    fft_inverse_in_double(both->wide, both->wide_spectrum, both->wide_back);
    double error = 0, wide_error = 0; /* an assertion for each sample would take long */
    for (size_t i = 0; i < n; i++) {
        error = fmax(error, fabs((double)both->back[i] / (double)n - both->wide_samples[i]));
        wide_error = fmax(wide_error, fabs(both->wide_back[i] / (double)n - both->wide_samples[i]));
        finite = finite && isfinite(both->back[i]) && isfinite(both->wide_back[i]);
    }
    ck_assert_msg(finite && error <= both->scale * SINGLE_MOST, "%zu samples back", n);
    ck_assert_msg(wide_error <= both->scale * DOUBLE_MOST, "%zu samples back in double precision",
                  n);
}

/* What wide_samples has: `bins` of the bins, the first and the last. */
static void check_samples(struct both *both, size_t bins)
{
    size_t n = both->n, last = n / 2;
    double energy = 0, sum = 0;
    for (size_t i = 0; i < n; i++) {
        both->samples[i] = (float)both->wide_samples[i];
        both->wide_samples[i] = (double)both->samples[i];
        energy += both->wide_samples[i] * both->wide_samples[i];
        sum += both->wide_samples[i];
    }
    both->scale = fmax(sqrt(energy), fabs(sum));
    fft_forward(both->fft, both->samples, both->spectrum);
    fft_forward_in_double(both->wide, both->wide_samples, both->wide_spectrum);
    bool kept = true;
    for (size_t i = 0; i < n; i++)
        kept = kept && (double)both->samples[i] == both->wide_samples[i];
    ck_assert(kept);
    ck_assert(both->spectrum[1] == 0 && both->spectrum[n + 1] == 0);
    ck_assert(both->wide_spectrum[1] == 0 && both->wide_spectrum[n + 1] == 0);
    for (size_t bin = 0; bin <= last; bin += last / bins + 1)
        check_sum(both, bin);
    check_sum(both, last);
    check_way_back(both);
}

enum signal { NOISE, CONSTANT, IMPULSE, LAST_IMPULSE, TINY, SIGNALS };

static void fill(struct both *both, enum signal signal)
{
    uint64_t random = both->n;
    for (size_t i = 0; i < both->n; i++) {
        bool is_place = i == (signal == IMPULSE ? both->n / 3 : both->n - 1);
        both->wide_samples[i] = signal == NOISE      ? (double)noise_next(&random)
                                : signal == CONSTANT ? 0.5
                                : signal == TINY     ? (double)noise_next(&random) * 1e-25
                                                     : is_place;
    }
}

static void check_length(size_t n, size_t bins)
{
    struct both both;
    begin_both(&both, n);
    for (enum signal signal = NOISE; signal < SIGNALS; signal += n > 1 << 14 ? 3 : 1) /* two */ {
        fill(&both, signal);
        check_samples(&both, bins);
    }
    end_both(&both);
}

START_TEST(short_transforms_are_right)
{
    for (size_t n = 2; n <= 400; n += 2)
        check_length(n, n);
}

START_TEST(long_transforms_are_right)
{
    for (size_t n = 512; n <= 1 << 20; n *= n < 1 << 14 ? 2 : 8) {
        check_length(n, n <= 4096 ? 100 : 2);
        check_length(n / 4 * 3, n <= 4096 ? 100 : 2);
    }
}

/* Twice a prime, and what lies around lengths in passes. */
START_TEST(transforms_by_chirp_are_right)
{
    const size_t lengths[] = {1000, 1022,  1026,  2018,  2100,  4098,
                              6146, 10006, 16382, 44100, 65538, 199966};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        check_length(lengths[i], 2);
}

/* Nothing of a transform is in the next one, whatever was in its samples. */
START_TEST(transforms_forget)
{
    for (size_t n = 2; n <= 4096; n += n < 300 ? 2 : 1898) {
        struct both both;
        begin_both(&both, n);
        for (size_t i = 0; i < n; i++)
            both.wide_samples[i] = (double)(both.samples[i] = NAN);
        fft_forward(both.fft, both.samples, both.spectrum);
        fft_forward_in_double(both.wide, both.wide_samples, both.wide_spectrum);
        fft_inverse(both.fft, both.spectrum, both.back);
        fft_inverse_in_double(both.wide, both.wide_spectrum, both.wide_back);
        fill(&both, NOISE);
        check_samples(&both, 8);
        end_both(&both);
    }
}

/* Numbers too small for a float of full precision become no large ones. */
START_TEST(denormal_samples_stay_small)
{
    for (size_t n = 100; n <= 1024; n += 924) {
        struct both both;
        begin_both(&both, n);
        for (size_t i = 0; i < n; i++) {
            both.samples[i] = i % 3 ? 1e-40f : -3e-41f;
            both.wide_samples[i] = i % 3 ? 1e-310 : -3e-311;
        }
        fft_forward(both.fft, both.samples, both.spectrum);
        fft_forward_in_double(both.wide, both.wide_samples, both.wide_spectrum);
        for (size_t i = 0; i < n + 2; i++) {
            ck_assert(fabsf(both.spectrum[i]) <= (float)n * 1.1e-40f);
            ck_assert(fabs(both.wide_spectrum[i]) <= (double)n * 1.1e-310);
        }
        end_both(&both);
    }
}

START_TEST(products_add_up)
{
    enum { FLOATS = 48 };
    float sum[FLOATS], a[FLOATS], b[FLOATS];
    uint64_t random = 3;
    for (size_t i = 0; i < FLOATS; i++) {
        sum[i] = 1;
        a[i] = noise_next(&random);
        b[i] = noise_next(&random);
    }
    fft_multiply_add(sum, a, b, FLOATS);
    for (size_t i = 0; i < FLOATS; i += 2) {
        double complex product =
            1 + I + ((double)a[i] + I * (double)a[i + 1]) * ((double)b[i] + I * (double)b[i + 1]);
        ck_assert_double_eq_tol((double)sum[i], creal(product), 1e-6);
        ck_assert_double_eq_tol((double)sum[i + 1], cimag(product), 1e-6);
    }
}

static size_t odd_place(size_t bin)
{
    return bin / ODD_FFT_PARTS * 2 * ODD_FFT_PARTS + bin % ODD_FFT_PARTS;
}

/* The bin of the frequency 2k + 1/2. */
static double complex odd_bin(const float *samples, size_t count, size_t n, size_t k)
{
    double complex sum = 0;
    for (size_t i = 0; i < count; i++)
        sum +=
            (double)samples[i] * cexp(I * M_PI * (double)((4 * k + 1) * i % (2 * n)) / (double)n);
    return sum;
}

/* Each bin of the sum is at some place of the spectrum, no two at one. */
static void check_odd_bins(const float *samples, size_t count, const float *spectrum, size_t n)
{
    double most = ERROR_MOST * sqrt((double)n) * log2((double)n);
    bool *taken = calloc(n / 2, sizeof *taken);
    for (size_t k = 0; k < n / 2; k++) {
        double complex bin = odd_bin(samples, count, n, k);
        size_t nearest = n;
        double least = INFINITY;
        for (size_t at = 0; at < n / 2; at++) {
            const float *place = spectrum + odd_place(at);
            double distance = cabs((double)place[0] + I * (double)place[ODD_FFT_PARTS] - bin);
            if (distance < least && !taken[at]) {
                least = distance;
                nearest = at;
            }
        }
        ck_assert_double_le(least, most);
        taken[nearest] = true;
    }
    free(taken);
}

/* What is behind `count` is not read; any part of the inverse. */
static void check_odd_length(size_t n, size_t count)
{
    struct odd_fft *fft;
    uint64_t random = n;
    size_t floats = fft_spectrum_floats(n);
    float *samples = audio_alloc(n), *back = audio_alloc(n), *scratch = audio_alloc(n);
    float *spectrum = audio_alloc(floats), *used = audio_alloc(n);
    ck_assert_int_eq(odd_fft_create(n, &fft), STATUS_OK);
    for (size_t i = 0; i < n; i++)
        samples[i] = i < count ? noise_next(&random) : NAN;
    memset(spectrum, 0xff, floats * sizeof *spectrum);
    odd_fft_forward(fft, samples, count, scratch, spectrum);
    if (n <= ODD_BINS_MOST)
        check_odd_bins(samples, count, spectrum, n);
    for (size_t i = n; i < floats; i++)
        ck_assert(spectrum[i] == 0);
    for (size_t from = 0; from < n; from += n / 5 + 1)
        for (size_t frames = 1; from + frames <= n; frames += n / 3) {
            memcpy(used, spectrum, n * sizeof *used);
            odd_fft_inverse(fft, used, scratch, from, frames, back);
            for (size_t i = 0; i < frames; i++) {
                double was = from + i < count ? (double)samples[from + i] : 0;
                ck_assert_double_le(fabs((double)back[i] / (double)n - was), 1e-5);
            }
        }
    odd_fft_destroy(fft);
    free(samples);
    free(back);
    free(scratch);
    free(spectrum);
    free(used);
}

START_TEST(odd_transforms_are_right)
{
    const size_t lengths[] = {128, 256, 384, 512, 768, 1024, 1536, 16384, 24576, 65536};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (size_t part = 0; part <= 8; part++)
            check_odd_length(lengths[i], lengths[i] * part / 8 + (part > 0 && part < 8));
}

/* In double precision by both ways to them: against the sum that a product stands for, where what
 * wraps around changes its sign. */
START_TEST(odd_products_convolve)
{
    enum { N = 384 };
    uint64_t random = 5;
    struct fft_double *a, *b;
    struct odd_fft_in_double *fft;
    double sum[N], *back = audio_alloc_in_double(N), *scratch = audio_alloc_in_double(N);
    double *product = audio_alloc_in_double(fft_spectrum_floats(N));
    ck_assert_int_eq(fft_double_create_odd(N, &a), STATUS_OK);
    ck_assert_int_eq(fft_double_create_odd(N, &b), STATUS_OK);
    ck_assert_int_eq(odd_fft_create_in_double(N, &fft), STATUS_OK);
    double *x = fft_double_samples(a), *h = fft_double_samples(b);
    for (size_t i = 0; i < N; i++) {
        x[i] = (double)noise_next(&random);
        h[i] = (double)noise_next(&random);
    }
    for (size_t i = 0; i < N; i++) {
        sum[i] = 0;
        for (size_t k = 0; k < N; k++)
            sum[i] += i >= k ? x[i - k] * h[k] : -x[N + i - k] * h[k];
    }
    fft_double_forward(a);
    fft_double_forward(b);
    const double *bins[] = {(const double *)fft_double_bins(a)};
    odd_fft_multiply_add_in_double(product, bins,
                                   (const double *const[]){(double *)fft_double_bins(b)}, 1, N);
    memcpy(fft_double_bins(a), product, N * sizeof *product);
    fft_double_inverse(a);
    odd_fft_inverse_in_double(fft, product, scratch, 0, N, back);
    for (size_t i = 0; i < N; i++) {
        ck_assert_double_eq_tol(back[i] / N, sum[i], 1e-12);
        ck_assert_double_eq_tol(x[i] / N, sum[i], 1e-12);
    }
    fft_double_destroy(a);
    fft_double_destroy(b);
    odd_fft_destroy_in_double(fft);
    free(back);
    free(scratch);
    free(product);
}

/* Seven: four in one pass, and the remainder. */
START_TEST(odd_products_add_up)
{
    enum { FLOATS = 96, COUNT = 7 };
    uint64_t random = 9;
    float *sum = audio_alloc(FLOATS), *a = audio_alloc(COUNT * FLOATS),
          *b = audio_alloc(COUNT * FLOATS);
    const float *as[COUNT], *bs[COUNT];
    for (size_t i = 0; i < COUNT * FLOATS; i++) {
        a[i] = noise_next(&random);
        b[i] = noise_next(&random);
    }
    for (size_t k = 0; k < COUNT; k++) {
        as[k] = a + k * FLOATS;
        bs[k] = b + k * FLOATS;
    }
    odd_fft_multiply_add(sum, as, bs, COUNT, FLOATS);
    odd_fft_multiply_add(sum, as, bs, 0, FLOATS);
    for (size_t bin = 0; bin < FLOATS / 2; bin++) {
        size_t i = odd_place(bin), j = i + ODD_FFT_PARTS;
        double re = 0, im = 0;
        for (size_t k = 0; k < COUNT; k++) {
            re += (double)as[k][i] * (double)bs[k][i] - (double)as[k][j] * (double)bs[k][j];
            im += (double)as[k][i] * (double)bs[k][j] + (double)as[k][j] * (double)bs[k][i];
        }
        ck_assert_double_eq_tol((double)sum[i], re, 1e-5);
        ck_assert_double_eq_tol((double)sum[j], im, 1e-5);
    }
    free(sum);
    free(a);
    free(b);
}

enum { KEPT_LENGTHS = 3, KEPT_PIECES = 48 };
static const size_t kept_lengths[KEPT_LENGTHS] = {128, 4096, 24576};

struct kept {
    struct odd_fft *single[KEPT_PIECES];
    struct odd_fft_in_double *twice[KEPT_PIECES];
    bool failed[KEPT_PIECES];
};

static void create_kept(void *context, size_t piece, size_t worker)
{
    struct kept *kept = context;
    size_t n = kept_lengths[piece % KEPT_LENGTHS];
    (void)worker;
    kept->failed[piece] = odd_fft_create(n, &kept->single[piece]) != STATUS_OK ||
                          odd_fft_create_in_double(n, &kept->twice[piece]) != STATUS_OK;
    if (!kept->failed[piece] && piece % 2) { /* whose user has ended: the others' stays */
        odd_fft_destroy(kept->single[piece]);
        odd_fft_destroy_in_double(kept->twice[piece]);
    }
}

START_TEST(kept_odd_transforms_have_one_plan_a_length)
{
    struct workers *workers;
    struct kept kept = {0};
    struct odd_fft *before;
    ck_assert_int_eq(odd_fft_create(kept_lengths[0], &before), STATUS_OK);
    odd_fft_keep();
    ck_assert_int_eq(workers_create(4, &workers), STATUS_OK);
    workers_run(workers, KEPT_PIECES, create_kept, &kept);
    workers_destroy(workers);
    for (size_t i = 0; i < KEPT_PIECES; i++) {
        ck_assert(!kept.failed[i]);
        for (size_t j = 0; j < i; j++) {
            bool same = i % KEPT_LENGTHS == j % KEPT_LENGTHS;
            ck_assert((kept.single[i] == kept.single[j]) == same);
            ck_assert((kept.twice[i] == kept.twice[j]) == same);
        }
    }
    ck_assert_ptr_ne(before, kept.single[0]); /* its user still destroys it */
    odd_fft_destroy(before);
    for (size_t i = 0; i < KEPT_LENGTHS; i++)
        check_odd_length(kept_lengths[i], kept_lengths[i] / 2);
}
