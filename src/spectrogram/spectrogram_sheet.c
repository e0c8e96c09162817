#include "spectrogram/spectrogram_sheet.h"

#include <math.h>

static const double near = 0.01; /* dB above a whole one that do not make another */

void spectrogram_sheet_free(struct spectrogram_sheet *sheet)
{
    for (size_t i = 0; i < sheet->count; i++)
        spectrogram_free(&sheet->pictures[i]);
}

void spectrogram_sheet_scale(struct spectrogram_sheet *sheet, double range)
{
    double most = 0;
    sheet->to = sheet->from;
    for (size_t i = 0; i < sheet->count; i++) {
        most = fmax(most, spectrogram_find_peak(&sheet->pictures[i]).power);
        sheet->to = fmax(sheet->to, sheet->ends[i]);
    }
    sheet->top = most > 0 ? ceil(10 * log10(most) - near) + 0.0 : 0; /* no negative zero */
    sheet->bottom = sheet->top - range;
}
