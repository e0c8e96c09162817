#include "gpu/convolver_cuda_live.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "gpu/gpu.h"
#include "gpu/live_copies.h"
#include "gpu/live_kernels.h"
#include "signal/audio.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCKS_BEHIND = 2 }; /* blocks until all work of a block is done */

static bool live_is_done(uint64_t named, uint64_t sent)
{
    return named == 0 || sent >= named + BLOCKS_BEHIND;
}

bool live_entries_take(struct live_entries *entries, uint64_t sent, size_t *position)
{
    for (size_t p = 0; p < LIVE_MASKS; p++)
        if (!entries->taken[p] && live_is_done(entries->named[p], sent)) {
            entries->taken[p] = true;
            *position = p;
            return true;
        }
    return false;
}

void live_entries_give_back(struct live_entries *entries, size_t position, uint64_t named)
{
    entries->taken[position] = false;
    entries->named[position] = named;
}

/* Masks of the live convolver on the GPU. They are laid out on the host and copied in one piece.
 * Pieces are used again, since nothing is freed while a kernel is resident. */

struct mask_layout {
    size_t partitions;
    size_t first, paths, heads, spectra, bytes; /* offsets in a piece, multiples of 16 */
};

static struct mask_layout layout_of(const struct live_state *state, const struct mask *mask)
{
    struct mask_layout at = {0};
    at.partitions = live_partitions(state->block, mask->taps);
    at.paths = at.first + live_rounded((mask->outputs + 1) * sizeof(unsigned));
    at.heads = at.paths + live_rounded(mask->path_count * sizeof(struct live_path));
    at.spectra = at.heads + live_rounded(mask->columns * state->block * sizeof(float));
    at.bytes = at.spectra + mask->columns * at.partitions * state->bins * sizeof(float2);
    return at;
}

enum status live_fill_paths(const struct mask *mask, unsigned *first, struct live_path *paths)
{
    struct path_table table;
    TRY(path_table_init(&table, mask));
    for (size_t o = 0; o <= mask->outputs; o++)
        first[o] = (unsigned)table.first[o];
    for (size_t p = 0; p < mask->path_count; p++)
        paths[p] =
            (struct live_path){(unsigned)table.paths[p].input, (unsigned)table.paths[p].column};
    path_table_free(&table);
    return STATUS_OK;
}

/* Fills in the spectra of a column's partitions. Bin 0 holds the first and middle (real) bins. */
static void fill_spectra(const struct gpu_live *live, const double *column, size_t taps,
                         size_t partitions, float2 *to)
{
    const struct live_state *state = &live->state;
    double *samples = fft_double_samples(live->fft);
    const double complex *bins = fft_double_bins(live->fft);
    for (size_t p = 0; p < partitions; p++, to += state->bins) {
        size_t from = (p + 1) * state->block, left = taps - from;
        size_t count = left < state->block ? left : state->block;
        memset(samples, 0, state->fft * sizeof *samples);
        for (size_t k = 0; k < count; k++)
            samples[k] = column[from + k] / (double)state->fft;
        fft_double_forward(live->fft);
        for (size_t k = 0; k < state->bins; k++)
            to[k] = (float2){(float)creal(bins[k]), (float)cimag(bins[k])};
        to[0].y = (float)creal(bins[state->bins]);
    }
}

static enum status fill_mask(const struct gpu_live *live, const struct mask *mask,
                             const struct mask_layout *at, char *memory)
{
    const struct live_state *state = &live->state;
    float *rounded = mask_round(mask);
    enum status status = rounded ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK)
        status = live_fill_paths(mask, (unsigned *)(void *)(memory + at->first),
                                 (struct live_path *)(void *)(memory + at->paths));
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        const float *column = rounded + c * mask->taps;
        size_t head = mask->taps < state->block ? mask->taps : state->block;
        memcpy(memory + at->heads + c * state->block * sizeof(float), column, head * sizeof(float));
        fill_spectra(live, mask_column(mask, c), mask->taps, at->partitions,
                     (float2 *)(void *)(memory + at->spectra) + c * at->partitions * state->bins);
    }
    free(rounded);
    return status;
}

