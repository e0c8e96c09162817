/* The first taps of a mask, computed directly for any number of frames, and the other taps as a
 * mask of their own: its output is due one block of SPLIT_BLOCK frames later, so that a convolver
 * can compute it from complete blocks and nothing is late. Output does not depend on how many
 * frames are asked for at a time.
 *
 * Threads: created on one thread, then read by many. split_head_write is real-time.
 */
#ifndef HALO_SPLIT_HEAD_H
#define HALO_SPLIT_HEAD_H

#include "convolve/path_table.h"
#include "mask/mask.h"

enum { SPLIT_BLOCK = 64 }; /* frames, and the most taps of a head */

/* All zero: none. */
struct split_head {
    size_t taps;
    size_t outputs;
    float *columns; /* one after the other, `taps` each */
    struct path_table paths;
};

/* From tap `from` of the mask on. Errors: memory. */
MUST_CHECK enum status split_head_init(struct split_head *head, const struct mask *mask,
                                       size_t from);
void split_head_free(struct split_head *head);

/* The taps from `from` on as a mask with the same paths and origin 0; one of silence if there are
 * none. Errors: memory. */
MUST_CHECK enum status split_tail(const struct mask *mask, size_t from, struct mask **tail);

/* Output of `frames` frames, at most SPLIT_BLOCK, the first of which are now[c][0]; SPLIT_BLOCK
 * frames before them are readable. `add` (NULL: nothing) from frame `at` on is added to it. */
void split_head_write(const struct split_head *head, const float *const *now,
                      const float *const *add, size_t at, size_t frames, float *const *out);

#endif
