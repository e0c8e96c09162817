#include "signal/biquad.h"

#include <complex.h>
#include <math.h>

static struct biquad scaled(double b0, double b1, double b2, double a0, double a1, double a2)
{
    return (struct biquad){{b0 / a0, b1 / a0, b2 / a0}, {a1 / a0, a2 / a0}};
}

/* `side` is 1 for the low shelf. The high shelf is its mirror image. */
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
    double a = pow(10, gain / 40), k = tan(turn / 2);
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
    case BIQUAD_LOWPASS_FIRST:
        return scaled(k, k, 0, k + 1, k - 1, 0);
    case BIQUAD_HIGHPASS_FIRST:
        return scaled(1, -1, 0, k + 1, k - 1, 0);
    case BIQUAD_LOW_SHELF_FIRST:
        return scaled(a * (a * k + 1), a * (a * k - 1), 0, k + a, k - a, 0);
    case BIQUAD_HIGH_SHELF_FIRST:
        return scaled(a * (k + a), a * (k - a), 0, a * k + 1, a * k - 1, 0);
    case BIQUAD_ALLPASS_FIRST:
        return scaled(k - 1, k + 1, 0, k + 1, k - 1, 0);
    case BIQUAD_PEAK:
        break;
    }
    return scaled(1 + alpha * a, -2 * c, 1 - alpha * a, 1 + alpha / a, -2 * c, 1 - alpha / a);
}

struct biquad biquad_general_notch(double zero, double pole, double q, bool is_one_at_dc,
                                   double rate)
{
    double z = pow(tan(M_PI * zero / rate), 2), k = tan(M_PI * pole / rate), p = k * k;
    double gain = is_one_at_dc ? p / z : 1;
    return scaled(gain * (1 + z), -2 * gain * (1 - z), gain * (1 + z), 1 + k / q + p, 2 * (p - 1),
                  1 - k / q + p);
}

struct biquad biquad_linkwitz_transform(double frequency, double q, double wanted_frequency,
                                        double wanted_q, double rate)
{
    /* this frequency is mapped without warping */
    double middle = (frequency + wanted_frequency) / 2;
    double scale = 1 / tan(M_PI * middle / rate) * middle, square = scale * scale;
    double zero = frequency * frequency, pole = wanted_frequency * wanted_frequency;
    double b = scale * frequency / q, a = scale * wanted_frequency / wanted_q;
    return scaled(zero + b + square, 2 * (zero - square), zero - b + square, pole + a + square,
                  2 * (pole - square), pole - a + square);
}

double biquad_octaves_to_q(double octaves, double frequency, double rate)
{
    double turn = 2 * M_PI * frequency / rate;
    return 1 / (2 * sinh(M_LN2 / 2 * octaves * turn / sin(turn)));
}

double biquad_slope_to_q(double slope, double gain)
{
    double a = pow(10, gain / 40);
    return 1 / sqrt((a + 1 / a) * (1 / slope - 1) + 2);
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
