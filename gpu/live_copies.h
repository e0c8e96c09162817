/* The copies of a large live block between the stream's buffers and pinned memory. A few threads
 * share them; with thousands of channels, one thread would take half the block's time.
 * live_copies.c also implements live_graph_await (convolver_cuda_live.h). */
#ifndef HALO_GPU_LIVE_COPIES_H
#define HALO_GPU_LIVE_COPIES_H

#include "base/status.h"
#include "gpu/convolver_cuda_live.h"

/* Starts threads for the copies, if blocks are large and threads are allowed. Control thread. */
enum status live_copies_create(struct gpu_live *live);
void live_copies_destroy(struct gpu_live *live);

/* Copies the channels to graph->samples. Each time more channels are there, it calls sent(live,
 * count) with the number of channels that are complete. Real-time. */
cudaError_t live_copy_in(struct gpu_live *live, const float *const *in,
                         cudaError_t (*sent)(struct gpu_live *live, size_t count));

#endif
