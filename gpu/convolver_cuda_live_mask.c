/* Masks of the live convolver on the GPU: laid out on the host, copied in one piece. Pieces are
 * reused, since nothing is freed while a kernel is resident. */
#include "gpu/convolver_cuda_live.h"

#include <stdlib.h>
#include <string.h>

struct mask_layout {
    size_t partitions;
    size_t first, paths, heads, spectra, bytes; /* offsets, multiples of 16 */
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

/* A column's partitions; bin 0 holds the first and the middle one, both real. */
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

/* A piece that was a mask's, or a new one. */
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

void live_release(const struct convolution *convolution, struct prepared *prepared)
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
        return cudaErrorInvalidValue; /* not with so many entries (live_kernels.h) */
    prepared->code = (unsigned)(LIVE_MASKS * live->generation++ + position + 1);
    CUDA_TRY(cudaMemcpyAsync((char *)masks + position * bytes, entry, bytes, cudaMemcpyHostToDevice,
                             live->copies));
    return cudaStreamSynchronize(live->copies);
}

/* To the piece, and to an entry of state.masks. */
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

enum status live_prepare(const struct convolution *convolution, const struct mask *mask,
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
