#include "base/monotonic.h"
#include "base/realtime.h"
#include "gpu/block_plan.h"
#include "gpu/convolver_cuda_live.h"
#include "gpu/gpu.h"
#include "gpu/live_copies.h"
#include "gpu/live_graph_kernels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Live streams whose blocks are graphs (live_graph_kernels.h): set-up, masks and step. */

enum {
    HEADER_BYTES = 64,     /* samples begin after so many bytes, on a line of their own */
    READ_BYTES = 8 << 10,  /* bytes of samples; more are copied to the device */
    COPY_LEAST = 1 << 17,  /* bytes; starting a copy takes the caller as long as sending so many */
    COPY_PARTS = 8,        /* parts of the copy; a part is sent while the host writes the next */
    SLOW_BYTES = 1 << 24,  /* bytes of spectra; with more, a new mask is armed block by block */
    TEAMS_MOST = 4,        /* items per processor; with more, each warp answers alone */
    PAIRS_LEAST = 1 << 10, /* pairs of bins per processor; with fewer, warps share products */
    CHANNEL_FLOATS = 4,    /* floats; channels begin at multiples */
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

/* Number of warps that share an output's products, so that loads of PAIRS_LEAST pairs are in
 * flight. A block's share of each level has about as many bins as the block has frames. */
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

/* Uploads state.turns and state.reversed. */
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

/* Bytes of a level's buffers. */
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

/* Offsets in a piece, multiples of 16. The spectra are computed on the device. */
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

/* Fills in the part of a piece before the spectra. */
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

/* Copies the `count` channels that are written, if they are enough for a copy or are all. */
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

/* Sends block live->number. Real-time. */
static HALO_REALTIME cudaError_t live_graph_send(struct gpu_live *live, const packet *header,
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

/* ---- the step of the live convolver on the GPU: everything here is real-time ---- */

enum {
    CLOCK_SPINS = 1 << 5,   /* polls of the answer between reads of the clock */
    DRIVER_SPINS = 1 << 10, /* polls of the answer between queries of the driver */
};

/* ---- blocks that go to the GPU ---- */

HALO_REALTIME static struct owed *owed_at(struct gpu_live *live, uint64_t block)
{
    return &live->owed[block % LIVE_OWED_MOST];
}

/* The number of the next block. */
HALO_REALTIME static uint32_t next_number(const struct gpu_live *live)
{
    return live->number + (uint32_t)(live->taken - live->sent) + 1;
}

HALO_REALTIME bool live_arm(struct convolution *convolution, size_t slot,
                            const struct prepared *prepared, bool at_once)
{
    struct gpu_live *live = live_of(convolution);
    struct gpu_live_mask *mask = live_mask_of(prepared);
    struct live_arming *arming = &live->arming;
    if (at_once || !mask->is_slow)
        return true;
    uint32_t next = next_number(live);
    if (arming->code != mask->code || arming->slot != slot)
        *arming = (struct live_arming){.code = mask->code, .slot = slot, .since = next};
    arming->mask = mask;
    arming->wanted = true;
    return live_is_complete(&live->graph.state.ladder, arming->since, next);
}

HALO_REALTIME static void enter_slot(const struct gpu_live *live, const struct convolver_slot *slot,
                                     size_t v, packet *header)
{
    const struct live_arming *arming = &live->arming;
    unsigned armed = arming->wanted && arming->slot == v ? arming->code : 0;
    struct gpu_live_mask *mask = slot->prepared ? live_mask_of(slot->prepared)
                                 : armed        ? arming->mask
                                                : NULL;
    (*header)[v] = mask ? mask->code : 0;
    if (mask)
        atomic_store_explicit(&mask->named, live->taken + 1, memory_order_relaxed);
    if (!slot->prepared && armed)
        (*header)[2] |= (uint32_t)LIVE_ARMED << v;
    if (slot->prepared && slot->fresh && armed != (*header)[v])
        (*header)[2] |= (uint32_t)LIVE_FRESH << v;
}

/* Makes the next block, except for its samples. */
HALO_REALTIME static struct owed *take_block(struct gpu_live *live,
                                             const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct owed *owed = owed_at(live, live->taken);
    owed->header = (packet){0};
    for (size_t v = 0; v < LIVE_SLOTS; v++)
        enter_slot(live, &slots[v], v, &owed->header);
    if (!live->arming.wanted)
        live->arming.code = 0;
    live->arming.wanted = false;
    if (live->fault.kind == FAULT_TRAP && live->fault.step == live->taken)
        owed->header[2] |= LIVE_TRAP;
    live->taken++;
    return owed;
}

HALO_REALTIME static void write_packets(struct gpu_live *live, const packet *header,
                                        const float *const *in)
{
    const struct live_state *state = &live->state;
    uint32_t number = (*header)[3];
    for (size_t role = 0; role < state->roles; role++) {
        volatile packet *to = region(live, number, role);
        *to++ = *header;
        for (size_t i = 0; i < state->block && role < state->inputs; i += 3, to++) {
            uint32_t samples[3] = {0};
            size_t left = state->block - i;
            memcpy(samples, in[role] + i, (left < 3 ? left : 3) * sizeof *samples);
            *to = (packet){samples[0], samples[1], samples[2], number};
        }
    }
}

/* Sends the oldest unsent block. The previous one has been answered. */
HALO_REALTIME static cudaError_t send_block(struct gpu_live *live, const float *const *in)
{
    packet header = owed_at(live, live->sent)->header;
    header[3] = ++live->number;
    live->sent++;
    live->awaiting = true;
    if (!live->resident)
        return live_graph_send(live, &header, in);
    write_packets(live, &header, in);
    return live_bring_back(live);
}

HALO_REALTIME static cudaError_t send_owed(struct gpu_live *live)
{
    const struct owed *owed = owed_at(live, live->sent);
    for (size_t c = 0; c < live->state.inputs; c++)
        live->owed_in[c] = owed->in + c * live->state.block;
    return send_block(live, live->owed_in);
}

/* ---- answers ---- */

HALO_REALTIME static cudaError_t give_up(struct gpu_live *live)
{
    live->lost = true;
    gpu_abandon(live->device);
    return cudaErrorLaunchTimeout;
}

/* Finds out whether the kernel has failed, after a while without an answer. */
HALO_REALTIME static cudaError_t check_alive(struct gpu_live *live)
{
    cudaError_t error = cudaStreamQuery(live->stream);
    if (error != cudaErrorNotReady && error != cudaSuccess)
        return error;
    (void)cudaGetLastError(); /* clears cudaErrorNotReady */
    if (live->behind_since == 0)
        live->behind_since = monotonic_seconds();
    bool patient = monotonic_seconds() - live->behind_since < LIVE_ANSWER_SECONDS;
    return patient ? cudaSuccess : give_up(live);
}

HALO_REALTIME cudaError_t live_wait(struct gpu_live *live, size_t spins, int64_t until,
                                    bool *in_time)
{
    if (spins % CLOCK_SPINS == 0 && monotonic_ns() >= until)
        *in_time = false;
    else if (spins % DRIVER_SPINS == 0)
        CUDA_TRY(check_alive(live));
    realtime_pause();
    return cudaSuccess;
}

/* Waits for a packet of the answer to the last block sent. */
HALO_REALTIME static cudaError_t await_packet(struct gpu_live *live, const volatile packet *from,
                                              int64_t until, packet *answer, bool *in_time)
{
    *answer = *from;
    for (size_t spins = 1; (*answer)[3] != live->number && *in_time; spins++, *answer = *from)
        CUDA_TRY(live_wait(live, spins, until, in_time));
    return cudaSuccess;
}

/* Waits for a channel of the answer. `out` is NULL if the answer is too late to be used. */
HALO_REALTIME static cudaError_t await_channel(struct gpu_live *live, size_t channel, int64_t until,
                                               float *out, bool *in_time)
{
    const struct live_state *state = &live->state;
    const volatile packet *from = live->out + channel * state->packets;
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < state->block && error == cudaSuccess && *in_time; i += 3) {
        packet answer;
        error = await_packet(live, from++, until, &answer, in_time);
        size_t left = state->block - i;
        if (out)
            memcpy(out + i, &answer, (left < 3 ? left : 3) * sizeof *out);
    }
    return error;
}

HALO_REALTIME static cudaError_t await_packets(struct gpu_live *live, const packet *header,
                                               const struct convolver_slot *slots, int64_t until,
                                               bool *in_time)
{
    const struct live_state *state = &live->state;
    cudaError_t error = cudaSuccess;
    for (size_t v = 0; v < LIVE_SLOTS; v++)
        for (size_t o = 0; o < state->outputs && (*header)[v] && error == cudaSuccess && *in_time;
             o++)
            error = await_channel(live, v * state->outputs + o, until,
                                  slots ? slots[v].out[o] : NULL, in_time);
    for (size_t role = state->outputs; role < state->roles && error == cudaSuccess && *in_time;
         role++) {
        packet answer;
        error = await_packet(live, live->out + live_answers(state) + role - state->outputs, until,
                             &answer, in_time);
    }
    return error;
}

/* Waits for the answer to the last block sent. Copies it only if this is the newest block. */
HALO_REALTIME static cudaError_t await_answer(struct gpu_live *live,
                                              const struct convolver_slot slots[CONVOLVER_SLOTS],
                                              int64_t until, bool *in_time)
{
    uint64_t sent = live->sent;
    const packet header = owed_at(live, sent - 1)->header;
    const struct convolver_slot *wanted = sent == live->taken ? slots : NULL;
    *in_time = !fault_hides(&live->fault, live->taken - 1);
    cudaError_t error = cudaSuccess;
    if (*in_time)
        error = (live->resident ? await_packets : live_graph_await)(live, &header, wanted, until,
                                                                    in_time);
    live->awaiting = live->awaiting && !(error == cudaSuccess && *in_time);
    return error;
}

/* ---- the step ---- */

HALO_REALTIME static cudaError_t post(struct gpu_live *live, const float *const *in,
                                      const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct fault *fault = &live->fault;
    if (fault->kind != FAULT_TRAP) /* the live kernel itself does FAULT_TRAP */
        CUDA_TRY(fault_at(fault, live->taken, live->copies));
    if (live->taken - live->sent == LIVE_OWED_MOST - 1)
        return give_up(live);
    struct owed *owed = take_block(live, slots);
    if (!live->awaiting)
        return send_block(live, in);
    for (size_t c = 0; c < live->state.inputs; c++)
        memcpy(owed->in + c * live->state.block, in[c], live->state.block * sizeof(float));
    return cudaSuccess;
}

HALO_REALTIME void live_post(struct convolution *convolution, const float *const *in,
                             const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    struct gpu_live *live = live_of(convolution);
    if (live->error == cudaSuccess)
        gpu_note_error(&live->error, post(live, in, slots));
}

HALO_REALTIME static cudaError_t collect(struct gpu_live *live,
                                         const struct convolver_slot slots[CONVOLVER_SLOTS],
                                         int64_t until, bool *in_time)
{
    for (;;) {
        CUDA_TRY(await_answer(live, slots, until, in_time));
        if (!*in_time)
            return cudaSuccess;
        if (live->sent == live->taken)
            break;
        CUDA_TRY(send_owed(live));
    }
    live->behind_since = 0;
    return cudaSuccess;
}

HALO_REALTIME bool live_collect(struct convolution *convolution,
                                const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until)
{
    struct gpu_live *live = live_of(convolution);
    bool in_time = false;
    if (live->error == cudaSuccess)
        gpu_note_error(&live->error, collect(live, slots, until, &in_time));
    return in_time && live->error == cudaSuccess;
}

HALO_REALTIME void cuda_live_step(struct convolution *convolution, const float *const *in,
                                  const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    live_post(convolution, in, slots);
    (void)live_collect(convolution, slots, INT64_MAX);
}
