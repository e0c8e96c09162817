#include "spectrogram/spectrogram_ticks.h"

#include <math.h>
#include <stdio.h>

static const double nice[] = {1, 2, 5};
enum { NICE = sizeof nice / sizeof *nice };

static void add(struct spectrogram_ticks *ticks, double value)
{
    if (ticks->count < SPECTROGRAM_TICKS)
        ticks->at[ticks->count++] = value;
}

static struct spectrogram_ticks even_ticks(double from, double to, size_t most)
{
    struct spectrogram_ticks ticks = {0};
    double decade = pow(10, floor(log10((to - from) / (double)most))), step = 10 * decade;
    for (size_t i = NICE; i-- > 0;)
        if (nice[i] * decade * (double)most >= (to - from) * (1 - 1e-9))
            step = nice[i] * decade;
    double first = ceil(from / step - 1e-9) + 0.0; /* no negative zero */
    for (double i = first; i * step <= to + 1e-9 * step; i++)
        add(&ticks, i * step);
    return ticks;
}

struct spectrogram_ticks spectrogram_ticks_hz(const struct spectrogram_axis *axis, size_t most)
{
    struct spectrogram_ticks ticks = {0};
    if (!axis->is_log)
        return even_ticks(axis->low, axis->high, most);
    for (double decade = pow(10, floor(log10(axis->low))); decade <= axis->high; decade *= 10)
        for (size_t i = 0; i < NICE; i++)
            if (nice[i] * decade >= axis->low * (1 - 1e-9) && nice[i] * decade <= axis->high)
                add(&ticks, nice[i] * decade);
    return ticks;
}

struct spectrogram_ticks spectrogram_ticks_seconds(double from, double to, size_t most)
{
    return even_ticks(from, to, most);
}

void spectrogram_tick_hz(double hz, char text[static SPECTROGRAM_TICK_TEXT])
{
    bool kilo = hz >= 999.9995;
    snprintf(text, SPECTROGRAM_TICK_TEXT, "%.4g%s", kilo ? hz / 1000 : hz, kilo ? "k" : "");
}
