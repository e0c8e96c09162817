#include "signal/fft_double.h"

#include "base/realtime.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_odd.h"
#include "signal/fftw_double_library.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fft_double {
    size_t n;
    fftw_plan forward; /* these two, */
    fftw_plan inverse;
    struct odd_fft_in_double *odd; /* or this one with its scratch */
    double *scratch;
    double *samples;
    fftw_complex *bins;
};

/* See fft.c. */
enum { DOUBLE_PLANNER_BYTES = 1 << 21, DOUBLE_PLANNER_BYTES_EACH = 40 };
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static enum status make_plans(struct fft_double *fft, bool fixed)
{
    int n = (int)fft->n;
    unsigned flags = FFTW_ESTIMATE | (fixed ? FFTW_NO_SIMD : 0);
    if (!fft->samples || !fft->bins ||
        !memory_is_there(DOUBLE_PLANNER_BYTES + DOUBLE_PLANNER_BYTES_EACH * fft->n))
        return fail_memory("a Fourier transform");
    pthread_mutex_lock(&planner);
    fftw_make_planner_thread_safe();
    fft->forward = fftw_plan_dft_r2c_1d(n, fft->samples, fft->bins, flags | FFTW_PRESERVE_INPUT);
    fft->inverse = fftw_plan_dft_c2r_1d(n, fft->bins, fft->samples, flags);
    pthread_mutex_unlock(&planner);
    return fft->forward && fft->inverse ? STATUS_OK : fail_memory("a Fourier transform");
}

static enum status make_odd(struct fft_double *fft)
{
    fft->scratch = audio_alloc_in_double(fft->n);
    if (!fft->scratch || !fft->samples || !fft->bins)
        return fail_memory("a Fourier transform");
    return odd_fft_create_in_double(fft->n, &fft->odd);
}

static enum status create(size_t n, bool fixed, bool odd, struct fft_double **result)
{
    if (!odd)
        TRY(library_open(&fftw_double_library));
    struct fft_double *fft = calloc(1, sizeof *fft);
    if (!fft)
        return fail_memory("a Fourier transform");
    fft->n = n;
    fft->samples = audio_alloc_in_double(n);
    /* Products take whole cache lines. */
    fft->bins = (fftw_complex *)audio_alloc_in_double(fft_spectrum_floats(n));
    enum status status = odd ? make_odd(fft) : make_plans(fft, fixed);
    if (status != STATUS_OK) {
        fft_double_destroy(fft);
        return status;
    }
    memset(fft->samples, 0, n * sizeof *fft->samples);
    *result = fft;
    return STATUS_OK;
}

enum status fft_double_create(size_t n, struct fft_double **result)
{
    return create(n, fft_plans_are_fixed(), false, result);
}

enum status fft_double_create_fixed(size_t n, struct fft_double **result)
{
    return create(n, true, false, result);
}

enum status fft_double_create_odd(size_t n, struct fft_double **result)
{
    return create(n, false, true, result);
}

void fft_double_destroy(struct fft_double *fft)
{
    if (!fft)
        return;
    pthread_mutex_lock(&planner);
    if (fft->forward)
        fftw_destroy_plan(fft->forward);
    if (fft->inverse)
        fftw_destroy_plan(fft->inverse);
    pthread_mutex_unlock(&planner);
    odd_fft_destroy_in_double(fft->odd);
    free(fft->scratch);
    free(fft->samples);
    free(fft->bins);
    free(fft);
}

HALO_REALTIME size_t fft_double_length(const struct fft_double *fft)
{
    return fft->n;
}

HALO_REALTIME double *fft_double_samples(const struct fft_double *fft)
{
    return fft->samples;
}

HALO_REALTIME double complex *fft_double_bins(const struct fft_double *fft)
{
    return fft->bins;
}

HALO_REALTIME void fft_double_forward(const struct fft_double *fft)
{
    if (fft->odd)
        odd_fft_forward_in_double(fft->odd, fft->samples, fft->n, fft->scratch,
                                  (double *)fft->bins);
    else
        fftw_execute(fft->forward);
}

HALO_REALTIME void fft_double_inverse(const struct fft_double *fft)
{
    if (fft->odd)
        odd_fft_inverse_in_double(fft->odd, (double *)fft->bins, fft->scratch, 0, fft->n,
                                  fft->samples);
    else
        fftw_execute(fft->inverse);
}

size_t fft_double_fitting(size_t length)
{
    size_t n = 2;
    while (n < length)
        n *= 2;
    return n;
}
