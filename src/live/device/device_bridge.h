/* The bridge from an input to an output that have two clocks.
 *
 * Calls of the input write into a ring, calls of the output read from it through a resampler
 * (variable_resampler.h) whose ratio follows the two clocks. As in zita-ajbridge (F. Adriaensen,
 * "Controlling adaptive resampling", 2012) times of calls are filtered first, here by call_clock.h,
 * so that their jitter does not get into the ratio; a loop of the second order then has the ratio
 * of the clocks' rates as its integral part, and corrects the delay by the square of its error: an
 * error of a fraction of a frame, which is noise, moves the pitch by less than 1 ppm, one of many
 * frames is gone within a second.
 *
 * The delay from the input's clock to the output's is kept at a target: a period of each, what the
 * resampler needs, and 3/4 of a period of the input and a millisecond for late calls. When either
 * side loses sound, or its calls are later than that, the output is silent until the delay is exact
 * again: one gap, and the delay does not grow.
 *
 * Threads: bridge_write on the input's, bridge_read on the output's, both real-time; the rest on
 * the control thread, init and free while neither runs.
 */
#ifndef HALO_DEVICE_BRIDGE_H
#define HALO_DEVICE_BRIDGE_H

#include "base/ring.h"
#include "live/device/call_clock.h"
#include "signal/audio.h"
#include "signal/ramp.h"
#include "signal/variable_resampler.h"

#include <stdatomic.h>

enum { BRIDGE_CHANNELS_MOST = 64 };

/* One side of a bridge. */
struct bridge_side {
    double rate;     /* nominal, Hz */
    size_t period;   /* frames of a call */
    uint64_t frames; /* so far */
    struct call_clock clock;
    size_t longest; /* call of this time, and of the time before */
    size_t longest_before;
    int64_t longest_from; /* when this time began */
};

struct bridge_call {
    uint64_t frames; /* of the input, in all */
    int64_t time;
    size_t count; /* of this call */
    bool lost;
};

struct bridge {
    size_t channels;
    struct ring *audio;    /* interleaved frames */
    struct ring *calls;    /* struct bridge_call */
    uint64_t written;      /* this and the next: the input's thread */
    bool lost;             /* sound, before the next call reported */
    float *written_frames; /* interleaved, some */

    struct bridge_side input, output; /* from here on: the output's thread */
    struct variable_resampler *resampler;
    float *read_frames;
    struct block sound; /* resampled, for the step */
    bool plays;         /* false: silence, until the delay is right */
    uint64_t taken;     /* frames, from the ring */
    double step;        /* input frames per output frame, of the last frame */
    struct ramp rise;
    _Atomic double ratio_ppm, delay, target; /* as bridge_state */
};

/* What is shown. */
struct bridge_state {
    double ratio_ppm; /* the input's clock is faster than the output's, beside the nominal rates */
    double delay;     /* frames of the output that the bridge adds to one stream for both */
    double target;    /* the same, as it should be */
};

/* Errors: memory. */
MUST_CHECK enum status bridge_init(struct bridge *bridge, size_t channels, double rate_in,
                                   double rate_out);
void bridge_free(struct bridge *bridge);

/* Begin anew, with these periods. */
void bridge_start(struct bridge *bridge, size_t period_in, size_t period_out);

/* A call of the input at `time` (ns) with `frames` frames; `lost`: its device lost some before. */
void bridge_write(struct bridge *bridge, const float *const *in, size_t frames, int64_t time,
                  bool lost);

/* A call of the output: sets in[c] to `frames` frames, DEVICE_FRAMES_MOST at most, valid until the
 * next call. True: a gap begins. */
bool bridge_read(struct bridge *bridge, const float **in, size_t frames, int64_t time, bool lost);

struct bridge_state bridge_state(const struct bridge *bridge);

#endif
