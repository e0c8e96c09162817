#include "signal/lsp_filter.h"

#include <math.h>
#include <string.h>

/* above[0] + above[1] s + above[2] s^2 over the same of `below`; s is relative to the frequency. */
struct analogue {
    double above[3], below[3];
};

struct prototype {
    struct analogue sections[LSP_SECTIONS_MOST];
    size_t count;
};

static struct analogue *add(struct prototype *prototype)
{
    struct analogue *section =
        &prototype->sections[prototype->count < LSP_SECTIONS_MOST ? prototype->count : 0];
    prototype->count += prototype->count < LSP_SECTIONS_MOST;
    *section = (struct analogue){{0}, {0}};
    return section;
}

static void set(double polynomial[3], double constant, double first, double second)
{
    polynomial[0] = constant;
    polynomial[1] = first;
    polynomial[2] = second;
}

static void swap(struct analogue *section)
{
    double above[3];
    memcpy(above, section->above, sizeof above);
    memcpy(section->above, section->below, sizeof above);
    memcpy(section->below, above, sizeof above);
}

static void amplify(struct analogue *section, double gain)
{
    for (size_t i = 0; i < 3; i++)
        section->above[i] *= gain;
}

/* ---- RLC ---- */

static void rlc_pass(const struct lsp_filter *filter, struct prototype *prototype)
{
    for (size_t i = 0; i < filter->slope; i++) {
        struct analogue *section = add(prototype);
        section->above[filter->type == LSP_LOWPASS ? 0 : 2] = 1;
        set(section->below, 1, 2 / (1 + filter->quality), 1);
    }
}

static void rlc_shelf(const struct lsp_filter *filter, struct prototype *prototype)
{
    double gain = sqrt(filter->gain), each = pow(gain, 0.5 / (double)filter->slope);
    double middle = 2 / (1 + filter->quality);
    for (size_t i = 0; i < filter->slope; i++) {
        struct analogue *section = add(prototype);
        set(section->above, each, middle, 1 / each);
        set(section->below, 1 / each, middle, each);
        if (filter->type == LSP_HIGH_SHELF)
            swap(section);
        if (i == 0)
            amplify(section, gain);
    }
}

/* Makes a bell or a resonance. */
static void rlc_peak(const struct lsp_filter *filter, struct prototype *prototype)
{
    double slope = (double)filter->slope, each = pow(filter->gain, 1 / slope);
    double middle = filter->type == LSP_RESONANCE
                        ? 2 / (1 + filter->quality)
                        : 2 * (1 / each + each) / (1 + 2 * filter->quality / slope);
    for (size_t i = 0; i < filter->slope; i++) {
        struct analogue *section = add(prototype);
        set(section->above, 1, middle * sin(atan(each)), 1);
        set(section->below, 1, middle * cos(atan(each)), 1);
    }
}

static void rlc_notch(const struct lsp_filter *filter, struct prototype *prototype)
{
    struct analogue *section = add(prototype);
    set(section->above, 1, 0, 1);
    set(section->below, 1, 2 / (1 + filter->quality), 1);
}

/* ---- Butterworth, with poles that Q moves ---- */

struct pole {
    double cosine; /* cosine of the pole's angle */
    double square; /* square of the pole's distance from 0 */
};

/* Pole number `index` of `order` poles, counted from 0. */
static struct pole pole_at(double index, double order, double k)
{
    double angle = (2 * index + 1) * M_PI_2 / order, sine = sin(angle), cosine = cos(angle);
    return (struct pole){cosine, sine * sine + k * k * cosine * cosine};
}

static void bwc_pass(const struct lsp_filter *filter, size_t order, struct prototype *prototype)
{
    double k = 1 / (1 + filter->quality);
    for (size_t i = 0; 2 * i < order; i++) {
        struct pole pole = pole_at((double)i, (double)order, k);
        struct analogue *section = add(prototype);
        double middle = 2 * k * pole.cosine / pole.square;
        bool is_low = filter->type == LSP_LOWPASS;
        section->above[is_low ? 0 : 2] = 1;
        set(section->below, is_low ? 1 : 1 / pole.square, middle, is_low ? 1 / pole.square : 1);
    }
}

