/* The GPUs of a batch: decides whether the batch uses them, and reports on them at the end.
 *
 * With --backend auto the batch uses GPUs if they are faster by more than the error of the
 * estimates. The estimates take the length of sounds and masks from the first jobs; decoding and
 * encoding run on the CPU in both cases. Threads: the control thread. */
#ifndef HALO_BATCH_GPU_H
#define HALO_BATCH_GPU_H

#include "batch/batch_list.h"
#include "convolve/gather.h"

#include <jansson.h>

/* Decide whether to use the GPUs. *gather NULL: the batch stays on the CPU. Errors: requested GPUs
 * are missing; options that contradict each other (usage). */
MUST_CHECK enum status batch_gpu_choose(const struct batch_options *options,
                                        const struct batch_list *list, struct mask_cache *masks,
                                        struct gather **gather);

/* Number of threads that keeps the GPUs busy, unless the user requested `threads` (not 0). */
size_t batch_gpu_threads(size_t threads);

/* Let one job use the GPUs, or the CPU if `gather` is NULL or its options need the CPU. */
void batch_gpu_settle(const struct gather *gather, struct render_options *options);

/* A new array with a row for each device; NULL: no devices. Prints a note about lost devices. */
json_t *batch_gpu_report(struct gather *gather);

#endif
