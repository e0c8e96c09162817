/* The step of the live convolver on the GPU: everything here is real-time. */
#include "gpu/convolver_cuda_live.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <string.h>

enum {
    CLOCK_SPINS = 1 << 5,   /* polls of the answer between reads of the clock */
    DRIVER_SPINS = 1 << 10, /* and between queries of the driver */
};

/* ---- blocks that go to the GPU ---- */

HALO_REALTIME static struct owed *owed_at(struct gpu_live *live, uint64_t block)
{
    return &live->owed[block % LIVE_OWED_MOST];
}

/* The number that the next block will have. */
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

/* The next block, but for its samples. */
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

/* Send the oldest unsent block; the previous one has been answered. */
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

/* No answer for a while: has the kernel failed? */
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

/* A packet of the answer to the last block sent. */
HALO_REALTIME static cudaError_t await_packet(struct gpu_live *live, const volatile packet *from,
                                              int64_t until, packet *answer, bool *in_time)
{
    *answer = *from;
    for (size_t spins = 1; (*answer)[3] != live->number && *in_time; spins++, *answer = *from)
        CUDA_TRY(live_wait(live, spins, until, in_time));
    return cudaSuccess;
}

/* `out`: NULL where the answer is too late to be used. */
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

/* The answer to the last block sent; copied to `slots` only if that is the newest block. */
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
    if (fault->kind != FAULT_TRAP) /* done by the live kernel itself */
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
