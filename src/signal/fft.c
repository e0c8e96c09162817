#include "signal/fft.h"

#include "base/cache_file.h"
#include "base/monotonic.h"
#include "base/realtime.h"
#include "signal/audio.h"
#include "signal/fft_wisdom.h"

#include <errno.h>
#include <fftw3.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum fft_direction { FORWARD, INVERSE, DIRECTIONS };

struct fft {
    size_t n;
    fftwf_plan plans[DIRECTIONS];
};

enum {
    FLOATS_PER_LINE = 16,
    TRIED_MOST = 1 << 13, /* longer ones would exceed the time limit and waste it */
    PLANNER_BYTES = 1 << 21,
    PLANNER_BYTES_EACH = 20, /* of a length; both as measured, and a half more */
};

static const double TRY_SECONDS = 0.5; /* in all, for plans that were not tuned */

/* Serialises our use of the planner; FFTW's own lock, enabled by make_planner_thread_safe, keeps
 * out other users in this process (a plugin, its host). */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;
static double seconds_tried;
static bool plans_fixed;

size_t fft_spectrum_floats(size_t n)
{
    size_t floats = 2 * (n / 2 + 1);
    return (floats + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
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
    const char *path = cache_file_path(place, wisdom_file);
    double left = TRY_SECONDS - seconds_tried;
    if (fft->n > TRIED_MOST || left <= 0 || !path)
        return false;
    double start = monotonic_seconds();
    fftwf_set_timelimit(left);
    bool planned = plan(fft, direction, samples, spectrum, FFTW_MEASURE);
    fftwf_set_timelimit(FFTW_NO_TIMELIMIT);
    seconds_tried += monotonic_seconds() - start;
    if (planned)
        (void)fft_wisdom_write(path); /* without it the next program tries again */
    return planned;
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
           plan(fft, direction, samples, spectrum, FFTW_ESTIMATE);
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
        pthread_mutex_unlock(&planner);
    }
    free(spectrum);
    free(samples);
    if (complete)
        return fft;
    fft_destroy(fft);
    return NULL;
}

enum status fft_create(size_t n, struct fft **result)
{
    *result = fft_make(n, EFFORT_NORMAL, false);
    return *result ? STATUS_OK : fail_memory("a Fourier transform");
}

void fft_destroy(struct fft *fft)
{
    if (!fft)
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

const char *fft_library(void)
{
    return fftwf_version;
}
