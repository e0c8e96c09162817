/* The last seconds of the input of the masks, for a mask that is loaded later.
 *
 * run() of the plugin writes whole blocks of PROCESSOR_BLOCK frames; the worker reads well behind the
 * newest and well ahead of what is overwritten next. Threads: input_history_write is for run, and real-time;
 * input_history_feed and the counts are for the worker as well.
 */
#ifndef HALO_LV2_INPUT_HISTORY_H
#define HALO_LV2_INPUT_HISTORY_H

#include "signal/audio.h"
#include "processor.h"

#include <stdatomic.h>

struct input_history {
    struct block frames;
    size_t blocks;                /* that it holds, a power of two */
    atomic_uint_fast64_t end;     /* blocks written */
    atomic_uint_fast64_t silence; /* what lies before that block is as good as silence */
};

/* Errors: memory. */
MUST_CHECK enum status input_history_init(struct input_history *history, size_t channels, uint32_t rate);
void input_history_free(struct input_history *history);

/* Not real-time, nor beside input_history_write: all that was is silence. */
void input_history_reset(struct input_history *history);

void input_history_write(struct input_history *history, const float *const *block);

/* Real-time: let a processor hear the blocks that it has not, `most` of them. True: it has heard all
 * there are. */
bool input_history_feed(const struct input_history *history, struct processor *processor, size_t most);

/* Feed a new processor, from as far back as its mask reaches or the history goes, all but the last few
 * blocks, which are left to run. */
void input_history_prime(const struct input_history *history, struct processor *processor);

#endif
