/* The live convolver on the GPU at work: everything here runs in the real-time step. */
#include "convolver_cuda_live.h"

#include "monotonic.h"

#include <string.h>

enum { SPINS = 1 << 10 }; /* looks at the answer between looks at the clock */

void live_note_error(struct convolution *convolution, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* it is noted here, and not another call's */
    if (convolution->error == cudaSuccess)
        convolution->error = error;
}

static void send_block(struct convolution *convolution, const float *const *in,
                       const struct convolver_voice voices[CONVOLVER_VOICES])
{
    const struct live_state *state = &convolution->state;
    uint32_t number = convolution->number;
    packet header = {voices[0].prepared ? voices[0].prepared->code : 0,
                     voices[1].prepared ? voices[1].prepared->code : 0, 0, number};
    if (convolution->fault.kind == FAULT_TRAP && convolution->fault.step == convolution->steps)
        header[2] |= LIVE_TRAP;
    for (size_t v = 0; v < LIVE_VOICES; v++)
        header[2] |= voices[v].prepared && voices[v].fresh ? (uint32_t)LIVE_FRESH << v : 0;
    for (size_t role = 0; role < state->roles; role++) {
        volatile packet *to = region(convolution, number, role);
        *to++ = header;
        if (role >= state->inputs)
            continue;
        for (size_t i = 0; i < state->block; i += 3, to++) {
            uint32_t words[3] = {0};
            size_t left = state->block - i;
            memcpy(words, in[role] + i, (left < 3 ? left : 3) * sizeof *words);
            *to = (packet){words[0], words[1], words[2], number};
        }
    }
}

static void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Nothing came for a while: is there still somebody? */
static cudaError_t ask_after(struct convolution *convolution, double *since)
{
    cudaError_t error = cudaStreamQuery(convolution->stream);
    if (error != cudaErrorNotReady && error != cudaSuccess)
        return error;
    (void)cudaGetLastError(); /* that it is not ready is no error to remember */
    if (*since == 0)
        *since = monotonic_seconds();
    if (monotonic_seconds() - *since < LIVE_ANSWER_SECONDS)
        return cudaSuccess;
    convolution->lost = true;
    gpu_abandon();
    return cudaErrorLaunchTimeout;
}

static cudaError_t await_packet(struct convolution *convolution, const volatile packet *from,
                                packet *result)
{
    double since = 0;
    packet answer = *from;
    for (size_t spins = 1; answer[3] != convolution->number; spins++, answer = *from) {
        if (spins % SPINS == 0) {
            cudaError_t error = ask_after(convolution, &since);
            if (error != cudaSuccess)
                return error;
        }
        pause_briefly();
    }
    if (result)
        *result = answer;
    return cudaSuccess;
}

static cudaError_t await_channel(struct convolution *convolution, const volatile packet *from,
                                 float *out)
{
    const struct live_state *state = &convolution->state;
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < state->block && error == cudaSuccess; i += 3) {
        packet answer = {0};
        error = await_packet(convolution, from++, &answer);
        size_t left = state->block - i;
        memcpy(out + i, &answer, (left < 3 ? left : 3) * sizeof *out);
    }
    return error;
}

static cudaError_t run_block(struct convolution *convolution, const float *const *in,
                             const struct convolver_voice voices[CONVOLVER_VOICES])
{
    const struct live_state *state = &convolution->state;
    const struct fault *fault = &convolution->fault;
    cudaError_t error = cudaSuccess;
    if (fault->kind != FAULT_TRAP) /* the live kernel itself does that */
        error = fault_at(fault, convolution->steps, convolution->copies);
    if (error != cudaSuccess)
        return error;
    convolution->number++;
    send_block(convolution, in, voices);
    convolution->steps++;
    error = convolution->resident ? live_bring_back(convolution)
                                  : cudaGraphLaunch(convolution->graph, convolution->stream);
    for (size_t v = 0; v < LIVE_VOICES; v++)
        for (size_t o = 0; o < state->outputs && voices[v].prepared && error == cudaSuccess; o++)
            error = await_channel(convolution,
                                  convolution->out + (v * state->outputs + o) * state->packets,
                                  voices[v].out[o]);
    for (size_t role = state->outputs; role < state->roles && error == cudaSuccess; role++)
        error = await_packet(convolution,
                             convolution->out + live_answers(state) + role - state->outputs, NULL);
    return error;
}

void live_step(struct convolution *convolution, const float *const *in,
               const struct convolver_voice voices[CONVOLVER_VOICES])
{
    if (convolution->error == cudaSuccess)
        live_note_error(convolution, run_block(convolution, in, voices));
}
