#include "thirds.h"

#include "signal/fft_double.h"
#include "suite.h"

#include <math.h>

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

void thirds_add(const struct mask *mask, size_t column, const struct mask *filter, size_t by,
                double powers[THIRDS])
{
    struct fft_double *fft = transform(mask, column),
                      *other = filter ? transform(filter, by) : NULL;
    for (size_t t = 0; t < THIRDS; t++) {
        double middle = 4000 * pow(10, ((double)t - 17) / 10), sum = 0;
        double highest = 2 * fmin(mask->rate, filter ? filter->rate : mask->rate);
        size_t first = (size_t)ceil(middle / pow(10, 0.05)),
               end = (size_t)ceil(fmin(middle * pow(10, 0.05), highest));
        for (size_t b = first; b < end; b++)
            sum += pow(cabs(fft_double_bins(fft)[b]), 2) *
                   (other ? pow(cabs(fft_double_bins(other)[b]), 2) : 1);
        powers[t] += end > first ? sum / (double)(end - first) : 0;
    }
    fft_double_destroy(fft);
    if (other)
        fft_double_destroy(other);
}

double thirds_mean(const double *levels, size_t first, size_t end)
{
    double sum = 0;
    for (size_t t = first; t < end; t++)
        sum += levels[t];
    return sum / (double)(end - first);
}
