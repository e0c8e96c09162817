#include "spectrogram/spectrogram.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

double spectrogram_axis_hz(const struct spectrogram_axis *axis, double row)
{
    double share = row / (double)axis->rows;
    return axis->is_log ? axis->low * pow(axis->high / axis->low, share)
                        : axis->low + share * (axis->high - axis->low);
}

double spectrogram_axis_row(const struct spectrogram_axis *axis, double hz)
{
    double share = axis->is_log ? log(hz / axis->low) / log(axis->high / axis->low)
                                : (hz - axis->low) / (axis->high - axis->low);
    return share * (double)axis->rows;
}

void spectrogram_free(struct spectrogram *picture)
{
    free(picture->power);
    *picture = (struct spectrogram){0};
}

struct spectrogram_peak spectrogram_find_peak(const struct spectrogram *picture)
{
    size_t best = 0, rows = picture->axis.rows;
    for (size_t i = 1; i < picture->columns * rows; i++)
        if (picture->power[i] > picture->power[best])
            best = i;
    return (struct spectrogram_peak){
        .power = (double)picture->power[best],
        .seconds = picture->from + ((double)(best / rows) + 0.5) * picture->step,
        .hz = spectrogram_axis_hz(&picture->axis, (double)(best % rows) + 0.5),
    };
}

double spectrogram_db(double power, double floor)
{
    return power > 0 ? fmax(10 * log10(power), floor) : floor;
}

static const double nice[] = {1, 2, 5};
enum { NICE = sizeof nice / sizeof *nice };

static void add_tick(struct spectrogram_ticks *ticks, double value)
{
    if (ticks->count < SPECTROGRAM_TICKS)
        ticks->at[ticks->count++] = value;
}

struct spectrogram_ticks spectrogram_ticks_seconds(double from, double to, size_t most)
{
    struct spectrogram_ticks ticks = {0};
    double decade = pow(10, floor(log10((to - from) / (double)most))), step = 10 * decade;
    for (size_t i = NICE; i-- > 0;)
        if (nice[i] * decade * (double)most >= (to - from) * (1 - 1e-9))
            step = nice[i] * decade;
    double first = ceil(from / step - 1e-9) + 0.0; /* no negative zero */
    for (double i = first; i * step <= to + 1e-9 * step; i++)
        add_tick(&ticks, i * step);
    return ticks;
}

struct spectrogram_ticks spectrogram_ticks_hz(const struct spectrogram_axis *axis, size_t most)
{
    struct spectrogram_ticks ticks = {0};
    if (!axis->is_log)
        return spectrogram_ticks_seconds(axis->low, axis->high, most);
    for (double decade = pow(10, floor(log10(axis->low))); decade <= axis->high; decade *= 10)
        for (size_t i = 0; i < NICE; i++)
            if (nice[i] * decade >= axis->low * (1 - 1e-9) && nice[i] * decade <= axis->high)
                add_tick(&ticks, nice[i] * decade);
    return ticks;
}

void spectrogram_tick_hz(double hz, char text[static SPECTROGRAM_TICK_TEXT])
{
    bool kilo = hz >= 999.9995;
    snprintf(text, SPECTROGRAM_TICK_TEXT, "%.4g%s", kilo ? hz / 1000 : hz, kilo ? "k" : "");
}
