/* Small sound files for the tests: made, read and compared. All names are in
 * command_folder(); what cannot be read or written fails the test. */
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

/* Silence, in memory; the caller fills it. */
struct sound sound_create(int format, uint32_t rate, size_t channels, size_t frames);
void sound_free(struct sound *sound);

void sound_save(const struct sound *sound, const char *name);
struct sound sound_load(const char *name);

/* A file of noise at half of full scale, as the file holds it: rounded, and
 * where the format is lossy, changed. */
struct sound sound_noise(const char *name, uint64_t seed, int format, uint32_t rate,
                         size_t channels, size_t frames);

/* The same without the sound in memory. */
void sound_noise_file(const char *name, uint64_t seed, int format, uint32_t rate, size_t channels,
                      size_t frames);

/* A 16-bit WAV of silence that takes no disk, however long. */
void sound_sparse(const char *name, uint32_t rate, size_t channels, uint64_t frames);

/* Text masks: noise, a column a channel; and given taps of one channel. */
struct sound sound_noise_mask(const char *name, uint64_t seed, size_t channels, size_t taps);
void sound_text(const char *name, const char *text);

/* A mask of these columns and paths; of no paths: one column for every channel,
 * or channel by channel. */
struct mask *sound_mask(const struct sound *columns, const struct mask_path *paths, size_t count,
                        size_t channels);

/* Container and samples; a WAV with the extensible header is a WAV. */
int sound_format_of(const struct sound *sound);

void sound_expect_format(const struct sound *sound, int format, uint32_t rate, size_t channels,
                         size_t frames);
void sound_expect_same(const struct sound *a, const struct sound *b);

/* `out` is what `mask` makes of `in`, frame `first` and the following, within
 * the bound of the design's first invariant. */
void sound_expect_truth(const struct sound *out, const struct mask *mask, const struct block *in,
                        size_t first);

/* All of that for one mask on one sound in its simplest form: named files. */
void sound_expect_filtered(const char *out, const char *in, const char *mask);

#endif
