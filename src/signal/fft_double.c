#include "signal/fft_double.h"

#include "base/realtime.h"
#include "signal/audio.h"
#include "signal/fft.h"
#include "signal/fft_odd.h"

#include <stdlib.h>

struct fft_double {
    size_t n;
    struct fft_in_double *plain;   /* NULL: `odd` is used */
    struct odd_fft_in_double *odd; /* with its scratch; NULL: `plain` is used */
    double *scratch;
    double *samples;
    double complex *bins;
};

static enum status make_transform(struct fft_double *fft, bool odd)
{
    if (!fft->samples || !fft->bins)
        return fail_memory("a Fourier transform");
    if (!odd)
        return fft_create_in_double(fft->n, &fft->plain);
    fft->scratch = audio_alloc_in_double(fft->n);
    return fft->scratch ? odd_fft_create_in_double(fft->n, &fft->odd)
                        : fail_memory("a Fourier transform");
}

static enum status create(size_t n, bool odd, struct fft_double **result)
{
    struct fft_double *fft = calloc(1, sizeof *fft);
    if (!fft)
        return fail_memory("a Fourier transform");
    fft->n = n;
    fft->samples = audio_alloc_in_double(n);
    fft->bins = (double complex *)audio_alloc_in_double(fft_spectrum_floats(n));
    enum status status = make_transform(fft, odd);
    if (status != STATUS_OK) {
        fft_double_destroy(fft);
        return status;
    }
    *result = fft;
    return STATUS_OK;
}

enum status fft_double_create(size_t n, struct fft_double **result)
{
    return create(n, false, result);
}

enum status fft_double_create_odd(size_t n, struct fft_double **result)
{
    return create(n, true, result);
}

void fft_double_destroy(struct fft_double *fft)
{
    if (!fft)
        return;
    fft_destroy_in_double(fft->plain);
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
        fft_forward_in_double(fft->plain, fft->samples, (double *)fft->bins);
}

HALO_REALTIME void fft_double_inverse(const struct fft_double *fft)
{
    if (fft->odd)
        odd_fft_inverse_in_double(fft->odd, (double *)fft->bins, fft->scratch, 0, fft->n,
                                  fft->samples);
    else
        fft_inverse_in_double(fft->plain, (const double *)fft->bins, fft->samples);
}

size_t fft_double_fitting(size_t length)
{
    size_t n = 2;
    while (n < length)
        n *= 2;
    return n;
}
