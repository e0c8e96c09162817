#include "signal/biquad.h"

#include <complex.h>
#include <math.h>

static struct biquad scaled(double b0, double b1, double b2, double a0, double a1, double a2)
{
    return (struct biquad){{b0 / a0, b1 / a0, b2 / a0}, {a1 / a0, a2 / a0}};
}

/* `side` is 1 for the low shelf; the high one is its mirror. */
static struct biquad make_shelf(double side, double a, double c, double alpha)
{
    double root = 2 * sqrt(a) * alpha, up = a + 1, down = a - 1;
    return scaled(a * (up - side * down * c + root), side * 2 * a * (down - side * up * c),
                  a * (up - side * down * c - root), up + side * down * c + root,
                  side * -2 * (down + side * up * c), up + side * down * c - root);
}

struct biquad biquad_make(enum biquad_kind kind, double frequency, double gain, double q,
                          double rate)
{
    double turn = 2 * M_PI * frequency / rate, c = cos(turn), alpha = sin(turn) / (2 * q);
    double a = pow(10, gain / 40);
    switch (kind) {
    case BIQUAD_LOW_SHELF:
        return make_shelf(1, a, c, alpha);
    case BIQUAD_HIGH_SHELF:
        return make_shelf(-1, a, c, alpha);
    case BIQUAD_LOWPASS:
        return scaled((1 - c) / 2, 1 - c, (1 - c) / 2, 1 + alpha, -2 * c, 1 - alpha);
    case BIQUAD_HIGHPASS:
        return scaled((1 + c) / 2, -1 - c, (1 + c) / 2, 1 + alpha, -2 * c, 1 - alpha);
    case BIQUAD_BANDPASS:
        return scaled(alpha, 0, -alpha, 1 + alpha, -2 * c, 1 - alpha);
    case BIQUAD_NOTCH:
        return scaled(1, -2 * c, 1, 1 + alpha, -2 * c, 1 - alpha);
    case BIQUAD_ALLPASS:
        return scaled(1 - alpha, -2 * c, 1 + alpha, 1 + alpha, -2 * c, 1 - alpha);
    case BIQUAD_PEAK:
        break;
    }
    return scaled(1 + alpha * a, -2 * c, 1 - alpha * a, 1 + alpha / a, -2 * c, 1 - alpha / a);
}

double biquad_magnitude(const struct biquad *biquad, double frequency, double rate)
{
    double complex z = cexp(-2 * M_PI * I * frequency / rate);
    double complex above = biquad->b[0] + z * (biquad->b[1] + z * biquad->b[2]);
    double complex below = 1 + z * (biquad->a[0] + z * biquad->a[1]);
    return cabs(above) / cabs(below);
}

void biquad_filter(const struct biquad *biquad, double *samples, size_t count)
{
    double first = 0, second = 0; /* transposed direct form II */
    for (size_t i = 0; i < count; i++) {
        double in = samples[i], out = biquad->b[0] * in + first;
        first = biquad->b[1] * in - biquad->a[0] * out + second;
        second = biquad->b[2] * in - biquad->a[1] * out;
        samples[i] = out;
    }
}

double biquad_pole(const struct biquad *biquad)
{
    double half = biquad->a[0] / 2, square = half * half - biquad->a[1];
    return square < 0 ? sqrt(biquad->a[1]) : fabs(half) + sqrt(square);
}
