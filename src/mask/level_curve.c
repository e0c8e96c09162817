#include "mask/level_curve.h"

#include <math.h>
#include <stdlib.h>

static const double LOWEST = 1e-6; /* Hz: stands for all below */

enum status level_curve_add(struct level_curve *curve, double hertz, double level)
{
    TRY(mask_values_add(&curve->octaves, log2(hertz)));
    return mask_values_add(&curve->levels, level);
}

void level_curve_free(struct level_curve *curve)
{
    free(curve->octaves.values);
    free(curve->levels.values);
    *curve = (struct level_curve){0};
}

/* How many points lie below `octave`. */
static size_t points_below(const struct level_curve *curve, double octave)
{
    size_t from = 0, end = curve->octaves.count;
    while (from < end) {
        size_t middle = from + (end - from) / 2;
        if (curve->octaves.values[middle] < octave)
            from = middle + 1;
        else
            end = middle;
    }
    return from;
}

double level_curve_at(const struct level_curve *curve, double hertz)
{
    const double *octaves = curve->octaves.values, *levels = curve->levels.values;
    double octave = log2(fmax(hertz, LOWEST));
    size_t next = points_below(curve, octave);
    if (next == 0 || next == curve->octaves.count)
        return levels[next == 0 ? 0 : next - 1];
    return levels[next - 1] + (levels[next] - levels[next - 1]) * (octave - octaves[next - 1]) /
                                  (octaves[next] - octaves[next - 1]);
}

double level_curve_mean(const struct level_curve *curve)
{
    const double *octaves = curve->octaves.values, *levels = curve->levels.values;
    size_t last = curve->octaves.count - 1;
    double area = 0;
    for (size_t i = 0; i < last; i++)
        area += (levels[i] + levels[i + 1]) / 2 * (octaves[i + 1] - octaves[i]);
    return octaves[last] > octaves[0] ? area / (octaves[last] - octaves[0]) : levels[0];
}

size_t level_curve_count(const struct level_curve *curve)
{
    return curve->octaves.count;
}

double level_curve_hertz(const struct level_curve *curve, size_t point)
{
    return exp2(curve->octaves.values[point]);
}
