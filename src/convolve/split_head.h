/* Splits a mask into its first taps and the others. The first taps are computed directly, for any
 * number of frames. The other taps become a mask of their own, whose output is due SPLIT_BLOCK
 * frames later. So a convolver can compute it from complete blocks without being late. The output
 * does not depend on how many frames are asked for at a time.
 *
 * Threads: created on one thread, then read by many. split_head_write is real-time.
 */
#ifndef HALO_SPLIT_HEAD_H
#define HALO_SPLIT_HEAD_H

#include "convolve/path_table.h"
#include "mask/mask.h"

enum { SPLIT_BLOCK = 64 }; /* frames of a block; also the most taps of a head */

/* All zero: no head. */
struct split_head {
    size_t taps;
    size_t outputs;
    float *columns; /* columns of the mask one after the other, `taps` taps each */
    struct path_table paths;
};

/* Takes the taps from tap `from` of the mask on. Errors: memory. */
MUST_CHECK enum status split_head_init(struct split_head *head, const struct mask *mask,
                                       size_t from);
void split_head_free(struct split_head *head);

/* The taps from `from` on, as a mask with the same paths and origin 0. If there are none, a mask of
 * silence. Errors: memory. */
MUST_CHECK enum status split_tail(const struct mask *mask, size_t from, struct mask **tail);

/* Writes `frames` frames, at most SPLIT_BLOCK. Input c begins at now[c][0], and SPLIT_BLOCK frames
 * before are readable. `add`, from frame `at` on, is added to the output; NULL: nothing. */
void split_head_write(const struct split_head *head, const float *const *now,
                      const float *const *add, size_t at, size_t frames, float *const *out);

#endif
