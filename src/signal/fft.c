/* Compiled for each precision. */
#include "signal/fft.h"

#include "base/simd.h"

/* Vectors have 32 bytes. Longer ones would be slow on processors without AVX-512. With AVX2,
 * shuffles within the vector's halves are fast. */
#ifdef HALO_DOUBLE
#define LANES 4
#define BOTH_HALVES 0, 1, 2, 3
#define HALVES_REVERSED 1, 0, 3, 2
#define EVENS 0, 4, 2, 6
#define ODDS 1, 5, 3, 7
#define FIRST_PAIRS 0, 4, 2, 6
#define LAST_PAIRS 1, 5, 3, 7
#else
#define LANES 8
#define BOTH_HALVES 0, 1, 2, 3, 4, 5, 6, 7
#define HALVES_REVERSED 3, 2, 1, 0, 7, 6, 5, 4
#define EVENS 0, 2, 8, 10, 4, 6, 12, 14
#define ODDS 1, 3, 9, 11, 5, 7, 13, 15
#define FIRST_PAIRS 0, 8, 1, 9, 4, 12, 5, 13
#define LAST_PAIRS 2, 10, 3, 11, 6, 14, 7, 15
#endif
#include "signal/fft_lanes.h"

#include <stdlib.h>
#include <string.h>

/* One name for each precision. For clones, clang makes resolvers that the linker sees. */
#define begin_with_rows REAL(begin_with_rows)
#define begin_with_pairs REAL(begin_with_pairs)
#define pass REAL(pass)
#define multiply_rows REAL(multiply_rows)
#define split_pairs REAL(split_pairs)
#define join_pairs REAL(join_pairs)
#define join_halves REAL(join_halves)
#define split_halves REAL(split_halves)

enum {
    FIRST = 8,                  /* parts in the first pass */
    PASS_LEAST = FIRST * LANES, /* points of the shortest transform in passes */
    PAD = 16,                   /* numbers before and after each row, for whole vectors */
    SHORT = 2 * LANES,          /* points; in shorter spectra, vectors reach beyond both ends */
};

typedef real half_lanes
    __attribute__((vector_size(LANES / 2 * sizeof(real)), aligned(sizeof(real))));

/* Rows of real and of imaginary parts. Exchanging them makes a transform its inverse. */
struct rows {
    real *re, *im;
};

struct real_fft {
    size_t n;
    size_t points;       /* n / 2 */
    size_t length;       /* length of the transform in passes; above `points` with a chirp */
    struct rows work[2]; /* `length` points each */
    struct rows halves;  /* [k] e^(i TURN k/n) / 2, to one vector after points / 2 */
    struct rows chirp;   /* [k] e^(i TURN k^2/n), k < points; NULL: none */
    struct rows filter;  /* spectrum of the chirp's conjugate, over `length` points */
    real *turns;         /* factors, pass after pass */
    real *memory;        /* the memory of all these rows */
};

HALO_REALTIME static void exchange(struct rows *rows)
{
    *rows = (struct rows){rows->im, rows->re};
}

HALO_REALTIME static void swap(struct rows *a, struct rows *b)
{
    struct rows was = *a;
    *a = *b;
    *b = was;
}

/* ---- passes ---- */

/* How many parts a pass divides `rest` points into. 16 is divided as two times four. */
HALO_REALTIME static size_t ways_of(size_t rest)
{
    if (rest % 8 == 0 && rest % 32 != 16)
        return 8;
    return rest % 4 == 0 ? 4 : rest % 2 == 0 ? 2 : 3;
}

/* (re + i im) e^(i angle). `cosine` and `sine` are vectors, or one number for all lanes. */
#define TURN_LANES(re, im, cosine, sine)                                                           \
    do {                                                                                           \
        lanes was = re;                                                                            \
        re = was * (cosine) - im * (sine);                                                         \
        im = was * (sine) + im * (cosine);                                                         \
    } while (0)

/* Loads LANES pairs. */
HALO_REALTIME static inline __attribute__((always_inline)) void take_pairs(const real *pairs,
                                                                           lanes *re, lanes *im)
{
    const half_lanes *at = (const half_lanes *)pairs;
    lanes a = __builtin_shufflevector(at[0], at[2], BOTH_HALVES);
    lanes b = __builtin_shufflevector(at[1], at[3], BOTH_HALVES);
    *re = __builtin_shufflevector(a, b, EVENS);
    *im = __builtin_shufflevector(a, b, ODDS);
}

