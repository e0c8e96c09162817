#include "mask/mask_minimum_phase.h"

#include "signal/audio.h"
#include "signal/fft_double.h"
#include "signal/phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_LEAST = 1 << 12, LENGTH_MOST = 1 << 23, TIMES_WANTED = 16, TIMES_LEAST = 4 };

static const double good_error = 1e-6;

static void transform(const struct fft_double *fft, const double *taps, size_t count)
{
    double *samples = fft_double_samples(fft);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    memcpy(samples, taps, count * sizeof *taps);
    fft_double_forward(fft);
}

/* *error: the largest difference of the magnitudes, as a share of the largest. `magnitudes` has
 * capacity for those of the transform. */
static void synthesise(struct fft_double *fft, const double *taps, size_t count, double *magnitudes,
                       double *result, double *error)
{
    double complex *bins = fft_double_bins(fft);
    size_t last = fft_double_length(fft) / 2;
    double largest = 0;
    *error = 0;
    transform(fft, taps, count);
    for (size_t b = 0; b <= last; b++) {
        magnitudes[b] = cabs(bins[b]);
        largest = fmax(largest, magnitudes[b]);
    }
    if (largest <= 0)
        return;
    for (size_t b = 0; b <= last; b++)
        bins[b] = magnitudes[b];
    phase_minimum_of(fft);
    memcpy(result, fft_double_samples(fft), count * sizeof *result);
    transform(fft, result, count);
    for (size_t b = 0; b <= last; b++)
        *error = fmax(*error, fabs(cabs(bins[b]) - magnitudes[b]));
    *error /= largest;
}

static enum status try_length(const double *taps, size_t count, size_t length, double *result,
                              double *error)
{
    struct fft_double *fft;
    TRY(fft_double_create(length, &fft));
    double *magnitudes = calloc(length / 2 + 1, sizeof *magnitudes);
    if (magnitudes)
        synthesise(fft, taps, count, magnitudes, result, error);
    enum status status = magnitudes ? STATUS_OK : fail_memory("a minimum phase");
    free(magnitudes);
    fft_double_destroy(fft);
    return status;
}

static double sign_of(const double *taps, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(taps[i]) > fabs(largest))
            largest = taps[i];
    return largest < 0 ? -1 : 1;
}

enum status minimum_phase(const double *taps, size_t count, double *result, double *error)
{
    double sign = sign_of(taps, count), reached = INFINITY;
    double *trial = calloc(count, sizeof *trial);
    size_t length = LENGTH_LEAST;
    while (length < TIMES_LEAST * count || (length < TIMES_WANTED * count && length < LENGTH_MOST))
        length *= 2;
    enum status status = trial ? STATUS_OK : fail_memory("a minimum phase");
    while (status == STATUS_OK) {
        status = try_length(taps, count, length, trial, &reached);
        if (reached <= good_error || length >= LENGTH_MOST)
            break;
        length = length * 4 < LENGTH_MOST ? length * 4 : LENGTH_MOST;
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        result[i] = sign * trial[i];
    if (error)
        *error = reached;
    free(trial);
    return status;
}

enum status mask_minimum_phase(struct mask *mask)
{
    double *taps = calloc(mask->taps, sizeof *taps);
    double error = 0, worst = 0;
    enum status status = taps ? STATUS_OK : fail_memory("a minimum phase");
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        double *column = mask_column(mask, c);
        for (size_t i = 0; i < mask->taps; i++)
            taps[i] = column[i];
        status = minimum_phase(taps, mask->taps, taps, &error);
        worst = fmax(worst, error);
        for (size_t i = 0; i < mask->taps && status == STATUS_OK; i++)
            column[i] = taps[i];
    }
    if (status == STATUS_OK)
        note_detail("mask %s: minimum phase, magnitudes to within %.0f dB of the largest",
                    mask->name, audio_to_db(worst));
    mask->origin = 0;
    free(taps);
    return status;
}
