/* The convolver on the GPU for live streams: short blocks, each answered at once, by the
 * kernel of live_kernels.cu. It stays on the device and polls for blocks (resident), or
 * is launched for each as a CUDA graph, where it may not stay: on a GPU that drives a
 * display. live_kernels.h says how block and answer cross the bus, and by which
 * algorithm.
 *
 * While a kernel is resident nothing may free device memory, which would wait for its
 * end: what masks held is kept for masks to come, and all residents are sent home before
 * a convolver goes. They come back with their next block. */
#include "convolver_cuda.h"
#include "fault.h"
#include "fft.h"
#include "gpu.h"
#include "live_kernels.h"

#include "audio.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    FFT_LEAST = 64,
    SPARE_SPECTRA = 3,  /* slots that a slow thread block may still read: see live_kernels.h */
    RETIRED_BLOCKS = 2, /* until the kernel surely looks at a mask no more */
    SPINS = 1 << 10,    /* looks at the answer between looks at the clock */
};

static const double ANSWER_SECONDS = 2; /* a GPU that takes longer has failed */

typedef uint32_t packet __attribute__((vector_size(16))); /* stored and loaded in one piece */

/* Device memory that a mask had and another may have. */
struct piece {
    struct piece *next;
    size_t bytes;
    uint32_t retired; /* the block it was last used for, at most */
    void *memory;
};

struct prepared {
    unsigned code;
    struct piece *piece;
};

struct convolution {
    struct convolver_shape shape;
    int device;
    bool resident;
    bool running; /* a resident kernel is there */
    bool lost;    /* it does not answer */
    unsigned blocks;
    size_t parts; /* partitions of the longest mask */
    struct live_state state;
    struct fft *fft;
    packet *in; /* the host's view of state.in and state.out */
    packet *out;
    cudaStream_t stream, copies;
    cudaGraphExec_t graph;
    _Atomic uint32_t number; /* of the last block */
    unsigned generation;
    bool slots[LIVE_MASKS]; /* taken */
    struct piece *spare;
    uint64_t steps;
    struct fault fault;
    cudaError_t error;
    struct convolution *next; /* of all that are alive */
};

static struct convolution *alive; /* the control thread's */

/* ---- the resident kernel's coming and going ---- */

static double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static volatile packet *region(const struct convolution *convolution, uint32_t number, size_t role)
{
    const struct live_state *state = &convolution->state;
    return convolution->in + ((number & 1) * state->roles + role) * (1 + state->packets);
}

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
    double since = clock_now();
    while (cudaStreamQuery(convolution->stream) == cudaErrorNotReady) {
        if (clock_now() - since < ANSWER_SECONDS)
            continue;
        gpu_abandon();
        return;
    }
    (void)cudaGetLastError(); /* that it was not ready is no error to remember */
    clear_packets(convolution);
}

static cudaError_t bring_back(struct convolution *convolution)
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
    fft_destroy(convolution->fft);
    free(convolution);
}

static void lay_out(struct convolution *convolution)
{
    const struct convolver_shape *shape = &convolution->shape;
    struct live_state *state = &convolution->state;
    size_t parts = (shape->taps + shape->block - 1) / shape->block - 1;
    *state = (struct live_state){
        .inputs = (unsigned)shape->inputs,
        .outputs = (unsigned)shape->outputs,
        .roles = (unsigned)(shape->inputs > shape->outputs ? shape->inputs : shape->outputs),
        .block = (unsigned)shape->block,
        .fft = FFT_LEAST,
        .depth = parts > 0 ? 1 : 0,
        .packets = (unsigned)((shape->block + 2) / 3),
    };
    convolution->parts = parts;
    while (parts > 0 && state->depth < parts + SPARE_SPECTRA)
        state->depth *= 2; /* so that slots go on where block numbers wrap */
    while (state->fft < 2 * shape->block)
        state->fft *= 2;
    while (1u << state->fft_log2 < state->fft)
        state->fft_log2++;
    state->bins = state->fft / 2;
}

/* Zeroed device memory. */
static cudaError_t take_memory(void **memory, size_t bytes, cudaStream_t stream)
{
    cudaError_t error = cudaMalloc(memory, bytes);
    return error == cudaSuccess ? cudaMemsetAsync(*memory, 0, bytes, stream) : error;
}