HALO_REALTIME static inline __attribute__((always_inline)) void
put_pairs(real *pairs, const lanes *re, const lanes *im)
{
    lanes first = __builtin_shufflevector(*re, *im, FIRST_PAIRS);
    lanes last = __builtin_shufflevector(*re, *im, LAST_PAIRS);
    half_lanes *at = (half_lanes *)pairs;
    at[0] = ((half_lanes *)&first)[0];
    at[1] = ((half_lanes *)&last)[0];
    at[2] = ((half_lanes *)&first)[1];
    at[3] = ((half_lanes *)&last)[1];
}

/* Stores pairs, the last one first. */
HALO_REALTIME static inline __attribute__((always_inline)) void
put_pairs_backwards(real *pairs, const lanes *re, const lanes *im)
{
    lanes a = __builtin_shufflevector(*re, *re, HALVES_REVERSED);
    lanes b = __builtin_shufflevector(*im, *im, HALVES_REVERSED);
    lanes first = __builtin_shufflevector(a, b, FIRST_PAIRS);
    lanes last = __builtin_shufflevector(a, b, LAST_PAIRS);
    half_lanes *at = (half_lanes *)pairs;
    at[0] = ((half_lanes *)&first)[1];
    at[1] = ((half_lanes *)&last)[1];
    at[2] = ((half_lanes *)&first)[0];
    at[3] = ((half_lanes *)&last)[0];
}

/* Loads numbers, the last one first. */
HALO_REALTIME static inline __attribute__((always_inline)) void take_backwards(const real *numbers,
                                                                               lanes *x)
{
    const half_lanes *at = (const half_lanes *)numbers;
    lanes a = __builtin_shufflevector(at[1], at[0], BOTH_HALVES);
    *x = __builtin_shufflevector(a, a, HALVES_REVERSED);
}

HALO_REALTIME static inline __attribute__((always_inline)) void put_backwards(real *numbers,
                                                                              const lanes *x)
{
    lanes a = __builtin_shufflevector(*x, *x, HALVES_REVERSED);
    const half_lanes *halves = (const half_lanes *)&a;
    half_lanes *at = (half_lanes *)numbers;
    at[0] = halves[1];
    at[1] = halves[0];
}

/* Loads every second of eight parts, which are `part` numbers or pairs apart. im NULL: `re` has
 * pairs with the imaginary part first. */
HALO_REALTIME static inline __attribute__((always_inline)) void
take_parts(const real *from_re, const real *from_im, size_t part, size_t first, lanes re[8],
           lanes im[8])
{
    for (size_t p = first; p < 8; p += 2)
        if (from_im) {
            re[p] = *(const lanes *)(from_re + p * part);
            im[p] = *(const lanes *)(from_im + p * part);
        } else
            take_pairs(from_re + 2 * p * part, &im[p], &re[p]);
}

/* Loads parts only when they are needed, since a processor has 16 vectors. */
HALO_REALTIME static inline __attribute__((always_inline)) void
add_eight_parts(const real *from_re, const real *from_im, size_t part, lanes re[8], lanes im[8])
{
    struct lane_points even[4], odd[4];
    take_parts(from_re, from_im, part, 0, re, im);
    transform_four(re, im, 0, even);
    take_parts(from_re, from_im, part, 1, re, im);
    transform_four(re, im, 1, odd);
    join_fours(even, odd, re, im);
}

/* The first pass. After it, parts lie side by side. */
HALO_REALTIME static inline __attribute__((always_inline)) void
begin_at(const real *from_re, const real *from_im, size_t left, const real *turns, real *to_re,
         real *to_im)
{
    const lanes *turn = (const lanes *)turns;
    lanes re[FIRST], im[FIRST];
    add_eight_parts(from_re, from_im, left, re, im);
    for (size_t q = 1; q < FIRST; q++)
        TURN_LANES(re[q], im[q], turn[2 * q - 2], turn[2 * q - 1]);
    for (size_t q = 0; q < FIRST; q += LANES) {
        transpose(re + q);
        transpose(im + q);
        for (size_t k = 0; k < LANES; k++) {
            *(lanes *)(to_re + k * FIRST + q) = re[q + k];
            *(lanes *)(to_im + k * FIRST + q) = im[q + k];
        }
    }
}

