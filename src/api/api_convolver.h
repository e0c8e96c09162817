/* A convolver as the users of libhalo hold it.
 *
 * Where calls may have any number of frames it is split (split_head.h): the first taps are computed
 * directly, and `filter` has the others, fed whenever SPLIT_BLOCK frames are complete; what it
 * makes of them is due in the next such block. Where all calls have one length, `filter` has all
 * taps and its blocks are theirs.
 *
 * A switch of a split convolver is one of the filter, which computes SPLIT_BLOCK frames ahead, and
 * a crossfade of heads, with the same weights at the same frames. */
#ifndef HALO_API_CONVOLVER_H
#define HALO_API_CONVOLVER_H

#include "convolve/convolver.h"
#include "convolve/split_head.h"
#include <halo/halo.h>

#include <stdatomic.h>

struct halo_convolver {
    size_t inputs, outputs;
    size_t taps;  /* most, of any mask */
    size_t split; /* taps of the heads: SPLIT_BLOCK or 0 */
    size_t block; /* frames, of the filter */
    bool on_gpu;
    struct workers *workers;
    struct filter *filter; /* NULL: no mask has taps beyond the heads */

    struct split_head heads[CONVOLVER_SLOTS];
    struct block in;       /* `split` frames of history, then the current block */
    struct block ready;    /* the filter's output for the current block */
    struct block coming;   /* of the new head in a switch */
    const float **call_in; /* rows of a call, */
    float **call_out;
    const float **in_rows;  /* of a block, */
    const float **now_rows; /* and of a part of it */
    float **part_rows;
    size_t at;         /* frames of the current block that are there */
    uint64_t position; /* input frames so far */

    size_t slot; /* of the current head */
    bool begun;  /* the new head is heard, too */

    /* Of the control thread while `switching` is false, of the other one while it is true. */
    struct convolver_switch change;
    uint64_t number; /* of the filter's switch that it goes with */
    _Atomic bool switching;

    struct convolver_mask *current, *retired; /* of the filter; control thread */
};

#endif