/* Packets that answer, in all voices. */
static size_t live_answers(const struct live_state *state)
{
    return (size_t)LIVE_VOICES * state->outputs * state->packets;
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

static cudaError_t make_room(struct convolution *convolution)
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
         (size_t)LIVE_VOICES * state->outputs * state->block * sizeof(float)},
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
        error = live_room(&convolution->state, &most);
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
    if (error == cudaSuccess)
        error = make_room(convolution);
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
                                (size_t)LIVE_VOICES * state->outputs * state->block * sizeof(float),
                                convolution->stream);
    return error == cudaSuccess ? cudaStreamSynchronize(convolution->stream) : error;
}

static void note_error(struct convolution *convolution, cudaError_t error)
{
    if (error != cudaSuccess)
        (void)cudaGetLastError(); /* it is noted here, and not another call's */
    if (convolution->error == cudaSuccess)
        convolution->error = error;
}

static void live_reset(struct convolution *convolution)
{
    note_error(convolution, silence(convolution));
}

static void live_describe(const struct convolution *convolution, char *text, size_t size)
{
    const struct live_state *state = &convolution->state;
    if (state->depth > 0)
        snprintf(text, size, "direct head and %zu partitions, %s", convolution->parts,
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

/* ---- masks: laid out on the host, copied in one piece ---- */

struct mask_layout {
    size_t parts;
    size_t first, paths, heads, spectra, bytes; /* where each begins; multiples of 16 */
};

static size_t rounded(size_t bytes)
{
    return (bytes + 15) / 16 * 16;
}

static struct mask_layout layout_of(const struct live_state *state, const struct mask *mask)
{
    struct mask_layout at = {0};
    at.parts = (mask->taps + state->block - 1) / state->block - 1;
    at.paths = at.first + rounded((mask->outputs + 1) * sizeof(unsigned));
    at.heads = at.paths + rounded(mask->path_count * sizeof(struct live_path));
    at.spectra = at.heads + rounded(mask->columns * state->block * sizeof(float));
    at.bytes = at.spectra + mask->columns * at.parts * state->bins * sizeof(float2);
    return at;
}

static enum status fill_paths(const struct mask *mask, unsigned *first, struct live_path *paths)
{
    struct path_table table;
    enum status status = path_table_init(&table, mask);
    if (status != STATUS_OK)
        return status;
    for (size_t o = 0; o <= mask->outputs; o++)
        first[o] = (unsigned)table.first[o];
    for (size_t p = 0; p < mask->path_count; p++)
        paths[p] =
            (struct live_path){(unsigned)table.paths[p].input, (unsigned)table.paths[p].column};
    path_table_free(&table);
    return STATUS_OK;
}

/* A column's partitions; bin 0 holds the first and the middle one, both real. */
static void fill_spectra(const struct convolution *convolution, const float *column, size_t taps,
                         size_t parts, float *samples, float *spectrum, float2 *to)
{
    const struct live_state *state = &convolution->state;
    for (size_t p = 0; p < parts; p++, to += state->bins) {
        size_t from = (p + 1) * state->block, left = taps - from;
        size_t count = left < state->block ? left : state->block;
        memset(samples, 0, state->fft * sizeof *samples);
        for (size_t k = 0; k < count; k++)
            samples[k] = column[from + k] / (float)state->fft;
        fft_forward(convolution->fft, samples, spectrum);
        memcpy(to, spectrum, state->bins * sizeof *to);
        to[0].y = spectrum[2 * state->bins];
    }
}

static enum status fill_mask(const struct convolution *convolution, const struct mask *mask,
                             const struct mask_layout *at, char *memory)
{
    const struct live_state *state = &convolution->state;
    float *samples = audio_alloc(state->fft);
    float *spectrum = audio_alloc(fft_spectrum_floats(state->fft));
    enum status status = samples && spectrum ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK)
        status = fill_paths(mask, (unsigned *)(void *)(memory + at->first),
                            (struct live_path *)(void *)(memory + at->paths));
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        const float *column = mask_column(mask, c);
        size_t head = mask->taps < state->block ? mask->taps : state->block;
        memcpy(memory + at->heads + c * state->block * sizeof(float), column, head * sizeof(float));
        fill_spectra(convolution, column, mask->taps, at->parts, samples, spectrum,
                     (float2 *)(void *)(memory + at->spectra) + c * at->parts * state->bins);
    }
    free(samples);
    free(spectrum);
    return status;
}

