/* Live streams on the GPU whose blocks are graphs: set-up, masks and step. live_graph_kernels.h
 * describes what a graph does. */
#include "gpu/convolver_cuda_live.h"
#include "gpu/gpu.h"

#include "gpu/block_plan.h"
#include "gpu/live_copies.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 64,     /* the samples begin on a line of their own */
    READ_BYTES = 8 << 10,  /* of samples: more are copied to the device */
    COPY_LEAST = 1 << 17,  /* bytes: a copy takes its caller as long as so many take on the bus */
    COPY_PARTS = 8,        /* of all: each on its way while the host writes the next */
    SLOW_BYTES = 1 << 24,  /* of spectra: with more, a new mask is armed block by block */
    TEAMS_MOST = 4,        /* per processor: beyond, a warp answers alone */
    PAIRS_LEAST = 1 << 10, /* of bins per processor: below, warps share their products */
    CHANNEL_FLOATS = 4,    /* floats: channels begin at multiples of that */
};

/* ---- set up ---- */

void live_graph_destroy(struct gpu_live *live)
{
    struct gpu_live_graph *graph = &live->graph;
    const struct live_graph_state *state = &graph->state;
    cudaFreeHost(graph->header);
    cudaFreeHost((void *)graph->out);
    cudaFreeHost((void *)graph->flags);
    void *memory[] = {graph->on_device, graph->column,        (void *)state->masks,   state->time,
                      state->kept,      (void *)state->turns, (void *)state->reversed};
    for (size_t m = 0; m < sizeof memory / sizeof *memory; m++)
        cudaFree(memory[m]);
    for (size_t l = 0; l < LIVE_LEVELS; l++) {
        cudaFree(state->spectra[l]);
        cudaFree(state->sums[l]);
        cudaFree(state->due[l]);
    }
    for (size_t g = 0; g < 2; g++)
        if (graph->blocks[g])
            cudaGraphExecDestroy(graph->blocks[g]);
}

/* Warps that share an output's products: enough to have loads of PAIRS_LEAST in flight. A block's
 * share of each level is about as many bins as it has frames. */
static unsigned product_team(const struct convolver_shape *shape, const struct live_ladder *ladder,
                             unsigned processors)
{
    unsigned team = 1;
    size_t pairs = shape->outputs * ladder->count * shape->block / 2;
    while (team < LIVE_PRODUCT_TEAM && team * pairs < (size_t)PAIRS_LEAST * processors)
        team *= 2;
    return team;
}

static void lay_out(struct gpu_live *live, unsigned bins_most, unsigned processors)
{
    const struct convolver_shape *shape = &live->shape;
    struct live_graph_state *state = &live->graph.state;
    size_t items = (shape->block + LIVE_SPAN - 1) / LIVE_SPAN, all = shape->outputs * items;
    size_t team = all < TEAMS_MOST * processors ? LIVE_PIECE : 1;
    *state = (struct live_graph_state){
        .inputs = (unsigned)shape->inputs,
        .outputs = (unsigned)shape->outputs,
        .block = (unsigned)shape->block,
        .stride = (unsigned)((shape->block + CHANNEL_FLOATS - 1) / CHANNEL_FLOATS * CHANNEL_FLOATS),
        .items = (unsigned)items,
        .team = (unsigned)team,
        .pieces = (unsigned)((all * team + LIVE_PIECE - 1) / LIVE_PIECE),
        .tile = LIVE_TILE,
        .processors = processors,
        .ladder = live_ladder_for(shape->block, shape->taps, bins_most),
    };
    state->product_team = product_team(shape, &state->ladder, processors);
    for (size_t l = 0; l < state->ladder.count; l++)
        if (state->tile < state->ladder.levels[l].bins)
            state->tile = state->ladder.levels[l].bins;
    while (1U << state->turns_log2 < state->tile)
        state->turns_log2++;
    live->graph.bytes = HEADER_BYTES + (size_t)state->inputs * state->stride * sizeof(float);
}

