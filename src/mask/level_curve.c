#include "mask/level_curve.h"

#include "signal/phase.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double LOWEST = 1e-6; /* Hz: stands for all below */

enum status level_curve_add(struct level_curve *curve, double hertz, double level)
{
    TRY(mask_values_add(&curve->octaves, log2(hertz)));
    return mask_values_add(&curve->levels, level);
}

struct level_point {
    double octave, level;
};

static int compare_octaves(const void *a, const void *b)
{
    double x = ((const struct level_point *)a)->octave, y = ((const struct level_point *)b)->octave;
    return (x > y) - (x < y);
}

enum status level_curve_sort(struct level_curve *curve)
{
    size_t count = curve->octaves.count;
    struct level_point *points = malloc(count * sizeof *points);
    if (!points)
        return fail_memory("a response");
    for (size_t i = 0; i < count; i++)
        points[i] = (struct level_point){curve->octaves.values[i], curve->levels.values[i]};
    qsort(points, count, sizeof *points, compare_octaves);
    for (size_t i = 0; i < count; i++) {
        curve->octaves.values[i] = points[i].octave;
        curve->levels.values[i] = points[i].level;
    }
    free(points);
    return STATUS_OK;
}

void level_curve_scale(struct level_curve *curve, double factor)
{
    for (size_t i = 0; i < curve->octaves.count; i++)
        curve->octaves.values[i] += log2(factor);
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

/* Between the bins, linearly: they are much closer than what the taps resolve. */
static double bin_magnitude(const struct fft_double *fft, double place)
{
    const double complex *bins = fft_double_bins(fft);
    size_t bin = (size_t)fmin(place, (double)(fft_double_length(fft) / 2 - 1));
    double share = place - (double)bin;
    return cabs(bins[bin]) * (1 - share) + cabs(bins[bin + 1]) * share;
}

enum status level_curve_measure(const struct level_curve *curve, double rate, const double *taps,
                                size_t count, double *gains)
{
    struct fft_double *fft;
    TRY(fft_double_create(phase_transform_length(count), &fft));
    size_t n = fft_double_length(fft);
    double *samples = fft_double_samples(fft);
    memset(samples, 0, n * sizeof *samples);
    memcpy(samples, taps, count * sizeof *samples);
    fft_double_forward(fft);
    for (size_t i = 0; i < level_curve_count(curve); i++) {
        double hertz = level_curve_hertz(curve, i);
        gains[i] = hertz < rate / 2 ? bin_magnitude(fft, hertz * (double)n / rate) : NAN;
    }
    fft_double_destroy(fft);
    return STATUS_OK;
}

double level_curve_error(double gain, double wanted, double least)
{
    return 20 * log10(1 + fabs(gain - wanted) / fmax(wanted, least));
}

size_t level_curve_count(const struct level_curve *curve)
{
    return curve->octaves.count;
}

double level_curve_hertz(const struct level_curve *curve, size_t point)
{
    return exp2(curve->octaves.values[point]);
}
