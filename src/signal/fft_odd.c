/* Compiled for each precision. */
#include "signal/fft_odd.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/real.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HALO_DOUBLE
#include "signal/fftw_double_library.h"
#define FFTW(name) fftw_##name
#define library fftw_double_library
#else
#include "signal/fftw_library.h"
#define FFTW(name) fftwf_##name
#define library fftw_library
#endif

/* Of each precision: clang gives clones resolvers that the linker sees. */
#define turn REAL(turn)
#define part REAL(part)
#define pair REAL(pair)
#define multiply_add_few REAL(multiply_add_few)
#define turn_first REAL(turn_first)
#define turn_back REAL(turn_back)
#define turn_back_second REAL(turn_back_second)

struct real_odd_fft {
    size_t n;
    FFTW(plan) forward;
    FFTW(plan) inverse;
    real *cosines; /* of pi j / n, for the first half */
    real *sines;
    bool is_kept;
    struct real_odd_fft *next; /* of those that are kept */
};

static struct real_odd_fft *kept_ffts; /* the planner's lock */

/* See fft.c. */
enum { PLANNER_BYTES = 1 << 21, PLANNER_BYTES_EACH = 10 * sizeof(real) };

enum { FEW = 4 /* products of a place at once */ };

enum { STRIDE = 256 }; /* between angles whose sine and cosine are computed */

static const double PI = 3.14159265358979323846;

/* From those of multiples of STRIDE and of the angles below it. */
static void fill_tables(struct real_odd_fft *fft)
{
    double step = PI / (double)fft->n, cosines[STRIDE], sines[STRIDE];
    for (size_t k = 0; k < STRIDE; k++) {
        cosines[k] = cos(step * (double)k);
        sines[k] = sin(step * (double)k);
    }
    for (size_t j = 0; j < fft->n / 2; j += STRIDE) {
        double c = cos(step * (double)j), s = sin(step * (double)j);
        size_t left = fft->n / 2 - j, count = left < STRIDE ? left : STRIDE;
        for (size_t k = 0; k < count; k++) {
            fft->cosines[j + k] = (real)(c * cosines[k] - s * sines[k]);
            fft->sines[j + k] = (real)(s * cosines[k] + c * sines[k]);
        }
    }
}

static void plan(struct real_odd_fft *fft, real *samples, real *bins)
{
    int half = (int)(fft->n / 2);
    unsigned flags = FFTW_ESTIMATE | (fft_plans_are_fixed() ? FFTW_NO_SIMD : 0);
    FFTW(complex) *from = (FFTW(complex) *)samples, *to = (FFTW(complex) *)bins;
    FFTW(make_planner_thread_safe)();
    fft->forward = FFTW(plan_dft_1d)(half, from, to, FFTW_BACKWARD, flags);
    fft->inverse = FFTW(plan_dft_1d)(half, from, to, FFTW_FORWARD, flags);
}

/* The planner's lock is held, here and in the next ones. */
static void free_fft(struct real_odd_fft *fft)
{
    if (fft->forward)
        FFTW(destroy_plan)(fft->forward);
    if (fft->inverse)
        FFTW(destroy_plan)(fft->inverse);
    free(fft->cosines);
    free(fft->sines);
    free(fft);
}

/* NULL: no memory. */
static struct real_odd_fft *make(size_t n)
{
    struct real_odd_fft *fft = calloc(1, sizeof *fft);
    real *samples = audio_alloc_unset(n), *bins = audio_alloc_unset(n);
    bool has_memory = memory_is_there(PLANNER_BYTES + PLANNER_BYTES_EACH * n);
    if (fft && samples && bins && has_memory) {
        fft->n = n;
        fft->cosines = audio_alloc_unset(n / 2);
        fft->sines = audio_alloc_unset(n / 2);
        plan(fft, samples, bins); /* an estimate leaves both as they are */
    }
    free(bins);
    free(samples);
    if (fft && fft->cosines && fft->sines && fft->forward && fft->inverse) {
        fill_tables(fft);
        return fft;
    }
    if (fft)
        free_fft(fft);
    return NULL;
}

static struct real_odd_fft *find_or_make(size_t n)
{
    struct real_odd_fft *fft = kept_ffts;
    while (fft && fft->n != n)
        fft = fft->next;
    if (fft || !(fft = make(n)) || !fft_keeps_plans())
        return fft;
    fft->is_kept = true;
    fft->next = kept_ffts;
    kept_ffts = fft;
    return fft;
}

enum status odd_fft_create(size_t n, struct real_odd_fft **result)
{
    TRY(library_open(&library));
    fft_lock_planner();
    *result = find_or_make(n);
    fft_unlock_planner();
    return *result ? STATUS_OK : fail_memory("a Fourier transform");
}

void odd_fft_destroy(struct real_odd_fft *fft)
{
    if (!fft || fft->is_kept)
        return;
    fft_lock_planner();
    free_fft(fft);
    fft_unlock_planner();
}

/* (x[j] + i x[j + n/2]) e^(i pi j / n) */
SIMD_CLONES
HALO_REALTIME static void turn(const real *restrict first, const real *restrict second,
                               const real *restrict cosines, const real *restrict sines,
                               size_t count, real *restrict turned)
{
    for (size_t j = 0; j < count; j++) {
        turned[2 * j] = first[j] * cosines[j] - second[j] * sines[j];
        turned[2 * j + 1] = first[j] * sines[j] + second[j] * cosines[j];
    }
}