/* Both tables. */
static cudaError_t upload_turns(struct gpu_live *live)
{
    struct live_graph_state *state = &live->graph.state;
    size_t count = (size_t)1 << state->turns_log2, bytes = count * sizeof(double2);
    double2 *turns = malloc(2 * bytes);
    if (!turns)
        return cudaErrorMemoryAllocation;
    for (size_t k = 0; k < count; k++) {
        size_t reversed = 0;
        for (size_t bit = 0; bit < state->turns_log2; bit++)
            reversed |= (k >> bit & 1) << (state->turns_log2 - 1 - bit);
        double angle = -M_PI * (double)k / (double)count;
        turns[k] = turns[count + reversed] = (double2){cos(angle), sin(angle)};
    }
    cudaError_t error = cudaMalloc((void **)&state->turns, bytes);
    if (error == cudaSuccess)
        error = cudaMalloc((void **)&state->reversed, bytes);
    if (error == cudaSuccess)
        error = gpu_send((void *)state->turns, turns, bytes);
    if (error == cudaSuccess)
        error = gpu_send((void *)state->reversed, turns + count, bytes);
    free(turns);
    return error;
}

/* Bytes of what a level keeps. */
struct level_bytes {
    size_t spectra, sums, due;
};

static struct level_bytes bytes_of(const struct live_graph_state *state, size_t l)
{
    const struct live_level *level = &state->ladder.levels[l];
    return (struct level_bytes){
        .spectra = (size_t)state->inputs * level->depth * level->bins * sizeof(float2),
        .sums = (size_t)LIVE_SLOTS * state->outputs * level->bins * sizeof(float2),
        .due = (size_t)LIVE_SLOTS * 2 * state->outputs * level->size * sizeof(float),
    };
}

static size_t time_bytes(const struct live_graph_state *state)
{
    return (size_t)state->inputs * state->ladder.window * state->block * sizeof(float);
}

static cudaError_t alloc_on_device(struct gpu_live *live)
{
    struct live_graph_state *state = &live->graph.state;
    for (size_t l = 0; l < state->ladder.count; l++) {
        struct level_bytes bytes = bytes_of(state, l);
        CUDA_TRY(live_alloc((void **)&state->spectra[l], bytes.spectra, live->stream));
        CUDA_TRY(live_alloc((void **)&state->sums[l], bytes.sums, live->stream));
        CUDA_TRY(live_alloc((void **)&state->due[l], bytes.due, live->stream));
    }
    CUDA_TRY(live_alloc((void **)&state->time, time_bytes(state), live->stream));
    CUDA_TRY(live_alloc((void **)&state->kept, sizeof *state->kept, live->stream));
    CUDA_TRY(live_alloc((void **)&state->masks, LIVE_MASKS * sizeof *state->masks, live->stream));
    CUDA_TRY(cudaMalloc((void **)&live->graph.column, live->shape.taps * sizeof(double)));
    return upload_turns(live);
}

static cudaError_t alloc_shared(struct gpu_live *live)
{
    struct gpu_live_graph *graph = &live->graph;
    struct live_graph_state *state = &graph->state;
    char *from;
    size_t answer = (size_t)LIVE_SLOTS * state->outputs * state->stride * sizeof(float);
    CUDA_TRY(live_map((void **)&graph->header, (void **)&from, graph->bytes));
    graph->samples = (float *)(void *)((char *)graph->header + HEADER_BYTES);
    if (graph->bytes > READ_BYTES)
        CUDA_TRY(live_alloc((void **)&graph->on_device, graph->bytes, live->stream));
    from = graph->on_device ? graph->on_device : from;
    state->header = (const struct live_header *)(void *)from;
    state->in = (const float *)(void *)(from + HEADER_BYTES);
    CUDA_TRY(live_map((void **)&graph->out, (void **)&state->out, answer));
    return live_map((void **)&graph->flags, (void **)&state->flags,
                    state->pieces * sizeof(uint32_t));
}

