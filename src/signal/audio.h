/* Blocks of sound in memory: planar float32, one pointer per channel, so that a device's own
 * buffers can be used. Full scale is -1..1. Functions and types that end in _in_double are the same
 * for samples in double precision (samples.c). Threads: the caller serialises. */
#ifndef HALO_AUDIO_H
#define HALO_AUDIO_H

#include "base/status.h"
#include "base/workers.h"
#include "signal/channel_layout.h"

#include <stddef.h>
#include <stdint.h>

enum precision { PRECISION_SINGLE, PRECISION_DOUBLE };
extern const char *const precision_names[]; /* "single", "double", NULL */

/* Format of a stream of blocks. The source decides it. */
struct stream_format {
    uint32_t rate; /* Hz */
    size_t channels;
    struct channel_layout layout;
};

/* Changes the number of channels. The layout stays if the number does. */
void stream_format_set_channels(struct stream_format *format, size_t channels);

/* Planar storage of `channels` x `frames` samples; 64-byte aligned channels. */
struct block {
    size_t channels;
    size_t frames;
    float **data;
};

struct block_in_double {
    size_t channels;
    size_t frames;
    double **data;
};

/* `what` names the block in messages. On failure it is empty and safe to free. Errors: memory. */
MUST_CHECK enum status block_init(struct block *block, size_t channels, size_t frames,
                                  const char *what);
MUST_CHECK enum status block_init_in_double(struct block_in_double *block, size_t channels,
                                            size_t frames, const char *what);
/* block_init without zeros: the samples have any values. */
MUST_CHECK enum status block_init_unset(struct block *block, size_t channels, size_t frames,
                                        const char *what);
MUST_CHECK enum status block_init_unset_in_double(struct block_in_double *block, size_t channels,
                                                  size_t frames, const char *what);
void block_free(struct block *block);
void block_free_in_double(struct block_in_double *block);

/* Sets frames [from, from + frames) of every channel to zero. */
void block_silence(struct block *block, size_t from, size_t frames);
void block_silence_in_double(struct block_in_double *block, size_t from, size_t frames);

/* Allocates zeroed, 64-byte aligned samples. NULL: no memory. Release them with free(). */
float *audio_alloc(size_t count);
double *audio_alloc_in_double(size_t count);

/* audio_alloc without zeros, for samples that many threads will fill. */
float *audio_alloc_unset(size_t count);
double *audio_alloc_unset_in_double(size_t count);

/* free() for samples of any size. The kernel takes long to take back the pages of many samples.
 * Workers share that work; NULL: none. */
void audio_free(float *samples, size_t count, struct workers *workers);
void audio_free_in_double(double *samples, size_t count, struct workers *workers);

/* The largest magnitude. NaN or infinity if a sample is. */
float audio_peak(const float *samples, size_t count);
double audio_peak_in_double(const double *samples, size_t count);

/* Whether all samples are zero. Real-time. */
bool audio_is_silent(const float *samples, size_t count);
bool audio_is_silent_in_double(const double *samples, size_t count);

/* Multiplies sample by sample. The three must not overlap. Real-time. */
void audio_multiply(const float *a, const float *b, float *product, size_t count);
void audio_multiply_in_double(const double *a, const double *b, double *product, size_t count);

/* Index of the first NaN or infinity. `count`: there is none. */
size_t audio_find_nonfinite(const float *samples, size_t count);
size_t audio_find_nonfinite_in_double(const double *samples, size_t count);

/* Number of frames for an interleaved buffer that fits the cache; at least 1. */
size_t audio_chunk_frames(size_t channels);

/* Convert between interleaved frames and planar rows. Row c begins at planar[c][at]. */
void audio_interleave(const float *const *planar, size_t at, size_t channels, size_t frames,
                      float *interleaved);
void audio_interleave_in_double(const double *const *planar, size_t at, size_t channels,
                                size_t frames, double *interleaved);
void audio_deinterleave(const float *interleaved, size_t channels, size_t frames,
                        float *const *planar, size_t at);
void audio_deinterleave_in_double(const double *interleaved, size_t channels, size_t frames,
                                  double *const *planar, size_t at);

/* audio_deinterleave from single to double precision. */
void audio_deinterleave_widened(const float *interleaved, size_t channels, size_t frames,
                                double *const *planar, size_t at);

/* Copies `frames` frames of each row to to[c][at] on. Workers share the work; NULL: real-time. */
void audio_copy_rows(float *const *to, size_t at, const float *const *from, size_t rows,
                     size_t frames, struct workers *workers);
void audio_copy_rows_in_double(double *const *to, size_t at, const double *const *from, size_t rows,
                               size_t frames, struct workers *workers);

/* Sets rows[c][0..frames) to zero. Workers share the work; NULL: none. */
void audio_clear_rows(float *const *rows, size_t count, size_t frames, struct workers *workers);
void audio_clear_rows_in_double(double *const *rows, size_t count, size_t frames,
                                struct workers *workers);

/* The greatest common divisor. */
uint64_t audio_common_divisor(uint64_t a, uint64_t b);

double audio_from_db(double db);      /* 20 log10 convention: 6.02 dB -> 2 */
double audio_to_db(double amplitude); /* 0 -> -infinity */

#endif
