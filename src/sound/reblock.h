/* Adapts any number of frames to a filter of one block length. The latency is 0 as long as frames
 * arrive in whole blocks. From the first incomplete block on, it is one block. Threads: one.
 * reblock_process is real-time. */
#ifndef HALO_REBLOCK_H
#define HALO_REBLOCK_H

#include "signal/audio.h"

enum { REBLOCK_CHANNELS_MOST = 64 };

typedef void reblock_block(void *context, const float *const *in, float *const *out);

struct reblock {
    size_t inputs;
    size_t outputs;
    size_t block;
    struct block waiting; /* incomplete input block */
    struct block ready;   /* the last block's output */
    size_t held;          /* frames in `waiting`; as many frames of `ready` were output */
    _Atomic bool adapts;  /* the latency is one block; false: 0 */
};

/* Inputs and outputs are at most REBLOCK_CHANNELS_MOST. Errors: memory. */
MUST_CHECK enum status reblock_init(struct reblock *reblock, size_t inputs, size_t outputs,
                                    size_t block);
void reblock_free(struct reblock *reblock);

void reblock_process(struct reblock *reblock, const float *const *in, float *const *out,
                     size_t frames, reblock_block *process, void *context);

#endif