static cudaError_t make_graph(struct gpu_live *live, bool is_new, cudaGraphExec_t *result)
{
    cudaGraph_t graph = NULL;
    CUDA_TRY(cudaStreamBeginCapture(live->stream, cudaStreamCaptureModeThreadLocal));
    cudaError_t launched = live_graph_launch(&live->graph.state, is_new, live->stream);
    cudaError_t error = cudaStreamEndCapture(live->stream, &graph);
    if (launched != cudaSuccess)
        error = launched;
    if (error == cudaSuccess)
        error = cudaGraphInstantiate(result, graph, 0);
    if (error == cudaSuccess)
        error = cudaGraphUpload(*result, live->stream);
    if (graph)
        cudaGraphDestroy(graph);
    return error;
}

cudaError_t live_graph_create(struct gpu_live *live)
{
    unsigned bins_most;
    int processors;
    CUDA_TRY(live_graph_load(&bins_most));
    CUDA_TRY(gpu_attribute(cudaDevAttrMultiProcessorCount, &processors));
    lay_out(live, bins_most, (unsigned)processors);
    CUDA_TRY(alloc_shared(live));
    CUDA_TRY(alloc_on_device(live));
    for (size_t g = 0; g < 2; g++)
        CUDA_TRY(make_graph(live, g == 1, &live->graph.blocks[g]));
    return cudaStreamSynchronize(live->stream);
}

cudaError_t live_graph_silence(struct gpu_live *live)
{
    const struct live_graph_state *state = &live->graph.state;
    CUDA_TRY(cudaMemsetAsync(state->time, 0, time_bytes(state), live->stream));
    for (size_t l = 0; l < state->ladder.count; l++) {
        struct level_bytes bytes = bytes_of(state, l);
        CUDA_TRY(cudaMemsetAsync(state->spectra[l], 0, bytes.spectra, live->stream));
        CUDA_TRY(cudaMemsetAsync(state->due[l], 0, bytes.due, live->stream));
    }
    return cudaStreamSynchronize(live->stream);
}

/* ---- masks ---- */

/* Offsets in a piece, multiples of 16; the spectra are made on the device. */
struct graph_mask_layout {
    size_t first, paths, heads, spectra[LIVE_LEVELS], bytes;
    size_t partitions[LIVE_LEVELS];
};

static struct graph_mask_layout layout_of(const struct live_graph_state *state,
                                          const struct mask *mask)
{
    struct graph_mask_layout at = {0};
    at.paths = at.first + live_rounded((mask->outputs + 1) * sizeof(unsigned));
    at.heads = at.paths + live_rounded(mask->path_count * sizeof(struct live_path));
    at.bytes = at.heads + live_rounded(mask->columns * state->block * sizeof(float));
    for (size_t l = 0; l < state->ladder.count; l++) {
        at.partitions[l] = live_level_partitions(&state->ladder, l, mask->taps);
        at.spectra[l] = at.bytes;
        at.bytes +=
            mask->columns * at.partitions[l] * state->ladder.levels[l].bins * sizeof(float2);
    }
    return at;
}

static size_t head_of(const struct live_graph_state *state, const struct mask *mask)
{
    return mask->taps < state->block ? mask->taps : state->block;
}

/* What is before the spectra. */
static enum status fill_front(const struct live_graph_state *state, const struct mask *mask,
                              const struct graph_mask_layout *at, char *memory)
{
    size_t head = head_of(state, mask);
    for (size_t c = 0; c < mask->columns; c++) {
        float *to = (float *)(void *)(memory + at->heads) + c * state->block;
        for (size_t k = 0; k < head; k++)
            to[k] = (float)mask_column(mask, c)[k];
    }
    return live_fill_paths(mask, (unsigned *)(void *)(memory + at->first),
                           (struct live_path *)(void *)(memory + at->paths));
}

