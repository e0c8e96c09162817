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

#include "filter.h"
#include "mask.h"
#include "status.h"
#include "workers.h"

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
    struct gpu_settings gpu;
    struct workers *workers; /* not owned; outlives the convolver */
};

/* Name of backend `index`, or NULL past the last. */
const char *convolver_backend_name(size_t index);
bool convolver_backend_exists(const char *name); /* "auto" too */

/* The filter's latency is the first mask's origin, its tail taps - 1. A backend that can
 * fail in a step (a GPU) has the CPU standing by: made ready here, and handed the last
 * inputs at the block where the failure happens, so that the sound goes on unharmed (live
 * it may come late: a long past takes the CPU its time); filter->notice then says so.
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

struct convolver_change;

/* Control thread: prepare `mask` and have the step take it over from frame `at`
 * of the convolver's input (frames already past: from the next block on). For
 * `fade` frames both masks sound: frame at + i has the weight i / fade of the
 * new one. One change at a time: convolver_change_collect the one before first.
 * The step in which a mask begins to sound computes what is to come of the past: for a long
 * mask in short blocks that takes it longer than a block.
 * Errors: memory, a mask of other inputs, outputs or origin, or more taps. */
MUST_CHECK enum status convolver_change_begin(struct filter *convolver, const struct mask *mask,
                                              uint64_t at, uint64_t fade);

/* Control thread: true once no change is under way, and the retired mask is freed. */
bool convolver_change_collect(struct filter *convolver);

/* Frames a file should be filtered in at a time, at most `most`. settings->block is not
 * looked at. */
size_t convolver_wish(const struct convolver_settings *settings, const struct mask *mask,
                      size_t most);

/* ---- what a backend provides (convolver_direct.c, convolver_cpu.c) ---- */

enum { CONVOLVER_VOICES = 2 }; /* masks that can sound at once */

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

/* A mask that sounds during a step. A voice keeps its mask from step to step;
 * results that are still to come belong to it. */
struct convolver_voice {
    const struct prepared *prepared; /* NULL: this voice is silent */
    bool fresh;                      /* new to this voice: catch up with the past first */
    float *const *out;
};

struct convolver_backend {
    const char *name;
    /* Whether auto may think of it: the machine has what it needs. NULL: no. */
    bool (*is_usable)(void);
    /* The backend that does it for this shape. NULL: this one. */
    const struct convolver_backend *(*variant)(const struct convolver_shape *shape);
    /* Frames a file should be filtered in at a time. NULL: as partition_wish has it. */
    size_t (*wish)(size_t taps, size_t most);
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

    /* One block enters the history, and each voice gives its outputs. */
    void (*step)(struct convolution *convolution, const float *const *in,
                 const struct convolver_voice voices[CONVOLVER_VOICES]);
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
