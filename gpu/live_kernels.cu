/* The live convolver on the device: one kernel for all blocks of the stream. Thread block b has the
 * roles b, b + grid, ... Role r reads input r and writes output r. All thread blocks run at once
 * and wait for each other by flags in device memory. */
#include "gpu/live_spectra.cuh"

/* ---- input ---- */

/* Copies input `role`'s samples of block `number` to device memory and, if the thread block has
 * only this input, to shared memory. Returns the header, which is the same for all threads. */
__device__ uint4 receive(const live_state &s, const live_scratch &r, unsigned role, unsigned number)
{
    __shared__ uint4 header;
    const uint4 *from = s.in + ((size_t)(number & 1) * s.roles + role) * (1 + s.packets);
    float *to = s.time + ((size_t)role * 2 + (number & 1)) * s.block;
    unsigned count = role < s.inputs ? s.packets + 1 : 1;
    bool single = is_single(s);
    __syncthreads(); /* shared memory and the last header are no longer used */
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

/* Publishes that all inputs of this thread block are in device memory. */
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

/* ---- output ---- */

/* Data that can be loaded before the block arrives. */
struct readied {
    unsigned code; /* code of the slot; 0: nothing was loaded */
    unsigned first, last;
    live_path path; /* first path of the output; its head and its tail are in shared memory */
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
    for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS) {
        r.sum[i] = mask.partitions > 0 ? tail[i] : 0;
        r.lost[i] = 0;
    }
}

/* Loads data for the next block, if one slot is active and this thread block has one output. */
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

/* sum[i] += the head of one path. The lanes of a group share an output's taps. */
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
        float sum = 0, lost = 0;
        for (unsigned start = lane; i < s.block && start < mask.head; start += SUM_RUN * lanes) {
            float run = 0;
            unsigned end =
                start + SUM_RUN * lanes < mask.head ? start + SUM_RUN * lanes : mask.head;
#pragma unroll 8
            for (unsigned k = start; k < end; k += lanes)
                run += r.head[k] * window[s.block + i - k];
            add_run(sum, lost, run);
        }
        for (unsigned other = lanes / 2; other > 0; other /= 2)
            sum += __shfl_xor_sync(0xFFFFFFFF, sum, other);
        if (i < s.block && lane == 0)
            add_run(r.sum[i], r.lost[i], sum);
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

/* Convolves one block of the stream. False: its header has LIVE_STOP. */
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
        if (role >= s.outputs && threadIdx.x == 0) /* a role without an output only acknowledges */
            store_packet(s.out + (size_t)LIVE_SLOTS * s.outputs * s.packets + role - s.outputs,
                         make_uint4(0, 0, 0, number));
    /* no other thread block waits for the inputs, so the fence may come after the answer */
    if (!crossed)
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

__global__ void __launch_bounds__(LIVE_THREADS, 1) live_kernel(live_state s)
{
    extern __shared__ __align__(16) char shared[];
    live_scratch r = scratch_of(s, shared);
    live_slot slots[LIVE_SLOTS];
    for (unsigned v = 0; v < LIVE_SLOTS; v++)
        slots[v].code = 0;
    readied ready = {0, 0, 0, {0, 0}};
    unsigned number = s.counters[blockIdx.x];
    if (is_single(s) && blockIdx.x < s.inputs) /* makes the last block the previous one */
        for (unsigned i = threadIdx.x; i < s.block; i += LIVE_THREADS)
            r.mine[i] = s.time[((size_t)blockIdx.x * 2 + (number & 1)) * s.block + i];
    while (run_block(s, r, slots, number + 1, ready)) {
        number++;
        ready = make_ready(s, r, slots);
    }
    if (threadIdx.x == 0)
        s.counters[blockIdx.x] = number;
}

/* Allows all of the device's shared memory, since all states share this limit. */
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

cudaError_t live_launch(const struct live_state *state, unsigned blocks, cudaStream_t stream)
{
    live_kernel<<<blocks, LIVE_THREADS, scratch_bytes(*state), stream>>>(*state);
    return cudaGetLastError();
}
