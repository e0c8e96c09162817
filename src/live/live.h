/* Live sound from an input to an output: the processing of each block.
 *
 *   in -> meter -> slot: chain or dry input, and gain (live_change.h) -> fade
 *      -> feedback guard -> limiter -> gap of a test's switch -> meter -> out
 *
 * The slot can be replaced by another one, with a crossfade.
 * Input and output can be recorded. The control thread sends events; the step applies each at the
 * start of the first block at or after its frame and reports that frame, so that a replay of the
 * events gives the same sound.
 * The sound fades in at the start and after a mute, over LIVE_FADE_IN seconds. The feedback
 * guard mutes when it finds feedback, tries again later, and reports events. NaN and infinity in
 * the input are replaced by 0. On a device live_step turns the device's calls into blocks of one
 * length and times each block. A single output channel is copied to all output channels of the
 * device. Otherwise the device's further channels are silent. Frames count from `begin` (struct
 * live_settings). Gains are linear. Threads: the step's, real-time; the rest on the control thread.
 */
#ifndef HALO_LIVE_H
#define HALO_LIVE_H

#include "base/thread.h"
#include "chain/stages.h"
#include "live/live_change.h"
#include "live/recorder.h"
#include "signal/meter.h"
#include "sound/filter.h"

enum { LIVE_CHANNELS_MOST = 64 };

#define LIVE_FADE_IN 0.5  /* seconds */
#define LIVE_FADE_OUT 0.1 /* seconds, after LIVE_END */
#define LIVE_SMOOTH 0.02  /* seconds that a change of gain, mute or dry signal takes */
/* Share of a block's duration for which the step waits for plugins in other processes. */
#define LIVE_WAITS 0.75

enum live_control {
    LIVE_GAIN,    /* value: the gain */
    LIVE_CEILING, /* value: the ceiling of the limiter */
    LIVE_MUTE,    /* value: 1 muted, 0 not */
    LIVE_DRY,     /* value: 1 dry, 0 through the chain */
    LIVE_RISE,    /* fade in from silence, after an interruption */
    LIVE_END,     /* fade out for good */
    /* Feedback: the step muted and reports the frequency, `value` in Hz. Sent by a replay: mute. */
    LIVE_FEEDBACK,
    /* The guard unmutes, at `value` of the full ceiling. The step reports it; a replay sends it. */
    LIVE_TRY,
    LIVE_STAGE_CONTROL, /* value: new value of a stage's control */
    /* value 1: the stage is late, and the dry sound replaces it; 0: it is in time again. Reported
     * by the step; a replay sends it. */
    LIVE_STAGE_ABSENT,
    LIVE_STAGE_FAILED, /* the stage is left out; the step reports it, a replay sends it */
};

struct live_event {
    enum live_control what;
    double value;
    uint64_t frame; /* sent: the earliest frame; reported: the frame where it was applied */
    unsigned slot;  /* number of the slot that it is for; set by live_send */
    size_t stage;   /* index of the stage, for LIVE_STAGE_... */
    enum stage_control_kind kind; /* LIVE_STAGE_CONTROL only */
    size_t port;                  /* LIVE_STAGE_CONTROL only */
};

struct live_settings {
    uint32_t rate;
    double ceiling;                  /* ceiling of the limiter, linear */
    double gain;                     /* gain at the start, linear */
    bool dry;                        /* start with the dry signal */
    bool muted;                      /* start muted */
    bool guard;                      /* use a feedback guard */
    uint64_t begin;                  /* number of the first frame, a multiple of the block */
    bool at_once;                    /* start without a fade in */
    const struct stage_list *stages; /* chain's stages, which events change; NULL: no such events */
    size_t device_outputs;  /* channels of the device; 0: no device, the caller runs live_process */
    const char *device;     /* name of the device, for the log; or NULL */
    bool freewheels;        /* the device waits for the step, which has no deadline */
    struct switch_gap *gap; /* gap for a listening test's switches; outlives the stream; or NULL */
    size_t history; /* frames of input to keep for live_change; 0: the chain never changes */
};

/* Times of one call of the device, for struct ledger. It may run several blocks of the chain. */
struct block_time {
    uint64_t frame; /* first frame */
    int64_t begin;  /* begin of the step, ns of the monotonic clock */
    int64_t ns;     /* duration of the step */
    int64_t lasts;  /* duration of the call's sound, ns */
    int64_t idle;   /* ns since the previous step ended; 0: this is the first */
    bool lost;      /* the device lost sound just before */
    /* FILTER_... flags: what held the step up. Only if the step took longer than its sound. */
    unsigned held_up;
    /* What the step used of the processor. Only if the step took longer than its sound. */
    struct thread_usage used;
};

