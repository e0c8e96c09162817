/* The table of a live convolver's masks: which entries are taken, and until when.
 *
 * The kernels read an entry in every block that names its mask, and a block may be sent long after
 * it was taken: while the GPU is behind, the CPU answers in its place and the block is owed.
 * So an entry, and the memory of its mask, wait until the last block that names them and those in
 * flight behind it are done, which may be after the stream has left the mask. Blocks are counted
 * from 1. Arithmetic without a GPU. Threads: the control thread.
 */
#ifndef HALO_GPU_LIVE_ENTRIES_H
#define HALO_GPU_LIVE_ENTRIES_H

#include "gpu/live_kernels.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_entries {
    bool taken[LIVE_MASKS];
    uint64_t named[LIVE_MASKS]; /* of one given back: the last block that names it; 0: none */
};

/* Whether nothing reads any more what block `named` was the last to name, once block `sent` was
 * sent: a block is sent when the one before was answered, and begins when all work of the one
 * before that is done. */
bool live_is_done(uint64_t named, uint64_t sent);

/* An entry that nothing reads. False: there is none. */
bool live_entries_take(struct live_entries *entries, uint64_t sent, size_t *position);

void live_entries_give_back(struct live_entries *entries, size_t position, uint64_t named);

#endif
