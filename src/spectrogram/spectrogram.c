#include "spectrogram/spectrogram.h"

#include <math.h>
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
