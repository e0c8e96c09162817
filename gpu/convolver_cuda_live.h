/* The live variant of the backend "cuda", private to its set-up (convolver_cuda_live.c), masks
 * (convolver_cuda_live_mask.c) and step (convolver_cuda_live_step.c). */
#ifndef HALO_GPU_CONVOLVER_CUDA_LIVE_H
#define HALO_GPU_CONVOLVER_CUDA_LIVE_H

#include "base/realtime.h"
#include "gpu/block_plan.h"
#include "gpu/convolver_cuda.h"
#include "gpu/fault.h"
#include "gpu/gpu.h"
#include "gpu/live_kernels.h"
#include "signal/fft_double.h"

#include <stdatomic.h>

static const double LIVE_ANSWER_SECONDS = 2; /* until a GPU that does not answer has failed */

typedef uint32_t packet __attribute__((vector_size(16))); /* stored and loaded in one piece */

/* Device memory of a mask, to be reused. */
struct piece {
    struct piece *next;
    size_t bytes;
    uint32_t retired; /* the last block that may have used it */
    void *memory;
};

struct gpu_live_mask {
    unsigned code;
    struct piece *piece;
};

/* A block not yet sent: the GPU was behind when it came. */
struct owed {
    packet header; /* without its number */
    float *in;     /* channel after channel */
};

enum { LIVE_OWED_MOST = 16 }; /* blocks that the GPU may be behind */

struct gpu_live {
    struct convolver_shape shape;
    int device;
    bool resident;
    bool running; /* the resident kernel was launched */
    bool lost;    /* it does not answer */
    unsigned blocks;
    size_t partitions; /* of the longest mask */
    struct live_state state;
    struct fft_double *fft;
    packet *in; /* the host's view of state.in and state.out */
    packet *out;
    cudaStream_t stream, copies;
    cudaGraphExec_t graph;
    _Atomic uint32_t number; /* of the last block that was sent */
    struct owed owed[LIVE_OWED_MOST];
    uint64_t taken;      /* blocks received; the last ones are in `owed` */
    uint64_t sent;       /* of these; each after the previous one was answered */
    bool awaiting;       /* the answer to the last one sent is missing */
    double behind_since; /* seconds; 0: the GPU is in time */
    unsigned generation;
    bool used[LIVE_MASKS]; /* entries of state.masks */
    struct piece *spare;
    struct fault fault;
    cudaError_t error;
    struct gpu_live *next; /* in the list of all live convolvers */
};

/* Where `role` of block `number` is written. */
HALO_REALTIME static inline volatile packet *region(const struct gpu_live *live, uint32_t number,
                                                    size_t role)
{
    const struct live_state *state = &live->state;
    return live->in + ((number & 1) * state->roles + role) * (1 + state->packets);
}

/* Packets of an answer, all slots. */
HALO_REALTIME static inline size_t live_answers(const struct live_state *state)
{
    return (size_t)LIVE_SLOTS * state->outputs * state->packets;
}

HALO_REALTIME static inline struct gpu_live *live_of(const struct convolution *convolution)
{
    return (struct gpu_live *)convolution; /* the control side modifies it too */
}

HALO_REALTIME static inline const struct gpu_live_mask *
live_mask_of(const struct convolver_slot *slot)
{
    return (const struct gpu_live_mask *)slot->prepared;
}

/* Control thread. See struct convolver_backend. */
enum status live_prepare(const struct convolution *convolution, const struct mask *mask,
                         struct prepared **prepared);
void live_release(const struct convolution *convolution, struct prepared *prepared);

/* Real-time, except starting a resident kernel. */
void live_post(struct convolution *convolution, const float *const *in,
               const struct convolver_slot slots[CONVOLVER_SLOTS]);
bool live_collect(struct convolution *convolution,
                  const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until);
void cuda_live_step(struct convolution *convolution, const float *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Start the resident kernel unless it runs. */
cudaError_t live_bring_back(struct gpu_live *live);

#endif
