/* What the host and the live kernel say to each other, and where it all lies.
 *
 * Packets of 16 bytes cross the bus in mapped pinned memory: three words and the number
 * of the block, so that data and flag arrive in one read. For each role the host writes
 * a header and, where the role is an input, its block:
 *
 *   header: { code of slot 0, code of slot 1, flags, number }      data: { 3 samples, number }
 *
 * Two such sets take turns, since a slow thread block may still read the last one. A
 * code is LIVE_MASKS x generation + slot + 1, or 0 for a silent slot.
 *
 * The algorithm is the uniformly partitioned overlap-save with a direct head: the first
 * `block` taps are convolved when the block is there; each further `block` taps are a
 * partition, whose product with the spectra of past blocks is due a block later at the
 * earliest, and so is worked out after the answer has gone out. No mask adds latency.
 * (Stockham 1966, Gardner 1995.)
 */
#ifndef HALO_GPU_LIVE_KERNELS_H
#define HALO_GPU_LIVE_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum {
    LIVE_MASKS = 80, /* slots: all that are prepared, and those on their way out */
    LIVE_SLOTS = 2,
    LIVE_THREADS = 512,
    LIVE_BLOCK_MOST = 2048, /* frames */
    LIVE_FRESH = 1,         /* flags: slot v is new, shifted by v */
    LIVE_STOP = 1 << LIVE_SLOTS,
    LIVE_TRAP = 2 << LIVE_SLOTS, /* for tests: fail for good */
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
    const float2 *spectra; /* column after column, part after part, `bins` each */
    unsigned head;
    unsigned partitions;
    unsigned crossed; /* some path leads from an input to another one's output */
};

/* Device memory but for the packets and masks, which are mapped. */
struct live_state {
    unsigned inputs, outputs, roles; /* roles: the larger of the two */
    unsigned block, fft, fft_log2;   /* frames; points of a transform, at least 2 block */
    unsigned bins;                   /* fft / 2: bin 0 holds the first and the middle one */
    unsigned depth;                  /* spectra an input keeps */
    unsigned packets;                /* of a channel: block / 3, rounded up */
    const uint4 *in;                 /* 2 x roles x (1 + packets) */
    uint4 *out;                      /* slots x outputs x packets, and one for each role
                                      * that is no output, to say that it heard */
    const struct live_mask *masks;   /* LIVE_MASKS */
    float *time;                     /* inputs x 2 x block */
    float2 *spectra;                 /* inputs x depth x bins */
    float *tails;                    /* slots x outputs x block: due in the coming block */
    const float2 *factors;           /* fft / 2: exp(-2 pi i k / fft) */
    unsigned *counters;              /* thread blocks: the last number seen */
    unsigned *time_done;             /* inputs: the number whose samples are in `time` */
    unsigned *spectra_done;          /* inputs: and whose spectrum is there */
};

/* How many thread blocks of the state's size the device can run at once. */
cudaError_t live_capacity(const struct live_state *state, unsigned *blocks);

/* Run for one block, or until a header says stop. Thread blocks wait for each other, so
 * that all must fit on the device beside those of other residents. (Not as a cooperative
 * launch: the device does not run two of these at once.) */
cudaError_t live_launch(const struct live_state *state, unsigned blocks, bool forever,
                        cudaStream_t stream);

#endif
