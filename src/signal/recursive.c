#include "signal/recursive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_FIRST = 1 << 12 };
static const double FLOOR = 1e-9;

void biquad_series_run(const void *data, double *samples, size_t count)
{
    const struct biquad_series *series = data;
    for (size_t i = 0; i < series->count; i++)
        biquad_filter(&series->biquads[i], samples, count);
}

static double dot(const double *weights, size_t from, size_t to, const double *last)
{
    double sum = 0;
    for (size_t k = from; k < to; k++)
        sum += weights[k] * *(last - k);
    return sum;
}

/* First the sums of the inputs, from the end on. After that the inputs are not needed any more. */
void difference_run(const void *data, double *samples, size_t count)
{
    const struct difference *filter = data;
    for (size_t i = count; i-- > 0;)
        samples[i] =
            dot(filter->b, 0, i + 1 < filter->b_count ? i + 1 : filter->b_count, samples + i);
    for (size_t i = 0; i < count; i++)
        samples[i] -=
            dot(filter->a, 1, i + 1 < filter->a_count ? i + 1 : filter->a_count, samples + i);
}

size_t recursive_kept(const double *taps, size_t count)
{
    double peak = 0, rest = 0;
    for (size_t k = 0; k < count; k++)
        peak = fmax(peak, fabs(taps[k]));
    while (count > 1 && (rest += fabs(taps[count - 1])) <= FLOOR * peak)
        count--;
    return count;
}

/* The response has ended if nothing to keep is left in its second half. */
enum status recursive_length(const struct recursive *filter, size_t most, size_t *length)
{
    size_t count = LENGTH_FIRST;
    *length = 0;
    while (count / 4 < filter->memory)
        count *= 2;
    for (; *length == 0 && count / 2 <= most; count *= 2) {
        double *taps = calloc(count, sizeof *taps);
        if (!taps)
            return fail_memory("a mask");
        taps[0] = 1;
        filter->run(filter->data, taps, count);
        size_t kept = recursive_kept(taps, count);
        bool is_finite = isfinite(taps[count - 1]);
        free(taps);
        if (!is_finite)
            return STATUS_OK;
        if (kept <= count / 2 && kept <= most)
            *length = kept;
    }
    return STATUS_OK;
}
