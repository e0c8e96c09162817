#include "mask/mask_minimum_phase.h"

#include "signal/audio.h"
#include "signal/fft_double.h"
#include "signal/phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_LEAST = 1 << 12, LENGTH_MOST = 1 << 23, TIMES_WANTED = 16, TIMES_LEAST = 4 };

static const double good_error = 1e-6;

struct homomorphy {
    struct fft_double *fft;
    size_t length, bins;
    double *magnitudes;
    double largest;
};

static void homomorphy_free(struct homomorphy *work)
{
    fft_double_destroy(work->fft);
    free(work->magnitudes);
}

static enum status homomorphy_init(struct homomorphy *work, size_t length)
{
    *work = (struct homomorphy){
        .length = length,
        .bins = length / 2 + 1,
        .magnitudes = calloc(length / 2 + 1, sizeof(double)),
    };
    return work->magnitudes ? fft_double_create(length, &work->fft)
                            : fail_memory("a minimum phase");
}

static void transform(const struct homomorphy *work, const double *taps, size_t count)
{
    double *samples = fft_double_samples(work->fft);
    memset(samples, 0, work->length * sizeof *samples);
    memcpy(samples, taps, count * sizeof *taps);
    fft_double_forward(work->fft);
}

static void keep_magnitudes(struct homomorphy *work)
{
    const double complex *bins = fft_double_bins(work->fft);
    work->largest = 0;
    for (size_t b = 0; b < work->bins; b++) {
        work->magnitudes[b] = cabs(bins[b]);
        work->largest = fmax(work->largest, work->magnitudes[b]);
    }
}

static void synthesise(const struct homomorphy *work, double *result, size_t count)
{
    double complex *bins = fft_double_bins(work->fft);
    for (size_t b = 0; b < work->bins; b++)
        bins[b] = work->magnitudes[b];
    phase_minimum_of(work->fft);
    memcpy(result, fft_double_samples(work->fft), count * sizeof *result);
}

static double error_of(const struct homomorphy *work, const double *result, size_t count)
{
    const double complex *bins = fft_double_bins(work->fft);
    double most = 0;
    transform(work, result, count);
    for (size_t b = 0; b < work->bins; b++)
        most = fmax(most, fabs(cabs(bins[b]) - work->magnitudes[b]));
    return most / work->largest;
}

static double sign_of(const double *taps, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(taps[i]) > fabs(largest))
            largest = taps[i];
    return largest < 0 ? -1 : 1;
}

static enum status try_length(const double *taps, size_t count, size_t length, double *result,
                              double *error)
{
    struct homomorphy work;
    enum status status = homomorphy_init(&work, length);
    *error = 0;
    if (status == STATUS_OK) {
        transform(&work, taps, count);
        keep_magnitudes(&work);
    }
    if (status == STATUS_OK && work.largest > 0) {
        synthesise(&work, result, count);
        *error = error_of(&work, result, count);
    }
    homomorphy_free(&work);
    return status;
}

/* The first to try. */
static size_t length_for(size_t count)
{
    size_t length = LENGTH_LEAST;
    while (length < TIMES_LEAST * count || (length < TIMES_WANTED * count && length < LENGTH_MOST))
        length *= 2;
    return length;
}

enum status minimum_phase(const double *taps, size_t count, double *result, double *error)
{
    double sign = sign_of(taps, count), reached = INFINITY;
    double *trial = calloc(count, sizeof *trial);
    size_t length = length_for(count);
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
        float *column = mask_column(mask, c);
        for (size_t i = 0; i < mask->taps; i++)
            taps[i] = column[i];
        status = minimum_phase(taps, mask->taps, taps, &error);
        worst = fmax(worst, error);
        for (size_t i = 0; i < mask->taps && status == STATUS_OK; i++)
            column[i] = (float)taps[i];
    }
    if (status == STATUS_OK)
        note_detail("mask %s: minimum phase, magnitudes to within %.0f dB of the largest",
                    mask->name, audio_to_db(worst));
    mask->origin = 0;
    free(taps);
    return status;
}
