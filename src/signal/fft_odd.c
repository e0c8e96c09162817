/* Compiled for each precision. */
#include "signal/fft_odd.h"

/* SIMD lanes. Processors without AVX-512 are slow with vectors of more than 32 bytes. */
#ifdef HALO_DOUBLE
#define LANES 4
#else
#define LANES 8
#endif

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/fft_lanes.h"
#include "signal/real.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* One name for each precision. For clones, clang makes resolvers that the linker sees. */
#define divide REAL(divide)
#define join REAL(join)
#define finish_tiles REAL(finish_tiles)
#define begin_tiles REAL(begin_tiles)
#define multiply_add_few REAL(multiply_add_few)

enum {
    POWERS = 3,
    POINTS = 8,             /* points of a last block */
    TILE = POINTS * POINTS, /* points of the last blocks that are computed at once */
    NEAR = 1 << 12,         /* points of a block that stays in the cache from level to level */
    PLACES = ODD_FFT_PARTS / POINTS, /* bins of a tile's last blocks in a group */
    FEW = 4,                         /* products that are computed at once for a place */
};

/* Powers 1 to 3 of a block's s. A division needs one power less than it has parts. */
struct factor {
    real re[POWERS], im[POWERS];
};

struct real_odd_fft {
    size_t n;
    struct factor *factors; /* level by level, block by block */
    real *turns;            /* [last block] POINTS cosines of its points' angles, then the sines */
    bool is_kept;
    struct real_odd_fft *next; /* next of the transforms that are kept */
};

static pthread_mutex_t keeping = PTHREAD_MUTEX_INITIALIZER;
static struct real_odd_fft *kept_ffts; /* protected by `keeping` */

#ifndef HALO_DOUBLE
static atomic_bool are_kept;

void odd_fft_keep(void)
{
    atomic_store(&are_kept, true);
}

bool odd_ffts_are_kept(void)
{
    return atomic_load(&are_kept);
}
#endif

static void free_fft(struct real_odd_fft *fft)
{
    if (!fft)
        return;
    free(fft->factors);
    free(fft->turns);
    free(fft);
}

/* How many parts a level divides each of `blocks` blocks into: four; the first perhaps 3 or 2. */
HALO_REALTIME static size_t ways_of(const struct real_odd_fft *fft, size_t blocks)
{
    size_t left = fft->n / 2 / POINTS / blocks;
    if (left % 3 == 0)
        return 3;
    while (left > 2)
        left /= 4;
    return left == 2 ? 2 : 4;
}

/* Fills in each block's roots of z^ways = e^(i TURN angle). Its parts' angles replace its own. */
static void divide_angles(double *angles, size_t blocks, size_t ways, struct factor *factors)
{
    for (size_t b = blocks; b-- > 0;) {
        double angle = angles[b] / (double)ways, re[POINTS], im[POINTS];
        fill_powers(angle, re, im);
        for (size_t p = 0; p < POWERS; p++) {
            factors[b].re[p] = (real)re[p + 1];
            factors[b].im[p] = (real)im[p + 1];
        }
        for (size_t q = 0; q < ways; q++)
            angles[b * ways + q] = angle + (double)q / (double)ways;
    }
}

static void fill_tables(struct real_odd_fft *fft, double *angles)
{
    size_t last = fft->n / 2 / POINTS;
    struct factor *factors = fft->factors;
    angles[0] = 0.25;
    for (size_t blocks = 1, ways; blocks < last; blocks *= ways) {
        ways = ways_of(fft, blocks);
        divide_angles(angles, blocks, ways, factors);
        factors += blocks;
    }
    for (size_t b = 0; b < last; b++) {
        double re[POINTS], im[POINTS];
        fill_powers(angles[b] / POINTS, re, im);
        for (size_t j = 0; j < POINTS; j++) {
            fft->turns[2 * b * POINTS + j] = (real)re[j];
            fft->turns[(2 * b + 1) * POINTS + j] = (real)im[j];
        }
    }
}

/* Creates a transform. NULL: no memory. */
static struct real_odd_fft *make(size_t n)
{
    struct real_odd_fft *fft = calloc(1, sizeof *fft);
    double *angles = calloc(n / 2 / POINTS, sizeof *angles);
    if (fft) {
        fft->n = n;
        fft->factors = calloc(n / 2 / POINTS, sizeof *fft->factors);
        fft->turns = audio_alloc_unset(n);
    }
    if (angles && fft && fft->factors && fft->turns) {
        fill_tables(fft, angles);
        free(angles);
        return fft;
    }
    free(angles);
    free_fft(fft);
    return NULL;
}

static void lock_kept(void)
{
    pthread_mutex_lock(&keeping);
}

static void unlock_kept(void)
{
    pthread_mutex_unlock(&keeping);
}

