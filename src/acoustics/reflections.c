#include "acoustics/reflections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double half_window = 0.5e-3, around = 4e-3; /* seconds */
static const double first = 1e-3, last = 50e-3;          /* seconds after the direct sound */
static const double least_level = 0.01;                  /* power relative to the direct sound */
static const double stands_out = 3; /* power relative to the mean around it; noise has less */

/* The energy around each tap from `from` on, weighted by a Hann window. */
struct energy_curve {
    size_t count;
    double *energy;
};

static enum status curve_init(struct energy_curve *curve, const double *taps, size_t count,
                              size_t from, size_t wanted, double rate)
{
    size_t half = (size_t)(half_window * rate), end = from + wanted < count ? from + wanted : count;
    *curve = (struct energy_curve){end - from, calloc(end - from + 1, sizeof(double))};
    double *window = malloc((half + 1) * sizeof *window);
    if (!curve->energy || !window) {
        free(curve->energy);
        free(window);
        return fail_memory("the reflections of a room");
    }
    for (size_t i = 0; i <= half; i++)
        window[i] = 0.5 + 0.5 * cos(M_PI * (double)i / (double)(half + 1));
    for (size_t k = from > half ? from - half : 0; k < count && k < end + half; k++) {
        size_t begin = k > from + half ? k - half - from : 0;
        for (size_t at = begin; at < curve->count && from + at <= k + half; at++)
            curve->energy[at] +=
                taps[k] * taps[k] * window[from + at > k ? from + at - k : k - from - at];
    }
    free(window);
    return STATUS_OK;
}

static size_t largest_of(const double *energy, size_t from, size_t end)
{
    size_t largest = from;
    for (size_t k = from; k < end; k++)
        largest = energy[k] > energy[largest] ? k : largest;
    return largest;
}

/* Whether a tap is the largest within a millisecond and stands out from its surroundings, which
 * begin after the direct sound, at `least`. */
static bool is_peak(const struct energy_curve *curve, size_t at, size_t least, double rate)
{
    size_t near = (size_t)(2 * half_window * rate), far = (size_t)(around * rate);
    size_t from = at > least + near ? at - near : least;
    size_t end = at + near < curve->count ? at + near + 1 : curve->count;
    if (curve->energy[at] < curve->energy[at - 1] || largest_of(curve->energy, from, end) != at)
        return false;
    from = at > least + far ? at - far : least;
    end = at + far < curve->count ? at + far + 1 : curve->count;
    double sum = 0;
    for (size_t k = from; k < end; k++)
        sum += curve->energy[k];
    return curve->energy[at] * (double)(end - from) > stands_out * sum;
}

/* Adds a reflection behind the others. If there is no room, the weakest one goes. */
static void add(struct reflections *reflections, struct reflection added)
{
    struct reflection *of = reflections->of;
    size_t weakest = 0;
    if (reflections->count == REFLECTIONS_MOST) {
        for (size_t i = 1; i < REFLECTIONS_MOST; i++)
            weakest = of[i].db < of[weakest].db ? i : weakest;
        if (added.db <= of[weakest].db)
            return;
        reflections->count--;
        memmove(of + weakest, of + weakest + 1, (reflections->count - weakest) * sizeof *of);
    }
    of[reflections->count++] = added;
}

enum status reflections_find(const double *taps, size_t count, uint32_t rate, size_t onset,
                             struct reflections *reflections)
{
    struct energy_curve curve;
    *reflections = (struct reflections){0};
    if (onset >= count)
        return STATUS_OK;
    TRY(curve_init(&curve, taps, count, onset, (size_t)((last + first + around) * rate), rate));
    size_t soon = (size_t)(first * rate), late = (size_t)(last * rate);
    size_t direct = largest_of(curve.energy, 0, soon < curve.count ? soon : curve.count);
    double least = least_level * curve.energy[direct];
    for (size_t k = direct + 1 + soon; k < curve.count && k <= direct + late; k++)
        if (curve.energy[k] > least && is_peak(&curve, k, direct + soon, rate))
            add(reflections,
                (struct reflection){(double)(k - direct) / rate,
                                    10 * log10(curve.energy[k] / curve.energy[direct])});
    free(curve.energy);
    return STATUS_OK;
}
