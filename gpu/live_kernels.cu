/* The live convolver on the device: one kernel, for one block of the stream or for all. Thread
 * block b has the roles b, b + grid, ...: role r reads input r and writes output r. All thread
 * blocks run at once and wait for each other by flags in device memory; what another thread block
 * may have written is read past the L1 cache. */
extern "C" {
#include "gpu/gpu.h"
#include "gpu/live_kernels.h"
}

#include <cuda_runtime.h>

/* Products per partial sum, to limit rounding. */
static constexpr unsigned RUN = 32;

/* Bins that a thread holds while they are reordered. */
static constexpr unsigned HELD = LIVE_BLOCK_MOST / LIVE_THREADS;

/* ---- memory written by other threads or the host ---- */

__device__ __forceinline__ uint4 load_packet(const uint4 *packet)
{
    uint4 value;
    asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
                 : "l"(packet)
                 : "memory");
    return value;
}

__device__ __forceinline__ void store_packet(uint4 *packet, uint4 value)
{
    asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(packet), "r"(value.x),
                 "r"(value.y), "r"(value.z), "r"(value.w)
                 : "memory");
}

__device__ __forceinline__ uint4 await_packet(const uint4 *packet, unsigned number)
{
    uint4 value = load_packet(packet);
    while (value.w != number)
        value = load_packet(packet);
    return value;
}

__device__ __forceinline__ void publish(unsigned *flag, unsigned number)
{
    __threadfence();
    asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(number) : "memory");
}

/* One thread waits for the whole block; numbers may wrap. */
__device__ __forceinline__ void await_flag(const unsigned *flag, unsigned number)
{
    if (threadIdx.x == 0) {
        unsigned value;
        do
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];"
                         : "=r"(value)
                         : "l"(flag)
                         : "memory");
        while ((int)(value - number) < 0);
    }
    __syncthreads();
}

/* ---- the state of a thread block ---- */

struct live_slot {
    unsigned code; /* of the current mask; 0: silent */
    bool fresh;
    live_mask mask;
};

__device__ __forceinline__ live_path path_of(const live_mask &mask, unsigned p)
{
    uint2 pair = __ldcg(reinterpret_cast<const uint2 *>(mask.paths + p));
    live_path path = {pair.x, pair.y};
    return path;
}

/* Shared memory; sizes in floats, or float2. */
struct live_scratch {
    float2 *fft;  /* fft; before that, rows of products */
    float *mine;  /* 2 block: previous and current block of this thread block's only input */
    float *other; /* 2 block: the same of another input */
    float *head;  /* block */
    float *sum;   /* block */
};

__host__ __device__ __forceinline__ size_t fft_bytes(const live_state &s)
{
    size_t rows = LIVE_THREADS * sizeof(float4), fft = s.fft * sizeof(float2);
    return rows > fft ? rows : fft;
}

__device__ __forceinline__ live_scratch scratch_of(const live_state &s, char *shared)
{
    live_scratch r;
    r.fft = reinterpret_cast<float2 *>(shared);
    r.mine = reinterpret_cast<float *>(shared + fft_bytes(s));
    r.other = r.mine + 2 * s.block;
    r.head = r.other + 2 * s.block;
    r.sum = r.head + s.block;
    return r;
}

static size_t scratch_bytes(const live_state &s)
{
    return fft_bytes(s) + 6 * s.block * sizeof(float);
}

/* One role per thread block: its input stays in shared memory. */
__device__ __forceinline__ bool is_single(const live_state &s)
{
    return s.roles <= gridDim.x;
}

__device__ __forceinline__ bool is_mine(const live_state &s, unsigned input)
{
    return is_single(s) && input == blockIdx.x;
}

/* ---- input ---- */

/* Copy input `role`'s samples of block `number` to device memory and, if it is this thread block's
 * only one, to shared memory. Returns the header, the same for all threads. */