static cudaError_t transform_column(struct gpu_live *live, const struct mask *mask, size_t column,
                                    const struct graph_mask_layout *at, char *device)
{
    const struct live_graph_state *state = &live->graph.state;
    CUDA_TRY(cudaMemcpyAsync(live->graph.column, mask_column(mask, column),
                             mask->taps * sizeof(double), cudaMemcpyHostToDevice, live->copies));
    for (unsigned l = 0; l < state->ladder.count; l++) {
        size_t bins = column * at->partitions[l] * state->ladder.levels[l].bins;
        float2 *spectra = (float2 *)(void *)(device + at->spectra[l]) + bins;
        if (at->partitions[l] > 0)
            CUDA_TRY(live_graph_transform(state, l, live->graph.column, (unsigned)mask->taps,
                                          (unsigned)at->partitions[l], spectra, live->copies));
    }
    return cudaSuccess;
}

static cudaError_t upload(struct gpu_live *live, const struct mask *mask,
                          const struct graph_mask_layout *at, const char *front,
                          struct gpu_live_mask *prepared)
{
    const struct live_graph_state *state = &live->graph.state;
    char *device = prepared->piece->memory;
    struct live_graph_mask entry = {
        .first = (const unsigned *)(void *)(device + at->first),
        .paths = (const struct live_path *)(void *)(device + at->paths),
        .heads = (const float *)(void *)(device + at->heads),
        .head = (unsigned)head_of(state, mask),
    };
    CUDA_TRY(cudaMemcpyAsync(device, front, at->spectra[0], cudaMemcpyHostToDevice, live->copies));
    for (size_t c = 0; c < mask->columns && state->ladder.count > 0; c++)
        CUDA_TRY(transform_column(live, mask, c, at, device));
    for (size_t l = 0; l < state->ladder.count; l++) {
        entry.spectra[l] = (const float2 *)(void *)(device + at->spectra[l]);
        entry.partitions[l] = (unsigned)at->partitions[l];
    }
    return live_enter(live, state->masks, &entry, sizeof entry, prepared);
}

enum status live_graph_prepare(struct gpu_live *live, const struct mask *mask,
                               struct gpu_live_mask *prepared)
{
    struct graph_mask_layout at = layout_of(&live->graph.state, mask);
    if (live->graph.state.ladder.count == 0)
        at.spectra[0] = at.bytes;
    char *front = calloc(1, at.spectra[0]);
    prepared->is_slow = mask->path_count > 0 &&
                        (at.bytes - at.spectra[0]) / mask->columns > SLOW_BYTES / mask->path_count;
    enum status status = front ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK)
        status = fill_front(&live->graph.state, mask, &at, front);
    if (status == STATUS_OK)
        status = live_alloc_piece(live, at.bytes, &prepared->piece);
    if (status == STATUS_OK) {
        cudaError_t error = upload(live, mask, &at, front, prepared);
        if (error != cudaSuccess)
            status = gpu_failed(error, "load the mask");
    }
    free(front);
    return status;
}

/* ---- the step ---- */

/* Copy what has been written, `count` channels, if that is enough or all. */
HALO_REALTIME static cudaError_t copy_on(struct gpu_live *live, size_t count)
{
    struct gpu_live_graph *graph = &live->graph;
    size_t from = graph->copied, until = HEADER_BYTES + count * graph->state.stride * sizeof(float);
    size_t part = graph->bytes / COPY_PARTS > COPY_LEAST ? graph->bytes / COPY_PARTS : COPY_LEAST;
    if (!graph->on_device || (until < graph->bytes && until - from < part))
        return cudaSuccess;
    graph->copied = until;
    return cudaMemcpyAsync(graph->on_device + from, (const char *)graph->header + from,
                           until - from, cudaMemcpyHostToDevice, live->stream);
}

HALO_REALTIME cudaError_t live_graph_send(struct gpu_live *live, const packet *header,
                                          const float *const *in)
{
    struct gpu_live_graph *graph = &live->graph;
    bool is_new = (*header)[2] & (LIVE_FRESH | LIVE_FRESH << 1);
    *graph->header = (struct live_header){
        .codes = {(*header)[0], (*header)[1]}, .flags = (*header)[2], .number = (*header)[3]};
    graph->copied = 0;
    CUDA_TRY(cudaSetDevice(live->device)); /* several streams may share the thread */
    CUDA_TRY(live_copy_in(live, in, copy_on));
    return cudaGraphLaunch(graph->blocks[is_new], live->stream);
}
