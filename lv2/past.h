/* The last seconds of what the plugin's masks hear, for a mask that comes later.
 *
 * The run() of the plugin writes whole blocks of PROCESSOR_BLOCK frames; the worker reads what is
 * well behind the newest and well before what is overwritten next.
 * Threads: past_write is run's, and real-time; past_hear and the counts are the worker's as well.
 */
#ifndef HALO_LV2_PAST_H
#define HALO_LV2_PAST_H

#include "signal/audio.h"
#include "processor.h"

#include <stdatomic.h>

struct past {
    struct block frames;
    size_t blocks;                /* that it holds, a power of two */
    atomic_uint_fast64_t end;     /* blocks written */
    atomic_uint_fast64_t silence; /* what lies before that block is as good as silence */
};

/* Errors: memory. */
MUST_CHECK enum status past_init(struct past *past, size_t channels, uint32_t rate);
void past_free(struct past *past);

/* Not real-time, nor beside past_write: all that was is silence. */
void past_reset(struct past *past);

void past_write(struct past *past, const float *const *block);

/* Real-time: let a processor hear the blocks that it has not, `most` of them. True: it has heard all
 * there are. */
bool past_hear(const struct past *past, struct processor *processor, size_t most);

/* Let a new processor hear, from as far back as its mask reaches or the past goes, all but the last
 * few blocks, which are run's own to give. */
void past_introduce(const struct past *past, struct processor *processor);

#endif
