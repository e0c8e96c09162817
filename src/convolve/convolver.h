/* The convolver: a filter made of input history and a current mask.
 *
 * Prepared masks are immutable; the control thread creates them. Switching masks does not touch
 * the history, so that a new mask is exact from its first frame. All masks of one convolver have
 * the same inputs and outputs and at most `taps` taps.
 *
 * Backends are rows of a table in convolver_choice.c: "cpu", "cuda" and "direct".
 */
#ifndef HALO_CONVOLVER_H
#define HALO_CONVOLVER_H

#include "base/numa_place.h"
#include "base/realtime.h"
#include "base/status.h"
#include "base/workers.h"
#include "convolve/gpu_devices.h"
#include "convolve/path_table.h"
#include "convolve/prover.h"
#include "mask/mask.h"
#include "sound/filter.h"

enum gpu_mode { GPU_MODE_AUTO, GPU_MODE_RESIDENT, GPU_MODE_GRAPH };

enum { GPU_LIVE_BLOCK_MOST = 2048 }; /* frames: longer blocks use the batch convolver */

/* All zero: automatic. */
struct gpu_settings {
    const char *kernel;         /* a kernel's name; NULL: the fastest */
    enum gpu_mode mode;         /* other than auto: block by block, as live */
    struct gpu_devices devices; /* one at most; a batch has several */
};

struct convolver_backend;
struct convolver_service; /* convolver_service.h */

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
 * far as it is known (backend_cost.h); NULL: nothing is. Control thread. */
struct backend_job;
void convolver_expect(const struct convolver_settings *settings, const struct backend_job *job);

/* Whether there may be such a backend, and a job is worth looking for. */
bool convolver_expects(const struct convolver_settings *settings);

/* Wait for that, before the program ends. */
void convolver_settle(void);

/* The error of a backend that is not in this build. */
enum status fail_no_cuda(void);

/* On a backend that need not be in the table. */
MUST_CHECK enum status convolver_create_on(const struct convolver_backend *backend,
                                           const struct convolver_settings *settings,
                                           const struct mask *mask, struct filter **convolver);

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

/* ---- interface of a backend ---- */

enum {
    CONVOLVER_SLOTS = 2, /* masks active at once */
    CONVOLVER_WHY = 192, /* characters */
};

struct convolution; /* a backend's history and scratch memory */
struct prepared;    /* a backend's form of a mask */

struct convolver_shape {
    size_t inputs;
    size_t outputs;
    size_t paths; /* of the first mask */
    size_t taps;
    enum precision precision;
    uint32_t rate; /* Hz; 0: unknown */
    size_t block;
    int64_t frames; /* of the whole sound; 0 or less: unknown */
    bool live;
    bool alike;
    bool has_choices; /* other masks may follow the first one */
    struct gpu_settings gpu;
    const struct convolver_service *service;
    struct workers *workers;
};

/* Nanoseconds from one block of a stream to the next; at 48 kHz, if its rate is not known. */
HALO_REALTIME static inline int64_t convolver_period(const struct convolver_shape *shape)
{
    return (int64_t)(1e9 * (double)shape->block / (double)(shape->rate ? shape->rate : 48000));
}

/* A mask active in a step. A slot keeps its mask from step to step; pending results belong to
 * the slot. */
struct convolver_slot {
    const struct prepared *prepared; /* NULL: inactive */
    bool fresh;                      /* new to this slot; for backends without `arm` */
    float *const *out;               /* one of the two */
    double *const *out_in_double;
};

struct convolver_backend {
    const char *name;
    const struct convolver_backend *in_double; /* for double precision. NULL: there is none */
    /* Whether auto may choose it. NULL: no. */
    bool (*is_usable)(void);
    /* Of the processor's memory, in bytes a second, where `is_usable`; 0: unknown. */
    double (*bandwidth)(void);
    /* Begin in a thread what every convolver needs; and wait for it. NULL: nothing takes long. */
    void (*expect)(const struct gpu_settings *gpu, size_t taps); /* taps 0: unknown */
    void (*settle)(void);
    /* The backend to use for this shape and first mask. NULL: this one. */
    const struct convolver_backend *(*variant)(const struct convolver_shape *shape,
                                               const struct mask *mask);
    /* Go beside its processor, until numa_leave: memory and threads that are made then are near it.
     * NULL: it is the same everywhere. */
    void (*enter)(const struct convolver_shape *shape, struct numa_before *before);
    /* Best block length for files, in frames. NULL: partition_preferred_block. */
    size_t (*preferred_block)(size_t taps, size_t most);
    /* NULL: not in this build; only `name` is set then. */
    enum status (*create)(const struct convolver_shape *shape, struct convolution **convolution);
    void (*destroy)(struct convolution *convolution);
    void (*reset)(struct convolution *convolution);
    /* The algorithm, for messages. */
    void (*describe)(const struct convolution *convolution, char *text, size_t size);
    /* Cause of a permanent failure in a step, or NULL. NULL itself: cannot fail. */
    const char *(*failure)(const struct convolution *convolution);

    /* Control thread, in parallel with the step. */
    enum status (*prepare)(const struct convolution *convolution, const struct mask *mask,
                           struct prepared **prepared);
    void (*release)(const struct convolution *convolution, struct prepared *prepared);

    /* Real-time, between steps, one slot at a time: compute what `prepared` adds to coming blocks
     * from the history, on an inactive slot: all of it, or a share. True once the slot may become
     * active. NULL: `fresh` is enough. */
    bool (*arm)(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                bool at_once);

    /* The step in two halves: send the block, then wait until `until` (monotonic_ns) for the
     * outputs. False: they are late and undefined; the next block can be posted nevertheless.
     * NULL: the backend does not wait for another processor. */
    void (*post)(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
    bool (*collect)(struct convolution *convolution,
                    const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until);

    /* Whether the last step did what a worker of the backend should have done. NULL: no workers. */
    bool (*is_worker_late)(const struct convolution *convolution);

    /* Add one block to the history and write the outputs of each slot: one of the two. */
    void (*step)(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
    void (*step_in_double)(struct convolution *convolution, const double *const *in,
                           const struct convolver_slot slots[CONVOLVER_SLOTS]);
};

extern const struct convolver_backend convolver_cuda;
extern const struct convolver_backend convolver_direct;
extern const struct convolver_backend convolver_cpu;
extern const struct convolver_backend convolver_direct_in_double; /* `in_double` of the others */
extern const struct convolver_backend convolver_cpu_in_double;

#endif
