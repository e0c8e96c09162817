/* The copies of a large live block between the stream's buffers and pinned memory, shared among a
 * few threads: at thousands of channels one thread would take half the block's time.
 * live_graph_await (convolver_cuda_live.h) is defined there too. */
#ifndef HALO_GPU_LIVE_COPIES_H
#define HALO_GPU_LIVE_COPIES_H

#include "base/status.h"
#include "gpu/convolver_cuda_live.h"

/* Threads, where a block is large and the stream may use some. Control thread. */
enum status live_copies_create(struct gpu_live *live);
void live_copies_destroy(struct gpu_live *live);

/* Real-time. Copy the channels to graph->samples, and call sent(live, count) whenever the first
 * `count` of them are there and more were not. */
cudaError_t live_copy_in(struct gpu_live *live, const float *const *in,
                         cudaError_t (*sent)(struct gpu_live *live, size_t count));

#endif
