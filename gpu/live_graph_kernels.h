/* Live streams of many channels. Each block is a CUDA graph of kernels that divide the channels
 * among the whole device.
 *
 * The host writes a header and the inputs, channel after channel, into pinned memory. Large blocks
 * are copied to the device; small ones are read from host memory. The first kernel answers: it adds
 * the masks' first taps to the results that are due from earlier blocks. It writes the outputs into
 * mapped pinned memory, with a flag per piece, so that the host can take the first outputs while
 * the last are computed. The other kernels do the block's share of the partitions (live_ladder.h).
 *
 * A transform leaves its spectrum in bit-reversed order, and spectra stay in it
 * (live_transform.cuh).
 */
#ifndef HALO_GPU_LIVE_GRAPH_KERNELS_H
#define HALO_GPU_LIVE_GRAPH_KERNELS_H

#include "gpu/live_kernels.h"
#include "gpu/live_ladder.h"

enum {
    LIVE_PIECE = 8,        /* warps of a thread block that answers */
    LIVE_PRODUCT_TEAM = 8, /* warps of a thread block that adds products */
    LIVE_SPAN = 128,       /* frames of an output, or taps, that a warp computes at once */
    LIVE_TILE = 2048,      /* the least points that a thread block transforms together */
};

/* A mask on the device. */
struct live_graph_mask {
    const unsigned *first; /* paths to output o: first[o] up to first[o + 1] */
    const struct live_path *paths;
    const float *heads;                 /* column after column, `block` floats apart */
    const float2 *spectra[LIVE_LEVELS]; /* [level] column after column, partition after partition */
    unsigned partitions[LIVE_LEVELS];   /* [level] partitions of the mask */
    unsigned head;                      /* taps of the head */
};

/* A block's header, before its samples. `flags`: LIVE_FRESH, LIVE_ARMED and LIVE_TRAP. */
struct live_header {
    unsigned codes[LIVE_SLOTS]; /* [slot] code of its mask (live_kernels.h) */
    unsigned flags;
    unsigned number; /* number of the block */
};

/* The kernels' argument. Its pointers are to device memory, except `flags` and `out`, and perhaps
 * `header` and `in`, which are mapped host memory. */
struct live_graph_state {
    unsigned inputs, outputs, block;
    unsigned stride;       /* floats from channel to channel of `in` and `out` */
    unsigned items;        /* spans of LIVE_SPAN frames per output; the last may be shorter */
    unsigned team;         /* warps per item: 1 or, if there are few items, LIVE_PIECE */
    unsigned product_team; /* warps that share an output's products: a power of two */
    unsigned pieces;       /* pieces of LIVE_PIECE / team items */
    unsigned tile;         /* points that a thread block transforms together */
    unsigned processors;   /* multiprocessors of the device */
    struct live_ladder ladder;
    const struct live_header *header;
    struct live_header *kept; /* copy of the header, since the host may write the next one */
    const float *in;          /* inputs x stride */
    float *out;               /* slots x outputs x stride */
    unsigned *flags;          /* [piece] number of the last block that is answered */
    const struct live_graph_mask *masks; /* [LIVE_MASKS] */
    float *time;                         /* inputs x ladder.window x block: recent samples */
    float2 *spectra[LIVE_LEVELS];        /* inputs x depth x bins of the level */
    float4 *sums[LIVE_LEVELS];           /* slots x outputs x bins / 2 of the level */
    float *due[LIVE_LEVELS]; /* slots x 2 x outputs x size: results of two jobs in turn */
    const double2 *turns;    /* exp(-pi i k / 2^turns_log2) for k < 2^turns_log2 */
    const double2 *reversed; /* as `turns`, in the order of bit-reversed indices */
    unsigned turns_log2;
};

/* Spectra of a column's partitions of level `l`, in order. `column`: `taps` taps on the device. */
cudaError_t live_graph_transform(const struct live_graph_state *state, unsigned l,
                                 const double *column, unsigned taps, unsigned partitions,
                                 float2 *spectra, cudaStream_t stream);

/* Loads the kernels and allows them shared memory. *bins_most: the most bins that fit. */
cudaError_t live_graph_load(unsigned *bins_most);

/* Launches the kernels of a block. `is_new`: a mask is new to its slot. */
cudaError_t live_graph_launch(const struct live_graph_state *state, bool is_new,
                              cudaStream_t stream);

#endif
