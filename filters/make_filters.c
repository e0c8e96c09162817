/*
 * make_filters -- writes the filter masks of this folder.
 *
 * A mask is an impulse response: one column of taps for each channel, or four
 * columns in the order LL LR RL RR (from the left input to the left output,
 * from the left input to the right output, ...).  Every mask is computed here
 * from its formula in double and rounded once, when it is written, so that
 * the same files come out byte for byte on every run.
 *
 *     make_filters FOLDER
 *
 * Short masks are written as text, one tap a line; the others are WAV.  Masks
 * of two dimensions, for spectrograms, are text with a row a line.
 *
 * Sources of the algorithms:
 *   J. F. Kaiser, "Nonrecursive digital filter design using the I0-sinh
 *     window function", 1974: window and order of the linear-phase filters.
 *   R. Bristow-Johnson, "Cookbook formulae for audio equalizer biquad filter
 *     coefficients": second-order sections.
 *   B. B. Bauer, "Stereophonic earphones and binaural loudspeakers", 1961;
 *     S. Linkwitz, "Improved headphone listening", 1971: crossfeed.
 *   M. R. Schroeder, "Natural sounding artificial reverberation", 1962: comb
 *     and all-pass sections.
 *   J. A. Moorer, "About this reverberation business", 1979: a hall as noise
 *     that dies away exponentially, faster at high frequencies.
 *   J. B. Allen and D. A. Berkley, "Image method for efficiently simulating
 *     small-room acoustics", 1979: early reflections.
 *   V. Valimaki, J. Parker, J. S. Abel, "Parametric spring reverberation
 *     effect", 2010: chirps of a spring from stretched all-pass sections.
 *   J. M. S. Prewitt, "Object enhancement and extraction", 1970: an edge as a
 *     difference of means, in the masks of two dimensions.
 *   G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
 *     generators", 2014: splitmix64, the source of the noise.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sndfile.h>

#define RATE 48000
#define PI 3.14159265358979323846
#define SOUND_SPEED 343.0 /* metres a second, air at 20 degrees C */

/* Taps are kept column after column; they are interleaved when written. */
struct mask {
    int columns;
    int taps;
    double *tap;
};

enum form { FORM_TEXT, FORM_FLOAT, FORM_PCM24, FORM_MASK2D };

struct row {
    const char *file;
    enum form form;
    int columns; /* of a two-dimensional mask: frequency bins */
    int taps;    /* of a two-dimensional mask: rows of time */
    void (*make)(struct mask *mask);
    const char *what; /* written into text masks, as is the next field */
    const char *listen;
};

static double *column(const struct mask *mask, int which)
{
    return mask->tap + (ptrdiff_t)which * mask->taps;
}

static double *zeros(int count)
{
    double *room = calloc((size_t)count, sizeof *room);

    if (room == NULL) {
        fprintf(stderr, "make_filters: out of memory\n");
        exit(1);
    }
    return room;
}

static double from_db(double db)
{
    return pow(10.0, db / 20.0);
}

static int frames_of(double seconds)
{
    return (int)lrint(seconds * RATE);
}

/* ---- noise ------------------------------------------------------------ */

/* Counter-based: tap n of a stream needs no other tap, so that no mask
 * changes when another one is added. */
