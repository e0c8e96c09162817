/* The convolver: a filter made of input history and a current mask.
 *
 * Prepared masks are immutable; the control thread creates them. Switching masks does not touch
 * the history, so that a new mask is exact from its first frame. All masks of one convolver have
 * the same inputs and outputs and at most `taps` taps.
 *
 * Its backends are "cpu", "cuda" and "direct" (convolver_backend.h).
 */
#ifndef HALO_CONVOLVER_H
#define HALO_CONVOLVER_H

#include "base/status.h"
#include "base/workers.h"
#include "convolve/gpu_devices.h"
#include "convolve/prover.h"
#include "mask/mask.h"
#include "sound/filter.h"

enum {
    CONVOLVER_SLOTS = 2, /* masks active at once */
    CONVOLVER_WHY = 192, /* characters */
};

enum gpu_mode { GPU_MODE_AUTO, GPU_MODE_RESIDENT, GPU_MODE_GRAPH };

enum { GPU_LIVE_BLOCK_MOST = 2048 }; /* frames: longer blocks use the batch convolver */

/* All zero: automatic. */
struct gpu_settings {
    const char *kernel;         /* a kernel's name; NULL: the fastest */
    enum gpu_mode mode;         /* other than auto: block by block, as live */
    struct gpu_devices devices; /* one at most; a batch has several */
};

struct convolver_service; /* convolver_backend.h */

struct convolver_settings {
    const char *backend; /* a name of convolver_backend_name, or "auto" */
    enum precision precision;
    uint32_t rate;   /* Hz; 0: unknown */
    size_t block;    /* frames */
    size_t taps;     /* of the longest mask to come; 0: of the first one */
    int64_t frames;  /* of the whole sound, for auto; 0 or less: unknown */
    bool live;       /* the caller waits for each block */
    bool alone;      /* on a GPU, without anything standing by: for measurements */
    bool alike;      /* live, on the CPU: no mask costs more by double precision (near_bound.h) */
    bool mask_stays; /* the first mask outlives the convolver, and no other follows */
    struct gpu_settings gpu;
    struct proof_request proof;
    const struct convolver_service *service; /* instead of `backend` where it serves; or NULL */
    struct workers *workers;                 /* not owned; must outlive the convolver */
};

/* Name of backend `index`, or NULL at the end. */
const char *convolver_backend_name(size_t index);
const char *convolver_choice_name(size_t index); /* "auto" first, then the backends */

/* Latency is the first mask's origin, tail is taps - 1 frames. A backend that can fail in a step
 * (a GPU) has a CPU standby: on failure it receives the input history and takes over within the
 * same block, without a gap; filter->notice reports it. In files whose mask stays, it is made only
 * then. Live, if the CPU is fast enough, it runs in parallel and supplies any block that the GPU
 * does not finish within 60 % of the block's time. If not, blocks come late after a failure.
 * Errors: memory, an unknown backend, one that is not available. */
MUST_CHECK enum status convolver_create(const struct convolver_settings *settings,
                                        const struct mask *mask, struct filter **convolver);

/* Whether it needs the coefficients of its first mask until the end: mask_stays. */
bool convolver_needs_mask(const struct filter *convolver);

/* A convolver may be created soon: begin, in a thread, what its backend takes long for. `job`: as
 * far as it is known (convolver_choice.h); NULL: nothing is. Control thread. */
struct backend_job;
void convolver_expect(const struct convolver_settings *settings, const struct backend_job *job);

/* Whether there may be such a backend, and a job is worth looking for. */
bool convolver_expects(const struct convolver_settings *settings);

/* Wait for that, before the program ends. */
void convolver_settle(void);

/* The error of a backend that is not in this build. */
enum status fail_no_cuda(void);

/* The active backend, its algorithm, and why auto chose it ("" if the user did). */
const char *convolver_backend(const struct filter *convolver);
const char *convolver_algorithm(const struct filter *convolver);
const char *convolver_reason(const struct filter *convolver);
uint64_t convolver_failures(const struct filter *convolver); /* 1: its GPU failed; else 0 */
uint64_t convolver_late(const struct filter *convolver);     /* blocks of the GPU */

/* After the last step of a convolver whose settings want a proof: compare what is left. */
void convolver_prove(struct filter *convolver, struct proof *proof);

/* A mask prepared for one convolver. Immutable. */
struct convolver_mask;

/* Control thread, in parallel with the step. The convolver owns the result; convolver_release
 * frees it early. Errors: memory, other inputs, outputs or origin, too many taps. */
MUST_CHECK enum status convolver_prepare(struct filter *convolver, const struct mask *mask,
                                         struct convolver_mask **prepared);

/* The mask passed to convolver_create. */
struct convolver_mask *convolver_first_mask(const struct filter *convolver);

/* Control thread. The mask must not be in use or about to be; NULL is allowed. */
void convolver_release(struct filter *convolver, struct convolver_mask *prepared);

/* Transition over `frames` frames: crossfade; fade out, then in; the same with silence during the
 * middle half. */
enum switch_shape { SWITCH_FADE, SWITCH_DUCK, SWITCH_GAP };

#define CONVOLVER_HELD UINT64_MAX

struct convolver_switch {
    const struct convolver_mask *to;
    uint64_t at; /* input frame; if already past, the next block. CONVOLVER_HELD: it is armed, and
                    waits for convolver_begin_switch */
    uint64_t frames;
    enum switch_shape shape;
};

/* Control thread: request a switch. Live, the step first computes what the new mask makes of the
 * history, using a tenth of each block's time, and delays the switch until that is done; otherwise
 * it happens at its frame. Errors: memory, the previous switch is still under way. */
MUST_CHECK enum status convolver_switch(struct filter *convolver,
                                        const struct convolver_switch *to);

/* The step's thread, real-time: begin a held switch so many frames into the coming block. */
void convolver_begin_switch(struct filter *convolver, uint64_t frames);

/* Control thread: whether no switch is under way. *at, unless NULL: where the last one began;
 * with NULL also the step's thread, real-time. */
bool convolver_switched(const struct filter *convolver, uint64_t *at);

/* The step's thread, real-time: whether the `number`th switch, counted from 1, has begun; then *at
 * is the frame where it did, if it is the last one. */
bool convolver_has_begun(const struct filter *convolver, uint64_t number, uint64_t *at);

/* While no step runs: whether a switch has begun, at frame *at, and not ended. */
bool convolver_is_within_switch(const struct filter *convolver, uint64_t *at);

/* Best block length for a file, in frames, at most `most`. On the CPU it depends on the mask and on
 * `most` alone, and so do the samples; a GPU takes settings->block, unless it is 0. */
size_t convolver_preferred_block(const struct convolver_settings *settings, const struct mask *mask,
                                 size_t most);

#endif
