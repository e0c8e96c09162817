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
    CONVOLVER_SLOTS = 2, /* masks that are active at once */
    CONVOLVER_WHY = 192, /* bytes of the text that says why a backend was chosen */
};

enum gpu_mode { GPU_MODE_AUTO, GPU_MODE_RESIDENT, GPU_MODE_GRAPH };

enum { GPU_LIVE_BLOCK_MOST = 2048 }; /* frames; longer blocks use the batch convolver */

/* All zero: automatic. */
struct gpu_settings {
    const char *kernel; /* name of a kernel; NULL: the fastest one */
    enum gpu_mode mode; /* unless automatic, files too are convolved block by block, as live */
    struct gpu_devices devices; /* at most one GPU; only halo batch allows several */
};

struct convolver_service; /* see convolver_backend.h */

struct convolver_settings {
    const char *backend; /* a name of convolver_backend_name, or "auto" */
    enum precision precision;
    uint32_t rate;  /* Hz; 0: unknown */
    size_t block;   /* frames */
    size_t taps;    /* taps of the longest mask to come; 0: no mask follows the first one */
    int64_t frames; /* frames of the whole sound, which "auto" asks for; 0 or less: unknown */
    bool live;      /* the caller waits for each block */
    bool alone;     /* for measurements: a GPU has no standby on the CPU */
    /* live, on the CPU: never use double precision near the bound (near_bound.h), so that all masks
     * cost the same */
    bool alike;
    bool mask_stays; /* The first mask outlives the convolver, and no other mask follows. */
    struct gpu_settings gpu;
    struct proof_request proof;
    const struct convolver_service *service; /* replaces `backend` if it can serve; or NULL */
    struct workers *workers;                 /* not owned; must outlive the convolver */
};

/* Name of backend number `index`. NULL: there are fewer backends. */
const char *convolver_backend_name(size_t index);
/* The names that a user may give: "auto" first, then the backends. NULL: the end. */
const char *convolver_choice_name(size_t index);

/* The latency is the first mask's origin, the tail taps - 1 frames.
 *
 * If a GPU fails in a step, a standby on the CPU receives the input history and takes over within
 * the same block, without a gap. filter->notice reports it. In files with `mask_stays` the standby
 * is created only then. Live, if the CPU is fast enough, the standby runs in parallel with the GPU,
 * and supplies any block that the GPU has not finished after 60 % of the block's time. If the CPU
 * is not fast enough, blocks come late after a failure.
 *
 * Errors: memory, an unknown backend, a backend that is not available.
 */
MUST_CHECK enum status convolver_create(const struct convolver_settings *settings,
                                        const struct mask *mask, struct filter **convolver);

/* Whether the convolver uses its first mask's coefficients until it is destroyed (mask_stays). */
bool convolver_needs_mask(const struct filter *convolver);

/* Starts, in a thread, the slow part of a backend's set-up, since a convolver may be created soon.
 * `job` says what is known of the convolver (convolver_choice.h); NULL: nothing. Control thread. */
struct backend_job;
void convolver_expect(const struct convolver_settings *settings, const struct backend_job *job);

/* Whether convolver_expect can start anything with these settings. If not, find no job for it. */
bool convolver_expects(const struct convolver_settings *settings);

/* Waits for the thread of convolver_expect. Call it before the program ends. */
void convolver_settle(void);

/* Reports that a backend is not in this build. */
enum status fail_no_cuda(void);

/* The active backend's name, its algorithm, and why "auto" chose it ("": the user named it). */
const char *convolver_backend(const struct filter *convolver);
const char *convolver_algorithm(const struct filter *convolver);
const char *convolver_reason(const struct filter *convolver);
/* 1 if the convolver's GPU failed, else 0 */
uint64_t convolver_failures(const struct filter *convolver);
/* number of blocks for which the GPU was too late */
uint64_t convolver_late(const struct filter *convolver);

/* Compares the rest of the sound, after the last step. Only if the settings asked for a proof. */
void convolver_prove(struct filter *convolver, struct proof *proof);

/* A mask prepared for one convolver. Immutable. */
struct convolver_mask;

/* Prepares a mask. Control thread, in parallel with the step. The convolver owns the result;
 * convolver_release frees it early. Errors: memory; too many taps; inputs, outputs or origin that
 * differ from the first mask's. */
MUST_CHECK enum status convolver_prepare(struct filter *convolver, const struct mask *mask,
                                         struct convolver_mask **prepared);

/* The mask passed to convolver_create. */
struct convolver_mask *convolver_first_mask(const struct filter *convolver);

/* Frees a prepared mask that no step or switch will use. NULL is allowed. Control thread. */
void convolver_release(struct filter *convolver, struct convolver_mask *prepared);

/* The shape of a transition of `frames` frames:
 *   fade  crossfade
 *   duck  the old mask fades out, then the new one fades in
 *   gap   as duck, with silence during the middle half
 */
enum switch_shape { SWITCH_FADE, SWITCH_DUCK, SWITCH_GAP };

#define CONVOLVER_HELD UINT64_MAX

struct convolver_switch {
    const struct convolver_mask *to;
    /* Input frame at which the switch begins; if it is past, the next block. CONVOLVER_HELD: the
     * mask is armed and waits for convolver_begin_switch. */
    uint64_t at;
    uint64_t frames;
    enum switch_shape shape;
};

/* Requests a switch. Control thread. Live, the step first computes what the new mask makes of the
 * history, with a tenth of each block's time, and begins the switch when that is done. In files the
 * switch begins at its frame. Errors: memory, the previous switch is still under way. */
MUST_CHECK enum status convolver_switch(struct filter *convolver,
                                        const struct convolver_switch *to);

/* Begins a held switch `frames` frames into the coming block. The step's thread; real-time. */
void convolver_begin_switch(struct filter *convolver, uint64_t frames);

/* Whether no switch is under way. If so, *at is set to the frame where the last one began. Control
 * thread; with NULL for `at` also the step's thread, real-time. */
bool convolver_switched(const struct filter *convolver, uint64_t *at);

/* Whether switch `number`, counted from 1, has begun. If it is the last one requested, *at is set
 * to the frame where it began. The step's thread; real-time. */
bool convolver_has_begun(const struct filter *convolver, uint64_t number, uint64_t *at);

/* Whether a switch has begun, at frame *at, and not ended. Call it while no step runs. */
bool convolver_is_within_switch(const struct filter *convolver, uint64_t *at);

/* The best block length for a file, in frames, at most `most`. On the CPU it depends only on the
 * mask and `most`, so that the samples do, too. On a GPU: settings->block, unless that is 0. */
size_t convolver_preferred_block(const struct convolver_settings *settings, const struct mask *mask,
                                 size_t most);

#endif
