/* Writes, reads and compares small sound files. All names are in command_folder(); errors fail
 * the test. Sounds are freed when the test ends. */
#ifndef HALO_TESTS_SOUND_H
#define HALO_TESTS_SOUND_H

#include "mask/mask.h"
#include "signal/audio.h"

#include <sndfile.h>

struct sound {
    struct block block;
    uint32_t rate;
    int format; /* libsndfile's */
};

/* Silence in memory, for the caller to fill. */
struct sound sound_create(int format, uint32_t rate, size_t channels, size_t frames);

void sound_save(const struct sound *sound, const char *name);
struct sound sound_load(const char *name);

/* A file of noise at half of full scale. Returns the sound as the file holds it: rounded, and
 * altered by lossy formats. */
struct sound sound_noise(const char *name, uint64_t seed, int format, uint32_t rate,
                         size_t channels, size_t frames);

/* The same without returning the sound. */
void sound_noise_file(const char *name, uint64_t seed, int format, uint32_t rate, size_t channels,
                      size_t frames);

/* A 16-bit WAV of silence of any length, as a sparse file. */
void sound_sparse(const char *name, uint32_t rate, size_t channels, uint64_t frames);

/* Text masks: noise with one column per channel; or the given taps of one channel. */
struct sound sound_noise_mask(const char *name, uint64_t seed, size_t channels, size_t taps);
void sound_text(const char *name, const char *text);

/* A mask of these columns and paths; without paths: one column for every channel, or channel by
 * channel. */
struct mask *sound_mask(const struct sound *columns, const struct mask_path *paths, size_t count,
                        size_t channels);

/* Container and sample format; WAV with the extensible header counts as WAV. */
int sound_format_of(const struct sound *sound);

void sound_expect_format(const struct sound *sound, int format, uint32_t rate, size_t channels,
                         size_t frames);
void sound_expect_same(const struct sound *a, const struct sound *b);

/* `out` equals `mask` applied to `in`, from frame `first` on, within the error bound for single
 * precision. */
void sound_expect_truth(const struct sound *out, const struct mask *mask, const struct block *in,
                        size_t first);

/* All of the above for one mask on one sound, by file names. */
void sound_expect_filtered(const char *out, const char *in, const char *mask);

/* The file holds the responses of two cables: each output to its input, and silence between. */
void sound_expect_cables(const char *name);

/* Integrated loudness in LUFS by libebur128's own gate; and as measured by ffmpeg. */
double sound_libebur128_loudness(const struct sound *sound);
double sound_ffmpeg_loudness(const char *name);

#endif
