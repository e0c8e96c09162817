/* The first kernel of a live graph: the answer to a block, from its first taps and what is due
 * from the blocks before. */
#include "gpu/live_graph_device.cuh"

static constexpr unsigned PIECES_AT_ONCE = 8; /* thread blocks per processor that answer */

/* What a warp works on. */
struct answer_scratch {
    float taps[LIVE_SPAN];
    float window[2 * LIVE_SPAN];
};

/* Taps from `tap` on, and the samples that they meet from frame `frame` on. */
__device__ __forceinline__ void load_span(const live_graph_state &s, const live_graph_mask *mask,
                                          live_path path, unsigned number, unsigned frame,
                                          unsigned tap, answer_scratch &r)
{
    const float *head = mask->heads + (size_t)path.column * s.block;
    const float *now = s.in + (size_t)path.input * s.stride;
    const float *before =
        s.time +
        ((size_t)path.input * s.ladder.window + ((number - 1) & (s.ladder.window - 1))) * s.block;
    unsigned lane = threadIdx.x % 32;
    int start = (int)frame - (int)tap - LIVE_SPAN, block = (int)s.block;
    __syncwarp();
    for (unsigned k = lane; k < LIVE_SPAN; k += 32)
        r.taps[k] = tap + k < mask->head ? __ldg(head + tap + k) : 0;
    for (unsigned k = lane; k < 2 * LIVE_SPAN; k += 32) {
        int at = start + (int)k;
        r.window[k] = at >= 0 ? (at < block ? __ldcg(now + at) : 0)
                              : (at >= -block ? __ldcg(before + (block + at)) : 0);
    }
    __syncwarp();
}

/* Four frames per lane; a window of eight samples slides along the taps. */
__device__ __forceinline__ void add_span(const answer_scratch &r, unsigned taps, float4 &sum,
                                         float4 &lost)
{
    const float4 *window = reinterpret_cast<const float4 *>(r.window) + threadIdx.x % 32;
    const float4 *head = reinterpret_cast<const float4 *>(r.taps);
    unsigned fours = (taps + 3) / 4;
    float4 now = window[LIVE_SPAN / 4];
    for (unsigned k = 0; k < fours;) {
        float4 run = make_float4(0, 0, 0, 0);
        unsigned end = k + SUM_RUN / 4 < fours ? k + SUM_RUN / 4 : fours;
        for (; k < end; k++) {
            float4 t = head[k], before = window[LIVE_SPAN / 4 - 1 - k];
            run.x += t.x * now.x + t.y * before.w + t.z * before.z + t.w * before.y;
            run.y += t.x * now.y + t.y * now.x + t.z * before.w + t.w * before.z;
            run.z += t.x * now.z + t.y * now.y + t.z * now.x + t.w * before.w;
            run.w += t.x * now.w + t.y * now.z + t.z * now.y + t.w * now.x;
            now = before;
        }
        add_run(sum, lost, run);
    }
}

/* What is due from the jobs before. */
__device__ __forceinline__ void add_due(const live_graph_state &s, const live_graph_mask *mask,
                                        unsigned slot, unsigned output, unsigned number,
                                        unsigned frame, float4 &sum, float4 &lost)
{
    for (unsigned l = 0; l < s.ladder.count; l++) {
        const live_level &level = s.ladder.levels[l];
        if (mask->partitions[l] == 0)
            continue;
        unsigned turn = (live_job_out(&level, number) - 1) & 1;
        const float *due = s.due[l] +
                           (((size_t)slot * 2 + turn) * s.outputs + output) * level.size +
                           live_due_at(&level, number, s.block) + frame;
        float x[4];
        for (unsigned w = 0; w < 4; w++)
            x[w] = frame + w < s.block ? __ldcg(due + w) : 0;
        add_run(sum, lost, make_float4(x[0], x[1], x[2], x[3]));
    }
}