static void survive_forks(void)
{
    (void)pthread_atfork(lock_kept, unlock_kept, unlock_kept);
}

/* Finds a kept transform or creates one, which `keeps` lets stay. NULL: no memory. */
static struct real_odd_fft *find_or_make(size_t n, bool keeps)
{
    struct real_odd_fft *fft = kept_ffts;
    while (fft && fft->n != n)
        fft = fft->next;
    if (fft || !(fft = make(n)) || !keeps)
        return fft;
    fft->is_kept = true;
    fft->next = kept_ffts;
    kept_ffts = fft;
    return fft;
}

static enum status get(size_t n, bool keeps, struct real_odd_fft **result)
{
    lock_kept();
    *result = find_or_make(n, keeps);
    unlock_kept();
    return *result ? STATUS_OK : fail_memory("a Fourier transform");
}

enum status odd_fft_create(size_t n, struct real_odd_fft **result)
{
    return get(n, odd_ffts_are_kept(), result);
}

enum status odd_fft_find(size_t n, struct real_odd_fft **result)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, survive_forks);
    return get(n, true, result);
}

HALO_REALTIME size_t odd_fft_size(const struct real_odd_fft *fft)
{
    return fft->n;
}

void odd_fft_destroy(struct real_odd_fft *fft)
{
    if (fft && !fft->is_kept)
        free_fft(fft);
}

/* z = (re + i im) e^(i angle) */
HALO_REALTIME static inline __attribute__((always_inline)) void
turn(struct lane_points *z, const lanes *re, const lanes *im, const real *cosine, const real *sine)
{
    z->re = *re * *cosine - *im * *sine;
    z->im = *re * *sine + *im * *cosine;
}

/* re + i im = z e^(-i angle) */
HALO_REALTIME static inline __attribute__((always_inline)) void
turn_back(lanes *re, lanes *im, const struct lane_points *z, const real *cosine, const real *sine)
{
    *re = z->re * *cosine + z->im * *sine;
    *im = z->im * *cosine - z->re * *sine;
}

/* Blocks [first, end) of a level. A row holds `length` points of each block. */
struct level {
    size_t n;
    size_t ways;
    size_t first, end;
    size_t length; /* points of a part */
    const struct factor *factors;
};

/* take_points loads LANES points of each part of a block and turns them by the block's factors.
 * put_points turns them back and stores them. */
HALO_REALTIME static inline __attribute__((always_inline)) void
take_points(const real *re, const real *im, size_t ways, size_t length, const struct factor *s,
            struct lane_points y[4])
{
    y[0] = (struct lane_points){*(const lanes *)re, *(const lanes *)im};
    for (size_t p = 1; p < ways; p++)
        turn(&y[p], (const lanes *)(re + p * length), (const lanes *)(im + p * length),
             &s->re[p - 1], &s->im[p - 1]);
}

HALO_REALTIME static inline __attribute__((always_inline)) void
put_points(real *re, real *im, size_t ways, size_t length, const struct factor *s,
           const struct lane_points y[4])
{
    *(lanes *)re = y[0].re;
    *(lanes *)im = y[0].im;
    for (size_t p = 1; p < ways; p++)
        turn_back((lanes *)(re + p * length), (lanes *)(im + p * length), &y[p], &s->re[p - 1],
                  &s->im[p - 1]);
}

/* `ways` is a constant. `from` and `to` may be the same. */
HALO_REALTIME static inline __attribute__((always_inline)) void
divide_blocks(const struct level *level, size_t ways, const real *from, real *to)
{
    size_t length = level->length, half = level->n / 2;
    for (size_t b = level->first; b < level->end; b++)
        for (size_t at = ways * length * b; at < (ways * b + 1) * length; at += LANES) {
            struct lane_points y[4] = {0};
            take_points(from + at, from + half + at, ways, length, &level->factors[b], y);
            add_points(y, ways, false);
            for (size_t q = 0; q < ways; q++) {
                *(lanes *)(to + at + q * length) = y[q].re;
                *(lanes *)(to + half + at + q * length) = y[q].im;
            }
        }
}

HALO_REALTIME static inline __attribute__((always_inline)) void
join_blocks(const struct level *level, size_t ways, real *samples)
{
    size_t length = level->length, half = level->n / 2;
    for (size_t b = level->first; b < level->end; b++)
        for (size_t at = ways * length * b; at < (ways * b + 1) * length; at += LANES) {
            real *re = samples + at, *im = re + half;
            struct lane_points y[4] = {0};
            for (size_t q = 0; q < ways; q++)
                y[q] =
                    (struct lane_points){*(lanes *)(re + q * length), *(lanes *)(im + q * length)};
            add_points(y, ways, true);
            put_points(re, im, ways, length, &level->factors[b], y);
        }
}