SIMD_CLONES
HALO_REALTIME static void begin_with_rows(const real *turns, size_t left, const struct rows *from,
                                          const struct rows *to)
{
    for (size_t j = 0; j < left; j += LANES, turns += 2 * (FIRST - 1) * LANES)
        begin_at(from->re + j, from->im + j, left, turns, to->re + j * FIRST, to->im + j * FIRST);
}

SIMD_CLONES
HALO_REALTIME static void begin_with_pairs(const real *turns, size_t left, const real *pairs,
                                           const struct rows *to)
{
    for (size_t j = 0; j < left; j += LANES, turns += 2 * (FIRST - 1) * LANES)
        begin_at(pairs + 2 * j, NULL, left, turns, to->re + j * FIRST, to->im + j * FIRST);
}

struct step {
    size_t ways;       /* parts of the pass */
    size_t left;       /* points of a part; each has `stride` numbers side by side */
    size_t stride;     /* a multiple of FIRST */
    const real *turns; /* [point][part - 1] cosine, sine */
    const struct rows *from, *to;
    real *pairs; /* the last pass writes pairs here instead of `to`; or NULL */
};

HALO_REALTIME static inline __attribute__((always_inline)) void add_parts(const real *from_re,
                                                                          const real *from_im,
                                                                          size_t ways, size_t part,
                                                                          lanes re[8], lanes im[8])
{
    struct lane_points y[4] = {0};
    if (ways == 8) {
        add_eight_parts(from_re, from_im, part, re, im);
        return;
    }
    for (size_t p = 0; p < ways; p++)
        y[p] = (struct lane_points){*(const lanes *)(from_re + p * part),
                                    *(const lanes *)(from_im + p * part)};
    add_points(y, ways, false);
    for (size_t q = 0; q < ways; q++) {
        re[q] = y[q].re;
        im[q] = y[q].im;
    }
}

/* `ways` is a constant. Whether `turns` and `pairs` are NULL is known at compile time. */
HALO_REALTIME static inline __attribute__((always_inline)) void
take_point(const struct step *step, size_t ways, size_t stride, size_t j, const real *turns,
           real *pairs)
{
    size_t from = j * stride, to = ways * j * stride;
#pragma GCC unroll 2
    for (size_t at = 0; at < stride; at += LANES) {
        lanes re[8] = {0}, im[8] = {0};
        add_parts(step->from->re + from + at, step->from->im + from + at, ways, step->left * stride,
                  re, im);
        for (size_t q = 0; q < ways; q++) {
            size_t place = to + q * stride + at;
            if (turns && q > 0)
                TURN_LANES(re[q], im[q], turns[2 * q - 2], turns[2 * q - 1]);
            if (pairs) {
                put_pairs(pairs + 2 * place, &re[q], &im[q]);
            } else {
                *(lanes *)(step->to->re + place) = re[q];
                *(lanes *)(step->to->im + place) = im[q];
            }
        }
    }
}

/* `ways` is a constant. So is the least stride, whose loops are the shortest. */
HALO_REALTIME static inline __attribute__((always_inline)) void take_points(const struct step *step,
                                                                            size_t ways)
{
    size_t stride = step->stride;
    const real *turns = step->turns;
    if (step->pairs) {
        take_point(step, ways, stride, 0, NULL, step->pairs);
        return;
    }
    take_point(step, ways, stride, 0, NULL, NULL);
    if (stride == FIRST)
        for (size_t j = 1; j < step->left; j++)
            take_point(step, ways, FIRST, j, turns + 2 * (ways - 1) * j, NULL);
    else
        for (size_t j = 1; j < step->left; j++)
            take_point(step, ways, stride, j, turns + 2 * (ways - 1) * j, NULL);
}

SIMD_CLONES
HALO_REALTIME static void pass(const struct step *step)
{
    if (step->ways == 2)
        take_points(step, 2);
    else if (step->ways == 3)
        take_points(step, 3);
    else if (step->ways == 4)
        take_points(step, 4);
    else
        take_points(step, 8);
}

/* Runs the passes after the first, from *z to `pairs` or, if that is NULL, to *z. *other is memory.
 * *z and *other may change places. */
