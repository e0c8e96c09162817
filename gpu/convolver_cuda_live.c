/* The convolver on the GPU for live streams: short blocks, each answered at once, by the
 * kernel of live_kernels.cu. It stays on the device and polls for blocks (resident), or
 * is launched for each as a CUDA graph, where it may not stay: on a GPU that drives a
 * display. live_kernels.h says how block and answer cross the bus, and by which
 * algorithm.
 *
 * While a kernel is resident nothing may free device memory, which would wait for its
 * end: what masks held is kept for masks to come, and all residents are sent home before
 * a convolver goes. They come back with their next block. */
#include "gpu/convolver_cuda_live.h"

#include "base/monotonic.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct convolution *alive; /* the control thread's */

/* ---- the resident kernel's coming and going ---- */

static void clear_packets(const struct convolution *convolution)
{
    const struct live_state *state = &convolution->state;
    memset(convolution->in, 0, 2 * state->roles * (1 + state->packets) * sizeof(packet));
}

/* A block of nothing that says stop; it does not count. */
static void send_home(struct convolution *convolution)
{
    const struct live_state *state = &convolution->state;
    uint32_t number = convolution->number + 1;
    if (!convolution->running || gpu_abandoned())
        return;
    for (size_t role = 0; role < state->roles; role++)
        for (size_t q = 0; q <= state->packets; q++)
            region(convolution, number, role)[q] = (packet){0, 0, q == 0 ? LIVE_STOP : 0, number};
    convolution->running = false;
    double since = monotonic_seconds();
    while (cudaStreamQuery(convolution->stream) == cudaErrorNotReady) {
        if (monotonic_seconds() - since < LIVE_ANSWER_SECONDS)
            continue;
        gpu_abandon();
        return;
    }
    (void)cudaGetLastError(); /* that it was not ready is no error to remember */
    clear_packets(convolution);
}

cudaError_t live_bring_back(struct convolution *convolution)
{
    if (convolution->running)
        return cudaSuccess;
    convolution->running = true;
    cudaError_t error = cudaSetDevice(convolution->device);
    return error != cudaSuccess
               ? error
               : live_launch(&convolution->state, convolution->blocks, true, convolution->stream);
}

void convolver_cuda_send_home(void)
{
    for (struct convolution *one = alive; one; one = one->next)
        send_home(one);
}

/* ---- set up ---- */

static void live_destroy(struct convolution *convolution)
{
    convolver_cuda_send_home();
    for (struct convolution **at = &alive; *at; at = &(*at)->next)
        if (*at == convolution) {
            *at = convolution->next;
            break;
        }
    if (!gpu_abandoned()) {
        const struct live_state *state = &convolution->state;
        void *memory[] = {
            (void *)state->masks,   state->time,     state->spectra,   state->tails,
            (void *)state->factors, state->counters, state->time_done, state->spectra_done};
        cudaSetDevice(convolution->device);
        for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
            cudaFree(memory[m]);
        cudaFreeHost(convolution->in);
        cudaFreeHost(convolution->out);
        if (convolution->graph)
            cudaGraphExecDestroy(convolution->graph);
        if (convolution->stream)
            cudaStreamDestroy(convolution->stream);
        if (convolution->copies)
            cudaStreamDestroy(convolution->copies);
    }
    while (convolution->spare) {
        struct piece *piece = convolution->spare;
        convolution->spare = piece->next;
        if (!gpu_abandoned())
            cudaFree(piece->memory);
        free(piece);
    }
    for (size_t i = 0; i < LIVE_OWED_MOST; i++)
        free(convolution->owed[i].in);
    fft_destroy(convolution->fft);
    free(convolution);
}

static void lay_out(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    struct live_plan plan = live_plan_for(shape->block, shape->taps);
    convolution->partitions = plan.partitions;
    convolution->state = (struct live_state){
        .inputs = (unsigned)shape->inputs,
        .outputs = (unsigned)shape->outputs,
        .roles = (unsigned)(shape->inputs > shape->outputs ? shape->inputs : shape->outputs),
        .block = (unsigned)shape->block,
        .fft = (unsigned)plan.fft,
        .fft_log2 = (unsigned)plan.fft_log2,
        .bins = (unsigned)plan.fft / 2,
        .depth = (unsigned)plan.depth,
        .packets = (unsigned)plan.packets,
    };
}

