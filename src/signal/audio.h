/* Blocks of sound in memory: planar float32, channel after channel.
 *
 * Full scale is -1..1. A block's channels are separate pointers, so that a
 * device's own buffers can stand in for ours.
 * Threads: none of these calls is shared between threads by itself.
 */
#ifndef HALO_AUDIO_H
#define HALO_AUDIO_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

/* What a stream of blocks consists of. Decided by the source. */
struct stream_format {
    uint32_t rate; /* frames a second */
    size_t channels;
};

/* Planar storage of `channels` x `frames` samples; 64-byte aligned channels. */
struct block {
    size_t channels;
    size_t frames;
    float **data;
};

/* Errors: memory, named by `what`. On failure `block` is empty and safe to free. */
MUST_CHECK enum status block_init(struct block *block, size_t channels, size_t frames,
                                  const char *what);
void block_free(struct block *block);

/* Frames [from, from + frames) of every channel become silence. */
void block_silence(struct block *block, size_t from, size_t frames);

/* Zeroed, 64-byte aligned floats, or NULL; free() releases them. */
float *audio_alloc(size_t count);

/* The largest magnitude of `samples`; NaN or infinite where one of them is. */
float audio_peak(const float *samples, size_t count);

/* Index of the first NaN or infinity in `samples`, or `count` if there is none. */
size_t audio_find_nonfinite(const float *samples, size_t count);

/* Between frames of `channels` samples in a row and a row for each channel, from
 * planar[c][at] on. */
void audio_interleave(const float *const *planar, size_t at, size_t channels, size_t frames,
                      float *interleaved);
void audio_deinterleave(const float *interleaved, size_t channels, size_t frames,
                        float *const *planar, size_t at);

/* Float samples to integers: rounded, saturated, and where bits are lost dithered.
 *
 * Dither is triangular (TPDF) of two steps' width, from a hash of the sample's
 * position, so that the same sound always gives the same bytes whatever the
 * block length. A sample the integer format holds exactly loses no bit and gets
 * no dither: silence stays silence, an untouched file stays untouched.
 * Source: Lipshitz, Wannamaker and Vanderkooy, "Quantization and Dither", JAES 1992.
 *
 * Interleave `frames` frames, from planar[c][at] on, into left-justified 32-bit integers of `bits`
 * significant bits (8..32). `position`: of the first sample in the whole sound,
 * in samples of all channels. Returns how many samples were out of range. */
uint64_t quantise_interleave(const float *const *planar, size_t at, size_t channels, size_t frames,
                             unsigned bits, bool dither, uint64_t position, int32_t *out);

/* The largest number that divides both. */
uint64_t audio_common_divisor(uint64_t a, uint64_t b);

double audio_from_db(double db);      /* 20 log10 convention: 6.02 dB -> 2 */
double audio_to_db(double amplitude); /* 0 -> -infinity */

/* Bytes of memory this machine could give us; refuse what could never fit
 * before touching it, since Linux itself only notices when it is too late. */
uint64_t audio_memory_limit(void);

#endif
