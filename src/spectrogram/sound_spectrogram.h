/* The spectrogram of a sound, in constant memory.
 *
 * Windows are a hop apart, the first centred half a hop after the start. If there are more hops
 * than columns, a column is 2, 4, 8 ... of them, with the largest power of each row, so that clicks
 * stay visible. The power is the mean over the channels. Threads: one. Not real-time.
 */
#ifndef HALO_SOUND_SPECTROGRAM_H
#define HALO_SOUND_SPECTROGRAM_H

#include "signal/window.h"
#include "sound/port.h"
#include "spectrogram/spectrogram.h"

struct sound_spectrogram_settings {
    double from, to; /* seconds; to 0: the end */
    size_t channel;  /* counted from 1; 0: all */
    enum window window;
    size_t size, hop;    /* frames; the hop is no longer than the size */
    size_t columns_most; /* at least 2; at least half are used if there are enough hops */
    struct spectrogram_axis axis;
};

/* *frames: the frames of the sound shown. Errors: reading, NaN or infinity in the sound, no such
 * channel, an empty range (usage), an empty sound, a signal, memory. */
MUST_CHECK enum status sound_spectrogram_init(struct source *source,
                                              const struct sound_spectrogram_settings *settings,
                                              struct spectrogram *picture, uint64_t *frames);

#endif