static void bwc_shelf(const struct lsp_filter *filter, size_t slope, double whole,
                      struct prototype *prototype)
{
    double gain = sqrt(whole), each = pow(gain, 0.5 / (double)slope);
    double k = 1 / (1 + filter->quality * (1 - exp(2 - gain - 1 / gain)));
    for (size_t i = 0; i < slope; i++) {
        struct pole pole = pole_at((double)i, 2 * (double)slope, k);
        struct analogue *section = add(prototype);
        set(section->above, pole.square / each, 2 * k * pole.cosine, each);
        set(section->below, each, 2 * k * pole.cosine, pole.square / each);
        if (filter->type == LSP_LOW_SHELF)
            swap(section);
        if (i == 0)
            amplify(section, gain);
    }
}

static void bwc_bell(const struct lsp_filter *filter, size_t slope, double gain,
                     struct prototype *prototype)
{
    double each = pow(gain >= 1 ? gain : 1 / gain, 0.5 / (double)slope);
    double k = 1 / (1 + filter->quality);
    for (size_t i = 0; i < slope; i++) {
        struct pole pole = pole_at((double)i, 2 * (double)slope, k);
        double middle = 2 * k * pole.cosine, square = pole.square;
        struct analogue *first = add(prototype), *second = add(prototype);
        set(first->above, 1, middle * each / square, each * each / square);
        set(first->below, 1, middle / square, 1 / square);
        if (gain >= 1) {
            set(second->above, 1, middle / each, square / (each * each));
            set(second->below, 1, middle, square);
        } else {
            swap(first);
            set(second->above, 1, middle, square);
            set(second->below, 1, middle / each, square / (each * each));
        }
    }
}

static void bwc_allpass(const struct lsp_filter *filter, size_t order, struct prototype *prototype)
{
    double k = 1 / (1 + filter->quality);
    for (size_t i = 0; 2 * i < order; i++) {
        struct pole pole = pole_at((double)i, (double)order, k);
        struct analogue *section = add(prototype);
        set(section->above, 1, -2 * pole.cosine, 1);
        set(section->below, 1 / pole.square, 2 * k * pole.cosine / pole.square, 1);
    }
}

/* ---- Linkwitz-Riley: two Butterworth filters in series ---- */

static void lrx_allpass(const struct lsp_filter *filter, struct prototype *prototype)
{
    double k = 1 / (1 + filter->quality), order = 2 * (double)filter->slope;
    for (size_t i = 0; i < filter->slope; i++) {
        struct pole pole = pole_at((double)i, order, k);
        for (size_t half = 0; half < 2; half++) {
            struct analogue *section = add(prototype);
            double angle = (2 * (double)i + 0.5 + (double)half) * M_PI / order;
            set(section->above, 1, -2 * cos(angle), 1);
            set(section->below, 1 / pole.square, 2 * k * pole.cosine / pole.square, 1);
        }
    }
}

static void butterworth(const struct lsp_filter *filter, struct prototype *prototype)
{
    bool is_twice = filter->family == LSP_LRX;
    size_t slope = is_twice ? 2 * filter->slope : filter->slope;
    double gain = is_twice ? sqrt(filter->gain) : filter->gain;
    for (size_t time = 0; time < (is_twice ? 2 : 1); time++) {
        if (filter->type == LSP_LOWPASS || filter->type == LSP_HIGHPASS)
            bwc_pass(filter, 2 * filter->slope, prototype);
        else if (filter->type == LSP_BELL)
            bwc_bell(filter, slope, gain, prototype);
        else
            bwc_shelf(filter, slope, gain, prototype);
    }
}

static void make_prototype(const struct lsp_filter *filter, struct prototype *prototype)
{
    struct lsp_filter twice = *filter;
    twice.slope *= 2;
    bool is_rlc = filter->family == LSP_RLC;
    if (filter->type == LSP_NOTCH)
        rlc_notch(filter, prototype);
    else if (filter->type == LSP_RESONANCE || (is_rlc && filter->type == LSP_BELL))
        rlc_peak(filter, prototype);
    else if (is_rlc && (filter->type == LSP_LOWPASS || filter->type == LSP_HIGHPASS))
        rlc_pass(filter, prototype);
    else if (is_rlc)
        rlc_shelf(filter, prototype);
    else if (filter->type == LSP_ALLPASS && filter->family == LSP_LRX)
        lrx_allpass(filter, prototype);
    else if (filter->type == LSP_ALLPASS)
        bwc_allpass(filter, twice.slope, prototype);
    else
        butterworth(filter, prototype);
}