__device__ uint4 receive(const live_state &s, const live_scratch &r, unsigned role, unsigned number)
{
    __shared__ uint4 header;
    const uint4 *from = s.in + ((size_t)(number & 1) * s.roles + role) * (1 + s.packets);
    float *to = s.time + ((size_t)role * 2 + (number & 1)) * s.block;
    unsigned count = role < s.inputs ? s.packets + 1 : 1;
    bool single = is_single(s);
    __syncthreads(); /* shared memory and the header are free */
    for (unsigned q = threadIdx.x; q < count; q += LIVE_THREADS) {
        uint4 packet = await_packet(from + q, number);
        if (q == 0) {
            header = packet;
            continue;
        }
        const unsigned samples[3] = {packet.x, packet.y, packet.z};
        for (unsigned w = 0; w < 3; w++) {
            unsigned i = 3 * (q - 1) + w;
            if (i >= s.block)
                continue;
            to[i] = __uint_as_float(samples[w]);
            if (single)
                r.mine[s.block + i] = __uint_as_float(samples[w]);
        }
    }
    __syncthreads();
    return header;
}

/* All inputs of this thread block are in device memory. */
__device__ void publish_inputs(const live_state &s, unsigned number)
{
    for (unsigned role = blockIdx.x; role < s.inputs; role += gridDim.x)
        if (threadIdx.x == 0)
            publish(s.time_done + role, number);
}

__device__ void update_slot(const live_state &s, live_slot &v, unsigned code, bool fresh)
{
    v.fresh = fresh;
    if (code == v.code)
        return;
    v.code = code;
    if (code == 0)
        return;
    const volatile live_mask *mask = s.masks + (code - 1) % LIVE_MASKS;
    v.mask.first = mask->first;
    v.mask.paths = mask->paths;
    v.mask.heads = mask->heads;
    v.mask.spectra = mask->spectra;
    v.mask.head = mask->head;
    v.mask.partitions = mask->partitions;
    v.mask.crossed = mask->crossed;
}

/* ---- transforms in shared memory ---- */

__device__ __forceinline__ unsigned reversed(const live_state &s, unsigned i)
{
    return __brev(i) >> (32 - s.fft_log2);
}

/* In place, radix 2, from bit-reversed order (Cooley and Tukey 1965). */
__device__ void transform(const live_state &s, float2 *points, bool back)
{
    for (unsigned half = 1; half < s.fft; half *= 2) {
        __syncthreads();
        for (unsigned j = threadIdx.x; j < s.fft / 2; j += LIVE_THREADS) {
            unsigned k = j % half, at = (j - k) * 2 + k;
            float2 w = __ldg(s.factors + k * (s.fft / 2 / half));
            float2 a = points[at], b = points[at + half];
            if (back)
                w.y = -w.y;
            float2 turned = make_float2(b.x * w.x - b.y * w.y, b.x * w.y + b.y * w.x);
            points[at] = make_float2(a.x + turned.x, a.y + turned.y);
            points[at + half] = make_float2(a.x - turned.x, a.y - turned.y);
        }
    }
    __syncthreads();
}

/* The last two blocks of an input, the older one first, into 2 block floats. */
__device__ __forceinline__ void load_input(const live_state &s, unsigned input, unsigned number,
                                           float *to)
{
    const float *time = s.time + (size_t)input * 2 * s.block;
    const float *now = time + (number & 1) * s.block, *before = time + (~number & 1) * s.block;
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS) {
        to[i] = __ldcg(before + i);
        to[s.block + i] = __ldcg(now + i);
    }
}

/* The spectrum of input `role`'s last two blocks. */
__device__ void add_spectrum(const live_state &s, const live_scratch &r, unsigned role,
                             unsigned number)
{
    const float *window = is_mine(s, role) ? r.mine : r.other;
    unsigned silent = s.fft - 2 * s.block;
    __syncthreads();
    if (!is_mine(s, role))
        load_input(s, role, number, r.other);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < s.fft; i += LIVE_THREADS)
        r.fft[reversed(s, i)] = make_float2(i < silent ? 0 : window[i - silent], 0);
    transform(s, r.fft, false);
    float2 *to = s.spectra + ((size_t)role * s.depth + number % s.depth) * s.bins;
    for (unsigned k = threadIdx.x; k < s.bins; k += LIVE_THREADS)
        to[k] = k ? r.fft[k] : make_float2(r.fft[0].x, r.fft[s.bins].x);
    __syncthreads();
    if (threadIdx.x == 0)
        publish(s.spectra_done + role, number);
}

/* ---- the tail: partitions, due in block `number` ---- */

/* Two bins at a time; bin 0 holds two real bins, which do not mix. */
__device__ __forceinline__ void add_product(float4 &sum, float4 x, float4 h, bool real)
{
    sum.x += real ? x.x * h.x : x.x * h.x - x.y * h.y;
    sum.y += real ? x.y * h.y : x.x * h.y + x.y * h.x;
    sum.z += x.z * h.z - x.w * h.w;
    sum.w += x.z * h.w + x.w * h.z;
}

