/* Live sound from an input to an output: the processing of each block.
 *
 *   in -> meter -> slot: chain or dry input, and gain (live_change.h) -> fade
 *      -> feedback guard -> limiter -> gap of a test's switch -> meter -> out
 *
 * The slot can change to another one, with a crossfade.
 * Input and output can be recorded. The control thread sends events; the step applies each at the
 * start of the first block at or after its frame and reports that frame, so that a replay of the
 * events gives the same sound.
 * The sound fades in at the start and after a mute, over LIVE_FADE_IN seconds. The feedback
 * guard mutes when it finds feedback, tries again later, and reports events. NaN and infinity in
 * the input are silence. On a device live_step turns the device's calls into blocks of one length
 * and times each block. A single output channel goes to all of the device's; otherwise the device's
 * other channels are silent. Frames count from the first block of the stream, or from `begin`.
 * Gains are linear. Threads: the step on one, real-time; everything else on one control thread.
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
#define LIVE_FADE_OUT 0.1 /* of LIVE_END */
#define LIVE_SMOOTH 0.02  /* of a gain, a mute, the dry signal */
#define LIVE_WAITS 0.75   /* of a block: the step waits for plugins until then */

enum live_control {
    LIVE_GAIN,          /* value: the gain */
    LIVE_MUTE,          /* value: 1 muted, 0 not */
    LIVE_DRY,           /* value: 1 dry, 0 through the chain */
    LIVE_RISE,          /* fade in from silence, after an interruption */
    LIVE_END,           /* fade out for good */
    LIVE_FEEDBACK,      /* reported by the step, value: Hz. Sent: mute */
    LIVE_TRY,           /* reported by the step after that: unmute, at a ceiling of that share of
                           the full one. Sent: the same */
    LIVE_STAGE_CONTROL, /* value: of a stage's control */
    LIVE_STAGE_ABSENT,  /* reported by the step: the stage is late (1), and the dry sound replaces
                           it, or in time again (0). Sent: the same */
    LIVE_STAGE_FAILED,  /* reported by the step: the stage is left out. Sent: the same */
};

struct live_event {
    enum live_control what;
    double value;
    uint64_t frame;               /* sent: the earliest; reported: where applied */
    unsigned slot;                /* of which chain: live_send fills it in */
    size_t stage;                 /* index, of the last three */
    enum stage_control_kind kind; /* of LIVE_STAGE_CONTROL, as is port */
    size_t port;
};

struct live_settings {
    uint32_t rate;
    double ceiling;                  /* of the limiter, linear */
    double gain;                     /* at the start */
    bool dry;                        /* at the start */
    bool muted;                      /* at the start */
    bool guard;                      /* with a feedback guard */
    uint64_t begin;                  /* number of the first frame, a multiple of the block */
    bool at_once;                    /* no fade in at the start */
    const struct stage_list *stages; /* of the chain, changed by events; or NULL */
    size_t device_outputs;           /* channels; 0: no device, live_process is called */
    const char *device;              /* what it is, for the log; or NULL */
    bool freewheels;                 /* the device waits for the step, which has no deadline */
    struct switch_gap *gap;          /* of a test, must outlive the stream; NULL: none */
    size_t history; /* frames of input to keep for live_change; 0: it does not change */
};

/* A block as the device counts them: a call of the step, which may run several of the chain's. */
struct block_time {
    uint64_t frame;   /* its first */
    int64_t begin;    /* of the step, ns of the monotonic clock */
    int64_t ns;       /* of the step */
    int64_t lasts;    /* ns of sound */
    int64_t idle;     /* ns since the step before; 0: it is the first */
    bool lost;        /* the device lost sound just before */
    unsigned held_up; /* FILTER_..., as the next one only if the step was longer than the block */
    struct thread_usage used; /* by the step */
};

struct live;