SIMD_CLONES
HALO_REALTIME static void divide(const struct level *level, const real *from, real *to)
{
    if (level->ways == 2)
        divide_blocks(level, 2, from, to);
    else if (level->ways == 3)
        divide_blocks(level, 3, from, to);
    else
        divide_blocks(level, 4, from, to);
}

SIMD_CLONES
HALO_REALTIME static void join(const struct level *level, real *samples)
{
    if (level->ways == 2)
        join_blocks(level, 2, samples);
    else if (level->ways == 3)
        join_blocks(level, 3, samples);
    else
        join_blocks(level, 4, samples);
}

/* Place of bin k of a tile's last blocks. Imaginary parts are ODD_FFT_PARTS numbers later. */
HALO_REALTIME static inline size_t place_of(size_t k)
{
    return k / PLACES * 2 * ODD_FFT_PARTS + k % PLACES * POINTS;
}

/* Turns points j, j + 1, ... of LANES last blocks, the first of which begins at `at`. */
HALO_REALTIME static inline __attribute__((always_inline)) void
take_tile(const struct real_odd_fft *fft, const real *samples, size_t at, lanes re[LANES],
          lanes im[LANES], size_t j)
{
    for (size_t k = 0; k < LANES; k++) {
        size_t block = at + k * POINTS;
        const lanes *x = (const lanes *)(samples + block + j);
        const lanes *y = (const lanes *)(samples + fft->n / 2 + block + j);
        const lanes *cosine = (const lanes *)(fft->turns + 2 * block + j);
        const lanes *sine = (const lanes *)(fft->turns + 2 * block + POINTS + j);
        re[k] = *x * *cosine - *y * *sine;
        im[k] = *x * *sine + *y * *cosine;
    }
    transpose(re);
    transpose(im);
}

HALO_REALTIME static inline __attribute__((always_inline)) void
put_tile(const struct real_odd_fft *fft, real *samples, size_t at, lanes re[LANES], lanes im[LANES],
         size_t j)
{
    transpose(re);
    transpose(im);
    for (size_t k = 0; k < LANES; k++) {
        size_t block = at + k * POINTS;
        const lanes *cosine = (const lanes *)(fft->turns + 2 * block + j);
        const lanes *sine = (const lanes *)(fft->turns + 2 * block + POINTS + j);
        *(lanes *)(samples + block + j) = re[k] * *cosine + im[k] * *sine;
        *(lanes *)(samples + fft->n / 2 + block + j) = im[k] * *cosine - re[k] * *sine;
    }
}

/* Computes the last blocks, LANES at once: points [from, end). */
SIMD_CLONES
HALO_REALTIME static void finish_tiles(const struct real_odd_fft *fft, size_t from, size_t end,
                                       const real *samples, real *spectrum)
{
    for (size_t at = from; at < end; at += LANES * POINTS) {
        lanes re[POINTS], im[POINTS];
        real *bins = spectrum + 2 * (at / TILE * TILE) + at % TILE / POINTS;
        for (size_t j = 0; j < POINTS; j += LANES)
            take_tile(fft, samples, at, re + j, im + j, j);
        transform_eight(re, im);
        for (size_t k = 0; k < POINTS; k++) {
            *(lanes *)(bins + place_of(k)) = re[k];
            *(lanes *)(bins + place_of(k) + ODD_FFT_PARTS) = im[k];
        }
    }
}

/* Begins the inverse. The conjugates of the bins, the transform's other half, add as much again. */
SIMD_CLONES
HALO_REALTIME static void begin_tiles(const struct real_odd_fft *fft, size_t from, size_t end,
                                      const real *spectrum, real *samples)
{
    for (size_t at = from; at < end; at += LANES * POINTS) {
        lanes re[POINTS], im[POINTS];
        const real *bins = spectrum + 2 * (at / TILE * TILE) + at % TILE / POINTS;
        for (size_t k = 0; k < POINTS; k++) {
            re[k] = 2 * *(const lanes *)(bins + place_of(k));
            im[k] = 2 * *(const lanes *)(bins + place_of(k) + ODD_FFT_PARTS);
        }
        transform_eight(im, re);
        for (size_t j = 0; j < POINTS; j += LANES)
            put_tile(fft, samples, at, re + j, im + j, j);
    }
}

/* Blocks [first, end) of a level of `blocks` blocks, and all later levels of these. */
struct block_range {
    size_t blocks, first, end;
    const struct factor *factors; /* factors of the level */
};

HALO_REALTIME static struct level level_of(const struct real_odd_fft *fft,
                                           const struct block_range *part)
{
    size_t ways = ways_of(fft, part->blocks);
    return (struct level){.n = fft->n,
                          .ways = ways,
                          .first = part->first,
                          .end = part->end,
                          .length = fft->n / 2 / part->blocks / ways,
                          .factors = part->factors};
}