/* One path's partitions row, row + rows, ...: bins 2 `pair` and 2 `pair` + 1. */
__device__ __forceinline__ void add_partitions(const live_state &s, const live_mask &mask,
                                               live_path path, unsigned number, unsigned pair,
                                               unsigned row, unsigned rows, float4 &sum)
{
    const float2 *spectra = s.spectra + (size_t)path.input * s.depth * s.bins;
    const float4 *ring = reinterpret_cast<const float4 *>(spectra) + pair;
    spectra = mask.spectra + (size_t)path.column * mask.partitions * s.bins;
    const float4 *partitions = reinterpret_cast<const float4 *>(spectra) + pair;
    unsigned pairs = s.bins / 2;
    /* Partition p meets the spectrum of p + 1 blocks before; positions count down and wrap. */
    unsigned position = (number % s.depth + 2 * s.depth - 1 - row % s.depth) % s.depth;
    unsigned step = rows % s.depth;
#pragma unroll 4
    for (unsigned p = row; p < mask.partitions; p += rows) {
        add_product(sum, __ldcg(ring + (size_t)position * pairs),
                    __ldcg(partitions + (size_t)p * pairs), pair == 0);
        position = position >= step ? position - step : position + s.depth - step;
    }
}

/* The sum of all products for one output, bins 0..bins-1, in shared memory. Every thread has two
 * bins of one row of partitions; rows are added at the end. */
__device__ void add_products(const live_state &s, const live_scratch &r, const live_mask &mask,
                             unsigned first, unsigned last, unsigned number)
{
    unsigned pairs = s.bins / 2;
    unsigned across = pairs < LIVE_THREADS ? pairs : LIVE_THREADS, rows = LIVE_THREADS / across;
    unsigned lane = threadIdx.x % across, row = threadIdx.x / across;
    float4 *sums = reinterpret_cast<float4 *>(r.fft);
    for (unsigned pair = lane; pair < pairs; pair += across) {
        float4 sum = make_float4(0, 0, 0, 0);
        for (unsigned p = first; p < last; p++)
            add_partitions(s, mask, path_of(mask, p), number, pair, row, rows, sum);
        sums[rows == 1 ? pair : threadIdx.x] = sum;
    }
    for (unsigned half = rows / 2; half > 0; half /= 2) {
        __syncthreads();
        if (row < half) {
            float4 a = sums[threadIdx.x], b = sums[threadIdx.x + half * across];
            sums[threadIdx.x] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
        }
    }
    __syncthreads();
}

__device__ void make_tail(const live_state &s, const live_scratch &r, const live_mask &mask,
                          unsigned slot, unsigned output, unsigned number)
{
    float *tail = s.tails + ((size_t)slot * s.outputs + output) * s.block;
    unsigned first = __ldcg(mask.first + output), last = __ldcg(mask.first + output + 1);
    for (unsigned p = first; p < last; p++)
        await_flag(s.spectra_done + path_of(mask, p).input, number - 1);
    add_products(s, r, mask, first, last, number);
    /* To bit-reversed order, in place through registers, with the mirrored half. */
    float2 held[HELD];
    unsigned count = (s.bins + LIVE_THREADS - 1) / LIVE_THREADS;
#pragma unroll
    for (unsigned c = 0; c < HELD; c++)
        if (c < count && c * LIVE_THREADS + threadIdx.x < s.bins)
            held[c] = r.fft[c * LIVE_THREADS + threadIdx.x];
    __syncthreads();
#pragma unroll
    for (unsigned c = 0; c < HELD; c++) {
        unsigned k = c * LIVE_THREADS + threadIdx.x;
        if (c >= count || k >= s.bins)
            continue;
        r.fft[reversed(s, k)] = k ? held[c] : make_float2(held[c].x, 0);
        r.fft[reversed(s, k ? s.fft - k : s.bins)] =
            k ? make_float2(held[c].x, -held[c].y) : make_float2(held[c].y, 0);
    }
    transform(s, r.fft, true);
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
        tail[i] = r.fft[s.fft - s.block + i].x;
    __syncthreads();
}

/* ---- output ---- */

