#include "mask/mask_waterfall.h"

#include "mask/room_acoustics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SLICES = 40 };

static const double rise_most = 0.01; /* seconds: of the window of a slice */

/* The taps from a time on; those just before are faded in. */
static void cut(const double *taps, size_t count, double from, double rise, double *cut_taps)
{
    for (size_t k = 0; k < count; k++) {
        double place = fmin(fmax(1 - (from - (double)k) / rise, 0), 1);
        cut_taps[k] = taps[k] * (0.5 - 0.5 * cos(M_PI * place));
    }
}

static enum status measure(struct waterfall *waterfall, const double *taps, size_t count,
                           double onset, uint32_t rate, double *slice)
{
    double rise = fmax(1, fmin(rise_most, waterfall->step) * rate), largest = -INFINITY;
    struct mask_path path;
    struct mask mask = response_column(slice, count, rate, &path);
    for (size_t s = 0; s < waterfall->slices; s++) {
        double *db = waterfall->db + s * waterfall->axis.points;
        cut(taps, count, onset + (double)s * waterfall->step * rate, rise, slice);
        if (s == 0)
            memcpy(slice, taps, count * sizeof *slice);
        TRY(response_measure(&mask, rate, &waterfall->axis, db));
        for (size_t p = 0; p < waterfall->axis.points && s == 0; p++)
            largest = fmax(largest, db[p]);
    }
    for (size_t i = 0; i < waterfall->slices * waterfall->axis.points; i++)
        waterfall->db[i] -= isfinite(largest) ? largest : 0;
    return STATUS_OK;
}

enum status waterfall_init(struct waterfall *waterfall, const struct mask *mask, size_t column,
                           uint32_t rate, double seconds, const struct response_axis *axis)
{
    const double *taps = mask_column(mask, column);
    double onset = (double)room_acoustics_onset(taps, mask->taps);
    *waterfall =
        (struct waterfall){.axis = *axis, .slices = SLICES, .step = seconds / (SLICES - 1)};
    waterfall->db = calloc(axis->points * SLICES, sizeof *waterfall->db);
    double *slice = calloc(mask->taps, sizeof *slice);
    enum status status = waterfall->db && slice
                             ? measure(waterfall, taps, mask->taps, onset, rate, slice)
                             : fail_memory("a waterfall");
    free(slice);
    if (status != STATUS_OK)
        waterfall_free(waterfall);
    return status;
}

void waterfall_free(struct waterfall *waterfall)
{
    free(waterfall->db);
    *waterfall = (struct waterfall){0};
}
