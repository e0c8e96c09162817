#include "mask/mask_curves.h"

#include "spectrogram/spectrogram_frame.h"

#include <math.h>
#include <stdlib.h>

enum {
    COLUMNS_MOST = 240,
    ROWS = 120,
    WINDOW_LEAST = 64,
    WINDOWS_WANTED = 16, /* of them in the mask */
    PADDING = 8,
};

static const double window_most = 0.04; /* seconds */
static const double lowest = 20;        /* Hz */

static size_t window_for(size_t taps, uint32_t rate)
{
    size_t window = WINDOW_LEAST;
    while (window < taps / WINDOWS_WANTED && (double)window * 2 < window_most * rate)
        window *= 2;
    return window;
}

/* The taps under a window whose middle is at `middle`. */
static void parse_window(const float *taps, size_t count, size_t window, double middle,
                        float *samples)
{
    for (size_t i = 0; i < window; i++) {
        double at = rint(middle) - (double)window / 2 + (double)i;
        samples[i] = at >= 0 && at < (double)count ? taps[(size_t)at] : 0;
    }
}

static void make_relative(struct spectrogram *picture)
{
    double largest = spectrogram_find_peak(picture).power;
    for (size_t i = 0; i < picture->columns * picture->axis.rows && largest > 0; i++)
        picture->power[i] = (float)((double)picture->power[i] / largest);
}

enum status mask_spectrogram_init(const struct mask *mask, size_t column, uint32_t rate,
                                  struct spectrogram *picture)
{
    struct spectrogram_frame *frame = NULL;
    size_t window = window_for(mask->taps, rate);
    size_t columns = mask->taps < COLUMNS_MOST ? mask->taps : COLUMNS_MOST;
    double step = (double)mask->taps / (double)columns;
    *picture = (struct spectrogram){
        .axis = {.is_log = true, .rows = ROWS, .high = rate / 2.0},
        .columns = columns,
        .from = -(double)mask->origin / rate,
        .step = step / rate,
        .power = calloc(columns * ROWS, sizeof *picture->power),
    };
    picture->axis.low = fmin(lowest, picture->axis.high / 10);
    float *samples = calloc(window, sizeof *samples);
    struct spectrogram_frame_settings settings = {.window = WINDOW_HANN,
                                                  .size = window,
                                                  .padding = PADDING,
                                                  .rate = rate,
                                                  .mean = true,
                                                  .axis = picture->axis};
    enum status status = picture->power && samples ? spectrogram_frame_create(&settings, &frame)
                                                   : fail_memory("a spectrogram");
    for (size_t c = 0; c < columns && status == STATUS_OK; c++) {
        parse_window(mask_column(mask, column), mask->taps, window, ((double)c + 0.5) * step,
                    samples);
        spectrogram_frame_measure(frame, samples, picture->power + c * ROWS);
    }
    if (status == STATUS_OK)
        make_relative(picture);
    else
        spectrogram_free(picture);
    spectrogram_frame_destroy(frame);
    free(samples);
    return status;
}
