#include "fft_double.h"

#include <fftw3.h>
#include <pthread.h>
#include <stdlib.h>

enum direction { FORWARD, INVERSE, DIRECTIONS };

struct fft_double {
    size_t n;
    fftw_plan plans[DIRECTIONS];
};

static const size_t LENGTH_MOST = (size_t)1 << 30; /* the library counts in int */

/* The library's planner is one thread's at a time. */
static pthread_mutex_t planner = PTHREAD_MUTEX_INITIALIZER;

static void make_plans(struct fft_double *fft, double *samples, fftw_complex *bins)
{
    int n = (int)fft->n;
    pthread_mutex_lock(&planner);
    fft->plans[FORWARD] = fftw_plan_dft_r2c_1d(
        n, samples, bins, FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT);
    fft->plans[INVERSE] = fftw_plan_dft_c2r_1d(n, bins, samples, FFTW_ESTIMATE | FFTW_UNALIGNED);
    pthread_mutex_unlock(&planner);
}

enum status fft_double_create(size_t n, struct fft_double **result)
{
    struct fft_double *fft = calloc(1, sizeof *fft);
    double *samples = n <= LENGTH_MOST ? fftw_malloc(n * sizeof *samples) : NULL;
    fftw_complex *bins = samples ? fftw_malloc((n / 2 + 1) * sizeof *bins) : NULL;
    bool made = false;
    if (fft && bins) {
        fft->n = n;
        make_plans(fft, samples, bins);
        made = fft->plans[FORWARD] && fft->plans[INVERSE];
    }
    fftw_free(bins);
    fftw_free(samples);
    if (!made) {
        fft_double_destroy(fft);
        return fail_memory("a Fourier transform");
    }
    *result = fft;
    return STATUS_OK;
}

void fft_double_destroy(struct fft_double *fft)
{
    if (!fft)
        return;
    pthread_mutex_lock(&planner);
    for (int d = 0; d < DIRECTIONS; d++)
        if (fft->plans[d])
            fftw_destroy_plan(fft->plans[d]);
    pthread_mutex_unlock(&planner);
    free(fft);
}

size_t fft_double_length(const struct fft_double *fft)
{
    return fft->n;
}

void fft_double_forward(const struct fft_double *fft, const double *samples, double *spectrum)
{
    /* The library takes no pointer to const, but preserves this input. */
    fftw_execute_dft_r2c(fft->plans[FORWARD], (double *)samples, (fftw_complex *)spectrum);
}

void fft_double_inverse(const struct fft_double *fft, double *spectrum, double *samples)
{
    fftw_execute_dft_c2r(fft->plans[INVERSE], (fftw_complex *)spectrum, samples);
}