/* What can be loaded before the block arrives. */
struct readied {
    unsigned code; /* of the slot; 0: nothing is ready */
    unsigned first, last;
    live_path path; /* the first one; its head and its tail are in shared memory */
};

__device__ __forceinline__ void load_head(const live_state &s, const live_scratch &r,
                                          const live_mask &mask, live_path path)
{
    const float *head = mask.heads + (size_t)path.column * s.block;
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
        r.head[i] = i < mask.head ? __ldcg(head + i) : 0;
}

__device__ __forceinline__ void load_tail(const live_state &s, const live_scratch &r,
                                          const live_mask &mask, unsigned which, unsigned output)
{
    const float *tail = s.tails + ((size_t)which * s.outputs + output) * s.block;
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
        r.sum[i] = mask.partitions > 0 ? tail[i] : 0;
}

/* For the next block, if one slot is active and this thread block has one output. */
__device__ readied make_ready(const live_state &s, const live_scratch &r,
                              const live_slot (&slots)[LIVE_SLOTS])
{
    readied ready = {0, 0, 0, {0, 0}};
    unsigned which = slots[0].code ? 0 : 1, output = blockIdx.x;
    __syncthreads();
    for (unsigned i = threadIdx.x; i < s.block && is_single(s); i += LIVE_THREADS)
        r.mine[i] = r.mine[s.block + i];
    if (!is_single(s) || output >= s.outputs || !slots[0].code == !slots[1].code)
        return ready;
    const live_mask &mask = slots[which].mask;
    ready.first = __ldcg(mask.first + output);
    ready.last = __ldcg(mask.first + output + 1);
    ready.code = slots[which].code;
    load_tail(s, r, mask, which, output);
    if (ready.first < ready.last) {
        ready.path = path_of(mask, ready.first);
        load_head(s, r, mask, ready.path);
    }
    return ready;
}

/* sum[i] += the head of one path; the lanes of a group share an output's taps. */
__device__ void add_head(const live_state &s, const live_scratch &r, const live_mask &mask,
                         live_path path, unsigned number, bool is_ready)
{
    const float *window = is_mine(s, path.input) ? r.mine : r.other;
    if (window == r.other) {
        await_flag(s.time_done + path.input, number);
        load_input(s, path.input, number, r.other);
    }
    if (!is_ready)
        load_head(s, r, mask, path);
    __syncthreads();
    unsigned lanes = 1;
    while (lanes < 16 && lanes * 2 * s.block <= LIVE_THREADS)
        lanes *= 2;
    unsigned lane = threadIdx.x % lanes, groups = LIVE_THREADS / lanes;
    for (unsigned base = 0; base < s.block; base += groups) {
        unsigned i = base + threadIdx.x / lanes;
        float sum = 0;
        for (unsigned start = lane; i < s.block && start < mask.head; start += RUN * lanes) {
            float run = 0;
            for (unsigned k = start; k < mask.head && k < start + RUN * lanes; k += lanes)
                run += r.head[k] * window[s.block + i - k];
            sum += run;
        }
        for (unsigned other = lanes / 2; other > 0; other /= 2)
            sum += __shfl_xor_sync(0xFFFFFFFF, sum, other);
        if (i < s.block && lane == 0)
            r.sum[i] += sum;
    }
    __syncthreads();
}

__device__ void answer(const live_state &s, const live_scratch &r, const live_slot &v,
                       unsigned which, unsigned output, unsigned number, const readied &ready)
{
    bool is_ready = ready.code == v.code && !v.fresh;
    unsigned first = ready.first, last = ready.last;
    if (v.fresh && v.mask.partitions > 0)
        make_tail(s, r, v.mask, which, output, number);
    if (!is_ready) {
        load_tail(s, r, v.mask, which, output);
        first = __ldcg(v.mask.first + output);
        last = __ldcg(v.mask.first + output + 1);
    }
    for (unsigned p = first; p < last; p++) {
        bool here = is_ready && p == first;
        add_head(s, r, v.mask, here ? ready.path : path_of(v.mask, p), number, here);
    }
    __syncthreads();
    uint4 *to = s.out + ((size_t)which * s.outputs + output) * s.packets;
    for (unsigned q = threadIdx.x; q < s.packets; q += LIVE_THREADS) {
        float x[3];
        for (unsigned w = 0; w < 3; w++)
            x[w] = 3 * q + w < s.block ? r.sum[3 * q + w] : 0;
        store_packet(to + q, make_uint4(__float_as_uint(x[0]), __float_as_uint(x[1]),
                                        __float_as_uint(x[2]), number));
    }
    __syncthreads();
}