/* ---- to digital sections ---- */

static struct biquad bilinear(const struct analogue *section, double frequency, double rate)
{
    double k = 1 / tan(M_PI * frequency / rate), square = k * k;
    const double *t = section->above, *b = section->below;
    double scale = b[0] + b[1] * k + b[2] * square;
    return (struct biquad){
        {(t[0] + t[1] * k + t[2] * square) / scale, 2 * (t[0] - t[2] * square) / scale,
         (t[0] - t[1] * k + t[2] * square) / scale},
        {2 * (b[0] - b[2] * square) / scale, (b[0] - b[1] * k + b[2] * square) / scale},
    };
}

/* Makes the polynomial in z^-1 with zeros exp(root). Returns its scale relative to the analogue one
 * at a tenth of the frequency. */
static double match(const double analogue[3], double turn, double digital[3])
{
    if (analogue[2] == 0) { /* the polynomial is a constant */
        set(digital, analogue[0], 0, 0);
        return 1;
    }
    double half = analogue[1] / (2 * analogue[2]);
    double inner = half * half - analogue[0] / analogue[2];
    double decay = exp(-half * turn), root = sqrt(fabs(inner)) * turn;
    double sum = inner >= 0 ? 2 * cosh(root) : 2 * cos(root);
    set(digital, analogue[2], -analogue[2] * decay * sum, analogue[2] * decay * decay);
    double w = 0.1 * turn, s = 0.1;
    double re = digital[0] * cos(2 * w) + digital[1] * cos(w) + digital[2];
    double im = digital[0] * sin(2 * w) + digital[1] * sin(w);
    return hypot(re, im) / hypot(analogue[0] - analogue[2] * s * s, analogue[1] * s);
}

static struct biquad matched(const struct analogue *section, double frequency, double rate)
{
    double turn = 2 * M_PI * frequency / rate, above[3], below[3];
    double scale = match(section->below, turn, below);
    scale /= match(section->above, turn, above) * below[0];
    return (struct biquad){{above[0] * scale, above[1] * scale, above[2] * scale},
                           {below[1] / below[0], below[2] / below[0]}};
}

static struct biquad cookbook(const struct lsp_filter *filter, double rate)
{
    static const enum biquad_kind kinds[] = {
        [LSP_BELL] = BIQUAD_PEAK,
        [LSP_HIGHPASS] = BIQUAD_HIGHPASS,
        [LSP_HIGH_SHELF] = BIQUAD_HIGH_SHELF,
        [LSP_LOWPASS] = BIQUAD_LOWPASS,
        [LSP_LOW_SHELF] = BIQUAD_LOW_SHELF,
        [LSP_NOTCH] = BIQUAD_NOTCH,
        [LSP_RESONANCE] = BIQUAD_PEAK,
        [LSP_ALLPASS] = BIQUAD_ALLPASS,
    };
    static const double q_least = 0.1;
    return biquad_make(kinds[filter->type], filter->frequency, 20 * log10(filter->gain),
                       fmax(filter->quality, q_least), rate);
}

size_t lsp_filter_make(const struct lsp_filter *filter, double rate,
                       struct biquad sections[LSP_SECTIONS_MOST])
{
    struct prototype prototype = {.count = 0};
    struct lsp_filter limited = *filter;
    bool is_matched = filter->is_matched && filter->type != LSP_ALLPASS;
    limited.frequency = fmin(filter->frequency, 0.49 * rate);
    if (filter->family == LSP_APO) {
        sections[0] = cookbook(&limited, rate);
        return 1;
    }
    make_prototype(&limited, &prototype);
    for (size_t i = 0; i < prototype.count; i++)
        sections[i] =
            (is_matched ? matched : bilinear)(&prototype.sections[i], limited.frequency, rate);
    return prototype.count;
}
