#include "mask/mask_delay.h"

#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double near_peak = 0.99, clear = 0.8, clear_seconds = 0.001;
static const double equal = 0.99999; /* equal, except for rounding errors of transforms */
enum { USUAL_RATE = 48000 };         /* assumed for masks without a rate */

static double height(const struct mask *mask, size_t k, bool squared)
{
    double sum = 0;
    for (size_t p = 0; p < mask->path_count; p++) {
        double tap = mask_column(mask, mask->paths[p].column)[k];
        sum += squared ? tap * tap : fabs(tap);
    }
    return sum;
}

struct peak {
    double height;
    double at; /* index of the peak, whole or halfway between two */
};

/* The place halfway between the first and the last value that reach `nearness` of the largest. */
static struct peak find_peak(const float *heights, size_t count, double nearness)
{
    struct peak peak = {0, 0};
    size_t first = 0, last = 0;
    for (size_t k = 0; k < count; k++)
        peak.height = fmax(peak.height, heights[k]);
    while (first + 1 < count && heights[first] < nearness * peak.height)
        first++;
    for (size_t k = first; k < count; k++)
        if (heights[k] >= nearness * peak.height)
            last = k;
    peak.at = ((double)first + (double)last) / 2;
    return peak;
}

static bool is_clear(const struct mask *mask, const float *heights, struct peak peak)
{
    double most = clear_seconds * (mask->rate ? mask->rate : USUAL_RATE);
    for (size_t k = 0; k < mask->taps; k++)
        if (fabs((double)k - peak.at) > most && heights[k] > clear * peak.height)
            return false;
    return true;
}

static double find_centroid(const struct mask *mask)
{
    double energy = 0, moment = 0;
    for (size_t k = 0; k < mask->taps; k++) {
        double power = height(mask, k, true);
        energy += power;
        moment += power * (double)k;
    }
    return energy > 0 ? moment / energy : 0;
}

/* Rounds to the nearest. Halfway, or as near to it as rounding errors, it rounds down. */
static int64_t nearest(double at)
{
    return (int64_t)ceil(at - 0.501);
}

enum status mask_delay(const struct mask *mask, enum mask_delay_method method, int64_t *delay)
{
    float *heights = calloc(mask->taps, sizeof *heights);
    if (!heights)
        return fail_memory("aligning masks");
    for (size_t k = 0; k < mask->taps; k++)
        heights[k] = (float)height(mask, k, false);
    struct peak peak = find_peak(heights, mask->taps, near_peak);
    bool by_peak =
        method == MASK_DELAY_PEAK || (method == MASK_DELAY_AUTO && is_clear(mask, heights, peak));
    free(heights);
    *delay = 0;
    if (peak.height > 0)
        *delay = nearest(by_peak ? peak.at : find_centroid(mask)) - (int64_t)mask->origin;
    return STATUS_OK;
}

struct correlation {
    struct fft *fft;
    float *samples;
    float *a, *b, *sum; /* spectra */
};

static void correlation_free(struct correlation *work)
{
    fft_destroy(work->fft);
    free(work->samples);
    free(work->a);
    free(work->b);
    free(work->sum);
}

static enum status correlation_init(struct correlation *work, size_t length)
{
    size_t floats = fft_spectrum_floats(length);
    *work = (struct correlation){
        .samples = audio_alloc(length),
        .a = audio_alloc(floats),
        .b = audio_alloc(floats),
        .sum = audio_alloc(floats),
    };
    enum status status = fft_create(length, &work->fft);
    if (status == STATUS_OK && (!work->samples || !work->a || !work->b || !work->sum))
        status = fail_memory("aligning masks");
    if (status != STATUS_OK)
        correlation_free(work);
    return status;
}

/* Adds the product of a common path. Reversing `a` in time turns convolution into correlation. */
static void correlate(struct correlation *work, const double *a, size_t a_taps, const double *b,
                      size_t b_taps)
{
    size_t length = fft_length(work->fft);
    memset(work->samples, 0, length * sizeof *work->samples);
    for (size_t k = 0; k < a_taps; k++)
        work->samples[a_taps - 1 - k] = (float)a[k];
    fft_forward(work->fft, work->samples, work->a);
    memset(work->samples, 0, length * sizeof *work->samples);
    for (size_t k = 0; k < b_taps; k++)
        work->samples[k] = (float)b[k];
    fft_forward(work->fft, work->samples, work->b);
    fft_multiply_add(work->sum, work->a, work->b, fft_spectrum_floats(length));
}

enum status mask_delay_between(const struct mask *a, const struct mask *b, int64_t *delay)
{
    struct correlation work;
    size_t lags = a->taps + b->taps - 1, length = 2, common = 0;
    while (length < lags)
        length *= 2;
    TRY(correlation_init(&work, length));
    bool same_rate = a->rate == b->rate || a->rate == 0 || b->rate == 0;
    for (size_t p = 0; p < a->path_count && same_rate; p++) {
        const double *theirs = mask_path_column(b, a->paths[p]);
        if (theirs)
            correlate(&work, mask_column(a, a->paths[p].column), a->taps, theirs, b->taps);
        common += theirs != NULL;
    }
    fft_inverse(work.fft, work.sum, work.samples);
    for (size_t lag = 0; lag < lags; lag++)
        work.samples[lag] = fabsf(work.samples[lag]);
    struct peak peak = find_peak(work.samples, lags, equal);
    correlation_free(&work);
    if (common == 0 || peak.height <= 0) {
        int64_t earlier = 0, later = 0;
        TRY(mask_delay(a, MASK_DELAY_AUTO, &earlier));
        TRY(mask_delay(b, MASK_DELAY_AUTO, &later));
        *delay = later - earlier;
        return STATUS_OK;
    }
    *delay = nearest(peak.at) - (int64_t)(a->taps - 1) - (int64_t)b->origin + (int64_t)a->origin;
    return STATUS_OK;
}
