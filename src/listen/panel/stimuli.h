/* The sounds that a listening test plays: each sound as each choice, rendered, aligned and equally
 * loud.
 *
 * All have one rate, the highest of the sounds', and one number of channels, that of the widest;
 * mono plays on both channels of stereo. The versions of a sound have the same length, and fade in
 * and out by STIMULI_FADE seconds, so that a loop does not click. No sample exceeds full scale.
 * Threads: one. Not real-time. */
#ifndef HALO_STIMULI_H
#define HALO_STIMULI_H

#include "listen/panel/test_file.h"

#include <stdint.h>

#define STIMULI_FADE 0.005

struct stimuli {
    const struct listening_test *test;
    const char *folder; /* It holds the rendered files. Not owned. */
    uint32_t rate;
    size_t channels;
    json_t *files; /* digests of all files that were read, by their paths; the caller's */
};

/* Renders all into the folder. Shows progress on a terminal unless `quiet`. Errors: those of
 * reading and rendering, a signal. */
MUST_CHECK enum status stimuli_render(const struct listening_test *test, const char *folder,
                                      bool quiet, struct stimuli *stimuli);

/* All versions of a sound. */
struct stimulus {
    size_t frames;
    float *samples[TEST_CHOICES_MOST]; /* interleaved */
    struct level_match matches[TEST_CHOICES_MOST];
};

/* Reads and matches the versions of a sound. Call stimulus_free in any case. Errors: those of
 * reading and matching, memory. */
MUST_CHECK enum status stimulus_make(const struct stimuli *stimuli, size_t sound,
                                     struct stimulus *stimulus);
void stimulus_free(struct stimulus *stimulus);

#endif
