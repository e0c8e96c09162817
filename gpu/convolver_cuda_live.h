/* The live variant of the backend "cuda". Private to convolver_cuda_live.c (set-up and masks) and
 * convolver_cuda_live_step.c (the step, and the graph of a block). */
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

static const double LIVE_ANSWER_SECONDS = 2; /* a GPU that does not answer for so long has failed */

typedef uint32_t packet __attribute__((vector_size(16))); /* loaded and stored in one piece */

/* Device memory of a mask. It is kept and used again for other masks. */
struct piece {
    struct piece *next;
    size_t bytes;
    uint64_t named; /* last block whose header names the mask; 0: none */
    void *memory;
};

struct gpu_live_mask {
    unsigned code; /* the mask's code in block headers (live_kernels.h) */
    struct piece *piece;
    bool is_slow;           /* catching up with the history takes longer than one block should */
    _Atomic uint64_t named; /* last block whose header names the mask; 0: none */
};

/* A block that is not sent yet, because the GPU was behind when it came. */
struct owed {
    packet header; /* the block's header, without its number */
    float *in;     /* samples, channel after channel */
};

/* A mask that takes part in the partitions before it is heard. A slow mask is heard only when
 * earlier blocks have computed all that is due to it. */
struct live_arming {
    unsigned code;              /* 0: none */
    struct gpu_live_mask *mask; /* valid while `wanted` */
    size_t slot;
    uint32_t since; /* number of the first block in which the mask took part */
    bool wanted;    /* the mask takes part in the coming block */
};

enum { LIVE_OWED_MOST = 16 }; /* the most blocks that the GPU may be behind */

/* Copies of a block between the stream's buffers and pinned memory, `each` channels at a time. */
struct live_copies {
    struct step_crew *crew; /* NULL: the step copies alone */
    size_t each;            /* channels of a piece */
    uint32_t part;        /* number of the current copies, of a block's inputs or of its outputs */
    _Atomic size_t next;  /* next piece to take */
    atomic_bool given_up; /* the step has given up the answer, which is late or lost */
    _Atomic uint32_t *done; /* [piece] number of the last copies in which it was done */
    const float *const *in;
    const struct convolver_slot *slots; /* NULL: the outputs are not wanted */
    bool wanted[LIVE_SLOTS];
};

/* What a convolver has if each block is a graph. */
struct gpu_live_graph {
    struct live_graph_state state;
    cudaGraphExec_t blocks[2];  /* [1]: for a block with a mask that is new to its slot */
    struct live_header *header; /* header in host memory; `samples` follow the header */
    float *samples;             /* inputs of the block, channel after channel */
    size_t bytes;               /* bytes of header and samples */
    char *on_device; /* device memory that they are copied to; NULL: the device reads host memory */
    const float *out;      /* host address of state.out */
    const uint32_t *flags; /* host address of state.flags */
    double *column;        /* column of a mask being prepared; on the device */
    size_t copied;         /* bytes of this block that are being copied to the device */
    struct live_copies copies;
};

struct gpu_live {
    struct convolver_shape shape;
    int device;
    bool resident;
    bool running; /* the resident kernel was launched */
    bool lost;    /* the GPU does not answer any more */
    unsigned blocks;
    size_t partitions; /* partitions of the longest mask */
    struct live_state state;
    struct fft_double *fft;
    packet *in;  /* host address of state.in */
    packet *out; /* host address of state.out */
    cudaStream_t stream, copies;
    struct gpu_live_graph graph; /* unused if `resident` */
    _Atomic uint32_t number;     /* number of the last block that was sent */
    struct owed owed[LIVE_OWED_MOST];
    const float **owed_in; /* channels of the owed block that is being sent */
    uint64_t taken;        /* blocks received; the last ones may be in `owed` */
    _Atomic uint64_t sent; /* blocks sent; each was sent after the previous one was answered */
    bool awaiting;         /* the last block sent is not answered yet */
    double behind_since;   /* seconds; 0: the GPU is in time */
    unsigned generation;
    struct live_arming arming;
    struct live_entries entries; /* the entries of state.masks that are taken */
    struct piece *spare;         /* list of pieces that no mask uses */
    struct fault fault;
    cudaError_t error;
    struct gpu_live *next; /* next in the list of all live convolvers */
};

/* Where the host writes the packets of `role` for block `number`. */
HALO_REALTIME static inline volatile packet *region(const struct gpu_live *live, uint32_t number,
                                                    size_t role)
{
    const struct live_state *state = &live->state;
    return live->in + ((number & 1) * state->roles + role) * (1 + state->packets);
}

/* Number of packets in an answer, for all slots. */
HALO_REALTIME static inline size_t live_answers(const struct live_state *state)
{
    return (size_t)LIVE_SLOTS * state->outputs * state->packets;
}

HALO_REALTIME static inline struct gpu_live *live_of(const struct convolution *convolution)
{
    return (struct gpu_live *)convolution; /* the control side modifies it too */
}

/* Writable, since the step notes in which block the mask was named. */
HALO_REALTIME static inline struct gpu_live_mask *live_mask_of(const struct prepared *prepared)
{
    return (struct gpu_live_mask *)prepared;
}

/* Real-time, except when a resident kernel is started. */
void live_post(struct convolution *convolution, const float *const *in,
               const struct convolver_slot slots[CONVOLVER_SLOTS]);
bool live_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
              bool at_once);
bool live_collect(struct convolution *convolution,
                  const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until);
void cuda_live_step(struct convolution *convolution, const float *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS]);

/* Starts the resident kernel, unless it runs. */
cudaError_t live_bring_back(struct gpu_live *live);

/* Call it between polls, which `spins` counts. Sets *in_time to false after `until`. Real-time. */
cudaError_t live_wait(struct gpu_live *live, size_t spins, int64_t until, bool *in_time);

/* live_alloc: zeroed device memory. live_map: zeroed host memory, mapped. Control thread. */
cudaError_t live_alloc(void **memory, size_t bytes, cudaStream_t stream);
cudaError_t live_map(void **host, void **device, size_t bytes);

/* ---- blocks as graphs ---- */

/* Control thread. */
cudaError_t live_graph_create(struct gpu_live *live);
void live_graph_destroy(struct gpu_live *live);
cudaError_t live_graph_silence(struct gpu_live *live);
enum status live_graph_prepare(struct gpu_live *live, const struct mask *mask,
                               struct gpu_live_mask *prepared);

/* Waits for the answer to `header`'s block and copies it to `slots`. NULL: too late to use. */
cudaError_t live_graph_await(struct gpu_live *live, const packet *header,
                             const struct convolver_slot *slots, int64_t until, bool *in_time);

/* ---- masks ---- */

/* Rounds up to a multiple of 16, for places in a piece. Control thread. */
static inline size_t live_rounded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

enum status live_fill_paths(const struct mask *mask, unsigned *first, struct live_path *paths);
enum status live_alloc_piece(struct gpu_live *live, size_t bytes, struct piece **piece);

/* Gives the mask an entry of the table `masks` and a code. */
cudaError_t live_enter(struct gpu_live *live, const void *masks, const void *entry, size_t bytes,
                       struct gpu_live_mask *prepared);

#endif