HALO_REALTIME static void run_passes(const struct real_fft *fft, struct rows *z, struct rows *other,
                                     real *pairs)
{
    struct step step = {.left = fft->length / FIRST, .stride = FIRST, .from = z, .to = other};
    step.turns = fft->turns + 2 * (FIRST - 1) * step.left;
    for (size_t rest = step.left; rest > 1; rest = step.left) {
        step.ways = ways_of(rest);
        step.left = rest / step.ways;
        step.pairs = step.left > 1 ? NULL : pairs;
        pass(&step);
        step.turns += 2 * (step.ways - 1) * step.left;
        step.stride *= step.ways;
        swap(z, other);
    }
}

/* Transforms *z: sums with e^(i TURN jk/length). */
HALO_REALTIME static void transform(const struct real_fft *fft, struct rows *z, struct rows *other,
                                    real *pairs)
{
    begin_with_rows(fft->turns, fft->length / FIRST, z, other);
    swap(z, other);
    run_passes(fft, z, other, pairs);
}

/* ---- chirps ---- */

/* a *= b */
SIMD_CLONES
HALO_REALTIME static void multiply_rows(const struct rows *a, const struct rows *b, size_t count)
{
    for (size_t i = 0; i < count; i += LANES) {
        lanes re = *(lanes *)(a->re + i), im = *(lanes *)(a->im + i);
        TURN_LANES(re, im, *(lanes *)(b->re + i), *(lanes *)(b->im + i));
        *(lanes *)(a->re + i) = re;
        *(lanes *)(a->im + i) = im;
    }
}

/* Transforms *z by a chirp: sums with e^(i TURN jk/points); 2 jk is j^2 + k^2 - (k - j)^2. */
HALO_REALTIME static void transform_by_chirp(const struct real_fft *fft, struct rows *z,
                                             struct rows *other)
{
    size_t silent = (fft->length - fft->points) * sizeof(real);
    multiply_rows(z, &fft->chirp, fft->points);
    memset(z->re + fft->points, 0, silent);
    memset(z->im + fft->points, 0, silent);
    transform(fft, z, other, NULL);
    multiply_rows(z, &fft->filter, fft->length);
    exchange(z);
    exchange(other);
    transform(fft, z, other, NULL);
    exchange(z);
    exchange(other);
    multiply_rows(z, &fft->chirp, fft->points);
}

/* ---- real samples ---- */

SIMD_CLONES
HALO_REALTIME static void split_pairs(const real *pairs, size_t count, const struct rows *to)
{
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        take_pairs(pairs + 2 * i, (lanes *)(to->re + i), (lanes *)(to->im + i));
    for (size_t i = whole; i < count; i++) {
        to->re[i] = pairs[2 * i];
        to->im[i] = pairs[2 * i + 1];
    }
}

SIMD_CLONES
HALO_REALTIME static void join_pairs(const struct rows *from, size_t count, real *pairs)
{
    size_t whole = count / LANES * LANES;
    for (size_t i = 0; i < whole; i += LANES)
        put_pairs(pairs + 2 * i, (lanes *)(from->re + i), (lanes *)(from->im + i));
    for (size_t i = whole; i < count; i++) {
        pairs[2 * i] = from->re[i];
        pairs[2 * i + 1] = from->im[i];
    }
}

/* Converts bins from k on, together with the bins before points - k, last one first. It goes from
 * the spectrum of n/2 complex points to that of n samples, or back. halves: half of the factors. */
HALO_REALTIME static inline __attribute__((always_inline)) void
turn_halves(const struct rows *halves, size_t k, bool back, struct lane_points *a,
            struct lane_points *b)
{
    const real half = (real)0.5;
    lanes cosine = *(lanes *)(halves->re + k), sine = *(lanes *)(halves->im + k);
    struct lane_points sum = {a->re + b->re, a->im - b->im}, rest = {a->re - b->re, a->im + b->im};
    if (back)
        rest = (struct lane_points){rest.re + rest.re, rest.im + rest.im};
    else
        sum = (struct lane_points){sum.re * half, sum.im * half};
    lanes re = rest.re * sine, im = rest.im * sine;
    re = back ? re + rest.im * cosine : re - rest.im * cosine;
    im = back ? im - rest.re * cosine : im + rest.re * cosine;
    *a = (struct lane_points){sum.re - re, sum.im - im};
    *b = (struct lane_points){sum.re + re, -im - sum.im};
}

/* Start of the vector that mirrors the vector at k; with few points, in the padding before them. */
HALO_REALTIME static ptrdiff_t mirror_of(const struct real_fft *fft, size_t k)
{
    return (ptrdiff_t)fft->points - (ptrdiff_t)k - (LANES - 1);
}

