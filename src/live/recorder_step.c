/* The recorder's real-time side. */
#include "live/recorder_state.h"

static bool report_gap(struct recorder *recorder)
{
    struct gap gap = {.at = recorder->handed, .frames = recorder->losing};
    if (gap.frames > 0 && ring_write(recorder->gaps, &gap, 1) == 0)
        return false;
    recorder->losing = 0;
    return true;
}

/* A gap is told before the frames that follow it: who sees those sees it too. */
void recorder_write(struct recorder *recorder, const float *const *planar, size_t frames)
{
    if (atomic_load_explicit(&recorder->ended, memory_order_relaxed))
        return;
    if (ring_writable(recorder->ring) < frames || !report_gap(recorder)) {
        recorder->losing += frames;
        return;
    }
    for (size_t at = 0; at < frames; at += RECORDER_CHUNK) {
        size_t part = frames - at < RECORDER_CHUNK ? frames - at : RECORDER_CHUNK;
        audio_interleave(planar, at, recorder->channels, part, recorder->scratch);
        ring_write(recorder->ring, recorder->scratch, part);
    }
    recorder->handed += frames;
}