/* A piece that no mask uses any more or, if there is none, a new one. */
enum status live_alloc_piece(struct gpu_live *live, size_t bytes, struct piece **result)
{
    for (struct piece **at = &live->spare; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && live_is_done((*at)->named, live->sent)) {
            *result = *at;
            *at = (*at)->next;
            return STATUS_OK;
        }
    struct piece *piece = calloc(1, sizeof *piece);
    if (!piece)
        return fail_memory("a mask");
    cudaError_t error = cudaMalloc(&piece->memory, bytes);
    if (error != cudaSuccess) {
        free(piece);
        return gpu_failed(error, "load the mask");
    }
    piece->bytes = bytes;
    *result = piece;
    return STATUS_OK;
}

static void release(struct gpu_live *live, struct gpu_live_mask *prepared)
{
    if (!prepared)
        return;
    uint64_t named = atomic_load(&prepared->named);
    if (prepared->code)
        live_entries_give_back(&live->entries, (prepared->code - 1) % LIVE_MASKS, named);
    if (prepared->piece) {
        prepared->piece->named = named;
        prepared->piece->next = live->spare;
        live->spare = prepared->piece;
    }
    free(prepared);
}

static void live_release(const struct convolution *convolution, struct prepared *prepared)
{
    release(live_of(convolution), (struct gpu_live_mask *)prepared);
}

static bool is_crossed(const struct mask *mask)
{
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input != mask->paths[p].output)
            return true;
    return false;
}

cudaError_t live_enter(struct gpu_live *live, const void *masks, const void *entry, size_t bytes,
                       struct gpu_live_mask *prepared)
{
    size_t position;
    if (!live_entries_take(&live->entries, live->sent, &position))
        return cudaErrorInvalidValue; /* cannot happen with LIVE_MASKS entries (live_kernels.h) */
    prepared->code = (unsigned)(LIVE_MASKS * live->generation++ + position + 1);
    CUDA_TRY(cudaMemcpyAsync((char *)masks + position * bytes, entry, bytes, cudaMemcpyHostToDevice,
                             live->copies));
    return cudaStreamSynchronize(live->copies);
}

/* Copies the mask to its piece and to an entry of state.masks. */
static cudaError_t upload(struct gpu_live *live, const struct mask *mask,
                          const struct mask_layout *at, const char *memory,
                          struct gpu_live_mask *prepared)
{
    const struct live_state *state = &live->state;
    char *device = prepared->piece->memory;
    struct live_mask entry = {
        .first = (const unsigned *)(void *)(device + at->first),
        .paths = (const struct live_path *)(void *)(device + at->paths),
        .heads = (const float *)(void *)(device + at->heads),
        .spectra = (const float2 *)(void *)(device + at->spectra),
        .head = (unsigned)(mask->taps < state->block ? mask->taps : state->block),
        .partitions = (unsigned)at->partitions,
        .crossed = is_crossed(mask),
    };
    CUDA_TRY(cudaMemcpyAsync(device, memory, at->bytes, cudaMemcpyHostToDevice, live->copies));
    return live_enter(live, state->masks, &entry, sizeof entry, prepared);
}

static enum status resident_prepare(struct gpu_live *live, const struct mask *mask,
                                    struct gpu_live_mask *prepared)
{
    struct mask_layout at = layout_of(&live->state, mask);
    char *memory = calloc(1, at.bytes);
    enum status status = memory ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK)
        status = live_alloc_piece(live, at.bytes, &prepared->piece);
    if (status == STATUS_OK)
        status = fill_mask(live, mask, &at, memory);
    if (status == STATUS_OK) {
        cudaError_t error = upload(live, mask, &at, memory, prepared);
        if (error != cudaSuccess)
            status = gpu_failed(error, "load the mask");
    }
    free(memory);
    return status;
}

static enum status live_prepare(const struct convolution *convolution, const struct mask *mask,
                                struct prepared **result)
{
    struct gpu_live *live = live_of(convolution);
    struct gpu_live_mask *prepared = calloc(1, sizeof *prepared);
    if (!prepared)
        return fail_memory("a mask");
    cudaSetDevice(live->device);
    enum status status = live->resident ? resident_prepare(live, mask, prepared)
                                        : live_graph_prepare(live, mask, prepared);
    if (status != STATUS_OK) {
        release(live, prepared);
        return status;
    }
    *result = (struct prepared *)prepared;
    return STATUS_OK;
}

/* The convolver on the GPU for live streams. Either the kernel of live_kernels.cu stays on the
 * device and polls for blocks (resident; live_kernels.h describes the protocol and the algorithm).
 * Or each block is a CUDA graph of the kernels of live_graph.cu. Graphs are for many channels, and
 * for a GPU that drives a display.
 *
 * Freeing device memory would wait for a resident kernel to end. So the memory of masks is kept for
 * later masks, and all resident kernels are stopped before a convolver is destroyed. They restart
 * with their next block.
 */

