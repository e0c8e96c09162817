#include "signal/fft.h"

#include "base/cache_file.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft_wisdom.h"
#include "signal/fftw_library.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum fft_direction { FORWARD, INVERSE, DIRECTIONS };

struct fft {
    size_t n;
    fftwf_plan plans[DIRECTIONS];
    bool is_kept;
    struct fft *next; /* of those that are kept */
};

enum {
    FLOATS_PER_LINE = 16,
    TRIED_MOST = 1 << 13, /* longer ones would exceed the time limit and waste it */
    PLANNER_BYTES = 1 << 21,
    PLANNER_BYTES_EACH = 20, /* of a length; both as measured, and a half more */
    PRIME_MOST = 31,         /* above it FFTW allocates memory in a transform, as measured, and */
    PRIMES_FEW = 1 << 16,    /* in transforms above this with several primes above PRIME_FAST */
    PRIME_FAST = 7,
};

static const double TRY_SECONDS = 0.5; /* in all, for plans that were not tuned */

/* Serialises our use of the planner; FFTW's own lock, enabled by make_planner_thread_safe, keeps
 * out other users in this process (a plugin, its host). */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static double seconds_tried;
static bool plans_are_new; /* that wisdom has not kept */
static bool plans_fixed;
static bool plans_kept;       /* the planner's lock */
static struct fft *kept_ffts; /* the planner's lock */

