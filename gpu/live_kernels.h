/* The protocol between the host and the live kernel, and their shared state.
 *
 * Packets of 16 bytes cross the bus in mapped pinned memory. A packet has three 32-bit values and
 * the number of the block, so that data and flag arrive in one read. For each role the host writes
 * a header and, if the role is an input, its block:
 *
 *   header: { code of slot 0, code of slot 1, flags, number }      data: { 3 samples, number }
 *
 * Two such sets alternate, since a slow thread block may still read the previous one. A code is
 * LIVE_MASKS x generation + entry + 1, where `entry` is the mask's place in the table of masks. The
 * code of a silent slot is 0.
 *
 * The algorithm is uniformly partitioned overlap-save with a direct head (Stockham 1966, Gardner
 * 1995). The first `block` taps are convolved when the block arrives. Each further `block` taps are
 * a partition. Its product with the spectra of earlier blocks is due one block later at the
 * earliest, and is computed after the answer was sent. No mask adds latency.
 */
#ifndef HALO_GPU_LIVE_KERNELS_H
#define HALO_GPU_LIVE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIVE_MASKS = 96, /* entries: prepared masks, and masks that late blocks name */
    LIVE_SLOTS = 2,
    LIVE_THREADS = 512,
    LIVE_BLOCK_MOST = 2048,       /* frames */
    LIVE_FRESH = 1,               /* flag; shifted left by v: the mask is new to slot v */
    LIVE_STOP = 1 << LIVE_SLOTS,  /* flag: the kernel ends */
    LIVE_TRAP = 2 << LIVE_SLOTS,  /* flag, for tests: the kernel traps */
    LIVE_ARMED = 4 << LIVE_SLOTS, /* of graphs; shifted left by v: slot v's mask is being armed */
};

struct live_path {
    unsigned input;
    unsigned column;
};

/* A mask on the device, for the live kernel. */
struct live_mask {
    const unsigned *first; /* paths to output o: first[o] up to first[o + 1] */
    const struct live_path *paths;
    const float *heads;    /* column after column, `head` taps each, block floats apart */
    const float2 *spectra; /* column after column, partition after partition, `bins` each */
    unsigned head;         /* taps of the head */
    unsigned partitions;
    unsigned crossed; /* a path leads from input i to output j, j != i */
};

/* The live kernel's argument. Pointers are to device memory; `in` and `out`: mapped host memory. */
struct live_state {
    unsigned inputs, outputs, roles; /* roles: the larger of inputs and outputs */
    unsigned block, fft; /* frames of a block; points of a transform, at least 2 block */
    /* bins: fft / 2; bin 0 holds the first and the middle bin of a real spectrum */
    unsigned bins, bins_log2;
    unsigned depth;   /* spectra in an input's history */
    unsigned packets; /* packets of a channel: block / 3, rounded up */
    const uint4 *in;  /* 2 sets x roles x (1 + packets) */
    uint4 *out; /* slots x outputs x packets, then an acknowledgement per role without output */
    const struct live_mask *masks; /* [LIVE_MASKS] */
    float *time;                   /* inputs x 2 x block */
    float2 *spectra;               /* inputs x depth x bins: the inputs' history */
    float *tails;           /* slots x outputs x block: results that are due in the next block */
    const double2 *factors; /* exp(-2 pi i k / fft) for k < fft / 2 */
    unsigned *counters;     /* [thread block] the last number seen */
    unsigned *time_done;    /* [input] the last block in `time` */
    unsigned *spectra_done; /* [input] the last block in `spectra` */
};

/* *blocks: how many thread blocks of the live kernel the device can run at once. */
cudaError_t live_capacity(const struct live_state *state, unsigned *blocks);

/* Starts the live kernel, which runs until a header has LIVE_STOP. Its thread blocks wait for each
 * other, so all must fit on the device beside those of other resident kernels. It is not a
 * cooperative launch, since a device does not run two of these at once. */
cudaError_t live_launch(const struct live_state *state, unsigned blocks, cudaStream_t stream);

/* The table of a live convolver's masks: which entries are taken, and until when.
 *
 * The kernels read an entry in every block that names its mask. A block may be sent long after it
 * was taken. While the GPU is behind, the CPU answers, and the block is sent later. So an entry,
 * and its mask's memory, must wait until all blocks that name it, and the blocks in flight after
 * them, are done. This may be after the stream has left the mask. Blocks are counted from 1.
 * Arithmetic without a GPU. Threads: the control thread.
 */

struct live_entries {
    bool taken[LIVE_MASKS];
    uint64_t named[LIVE_MASKS]; /* for an entry given back: last block that names it; 0: none */
};

/* Takes an entry that no block reads. *position: its place. False: there is none. */
bool live_entries_take(struct live_entries *entries, uint64_t sent, size_t *position);

/* Gives an entry back. `named`: the last block that names it; 0: none. */
void live_entries_give_back(struct live_entries *entries, size_t position, uint64_t named);

#endif
