#include "gpu/live_copies.h"

#include "base/monotonic.h"
#include "base/step_crew.h"
#include "base/workers.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHARED_BYTES = 1 << 20, /* of a block's inputs; fewer are not worth waking a thread */
    PIECE_BYTES = 1 << 17,
    THREADS_MOST = 3, /* number of threads that reaches the memory's bandwidth */
};

enum status live_copies_create(struct gpu_live *live)
{
    struct gpu_live_graph *graph = &live->graph;
    const struct live_graph_state *state = &graph->state;
    size_t most = state->inputs > state->outputs ? state->inputs : state->outputs;
    size_t bytes = state->stride * sizeof(float);
    /* Threads besides the step, which copies, too. */
    size_t threads = live->shape.workers ? workers_count(live->shape.workers) - 1 : 0;
    graph->copies.each = PIECE_BYTES / bytes ? PIECE_BYTES / bytes : 1;
    graph->copies.done = calloc(most / graph->copies.each + 1, sizeof *graph->copies.done);
    if (!graph->copies.done)
        return fail_memory("a convolver");
    if (threads == 0 || most * bytes < SHARED_BYTES)
        return STATUS_OK;
    return step_crew_create(threads < THREADS_MOST ? threads : THREADS_MOST, &graph->copies.crew);
}

void live_copies_destroy(struct gpu_live *live)
{
    step_crew_destroy(live->graph.copies.crew);
    free(live->graph.copies.done);
}

/* The channels [first, last) of a piece. False: there is no such piece. */
HALO_REALTIME static bool piece_of(const struct live_copies *copies, size_t piece, size_t channels,
                                   size_t *first, size_t *last)
{
    *first = piece * copies->each;
    *last = *first + copies->each < channels ? *first + copies->each : channels;
    return *first < channels;
}

HALO_REALTIME static void begin(struct gpu_live *live, void (*task)(void *context))
{
    struct live_copies *copies = &live->graph.copies;
    copies->part++;
    atomic_store(&copies->given_up, false);
    atomic_store(&copies->next, 0);
    step_crew_begin(copies->crew, task, live);
}

HALO_REALTIME static bool is_copied(const struct live_copies *copies, size_t piece)
{
    return atomic_load_explicit(&copies->done[piece], memory_order_acquire) == copies->part;
}

HALO_REALTIME static void note_copied(struct live_copies *copies, size_t piece)
{
    atomic_store_explicit(&copies->done[piece], copies->part, memory_order_release);
}

/* ---- inputs ---- */

/* Copies the next piece that no thread has taken. False: there is none. */
HALO_REALTIME static bool copy_piece_in(struct gpu_live *live)
{
    struct gpu_live_graph *graph = &live->graph;
    const struct live_graph_state *state = &graph->state;
    size_t piece = atomic_fetch_add(&graph->copies.next, 1), first, last;
    if (!piece_of(&graph->copies, piece, state->inputs, &first, &last))
        return false;
    for (size_t c = first; c < last; c++)
        memcpy(graph->samples + c * state->stride, graph->copies.in[c],
               state->block * sizeof(float));
    note_copied(&graph->copies, piece);
    return true;
}

HALO_REALTIME static void help_in(void *context)
{
    while (copy_piece_in(context))
        ;
}

HALO_REALTIME static size_t channels_in(const struct gpu_live *live, size_t *ready)
{
    const struct live_copies *copies = &live->graph.copies;
    size_t first, last, channels = live->graph.state.inputs;
    while (piece_of(copies, *ready, channels, &first, &last) && is_copied(copies, *ready))
        ++*ready;
    return first < channels ? first : channels;
}

HALO_REALTIME cudaError_t live_copy_in(struct gpu_live *live, const float *const *in,
                                       cudaError_t (*sent)(struct gpu_live *live, size_t count))
{
    cudaError_t error = cudaSuccess;
    size_t ready = 0, count = 0;
    live->graph.copies.in = in;
    step_crew_expect(live->graph.copies.crew, monotonic_ns() + convolver_period(&live->shape));
    begin(live, help_in);
    while (count < live->graph.state.inputs) {
        if (!copy_piece_in(live))
            realtime_pause(); /* other threads copy the last pieces */
        size_t before = count;
        count = channels_in(live, &ready);
        if (count > before && error == cudaSuccess)
            error = sent(live, count);
    }
    step_crew_end(live->graph.copies.crew);
    return error;
}