static struct gpu_live *alive; /* all live convolvers; control thread only */

/* Beyond these limits a graph is faster. A resident kernel multiplies the whole mask in every
 * block, and one of its thread blocks may have several channels. At 64 x 480,000 taps both have the
 * same median time, but the slowest of a thousand blocks takes half as long with the graph. From 64
 * channels on, the graph is faster with masks of any length (docs/measurements.md). */
enum { RESIDENT_TAPS = 1 << 24 /* of all paths */, RESIDENT_CHANNELS = 48 };

/* ---- starting and stopping the resident kernel ---- */

static void clear_packets(const struct gpu_live *live)
{
    const struct live_state *state = &live->state;
    memset(live->in, 0, 2 * state->roles * (1 + state->packets) * sizeof(packet));
}

/* Stops the resident kernel by an empty block with LIVE_STOP, which is not counted. */
static void send_home(struct gpu_live *live)
{
    const struct live_state *state = &live->state;
    uint32_t number = live->number + 1;
    if (!live->running || gpu_is_abandoned(live->device))
        return;
    for (size_t role = 0; role < state->roles; role++)
        for (size_t q = 0; q <= state->packets; q++)
            region(live, number, role)[q] = (packet){0, 0, q == 0 ? LIVE_STOP : 0, number};
    live->running = false;
    double since = monotonic_seconds();
    while (cudaStreamQuery(live->stream) == cudaErrorNotReady) {
        if (monotonic_seconds() - since < LIVE_ANSWER_SECONDS)
            continue;
        gpu_abandon(live->device);
        return;
    }
    (void)cudaGetLastError(); /* clears cudaErrorNotReady */
    clear_packets(live);
}

HALO_REALTIME cudaError_t live_bring_back(struct gpu_live *live)
{
    if (live->running)
        return cudaSuccess;
    live->running = true;
    CUDA_TRY(cudaSetDevice(live->device));
    return live_launch(&live->state, live->blocks, live->stream);
}

void convolver_cuda_send_home(void)
{
    for (struct gpu_live *one = alive; one; one = one->next)
        send_home(one);
}

/* ---- set up ---- */

void convolver_cuda_enter(const struct convolver_shape *shape, struct numa_before *before)
{
    gpu_enter(gpu_device(&shape->gpu.devices), before);
}

static void live_destroy(struct convolution *convolution)
{
    struct gpu_live *live = live_of(convolution);
    convolver_cuda_send_home();
    for (struct gpu_live **at = &alive; *at; at = &(*at)->next)
        if (*at == live) {
            *at = live->next;
            break;
        }
    live_copies_destroy(live);
    if (!gpu_abandoned()) {
        const struct live_state *state = &live->state;
        void *memory[] = {
            (void *)state->masks,   state->time,     state->spectra,   state->tails,
            (void *)state->factors, state->counters, state->time_done, state->spectra_done};
        cudaSetDevice(live->device);
        for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
            cudaFree(memory[m]);
        cudaFreeHost(live->in);
        cudaFreeHost(live->out);
        live_graph_destroy(live);
        if (live->stream)
            cudaStreamDestroy(live->stream);
        if (live->copies)
            cudaStreamDestroy(live->copies);
    }
    while (live->spare) {
        struct piece *piece = live->spare;
        live->spare = piece->next;
        if (!gpu_abandoned())
            cudaFree(piece->memory);
        free(piece);
    }
    for (size_t i = 0; i < LIVE_OWED_MOST; i++)
        free(live->owed[i].in);
    free(live->owed_in);
    fft_double_destroy(live->fft);
    free(live);
}

static void lay_out(struct gpu_live *live)
{
    const struct convolver_shape *shape = &live->shape;
    struct live_plan plan = live_plan_for(shape->block, shape->taps);
    live->partitions = plan.partitions;
    live->state = (struct live_state){
        .inputs = (unsigned)shape->inputs,
        .outputs = (unsigned)shape->outputs,
        .roles = (unsigned)(shape->inputs > shape->outputs ? shape->inputs : shape->outputs),
        .block = (unsigned)shape->block,
        .fft = (unsigned)plan.fft,
        .bins = (unsigned)plan.fft / 2,
        .bins_log2 = (unsigned)plan.fft_log2 - 1,
        .depth = (unsigned)plan.depth,
        .packets = (unsigned)plan.packets,
    };
}

