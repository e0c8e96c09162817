#include "design/correct_curve.h"

#include "signal/fft_double.h"

#include <math.h>
#include <string.h>

enum { LENGTH_LEAST = 1 << 17, ROUNDS = 100 };

static const double LOUD = 20, ROLLED_OFF = 10;     /* dB, of curve_band */
static const double LOWEST = 10;                    /* Hz, the first point */
static const double SMOOTHED_AT[] = {100, 1000};    /* Hz */
static const double WIDTHS[] = {1.0 / 12, 1.0 / 6}; /* octaves */
static const double LEAST = 1e-40;                  /* power, of what is silent */
static const double USABLE = 0.45;                  /* highest frequency as a share of the rate */
static const double MARGIN = 0.25;  /* dB; filters ripple by less, since their taps end */
static const double FADE = 1.0 / 3; /* octaves */

double curve_hertz(size_t point)
{
    return LOWEST * exp2((double)point / CURVE_PER_OCTAVE);
}

size_t curve_point(double hertz)
{
    double point = ceil(log2(hertz / LOWEST) * CURVE_PER_OCTAVE - 1e-9);
    return (size_t)fmin(fmax(point, 0), CURVE_POINTS);
}

/* From values[0] at and below at[0] to values[1] at and above at[1]. */
static double between(const double at[2], const double values[2], double hertz)
{
    double part = log(hertz / at[0]) / log(at[1] / at[0]);
    return values[0] + fmin(fmax(part, 0), 1) * (values[1] - values[0]);
}

/* The power of the windowed taps at a frequency, in cycles per sample. */
static double windowed_power(const double *taps, size_t count, size_t direct, double frequency,
                             double cycles)
{
    double before = 1 / frequency, after = cycles / frequency;
    double first = fmax(0, ceil((double)direct - before)),
           end = fmin((double)count, ceil((double)direct + after));
    double complex turn = cexp(-2 * M_PI * I * frequency), phase = 1, sum = 0;
    for (size_t i = (size_t)first; i < (size_t)end; i++, phase *= turn) {
        double time = (double)i - (double)direct;
        sum += taps[i] * phase * (0.5 + 0.5 * cos(M_PI * time / (time < 0 ? before : after)));
    }
    return creal(sum) * creal(sum) + cimag(sum) * cimag(sum);
}

/* The sum of powers up to a place between bins. Bin b reaches from b to b + 1. */
static double power_to(const double *sums, double place)
{
    size_t bin = (size_t)place;
    return sums[bin] + (place - (double)bin) * (sums[bin + 1] - sums[bin]);
}

void curve_of_bins(const struct fft_double *fft, double rate, double powers[CURVE_POINTS])
{
    size_t n = fft_double_length(fft);
    double *sums = fft_double_samples(fft), half = exp2(0.5 / CURVE_PER_OCTAVE);
    const double complex *bins = fft_double_bins(fft);
    sums[0] = 0;
    for (size_t b = 0; b < n / 2; b++)
        sums[b + 1] = sums[b] + creal(bins[b] * conj(bins[b]));
    for (size_t p = 0; p < CURVE_POINTS; p++) {
        double place = curve_hertz(p) * (double)n / rate, width = place * (half - 1 / half);
        powers[p] =
            curve_hertz(p) > USABLE * rate
                ? powers[p - 1]
                : (power_to(sums, place * half + 0.5) - power_to(sums, place / half + 0.5)) / width;
    }
}

static enum status measure_whole(const double *taps, size_t count, double rate,
                                 double powers[CURVE_POINTS])
{
    struct fft_double *fft;
    size_t n = fft_double_fitting(count > LENGTH_LEAST ? count : LENGTH_LEAST);
    TRY(fft_double_create(n, &fft));
    memset(fft_double_samples(fft), 0, n * sizeof(double));
    memcpy(fft_double_samples(fft), taps, count * sizeof(double));
    fft_double_forward(fft);
    curve_of_bins(fft, rate, powers);
    fft_double_destroy(fft);
    return STATUS_OK;
}

enum status curve_measure(const double *taps, size_t count, size_t direct, double rate,
                          double cycles, double powers[CURVE_POINTS])
{
    if (cycles <= 0)
        return measure_whole(taps, count, rate, powers);
    for (size_t p = 0; p < CURVE_POINTS; p++)
        powers[p] = curve_hertz(p) > USABLE * rate
                        ? powers[p - 1]
                        : windowed_power(taps, count, direct, curve_hertz(p) / rate, cycles);
    return STATUS_OK;
}

void curve_smooth(const double powers[CURVE_POINTS], double octaves, double levels[CURVE_POINTS])
{
    double sums[CURVE_POINTS + 1] = {0}, exponent = octaves > 0 ? 1 : 1.5;
    for (size_t p = 0; p < CURVE_POINTS; p++)
        sums[p + 1] = sums[p] + pow(powers[p], exponent);
    for (size_t p = 0; p < CURVE_POINTS; p++) {
        double width = octaves > 0 ? octaves : between(SMOOTHED_AT, WIDTHS, curve_hertz(p));
        size_t half = (size_t)lround(width * CURVE_PER_OCTAVE / 2);
        size_t first = p > half ? p - half : 0,
               end = p + half < CURVE_POINTS ? p + half + 1 : CURVE_POINTS;
        levels[p] =
            10 / exponent * log10(fmax((sums[end] - sums[first]) / (double)(end - first), LEAST));
    }
}

void curve_band(const double *levels, size_t *first, size_t *end)
{
    double loudest = -INFINITY, sum = 0;
    size_t count = 0;
    for (size_t i = *first; i < *end; i++)
        loudest = fmax(loudest, levels[i]);
    for (size_t i = *first; i < *end; i++)
        if (levels[i] >= loudest - LOUD) {
            sum += levels[i];
            count++;
        }
    double least = count > 0 ? sum / (double)count - ROLLED_OFF : -INFINITY;
    while (*first + 1 < *end && levels[*first] < least)
        ++*first;
    while (*first + 1 < *end && levels[*end - 1] < least)
        --*end;
}

double curve_mean(const double levels[CURVE_POINTS], double from, double to)
{
    size_t first = curve_point(from), end = curve_point(to);
    double sum = 0;
    for (size_t p = first; p < end; p++)
        sum += levels[p];
    return end > first ? sum / (double)(end - first) : levels[first < CURVE_POINTS ? first : 0];
}

void curve_centre(const struct curve_limits *limits, double levels[CURVE_POINTS])
{
    double limited[CURVE_POINTS];
    for (int round = 0; round < ROUNDS; round++) {
        memcpy(limited, levels, sizeof limited);
        curve_limit(limits, limited);
        double mean = curve_mean(limited, limits->from, limits->to);
        for (size_t p = 0; p < CURVE_POINTS; p++)
            levels[p] -= mean;
    }
}

void curve_limit(const struct curve_limits *limits, double levels[CURVE_POINTS])
{
    for (size_t p = 0; p < CURVE_POINTS; p++) {
        double hertz = curve_hertz(p);
        double outside = log2(fmax(limits->from / hertz, hertz / limits->to)) / FADE;
        double part = 0.5 + 0.5 * cos(M_PI * fmin(fmax(outside, 0), 1));
        levels[p] = part * fmin(fmax(levels[p], MARGIN - limits->cut), limits->boost - MARGIN);
    }
}
