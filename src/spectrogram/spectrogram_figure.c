#include "spectrogram/spectrogram_figure.h"

#include <math.h>

static const double near = 0.01; /* dB above a whole one that do not make another */

void spectrogram_figure_free(struct spectrogram_figure *figure)
{
    for (size_t i = 0; i < figure->count; i++)
        spectrogram_free(&figure->pictures[i]);
}

void spectrogram_figure_scale(struct spectrogram_figure *figure, double range)
{
    double most = 0;
    figure->to = figure->from;
    for (size_t i = 0; i < figure->count; i++) {
        most = fmax(most, spectrogram_find_peak(&figure->pictures[i]).power);
        figure->to = fmax(figure->to, figure->ends[i]);
    }
    figure->top = most > 0 ? ceil(10 * log10(most) - near) + 0.0 : 0; /* no negative zero */
    figure->bottom = figure->top - range;
}
