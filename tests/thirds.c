#include "thirds.h"

#include "command.h"
#include "signal/fft_double.h"
#include "suite.h"

#include <math.h>

static const double LEAST = -40, APART = 0.2; /* dB */

/* Fills bins that are 0.25 Hz apart at any rate. */
static struct fft_double *transform(const struct mask *mask, size_t column)
{
    struct fft_double *fft;
    size_t n = 4 * mask->rate;
    ck_assert_int_eq(fft_double_create(n, &fft), STATUS_OK);
    memset(fft_double_samples(fft), 0, n * sizeof(double));
    memcpy(fft_double_samples(fft), mask_column(mask, column), mask->taps * sizeof(double));
    fft_double_forward(fft);
    return fft;
}

static void add_powers(const struct mask *mask, size_t column, const struct mask *filter, size_t by,
                       double powers[THIRDS])
{
    struct fft_double *fft = transform(mask, column), *other = filter ? transform(filter, by) : fft;
    double highest = 2 * fmin(mask->rate, filter ? filter->rate : mask->rate);
    for (size_t t = 0; t < THIRDS; t++) {
        double middle = 4000 * pow(10, ((double)t - 17) / 10), sum = 0;
        size_t first = (size_t)ceil(middle / pow(10, 0.05)),
               end = (size_t)ceil(fmin(middle * pow(10, 0.05), highest));
        for (size_t b = first; b < end; b++)
            sum += pow(cabs(fft_double_bins(fft)[b]), 2) *
                   (filter ? pow(cabs(fft_double_bins(other)[b]), 2) : 1);
        powers[t] += end > first ? sum / (double)(end - first) : 0;
    }
    fft_double_destroy(fft);
    if (filter)
        fft_double_destroy(other);
}

void thirds_measure(struct mask *const *masks, size_t count, size_t column,
                    const struct mask *filter, size_t by, double levels[THIRDS])
{
    memset(levels, 0, THIRDS * sizeof *levels);
    for (size_t i = 0; i < count; i++)
        add_powers(masks[i], column, filter, by, levels);
    for (size_t t = 0; t < THIRDS; t++)
        levels[t] = 10 * log10(levels[t] / (double)count);
}

static size_t third_of(const json_t *speaker, const char *key)
{
    return (size_t)lround(17 + 10 * log10(command_json_number(speaker, key) / 1000));
}

void thirds_expect(const json_t *speaker, const char *curve, const double *measured,
                   const double *truth, size_t end)
{
    size_t from = third_of(speaker, "from"), to = third_of(speaker, "to");
    double mean = 0;
    for (size_t t = from; t <= to; t++)
        mean += measured[t] / (double)(to + 1 - from);
    for (size_t t = 0; t < end; t++) {
        double db = json_real_value(json_array_get(json_object_get(speaker, curve), t));
        ck_assert_msg(fmax(db, truth[t] - mean) < LEAST || fabs(db - truth[t] + mean) < APART,
                      "%s, third %zu: %g dB, not %g", curve, t, db, truth[t] - mean);
    }
}