HALO_REALTIME size_t fft_spectrum_floats(size_t n)
{
    size_t floats = 2 * (n / 2 + 1);
    return (floats + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
}

static bool has_prime_above(size_t prime_most, size_t n)
{
    for (size_t prime = 2; prime <= prime_most; prime++)
        while (n % prime == 0)
            n /= prime;
    return n > 1;
}

size_t fft_realtime_length(size_t n)
{
    if (!has_prime_above(n > PRIMES_FEW ? PRIME_FAST : PRIME_MOST, n))
        return n;
    while (has_prime_above(PRIME_FAST, n))
        n += 2;
    return n;
}

static const char wisdom_file[] = "fft-wisdom";

void fft_fix_plans(void)
{
    plans_fixed = true;
}

bool fft_plans_are_fixed(void)
{
    return plans_fixed;
}

/* Once. */
static void read_wisdom(void)
{
    static bool read = false;
    char place[CACHE_FILE_PATH];
    const char *path = read ? NULL : cache_file_path(place, wisdom_file);
    if (path)
        (void)fft_wisdom_read(path);
    read = true;
}

/* Overwrites both arrays. */
static bool plan(struct fft *fft, enum fft_direction direction, float *samples, float *spectrum,
                 unsigned flags)
{
    fftwf_complex *bins = (fftwf_complex *)spectrum;
    if (direction == FORWARD)
        fft->plans[FORWARD] =
            fftwf_plan_dft_r2c_1d((int)fft->n, samples, bins, flags | FFTW_PRESERVE_INPUT);
    else
        fft->plans[INVERSE] = fftwf_plan_dft_c2r_1d((int)fft->n, bins, samples, flags);
    return fft->plans[direction] != NULL;
}

/* Within what is left of TRY_SECONDS; FFTW falls back to an estimate. */
static bool plan_by_trying(struct fft *fft, enum fft_direction direction, float *samples,
                           float *spectrum)
{
    char place[CACHE_FILE_PATH];
    double left = TRY_SECONDS - seconds_tried;
    if (fft->n > TRIED_MOST || left <= 0 || !cache_file_path(place, wisdom_file))
        return false;
    double start = monotonic_seconds();
    fftwf_set_timelimit(left);
    bool planned = plan(fft, direction, samples, spectrum, FFTW_MEASURE);
    fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
    seconds_tried += monotonic_seconds() - start;
    plans_are_new |= planned;
    return planned;
}

/* An estimate takes milliseconds as well, more than a short transform. */
static bool plan_by_estimate(struct fft *fft, enum fft_direction direction, float *samples,
                             float *spectrum)
{
    if (plan(fft, direction, samples, spectrum, FFTW_ESTIMATE | FFTW_WISDOM_ONLY))
        return true;
    plans_are_new = true;
    return plan(fft, direction, samples, spectrum, FFTW_ESTIMATE);
}

/* Without it the next program plans again. */
static void keep_plans(void)
{
    char place[CACHE_FILE_PATH];
    const char *path = plans_are_new ? cache_file_path(place, wisdom_file) : NULL;
    if (path)
        (void)fft_wisdom_write(path);
    plans_are_new = false;
}

/* How hard to look for a plan. */
enum fft_effort { EFFORT_NORMAL, EFFORT_MEASURE, EFFORT_PATIENT };

/* known: only plans that wisdom has. */
static bool plan_with(struct fft *fft, enum fft_direction direction, float *samples,
                      float *spectrum, enum fft_effort effort, bool known)
{
    if (plans_fixed)
        return plan(fft, direction, samples, spectrum, FFTW_ESTIMATE | FFTW_NO_SIMD);
    if (effort != EFFORT_NORMAL) {
        unsigned flag = effort == EFFORT_PATIENT ? FFTW_PATIENT : FFTW_MEASURE;
        if (!known)
            return plan(fft, direction, samples, spectrum, flag);
        return plan(fft, direction, samples, spectrum, FFTW_PATIENT | FFTW_WISDOM_ONLY) ||
               (effort == EFFORT_MEASURE &&
                plan(fft, direction, samples, spectrum, FFTW_MEASURE | FFTW_WISDOM_ONLY));
    }
    return plan_with(fft, direction, samples, spectrum, EFFORT_MEASURE, true) ||
           plan_by_trying(fft, direction, samples, spectrum) ||
           plan_by_estimate(fft, direction, samples, spectrum);
}

/* NULL: no memory, or no such plan. */
static struct fft *fft_make(size_t n, enum fft_effort effort, bool known)
{
    struct fft *fft = calloc(1, sizeof *fft);
    float *samples = audio_alloc(n);
    float *spectrum = audio_alloc(fft_spectrum_floats(n));
    bool complete = false;
    bool has_memory = memory_is_there(PLANNER_BYTES + PLANNER_BYTES_EACH * n);
    if (fft && samples && spectrum && has_memory) {
        fft->n = n;
        pthread_mutex_lock(&planner);
        fftwf_make_planner_thread_safe();
        if (!plans_fixed)
            read_wisdom();
        complete = plan_with(fft, FORWARD, samples, spectrum, effort, known) &&
                   plan_with(fft, INVERSE, samples, spectrum, effort, known);
        keep_plans();
        pthread_mutex_unlock(&planner);
    }
    free(spectrum);
    free(samples);
    if (complete)
        return fft;
    fft_destroy(fft);
    return NULL;
}

void fft_keep_plans(void)
{
    pthread_mutex_lock(&planner);
    plans_kept = true;
    pthread_mutex_unlock(&planner);
}

bool fft_keeps_plans(void)
{
    pthread_mutex_lock(&planner);
    bool kept = plans_kept;
    pthread_mutex_unlock(&planner);
    return kept;
}

/* NULL: none of that length is kept. */
static struct fft *find_kept(size_t n)
{
    pthread_mutex_lock(&planner);
    struct fft *fft = kept_ffts;
    while (fft && fft->n != n)
        fft = fft->next;
    pthread_mutex_unlock(&planner);
    return fft;
}

static void keep_if_wanted(struct fft *fft)
{
    pthread_mutex_lock(&planner);
    fft->is_kept = plans_kept;
    if (plans_kept) {
        fft->next = kept_ffts;
        kept_ffts = fft;
    }
    pthread_mutex_unlock(&planner);
}

enum status fft_create(size_t n, struct fft **result)
{
    TRY(library_open(&fftw_library));
    *result = find_kept(n);
    if (*result)
        return STATUS_OK;
    *result = fft_make(n, EFFORT_NORMAL, false);
    if (!*result)
        return fail_memory("a Fourier transform");
    keep_if_wanted(*result);
    return STATUS_OK;
}

void fft_destroy(struct fft *fft)
{
    if (!fft || fft->is_kept)
        return;
    pthread_mutex_lock(&planner);
    for (int d = 0; d < DIRECTIONS; d++)
        if (fft->plans[d])
            fftwf_destroy_plan(fft->plans[d]);
    pthread_mutex_unlock(&planner);
    free(fft);
}

const char *fft_wisdom_file(void)
{
    static char path[CACHE_FILE_PATH];
    return cache_file_path(path, wisdom_file);
}

enum status fft_tune(size_t n, bool patient, bool *known)
{
    char place[CACHE_FILE_PATH];
    const char *path = cache_file_path(place, wisdom_file);
    if (!path)
        return fail(STATUS_FAILED, "no cache folder for plans: set HOME");
    TRY(library_open(&fftw_library));
    enum fft_effort effort = patient ? EFFORT_PATIENT : EFFORT_MEASURE;
    struct fft *fft = fft_make(n, effort, true);
    *known = fft != NULL;
    if (!fft)
        fft = fft_make(n, effort, false);
    if (!fft)
        return fail_memory("a Fourier transform");
    fft_destroy(fft);
    pthread_mutex_lock(&planner);
    bool kept = *known || fft_wisdom_write(path);
    pthread_mutex_unlock(&planner);
    return kept ? STATUS_OK : fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(errno));
}

size_t fft_length(const struct fft *fft)
{
    return fft->n;
}

HALO_REALTIME void fft_forward(const struct fft *fft, const float *samples, float *spectrum)
{
    /* FFTW takes no pointer to const, but preserves this input. */
    fftwf_execute_dft_r2c(fft->plans[FORWARD], (float *)samples, (fftwf_complex *)spectrum);
}

HALO_REALTIME void fft_inverse(const struct fft *fft, float *spectrum, float *samples)
{
    fftwf_execute_dft_c2r(fft->plans[INVERSE], (fftwf_complex *)spectrum, samples);
}

/* Here a product meets a sum, never a product: gcc 12 fuses "ab - cd" beside "ad + cb" whatever
 * -ffp-contract says, and what is fused depends on compiler and processor. */
SIMD_CLONES
HALO_REALTIME static void multiply_add(float *restrict sum, const float *restrict a,
                                       const float *restrict b, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2) {
        sum[i] = sum[i] + a[i] * b[i] - a[i + 1] * b[i + 1];
        sum[i + 1] = sum[i + 1] + a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

HALO_REALTIME void fft_multiply_add(float *restrict sum, const float *restrict a,
                                    const float *restrict b, size_t floats)
{
    multiply_add(sum, a, b, floats);
}
