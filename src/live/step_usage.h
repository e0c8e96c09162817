/* What the kernel counts of a late step.
 *
 * The system calls that tell it take as long as a short step. So they are made once in
 * STEP_USAGE_BLOCKS blocks and after a late one, and what the blocks in between used of a processor
 * is subtracted: their steps at their duration, which is not less, and the device's part of a block
 * at its average. Events are those since that call. Threads: the step's. Real-time.
 */
#ifndef HALO_STEP_USAGE_H
#define HALO_STEP_USAGE_H

#include "base/thread.h"

enum { STEP_USAGE_BLOCKS = 8 };

/* All zero at the start. Times in ns. */
struct step_usage {
    struct thread_usage last; /* when the kernel was asked */
    bool is_known;
    unsigned blocks; /* since then */
    int64_t steps;   /* their duration */
    int64_t beside;  /* on a processor beside the step, of a block, on average */
    int processor;   /* at the beginning of the step */
};

void step_usage_begin(struct step_usage *usage);

/* After a step that took so long: one that was in time, or was late. */
void step_usage_end(struct step_usage *usage, int64_t ns);
struct thread_usage step_usage_late(struct step_usage *usage, int64_t ns);

#endif