/* The sums of a team's warps, in its first one. All of the thread block's warps are the team. */
__device__ __forceinline__ void add_team(answer_scratch *scratch, unsigned part, float4 &sum,
                                         float4 &lost)
{
    unsigned lane = threadIdx.x % 32;
    __syncwarp();
    reinterpret_cast<float4 *>(scratch[part].window)[lane] = sum;
    __syncthreads();
    for (unsigned other = 1; other < LIVE_PIECE && part == 0; other++)
        add_run(sum, lost, reinterpret_cast<const float4 *>(scratch[other].window)[lane]);
    __syncthreads();
}

/* Spans of taps of all paths are dealt out to the warps of a team. */
__device__ __forceinline__ void answer_item(const live_graph_state &s, const live_header &header,
                                            unsigned slot, unsigned item, unsigned part,
                                            answer_scratch *scratch)
{
    const live_graph_mask *mask = mask_in(s, header, slot);
    if (!mask || header.flags & LIVE_ARMED << slot)
        return;
    answer_scratch &r = scratch[threadIdx.x / 32];
    unsigned output = item / s.items, begin = item % s.items * LIVE_SPAN;
    unsigned frame = begin + 4 * (threadIdx.x % 32);
    float4 sum = make_float4(0, 0, 0, 0), lost = sum;
    if (part == 0)
        add_due(s, mask, slot, output, header.number, frame, sum, lost);
    unsigned first = __ldg(mask->first + output), head = mask->head;
    unsigned spans = (head + LIVE_SPAN - 1) / LIVE_SPAN;
    unsigned all = (__ldg(mask->first + output + 1) - first) * spans;
    for (unsigned u = part; u < all; u += s.team) {
        unsigned tap = u % spans * LIVE_SPAN;
        load_span(s, mask, path_of(mask, first + u / spans), header.number, begin, tap, r);
        add_span(r, head - tap < LIVE_SPAN ? head - tap : LIVE_SPAN, sum, lost);
    }
    if (s.team > 1)
        add_team(scratch, part, sum, lost);
    float *to = s.out + ((size_t)slot * s.outputs + output) * s.stride + frame;
    if (frame < s.block && part == 0) /* the stride is a multiple of 4 */
        *reinterpret_cast<float4 *>(to) = sum;
}

/* The block joins the inputs' recent samples: before any flag, since the host may write the next
 * one after the last. */
__device__ __forceinline__ void keep_inputs(const live_graph_state &s, unsigned number)
{
    size_t count = (size_t)s.inputs * s.block, step = (size_t)gridDim.x * blockDim.x;
    for (size_t at = (size_t)blockIdx.x * blockDim.x + threadIdx.x; at < count; at += step) {
        size_t input = at / s.block, frame = at % s.block;
        s.time[(input * s.ladder.window + (number & (s.ladder.window - 1))) * s.block + frame] =
            __ldcg(s.in + input * s.stride + frame);
    }
}

__global__ void __launch_bounds__(32 * LIVE_PIECE) live_answer(live_graph_state s)
{
    __shared__ __align__(16) answer_scratch scratch[LIVE_PIECE];
    const live_header header = *s.header;
    if (header.flags & LIVE_TRAP)
        __trap();
    if (blockIdx.x == 0 && threadIdx.x == 0)
        *s.kept = header;
    keep_inputs(s, header.number);
    for (unsigned piece = blockIdx.x; piece < s.pieces; piece += gridDim.x) {
        unsigned warp = threadIdx.x / 32, item = (piece * LIVE_PIECE + warp) / s.team;
        for (unsigned v = 0; v < LIVE_SLOTS && item < s.outputs * s.items; v++)
            answer_item(s, header, v, item, warp % s.team, scratch);
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x == 0)
            *(volatile unsigned *)(s.flags + piece) = header.number;
    }
}

cudaError_t live_answer_load(void)
{
    cudaFuncAttributes attributes;
    return cudaFuncGetAttributes(&attributes, (const void *)live_answer);
}

cudaError_t live_answer_launch(const live_graph_state *state, cudaStream_t stream)
{
    void *arguments[] = {(void *)state};
    unsigned most = PIECES_AT_ONCE * state->processors;
    return live_launch_kernel((const void *)live_answer,
                              state->pieces < most ? state->pieces : most, 32 * LIVE_PIECE, 0,
                              arguments, stream);
}