/* Makes the spectrum of n samples from n/2 points. In the middle, both vectors have equal bins. */
SIMD_CLONES
HALO_REALTIME static void join_halves(const struct real_fft *fft, const struct rows *from,
                                      real *spectrum)
{
    for (size_t k = 0; k <= fft->points / 2; k += LANES) {
        ptrdiff_t mirror = mirror_of(fft, k);
        struct lane_points a = {*(lanes *)(from->re + k), *(lanes *)(from->im + k)}, b;
        take_backwards(from->re + mirror, &b.re);
        take_backwards(from->im + mirror, &b.im);
        turn_halves(&fft->halves, k, false, &a, &b);
        put_pairs_backwards(spectrum + 2 * mirror, &b.re, &b.im);
        put_pairs(spectrum + 2 * k, &a.re, &a.im);
    }
}

SIMD_CLONES
HALO_REALTIME static void split_halves(const struct real_fft *fft, const real *spectrum,
                                       const struct rows *to)
{
    for (size_t k = 0; k <= fft->points / 2; k += LANES) {
        ptrdiff_t mirror = mirror_of(fft, k);
        struct lane_points a, b;
        lanes re, im;
        take_pairs(spectrum + 2 * k, &a.re, &a.im);
        take_pairs(spectrum + 2 * mirror, &re, &im);
        take_backwards((const real *)&re, &b.re);
        take_backwards((const real *)&im, &b.im);
        turn_halves(&fft->halves, k, true, &a, &b);
        put_backwards(to->re + mirror, &b.re);
        put_backwards(to->im + mirror, &b.im);
        *(lanes *)(to->re + k) = a.re;
        *(lanes *)(to->im + k) = a.im;
    }
}

HALO_REALTIME void fft_forward(const struct real_fft *fft, const real *samples, real *spectrum)
{
    struct rows z = fft->work[0], other = fft->work[1];
    size_t n = fft->n, points = fft->points;
    if (fft->chirp.re) {
        split_pairs(samples, points, &z);
        exchange(&z);
        exchange(&other);
        transform_by_chirp(fft, &z, &other);
    } else {
        begin_with_pairs(fft->turns, points / FIRST, samples, &z);
        run_passes(fft, &z, &other, NULL);
    }
    exchange(&z);
    z.re[points] = z.re[0];
    z.im[points] = z.im[0];
    real *bins = points < SHORT ? other.re : spectrum;
    join_halves(fft, &z, bins);
    bins[1] = bins[n + 1] = 0;
    if (points < SHORT)
        memcpy(spectrum, bins, (n + 2) * sizeof *bins);
}

HALO_REALTIME void fft_inverse(const struct real_fft *fft, const real *spectrum, real *samples)
{
    struct rows z = fft->work[0], other = fft->work[1];
    size_t n = fft->n;
    if (fft->points < SHORT)
        spectrum = memcpy(other.re, spectrum, (n + 2) * sizeof *spectrum);
    split_halves(fft, spectrum, &z);
    z.re[0] = spectrum[0] + spectrum[n];
    z.im[0] = spectrum[0] - spectrum[n];
    if (!fft->chirp.re) {
        transform(fft, &z, &other, samples);
        return;
    }
    transform_by_chirp(fft, &z, &other);
    join_pairs(&z, fft->points, samples);
}

#ifndef HALO_DOUBLE
/* Writes only sums of one product. gcc 12 fuses "ab - cd" beside "ad + cb" even with
 * -ffp-contract=off, differently for each compiler and processor. */
SIMD_CLONES
HALO_REALTIME static void multiply_add(float *restrict sum, const float *restrict a,
                                       const float *restrict b, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2) {
        sum[i] = sum[i] + a[i] * b[i] - a[i + 1] * b[i + 1];
        sum[i + 1] = sum[i + 1] + a[i] * b[i + 1] + a[i + 1] * b[i];
    }
}

HALO_REALTIME void fft_multiply_add(float *restrict sum, const float *restrict a,
                                    const float *restrict b, size_t floats)
{
    multiply_add(sum, a, b, floats);
}
#endif

/* ---- tables ---- */

