/* The bridge between an input and an output that have two clocks.
 *
 * Calls of the input write to a ring. Calls of the output read from the ring through a resampler
 * (variable_resampler.h), whose ratio follows the two clocks. The method is that of zita-ajbridge
 * (F. Adriaensen, "Controlling adaptive resampling", 2012): the times of the calls are filtered
 * first, so that their jitter does not get into the ratio; here call_clock.h filters them. Then a
 * control loop of the second order sets the ratio. Its integral part is the ratio of the clocks'
 * rates. It corrects the delay by the square of the delay's error: an error of a fraction of a
 * frame, which is noise, changes the pitch by less than 1 ppm, and an error of many frames is gone
 * within a second.
 *
 * The delay from the input's clock to the output's is kept at a target. The target is the sum of a
 * period of the input, a period of the output, the frames that the resampler needs, and a margin
 * for late calls: 3/4 of a period of the input and a millisecond. If either side loses sound, or
 * calls are later than the margin, the output is silent until the delay is exact again. So there is
 * one gap, and the delay does not grow.
 *
 * Threads: bridge_write on the input's and bridge_read on the output's, both real-time. The rest on
 * the control thread; init and free only while neither runs. */
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
    uint64_t frames; /* frames so far */
    struct call_clock clock;
    size_t longest;        /* longest call since `longest_from`, in frames */
    size_t longest_before; /* longest call in the interval before, in frames */
    int64_t longest_from;  /* start of the present interval of LONGEST_NS, ns */
};

/* A call of the input, as it is told to the output's thread. */
struct bridge_call {
    uint64_t frames; /* frames of the input so far, including this call's */
    int64_t time;
    size_t count; /* frames of this call */
    bool lost;    /* the input lost sound before this call */
};

/* The input's thread uses `written` to `written_frames`, the output's `input` and all below. */
struct bridge {
    size_t channels;
    struct ring *audio;    /* interleaved frames */
    struct ring *calls;    /* struct bridge_call */
    uint64_t written;      /* frames of the input so far */
    bool lost;             /* sound was lost, and this has not been told with a call yet */
    float *written_frames; /* buffer to interleave frames */

    struct bridge_side input, output;
    struct variable_resampler *resampler;
    float *read_frames;                      /* buffer for frames from the ring */
    struct block sound;                      /* resampled sound, for the step */
    bool plays;                              /* false: silent until the delay is right */
    uint64_t taken;                          /* frames read from the ring */
    double step;                             /* input frames per output frame, at the last frame */
    struct ramp rise;                        /* fade in after a gap */
    _Atomic double ratio_ppm, delay, target; /* atomic copies for bridge_state */
};

/* State of a bridge, for display. */
struct bridge_state {
    double ratio_ppm; /* ppm by which the input's clock is faster, relative to nominal rates */
    double delay;     /* frames of the output: delay by the bridge */
    double target;    /* frames of the output: what `delay` should be */
};

/* Errors: memory. */
MUST_CHECK enum status bridge_init(struct bridge *bridge, size_t channels, double rate_in,
                                   double rate_out);
void bridge_free(struct bridge *bridge);

/* Empties the ring and restarts both clocks, with these periods in frames. */
void bridge_start(struct bridge *bridge, size_t period_in, size_t period_out);

/* A call of the input with `frames` frames at `time` (ns). `lost`: sound was lost before it. */
void bridge_write(struct bridge *bridge, const float *const *in, size_t frames, int64_t time,
                  bool lost);

/* A call of the output for `frames` frames (at most DEVICE_FRAMES_MOST) at `time` (ns). Sets in[c]
 * to the input's sound, valid until the next call. Returns true if a gap begins. */
bool bridge_read(struct bridge *bridge, const float **in, size_t frames, int64_t time, bool lost);

struct bridge_state bridge_state(const struct bridge *bridge);

#endif