/* ---- the kernel ---- */

/* One block of the stream; false if its header has LIVE_STOP. */
__device__ bool run_block(const live_state &s, const live_scratch &r,
                          live_slot (&slots)[LIVE_SLOTS], unsigned number, readied &ready)
{
    uint4 header;
    for (unsigned role = blockIdx.x; role < s.roles; role += gridDim.x)
        header = receive(s, r, role, number);
    if (header.z & LIVE_TRAP)
        __trap();
    if (header.z & LIVE_STOP)
        return false;
    update_slot(s, slots[0], header.x, header.z & LIVE_FRESH);
    update_slot(s, slots[1], header.y, header.z & LIVE_FRESH << 1);
    if (slots[0].code && slots[1].code)
        ready.code = 0;
    bool crossed = !is_single(s) || (slots[0].code && slots[0].mask.crossed) ||
                   (slots[1].code && slots[1].mask.crossed);
    if (crossed)
        publish_inputs(s, number);
    for (unsigned o = blockIdx.x; o < s.outputs; o += gridDim.x)
        for (unsigned v = 0; v < LIVE_SLOTS; v++)
            if (slots[v].code)
                answer(s, r, slots[v], v, o, number, ready);
    for (unsigned role = blockIdx.x; role < s.roles; role += gridDim.x)
        if (role >= s.outputs && threadIdx.x == 0) /* only an acknowledgement */
            store_packet(s.out + (size_t)LIVE_SLOTS * s.outputs * s.packets + role - s.outputs,
                         make_uint4(0, 0, 0, number));
    if (!crossed) /* not waited for: fence after the answer */
        publish_inputs(s, number);
    bool tails = s.depth > 0;
    for (unsigned i = blockIdx.x; i < s.inputs && tails; i += gridDim.x)
        add_spectrum(s, r, i, number);
    for (unsigned o = blockIdx.x; o < s.outputs && tails; o += gridDim.x)
        for (unsigned v = 0; v < LIVE_SLOTS; v++)
            if (slots[v].code && slots[v].mask.partitions > 0)
                make_tail(s, r, slots[v].mask, v, o, number + 1);
    return true;
}

__global__ void __launch_bounds__(LIVE_THREADS, 1) live_kernel(live_state s, bool forever)
{
    extern __shared__ __align__(16) char shared[];
    live_scratch r = scratch_of(s, shared);
    live_slot slots[LIVE_SLOTS];
    for (unsigned v = 0; v < LIVE_SLOTS; v++)
        slots[v].code = 0;
    readied ready = {0, 0, 0, {0, 0}};
    unsigned number = s.counters[blockIdx.x];
    if (is_single(s) && blockIdx.x < s.inputs) /* the last block is now the previous one */
        for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
            r.mine[i] = s.time[((size_t)blockIdx.x * 2 + (number & 1)) * s.block + i];
    bool more;
    do {
        more = run_block(s, r, slots, number + 1, ready);
        number += more;
        if (more && forever)
            ready = make_ready(s, r, slots);
    } while (more && forever);
    if (threadIdx.x == 0)
        s.counters[blockIdx.x] = number;
}

/* Allow all of the device's shared memory: the limit is common to all states. */
static cudaError_t allow_shared(void)
{
    int most;
    cudaFuncAttributes attributes;
    CUDA_TRY(gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &most));
    CUDA_TRY(cudaFuncGetAttributes(&attributes, live_kernel));
    return cudaFuncSetAttribute(live_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                most - (int)attributes.sharedSizeBytes);
}

cudaError_t live_capacity(const struct live_state *state, unsigned *blocks)
{
    int processors, each;
    CUDA_TRY(allow_shared());
    CUDA_TRY(gpu_attribute(cudaDevAttrMultiProcessorCount, &processors));
    CUDA_TRY(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, live_kernel, LIVE_THREADS,
                                                           scratch_bytes(*state)));
    *blocks = (unsigned)(processors * each);
    return cudaSuccess;
}

cudaError_t live_launch(const struct live_state *state, unsigned blocks, bool forever,
                        cudaStream_t stream)
{
    live_kernel<<<blocks, LIVE_THREADS, scratch_bytes(*state), stream>>>(*state, forever);
    return cudaGetLastError();
}
