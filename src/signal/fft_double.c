#include "signal/fft_double.h"

#include "base/realtime.h"
#include "signal/fft.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct fft_double {
    size_t n;
    double *samples;
    fftw_complex *bins;
    fftw_plan forward;
    fftw_plan inverse;
};

/* See fft.c. */
enum { DOUBLE_PLANNER_BYTES = 1 << 21, DOUBLE_PLANNER_BYTES_EACH = 40 };
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void plan(struct fft_double *fft, bool fixed)
{
    int n = (int)fft->n;
    unsigned flags = FFTW_ESTIMATE | (fixed ? FFTW_NO_SIMD : 0);
    pthread_mutex_lock(&planner);
    fftw_make_planner_thread_safe();
    fft->forward = fftw_plan_dft_r2c_1d(n, fft->samples, fft->bins, flags | FFTW_PRESERVE_INPUT);
    fft->inverse = fftw_plan_dft_c2r_1d(n, fft->bins, fft->samples, flags);
    pthread_mutex_unlock(&planner);
}

static enum status create(size_t n, bool fixed, struct fft_double **result)
{
    struct fft_double *fft = calloc(1, sizeof *fft);
    if (!fft)
        return fail_memory("a Fourier transform");
    fft->n = n;
    fft->samples = fftw_alloc_real(n);
    fft->bins = fftw_alloc_complex(n / 2 + 1);
    if (fft->samples && fft->bins &&
        memory_is_there(DOUBLE_PLANNER_BYTES + DOUBLE_PLANNER_BYTES_EACH * n))
        plan(fft, fixed);
    if (!fft->forward || !fft->inverse) {
        fft_double_destroy(fft);
        return fail_memory("a Fourier transform");
    }
    memset(fft->samples, 0, n * sizeof *fft->samples);
    *result = fft;
    return STATUS_OK;
}

enum status fft_double_create(size_t n, struct fft_double **result)
{
    return create(n, fft_plans_are_fixed(), result);
}

enum status fft_double_create_fixed(size_t n, struct fft_double **result)
{
    return create(n, true, result);
}

void fft_double_destroy(struct fft_double *fft)
{
    if (!fft)
        return;
    pthread_mutex_lock(&planner);
    fftw_destroy_plan(fft->forward);
    fftw_destroy_plan(fft->inverse);
    pthread_mutex_unlock(&planner);
    fftw_free(fft->samples);
    fftw_free(fft->bins);
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
    fftw_execute(fft->forward);
}

HALO_REALTIME void fft_double_inverse(const struct fft_double *fft)
{
    fftw_execute(fft->inverse);
}

size_t fft_double_fitting(size_t length)
{
    size_t n = 2;
    while (n < length)
        n *= 2;
    return n;
}
