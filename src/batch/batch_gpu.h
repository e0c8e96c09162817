/* The GPUs of a batch: whether it takes them, and what became of them.
 *
 * With --backend auto they are taken where they are faster by more than the estimates' error: the
 * first jobs say how long sounds and masks are; decoding and encoding take their time on the
 * processors either way. Threads: the control thread. */
#ifndef HALO_BATCH_GPU_H
#define HALO_BATCH_GPU_H

#include "batch/batch_list.h"
#include "convolve/gather.h"

#include <jansson.h>

/* *gather NULL: the batch stays on the CPU. Errors: GPUs that were asked for and are not there;
 * options that do not go together (usage). */
MUST_CHECK enum status batch_gpu_choose(const struct batch_options *options,
                                        const struct batch_list *list, struct mask_cache *masks,
                                        struct gather **gather);

/* Threads that keep them busy: some of them wait. `threads`: as asked for; 0: not. */
size_t batch_gpu_threads(size_t threads);

/* Choose for one job: the GPUs, or the CPU as everywhere else. */
void batch_gpu_settle(const struct gather *gather, struct render_options *options);

/* A new array with a row for each device; NULL: none. Prints what was lost. */
json_t *batch_gpu_report(struct gather *gather);

#endif
