/* The live convolver on the GPU at work: everything here runs in the real-time step. */
#include "gpu/convolver_cuda_live.h"

#include "base/monotonic.h"

#include <string.h>

enum {
    LOOKS = 1 << 5,  /* at the answer, between looks at the clock */
    SPINS = 1 << 10, /* between questions to the driver */
};

void live_note_error(struct convolution *convolution, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* it is noted here, and not another call's */
    if (convolution->error == cudaSuccess)
        convolution->error = error;
}

/* ---- blocks that go to the GPU ---- */

static struct owed *owed_at(struct convolution *convolution, uint64_t block)
{
    return &convolution->owed[block % LIVE_OWED_MOST];
}

static void keep_block(struct convolution *convolution, const float *const *in,
                       const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct live_state *state = &convolution->state;
    struct owed *owed = owed_at(convolution, convolution->taken);
    owed->header = (packet){slots[0].prepared ? slots[0].prepared->code : 0,
                            slots[1].prepared ? slots[1].prepared->code : 0, 0, 0};
    if (convolution->fault.kind == FAULT_TRAP && convolution->fault.step == convolution->taken)
        owed->header[2] |= LIVE_TRAP;
    for (size_t v = 0; v < LIVE_SLOTS; v++)
        owed->header[2] |= slots[v].prepared && slots[v].fresh ? (uint32_t)LIVE_FRESH << v : 0;
    for (size_t c = 0; c < state->inputs; c++)
        memcpy(owed->in + c * state->block, in[c], state->block * sizeof(float));
    convolution->taken++;
}

static void write_block(struct convolution *convolution, const struct owed *owed)
{
    const struct live_state *state = &convolution->state;
    uint32_t number = convolution->number;
    packet header = owed->header;
    header[3] = number;
    for (size_t role = 0; role < state->roles; role++) {
        volatile packet *to = region(convolution, number, role);
        *to++ = header;
        if (role >= state->inputs)
            continue;
        const float *in = owed->in + role * state->block;
        for (size_t i = 0; i < state->block; i += 3, to++) {
            uint32_t words[3] = {0};
            size_t left = state->block - i;
            memcpy(words, in + i, (left < 3 ? left : 3) * sizeof *words);
            *to = (packet){words[0], words[1], words[2], number};
        }
    }
}

/* The oldest block that the GPU has not seen; it has answered the one before. */
static cudaError_t send_next(struct convolution *convolution)
{
    convolution->number++;
    write_block(convolution, owed_at(convolution, convolution->sent));
    convolution->sent++;
    convolution->awaiting = true;
    return convolution->resident ? live_bring_back(convolution)
                                 : cudaGraphLaunch(convolution->graph, convolution->stream);
}

/* ---- answers ---- */

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

static cudaError_t give_up(struct convolution *convolution)
{
    convolution->lost = true;
    gpu_abandon();
    return cudaErrorLaunchTimeout;
}

/* Nothing came for a while: is there still somebody? */
static cudaError_t ask_after(struct convolution *convolution)
{
    cudaError_t error = cudaStreamQuery(convolution->stream);
    if (error != cudaErrorNotReady && error != cudaSuccess)
        return error;
    (void)cudaGetLastError(); /* that it is not ready is no error to remember */
    if (convolution->behind_since == 0)
        convolution->behind_since = monotonic_seconds();
    bool patient = monotonic_seconds() - convolution->behind_since < LIVE_ANSWER_SECONDS;
    return patient ? cudaSuccess : give_up(convolution);
}

/* A packet of the answer to the last block that was sent. *in_time false: it was not there
 * by `until`. */
static cudaError_t await_packet(struct convolution *convolution, const volatile packet *from,
                                int64_t until, packet *answer, bool *in_time)
{
    *answer = *from;
    for (size_t spins = 1; (*answer)[3] != convolution->number; spins++, *answer = *from) {
        if (spins % LOOKS == 0 && monotonic_ns() >= until) {
            *in_time = false;
            return cudaSuccess;
        }
        if (spins % SPINS == 0) {
            cudaError_t error = ask_after(convolution);
            if (error != cudaSuccess)
                return error;
        }
        pause_briefly();
    }
    return cudaSuccess;
}

