/* Live streams of many channels: each block is a CUDA graph of kernels that share all channels out
 * over the device. The host writes a header and the inputs, channel after channel, into pinned
 * memory; large ones are copied to the device beside it, small ones are read from there. The first
 * kernel answers: it adds the first taps of the masks to what is due from earlier blocks and
 * writes the outputs into mapped pinned memory, with a flag per piece, so that the host can take
 * the first ones while the last are computed. The other kernels do the block's share of the
 * partitions (live_ladder.h).
 *
 * Spectra are in the order in which a transform leaves them, bit-reversed (live_transform.cuh).
 */
#ifndef HALO_GPU_LIVE_GRAPH_KERNELS_H
#define HALO_GPU_LIVE_GRAPH_KERNELS_H

#include "gpu/live_kernels.h"
#include "gpu/live_ladder.h"

enum {
    LIVE_PIECE = 8,        /* warps of a thread block that answers */
    LIVE_PRODUCT_TEAM = 8, /* warps of a thread block that adds products */
    LIVE_SPAN = 128,       /* frames of an output, or taps, that a warp takes at once */
    LIVE_TILE = 2048,      /* points that a thread block transforms together, at least */
};

/* A mask on the device. */
struct live_graph_mask {
    const unsigned *first; /* paths to output o: first[o] up to first[o + 1] */
    const struct live_path *paths;
    const float *heads;                 /* column after column, block floats apart */
    const float2 *spectra[LIVE_LEVELS]; /* column after column, partition after partition */
    unsigned partitions[LIVE_LEVELS];
    unsigned head; /* taps */
};

/* What precedes the samples of a block; LIVE_FRESH, LIVE_ARMED and LIVE_TRAP in `flags`. */
struct live_header {
    unsigned codes[LIVE_SLOTS];
    unsigned flags;
    unsigned number;
};

/* Device memory, except `flags`, `out` and perhaps `header` and `in`: mapped host memory. */
struct live_graph_state {
    unsigned inputs, outputs, block;
    unsigned stride;       /* floats from channel to channel of `in` and `out` */
    unsigned items;        /* per output: LIVE_SPAN frames each, or what is left */
    unsigned team;         /* warps per item: 1 or, where there are few items, LIVE_PIECE */
    unsigned product_team; /* warps per products of an output: a power of two */
    unsigned pieces;       /* of LIVE_PIECE / team items */
    unsigned tile;         /* points that a thread block transforms together */
    unsigned processors;   /* of the device */
    struct live_ladder ladder;
    const struct live_header *header;
    struct live_header *kept; /* for what follows the answer: the host may write the next one */
    const float *in;          /* inputs x stride */
    float *out;               /* slots x outputs x stride */
    unsigned *flags;          /* pieces: the last block that is answered */
    const struct live_graph_mask *masks; /* LIVE_MASKS */
    float *time;                         /* inputs x window x block */
    float2 *spectra[LIVE_LEVELS];        /* inputs x depth x bins */
    float4 *sums[LIVE_LEVELS];           /* slots x outputs x bins / 2 */
    float *due[LIVE_LEVELS];             /* slots x 2 x outputs x size: of two jobs in turn */
    const double2 *turns;                /* bins_most, of the ladder: exp(-pi i k / bins_most) */
    const double2 *reversed;             /* the same, in the order of bit-reversed indices */
    unsigned turns_log2;
};

/* The spectra of a column of `taps` taps at `column` in device memory, partition after partition of
 * level `l`. */
cudaError_t live_graph_transform(const struct live_graph_state *state, unsigned l,
                                 const double *column, unsigned taps, unsigned partitions,
                                 float2 *spectra, cudaStream_t stream);

/* Load the kernels, and allow them the memory they need; bins that fit are returned. */
cudaError_t live_graph_load(unsigned *bins_most);

/* The kernels of a block; `is_new`: some slot's mask is. */
cudaError_t live_graph_launch(const struct live_graph_state *state, bool is_new,
                              cudaStream_t stream);

#endif