/* Zeroed device memory. */
static cudaError_t take_memory(void **memory, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = cudaMalloc(memory, bytes);
    return error == cudaSuccess ? cudaMemsetAsync(*memory, 0, bytes, stream) : error;
}

/* Zeroed pinned memory, seen from both sides. */
static cudaError_t map_packets(packet **host, void *device, size_t packets)
{
    cudaError_t error = cudaHostAlloc((void **)host, packets * sizeof(packet), cudaHostAllocMapped);
    if (error != cudaSuccess)
        return error;
    memset(*host, 0, packets * sizeof(packet));
    return cudaHostGetDevicePointer((void **)device, *host, 0);
}

static cudaError_t upload_factors(struct convolution *convolution)
{
    struct live_state *state = &convolution->state;
    size_t bytes = state->bins * sizeof(float2);
    float2 *factors = malloc(bytes);
    if (!factors)
        return cudaErrorMemoryAllocation;
    for (size_t k = 0; k < state->bins; k++) {
        double angle = -2 * M_PI * (double)k / (double)state->fft;
        factors[k] = (float2){(float)cos(angle), (float)sin(angle)};
    }
    cudaError_t error = cudaMalloc((void **)&state->factors, bytes);
    if (error == cudaSuccess)
        error = cudaMemcpy((void *)state->factors, factors, bytes, cudaMemcpyHostToDevice);
    free(factors);
    return error;
}

static cudaError_t make_capacity(struct convolution *convolution)
{
    struct live_state *state = &convolution->state;
    size_t spectra = (size_t)state->inputs * (state->depth ? state->depth : 1) * state->bins;
    const struct {
        void **memory;
        size_t bytes;
    } wanted[] = {
        {(void **)&state->masks, LIVE_MASKS * sizeof(struct live_mask)},
        {(void **)&state->time, (size_t)state->inputs * 2 * state->block * sizeof(float)},
        {(void **)&state->spectra, spectra * sizeof(float2)},
        {(void **)&state->tails,
         (size_t)LIVE_SLOTS * state->outputs * state->block * sizeof(float)},
        {(void **)&state->counters, state->roles * sizeof(unsigned)},
        {(void **)&state->time_done, state->inputs * sizeof(unsigned)},
        {(void **)&state->spectra_done, state->inputs * sizeof(unsigned)},
    };
    cudaError_t error = cudaStreamCreateWithFlags(&convolution->stream, cudaStreamNonBlocking);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithFlags(&convolution->copies, cudaStreamNonBlocking);
    for (size_t m = 0; m < sizeof wanted / sizeof *wanted && error == cudaSuccess; m++)
        error = take_memory(wanted[m].memory, wanted[m].bytes, convolution->stream);
    if (error == cudaSuccess)
        error = map_packets(&convolution->in, &state->in,
                            2 * (size_t)state->roles * (1 + state->packets));
    if (error == cudaSuccess)
        error = map_packets(&convolution->out, &state->out,
                            live_answers(state) + state->roles - state->outputs);
    if (error == cudaSuccess)
        error = upload_factors(convolution);
    return error == cudaSuccess ? cudaStreamSynchronize(convolution->stream) : error;
}

/* The launch of one block, as a graph. */
static cudaError_t make_graph(struct convolution *convolution)
{
    cudaGraph_t graph = NULL;
    cudaError_t error =
        cudaStreamBeginCapture(convolution->stream, cudaStreamCaptureModeThreadLocal);
    if (error != cudaSuccess)
        return error;
    cudaError_t launched =
        live_launch(&convolution->state, convolution->blocks, false, convolution->stream);
    error = cudaStreamEndCapture(convolution->stream, &graph);
    if (launched != cudaSuccess)
        error = launched;
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(&convolution->graph, graph, 0);
    if (error == cudaSuccess)
        error = cudaGraphUpload(convolution->graph, convolution->stream);
    if (graph)
        cudaGraphDestroy(graph);
    return error;
}

