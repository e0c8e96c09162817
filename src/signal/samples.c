/* Blocks of samples and their conversion. Compiled for each precision. */
#include "signal/real.h"

#include "base/realtime.h"
#include "base/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* One name for each precision. For clones, clang makes resolvers that the linker sees. */
#define highest_bits REAL(highest_bits)
#define multiply_rows REAL(multiply_rows)
#define interleave_two REAL(interleave_two)
#define deinterleave_two REAL(deinterleave_two)
#define interleave_squares REAL(interleave_squares)
#define deinterleave_squares REAL(deinterleave_squares)

enum {
    ALIGNMENT = 64,
    SMALL_PAGE = 1 << 12,
    HUGE_PAGE = 1 << 21,
    HUGE_MOST = 2 * HUGE_PAGE,
    SIDE = 4,               /* rows and columns of squares that are transposed in registers */
    COPY_FRAMES = 1 << 16,  /* frames that a worker copies at a time */
    FREED = 1 << 22,        /* bytes that a worker gives back at a time */
    FREED_SHARED = 1 << 26, /* bytes from which workers share; malloc maps so many separately */
};

static const double NS_CLEARED = 0.5; /* ns for a sample, most of it for a new page */

typedef real square_row __attribute__((vector_size(SIDE * sizeof(real))));

#ifdef HALO_DOUBLE
#define real_bits uint64_t
#else
#define real_bits uint32_t
#endif

/* How many of `bytes` should be in huge pages. In a job of milliseconds, small pages would take the
 * kernel longer than all else. A last page that is three quarters full counts as full. Large
 * buffers get none: few huge pages can be recycled, and a virtual machine has to provide others. */
static size_t huge_bytes(size_t bytes)
{
    bool pays = bytes <= HUGE_MOST && sysconf(_SC_PAGESIZE) == SMALL_PAGE;
    return pays ? (bytes + HUGE_PAGE / 4) / HUGE_PAGE * HUGE_PAGE : 0;
}

real *audio_alloc_unset(size_t count)
{
    if (count > (PTRDIFF_MAX - HUGE_PAGE) / sizeof(real))
        return NULL;
    size_t lines = count * sizeof(real) / ALIGNMENT + 1, bytes = lines * ALIGNMENT;
    size_t huge = huge_bytes(bytes);
    if (huge == 0)
        return aligned_alloc(ALIGNMENT, bytes);
    void *samples; /* posix_memalign: aligned_alloc takes only multiples of the alignment */
    if (posix_memalign(&samples, HUGE_PAGE, huge > bytes ? huge : bytes) != 0)
        return NULL;
    (void)madvise(samples, huge, MADV_HUGEPAGE); /* huge pages may be switched off */
    return samples;
}

real *audio_alloc(size_t count)
{
    real *samples = audio_alloc_unset(count);
    if (samples)
        memset(samples, 0, count * sizeof *samples);
    return samples;
}

/* Gives back only whole pages, since a neighbour may use the rest. */
struct free_job {
    char *first;
    size_t bytes;
};

static void free_piece(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct free_job *job = context;
    size_t begin = piece * FREED, left = job->bytes - begin;
    (void)madvise(job->first + begin, left < FREED ? left : FREED, MADV_DONTNEED);
}

void audio_free(real *samples, size_t count, struct workers *workers)
{
    size_t bytes = count * sizeof *samples, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t skipped = -(uintptr_t)samples % page;
    if (samples && workers_count(workers) > 1 && bytes >= FREED_SHARED) {
        struct free_job job = {(char *)samples + skipped, (bytes - skipped) / page * page};
        workers_run(workers, (job.bytes + FREED - 1) / FREED, free_piece, &job);
    }
    free(samples);
}

static enum status init_by(real *(*alloc)(size_t), struct real_block *block, size_t channels,
                           size_t frames, const char *what)
{
    *block = (struct real_block){.channels = channels, .frames = frames};
    block->data = calloc(channels ? channels : 1, sizeof *block->data);
    if (!block->data)
        goto fail;
    for (size_t c = 0; c < channels; c++) {
        block->data[c] = alloc(frames);
        if (!block->data[c])
            goto fail;
    }
    return STATUS_OK;
fail:
    block_free(block);
    return fail_memory(what);
}

enum status block_init(struct real_block *block, size_t channels, size_t frames, const char *what)
{
    return init_by(audio_alloc, block, channels, frames, what);
}

enum status block_init_unset(struct real_block *block, size_t channels, size_t frames,
                             const char *what)
{
    return init_by(audio_alloc_unset, block, channels, frames, what);
}

void block_free(struct real_block *block)
{
    if (block->data)
        for (size_t c = 0; c < block->channels; c++)
            free(block->data[c]);
    free(block->data);
    *block = (struct real_block){0};
}

