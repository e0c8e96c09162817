#include "signal/noise_shaping.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum {
    TAPS = NOISE_SHAPING_TAPS,
    POINTS = 2048,        /* points of the weight, from 0 to half the rate */
    FLOOR_FIRST = 30,     /* dB; with this floor nothing is shaped */
    FLOOR_LAST = -120,    /* dB; a lower floor makes no difference to so few taps */
    FLOORS_IN_DECIBEL = 2 /* steps of the floor per dB */
};

static const double PI = 3.14159265358979323846;
static const double AUDIBLE_MOST = 20000; /* Hz */
static const double TAP_STEP = 0x1p-16;

/* The threshold of hearing in a free field: ISO 226:2003; from 14 kHz on, ISO 389-7:2005. */
static const struct {
    double hertz, decibel;
} thresholds[] = {
    {20, 78.5},    {25, 68.7},    {31.5, 59.5}, {40, 51.1},    {50, 44.0},    {63, 37.5},
    {80, 31.5},    {100, 26.5},   {125, 22.1},  {160, 17.9},   {200, 14.4},   {250, 11.4},
    {315, 8.6},    {400, 6.2},    {500, 4.4},   {630, 3.0},    {800, 2.2},    {1000, 2.4},
    {1250, 3.5},   {1600, 1.7},   {2000, -1.3}, {2500, -4.2},  {3150, -6.0},  {4000, -5.4},
    {5000, -1.5},  {6300, 6.0},   {8000, 12.6}, {10000, 13.9}, {12500, 12.3}, {14000, 18.4},
    {16000, 40.2}, {18000, 70.4},
};
enum { THRESHOLDS = sizeof thresholds / sizeof *thresholds };

/* Interpolates rows along the logarithm of the frequency. Outside: the first or the last row. */
static double threshold(double hertz)
{
    size_t i = 1;
    while (i < THRESHOLDS - 1 && thresholds[i].hertz < hertz)
        i++;
    double from = thresholds[i - 1].hertz, to = thresholds[i].hertz;
    double along = log(fmin(fmax(hertz, from), to) / from) / log(to / from);
    return thresholds[i - 1].decibel + along * (thresholds[i].decibel - thresholds[i - 1].decibel);
}

/* The first TAPS + 1 lags of the autocorrelation of a signal with the weight as its spectrum. */
static void correlate_weight(uint32_t rate, double lags[static TAPS + 1])
{
    memset(lags, 0, (TAPS + 1) * sizeof *lags);
    for (size_t i = 0; i < POINTS; i++) {
        double turn = (double)(2 * i + 1) / (2 * POINTS), hertz = turn * rate / 2;
        if (hertz > AUDIBLE_MOST)
            break;
        double weight = pow(10, -threshold(hertz) / 10) / POINTS;
        for (size_t k = 0; k <= TAPS; k++)
            lags[k] += weight * cos(PI * turn * (double)k);
    }
}

/* Levinson's recursion: the filter with the least power for these lags. filter[0] is 1. */
static void predict(const double lags[static TAPS + 1], double filter[static TAPS + 1])
{
    double power = lags[0];
    memset(filter, 0, (TAPS + 1) * sizeof *filter);
    filter[0] = 1;
    for (size_t order = 1; order <= TAPS; order++) {
        double before[TAPS + 1], reflection = 0;
        memcpy(before, filter, sizeof before);
        for (size_t k = 0; k < order; k++)
            reflection -= before[k] * lags[order - k] / power;
        for (size_t k = 1; k <= order; k++)
            filter[k] = before[k] + reflection * before[order - k];
        power *= 1 - reflection * reflection;
    }
}

/* The power of white noise after `filter`, relative to before it, in dB. */
static double rise_of(const double filter[static TAPS + 1])
{
    double power = 0;
    for (size_t k = 0; k <= TAPS; k++)
        power += filter[k] * filter[k];
    return 10 * log10(power);
}

void noise_shaping_design(uint32_t rate, double taps[static NOISE_SHAPING_TAPS])
{
    double lags[TAPS + 1], floored[TAPS + 1], filter[TAPS + 1];
    correlate_weight(rate, lags);
    memcpy(floored, lags, sizeof lags);
    memset(taps, 0, TAPS * sizeof *taps);
    for (int step = FLOOR_FIRST * FLOORS_IN_DECIBEL; step >= FLOOR_LAST * FLOORS_IN_DECIBEL;
         step--) {
        floored[0] = lags[0] + pow(10, (double)step / FLOORS_IN_DECIBEL / 10);
        predict(floored, filter);
        if (rise_of(filter) > NOISE_SHAPING_RISE)
            break;
        for (size_t k = 0; k < TAPS; k++)
            taps[k] = -rint(filter[k + 1] / TAP_STEP) * TAP_STEP;
    }
}
