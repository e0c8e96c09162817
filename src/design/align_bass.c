#include "design/align_bass.h"

#include "signal/fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double CLEARLY = 1.2;

static size_t longest(const struct bass_search *search)
{
    size_t frames = 0, delay = (size_t)(labs(search->from) + labs(search->to));
    for (size_t i = 0; i < search->path_count + search->positions; i++) {
        const struct bass_path *path =
            i < search->path_count ? &search->paths[i] : &search->bass[i - search->path_count];
        size_t length = path->tap_count + path->filter_count + (size_t)labs(path->delay) + delay;
        frames = length > frames ? length : frames;
    }
    return frames;
}

/* Transforms taps into `bins`. */
static void transform(const struct fft_double *fft, const double *taps, size_t count,
                      double complex *bins)
{
    size_t n = fft_double_length(fft);
    memset(fft_double_samples(fft), 0, n * sizeof *taps);
    memcpy(fft_double_samples(fft), taps, count * sizeof *taps);
    fft_double_forward(fft);
    memcpy(bins, fft_double_bins(fft), (n / 2 + 1) * sizeof *bins);
}

/* Adds the spectrum of a filtered path to `sum`. `scratch`: as many bins. */
static void add_path(const struct fft_double *fft, const struct bass_path *path,
                     double complex *scratch, double complex *sum)
{
    size_t n = fft_double_length(fft);
    transform(fft, path->taps, path->tap_count, scratch);
    transform(fft, path->filter, path->filter_count, fft_double_bins(fft));
    for (size_t b = 0; b <= n / 2; b++)
        sum[b] += scratch[b] * fft_double_bins(fft)[b] *
                  cexp(-2 * M_PI * I * (double)b * (double)path->delay / (double)n);
}

/* Adds the cross-spectrum at a position to `cross`. `work`: three times as many bins. */
static void add_position(const struct bass_search *search, const struct fft_double *fft,
                         size_t position, double complex *work, double complex *cross)
{
    size_t bins = fft_double_length(fft) / 2 + 1;
    double complex *others = work + bins, *bass = work + 2 * bins;
    memset(others, 0, 2 * bins * sizeof *others);
    for (size_t i = 0; i < search->path_count; i++)
        if (search->paths[i].position == position)
            add_path(fft, &search->paths[i], work, others);
    add_path(fft, &search->bass[position], work, bass);
    for (size_t b = 0; b < bins; b++)
        cross[b] += search->weights[position] * others[b] * conj(bass[b]);
}

enum status align_bass(const struct bass_search *search, ptrdiff_t *delay, bool *inverted)
{
    struct fft_double *fft;
    size_t n = fft_double_fitting(longest(search)), bins = n / 2 + 1;
    double complex *work = calloc(4 * bins, sizeof *work);
    enum status status = work ? fft_double_create(n, &fft) : fail_memory("a correction");
    if (status == STATUS_OK) {
        double complex *cross = work + 3 * bins;
        double most = -INFINITY, least = INFINITY;
        for (size_t p = 0; p < search->positions; p++)
            add_position(search, fft, p, work, cross);
        memcpy(fft_double_bins(fft), cross, bins * sizeof *cross);
        fft_double_inverse(fft);
        for (ptrdiff_t d = search->from; d <= search->to; d++) {
            double sum = fft_double_samples(fft)[(d + (ptrdiff_t)n) % (ptrdiff_t)n];
            *delay = sum > most ? d : *delay;
            most = fmax(most, sum);
            least = fmin(least, sum);
        }
        *inverted = -least > CLEARLY * most;
        fft_double_destroy(fft);
    }
    free(work);
    return status;
}