/* ---- outputs ---- */

HALO_REALTIME static bool is_answered(const struct gpu_live *live, size_t flag)
{
    const volatile uint32_t *flags = live->graph.flags;
    return flags[flag] == live->number;
}

/* Number of flags of the answers for the channels before `channel`. */
HALO_REALTIME static size_t flags_before(const struct live_graph_state *state, size_t channel)
{
    return (channel * state->items * state->team + LIVE_PIECE - 1) / LIVE_PIECE;
}

HALO_REALTIME static void copy_out(struct gpu_live *live, size_t first, size_t last)
{
    const struct gpu_live_graph *graph = &live->graph;
    const struct live_graph_state *state = &graph->state;
    const struct live_copies *copies = &graph->copies;
    atomic_thread_fence(memory_order_acquire); /* no read of the outputs comes before the flags' */
    for (size_t v = 0; v < LIVE_SLOTS && copies->slots; v++)
        for (size_t o = first; o < last && copies->wanted[v]; o++)
            memcpy(copies->slots[v].out[o], graph->out + (v * state->outputs + o) * state->stride,
                   state->block * sizeof(float));
}

/* Copies pieces until the step has given up. The step watches the time and the device. */
HALO_REALTIME static void help_out(void *context)
{
    struct gpu_live *live = context;
    const struct live_graph_state *state = &live->graph.state;
    struct live_copies *copies = &live->graph.copies;
    size_t first, last;
    for (;;) {
        size_t piece = atomic_fetch_add(&copies->next, 1);
        if (!piece_of(copies, piece, state->outputs, &first, &last))
            return;
        size_t flag = first * state->items * state->team / LIVE_PIECE;
        while (flag < flags_before(state, last)) {
            if (atomic_load(&copies->given_up))
                return;
            if (is_answered(live, flag))
                flag++;
            else
                realtime_pause();
        }
        copy_out(live, first, last);
        note_copied(copies, piece);
    }
}

/* Copies pieces on the step's thread. */
HALO_REALTIME static cudaError_t take_pieces(struct gpu_live *live, int64_t until, bool *in_time)
{
    const struct live_graph_state *state = &live->graph.state;
    struct live_copies *copies = &live->graph.copies;
    size_t first, last;
    while (*in_time) {
        size_t piece = atomic_fetch_add(&copies->next, 1);
        if (!piece_of(copies, piece, state->outputs, &first, &last))
            return cudaSuccess;
        size_t flag = first * state->items * state->team / LIVE_PIECE;
        for (; flag < flags_before(state, last) && *in_time; flag++)
            for (size_t spins = 1; !is_answered(live, flag) && *in_time; spins++)
                CUDA_TRY(live_wait(live, spins, until, in_time));
        if (*in_time) {
            copy_out(live, first, last);
            note_copied(copies, piece);
        }
    }
    return cudaSuccess;
}

/* Waits for the pieces of the other threads. */
HALO_REALTIME static cudaError_t await_pieces(struct gpu_live *live, int64_t until, bool *in_time)
{
    const struct live_copies *copies = &live->graph.copies;
    size_t first, last;
    for (size_t piece = 0;
         piece_of(copies, piece, live->graph.state.outputs, &first, &last) && *in_time; piece++)
        for (size_t spins = 1; !is_copied(copies, piece) && *in_time; spins++)
            CUDA_TRY(live_wait(live, spins, until, in_time));
    return cudaSuccess;
}

HALO_REALTIME cudaError_t live_graph_await(struct gpu_live *live, const packet *header,
                                           const struct convolver_slot *slots, int64_t until,
                                           bool *in_time)
{
    struct live_copies *copies = &live->graph.copies;
    copies->slots = slots;
    for (size_t v = 0; v < LIVE_SLOTS; v++)
        copies->wanted[v] = (*header)[v] && !((*header)[2] & (uint32_t)LIVE_ARMED << v);
    begin(live, help_out);
    cudaError_t error = take_pieces(live, until, in_time);
    if (error == cudaSuccess)
        error = await_pieces(live, until, in_time);
    if (error != cudaSuccess || !*in_time)
        atomic_store(&copies->given_up, true);
    step_crew_end(copies->crew);
    return error;
}