static void fill_turns(real *turns, size_t length)
{
    double re[TURNS], im[TURNS];
    for (size_t j = 0; j < length / FIRST; j++) {
        real *turn = turns + j / LANES * 2 * (FIRST - 1) * LANES + j % LANES;
        fill_powers((double)j / (double)length, re, im);
        for (size_t q = 1; q < FIRST; q++) {
            turn[(2 * q - 2) * LANES] = (real)re[q];
            turn[(2 * q - 1) * LANES] = (real)im[q];
        }
    }
    turns += 2 * (FIRST - 1) * (length / FIRST);
    for (size_t rest = length / FIRST, ways; rest > 1; rest /= ways) {
        ways = ways_of(rest);
        for (size_t j = 0; j < rest / ways; j++) {
            fill_powers((double)j / (double)rest, re, im);
            for (size_t q = 1; q < ways; q++) {
                *turns++ = (real)re[q];
                *turns++ = (real)im[q];
            }
        }
    }
}

static void fill_halves(const struct real_fft *fft)
{
    for (size_t k = 0; k < fft->points / 2 + LANES; k++) {
        double angle = TURN * (double)k / (double)fft->n;
        fft->halves.re[k] = (real)(cos(angle) / 2);
        fft->halves.im[k] = (real)(sin(angle) / 2);
    }
}

/* Fills in the chirp. Its filter is scaled, since the two transforms of a convolution are not. */
static void fill_chirp(struct real_fft *fft)
{
    struct rows filter = fft->work[0], other = fft->work[1];
    for (size_t k = 0; k < fft->points; k++) {
        double angle = TURN * (double)(k * k % fft->n) / (double)fft->n;
        size_t mirror = k > 0 ? fft->length - k : 0;
        fft->chirp.re[k] = (real)cos(angle);
        fft->chirp.im[k] = (real)sin(angle);
        filter.re[k] = filter.re[mirror] = (real)(cos(angle) / (double)fft->length);
        filter.im[k] = filter.im[mirror] = (real)(-sin(angle) / (double)fft->length);
    }
    transform(fft, &filter, &other, NULL);
    memcpy(fft->filter.re, filter.re, fft->length * sizeof(real));
    memcpy(fft->filter.im, filter.im, fft->length * sizeof(real));
}

static bool has_passes(size_t points)
{
    size_t power = points % 3 ? points : points / 3;
    return power >= PASS_LEAST && (power & (power - 1)) == 0;
}

/* The least length of at least `points` that has passes. */
static size_t pass_length(size_t points)
{
    size_t power = PASS_LEAST;
    while (power < points)
        power *= 2;
    size_t less = power / 4 * 3;
    return less >= points && has_passes(less) ? less : power;
}

static size_t row_numbers(const struct real_fft *fft)
{
    return (fft->length + 1 + 2 * PAD + PAD - 1) / PAD * PAD;
}

static struct rows take_rows(const struct real_fft *fft, real **memory)
{
    struct rows rows = {*memory + PAD, *memory + row_numbers(fft) + PAD};
    *memory += 2 * row_numbers(fft);
    return rows;
}

static bool allocate(struct real_fft *fft, bool with_chirp)
{
    size_t pairs = with_chirp ? 5 : 3;
    real *memory = audio_alloc(2 * pairs * row_numbers(fft) + 2 * fft->length + PAD);
    fft->memory = memory;
    if (!memory)
        return false;
    fft->work[0] = take_rows(fft, &memory);
    fft->work[1] = take_rows(fft, &memory);
    fft->halves = take_rows(fft, &memory);
    if (with_chirp) {
        fft->chirp = take_rows(fft, &memory);
        fft->filter = take_rows(fft, &memory);
    }
    fft->turns = memory;
    return true;
}

enum status fft_create(size_t n, struct real_fft **result)
{
    struct real_fft *fft = calloc(1, sizeof *fft);
    if (!fft)
        return fail_memory("a Fourier transform");
    bool with_chirp = !has_passes(n / 2);
    *fft = (struct real_fft){
        .n = n, .points = n / 2, .length = with_chirp ? pass_length(n - 1) : n / 2};
    if (!allocate(fft, with_chirp)) {
        fft_destroy(fft);
        return fail_memory("a Fourier transform");
    }
    fill_turns(fft->turns, fft->length);
    fill_halves(fft);
    if (with_chirp)
        fill_chirp(fft);
    *result = fft;
    return STATUS_OK;
}

void fft_destroy(struct real_fft *fft)
{
    if (!fft)
        return;
    free(fft->memory);
    free(fft);
}

HALO_REALTIME size_t fft_length(const struct real_fft *fft)
{
    return fft->n;
}
