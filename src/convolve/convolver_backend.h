/* What a backend of the convolver implements. Backends are rows of a table in convolver_choice.c.
 */
#ifndef HALO_CONVOLVER_BACKEND_H
#define HALO_CONVOLVER_BACKEND_H

#include "base/machine.h"
#include "base/realtime.h"
#include "convolve/convolver.h"
#include "convolve/path_table.h"

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
    /* The bandwidth of the processor's memory, bytes a second, where `is_usable`; 0: unknown. */
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

/* On a backend that need not be in the table. */
MUST_CHECK enum status convolver_create_on(const struct convolver_backend *backend,
                                           const struct convolver_settings *settings,
                                           const struct mask *mask, struct filter **convolver);

extern const struct convolver_backend convolver_cuda;
extern const struct convolver_backend convolver_direct;
extern const struct convolver_backend convolver_cpu;
extern const struct convolver_backend convolver_direct_in_double; /* `in_double` of the others */
extern const struct convolver_backend convolver_cpu_in_double;

/* A backend that the convolvers of many jobs share: what a batch offers to them (gather.h), instead
 * of the backend that their settings name. */
struct convolver_service {
    const struct convolver_backend *backend;
    /* Whether it can take a convolver of that shape now. Threads: any. */
    bool (*serves)(const struct convolver_service *service, const struct convolver_shape *shape,
                   const struct mask *mask);
    /* The longest block for so many channels and taps, in frames; 0: none. */
    size_t (*block_most)(size_t channels, size_t taps);
};

#endif
