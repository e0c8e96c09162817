/* What a live graph is made of: its kernels, in their order (live_graph_kernels.h). */
#include "gpu/live_graph_kernels.h"

#include "gpu/gpu.h"

enum { POINT_BYTES = 16 }; /* in double precision */

cudaError_t live_graph_load(unsigned *bins_most)
{
    int most;
    CUDA_TRY(gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &most));
    *bins_most = LIVE_BINS_MOST;
    while ((size_t)*bins_most * POINT_BYTES > (size_t)most)
        *bins_most /= 2;
    CUDA_TRY(live_spectra_load(*bins_most));
    CUDA_TRY(live_answer_load());
    return live_results_load(*bins_most);
}

cudaError_t live_graph_launch(const struct live_graph_state *state, bool is_new,
                              cudaStream_t stream)
{
    if (is_new && state->ladder.count > 0)
        CUDA_TRY(live_results_launch(state, true, stream));
    CUDA_TRY(live_answer_launch(state, stream));
    if (state->ladder.count == 0)
        return cudaSuccess;
    CUDA_TRY(live_inputs_launch(state, stream));
    return live_results_launch(state, false, stream);
}