/* A piece that was a mask's, or a new one. */
static enum status take_piece(struct convolution *convolution, size_t bytes, struct piece **result)
{
    for (struct piece **at = &convolution->spare; *at; at = &(*at)->next)
        if ((*at)->bytes >= bytes && convolution->number - (*at)->retired >= RETIRED_BLOCKS) {
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
        return gpu_failed(error, "take the mask");
    }
    piece->bytes = bytes;
    *result = piece;
    return STATUS_OK;
}

static void live_release(const struct convolution *constant, struct prepared *prepared)
{
    struct convolution *convolution = (struct convolution *)constant; /* the control part of it */
    if (prepared->code)
        convolution->slots[(prepared->code - 1) % LIVE_MASKS] = false;
    if (prepared->piece) {
        prepared->piece->retired = convolution->number;
        prepared->piece->next = convolution->spare;
        convolution->spare = prepared->piece;
    }
    free(prepared);
}

static bool is_crossed(const struct mask *mask)
{
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input != mask->paths[p].output)
            return true;
    return false;
}

/* Into the piece, and into a slot of the table. */
static cudaError_t upload(struct convolution *convolution, const struct mask *mask,
                          const struct mask_layout *at, const char *memory,
                          struct prepared *prepared)
{
    const struct live_state *state = &convolution->state;
    char *device = prepared->piece->memory;
    size_t slot = 0;
    while (slot < LIVE_MASKS && convolution->slots[slot])
        slot++;
    if (slot == LIVE_MASKS)
        return cudaErrorInvalidValue; /* a convolver has three masks at most */
    struct live_mask entry = {
        .first = (const unsigned *)(void *)(device + at->first),
        .paths = (const struct live_path *)(void *)(device + at->paths),
        .heads = (const float *)(void *)(device + at->heads),
        .spectra = (const float2 *)(void *)(device + at->spectra),
        .head = (unsigned)(mask->taps < state->block ? mask->taps : state->block),
        .parts = (unsigned)at->parts,
        .crossed = is_crossed(mask),
    };
    cudaError_t error = cudaSetDevice(convolution->device);
    if (error == cudaSuccess)
        error =
            cudaMemcpyAsync(device, memory, at->bytes, cudaMemcpyHostToDevice, convolution->copies);
    if (error == cudaSuccess)
        error = cudaMemcpyAsync((void *)(state->masks + slot), &entry, sizeof entry,
                                cudaMemcpyHostToDevice, convolution->copies);
    if (error == cudaSuccess)
        error = cudaStreamSynchronize(convolution->copies);
    convolution->slots[slot] = true;
    prepared->code = (unsigned)(LIVE_MASKS * convolution->generation++ + slot + 1);
    return error;
}

static enum status live_prepare(const struct convolution *constant, const struct mask *mask,
                                struct prepared **result)
{
    struct convolution *convolution = (struct convolution *)constant; /* the control part of it */
    cudaSetDevice(convolution->device);
    struct mask_layout at = layout_of(&convolution->state, mask);
    struct prepared *prepared = calloc(1, sizeof *prepared);
    char *memory = calloc(1, at.bytes);
    enum status status = prepared && memory ? STATUS_OK : fail_memory("a mask");
    if (status == STATUS_OK)
        status = take_piece(convolution, at.bytes, &prepared->piece);
    if (status == STATUS_OK)
        status = fill_mask(convolution, mask, &at, memory);
    if (status == STATUS_OK) {
        cudaError_t error = upload(convolution, mask, &at, memory, prepared);
        if (error != cudaSuccess)
            status = gpu_failed(error, "take the mask");
    }
    free(memory);
    if (status != STATUS_OK) {
        if (prepared)
            live_release(convolution, prepared);
        return status;
    }
    *result = prepared;
    return STATUS_OK;
}

/* ---- the step: real-time ---- */

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
        *since = clock_now();
    if (clock_now() - *since < ANSWER_SECONDS)
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
    error = convolution->resident ? bring_back(convolution)
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

static void live_step(struct convolution *convolution, const float *const *in,
                      const struct convolver_voice voices[CONVOLVER_VOICES])
{
    if (convolution->error == cudaSuccess)
        note_error(convolution, run_block(convolution, in, voices));
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
};
