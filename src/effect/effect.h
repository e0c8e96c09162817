/* halo's convolver as an effect in other programs: what lv2/ and clap/ make a plugin of.
 *
 * Signal path: in -> pre-delay -> mask -> gain, in parallel to the dry sound; mixed to out. Without
 * a mask, or bypassed, the sound passes unchanged. There is no latency, and the output does not
 * depend on the lengths of the runs.
 *
 * Threads: real-time functions on one thread at a time. Not real-time: on any thread, one at a time
 * unless said otherwise. Work that run asks for goes through the `send` of the host, which carries
 * it to effect_work.
 */
#ifndef HALO_EFFECT_H
#define HALO_EFFECT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EFFECT_CHANNELS_MOST = 2, EFFECT_FILE_MOST = 4096, EFFECT_RATE_MOST = 10000000 };

enum { EFFECT_WORK_MOST = EFFECT_FILE_MOST + 64 }; /* bytes of a work */

enum effect_variant { EFFECT_MONO, EFFECT_STEREO, EFFECT_TRUE_STEREO, EFFECT_VARIANTS };

struct effect_kind {
    const char *name; /* "true-stereo" */
    const char *title;
    const char *purpose;
    size_t channels; /* in and out */
    bool may_cross;  /* paths may lead from one channel to another */
};

extern const struct effect_kind effect_kinds[EFFECT_VARIANTS];

enum effect_control {
    EFFECT_ENABLED,
    EFFECT_GAIN,      /* dB, of the wet sound */
    EFFECT_MIX,       /* 0: dry; 1: wet */
    EFFECT_PRE_DELAY, /* ms */
    EFFECT_TRIM,      /* ms, cut from the beginning of the mask */
    EFFECT_PROCESSOR, /* 0: automatic; 1: a GPU */
    EFFECT_CONTROLS,
};

struct effect_range {
    const char *symbol;
    float least, most, initial;
};

extern const struct effect_range effect_ranges[EFFECT_CONTROLS];

/* What a mask is made of. */
struct effect_mask {
    char file[EFFECT_FILE_MOST]; /* "": none */
    float trim;                  /* ms */
    bool gpu;
};

struct effect_work;

struct effect_host {
    void *handle;
    /* Real-time. Carry this work, a copy of `size` bytes, to effect_work. False: not now. NULL:
     * there is no worker, and masks come from effect_load alone. */
    bool (*send)(void *handle, const struct effect_work *work, size_t size);
    /* A line for the user, on the thread of effect_work or effect_load. */
    void (*log)(void *handle, bool is_error, const char *line);
};

struct effect;

/* ---- not real-time ---- */

/* `rate` in Hz, 1 to EFFECT_RATE_MOST. The kind outlives the effect; the host is copied. Errors:
 * memory. */
MUST_CHECK enum status effect_create(const struct effect_kind *kind, uint32_t rate,
                                     const struct effect_host *host, struct effect **effect);
void effect_destroy(struct effect *effect);

/* While run does not run: forget all sound; the mask of the last effect_load is there at once. */
void effect_activate(struct effect *effect);

enum effect_loading {
    EFFECT_RESTORE, /* saved from now on, also where it cannot be read today: then there is no mask
                     */
    EFFECT_CHOOSE,  /* where it cannot be read, the old one stays */
};

/* Make this the mask, faded in where sound runs. `idle`: run does not run meanwhile. False: it
 * cannot be read or does not fit, and the log says why. */
bool effect_load(struct effect *effect, const struct effect_mask *mask, enum effect_loading loading,
                 bool idle);

/* The mask to save in a session. Any thread. */
void effect_save(struct effect *effect, char file[EFFECT_FILE_MOST], float *trim);

/* Do what `send` was given. */
void effect_work(struct effect *effect, const void *work, size_t size);

/* ---- real-time ---- */

/* Before the controls and requests of a run: accept what was loaded. */
void effect_begin(struct effect *effect);

/* A value is clamped; NaN is the initial one. Smooth where sound runs. */
void effect_set(struct effect *effect, enum effect_control control, float value);

/* Ask the worker for this mask, of `length` characters; too long: it is ignored. */
void effect_request(struct effect *effect, const char *file, size_t length);

/* The buffers of `in` and `out` may be the same. */
void effect_run(struct effect *effect, const float *const *in, float *const *out, size_t frames);

/* Forget all sound. It neither allocates nor locks, but waits for a GPU and for worker threads to
 * finish a block. */
void effect_reset(struct effect *effect);

/* How long sound goes on after the input, in frames. Any thread. */
uint32_t effect_tail(const struct effect *effect);

/* Whether masks are being exchanged, so that it is to be run even in silence. */
bool effect_is_busy(const struct effect *effect);

/* The path of the mask in use or being loaded, once after each change or effect_report; otherwise
 * NULL. `most`: leave it for later if it is longer. */
const char *effect_reported(struct effect *effect, size_t most);
void effect_report(struct effect *effect);

#endif
