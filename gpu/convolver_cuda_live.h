/* The live variant of the backend "cuda". It is private to convolver_cuda_live.c, which sets it up
 * and prepares masks, and to convolver_cuda_live_step.c, which has the step and the graph of a
 * block. */
#ifndef HALO_GPU_CONVOLVER_CUDA_LIVE_H
#define HALO_GPU_CONVOLVER_CUDA_LIVE_H

#include "base/realtime.h"
#include "gpu/block_plan.h"
#include "gpu/convolver_cuda.h"
#include "gpu/gpu.h"
#include "gpu/live_graph_kernels.h"
#include "gpu/live_kernels.h"
#include "signal/fft_double.h"

#include <stdatomic.h>

static const double LIVE_ANSWER_SECONDS = 2; /* until a GPU that does not answer has failed */

typedef uint32_t packet __attribute__((vector_size(16))); /* stored and loaded in one piece */

/* Device memory of a mask, to be reused. */
struct piece {
    struct piece *next;
    size_t bytes;
    uint64_t named; /* the last block that names its mask; 0: none */
    void *memory;
};

struct gpu_live_mask {
    unsigned code;
    struct piece *piece;
    bool is_slow;           /* what it has missed takes longer than a block should */
    _Atomic uint64_t named; /* the last block that does, written by the step; 0: none */
};

/* A block not yet sent: the GPU was behind when it came. */
struct owed {
    packet header; /* without its number */
    float *in;     /* channel after channel */
};

/* A mask that takes part in the partitions before it is heard: a slow one is heard only when all
 * that is due to it was made in the blocks before. */
struct live_arming {
    unsigned code;              /* 0: none */
    struct gpu_live_mask *mask; /* valid while it is wanted */
    size_t slot;
    uint32_t since; /* block */
    bool wanted;    /* in the coming block */
};

enum { LIVE_OWED_MOST = 16 }; /* blocks that the GPU may be behind */

/* Between the stream's buffers and pinned memory, in pieces of `each` channels. */
struct live_copies {
    struct step_crew *crew; /* NULL: the step copies alone */
    size_t each;
    uint32_t part;          /* number of the copies now: a block's inputs, or its outputs */
    _Atomic size_t next;    /* piece */
    atomic_bool given_up;   /* the answer comes late, or not at all */
    _Atomic uint32_t *done; /* of each piece, the last part */
    const float *const *in;
    const struct convolver_slot *slots; /* NULL: nobody wants the outputs */
    bool wanted[LIVE_SLOTS];
};

/* What a graph has instead of packets. */
struct gpu_live_graph {
    struct live_graph_state state;
    cudaGraphExec_t blocks[2];  /* [1]: with a mask that is new to its slot */
    struct live_header *header; /* the host's; `samples` follow it */
    float *samples;             /* channel after channel */
    size_t bytes;               /* of both */
    char *on_device;            /* where they are copied to; NULL: they are read from the host */
    const float *out;           /* the host's view of state.out and state.flags */
    const uint32_t *flags;
    double *column; /* on the device: of a mask being prepared */
    size_t copied;  /* bytes of this block on their way to the device */
    struct live_copies copies;
};

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
    struct gpu_live_graph graph; /* unless `resident` */
    _Atomic uint32_t number;     /* of the last block that was sent */
    struct owed owed[LIVE_OWED_MOST];
    const float **owed_in; /* the channels of the one that is sent */
    uint64_t taken;        /* blocks received; the last ones are in `owed` */
    _Atomic uint64_t sent; /* of these; each after the previous one was answered */
    bool awaiting;         /* the answer to the last one sent is missing */
    double behind_since;   /* seconds; 0: the GPU is in time */
    unsigned generation;
    struct live_arming arming;
    struct live_entries entries; /* of state.masks */
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

/* The step notes in which block it was named. */
HALO_REALTIME static inline struct gpu_live_mask *live_mask_of(const struct prepared *prepared)
{
    return (struct gpu_live_mask *)prepared;
}

/* Real-time, except starting a resident kernel. */
void live_post(struct convolution *convolution, const float *const *in,
               const struct convolver_slot slots[CONVOLVER_SLOTS]);
bool live_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
              bool at_once);
bool live_collect(struct convolution *convolution,
                  const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until);
void cuda_live_step(struct convolution *convolution, const float *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Start the resident kernel unless it runs. */
cudaError_t live_bring_back(struct gpu_live *live);

/* Real-time: between the polls of an answer, the number of which is `spins`. *in_time is set to
 * false after `until`. */
cudaError_t live_wait(struct gpu_live *live, size_t spins, int64_t until, bool *in_time);

/* Control thread: zeroed memory of the device, and of the host as the device's too. */
cudaError_t live_alloc(void **memory, size_t bytes, cudaStream_t stream);
cudaError_t live_map(void **host, void **device, size_t bytes);

/* ---- where each block is a graph ---- */

/* Control thread. */
cudaError_t live_graph_create(struct gpu_live *live);
void live_graph_destroy(struct gpu_live *live);
cudaError_t live_graph_silence(struct gpu_live *live);
enum status live_graph_prepare(struct gpu_live *live, const struct mask *mask,
                               struct gpu_live_mask *prepared);

/* The answer to it, to the slots in `header`; slots is NULL where it is too late to be used. */
cudaError_t live_graph_await(struct gpu_live *live, const packet *header,
                             const struct convolver_slot *slots, int64_t until, bool *in_time);

/* ---- masks ---- */

/* Their places in a piece. Control thread. */
static inline size_t live_rounded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

enum status live_fill_paths(const struct mask *mask, unsigned *first, struct live_path *paths);
enum status live_alloc_piece(struct gpu_live *live, size_t bytes, struct piece **piece);

/* Give the mask an entry of the table `masks` and a code. */
cudaError_t live_enter(struct gpu_live *live, const void *masks, const void *entry, size_t bytes,
                       struct gpu_live_mask *prepared);

#endif
