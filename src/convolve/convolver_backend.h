/* The interface of a convolver's backend. convolver_choice.c has the table of backends. */
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
    size_t paths; /* paths of the first mask */
    size_t taps;
    enum precision precision;
    uint32_t rate; /* Hz; 0: unknown */
    size_t block;
    int64_t frames; /* frames of the whole sound; 0 or less: unknown */
    bool live;
    bool alike;
    bool has_choices; /* other masks may follow the first one */
    struct gpu_settings gpu;
    const struct convolver_service *service;
    struct workers *workers;
};

/* Nanoseconds from one block of a stream to the next. If the rate is unknown, 48 kHz is assumed. */
HALO_REALTIME static inline int64_t convolver_period(const struct convolver_shape *shape)
{
    return (int64_t)(1e9 * (double)shape->block / (double)(shape->rate ? shape->rate : 48000));
}

/* A mask that is active in a step. A slot keeps its mask from step to step. Results that are not
 * yet due belong to the slot. */
struct convolver_slot {
    const struct prepared *prepared; /* NULL: the slot is inactive */
    bool fresh;        /* The mask is new to this slot. Only backends without `arm` read it. */
    float *const *out; /* the outputs, unless in double precision */
    double *const *out_in_double; /* the outputs in double precision */
};

struct convolver_backend {
    const char *name;
    const struct convolver_backend *in_double; /* the variant in double precision, or NULL */
    /* Whether "auto" may choose the backend. NULL: no. */
    bool (*is_usable)(void);
    /* Bandwidth of the processor's memory, in bytes a second; 0: unknown. Called if `is_usable`. */
    double (*bandwidth)(void);
    /* `expect` starts, in a thread, what every convolver of the backend needs. `settle` waits for
     * that thread. NULL: nothing takes long. `taps` is 0 if unknown. */
    void (*expect)(const struct gpu_settings *gpu, size_t taps);
    void (*settle)(void);
    /* The backend to use for this shape and first mask. NULL: this one. */
    const struct convolver_backend *(*variant)(const struct convolver_shape *shape,
                                               const struct mask *mask);
    /* Moves this thread to processors near the GPU, until numa_leave. Memory allocated and threads
     * started meanwhile are near it, too. NULL: the place makes no difference. */
    void (*enter)(const struct convolver_shape *shape, struct numa_before *before);
    /* Best block length for files, in frames. NULL: partition_preferred_block. */
    size_t (*preferred_block)(size_t taps, size_t most);
    /* NULL: the backend is not in this build, and only `name` is set. */
    enum status (*create)(const struct convolver_shape *shape, struct convolution **convolution);
    void (*destroy)(struct convolution *convolution);
    void (*reset)(struct convolution *convolution);
    /* Writes the name of the algorithm, for messages. */
    void (*describe)(const struct convolution *convolution, char *text, size_t size);
    /* Cause of a permanent failure in a step; or NULL. The pointer is NULL if no step can fail. */
    const char *(*failure)(const struct convolution *convolution);

    /* `prepare` and `release`: control thread, in parallel with the step. */
    enum status (*prepare)(const struct convolution *convolution, const struct mask *mask,
                           struct prepared **prepared);
    void (*release)(const struct convolution *convolution, struct prepared *prepared);

    /* Computes, from the history, what `prepared` adds to coming blocks, on an inactive slot: a
     * share in each call, or all with `at_once`. True: the slot may become active. The pointer is
     * NULL if the backend uses `fresh` instead. Real-time, between steps, one slot at a time. */
    bool (*arm)(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                bool at_once);

    /* The step in two halves. `post` sends the block; `collect` waits for the outputs until `until`
     * (monotonic_ns). False: the outputs are late and undefined, but the next block can be posted.
     * NULL: the backend does not wait for another processor. */
    void (*post)(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
    bool (*collect)(struct convolution *convolution,
                    const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until);

    /* Whether the last step did a worker's work. NULL: the backend has no workers. */
    bool (*is_worker_late)(const struct convolution *convolution);

    /* Adds one block to the history and writes the outputs of each active slot. A backend has one
     * of the two functions, for its precision. */
    void (*step)(struct convolution *convolution, const float *const *in,
                 const struct convolver_slot slots[CONVOLVER_SLOTS]);
    void (*step_in_double)(struct convolution *convolution, const double *const *in,
                           const struct convolver_slot slots[CONVOLVER_SLOTS]);
};

/* Creates a convolver on `backend`, which need not be in the table. */
MUST_CHECK enum status convolver_create_on(const struct convolver_backend *backend,
                                           const struct convolver_settings *settings,
                                           const struct mask *mask, struct filter **convolver);

extern const struct convolver_backend convolver_cuda;
extern const struct convolver_backend convolver_direct;
extern const struct convolver_backend convolver_cpu;
/* double precision for cuda and direct */
extern const struct convolver_backend convolver_direct_in_double;
extern const struct convolver_backend convolver_cpu_in_double;

/* A backend that convolvers of many jobs share. halo batch offers it (gather.h); it replaces the
 * backend that the settings name. */
struct convolver_service {
    const struct convolver_backend *backend;
    /* Whether the service can take a convolver of that shape now. Any thread. */
    bool (*serves)(const struct convolver_service *service, const struct convolver_shape *shape,
                   const struct mask *mask);
    /* The longest block for so many channels and taps, in frames; 0: the service takes none. */
    size_t (*block_most)(size_t channels, size_t taps);
};

#endif
