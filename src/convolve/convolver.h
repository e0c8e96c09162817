/* The convolver: a filter made of input history and a current mask.
 *
 * Prepared masks are immutable and made ahead by the control thread. The
 * history belongs to the convolver; changing the mask never touches it, so the
 * new mask is exact from its first frame. All masks of one convolver have the
 * same inputs and outputs and at most `taps` taps.
 *
 * Backends are rows of one table (convolver.c): "cpu", "cuda" and "direct".
 */
#ifndef HALO_CONVOLVER_H
#define HALO_CONVOLVER_H

#include "base/status.h"
#include "base/workers.h"
#include "mask/mask.h"
#include "sound/filter.h"

enum gpu_mode { GPU_MODE_AUTO, GPU_MODE_RESIDENT, GPU_MODE_GRAPH };

enum { GPU_LIVE_BLOCK_MOST = 2048 }; /* frames: longer blocks are filtered as files are */

/* How a GPU goes about it; all zero leaves it to the program. */
struct gpu_settings {
    const char *kernel; /* a kernel's name; NULL: the fastest */
    enum gpu_mode mode; /* other than auto: answer block by block, as live */
    uint64_t devices;   /* bit d: use GPU d; 0: the first */
};

struct convolver_settings {
    const char *backend; /* a name of convolver_backend_name, or "auto" */
    uint32_t rate;       /* Hz; 0: not known */
    size_t block;        /* frames */
    size_t taps;         /* the longest mask to come; 0: the first one's */
    int64_t frames;      /* of the whole sound, for auto; 0 or less: not known */
    bool live;           /* blocks come one by one and each is waited for */
    bool alone;          /* live on a GPU, the CPU does not run along: to measure it */
    struct gpu_settings gpu;
    struct workers *workers; /* not owned; outlives the convolver */
};

/* Name of backend `index`, or NULL past the last. */
const char *convolver_backend_name(size_t index);
bool convolver_backend_exists(const char *name); /* "auto" too */

/* The filter's latency is the first mask's origin, its tail taps - 1. A backend that can
 * fail in a step (a GPU) has the CPU standing by: made ready here, and handed the last
 * inputs at the block where the failure happens, so that the sound goes on unharmed;
 * filter->notice then says so. Live, where the CPU can afford it, it runs along beside the
 * GPU, which has 60 % of a block's time: a block that is late comes from the CPU.
 * Errors: memory, an unknown backend, one that cannot work here. */
MUST_CHECK enum status convolver_create(const struct convolver_settings *settings,
                                        const struct mask *mask, struct filter **convolver);

/* The same on a given backend, not one of the table. */
struct convolver_backend;
MUST_CHECK enum status convolver_create_on(const struct convolver_backend *backend,
                                           const struct convolver_settings *settings,
                                           const struct mask *mask, struct filter **convolver);

/* The backend at work, how it goes about it, and why auto chose it ("" if it did not). */
const char *convolver_backend(const struct filter *convolver);
const char *convolver_algorithm(const struct filter *convolver);
const char *convolver_reason(const struct filter *convolver);
uint64_t convolver_failures(const struct filter *convolver); /* GPUs left for the CPU: 0 or 1 */
uint64_t convolver_late(const struct filter *convolver);     /* blocks the CPU stepped in for */

/* A mask, prepared for one convolver. Immutable. */
struct convolver_mask;

/* Control thread, beside the step. What is not released before goes with the convolver.
 * Errors: memory, a mask of other inputs, outputs or origin, or more taps. */
MUST_CHECK enum status convolver_prepare(struct filter *convolver, const struct mask *mask,
                                         struct convolver_mask **prepared);

/* The one that the convolver was created with. */
struct convolver_mask *convolver_first_mask(const struct filter *convolver);

/* Control thread: forget a mask that neither sounds nor is about to, or NULL. */
void convolver_release(struct filter *convolver, struct convolver_mask *prepared);

/* How the mask that sounds gives way to another within `frames` frames: by a crossfade, or
 * one fading out before the other fades in, or that with a silence of half the time between. */
