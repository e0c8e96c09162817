/* A take: sweeps played on each output in turn, and what all inputs recorded meanwhile.
 *
 * Frames of the plan, at the output's rate:
 *
 *   [check ...]  silence  [mark  pause]  sweep pause guard  sweep pause guard ...
 *
 * First output 1 plays all its repeats, then output 2, and so on. In a check, each output plays
 * noise that rises from silence to the level of the sweeps. It stops at once when an input clips.
 * The recording begins with the same call of the device as the plan. If input and output have two
 * clocks, it begins within some calls of it, at the input's own rate. The mark is a short sweep of
 * 1 kHz to 16 kHz.
 *
 * Before a take, such noise can be played for as long as it takes to set levels.
 *
 * Threads: the step on the device's, real-time; the rest on the control thread. */
#ifndef HALO_TAKE_H
#define HALO_TAKE_H

#include "base/realtime.h"
#include "live/device/device.h"
#include "live/live_change.h"
#include "mask/mask.h"
#include "signal/meter.h"
#include "sweep/sweep.h"

#include <stdatomic.h>

#define TAKE_NONE SIZE_MAX

/* What is played and recorded. Inputs and outputs count from 0, channels of the device from 1. */
struct take_plan {
    struct sweep sweep;
    double level;   /* dB of full scale, of the peak */
    size_t repeats; /* per output */
    size_t pause;   /* frames after a sweep that are kept of a response */
    size_t outputs, inputs;
    size_t output_of[DEVICE_CHANNELS_MOST], input_of[DEVICE_CHANNELS_MOST]; /* device's channels */
    bool checked;            /* levels were set before: there is no check */
    size_t mark;             /* output that plays the mark, or TAKE_NONE */
    size_t reference;        /* input that records what is played, by a cable; or TAKE_NONE */
    size_t reference_output; /* output that plays each sweep, for that cable; or TAKE_NONE */
    size_t latency;          /* frames, of the device; 0: unknown */
    uint32_t rate_in; /* rate of the input, which is not the output's if there are two clocks */
    bool two_clocks;
    char date[24];    /* "2026-11-29T14:00:00Z" */
    char device[160]; /* name of the device */
};

/* Errors (usage): the sweep's. */
MUST_CHECK enum status take_mark_init(const struct take_plan *plan, struct sweep *mark);

size_t take_guard(const struct take_plan *plan);        /* frames after a pause that are not kept */
size_t take_slot_frames(const struct take_plan *plan);  /* a sweep with pause and guard */
size_t take_check_frames(const struct take_plan *plan); /* length of the check of one output */
size_t take_mark_at(const struct take_plan *plan);
/* Frame where a sweep begins. `number`: of the measured outputs. */
size_t take_sweep_at(const struct take_plan *plan, size_t number, size_t repeat);
size_t take_frames(const struct take_plan *plan);
size_t take_recorded_frames(const struct take_plan *plan); /* counted at the input's rate */

/* Numbers of the outputs and inputs that are measured: not those of the reference. */
size_t take_measured_outputs(const struct take_plan *plan, size_t *list);
size_t take_measured_inputs(const struct take_plan *plan, size_t *list);

enum take_phase { TAKE_SILENT, TAKE_NOISE, TAKE_SWEEPS };

struct take {
    struct take_plan plan;
    const char *command;    /* name of the command, for the screen; NULL: none */
    struct block recorded;  /* all inputs */
    _Atomic size_t frames;  /* recorded so far */
    _Atomic size_t played;  /* frames of the plan played so far */
    _Atomic int phase;      /* enum take_phase; set by the control thread */
    atomic_bool lost;       /* the device lost sound during the sweeps */
    size_t checked_frames;  /* before them lost sound does no harm: the check plays */
    _Atomic size_t clipped; /* an input that reached full scale, from 1; 0: none. Ends the noise. */

    struct block sounds;    /* mark, noise and sweep of peak 1; filtered sweeps */
    size_t filtered_frames; /* length of a filtered sweep; 0: no filter */
    double headroom;        /* dB by which the loudest filtered sweep exceeds peak 1 */
    size_t noise_frames, mark_frames;
    _Atomic double level;        /* dB: of sweeps and noise; the control thread may change it */
    _Atomic size_t noise_output; /* output that plays the noise of TAKE_NOISE */
    atomic_bool noise_fresh;     /* the noise rises anew */
    double noise_gain, rise;     /* used by the step; gain now, and factor per frame */
    size_t noise_at, noise_now;  /* used by the step; frame of the noise, and its output */

    struct meter *meter;       /* levels of the inputs */
    struct live_history heard; /* recent input during the noise */
};

/* `filter` (or NULL) is a routed mask. Each measured output plays the sweep through the path from
 * and to its number. The responses then include the filter, so plan.pause grows by its taps. The
 * sweeps' peak stays plan.level: take->plan.level falls by what the filter adds to the peak. Errors:
 * memory, usage. */
MUST_CHECK enum status take_create(const struct take_plan *plan, const struct mask *filter,
                                   struct take **take);
void take_destroy(struct take *take); /* the device does not run; NULL is ignored */

/* Steps for device_run, and for device_run_sides if there are two clocks. */
void take_step(void *take, const float *const *in, float *const *out, size_t frames, bool lost);
void take_record_step(void *take, const float *const *in, float *const *out, size_t frames,
                      bool lost);
void take_play_step(void *take, const float *const *in, float *const *out, size_t frames,
                    bool lost);

/* Whether all of the plan was played and recorded. */
bool take_is_complete(const struct take *take);

/* ---- the recording as a file ----
 *
 * A WAV of all inputs in single precision, whose comment describes the plan. */

MUST_CHECK enum status take_write(const struct take *take, const char *path, bool force);

/* Errors: no file, not a take, damaged, memory. */
MUST_CHECK enum status take_read(const char *path, struct take **take);

#endif