struct copy_job {
    real *const *to;
    const real *const *from;
    size_t at, frames, pieces; /* pieces: per row */
};

HALO_REALTIME static void copy_piece(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct copy_job *job = context;
    size_t row = piece / job->pieces, number = piece % job->pieces;
    size_t begin = number * COPY_FRAMES, left = job->frames - begin;
    size_t frames = left < COPY_FRAMES ? left : COPY_FRAMES;
    memcpy(job->to[row] + job->at + begin, job->from[row] + begin, frames * sizeof(real));
}

HALO_REALTIME void audio_copy_rows(real *const *to, size_t at, const real *const *from, size_t rows,
                                   size_t frames, struct workers *workers)
{
    struct copy_job job = {to, from, at, frames, (frames + COPY_FRAMES - 1) / COPY_FRAMES};
    workers_run(workers, rows * job.pieces, copy_piece, &job);
}

static void clear_piece(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct copy_job *job = context;
    size_t begin = piece % job->pieces * COPY_FRAMES, left = job->frames - begin;
    size_t frames = left < COPY_FRAMES ? left : COPY_FRAMES;
    memset(job->to[piece / job->pieces] + begin, 0, frames * sizeof(real));
}

void audio_clear_rows(real *const *rows, size_t count, size_t frames, struct workers *workers)
{
    struct copy_job job = {
        .to = rows, .frames = frames, .pieces = (frames + COPY_FRAMES - 1) / COPY_FRAMES};
    workers = workers_worth(workers, NS_CLEARED * (double)count * (double)frames);
    workers_run(workers, count * job.pieces, clear_piece, &job);
}

HALO_REALTIME void block_silence(struct real_block *block, size_t from, size_t frames)
{
    for (size_t c = 0; c < block->channels; c++)
        memset(block->data[c] + from, 0, frames * sizeof(real));
}

/* Without the sign bit, floats compare like integers; infinity and NaN are the largest. */
SIMD_CLONES
HALO_REALTIME static real_bits highest_bits(const real *samples, size_t count)
{
    real_bits highest = 0;
    for (size_t i = 0; i < count; i++) {
        real_bits bits;
        memcpy(&bits, &samples[i], sizeof bits);
        bits &= (real_bits)-1 >> 1;
        highest = bits > highest ? bits : highest;
    }
    return highest;
}

HALO_REALTIME real audio_peak(const real *samples, size_t count)
{
    real_bits bits = highest_bits(samples, count);
    real peak;
    memcpy(&peak, &bits, sizeof peak);
    return peak;
}

HALO_REALTIME bool audio_is_silent(const real *samples, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (samples[i] != 0)
            return false;
    return true;
}

/* Static, since clang 14 gives the clones of a global function other names than its callers use. */
SIMD_CLONES
HALO_REALTIME static void multiply_rows(const real *restrict a, const real *restrict b,
                                        real *restrict product, size_t count)
{
    for (size_t i = 0; i < count; i++)
        product[i] = a[i] * b[i];
}

HALO_REALTIME void audio_multiply(const real *restrict a, const real *restrict b,
                                  real *restrict product, size_t count)
{
    multiply_rows(a, b, product, count);
}

HALO_REALTIME size_t audio_find_nonfinite(const real *samples, size_t count)
{
    if (isfinite(audio_peak(samples, count)))
        return count;
    size_t i = 0;
    while (isfinite(samples[i]))
        i++;
    return i;
}

/* For two channels, since two known rows vectorise. */
SIMD_CLONES
HALO_REALTIME static void interleave_two(const real *restrict left, const real *restrict right,
                                         size_t frames, real *restrict interleaved)
{
    for (size_t i = 0; i < frames; i++) {
        interleaved[2 * i] = left[i];
        interleaved[2 * i + 1] = right[i];
    }
}

SIMD_CLONES
static void deinterleave_two(const real *restrict interleaved, size_t frames, real *restrict left,
                             real *restrict right)
{
    for (size_t i = 0; i < frames; i++) {
        left[i] = interleaved[2 * i];
        right[i] = interleaved[2 * i + 1];
    }
}

/* Makes rows of columns. */
HALO_REALTIME static inline void transpose(square_row row[SIDE])
{
    square_row a = __builtin_shufflevector(row[0], row[2], 0, 4, 1, 5);
    square_row b = __builtin_shufflevector(row[0], row[2], 2, 6, 3, 7);
    square_row c = __builtin_shufflevector(row[1], row[3], 0, 4, 1, 5);
    square_row d = __builtin_shufflevector(row[1], row[3], 2, 6, 3, 7);
    row[0] = __builtin_shufflevector(a, c, 0, 4, 1, 5);
    row[1] = __builtin_shufflevector(a, c, 2, 6, 3, 7);
    row[2] = __builtin_shufflevector(b, d, 0, 4, 1, 5);
    row[3] = __builtin_shufflevector(b, d, 2, 6, 3, 7);
}