cudaError_t live_alloc(void **memory, size_t bytes, cudaStream_t stream)
{
    CUDA_TRY(cudaMalloc(memory, bytes));
    return cudaMemsetAsync(*memory, 0, bytes, stream);
}

cudaError_t live_map(void **host, void **device, size_t bytes)
{
    CUDA_TRY(cudaHostAlloc(host, bytes, cudaHostAllocMapped));
    memset(*host, 0, bytes);
    return cudaHostGetDevicePointer(device, *host, 0);
}

static cudaError_t upload_factors(struct gpu_live *live)
{
    struct live_state *state = &live->state;
    size_t bytes = state->bins * sizeof(double2);
    double2 *factors = malloc(bytes);
    if (!factors)
        return cudaErrorMemoryAllocation;
    for (size_t k = 0; k < state->bins; k++) {
        double angle = -2 * M_PI * (double)k / (double)state->fft;
        factors[k] = (double2){cos(angle), sin(angle)};
    }
    cudaError_t error = cudaMalloc((void **)&state->factors, bytes);
    if (error == cudaSuccess)
        error = gpu_send((void *)state->factors, factors, bytes);
    free(factors);
    return error;
}

static cudaError_t resident_alloc(struct gpu_live *live)
{
    struct live_state *state = &live->state;
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
    size_t asked = 2 * (size_t)state->roles * (1 + state->packets);
    size_t answered = live_answers(state) + state->roles - state->outputs;
    for (size_t m = 0; m < sizeof wanted / sizeof *wanted; m++)
        CUDA_TRY(live_alloc(wanted[m].memory, wanted[m].bytes, live->stream));
    CUDA_TRY(live_map((void **)&live->in, (void **)&state->in, asked * sizeof(packet)));
    CUDA_TRY(live_map((void **)&live->out, (void **)&state->out, answered * sizeof(packet)));
    CUDA_TRY(upload_factors(live));
    return cudaStreamSynchronize(live->stream);
}

/* Thread blocks of resident kernels on this device, plus one multiprocessor's for each graph. */
static unsigned blocks_of_others(const struct gpu_live *live)
{
    unsigned used = 0;
    for (const struct gpu_live *one = alive; one; one = one->next)
        if (one != live && one->device == live->device)
            used += one->resident ? one->blocks : 1;
    return used;
}

static cudaError_t choose_mode(struct gpu_live *live)
{
    const struct convolver_shape *shape = &live->shape;
    int limited = 0;
    CUDA_TRY(cudaDeviceGetAttribute(&limited, cudaDevAttrKernelExecTimeout, live->device));
    bool is_small = live->state.roles <= RESIDENT_CHANNELS &&
                    shape->taps <= RESIDENT_TAPS / (shape->paths ? shape->paths : 1);
    enum gpu_mode mode = shape->gpu.mode;
    live->resident = mode == GPU_MODE_RESIDENT || (mode == GPU_MODE_AUTO && !limited && is_small);
    return cudaSuccess;
}

static cudaError_t resident_create(struct gpu_live *live)
{
    unsigned most = 0, used = blocks_of_others(live);
    CUDA_TRY(resident_alloc(live));
    CUDA_TRY(live_capacity(&live->state, &most));
    if (used >= most) /* the device is full */
        return cudaErrorLaunchOutOfResources;
    live->blocks = live->state.roles < most - used ? live->state.roles : most - used;
    return cudaSuccess;
}

static cudaError_t make_streams(struct gpu_live *live)
{
    int least, greatest;
    CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    CUDA_TRY(cudaStreamCreateWithPriority(&live->stream, cudaStreamNonBlocking, greatest));
    return cudaStreamCreateWithPriority(&live->copies, cudaStreamNonBlocking, least);
}

static cudaError_t live_init(struct gpu_live *live)
{
    CUDA_TRY(cudaSetDevice(live->device));
    live->owed_in = calloc(live->state.inputs, sizeof *live->owed_in);
    if (!live->owed_in)
        return cudaErrorMemoryAllocation;
    for (size_t i = 0; i < LIVE_OWED_MOST; i++) {
        live->owed[i].in = audio_alloc((size_t)live->state.inputs * live->state.block);
        if (!live->owed[i].in)
            return cudaErrorMemoryAllocation;
    }
    CUDA_TRY(make_streams(live));
    CUDA_TRY(choose_mode(live));
    if (live->resident)
        return resident_create(live);
    int processors;
    CUDA_TRY(gpu_attribute(cudaDevAttrMultiProcessorCount, &processors));
    if (blocks_of_others(live) >= (unsigned)processors)
        return cudaErrorLaunchOutOfResources;
    return live_graph_create(live);
}

