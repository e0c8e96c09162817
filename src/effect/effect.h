/* halo's convolver as an effect in other programs; lv2/ and clap/ make plugins from it.
 *
 * Signal path: in -> pre-delay -> mask -> gain, in parallel to the dry sound; mixed to out. Without
 * a mask, or bypassed, the sound passes unchanged. There is no latency, and the output does not
 * depend on the lengths of the runs.
 *
 * Threads: real-time functions on one thread at a time; other functions on any thread, one at a
 * time unless stated otherwise. run asks for work through the host's `send`; the host carries it to
 * effect_work, on a thread that is not real-time. */
#ifndef HALO_EFFECT_H
#define HALO_EFFECT_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { EFFECT_CHANNELS_MOST = 2, EFFECT_FILE_MOST = 4096, EFFECT_RATE_MOST = 10000000 };

enum { EFFECT_WORK_MOST = EFFECT_FILE_MOST + 64 }; /* bytes of a struct effect_work */

enum effect_variant { EFFECT_MONO, EFFECT_STEREO, EFFECT_TRUE_STEREO, EFFECT_VARIANTS };

/* A variant of the plugin. */
struct effect_kind {
    const char *name; /* such as "true-stereo" */
    const char *title;
    const char *purpose;
    size_t channels; /* number of inputs, and of outputs */
    bool may_cross;  /* the mask may have paths from one channel to the other */
};

extern const struct effect_kind effect_kinds[EFFECT_VARIANTS];

enum effect_control {
    EFFECT_ENABLED,
    EFFECT_GAIN,      /* dB: gain of the wet sound */
    EFFECT_MIX,       /* share of the wet sound, 0 to 1 */
    EFFECT_PRE_DELAY, /* ms */
    EFFECT_TRIM,      /* ms that are cut from the beginning of the mask */
    EFFECT_PROCESSOR, /* 0: automatic, 1: use a GPU */
    EFFECT_CONTROLS,
};

struct effect_range {
    const char *symbol;
    float least, most, initial;
};

extern const struct effect_range effect_ranges[EFFECT_CONTROLS];

/* Source of a mask: its file and how to use it. */
struct effect_mask {
    char file[EFFECT_FILE_MOST]; /* path; "": no mask */
    float trim;                  /* ms */
    bool gpu;                    /* use a GPU */
};

struct effect_work;

/* Functions that the host of a plugin provides. */
struct effect_host {
    void *handle;
    /* Real-time. Carries a copy of this work (`size` bytes) to effect_work. Returns false if that
     * is not possible now. NULL: there is no worker; masks come only from effect_load. */
    bool (*send)(void *handle, const struct effect_work *work, size_t size);
    /* Logs a line for the user. Called on the thread of effect_work or effect_load. */
    void (*log)(void *handle, bool is_error, const char *line);
};

struct effect;

/* ---- not real-time ---- */

/* Creates an effect. `rate` in Hz, 1 to EFFECT_RATE_MOST. `kind` must outlive the effect; `host` is
 * copied. Errors: memory. */
MUST_CHECK enum status effect_create(const struct effect_kind *kind, uint32_t rate,
                                     const struct effect_host *host, struct effect **effect);
void effect_destroy(struct effect *effect);

/* While run does not run: forgets all sound, and uses the mask of the last effect_load at once. */
void effect_activate(struct effect *effect);

enum effect_loading {
    /* A session is restored: the mask is saved from now on. If it cannot be read, there is none. */
    EFFECT_RESTORE,
    EFFECT_CHOOSE, /* a user chose the mask: if it cannot be read, the old mask stays */
};

/* Uses this mask; if sound is running, crossfades to it. `idle`: run does not run meanwhile.
 * Returns false if the mask cannot be read or does not fit; the log says why. */
bool effect_load(struct effect *effect, const struct effect_mask *mask, enum effect_loading loading,
                 bool idle);

/* Gets the mask to save in a session. Any thread. */
void effect_save(struct effect *effect, char file[EFFECT_FILE_MOST], float *trim);

/* Does the work that `send` was given. */
void effect_work(struct effect *effect, const void *work, size_t size);

/* ---- real-time ---- */

/* Accepts masks that were loaded. Call it before the controls and requests of a run. */
void effect_begin(struct effect *effect);

/* Sets a control smoothly while sound runs. Values are clamped; NaN is the initial value. */
void effect_set(struct effect *effect, enum effect_control control, float value);

/* Requests a mask by its path of `length` bytes. If the path is too long, nothing is loaded, and
 * the present path is reported. */
void effect_request(struct effect *effect, const char *file, size_t length);

/* Processes `frames` frames. The buffers of `in` and `out` may be the same. */
void effect_run(struct effect *effect, const float *const *in, float *const *out, size_t frames);

/* Forgets all sound. Neither allocates nor locks, but waits for a block of the GPU and workers. */
void effect_reset(struct effect *effect);

/* Frames for which sound goes on after the input has ended. Any thread. */
uint32_t effect_tail(const struct effect *effect);

/* Whether an exchange of masks is under way. Then run must be called even in silence. */
bool effect_is_busy(const struct effect *effect);

/* The path of the mask that is in use or being loaded. It is returned once after each change or
 * effect_report; otherwise NULL. A path longer than `most` is kept for a later call. */
const char *effect_reported(struct effect *effect, size_t most);
void effect_report(struct effect *effect);

#endif