/* The chain and the recorders (which may be NULL) must outlive it. Errors: memory. */
MUST_CHECK enum status live_create(const struct live_settings *settings, struct filter *chain,
                                   struct recorder *recorder, struct recorder *recorder_dry,
                                   struct live **live);
void live_destroy(struct live *live);

/* Real-time. One block of the chain; in and out do not overlap. */
void live_process(struct live *live, const float *const *in, float *const *out);

/* A device_step, if created with device_outputs; `context` is the struct live. */
void live_step(void *context, const float *const *in, float *const *out, size_t frames, bool lost);

/* For other slots; NULL if it does not change. */
struct live_change *live_change_of(struct live *live);

/* Events are for the slot of that number from now on: what comes when it is not there any more has
 * no effect, and is not reported. */
void live_send_to(struct live *live, unsigned slot);

/* False: the queue is full. */
bool live_send(struct live *live, const struct live_event *event);

/* The next event that the step applied or reported; false: none. */
bool live_receive(struct live *live, struct live_event *event);

/* The next block's time, from live_step; false: none. Times not read for seconds are dropped, and
 * counted. */
bool live_read_time(struct live *live, struct block_time *time);
uint64_t live_dropped_times(const struct live *live);

uint64_t live_frames(const struct live *live);        /* processed so far */
bool live_has_faded_out(const struct live *live);     /* after LIVE_END */
size_t live_adapter_latency(const struct live *live); /* frames added by live_step; mostly 0 */
double live_reduction(const struct live *live);       /* dB of the limiter, 0 or more */
void live_read_meters(struct live *live, struct meter_reading *in, struct meter_reading *out);

/* What the kernel counts of a late step.
 *
 * The system calls that tell it take as long as a short step. So they are made once in
 * STEP_USAGE_BLOCKS blocks and after a late one, and what the blocks in between used of a processor
 * is subtracted: their steps at their duration, which is not less, and the device's part of a block
 * at its average. Events are those since that call. Threads: the step's. Real-time.
 */
enum { STEP_USAGE_BLOCKS = 8 };

/* All zero at the start. Times in ns. */
struct step_usage {
    struct thread_usage last; /* when the kernel was asked */
    bool is_known;
    unsigned blocks; /* since then */
    int64_t steps;   /* their duration */
    int64_t beside;  /* on a processor beside the step, of a block, on average */
    int processor;   /* at the beginning of the step */
};

void step_usage_begin(struct step_usage *usage);

/* After a step that took so long: one that was in time, or was late. */
void step_usage_end(struct step_usage *usage, int64_t ns);
struct thread_usage step_usage_late(struct step_usage *usage, int64_t ns);

/* The switch of a listening test, which sounds the same whatever it leads to.
 *
 *   asked -> delay -> fade out -> pause -> fade in
 *
 * These are gains of the output, after all that has memory; the choice changes within the pause,
 * where the gain is 0. Each part has the same frames for every switch, from a choice to itself too.
 * `delay` and `pause` leave time to arm the slowest mask. If it is not armed by then, on an
 * overloaded machine, the pause goes on until it is, and that is counted.
 *
 * To switch: choices_ask at CONVOLVER_HELD, then switch_gap_ask.
 * Units: frames. Threads: begin and process are the step's, real-time; the rest is the control
 * thread's.
 */
struct switch_gap {
    struct filter *convolver;  /* that has the choices */
    size_t delay, fade, pause; /* `fade`: out, and in */
    uint64_t latency;          /* from the convolver to the output */
    bool runs;                 /* this and the next two are the step's */
    uint64_t at;               /* since the step took the request */
    uint64_t rises;            /* where the fade in begins; UINT64_MAX: not known yet */
    atomic_bool asked;         /* until the fade in ends */
    _Atomic uint64_t late_by;  /* by which the pause of the last late switch was longer */
    _Atomic uint64_t late;     /* so many were */
};

void switch_gap_ask(struct switch_gap *gap);

/* Whether a switch was asked for and has not ended. */
bool switch_gap_is_under_way(const struct switch_gap *gap);

#endif