/* Interleaves whole squares. `rows` and `frames` are multiples of SIDE. */
SIMD_CLONES
HALO_REALTIME static void interleave_squares(const real *const *planar, size_t at, size_t rows,
                                             size_t channels, size_t frames, real *interleaved)
{
    for (size_t c = 0; c < rows; c += SIDE)
        for (size_t i = 0; i < frames; i += SIDE) {
            square_row row[SIDE];
            for (size_t k = 0; k < SIDE; k++)
                memcpy(&row[k], planar[c + k] + at + i, sizeof row[k]);
            transpose(row);
            for (size_t k = 0; k < SIDE; k++)
                memcpy(interleaved + (i + k) * channels + c, &row[k], sizeof row[k]);
        }
}

/* Loads SIDE frames of SIDE channels as a row for each channel. */
static inline void take_square(const real *interleaved, size_t channels, square_row row[SIDE])
{
    for (size_t k = 0; k < SIDE; k++)
        memcpy(&row[k], interleaved + k * channels, sizeof row[k]);
    transpose(row);
}

SIMD_CLONES
static void deinterleave_squares(const real *interleaved, size_t channels, size_t frames,
                                 real *const *planar, size_t rows, size_t at)
{
    for (size_t c = 0; c < rows; c += SIDE)
        for (size_t i = 0; i < frames; i += SIDE) {
            square_row row[SIDE];
            take_square(interleaved + i * channels + c, channels, row);
            for (size_t k = 0; k < SIDE; k++)
                memcpy(planar[c + k] + at + i, &row[k], sizeof row[k]);
        }
}

HALO_REALTIME void audio_interleave(const real *const *planar, size_t at, size_t channels,
                                    size_t frames, real *interleaved)
{
    if (channels == 1) {
        memcpy(interleaved, planar[0] + at, frames * sizeof *interleaved);
        return;
    }
    if (channels == 2) {
        interleave_two(planar[0] + at, planar[1] + at, frames, interleaved);
        return;
    }
    size_t squares = channels / SIDE * SIDE, whole = frames / SIDE * SIDE;
    interleave_squares(planar, at, squares, channels, whole, interleaved);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = c < squares ? whole : 0; i < frames; i++)
            interleaved[i * channels + c] = planar[c][at + i];
}

static void deinterleave_many(const real *interleaved, size_t channels, size_t frames,
                              real *const *planar, size_t at)
{
    size_t squares = channels / SIDE * SIDE, whole = frames / SIDE * SIDE;
    deinterleave_squares(interleaved, channels, whole, planar, squares, at);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = c < squares ? whole : 0; i < frames; i++)
            planar[c][at + i] = interleaved[i * channels + c];
}

void audio_deinterleave(const real *interleaved, size_t channels, size_t frames,
                        real *const *planar, size_t at)
{
    if (channels == 1)
        memcpy(planar[0] + at, interleaved, frames * sizeof *interleaved);
    else if (channels == 2)
        deinterleave_two(interleaved, frames, planar[0] + at, planar[1] + at);
    else
        deinterleave_many(interleaved, channels, frames, planar, at);
}

#ifndef HALO_DOUBLE
SIMD_CLONES
static void widen_squares(const float *interleaved, size_t channels, size_t frames,
                          double *const *planar, size_t rows, size_t at)
{
    typedef double wide_row __attribute__((vector_size(SIDE * sizeof(double))));
    for (size_t c = 0; c < rows; c += SIDE)
        for (size_t i = 0; i < frames; i += SIDE) {
            square_row row[SIDE];
            take_square(interleaved + i * channels + c, channels, row);
            for (size_t k = 0; k < SIDE; k++) {
                wide_row wide = __builtin_convertvector(row[k], wide_row);
                memcpy(planar[c + k] + at + i, &wide, sizeof wide);
            }
        }
}

/* Works in strips: frames of many channels are far apart and share few cache lines. */
void audio_deinterleave_widened(const float *interleaved, size_t channels, size_t frames,
                                double *const *planar, size_t at)
{
    enum { STRIP = 32 };
    size_t squares = channels / SIDE * SIDE, whole = frames / SIDE * SIDE;
    for (size_t i = 0; i < whole; i += STRIP)
        widen_squares(interleaved + i * channels, channels, whole - i < STRIP ? whole - i : STRIP,
                      planar, squares, at + i);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = c < squares ? whole : 0; i < frames; i++)
            planar[c][at + i] = (double)interleaved[i * channels + c];
}
#endif