/* The same where x[j + n/2] is zero. */
SIMD_CLONES
HALO_REALTIME static void turn_first(const real *restrict first, const real *restrict cosines,
                                     const real *restrict sines, size_t count,
                                     real *restrict turned)
{
    for (size_t j = 0; j < count; j++) {
        turned[2 * j] = first[j] * cosines[j];
        turned[2 * j + 1] = first[j] * sines[j];
    }
}

/* Of pairs (re, im), in place: the real parts of ODD_FFT_PARTS, then the imaginary ones. */
SIMD_CLONES
HALO_REALTIME static void part(real *spectrum, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * ODD_FFT_PARTS) {
        real *bins = spectrum + i, pairs[2 * ODD_FFT_PARTS];
        memcpy(pairs, bins, sizeof pairs);
        for (size_t k = 0; k < ODD_FFT_PARTS; k++) {
            bins[k] = pairs[2 * k];
            bins[ODD_FFT_PARTS + k] = pairs[2 * k + 1];
        }
    }
}

SIMD_CLONES
HALO_REALTIME static void pair(real *spectrum, size_t n)
{
    for (size_t i = 0; i < n; i += 2 * ODD_FFT_PARTS) {
        real *bins = spectrum + i, parts[2 * ODD_FFT_PARTS];
        memcpy(parts, bins, sizeof parts);
        for (size_t k = 0; k < ODD_FFT_PARTS; k++) {
            bins[2 * k] = parts[k];
            bins[2 * k + 1] = parts[ODD_FFT_PARTS + k];
        }
    }
}

HALO_REALTIME void odd_fft_forward(const struct real_odd_fft *fft, const real *samples,
                                   size_t count, real *scratch, real *spectrum)
{
    size_t n = fft->n, half = n / 2;
    size_t first = count < half ? count : half, both = count - first;
    turn(samples, samples + half, fft->cosines, fft->sines, both, scratch);
    turn_first(samples + both, fft->cosines + both, fft->sines + both, first - both,
               scratch + 2 * both);
    memset(scratch + 2 * first, 0, (n - 2 * first) * sizeof *scratch);
    FFTW(execute_dft)(fft->forward, (FFTW(complex) *)scratch, (FFTW(complex) *)spectrum);
    part(spectrum, n);
    memset(spectrum + n, 0, (fft_spectrum_floats(n) - n) * sizeof *spectrum);
}

/* The real part of 2 z[j] e^(-i pi j / n). */
SIMD_CLONES
HALO_REALTIME static void turn_back(const real *restrict turned, const real *restrict cosines,
                                    const real *restrict sines, size_t count,
                                    real *restrict samples)
{
    for (size_t j = 0; j < count; j++)
        samples[j] = 2 * (turned[2 * j] * cosines[j] + turned[2 * j + 1] * sines[j]);
}

/* Its imaginary part. */
SIMD_CLONES
HALO_REALTIME static void turn_back_second(const real *restrict turned,
                                           const real *restrict cosines, const real *restrict sines,
                                           size_t count, real *restrict samples)
{
    for (size_t j = 0; j < count; j++)
        samples[j] = 2 * (turned[2 * j + 1] * cosines[j] - turned[2 * j] * sines[j]);
}

HALO_REALTIME void odd_fft_inverse(const struct real_odd_fft *fft, real *spectrum, real *scratch,
                                   size_t from, size_t frames, real *samples)
{
    size_t half = fft->n / 2, before = from < half ? half - from : 0;
    size_t first = frames < before ? frames : before, at = from + first - half;
    pair(spectrum, fft->n);
    FFTW(execute_dft)(fft->inverse, (FFTW(complex) *)spectrum, (FFTW(complex) *)scratch);
    if (first > 0)
        turn_back(scratch + 2 * from, fft->cosines + from, fft->sines + from, first, samples);
    if (frames > first)
        turn_back_second(scratch + 2 * at, fft->cosines + at, fft->sines + at, frames - first,
                         samples + first);
}

/* Of ODD_FFT_PARTS bins. */
typedef real parts __attribute__((vector_size(ODD_FFT_PARTS * sizeof(real)), aligned(64)));

/* The products are added before the sum: its rounding, the largest, is then done once. */
HALO_REALTIME static inline __attribute__((always_inline)) void
add_products(real *sum, const real *const *a, const real *const *b, size_t count, size_t at)
{
    parts re = {0}, im = {0};
    parts *sums = (parts *)(sum + at);
    for (size_t p = 0; p < count; p++) {
        const parts *x = (const parts *)(a[p] + at), *y = (const parts *)(b[p] + at);
        re += x[0] * y[0] - x[1] * y[1];
        im += x[0] * y[1] + x[1] * y[0];
    }
    sums[0] += re;
    sums[1] += im;
}

/* count: a constant, so that the products of a place are unrolled. */
HALO_REALTIME static inline __attribute__((always_inline)) void
add_places(real *sum, const real *const *a, const real *const *b, size_t count, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2 * ODD_FFT_PARTS)
        add_products(sum, a, b, count, i);
}

SIMD_CLONES
HALO_REALTIME static void multiply_add_few(real *sum, const real *const *a, const real *const *b,
                                           size_t count, size_t floats)
{
    switch (count) {
    case 1:
        add_places(sum, a, b, 1, floats);
        break;
    case 2:
        add_places(sum, a, b, 2, floats);
        break;
    case 3:
        add_places(sum, a, b, 3, floats);
        break;
    default:
        add_places(sum, a, b, FEW, floats);
    }
}

HALO_REALTIME void odd_fft_multiply_add(real *sum, const real *const *a, const real *const *b,
                                        size_t count, size_t floats)
{
    for (size_t few; count > 0; count -= few, a += few, b += few) {
        few = count < FEW ? count : FEW;
        multiply_add_few(sum, a, b, few, floats);
    }
}
