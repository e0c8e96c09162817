/* The spectrogram of a sound as it is read, in memory that does not grow with its length.
 *
 * Windows are a hop apart, the first centred half a hop after the beginning. Where there are more
 * hops than columns, a column stands for 2, 4, 8 ... of them, with the largest power of each row,
 * so that no click is lost. The power is the mean over the channels. Threads: one. Not real-time.
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
    size_t columns_most; /* at least 2; the picture has half of that or more, if there are enough */
    struct spectrogram_axis axis;
};

/* *frames: how many of the sound the picture shows. Errors: those of reading, NaN or infinity in
 * the sound, no such channel, nothing between `from` and `to` (usage), no frame at all, a signal,
 * memory. */
MUST_CHECK enum status sound_spectrogram_init(struct source *source,
                                              const struct sound_spectrogram_settings *settings,
                                              struct spectrogram *picture, uint64_t *frames);

#endif