struct live;

/* The chain and the recorders must outlive `*live`. The recorders may be NULL. Errors: memory. */
MUST_CHECK enum status live_create(const struct live_settings *settings, struct filter *chain,
                                   struct recorder *recorder, struct recorder *recorder_dry,
                                   struct live **live);
void live_destroy(struct live *live);

/* Real-time. Processes one block of the chain. `in` and `out` do not overlap. */
void live_process(struct live *live, const float *const *in, float *const *out);

/* Step for a stream on a device (a device_step). `context` is the struct live. */
void live_step(void *context, const float *const *in, float *const *out, size_t frames, bool lost);

/* The part that changes the stream to another slot; NULL if settings.history was 0. */
struct live_change *live_change_of(struct live *live);

/* Events sent from now on are for the slot of this number. If that slot is gone when an event is
 * due, the event has no effect and is not reported. */
void live_send_to(struct live *live, unsigned slot);

/* Returns false if the queue is full. */
bool live_send(struct live *live, const struct live_event *event);

/* Gets the next event that the step applied or reported. Returns false if there is none. */
bool live_receive(struct live *live, struct live_event *event);

/* Gets the times of the next block, measured by live_step. Returns false if there are none. If
 * nobody reads for seconds, times are dropped and counted. */
bool live_read_time(struct live *live, struct block_time *time);
uint64_t live_dropped_times(const struct live *live);

uint64_t live_frames(const struct live *live);        /* number of the next frame to process */
bool live_has_faded_out(const struct live *live);     /* the fade-out of LIVE_END is complete */
size_t live_adapter_latency(const struct live *live); /* frames that live_step adds; mostly 0 */
double live_reduction(const struct live *live); /* reduction by the limiter, in dB, 0 or more */
void live_read_meters(struct live *live, struct meter_reading *in, struct meter_reading *out);

/* What the kernel counts of a late step: processor time, page faults, and so on.
 *
 * The system calls for it take as long as a short step. So they are made only once in
 * STEP_USAGE_BLOCKS blocks, and after a late block. The processor time of the blocks in between is
 * estimated and subtracted: each step counts with its duration, an upper bound, and the device's
 * work outside the step with its average. Other events count from the last call. Real-time. */
enum { STEP_USAGE_BLOCKS = 8 };

/* Zero it before use. Times are in ns. */
struct step_usage {
    struct thread_usage last; /* counts when the kernel was last asked */
    bool is_known;
    unsigned blocks; /* blocks since the kernel was asked */
    int64_t steps;   /* sum of the durations of the steps of these blocks */
    int64_t beside;  /* processor time outside the step, per block, on average */
    int processor;   /* processor at the beginning of the step */
};

void step_usage_begin(struct step_usage *usage);

/* After a step that took `ns`: step_usage_end if it was in time, step_usage_late if it was late. */
void step_usage_end(struct step_usage *usage, int64_t ns);
struct thread_usage step_usage_late(struct step_usage *usage, int64_t ns);

/* The switch of a listening test. It sounds the same, no matter which choice follows.
 *
 *   asked -> delay -> fade out -> pause -> fade in
 *
 * The gain is applied to the output, after all filters. The choice changes within the pause, where
 * the gain is 0. Each part has the same length for every switch, also from a choice to itself.
 * `delay` and `pause` leave time to prepare the slowest mask. If the machine is overloaded and the
 * mask is not ready, the pause is extended and the switch is counted as late.
 *
 * To switch: choices_ask at CONVOLVER_HELD, then switch_gap_ask.
 * Units: frames. Threads: requests on the control thread; the rest in live_process, real-time. */
struct switch_gap {
    struct filter *convolver;  /* the convolver whose masks are switched */
    size_t delay, fade, pause; /* `fade`: length of the fade out, and of the fade in */
    uint64_t latency;          /* frames from the convolver's output to the stream's output */
    bool runs;                 /* used by the step only: a switch is under way */
    uint64_t at;               /* used by the step only: frames since the switch began */
    uint64_t rises; /* used by the step only: where the fade in begins; UINT64_MAX: not known yet */
    atomic_bool asked;        /* true from the request until the fade in has ended */
    _Atomic uint64_t late_by; /* frames by which the pause of the last late switch was too long */
    _Atomic uint64_t late;    /* number of late switches */
};

void switch_gap_ask(struct switch_gap *gap);

bool switch_gap_is_under_way(const struct switch_gap *gap);

#endif
