/* The protocol between the host and the live kernel, and their shared state.
 *
 * Packets of 16 bytes cross the bus in mapped pinned memory: three 32-bit values and the number of
 * the block, so that data and flag arrive in one read. For each role the host writes a header and,
 * if the role is an input, its block:
 *
 *   header: { code of slot 0, code of slot 1, flags, number }      data: { 3 samples, number }
 *
 * Two such sets alternate, since a slow thread block may still read the last one. A code is
 * LIVE_MASKS x generation + slot + 1, or 0 for a silent slot.
 *
 * The algorithm is uniformly partitioned overlap-save with a direct head (Stockham 1966, Gardner
 * 1995): the first `block` taps are convolved when the block arrives. Each further `block` taps are
 * a partition; its product with the spectra of earlier blocks is due one block later at the
 * earliest, and is computed after the answer was sent. No mask adds latency.
 */
#ifndef HALO_GPU_LIVE_KERNELS_H
#define HALO_GPU_LIVE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LIVE_MASKS = 96, /* table entries: prepared masks, and those that late blocks still name */
    LIVE_SLOTS = 2,
    LIVE_THREADS = 512,
    LIVE_BLOCK_MOST = 2048, /* frames */
    LIVE_FRESH = 1,         /* flags; shifted by v: slot v is new */
    LIVE_STOP = 1 << LIVE_SLOTS,
    LIVE_TRAP = 2 << LIVE_SLOTS,  /* for tests: trap */
    LIVE_ARMED = 4 << LIVE_SLOTS, /* of graphs; shifted by v: slot v is not to be answered */
};

struct live_path {
    unsigned input;
    unsigned column;
};

/* A mask on the device. */
struct live_mask {
    const unsigned *first; /* paths to output o: first[o] up to first[o + 1] */
    const struct live_path *paths;
    const float *heads;    /* column after column, `head` taps each, block floats apart */
    const float2 *spectra; /* column after column, partition after partition, `bins` each */
    unsigned head;
    unsigned partitions;
    unsigned crossed; /* some path leads from input i to output j, j != i */
};

/* Device memory, except the packets, which are mapped host memory. */
struct live_state {
    unsigned inputs, outputs, roles; /* roles: the larger of the two */
    unsigned block, fft;             /* frames; points of a transform, at least 2 block */
    unsigned bins, bins_log2;        /* fft / 2: bin 0 holds the first and the middle one */
    unsigned depth;                  /* spectra in an input's history */
    unsigned packets;                /* of a channel: block / 3, rounded up */
    const uint4 *in;                 /* 2 x roles x (1 + packets) */
    uint4 *out;                      /* slots x outputs x packets, and an acknowledgement for
                                      * each role that is not an output */
    const struct live_mask *masks;   /* LIVE_MASKS */
    float *time;                     /* inputs x 2 x block */
    float2 *spectra;                 /* inputs x depth x bins */
    float *tails;                    /* slots x outputs x block: due in the next block */
    const double2 *factors;          /* fft / 2: exp(-2 pi i k / fft) */
    unsigned *counters;              /* per thread block: the last number seen */
    unsigned *time_done;             /* per input: the last block in `time` */
    unsigned *spectra_done;          /* per input: the last block in `spectra` */
};

/* Thread blocks for this state that the device can run at once. */
cudaError_t live_capacity(const struct live_state *state, unsigned *blocks);

/* Run until a header has LIVE_STOP. Thread blocks wait for each other, so all
 * must fit on the device beside those of other resident kernels. (Not a cooperative launch: the
 * device does not run two of these at once.) */
cudaError_t live_launch(const struct live_state *state, unsigned blocks, cudaStream_t stream);

/* The table of a live convolver's masks: which entries are taken, and until when.
 *
 * The kernels read an entry in every block that names its mask, and a block may be sent long after
 * it was taken: while the GPU is behind, the CPU answers in its place and the block is owed.
 * So an entry, and the memory of its mask, wait until the last block that names them and those in
 * flight behind it are done, which may be after the stream has left the mask. Blocks are counted
 * from 1. Arithmetic without a GPU. Threads: the control thread.
 */

struct live_entries {
    bool taken[LIVE_MASKS];
    uint64_t named[LIVE_MASKS]; /* of one given back: the last block that names it; 0: none */
};

/* An entry that nothing reads. False: there is none. */
bool live_entries_take(struct live_entries *entries, uint64_t sent, size_t *position);

void live_entries_give_back(struct live_entries *entries, size_t position, uint64_t named);

#endif
