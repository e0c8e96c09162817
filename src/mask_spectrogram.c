#include "mask_curves.h"

#include "fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COLUMNS_LEAST = 2, /* a picture has no fewer */
    COLUMNS_MOST = 240,
    ROWS = 120,
    WINDOW_LEAST = 64,
    WINDOWS_WANTED = 16, /* of them in the mask */
    PADDING = 8,
};

static const double window_most = 0.04; /* seconds */
static const double lowest = 20, floor_db = -90;

static size_t window_for(size_t taps, uint32_t rate)
{
    size_t window = WINDOW_LEAST;
    while (window < taps / WINDOWS_WANTED && (double)window * 2 < window_most * rate)
        window *= 2;
    return window;
}

/* One column: the power at each row's frequency, or the mean of its share. */
static void measure(const struct fft_double *fft, double rate, struct spectrogram *picture,
                    double *db)
{
    const double complex *bins = fft_double_bins(fft);
    double length = (double)fft_double_length(fft), half = sqrt(picture->ratio);
    for (size_t r = 0; r < picture->rows; r++) {
        double hz = picture->low * pow(picture->ratio, (double)r);
        size_t from = (size_t)ceil(hz / half * length / rate);
        size_t end = (size_t)fmin(floor(hz * half * length / rate), length / 2) + 1;
        if (end <= from) {
            from = (size_t)fmin(rint(hz * length / rate), length / 2);
            end = from + 1;
        }
        double power = 0;
        for (size_t b = from; b < end; b++)
            power += pow(cabs(bins[b]), 2);
        db[r] = power > 0 ? 10 * log10(power / (double)(end - from)) : -INFINITY;
    }
}

/* The taps under a window whose middle is at `middle`. */
static void take_window(const struct fft_double *fft, const float *taps, size_t count,
                        size_t window, double middle)
{
    double *samples = fft_double_samples(fft);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    for (size_t i = 0; i < window; i++) {
        double at = rint(middle) - (double)window / 2 + (double)i;
        if (at >= 0 && at < (double)count)
            samples[i] =
                (double)taps[(size_t)at] * pow(sin(M_PI * ((double)i + 0.5) / (double)window), 2);
    }
    fft_double_forward(fft);
}

static void make_relative(struct spectrogram *picture)
{
    double largest = -INFINITY;
    for (size_t i = 0; i < picture->columns * picture->rows; i++)
        largest = fmax(largest, picture->db[i]);
    for (size_t i = 0; i < picture->columns * picture->rows; i++)
        picture->db[i] = isfinite(largest) ? fmax(picture->db[i] - largest, floor_db) : floor_db;
}

enum status spectrogram_init(struct spectrogram *picture, const struct mask *mask, size_t column,
                             uint32_t rate)
{
    struct fft_double *fft = NULL;
    size_t window = window_for(mask->taps, rate);
    double high = rate / 2.0, low = fmin(lowest, high / 10), ratio = pow(high / low, 1.0 / ROWS);
    size_t columns = mask->taps < COLUMNS_MOST ? mask->taps : COLUMNS_MOST;
    if (columns < COLUMNS_LEAST)
        columns = COLUMNS_LEAST;
    double step = (double)mask->taps / (double)columns;
    *picture = (struct spectrogram){
        .columns = columns,
        .rows = ROWS,
        .from = (step / 2 - (double)mask->origin) / rate,
        .step = step / rate,
        .low = low * sqrt(ratio),
        .ratio = ratio,
        .db = calloc(columns * ROWS, sizeof *picture->db),
    };
    enum status status =
        picture->db ? fft_double_create(PADDING * window, &fft) : fail_memory("a spectrogram");
    for (size_t c = 0; c < columns && status == STATUS_OK; c++) {
        take_window(fft, mask_column(mask, column), mask->taps, window, ((double)c + 0.5) * step);
        measure(fft, rate, picture, picture->db + c * ROWS);
    }
    if (status == STATUS_OK)
        make_relative(picture);
    else
        spectrogram_free(picture);
    fft_double_destroy(fft);
    return status;
}

void spectrogram_free(struct spectrogram *picture)
{
    free(picture->db);
    *picture = (struct spectrogram){0};
}