HALO_REALTIME static struct block_range parts_of(const struct block_range *part, size_t ways)
{
    return (struct block_range){part->blocks * ways, part->first * ways, part->end * ways,
                                part->factors + part->blocks};
}

HALO_REALTIME static bool is_last(const struct real_odd_fft *fft, const struct block_range *part)
{
    return part->blocks == fft->n / 2 / POINTS;
}

/* Transforms forward. Blocks that exceed the cache are divided to the end one by one, smaller ones
 * level by level. `from` may be the scratch. */
HALO_REALTIME static void forward(const struct real_odd_fft *fft, const struct block_range *part,
                                  const real *from, real *scratch, real *spectrum)
{
    if (is_last(fft, part)) {
        finish_tiles(fft, part->first * POINTS, part->end * POINTS, scratch, spectrum);
        return;
    }
    struct level level = level_of(fft, part);
    struct block_range parts = parts_of(part, level.ways);
    divide(&level, from, scratch);
    size_t step = level.length > NEAR ? 1 : parts.end - parts.first;
    for (struct block_range some = parts; some.first < parts.end; some.first += step) {
        some.end = some.first + step;
        forward(fft, &some, scratch, scratch, spectrum);
    }
}

HALO_REALTIME static void inverse(const struct real_odd_fft *fft, const struct block_range *part,
                                  const real *spectrum, real *samples)
{
    if (is_last(fft, part)) {
        begin_tiles(fft, part->first * POINTS, part->end * POINTS, spectrum, samples);
        return;
    }
    struct level level = level_of(fft, part);
    struct block_range parts = parts_of(part, level.ways);
    size_t step = level.length > NEAR ? 1 : parts.end - parts.first;
    for (struct block_range some = parts; some.first < parts.end; some.first += step) {
        some.end = some.first + step;
        inverse(fft, &some, spectrum, samples);
    }
    join(&level, samples);
}

HALO_REALTIME void odd_fft_forward(const struct real_odd_fft *fft, const real *samples,
                                   size_t count, real *scratch, real *spectrum)
{
    const struct block_range whole = {1, 0, 1, fft->factors};
    size_t n = fft->n;
    if (count < n) {
        memcpy(scratch, samples, count * sizeof *scratch);
        memset(scratch + count, 0, (n - count) * sizeof *scratch);
        samples = scratch;
    }
    forward(fft, &whole, samples, scratch, spectrum);
    memset(spectrum + n, 0, (fft_spectrum_floats(n) - n) * sizeof *spectrum);
}

HALO_REALTIME void odd_fft_inverse(const struct real_odd_fft *fft, const real *spectrum,
                                   real *scratch, size_t from, size_t frames, real *samples)
{
    const struct block_range whole = {1, 0, 1, fft->factors};
    inverse(fft, &whole, spectrum, scratch);
    memcpy(samples, scratch + from, frames * sizeof *samples);
}

/* The real or imaginary parts of ODD_FFT_PARTS bins. */
typedef real parts __attribute__((vector_size(ODD_FFT_PARTS * sizeof(real)), aligned(64)));

/* Adds the products, then the sum, so that the sum's rounding error, the largest, occurs once. */
HALO_REALTIME static inline __attribute__((always_inline)) void
add_products(real *sum, const real *const *a, const real *const *b, size_t count, size_t at)
{
    parts re = {0}, im = {0};
    parts *sums = (parts *)(sum + at);
    for (size_t p = 0; p < count; p++) {
        const parts *x = (const parts *)(a[p] + at), *y = (const parts *)(b[p] + at);
        re += x[0] * y[0] - x[1] * y[1];
        im += x[0] * y[1] + x[1] * y[0];
    }
    sums[0] += re;
    sums[1] += im;
}

/* `count` is a constant, so that the products of a place are unrolled. */
HALO_REALTIME static inline __attribute__((always_inline)) void
add_places(real *sum, const real *const *a, const real *const *b, size_t count, size_t floats)
{
    for (size_t i = 0; i < floats; i += 2 * ODD_FFT_PARTS)
        add_products(sum, a, b, count, i);
}

SIMD_CLONES
HALO_REALTIME static void multiply_add_few(real *sum, const real *const *a, const real *const *b,
                                           size_t count, size_t floats)
{
    switch (count) {
    case 1:
        add_places(sum, a, b, 1, floats);
        break;
    case 2:
        add_places(sum, a, b, 2, floats);
        break;
    case 3:
        add_places(sum, a, b, 3, floats);
        break;
    default:
        add_places(sum, a, b, FEW, floats);
    }
}

HALO_REALTIME void odd_fft_multiply_add(real *sum, const real *const *a, const real *const *b,
                                        size_t count, size_t floats)
{
    for (size_t few; count > 0; count -= few, a += few, b += few) {
        few = count < FEW ? count : FEW;
        multiply_add_few(sum, a, b, few, floats);
    }
}