/* `out`: NULL where nobody wants it any more. */
static cudaError_t await_channel(struct convolution *convolution, size_t channel, int64_t until,
                                 float *out, bool *in_time)
{
    const struct live_state *state = &convolution->state;
    const volatile packet *from = convolution->out + channel * state->packets;
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < state->block && error == cudaSuccess && *in_time; i += 3) {
        packet answer;
        error = await_packet(convolution, from++, until, &answer, in_time);
        size_t left = state->block - i;
        if (out)
            memcpy(out + i, &answer, (left < 3 ? left : 3) * sizeof *out);
    }
    return error;
}

/* All of the answer to the last block that was sent; its outputs only where they are those
 * of `slots`. */
static cudaError_t await_answer(struct convolution *convolution,
                                const struct convolver_slot slots[CONVOLVER_SLOTS],
                                int64_t until, bool *in_time)
{
    const struct live_state *state = &convolution->state;
    const packet header = owed_at(convolution, convolution->sent - 1)->header;
    bool wanted = convolution->sent == convolution->taken;
    cudaError_t error = cudaSuccess;
    *in_time = !fault_hides(&convolution->fault, convolution->taken - 1);
    for (size_t v = 0; v < LIVE_SLOTS; v++)
        for (size_t o = 0; o < state->outputs && header[v] && error == cudaSuccess && *in_time; o++)
            error = await_channel(convolution, v * state->outputs + o, until,
                                  wanted ? slots[v].out[o] : NULL, in_time);
    for (size_t role = state->outputs; role < state->roles && error == cudaSuccess && *in_time;
         role++) {
        packet answer;
        error = await_packet(convolution,
                             convolution->out + live_answers(state) + role - state->outputs, until,
                             &answer, in_time);
    }
    convolution->awaiting = convolution->awaiting && !(error == cudaSuccess && *in_time);
    return error;
}

/* ---- the step ---- */

static cudaError_t post(struct convolution *convolution, const float *const *in,
                        const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    const struct fault *fault = &convolution->fault;
    if (fault->kind != FAULT_TRAP) { /* the live kernel itself does that */
        cudaError_t error = fault_at(fault, convolution->taken, convolution->copies);
        if (error != cudaSuccess)
            return error;
    }
    if (convolution->taken - convolution->sent == LIVE_OWED_MOST - 1)
        return give_up(convolution);
    keep_block(convolution, in, slots);
    return convolution->awaiting ? cudaSuccess : send_next(convolution);
}

void live_post(struct convolution *convolution, const float *const *in,
               const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    if (convolution->error == cudaSuccess)
        live_note_error(convolution, post(convolution, in, slots));
}

static cudaError_t collect(struct convolution *convolution,
                           const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until,
                           bool *in_time)
{
    for (;;) {
        cudaError_t error = await_answer(convolution, slots, until, in_time);
        if (error != cudaSuccess || !*in_time)
            return error;
        if (convolution->sent == convolution->taken)
            break;
        error = send_next(convolution);
        if (error != cudaSuccess)
            return error;
    }
    convolution->behind_since = 0;
    return cudaSuccess;
}

bool live_collect(struct convolution *convolution,
                  const struct convolver_slot slots[CONVOLVER_SLOTS], int64_t until)
{
    bool in_time = false;
    if (convolution->error == cudaSuccess)
        live_note_error(convolution, collect(convolution, slots, until, &in_time));
    return in_time && convolution->error == cudaSuccess;
}

void live_step(struct convolution *convolution, const float *const *in,
               const struct convolver_slot slots[CONVOLVER_SLOTS])
{
    live_post(convolution, in, slots);
    (void)live_collect(convolution, slots, INT64_MAX);
}
