#include "convolve/spectral_window.h"

#include "signal/window.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOPS_NAMED = 4 };

/* Allowed variation of the sum of squared windows: -140 dB. */
static const double CONSTANT_WITHIN = 1e-7;

const char *const spectral_shape_names[SPECTRAL_SHAPES + 1] = {
    [SPECTRAL_HANN] = "hann", [SPECTRAL_HAMMING] = "hamming",     [SPECTRAL_BLACKMAN] = "blackman",
    [SPECTRAL_SINE] = "sine", [SPECTRAL_RECTANGLE] = "rectangle",
};

static double value_at(enum spectral_shape shape, size_t i, size_t size)
{
    switch (shape) {
    case SPECTRAL_HAMMING:
        return window_at(WINDOW_HAMMING, 0, i, size + 1);
    case SPECTRAL_BLACKMAN:
        return window_at(WINDOW_BLACKMAN, 0, i, size + 1);
    case SPECTRAL_SINE: /* symmetric and never 0 */
        return sin(M_PI * ((double)i + 0.5) / (double)size);
    case SPECTRAL_RECTANGLE:
        return 1;
    case SPECTRAL_HANN:
    case SPECTRAL_SHAPES:
        break;
    }
    return window_at(WINDOW_HANN, 0, i, size + 1);
}

void spectral_window_fill(const struct spectral_window_settings *settings, double *window)
{
    for (size_t i = 0; i < settings->size; i++)
        window[i] = value_at(settings->shape, i, settings->size);
}

/* *sum: the mean over the samples of a hop. False: it varies. */
static bool reconstructs(const double *window, size_t size, size_t hop, double *sum)
{
    double least = INFINITY, most = 0;
    for (size_t at = 0; at < hop; at++) {
        double here = 0;
        for (size_t i = at; i < size; i += hop)
            here += window[i] * window[i];
        least = fmin(least, here);
        most = fmax(most, here);
    }
    *sum = (least + most) / 2;
    return least > 0 && most - least <= CONSTANT_WITHIN * most;
}

static enum status refuse(const struct spectral_window_settings *settings, const double *window)
{
    char hops[96] = "";
    size_t length = 0, named = 0;
    double sum;
    for (size_t parts = 1; parts <= settings->size && named < HOPS_NAMED; parts++) {
        size_t hop = settings->size / parts;
        if (hop * parts == settings->size && reconstructs(window, settings->size, hop, &sum))
            length += (size_t)snprintf(hops + length, sizeof hops - length, "%s%zu",
                                       named++ ? ", " : "", hop);
    }
    return fail(STATUS_USAGE,
                "hop=%zu does not reconstruct the sound with window=%s, size=%zu; hops that do: "
                "%s%s",
                settings->hop, spectral_shape_names[settings->shape], settings->size, hops,
                named == HOPS_NAMED ? ", ..." : "");
}

enum status spectral_window_check(const struct spectral_window_settings *settings, double *sum)
{
    size_t size = settings->size;
    if (size < SPECTRAL_SIZE_LEAST || size > SPECTRAL_SIZE_MOST || size % 2)
        return fail(STATUS_USAGE, "size= must be an even number from %d to %d, not %zu",
                    SPECTRAL_SIZE_LEAST, SPECTRAL_SIZE_MOST, size);
    if (settings->hop < 1 || settings->hop > size)
        return fail(STATUS_USAGE, "hop= must be from 1 to size=%zu, not %zu", size, settings->hop);
    double *window = malloc(size * sizeof *window);
    if (!window)
        return fail_memory("a window");
    spectral_window_fill(settings, window);
    enum status status =
        reconstructs(window, size, settings->hop, sum) ? STATUS_OK : refuse(settings, window);
    free(window);
    return status;
}
