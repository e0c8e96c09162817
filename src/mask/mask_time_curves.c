#include "mask/mask_curves.h"
#include "mask/room_acoustics.h"
#include "mask/room_decay.h"
#include "signal/audio.h"

#include <math.h>
#include <stdlib.h>

enum { TIMES = 2000 /* points of an axis */ };

static const double least_db = -400;

/* ---- the values of all taps ---- */

static enum status fill_impulse(const struct mask *mask, size_t column, uint32_t rate,
                                double *values)
{
    (void)rate;
    for (size_t k = 0; k < mask->taps; k++)
        values[k] = mask_column(mask, column)[k];
    return STATUS_OK;
}

static enum status fill_step(const struct mask *mask, size_t column, uint32_t rate, double *values)
{
    (void)rate;
    for (size_t k = 0; k < mask->taps; k++)
        values[k] = mask_column(mask, column)[k] + (k ? values[k - 1] : 0);
    return STATUS_OK;
}

/* Of the taps as they are, and no envelope by a Hilbert transform: its kernel falls as 1/t, so that
 * a constant in the response would stand above the end of any decay. */
static enum status fill_energy(const struct mask *mask, size_t column, uint32_t rate,
                               double *values)
{
    (void)rate;
    double silence =
        audio_peak_in_double(mask_column(mask, column), mask->taps) > 0 ? least_db : NAN;
    for (size_t k = 0; k < mask->taps; k++) {
        double level = audio_to_db(fabs(mask_column(mask, column)[k]));
        values[k] = level > least_db ? level : silence;
    }
    return STATUS_OK;
}

static enum status fill_decay(const struct mask *mask, size_t column, uint32_t rate, double *values)
{
    struct room_decay decay;
    size_t onset;
    TRY(room_decay_of_taps(&decay, mask_column(mask, column), mask->taps, rate, &onset));
    for (size_t k = 0; k < mask->taps; k++) {
        size_t from = k > onset ? k - onset : 0;
        bool is_known = decay.knee > 0 && from <= decay.knee && from < decay.count;
        values[k] = is_known ? 10 * log10(decay.energy[from] / decay.total) : NAN;
    }
    room_decay_free(&decay);
    return STATUS_OK;
}

static enum status (*const fill[])(const struct mask *, size_t column, uint32_t rate,
                                   double *values) = {
    [TIME_CURVE_IMPULSE] = fill_impulse,
    [TIME_CURVE_STEP] = fill_step,
    [TIME_CURVE_ENERGY] = fill_energy,
    [TIME_CURVE_DECAY] = fill_decay,
};

/* ---- the points ---- */

struct time_values {
    const double *values; /* of all taps */
    const struct mask *mask;
    const struct time_axis *axis;
    double rate;
    enum time_curve kind;
};

/* The first tap from a share of the axis on. */
static size_t tap_at(const struct time_values *of, double share)
{
    const struct time_axis *axis = of->axis;
    double seconds = axis->is_log ? axis->from * pow(axis->to / axis->from, share)
                                  : axis->from + (axis->to - axis->from) * share;
    double tap = ceil(seconds * of->rate + (double)of->mask->origin - 1e-6);
    return (size_t)fmin(fmax(tap, 0), (double)of->mask->taps);
}

static void add(const struct time_values *of, size_t tap, struct curve *curve)
{
    double seconds = ((double)tap - (double)of->mask->origin) / of->rate;
    curve_add(curve, of->axis->gathers ? fmax(seconds, of->axis->from) : seconds, of->values[tap]);
}

/* The least and the largest in order; of an energy the largest. */
static void add_point(const struct time_values *of, size_t from, size_t end, struct curve *curve)
{
    size_t least = end, largest = end;
    for (size_t k = from; k < end; k++) {
        if (isnan(of->values[k]))
            continue;
        least = least == end || of->values[k] < of->values[least] ? k : least;
        largest = largest == end || of->values[k] > of->values[largest] ? k : largest;
    }
    if (largest == end)
        return;
    size_t first = least < largest ? least : largest, second = least < largest ? largest : least;
    if (of->kind == TIME_CURVE_ENERGY)
        first = second = largest;
    add(of, first, curve);
    if (second != first)
        add(of, second, curve);
}

/* A point is a tap, or a share of the axis if there are too many. */
static void add_points(const struct time_values *of, struct curve *curve)
{
    size_t from = of->axis->gathers ? 0 : tap_at(of, 0);
    size_t last = tap_at(of, 1) < of->mask->taps ? tap_at(of, 1) + 1 : of->mask->taps;
    if (last - from <= (size_t)2 * TIMES && !of->axis->is_log) {
        for (size_t k = from; k < last; k++)
            add_point(of, k, k + 1, curve);
        return;
    }
    for (size_t p = 1; p <= TIMES; p++) {
        size_t end = p < TIMES ? tap_at(of, (double)p / TIMES) : last;
        if (end > from) {
            add_point(of, from, end, curve);
            from = end;
        }
    }
}

enum status curve_time(const struct mask *mask, size_t column, uint32_t rate, enum time_curve kind,
                       const struct time_axis *axis, struct curve *curve)
{
    double *values = calloc(mask->taps, sizeof *values);
    if (!values)
        return fail_memory("a curve");
    struct time_values of = {values, mask, axis, rate, kind};
    enum status status = fill[kind](mask, column, rate, values);
    if (status == STATUS_OK)
        status = curve_init(curve, (size_t)2 * TIMES);
    if (status == STATUS_OK)
        add_points(&of, curve);
    free(values);
    return status;
}
