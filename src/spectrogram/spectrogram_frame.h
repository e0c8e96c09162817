/* One column of a spectrogram: the transform of a window of samples, in rows.
 *
 * Powers are as in spectrogram.h. Threads: any, one at a time for each object. Not real-time.
 */
#ifndef HALO_SPECTROGRAM_FRAME_H
#define HALO_SPECTROGRAM_FRAME_H

#include "signal/window.h"
#include "spectrogram/spectrogram.h"

struct spectrogram_frame_settings {
    enum window window;
    size_t size;    /* frames, at least 8 */
    size_t padding; /* even; bins for each of an unpadded transform: 4 or more for 0.15 dB */
    uint32_t rate;
    /* In rows of several bins: the mean, for noise, or else the largest, for tones. */
    bool mean;
    struct spectrogram_axis axis;
};

struct spectrogram_frame;

/* Errors: memory. */
MUST_CHECK enum status spectrogram_frame_create(const struct spectrogram_frame_settings *settings,
                                                struct spectrogram_frame **frame);
void spectrogram_frame_destroy(struct spectrogram_frame *frame);

/* Row by row, from `size` samples. */
void spectrogram_frame_measure(struct spectrogram_frame *frame, const float *samples, float *power);

#endif
