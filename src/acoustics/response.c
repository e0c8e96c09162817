#include "acoustics/response.h"

#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double usual_smoothing = 1.0 / 12, finest = 0.75; /* octaves; Hz from bin to bin */

double response_frequency(const struct response_axis *axis, double point)
{
    return axis->low * pow(axis->high / axis->low, (point + 0.5) / (double)axis->points);
}

struct response_span response_span(const struct mask *mask)
{
    size_t first = mask->taps, end = 0;
    for (size_t c = 0; c < mask->columns; c++) {
        const double *taps = mask_column(mask, c);
        size_t k = 0, last = mask->taps;
        while (k < first && fabs(taps[k]) <= 0)
            k++;
        while (last > end && fabs(taps[last - 1]) <= 0)
            last--;
        first = k;
        end = last;
    }
    return first < end ? (struct response_span){first, end - first}
                       : (struct response_span){0, mask->taps};
}

/* sums[b] is the power of all bins before b. */
static enum status sum_powers(const struct mask *mask, const struct response_span *span,
                              size_t length, double *sums)
{
    struct fft *fft = NULL;
    float *samples = audio_alloc(length), *spectrum = audio_alloc(fft_spectrum_floats(length));
    enum status status = samples && spectrum ? fft_create(length, &fft) : fail_memory("a plot");
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        size_t uses = 0;
        for (size_t p = 0; p < mask->path_count; p++)
            uses += mask->paths[p].column == c;
        double weight = (double)uses / (double)mask->outputs;
        memset(samples, 0, length * sizeof *samples);
        for (size_t k = 0; k < span->count; k++)
            samples[k] = (float)mask_column(mask, c)[span->first + k];
        fft_forward(fft, samples, spectrum);
        for (size_t b = 0; b <= length / 2; b++)
            sums[b + 1] += weight * (pow(spectrum[2 * b], 2) + pow(spectrum[2 * b + 1], 2));
    }
    for (size_t b = 0; b <= length / 2; b++)
        sums[b + 1] += sums[b];
    fft_destroy(fft);
    free(samples);
    free(spectrum);
    return status;
}

/* The sum up to a place between bins. Bin b reaches from b to b + 1. */
static double sum_to(const double *sums, size_t bins, double place)
{
    place = fmin(fmax(place, 0), (double)bins);
    size_t bin = place < (double)bins ? (size_t)place : bins - 1;
    return sums[bin] + (place - (double)bin) * (sums[bin + 1] - sums[bin]);
}

enum status response_measure(const struct mask *mask, uint32_t rate,
                             const struct response_axis *axis, double *db)
{
    struct response_span span = response_span(mask);
    size_t length = 2;
    while (length < span.count || (double)length * finest < rate)
        length *= 2;
    double *sums = calloc(length / 2 + 2, sizeof *sums);
    if (!sums)
        return fail_memory("a plot");
    enum status status = sum_powers(mask, &span, length, sums);
    double share = log2(axis->high / axis->low) / (double)axis->points;
    double smoothing = axis->smoothing > 0 ? axis->smoothing : usual_smoothing;
    double half = exp2(fmax(smoothing, share) / 2);
    for (size_t p = 0; p < axis->points && status == STATUS_OK; p++) {
        double bin = response_frequency(axis, (double)p) * (double)length / rate;
        double from = fmin(bin / half, (double)length / 2) + 0.5;
        double end = fmin(bin * half, (double)length / 2) + 0.5;
        double power = sum_to(sums, length / 2 + 1, end) - sum_to(sums, length / 2 + 1, from);
        db[p] = power > 0 ? 10 * log10(power / (end - from)) : -INFINITY;
    }
    free(sums);
    return status;
}

struct mask response_column(double *taps, size_t count, uint32_t rate, struct mask_path *path)
{
    *path = (struct mask_path){0};
    return (struct mask){
        .rate = rate,
        .columns = 1,
        .taps = count,
        .coefficients = taps,
        .inputs = 1,
        .outputs = 1,
        .path_count = 1,
        .paths = path,
    };
}