static uint64_t splitmix64(uint64_t stream, uint64_t n)
{
    uint64_t z = (stream << 40) + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* White noise of variance 1.  The sum of three uniform numbers is close
 * enough to a normal one here, and needs nothing of the maths library. */
static double white(uint64_t stream, int n)
{
    uint64_t bits = splitmix64(stream, (uint64_t)n);
    uint64_t sum = (bits & 0x1fffff) + ((bits >> 21) & 0x1fffff) + ((bits >> 42) & 0x1fffff);

    return (double)sum / 1048576.0 - 3.0;
}

/* ---- linear-phase filters --------------------------------------------- */

static double bessel_i0(double x)
{
    double term = 1.0;
    double sum = 1.0;

    for (int k = 1; term > sum * 1e-17; k++) {
        term *= (x / (2.0 * k)) * (x / (2.0 * k));
        sum += term;
    }
    return sum;
}

static double kaiser_beta(double attenuation)
{
    if (attenuation > 50.0)
        return 0.1102 * (attenuation - 8.7);
    if (attenuation > 21.0)
        return 0.5842 * pow(attenuation - 21.0, 0.4) + 0.07886 * (attenuation - 21.0);
    return 0.0;
}

/* The window at `place` from its middle, -1 to 1. */
static double kaiser(double place, double beta)
{
    double inside = 1.0 - place * place;

    return inside <= 0.0 ? 1.0 / bessel_i0(beta) : bessel_i0(beta * sqrt(inside)) / bessel_i0(beta);
}

static double sinc(double x)
{
    return fabs(x) < 1e-9 ? 1.0 : sin(PI * x) / (PI * x);
}

static double sum_of(const double *tap, int taps)
{
    double sum = 0.0;

    for (int n = 0; n < taps; n++)
        sum += tap[n];
    return sum;
}

static void scale(double *tap, int taps, double gain)
{
    for (int n = 0; n < taps; n++)
        tap[n] *= gain;
}

static void low_pass(double *tap, int taps, double hertz, double attenuation)
{
    double beta = kaiser_beta(attenuation);
    double middle = (taps - 1) / 2.0;

    for (int n = 0; n < taps; n++)
        tap[n] = sinc(2.0 * hertz / RATE * (n - middle)) * kaiser((n - middle) / middle, beta);
    scale(tap, taps, 1.0 / sum_of(tap, taps));
}

static void make_identity(struct mask *mask)
{
    mask->tap[0] = 1.0;
}

static void make_moving_average(struct mask *mask)
{
    for (int n = 0; n < mask->taps; n++)
        mask->tap[n] = 1.0 / mask->taps;
}

static void gaussian(double *tap, int taps, double sigma)
{
    double middle = (taps - 1) / 2.0;

    for (int n = 0; n < taps; n++) {
        double away = (n - middle) / sigma;

        tap[n] = exp(-0.5 * away * away);
    }
    scale(tap, taps, 1.0 / sum_of(tap, taps));
}

static void make_gaussian(struct mask *mask)
{
    gaussian(mask->tap, mask->taps, 4.0);
}

/* Unsharp masking: the difference to the Gaussian is added once more. */
static void make_sharpen(struct mask *mask)
{
    gaussian(mask->tap, mask->taps, 2.0);
    scale(mask->tap, mask->taps, -1.0);
    mask->tap[mask->taps / 2] += 2.0;
}

/* A windowed sinc is at -6 dB at its design frequency; the masks are named
 * after their -3 dB points, which lie slightly inside. */
static void make_lowpass(struct mask *mask)
{
    low_pass(mask->tap, mask->taps, 1020.0, 80.0);
}

static void make_highpass(struct mask *mask)
{
    low_pass(mask->tap, mask->taps, 94.1, 80.0);
    scale(mask->tap, mask->taps, -1.0);
    mask->tap[mask->taps / 2] += 1.0;
}

static void make_telephone(struct mask *mask)
{
    double *low = zeros(mask->taps);

    low_pass(mask->tap, mask->taps, 3425.0, 60.0);
    low_pass(low, mask->taps, 275.0, 60.0);
    for (int n = 0; n < mask->taps; n++)
        mask->tap[n] -= low[n];
    free(low);
}

static void make_pre_emphasis(struct mask *mask)
{
    mask->tap[0] = 1.0;
    mask->tap[1] = -0.97;
}

/* The inverse of pre-emphasis, 30.5 dB quieter, so that low frequencies keep
 * their level. */
static void make_de_emphasis(struct mask *mask)
{
    for (int n = 0; n < mask->taps; n++)
        mask->tap[n] = 0.03 * pow(0.97, n);
}

/* An even number of taps: the derivative has its largest gain at half the
 * sampling rate, where an odd number of antisymmetric taps must give 0. */
static void make_differentiator(struct mask *mask)
{
    double middle = (mask->taps - 1) / 2.0;
    double beta = kaiser_beta(60.0);

    for (int n = 0; n < mask->taps; n++) {
        double t = n - middle;
        double slope = cos(PI * t) / t - sin(PI * t) / (PI * t * t);

        mask->tap[n] = slope / PI * kaiser(t / middle, beta);
    }
}

static void hilbert(double *tap, int taps)
{
    int middle = taps / 2;
    double beta = kaiser_beta(50.0);

    for (int n = 0; n < taps; n++) {
        int t = n - middle;

        if (t % 2 != 0)
            tap[n] = 2.0 / (PI * t) * kaiser((double)t / middle, beta);
    }
}

static void make_hilbert(struct mask *mask)
{
    hilbert(mask->tap, mask->taps);
}

static void make_quadrature(struct mask *mask)
{
    column(mask, 0)[mask->taps / 2] = 1.0;
    hilbert(column(mask, 1), mask->taps);
}

/* ---- second-order sections -------------------------------------------- */

struct biquad {
    double b0, b1, b2, a1, a2;
};

enum shape { SHAPE_LOW, SHAPE_HIGH, SHAPE_NOTCH, SHAPE_PEAK };

static struct biquad biquad_of(enum shape shape, double hertz, double q, double peak_db)
{
    double w = 2.0 * PI * hertz / RATE;
    double c = cos(w);
    double alpha = sin(w) / (2.0 * q);
    double rise = pow(10.0, peak_db / 40.0);
    double b0 = 1.0;
    double b1 = -2.0 * c;
    double b2 = 1.0;
    double a0 = 1.0 + alpha;
    double a2 = 1.0 - alpha;

    switch (shape) {
    case SHAPE_LOW:
        b0 = b2 = (1.0 - c) / 2.0;
        b1 = 1.0 - c;
        break;
    case SHAPE_HIGH:
        b0 = b2 = (1.0 + c) / 2.0;
        b1 = -(1.0 + c);
        break;
    case SHAPE_NOTCH:
        break;
    case SHAPE_PEAK:
        b0 = 1.0 + alpha * rise;
        b2 = 1.0 - alpha * rise;
        a0 = 1.0 + alpha / rise;
        a2 = 1.0 - alpha / rise;
        break;
    }
    return (struct biquad){b0 / a0, b1 / a0, b2 / a0, -2.0 * c / a0, a2 / a0};
}

static void run_biquad(double *tap, int taps, struct biquad f)
{
    double s1 = 0.0;
    double s2 = 0.0;

    for (int n = 0; n < taps; n++) {
        double x = tap[n];
        double y = f.b0 * x + s1;

        s1 = f.b1 * x - f.a1 * y + s2;
        s2 = f.b2 * x - f.a2 * y;
        tap[n] = y;
    }
}

/* Fourth-order Butterworth: the two Q are 1 / (2 cos(pi/8)) and
 * 1 / (2 cos(3 pi/8)). */
static void butterworth(double *tap, int taps, enum shape shape, double hertz)
{
    run_biquad(tap, taps, biquad_of(shape, hertz, 0.54119610014619698, 0.0));
    run_biquad(tap, taps, biquad_of(shape, hertz, 1.3065629648763765, 0.0));
}

/* Ends a truncated response with half a cosine, so that the cut is not
 * audible. */
static void fade_out(double *tap, int taps, int length)
{
    for (int n = 0; n < length; n++)
        tap[taps - length + n] *= 0.5 + 0.5 * cos(PI * (n + 1) / length);
}

/* Recursive notches rather than a windowed sinc: linear-phase filters as
 * narrow would ring for half a second before each sound. */
static void hum_notch(struct mask *mask, double mains)
{
    mask->tap[0] = 1.0;
    for (int harmonic = 1; harmonic <= 10; harmonic++) {
        double hertz = mains * harmonic;

        run_biquad(mask->tap, mask->taps, biquad_of(SHAPE_NOTCH, hertz, hertz / 5.0, 0.0));
    }
    fade_out(mask->tap, mask->taps, mask->taps / 10);
}

static void make_hum_notch_50(struct mask *mask)
{
    hum_notch(mask, 50.0);
}

static void make_hum_notch_60(struct mask *mask)
{
    hum_notch(mask, 60.0);
}

/* A small loudspeaker: little below 350 Hz, cone resonances, no top. */
static void make_radio(struct mask *mask)
{
    double *tap = mask->tap;
    int taps = mask->taps;

    tap[0] = 0.8;
    butterworth(tap, taps, SHAPE_HIGH, 350.0);
    butterworth(tap, taps, SHAPE_LOW, 3500.0);
    run_biquad(tap, taps, biquad_of(SHAPE_PEAK, 700.0, 2.0, -5.0));
    run_biquad(tap, taps, biquad_of(SHAPE_PEAK, 1100.0, 2.5, 5.0));
    run_biquad(tap, taps, biquad_of(SHAPE_PEAK, 2500.0, 4.0, 6.0));
    fade_out(tap, taps, taps / 10);
}

/* ---- echoes ----------------------------------------------------------- */

/* A low-passed impulse at a fractional position: a reflection `when` taps
 * after the start, without frequencies above `cutoff`. */
static void add_reflection(double *tap, int taps, double when, double gain, double cutoff)
{
    double width = 2.0 * cutoff / RATE;
    double reach = 12.0 / width;
    int from = (int)ceil(when - reach);
    int to = (int)floor(when + reach);

    for (int n = from < 0 ? 0 : from; n <= to && n < taps; n++)
        tap[n] += gain * width * sinc(width * (n - when)) * kaiser((n - when) / reach, 6.0);
}

static void make_slap_echo(struct mask *mask)
{
    mask->tap[0] = 0.6;
    add_reflection(mask->tap, mask->taps, 0.110 * RATE, 0.4, 6000.0);
}

/* Each repeat is duller than the one before, as on a tape loop. */
static void make_ping_pong(struct mask *mask)
{
    double gain = 0.4;
    double cutoff = 9000.0;

    column(mask, 0)[0] = 0.5;
    column(mask, 1)[0] = 0.5;
    for (int repeat = 1; repeat <= 5; repeat++) {
        add_reflection(column(mask, (repeat + 1) % 2), mask->taps, repeat * 0.230 * RATE, gain,
                       cutoff);
        gain *= 0.62;
        cutoff *= 0.75;
    }
}

static void make_comb(struct mask *mask)
{
    mask->tap[0] = 0.5;
    mask->tap[mask->taps - 1] = 0.5;
}

/* Schroeder's feedback comb. Its gain is 2 on the resonances: between them
 * so much is lost that a gain of 1 would sound too quiet. */
static void make_resonator(struct mask *mask)
{
    double feedback = 0.8;
    double gain = 2.0 * (1.0 - feedback);

    for (int n = 0; n < mask->taps; n += 218) {
        mask->tap[n] = gain;
        gain *= feedback;
    }
}

/* ---- one tap, four columns -------------------------------------------- */

static void make_swap_sides(struct mask *mask)
{
    mask->tap[1] = 1.0;
    mask->tap[2] = 1.0;
}

static void make_mono_sum(struct mask *mask)
{
    for (int which = 0; which < 4; which++)
        mask->tap[which] = 0.5;
}

/* ---- crossfeed -------------------------------------------------------- */

/*
 * Each ear also hears the other side, low-passed by the head: a first-order
 * low-pass at 700 Hz.  What crosses over is taken from the direct side, so
 * that a sound in the middle passes unchanged at every frequency.  No further
 * delay is needed: at low frequencies the low-pass and the subtraction alone
 * let the far ear hear a side 0.36 ms later, about what a head does.
 */
static void make_crossfeed(struct mask *mask)
{
    double pole = exp(-2.0 * PI * 700.0 / RATE);
    double amount = 0.37;

    for (int n = 0; n < mask->taps; n++) {
        double far = amount * (1.0 - pole) * pow(pole, n);

        column(mask, 0)[n] = column(mask, 3)[n] = (n == 0) - far;
        column(mask, 1)[n] = column(mask, 2)[n] = far;
    }
}

/* ---- rooms ------------------------------------------------------------ */

/* One band, about an octave, of a reverberant tail. */
struct band {
    double low; /* corners in Hz; 0 where the band has none */
    double high;
    double rt60;  /* seconds to fall by 60 dB */
    double level; /* dB */
    double onset; /* seconds by which the band starts later */
};

struct tail {
    const struct band *band;
    int bands;
    double start;  /* seconds */
    double build;  /* time constant of its growth, seconds */
    double energy; /* root of the energy of a column */
    uint64_t seed;
};

static void add_band(double *tap, int taps, const struct band *band, const struct tail *tail,
                     uint64_t stream)
{
    double *noise = zeros(taps);
    int start = frames_of(tail->start + band->onset);

    for (int n = 0; n < taps; n++)
        noise[n] = white(stream, n);
    if (band->low > 0.0)
        butterworth(noise, taps, SHAPE_HIGH, band->low);
    if (band->high > 0.0)
        butterworth(noise, taps, SHAPE_LOW, band->high);
    for (int n = start; n < taps; n++) {
        double t = (double)(n - start) / RATE;

        tap[n] +=
            from_db(band->level - 60.0 * t / band->rt60) * (1.0 - exp(-t / tail->build)) * noise[n];
    }
    free(noise);
}

/* Every column has independent noise: uncorrelated columns make a room sound
 * wide. */
static void add_tail(struct mask *mask, const struct tail *tail)
{
    int taps = mask->taps;
    double *wet = zeros(taps);

    for (int which = 0; which < mask->columns; which++) {
        double *tap = column(mask, which);
        double energy = 0.0;

        memset(wet, 0, (size_t)taps * sizeof *wet);
        for (int k = 0; k < tail->bands; k++)
            add_band(wet, taps, &tail->band[k], tail,
                     tail->seed * 256 + (uint64_t)(which * 16 + k));
        fade_out(wet, taps, taps / 8);
        for (int n = 0; n < taps; n++)
            energy += wet[n] * wet[n];
        for (int n = 0; n < taps; n++)
            tap[n] += wet[n] * (tail->energy / sqrt(energy));
    }
    free(wet);
}

struct place {
    double x, y, z;
};

/* A pair of cardioid microphones, 17 cm and 110 degrees apart (ORTF), faces
 * two sources: `spread` metres to either side. */
struct room {
    struct place size;
    struct place pair;
    double distance;
    double spread;
    double reflect; /* gain of a wall */
    int order;      /* highest order of reflection */
    double direct;  /* gain of the direct sound */
};

/* The position of the source's k-th mirror image along one axis. */
static double mirrored(double source, double size, int k)
{
    return k % 2 == 0 ? k * size + source : (k + 1) * size - source;
}

static double cardioid(double dx, double dy, double distance, double aim)
{
    double toward = (dx * sin(aim) + dy * cos(aim)) / distance;

    return 0.5 + 0.5 * toward;
}

/* side: -1 left, +1 right. */
static void add_images(double *direct, double *mirror, int taps, const struct room *room,
                       int source_side, int ear_side)
{
    double aim = ear_side * 55.0 * PI / 180.0;
    double ear_x = room->pair.x + ear_side * 0.085;
    double source_x = room->pair.x + source_side * room->spread;
    double near = hypot(room->spread - 0.085, room->distance);
    double full =
        room->direct / cardioid(room->spread - 0.085, room->distance, near, 55.0 * PI / 180.0);

    for (int i = -room->order; i <= room->order; i++)
        for (int j = -room->order; j <= room->order; j++)
            for (int k = -room->order; k <= room->order; k++) {
                int bounces = abs(i) + abs(j) + abs(k);
                double dx = mirrored(source_x, room->size.x, i) - ear_x;
                double dy = mirrored(room->pair.y + room->distance, room->size.y, j) - room->pair.y;
                double dz = mirrored(room->pair.z, room->size.z, k) - room->pair.z;
                double away = sqrt(dx * dx + dy * dy + dz * dz);
                double when = (away - near) / SOUND_SPEED * RATE;
                double gain =
                    full * near / away * pow(room->reflect, bounces) * cardioid(dx, dy, away, aim);

                if (bounces == 0)
                    direct[lrint(when)] += gain;
                else if (bounces <= room->order)
                    add_reflection(mirror, taps, when, gain, 18000.0 * pow(0.8, bounces));
            }
}

/* All walls of the image method reflect with the same sign, so that the
 * images add up to a boom at the lowest frequencies. As Allen and Berkley
 * do, a high-pass removes it, except from the direct sound. */
static void add_early(struct mask *mask, const struct room *room)
{
    int taps = mask->taps;
    double *mirror = zeros(taps);

    for (int which = 0; which < mask->columns; which++) {
        int source = mask->columns == 4 ? which / 2 : which;
        int ear = which % 2;
        double *tap = column(mask, which);

        memset(mirror, 0, (size_t)taps * sizeof *mirror);
        add_images(tap, mirror, taps, room, 2 * source - 1, 2 * ear - 1);
        run_biquad(mirror, taps, biquad_of(SHAPE_HIGH, 120.0, 0.6, 0.0));
        for (int n = 0; n < taps; n++)
            tap[n] += mirror[n];
    }
    free(mirror);
}

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static void make_small_room(struct mask *mask)
{
    static const struct band band[] = {
        {40, 250, 0.34, -3, 0},    {250, 1000, 0.32, 0, 0}, {1000, 4000, 0.29, 0, 0},
        {4000, 9000, 0.24, -3, 0}, {9000, 0, 0.18, -6, 0},
    };
    static const struct room room = {{4.1, 5.3, 2.6}, {1.9, 1.7, 1.2}, 1.6, 0.8, 0.72, 5, 0.6};
    static const struct tail tail = {band, COUNT(band), 0.006, 0.012, 0.26, 1};

    add_early(mask, &room);
    add_tail(mask, &tail);
}

static void make_hall(struct mask *mask)
{
    static const struct band band[] = {
        {40, 125, 2.40, -4, 0},    {125, 250, 2.35, -2, 0},   {250, 500, 2.30, 0, 0},
        {500, 1000, 2.20, 0, 0},   {1000, 2000, 2.10, -1, 0}, {2000, 4000, 1.80, -2, 0},
        {4000, 8000, 1.30, -4, 0}, {8000, 0, 0.80, -7, 0},
    };
    static const struct room room = {{23.3, 41.0, 15.1}, {11.2, 16.0, 3.4}, 9.0, 4.5, 0.80, 3, 0.5};
    static const struct tail tail = {band, COUNT(band), 0.022, 0.035, 0.33, 2};

    add_early(mask, &room);
    add_tail(mask, &tail);
}

static void make_studio(struct mask *mask)
{
    static const struct band band[] = {
        {40, 250, 0.70, -3, 0},    {250, 1000, 0.65, 0, 0}, {1000, 4000, 0.60, 0, 0},
        {4000, 9000, 0.48, -3, 0}, {9000, 0, 0.35, -6, 0},
    };
    static const struct room room = {{8.2, 11.3, 4.3}, {3.9, 4.1, 1.7}, 3.2, 1.85, 0.74, 4, 0.45};
    static const struct tail tail = {band, COUNT(band), 0.012, 0.020, 0.18, 3};

    add_early(mask, &room);
    add_tail(mask, &tail);
}

/* Bending waves in a plate are dispersive, with high frequencies first:
 * hence the onsets; and a plate is dense from the start: hence no separate
 * echoes. */
static void make_plate(struct mask *mask)
{
    static const struct band band[] = {
        {80, 250, 2.00, -8, 0.014},   {250, 500, 1.90, -4, 0.010},  {500, 1000, 1.80, -1, 0.007},
        {1000, 2000, 1.65, 0, 0.005}, {2000, 4000, 1.45, 0, 0.003}, {4000, 8000, 1.15, -1, 0.0015},
        {8000, 0, 0.85, -3, 0},
    };
    static const struct tail tail = {band, COUNT(band), 0.001, 0.002, 0.36, 4};

    column(mask, 0)[0] = 0.5;
    column(mask, 1)[0] = 0.5;
    add_tail(mask, &tail);
}

/* Sound through a wall: no direct sound, no high frequencies, a short boom. */
static void make_next_room(struct mask *mask)
{
    static const struct band band[] = {
        {50, 125, 0.45, 0, 0},
        {125, 250, 0.42, 0, 0},
        {250, 0, 0.36, 0, 0},
    };
    static const struct tail tail = {band, COUNT(band), 0.002, 0.006, 0.8, 5};

    mask->tap[0] = 0.5;
    add_tail(mask, &tail);
    butterworth(mask->tap, mask->taps, SHAPE_LOW, 320.0);
    fade_out(mask->tap, mask->taps, mask->taps / 10);
}

/* A reversed tail: the reverberation comes before the sound. */
static void make_reverse(struct mask *mask)
{
    static const struct band band[] = {
        {100, 500, 1.1, -2, 0},
        {500, 2000, 1.0, 0, 0},
        {2000, 8000, 0.9, 0, 0},
        {8000, 0, 0.8, -3, 0},
    };
    static const struct tail tail = {band, COUNT(band), 0.012, 0.004, 0.38, 6};

    add_tail(mask, &tail);
    for (int which = 0; which < mask->columns; which++) {
        double *tap = column(mask, which);

        for (int n = 0; n < mask->taps / 2; n++) {
            double keep = tap[n];

            tap[n] = tap[mask->taps - 1 - n];
            tap[mask->taps - 1 - n] = keep;
        }
        tap[mask->taps - 1 - frames_of(0.010)] += 0.45;
    }
}

/* ---- spring ----------------------------------------------------------- */

/* (a + z^-stretch) / (1 + a z^-stretch), in place; `past` has `stretch`
 * elements. */
static void stretched_all_pass(double *tap, int taps, double a, int stretch, double *past)
{
    memset(past, 0, (size_t)stretch * sizeof *past);
    for (int n = 0; n < taps; n++) {
        double held = past[n % stretch];
        double y = a * tap[n] + held;

        past[n % stretch] = tap[n] - a * y;
        tap[n] = y;
    }
}

/* A pulse travels along the spring, is dispersed into a chirp, and returns
 * inverted after each round trip. */
static void add_spring(struct mask *mask, double round_trip, double gain, double sign)
{
    enum { STRETCH = 5, SECTIONS = 90 };
    int taps = mask->taps;
    int delay = frames_of(round_trip);
    double past[STRETCH];
    double *wave = zeros(taps);

    wave[0] = gain;
    for (int trip = 0; trip * delay < taps && trip < 14; trip++) {
        for (int k = 0; k < SECTIONS; k++)
            stretched_all_pass(wave, taps, 0.62, STRETCH, past);
        memmove(wave + delay, wave, (size_t)(taps - delay) * sizeof *wave);
        memset(wave, 0, (size_t)delay * sizeof *wave);
        for (int n = 0; n < taps; n++)
            mask->tap[n] += wave[n];
        scale(wave, taps, -0.68 * sign);
    }
    free(wave);
}

static void make_spring(struct mask *mask)
{
    double *tap = mask->tap;
    int taps = mask->taps;

    add_spring(mask, 0.033, 1.1, 1.0);
    add_spring(mask, 0.041, -0.9, 1.0);
    /* Above a quarter of RATE / STRETCH the sections would chirp in
     * the other direction, which no spring does. */
    butterworth(tap, taps, SHAPE_LOW, 4200.0);
    butterworth(tap, taps, SHAPE_HIGH, 120.0);
    fade_out(tap, taps, taps / 8);
    scale(tap, taps, 0.5);
    tap[0] += 0.5;
}

/* ---- two dimensions --------------------------------------------------- */

/* Rows are in order of time, columns in order of frequency. */
static void make_box2d(struct mask *mask)
{
    for (int n = 0; n < mask->columns * mask->taps; n++)
        mask->tap[n] = 1.0 / (mask->columns * mask->taps);
}

static void make_gaussian2d(struct mask *mask)
{
    double *down = zeros(mask->taps);
    double *across = zeros(mask->columns);

    gaussian(down, mask->taps, 1.5);
    gaussian(across, mask->columns, 1.5);
    for (int which = 0; which < mask->columns; which++)
        for (int n = 0; n < mask->taps; n++)
            column(mask, which)[n] = down[n] * across[which];
    free(down);
    free(across);
}

/* Twice the picture less its box mean. */
static void make_sharpen2d(struct mask *mask)
{
    make_box2d(mask);
    scale(mask->tap, mask->columns * mask->taps, -1.0);
    column(mask, mask->columns / 2)[mask->taps / 2] += 2.0;
}

/* The mean of the later rows, which are the first rows of a mask, less that
 * of the earlier rows. */
static void make_onset_edge(struct mask *mask)
{
    int half = mask->taps / 2;

    for (int which = 0; which < mask->columns; which++)
        for (int n = 0; n < half; n++) {
            column(mask, which)[n] = 1.0 / (half * mask->columns);
            column(mask, which)[mask->taps - 1 - n] = -1.0 / (half * mask->columns);
        }
}

/* A bin less the mean of its neighbours, over all rows. */
static void make_harmonic_edge(struct mask *mask)
{
    for (int which = 0; which < mask->columns; which++)
        for (int n = 0; n < mask->taps; n++)
            column(mask, which)[n] =
                (which == mask->columns / 2 ? 1.0 : -1.0 / (mask->columns - 1)) / mask->taps;
}

/* ---- table ------------------------------------------------------------ */

static const struct row rows[] = {
    {"identity.txt", FORM_TEXT, 1, 1, make_identity, "Identity: one tap of 1.",
     "Nothing: the sound must come out as it went in."},
    {"moving-average.txt", FORM_TEXT, 1, 48, make_moving_average,
     "Moving average of 1 ms (48 taps).",
     "Dull and a little hollow: 1, 2, 3 ... kHz are missing; try the sweep."},
    {"gaussian.txt", FORM_TEXT, 1, 33, make_gaussian,
     "Gaussian, standard deviation 4 taps: -3 dB at 1590 Hz.",
     "A soft low-pass: dull, yet no ringing and no edge."},
    {"sharpen.txt", FORM_TEXT, 1, 17, make_sharpen,
     "Unsharp mask: twice the sound less its Gaussian; +6 dB at the top.",
     "Consonants, plucks and cymbals step forward; the bass stays."},
    {"pre-emphasis.txt", FORM_TEXT, 1, 2, make_pre_emphasis, "Pre-emphasis 1 - 0.97 z^-1.",
     "Thin and bright, 30 dB less bass; de-emphasis.wav undoes it."},
    {"differentiator.txt", FORM_TEXT, 1, 64, make_differentiator,
     "Differentiator: gain rises with frequency, 1 at 24 kHz.",
     "Quiet and very bright: only the edges of the sound are left."},
    {"hilbert.txt", FORM_TEXT, 1, 199, make_hilbert,
     "Hilbert transformer: every frequency turned by 90 degrees.",
     "Sounds almost the same, yet the waveform is another; bass fades."},
    {"quadrature.txt", FORM_TEXT, 2, 199, make_quadrature,
     "Left as it is, right turned by 90 degrees.",
     "A mono sound becomes strangely wide on headphones."},
    {"comb.txt", FORM_TEXT, 1, 49, make_comb,
     "Comb: the sound and a copy 1 ms later; nulls at 500, 1500 ... Hz.",
     "Hollow, as a flanger that stands still; striking on pink noise."},
    {"swap-sides.txt", FORM_TEXT, 4, 1, make_swap_sides,
     "Left and right exchanged (columns LL LR RL RR).", "The drums change sides."},
    {"mono-sum.txt", FORM_TEXT, 4, 1, make_mono_sum,
     "Both sides get the mean of both (columns LL LR RL RR).", "Everything moves to the middle."},
    {"lowpass-1k.wav", FORM_FLOAT, 1, 1201, make_lowpass, "Low-pass at 1 kHz, linear phase, 80 dB.",
     "Muffled with a sharp edge: the sweep stops short."},
    {"highpass-100.wav", FORM_FLOAT, 1, 4001, make_highpass,
     "High-pass at 100 Hz, linear phase, 80 dB.",
     "Rumble and the body of the bass drum go, the rest stays."},
    {"telephone.wav", FORM_FLOAT, 1, 801, make_telephone,
     "Telephone band, 300 to 3400 Hz, linear phase.", "The voice on an old line."},
    {"de-emphasis.wav", FORM_FLOAT, 1, 454, make_de_emphasis,
     "Inverse of pre-emphasis.txt, down to -120 dB, at a gain of 0.03.",
     "Dull, the bass as it was; after pre-emphasis and with gain=30.46: the original."},
    {"hum-notch-50.wav", FORM_PCM24, 1, 28800, make_hum_notch_50,
     "Notches at 50, 100 ... 500 Hz, 5 Hz wide.",
     "Mains hum disappears, all else is all but unchanged."},
    {"hum-notch-60.wav", FORM_PCM24, 1, 28800, make_hum_notch_60,
     "Notches at 60, 120 ... 600 Hz, 5 Hz wide.", "As above, where the mains has 60 Hz."},
    {"resonator.wav", FORM_FLOAT, 1, 8939, make_resonator,
     "Feedback comb of 218 taps, tuned to 220.2 Hz.",
     "Everything hums the same note, as if spoken into a tube."},
    {"radio.wav", FORM_FLOAT, 1, 2400, make_radio, "A pocket radio: small resonant loudspeaker.",
     "Boxy and nasal; the bass is gone."},
    {"next-room.wav", FORM_PCM24, 1, 24000, make_next_room, "Sound through a wall.",
     "Someone plays next door: boom without words."},
    {"slap-echo.wav", FORM_PCM24, 1, 5400, make_slap_echo,
     "One echo after 110 ms, a little duller.", "The rock-and-roll voice; one clear repeat."},
    {"ping-pong.wav", FORM_PCM24, 2, 55680, make_ping_pong,
     "Five echoes, 230 ms apart, left and right in turn.",
     "Repeats that jump from side to side and darken."},
    {"spring.wav", FORM_PCM24, 1, 48000, make_spring, "Spring reverb of a guitar amplifier.",
     "Drip and boing after each drum stroke; chirps after the click."},
    {"small-room.wav", FORM_PCM24, 2, 19200, make_small_room, "Living room, RT60 0.3 s.",
     "Near walls: the voice is in a room rather than in the head."},
    {"room-true-stereo.wav", FORM_PCM24, 4, 33600, make_studio,
     "Studio, RT60 0.6 s, each side heard by both (LL LR RL RR).",
     "A sound on the left also lights up the right wall."},
    {"plate.wav", FORM_PCM24, 2, 81600, make_plate,
     "Plate, RT60 1.6 s at 1 to 2 kHz, dense and bright.",
     "A shimmering halo around snare and voice, at once."},
    {"hall.wav", FORM_PCM24, 2, 124800, make_hall,
     "Concert hall, RT60 2.2 s, darker as it dies away.",
     "Depth, wide and long; the last chord hangs in the air."},
    {"reverse.wav", FORM_PCM24, 2, 36000, make_reverse,
     "Reverberation backwards, 0.74 s, then the sound.",
     "Each sound is sucked in before it strikes."},
    {"crossfeed.wav", FORM_FLOAT, 4, 192, make_crossfeed,
     "Headphone crossfeed (LL LR RL RR), 700 Hz, 4.6 dB.",
     "On headphones: hard left and right move to the front."},
    {"identity.mask2d", FORM_MASK2D, 1, 1, make_identity,
     "Identity of two dimensions: one coefficient of 1.",
     "Nothing: the sound must come out as it went in."},
    {"box-3x3.mask2d", FORM_MASK2D, 3, 3, make_box2d, "The mean of 3 rows and 3 columns.",
     "A light blur: strokes lose their edge, tones get a little rough."},
    {"box-5x5.mask2d", FORM_MASK2D, 5, 5, make_box2d, "The mean of 5 rows and 5 columns.",
     "More of it: strokes soften, the voice turns hoarse, towards a whisper."},
    {"gaussian-7x7.mask2d", FORM_MASK2D, 7, 7, make_gaussian2d,
     "A bell, standard deviation 1.5 rows and columns.",
     "The blur of box-5x5 with a soft rim: breathy tones, soft strokes."},
    {"sharpen.mask2d", FORM_MASK2D, 3, 3, make_sharpen2d,
     "Twice the picture less its mean of 3 x 3.",
     "Tones and strokes stand out, what lies between grows thin and watery."},
    {"along-time.mask2d", FORM_MASK2D, 1, 17, make_box2d,
     "The mean of 17 rows of each bin: 0.18 s at a hop of 512.",
     "Drums melt into a wash that begins before the stroke; long notes stay."},
    {"along-frequency.mask2d", FORM_MASK2D, 17, 1, make_box2d,
     "The mean of 17 bins of each row: 400 Hz at a size of 2048.",
     "Strokes stay sharp; notes dissolve into bands of noise."},
    {"onset-edge.mask2d", FORM_MASK2D, 5, 5, make_onset_edge,
     "What is coming less what was: two rows each, over 5 bins.",
     "Only what begins is left: strokes and consonants, cut short."},
    {"harmonic-edge.mask2d", FORM_MASK2D, 9, 9, make_harmonic_edge,
     "A bin less the mean of the 8 beside it, over 9 rows.",
     "Only partials are left: notes without breath or pick, drums faint."},
};

/* ---- writing ---------------------------------------------------------- */

static bool cannot_write(const char *path, const char *reason)
{
    fprintf(stderr, "make_filters: cannot write %s: %s\n", path, reason);
    return false;
}

/* Nine digits represent every float exactly. */
static bool write_text(const struct row *row, const struct mask *mask, const char *path)
{
    FILE *file = fopen(path, "wb");
    bool good;

    if (file == NULL)
        return cannot_write(path, strerror(errno));
    fprintf(file, "# %s\n# Listen: %s\n", row->what, row->listen);
    if (row->form == FORM_MASK2D)
        fprintf(file,
                "# Lines are rows, from past to future; columns go from low to "
                "high frequency.\n"
                "# True convolution, origin at row %d, column %d, counted from "
                "0.\n",
                row->taps / 2, row->columns / 2);
    else
        fprintf(file, "rate: %d\n", RATE);
    for (int n = 0; n < mask->taps; n++)
        for (int which = 0; which < mask->columns; which++)
            fprintf(file, "%.9g%c", (double)(float)column(mask, which)[n] + 0.0,
                    which + 1 < mask->columns ? ' ' : '\n');
    good = fflush(file) == 0 && !ferror(file);
    if (!good)
        cannot_write(path, strerror(errno));
    if (fclose(file) != 0 && good)
        good = cannot_write(path, strerror(errno));
    return good;
}

/* libsndfile takes the upper 24 bits of an int. */
static int pcm24(double value)
{
    long level = lrint(value * 8388608.0);

    if (level > 8388607)
        level = 8388607;
    if (level < -8388608)
        level = -8388608;
    return (int)(level * 256);
}

static bool write_frames(SNDFILE *file, const struct row *row, const struct mask *mask)
{
    for (int n = 0; n < mask->taps; n++) {
        float real[4] = {0};
        int whole[4] = {0};

        for (int which = 0; which < mask->columns; which++) {
            real[which] = (float)column(mask, which)[n] + 0.0f;
            whole[which] = pcm24(column(mask, which)[n]);
        }
        if (row->form == FORM_FLOAT ? sf_writef_float(file, real, 1) != 1
                                    : sf_writef_int(file, whole, 1) != 1)
            return false;
    }
    return true;
}

static bool write_wav(const struct row *row, const struct mask *mask, const char *path)
{
    SF_INFO info = {.samplerate = RATE, .channels = mask->columns};
    SNDFILE *file;
    bool good;
    int code;

    info.format = SF_FORMAT_WAV | (row->form == FORM_FLOAT ? SF_FORMAT_FLOAT : SF_FORMAT_PCM_24);
    file = sf_open(path, SFM_WRITE, &info);
    if (file == NULL)
        return cannot_write(path, sf_strerror(NULL));
    /* The peak chunk stores the time of writing. */
    sf_command(file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    good = write_frames(file, row, mask);
    if (!good)
        cannot_write(path, sf_strerror(file));
    code = sf_close(file);
    if (code != 0 && good)
        good = cannot_write(path, sf_error_number(code));
    return good;
}

/* A mask that is not finite, or too loud for its format, is a bug in this
 * program: write no file. */
static bool check(const struct row *row, const struct mask *mask, const char *path)
{
    double most = row->form == FORM_PCM24 ? 0.9999999 : 1e6;

    for (int n = 0; n < mask->columns * mask->taps; n++)
        if (!(fabs(mask->tap[n]) < most))
            return cannot_write(path, "a tap is out of range");
    return true;
}

static bool make_row(const struct row *row, const char *folder)
{
    struct mask mask = {row->columns, row->taps, zeros(row->columns * row->taps)};
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, row->file);
    bool good;

    if (length < 0 || (size_t)length >= sizeof path) {
        good = cannot_write(row->file, "the name of the folder is too long");
    } else {
        row->make(&mask);
        good = check(row, &mask, path) &&
               (row->form == FORM_FLOAT || row->form == FORM_PCM24 ? write_wav(row, &mask, path)
                                                                   : write_text(row, &mask, path));
    }
    free(mask.tap);
    return good;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: make_filters FOLDER\n");
        return 2;
    }
    for (int k = 0; k < COUNT(rows); k++)
        if (!make_row(&rows[k], argv[1]))
            return 1;
    return 0;
}
