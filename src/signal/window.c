#include "signal/window.h"

#include <math.h>

static double bessel_i0(double x)
{
    double term = 1, sum = 1;
    for (int k = 1; term > sum * 1e-17; k++) {
        term *= x / (2.0 * k) * (x / (2.0 * k));
        sum += term;
    }
    return sum;
}

double window_kaiser(double beta, double inside)
{
    return inside > 0 ? bessel_i0(beta * sqrt(inside)) / bessel_i0(beta) : 1 / bessel_i0(beta);
}

double window_at(enum window window, double beta, size_t i, size_t count)
{
    if (count == 1)
        return 1;
    double place = 2 * (double)i / ((double)count - 1) - 1; /* -1..1 from end to end */
    double turn = M_PI * (place + 1);
    switch (window) {
    case WINDOW_HANN:
        return 0.5 - 0.5 * cos(turn);
    case WINDOW_HAMMING:
        return 0.54 - 0.46 * cos(turn);
    case WINDOW_BLACKMAN:
        return 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
    case WINDOW_KAISER:
        break;
    }
    return window_kaiser(beta, 1 - place * place);
}

double window_kaiser_beta(double attenuation)
{
    if (attenuation > 50)
        return 0.1102 * (attenuation - 8.7);
    if (attenuation > 21)
        return 0.5842 * pow(attenuation - 21, 0.4) + 0.07886 * (attenuation - 21);
    return 0;
}

double window_taps(enum window window, double attenuation, double width)
{
    switch (window) {
    case WINDOW_HANN:
        return 3.1 / width;
    case WINDOW_HAMMING:
        return 3.3 / width;
    case WINDOW_BLACKMAN:
        return 5.5 / width;
    case WINDOW_KAISER:
        break;
    }
    /* Below 21 dB the window is rectangular and has a fixed width. */
    double product = attenuation > 21 ? (attenuation - 7.95) / 2.285 : 5.79;
    return product / (2 * M_PI * width) + 1;
}

double window_kaiser_attenuation(size_t taps, double width)
{
    return fmax(0, 2.285 * ((double)taps - 1) * 2 * M_PI * width + 7.95);
}