static cudaError_t choose_mode(struct convolution *convolution)
{
    int limited = 0;
    unsigned most = 0, used = 0; /* thread blocks that fit, and others' */
    cudaError_t error =
        cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, convolution->device);
    enum gpu_mode mode = convolution->shape.gpu.mode;
    convolution->resident = mode == GPU_MODE_RESIDENT || (mode == GPU_MODE_AUTO && !limited);
    if (error == cudaSuccess)
        error = live_capacity(&convolution->state, &most);
    for (const struct convolution *one = alive; one; one = one->next)
        used += one != convolution && one->resident && one->device == convolution->device
                    ? one->blocks
                    : 0;
    if (error == cudaSuccess && used >= most) /* others are resident everywhere */
        error = cudaErrorLaunchOutOfResources;
    if (error == cudaSuccess)
        convolution->blocks =
            convolution->state.roles < most - used ? convolution->state.roles : most - used;
    if (error == cudaSuccess && !convolution->resident)
        error = make_graph(convolution);
    return error;
}

static bool make_owed(struct convolution *convolution)
{
    for (size_t i = 0; i < LIVE_OWED_MOST; i++) {
        convolution->owed[i].in =
            audio_alloc((size_t)convolution->state.inputs * convolution->state.block);
        if (!convolution->owed[i].in)
            return false;
    }
    return true;
}

static enum status live_create(const struct convolver_shape *shape, struct convolution **result)
{
    int devices[GPU_MOST];
    size_t count;
    enum status status = gpu_choose(shape->gpu.devices, devices, &count);
    if (status != STATUS_OK)
        return status;
    struct convolution *convolution = calloc(1, sizeof *convolution);
    if (!convolution)
        return fail_memory("a convolver");
    convolver_cuda_send_home(); /* making a graph or room may wait for them */
    convolution->shape = *shape;
    convolution->device = devices[0];
    convolution->fault = fault_wanted();
    convolution->next = alive;
    alive = convolution;
    lay_out(convolution);
    cudaError_t error = cudaSetDevice(convolution->device);
    if (error == cudaSuccess && !make_owed(convolution))
        error = cudaErrorMemoryAllocation;
    if (error == cudaSuccess)
        error = make_capacity(convolution);
    if (error == cudaSuccess)
        error = choose_mode(convolution);
    status = error == cudaSuccess ? fft_create(convolution->state.fft, &convolution->fft)
                                  : gpu_failed(error, "make ready for a live stream");
    if (status != STATUS_OK) {
        live_destroy(convolution);
        return status;
    }
    *result = convolution;
    return STATUS_OK;
}

static cudaError_t silence(struct convolution *convolution)
{
    const struct live_state *state = &convolution->state;
    size_t spectra = (size_t)state->inputs * state->depth * state->bins * sizeof(float2);
    if (gpu_abandoned())
        return cudaErrorLaunchTimeout;
    send_home(convolution);
    cudaError_t error = cudaSetDevice(convolution->device);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(convolution->stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(state->time, 0,
                                (size_t)state->inputs * 2 * state->block * sizeof(float),
                                convolution->stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(state->spectra, 0, spectra, convolution->stream);
    if (error == cudaSuccess)
        error = cudaMemsetAsync(state->tails, 0,
                                (size_t)LIVE_SLOTS * state->outputs * state->block * sizeof(float),
                                convolution->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(convolution->stream) : error;
}

/* A resident kernel starts here, rather than in the first step to come. */
static void live_reset(struct convolution *convolution)
{
    cudaError_t error = silence(convolution);
    convolution->sent = convolution->taken;
    convolution->awaiting = false;
    convolution->behind_since = 0;
    if (error == cudaSuccess && convolution->resident)
        error = live_bring_back(convolution);
    live_note_error(convolution, error);
}

static void live_describe(const struct convolution *convolution, char *text, size_t size)
{
    const struct live_state *state = &convolution->state;
    if (state->depth > 0)
        snprintf(text, size, "direct head and %zu partitions, %s", convolution->partitions,
                 convolution->resident ? "resident kernel" : "graph");
    else
        snprintf(text, size, "direct, %s", convolution->resident ? "resident kernel" : "graph");
}

static const char *live_failure(const struct convolution *convolution)
{
    if (convolution->lost)
        return "it does not answer";
    return convolution->error == cudaSuccess ? NULL : cudaGetErrorString(convolution->error);
}

const struct convolver_backend convolver_cuda_live = {
    .name = "cuda",
    .create = live_create,
    .destroy = live_destroy,
    .reset = live_reset,
    .describe = live_describe,
    .failure = live_failure,
    .prepare = live_prepare,
    .release = live_release,
    .step = live_step,
    .post = live_post,
    .collect = live_collect,
};
