/* Live sound from an input to an output: what happens to each block, and how it is told.
 *
 *   in -> meter -> chain, or the dry input as late as the chain is -> gain -> fade
 *      -> feedback detector -> limiter -> meter -> out
 *
 * Both ends can be recorded. The control thread sends events; the step takes each at the
 * beginning of the first block from its frame on and says where that was, so that the same
 * events at the same frames make the same sound again.
 * The sound fades in at the start and after a mute, over LIVE_FADE_IN seconds. Where the howl
 * guard finds a howl it mutes, and says so by an event. Samples of the input that are no
 * numbers count as silence.
 * On a device live_step brings the device's calls to blocks of one length and times each block.
 * Its first output channel goes to all of the device's where it has only one; else each goes to
 * its own, and the device's others are silent.
 * Frames count from the first block of the stream. Gains are linear.
 * Threads: the step on one, real-time; everything else on one control thread.
 */
#ifndef HALO_LIVE_H
#define HALO_LIVE_H

#include "base/status.h"
#include "chain/stage_controls.h"
#include "live/recorder.h"
#include "signal/meter.h"
#include "sound/filter.h"

enum { LIVE_CHANNELS_MOST = 64 };

#define LIVE_FADE_IN 0.5  /* seconds */
#define LIVE_FADE_OUT 0.1 /* of LIVE_END */
#define LIVE_SMOOTH 0.02  /* of a gain, a mute, the dry signal */

enum live_control {
    LIVE_GAIN,          /* value: the gain */
    LIVE_MUTE,          /* value: 1 muted, 0 not */
    LIVE_DRY,           /* value: 1 dry, 0 through the chain */
    LIVE_RISE,          /* fade in from silence, after an interruption */
    LIVE_END,           /* fade out for good */
    LIVE_FEEDBACK,      /* said by the step, value: Hz. Sent, it mutes as a howl does */
    LIVE_STAGE_CONTROL, /* value: of a control of a stage's */
    LIVE_STAGE_ABSENT,  /* said by the step, value: 1, its blocks are not in time from there on; 0,
                           they are. Sent, it is silence and the dry sound is heard, as then */
    LIVE_STAGE_FAILED,  /* said by the step: the stage is left out from there on. Sent, it is so */
};

struct live_event {
    enum live_control what;
    double value;
    uint64_t frame;               /* not before; on the way back: where it began */
    size_t stage;                 /* of the last three: its index */
    enum stage_control_kind kind; /* of LIVE_STAGE_CONTROL, as is the next */
    size_t port;
};

struct live_settings {
    uint32_t rate;
    double ceiling;                  /* of the limiter */
    double gain;                     /* at the start */
    bool muted;                      /* likewise */
    bool guard;                      /* against howls */
    bool at_once;                    /* no fade in at the start */
    const struct stage_list *stages; /* of the chain, to be changed by events; NULL: none is */
    size_t device_outputs;           /* channels; 0: no device, live_process is called */
};

/* What a block took. */
struct block_time {
    uint64_t frame; /* its first */
    int64_t ns;     /* of the step */
    bool lost;      /* the device said that it lost sound just before */
};

struct live;

/* The chain and the recorders, which may be NULL, outlive it; blocks are the chain's.
 * Errors: memory. */
MUST_CHECK enum status live_create(const struct live_settings *settings, struct filter *chain,
                                   struct recorder *recorder, struct recorder *recorder_dry,
                                   struct live **live);
void live_destroy(struct live *live);

/* Real-time. One block; in and out do not overlap. */
void live_process(struct live *live, const float *const *in, float *const *out);

/* A device_step, for live sound made with device_outputs; `context` is the struct live. */
void live_step(void *context, const float *const *in, float *const *out, size_t frames, bool lost);

/* False: too many wait already. */
bool live_send(struct live *live, const struct live_event *event);

/* What the step has taken or found since the last call; false: nothing. */
bool live_receive(struct live *live, struct live_event *event);

/* The next block's time, of those that live_step ran; false: there is none yet. Where nobody reads
 * them for seconds, the times of later blocks are lost. */
bool live_read_time(struct live *live, struct block_time *time);

uint64_t live_frames(const struct live *live);        /* that have come in */
bool live_has_faded_out(const struct live *live);     /* LIVE_END is done */
size_t live_adapter_latency(const struct live *live); /* frames that live_step adds; mostly 0 */
double live_reduction(const struct live *live);       /* dB of the limiter, 0 or more */
void live_read_meters(struct live *live, struct meter_reading *in, struct meter_reading *out);

#endif