static enum status fill(struct gpu_live *live)
{
    cudaError_t error = live_init(live);
    enum status status = error == cudaSuccess ? fft_double_create(live->state.fft, &live->fft)
                                              : gpu_failed(error, "set up a live stream");
    if (status == STATUS_OK && !live->resident)
        status = live_copies_create(live);
    return status;
}

static enum status live_create(const struct convolver_shape *shape, struct convolution **result)
{
    int device;
    TRY(gpu_choose(&shape->gpu.devices, "the stream", &device));
    struct gpu_live *live = calloc(1, sizeof *live);
    if (!live)
        return fail_memory("a convolver");
    /* allocating memory or making a graph may wait for resident kernels */
    convolver_cuda_send_home();
    live->shape = *shape;
    live->device = device;
    live->fault = fault_wanted();
    live->next = alive;
    alive = live;
    lay_out(live);
    *result = (struct convolution *)live;
    enum status status = fill(live);
    if (status == STATUS_OK)
        return STATUS_OK;
    live_destroy(*result);
    *result = NULL;
    return status;
}

static cudaError_t silence(struct gpu_live *live)
{
    const struct live_state *state = &live->state;
    size_t spectra = (size_t)state->inputs * state->depth * state->bins * sizeof(float2);
    if (gpu_is_abandoned(live->device))
        return cudaErrorLaunchTimeout;
    send_home(live);
    CUDA_TRY(cudaSetDevice(live->device));
    CUDA_TRY(cudaStreamSynchronize(live->stream));
    if (!live->resident)
        return live_graph_silence(live);
    CUDA_TRY(cudaMemsetAsync(
        state->time, 0, (size_t)state->inputs * 2 * state->block * sizeof(float), live->stream));
    CUDA_TRY(cudaMemsetAsync(state->spectra, 0, spectra, live->stream));
    CUDA_TRY(cudaMemsetAsync(state->tails, 0,
                             (size_t)LIVE_SLOTS * state->outputs * state->block * sizeof(float),
                             live->stream));
    return cudaStreamSynchronize(live->stream);
}

/* Starts a resident kernel, so that the first step need not do it. */
static void live_reset(struct convolution *convolution)
{
    struct gpu_live *live = live_of(convolution);
    cudaError_t error = silence(live);
    live->sent = live->taken;
    live->awaiting = false;
    live->behind_since = 0;
    if (error == cudaSuccess && live->resident)
        error = live_bring_back(live);
    gpu_note_error(&live->error, error);
}

/* Describes the ladder by numbers and sizes of partitions, as in "2 x 128, 8 x 1024". */
static void describe_ladder(const struct live_ladder *ladder, char *text, size_t size)
{
    size_t at = (size_t)snprintf(text, size, "direct%s", ladder->count ? " head and" : "");
    for (size_t l = 0; l < ladder->count && at < size; l++)
        at += (size_t)snprintf(text + at, size - at, "%s %u x %u", l ? "," : "",
                               ladder->levels[l].partitions, ladder->levels[l].size);
    if (at < size)
        snprintf(text + at, size - at, ", graph");
}

static void live_describe(const struct convolution *convolution, char *text, size_t size)
{
    const struct gpu_live *live = live_of(convolution);
    if (!live->resident)
        describe_ladder(&live->graph.state.ladder, text, size);
    else if (live->state.depth > 0)
        snprintf(text, size, "direct head and %zu partitions, resident kernel", live->partitions);
    else
        snprintf(text, size, "direct, resident kernel");
}

static const char *live_failure(const struct convolution *convolution)
{
    const struct gpu_live *live = live_of(convolution);
    if (live->lost)
        return "it does not answer";
    return live->error == cudaSuccess ? NULL : cudaGetErrorString(live->error);
}

const struct convolver_backend convolver_cuda_live = {
    .name = "cuda",
    .enter = convolver_cuda_enter,
    .create = live_create,
    .destroy = live_destroy,
    .reset = live_reset,
    .describe = live_describe,
    .failure = live_failure,
    .prepare = live_prepare,
    .release = live_release,
    .arm = live_arm,
    .step = cuda_live_step,
    .post = live_post,
    .collect = live_collect,
};