enum switch_shape { SWITCH_FADE, SWITCH_DUCK, SWITCH_GAP };

struct convolver_switch {
    const struct convolver_mask *to;
    uint64_t at; /* frame of the convolver's input; the next block where that is past */
    uint64_t frames;
    enum switch_shape shape;
};

/* Control thread: have the step take over another mask. Live, the step first computes what
 * the new mask makes of the past, in shares of a tenth of a block's time, and the switch
 * is put off until that is done; otherwise it happens at its frame.
 * Errors: the switch before has not come to its end. */
MUST_CHECK enum status convolver_switch(struct filter *convolver,
                                        const struct convolver_switch *to);

/* Control thread: whether no switch is under way. `at`, if not NULL: where the last one
 * began. */
bool convolver_switched(const struct filter *convolver, uint64_t *at);

/* Frames a file should be filtered in at a time, at most `most`. settings->block is not
 * looked at. */
size_t convolver_preferred_block(const struct convolver_settings *settings, const struct mask *mask,
                                 size_t most);

/* ---- what a backend provides (convolver_direct.c, convolver_cpu.c) ---- */

enum { CONVOLVER_SLOTS = 2 }; /* masks that can sound at once */

struct convolution; /* a backend's history and scratch memory */
struct prepared;    /* a backend's form of a mask */

struct convolver_shape {
    size_t inputs;
    size_t outputs;
    size_t taps;
    uint32_t rate; /* Hz; 0: not known */
    size_t block;
    bool live;
    struct gpu_settings gpu;
    struct workers *workers;
};

/* A mask that sounds during a step. A slot keeps its mask from step to step;
 * results that are still to come belong to it. */
struct convolver_slot {
    const struct prepared *prepared; /* NULL: this slot is silent */
    bool fresh;                      /* new to this slot; of backends that do not arm */
    float *const *out;
};

struct convolver_backend {
    const char *name;
    /* Whether auto may think of it: the machine has what it needs. NULL: no. */
    bool (*is_usable)(void);
    /* The backend that does it for this shape. NULL: this one. */
    const struct convolver_backend *(*variant)(const struct convolver_shape *shape);
    /* Frames a file should be filtered in at a time. NULL: as partition_wish has it. */
    size_t (*preferred_block)(size_t taps, size_t most);
    /* NULL: the backend is not in this build; nothing else is there but its name. */
    enum status (*create)(const struct convolver_shape *shape, struct convolution **convolution);
    void (*destroy)(struct convolution *convolution);
    void (*reset)(struct convolution *convolution);
    /* How it goes about it, for people. */
    void (*describe)(const struct convolution *convolution, char *text, size_t size);
    /* What a step has failed at for good, or NULL. NULL itself: never fails. */
    const char *(*failure)(const struct convolution *convolution);

    /* Control thread; beside the step. */
    enum status (*prepare)(const struct convolution *convolution, const struct mask *mask,
                           struct prepared **prepared);
    void (*release)(const struct convolution *convolution, struct prepared *prepared);

    /* Real-time, between steps: make ready what `prepared` gives to the coming blocks for the
     * past, on a slot that is silent as yet: all of it, or a share. True once it may sound.
     * One slot at a time. NULL: `fresh` is enough. */
    bool (*arm)(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                bool at_once);

    /* The step in two: hand the block over, and wait until `until` (monotonic_ns) for the
     * outputs. False: they are late, and what is in them is nothing; the next block can be
     * posted all the same. NULL: the step does not wait for another processor. */
    void (*post)(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
    bool (*collect)(struct convolution *convolution,
                    const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until);

    /* One block enters the history, and each slot gives its outputs. */
    void (*step)(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
};

extern const struct convolver_backend convolver_cuda;
extern const struct convolver_backend convolver_direct;
extern const struct convolver_backend convolver_cpu;

/* A mask's paths in the order of their outputs: those to `output` are
 * paths[first[output]] up to paths[first[output + 1]]. */
struct path_table {
    size_t *first;
    struct mask_path *paths;
};
MUST_CHECK enum status path_table_init(struct path_table *table, const struct mask *mask);
void path_table_free(struct path_table *table);

#endif
