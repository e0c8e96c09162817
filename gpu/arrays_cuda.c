/* Convolves arrays on a GPU. Convolutions that have the same length of transforms share launches,
 * in batches of limited scratch. See device_arrays_plan.h and arrays_kernels.h. */
#include "convolve/arrays_device.h"
#include "gpu/arrays_kernels.h"
#include "gpu/device_arrays_plan.h"
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    POWERS = ARRAYS_POWER_MOST - ARRAYS_POWER_LEAST + 1,
    KINDS = POWERS + 1, /* ways to convolve: sums of products, and each length of transforms */
    /* Spectra that are in scratch at a time, at least one. */
    FORM_BYTES = 64 << 20,
    /* Chunks that are in scratch at a time, at least one. They fit the device's cache. */
    WORK_BYTES = 32 << 20,
};

static const uint64_t ITEMS_MOST = UINT64_C(1) << 30; /* most items of a launch */

/* A call. */
struct device_arrays_run {
    const struct arrays_job *job;
    cudaStream_t stream;
    bool counts; /* true: nothing is launched, only `bytes` is found */
    char *scratch;
    size_t bytes; /* bytes of scratch: needed ones if `counts`, else those there are */
    unsigned fused_most;
    struct array_pieces kinds[KINDS];
};

static size_t sample_bytes(enum arrays_sample sample)
{
    return sample == ARRAYS_FLOAT64 ? 8 : sample == ARRAYS_FLOAT32 ? 4 : 2;
}

/* ---- tables of factors: created at their first use, kept for ever ---- */

static cudaError_t create_long_table(const struct arrays_long *by, unsigned power, void **table)
{
    size_t bytes = by->table_bytes(power);
    void *filled_in = malloc(bytes);
    if (!filled_in)
        return cudaErrorMemoryAllocation;
    by->fill_table(power, filled_in);
    cudaError_t error = cudaMalloc(table, bytes);
    if (error == cudaSuccess)
        error = gpu_send(*table, filled_in, bytes);
    free(filled_in);
    return error;
}

static cudaError_t create_fused_table(unsigned power, float **table)
{
    CUDA_TRY(arrays_fused_prepare(power));
    return fft_table_create((size_t)1 << power, true, table);
}

/* `by`: NULL for fused transforms. */
static cudaError_t find_table(const struct arrays_long *by, unsigned power, const void **table)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static void *tables[GPU_MOST][2][POWERS];
    int device;
    CUDA_TRY(cudaGetDevice(&device));
    void **kept = &tables[device % GPU_MOST][by == &arrays_long_double][power - ARRAYS_POWER_LEAST];
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&lock);
    if (!*kept)
        error = by ? create_long_table(by, power, kept) : create_fused_table(power, (float **)kept);
    *table = *kept;
    pthread_mutex_unlock(&lock);
    return error;
}

/* ---- batches ---- */

static unsigned power_of(size_t kind)
{
    return (unsigned)kind + ARRAYS_POWER_LEAST - 1;
}

/* How long transforms are done; NULL: fused. */
static const struct arrays_long *long_for(const struct device_arrays_run *run, unsigned power)
{
    if (run->job->sample == ARRAYS_FLOAT64)
        return &arrays_long_double;
    return power > run->fused_most ? &arrays_long_single : NULL;
}

/* Bytes of a mask's spectrum, and of an item's work. */
static size_t spectrum_bytes(const struct device_arrays_run *run, unsigned power)
{
    return 2 * sizeof(float) * (run->job->sample == ARRAYS_FLOAT64 ? 2 : 1) << power;
}

static unsigned limit(size_t bytes, size_t each)
{
    return bytes > each ? (unsigned)(bytes / each) : 1;
}

/* Items of a launch: as many as there is work space for, but in launches of like length. */
static unsigned items_at_once(unsigned items, size_t each)
{
    unsigned most = limit(WORK_BYTES, each), launches = (items + most - 1) / most;
    return (items + launches - 1) / launches;
}

static cudaError_t run_fused(const struct device_arrays_run *run, unsigned power,
                             struct array_pieces *batch)
{
    const void *table;
    CUDA_TRY(find_table(NULL, power, &table));
    CUDA_TRY(arrays_fused_form(power, batch, table, run->scratch, run->stream));
    return arrays_fused_run(power, batch, table, run->scratch, run->stream);
}

static cudaError_t run_long(const struct device_arrays_run *run, const struct arrays_long *by,
                            unsigned power, struct array_pieces *batch)
{
    const void *table;
    size_t each = spectrum_bytes(run, power);
    unsigned most = items_at_once(batch->items, each);
    CUDA_TRY(find_table(by, power, &table));
    CUDA_TRY(by->form(power, batch, table, run->scratch, run->stream));
    for (unsigned first = 0; first < batch->items; first += most) {
        unsigned left = batch->items - first;
        CUDA_TRY(by->run(power, batch, first, left < most ? left : most, table, run->scratch,
                         run->scratch + batch->masks * each, run->stream));
    }
    return cudaSuccess;
}

static size_t scratch_bytes(const struct device_arrays_run *run, unsigned power,
                            const struct array_pieces *batch)
{
    size_t each = spectrum_bytes(run, power);
    size_t items = long_for(run, power) ? items_at_once(batch->items, each) : 0;
    return (batch->masks + items) * each;
}

static cudaError_t run_batch(const struct device_arrays_run *run, size_t kind,
                             struct array_pieces *batch)
{
    unsigned power = power_of(kind);
    const struct arrays_long *by = long_for(run, power);
    if (kind == 0)
        return arrays_direct(batch, run->stream);
    return by ? run_long(run, by, power, batch) : run_fused(run, power, batch);
}

/* Convolves and empties a batch. */
static enum status launch(struct device_arrays_run *run, size_t kind)
{
    struct array_pieces *batch = &run->kinds[kind];
    size_t bytes = kind && batch->count ? scratch_bytes(run, power_of(kind), batch) : 0;
    cudaError_t error = cudaSuccess;
    if (run->counts)
        run->bytes = bytes > run->bytes ? bytes : run->bytes;
    else if (bytes > run->bytes)
        return fail(CAUSE_USAGE,
                    "cannot convolve arrays: scratch has %zu bytes, but a batch needs %zu; "
                    "halo_arrays_scratch returns the right number",
                    run->bytes, bytes);
    else if (batch->count)
        error = run_batch(run, kind, batch);
    batch->count = batch->items = batch->masks = 0;
    return error == cudaSuccess ? STATUS_OK : gpu_failed(error, "convolve arrays");
}

/* ---- groups ---- */

static bool is_same(const struct array_rows *a, const struct array_rows *b)
{
    return a->samples == b->samples && a->frames == b->frames && a->stride == b->stride &&
           a->step == 0 && b->step == 0;
}

/* Adds at most `count` convolutions of a piece to a batch. Returns how many fit. */
static size_t add(struct device_arrays_run *run, size_t kind, struct array_piece piece,
                  size_t count)
{
    struct array_pieces *batch = &run->kinds[kind];
    uint64_t most = kind ? limit(FORM_BYTES, spectrum_bytes(run, power_of(kind))) : ITEMS_MOST;
    uint64_t masks = most - batch->masks, items = (ITEMS_MOST - batch->items) / piece.chunks;
    if (batch->count == ARRAY_PIECES_MOST || masks == 0 || items == 0)
        return 0;
    count = count < items ? count : (size_t)items;
    if (piece.mask.step)
        count = count < masks ? count : (size_t)masks;
    const struct array_piece *last = batch->count ? &batch->of[batch->count - 1] : NULL;
    bool again = kind && last && is_same(&last->mask, &piece.mask);
    piece.first_item = batch->items;
    piece.first_mask = batch->masks;
    piece.form = again ? last->form : batch->masks;
    batch->of[batch->count++] = piece;
    batch->sample = run->job->sample;
    batch->items += (unsigned)count * piece.chunks;
    batch->masks += again ? 0 : piece.mask.step ? (unsigned)count : 1;
    return count;
}

static void advance(const void **samples, ptrdiff_t steps, size_t bytes)
{
    *samples = (const char *)*samples + steps * (ptrdiff_t)bytes;
}

static enum status add_all(struct device_arrays_run *run, size_t kind, struct array_piece piece,
                           size_t count)
{
    size_t bytes = sample_bytes(run->job->sample);
    while (count > 0) {
        size_t added = add(run, kind, piece, count);
        if (added < count)
            TRY(launch(run, kind));
        advance(&piece.signal.samples, (ptrdiff_t)added * piece.signal.step, bytes);
        advance(&piece.mask.samples, (ptrdiff_t)added * piece.mask.step, bytes);
        advance((const void **)&piece.y, (ptrdiff_t)added * piece.y_step, bytes);
        count -= added;
    }
    return STATUS_OK;
}

static enum status add_group(struct device_arrays_run *run, const struct arrays_group *group)
{
    enum arrays_sample sample = run->job->sample;
    struct device_arrays_plan plan;
    bool many = group->count > 1, backwards = run->job->correlate && group->taps > 0;
    struct array_rows x = {group->x, (long long)group->frames, many ? group->x_step : 0, 1};
    struct array_rows h = {group->h, (long long)group->taps, many ? group->h_step : 0,
                           backwards ? -1 : 1};
    if (backwards)
        advance(&h.samples, (ptrdiff_t)group->taps - 1, sample_bytes(sample));
    if (!device_arrays_plan_choose(group, sample, run->fused_most, &plan) ||
        plan.chunks > ITEMS_MOST)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot convolve %zu samples with %zu on a GPU: the shorter array is too long",
                    group->frames, group->taps);
    struct array_piece piece = {
        .signal = plan.swapped ? h : x,
        .mask = plan.swapped ? x : h,
        .y = group->y,
        .y_step = group->y_step,
        .frames = (long long)plan.heard,
        .origin = plan.origin,
        .hop = (int)plan.hop,
        .skip = (int)plan.skip,
        .chunks = (unsigned)plan.chunks,
    };
    if (plan.heard)
        TRY(add_all(run, plan.power ? plan.power - ARRAYS_POWER_LEAST + 1 : 0, piece,
                    group->count));
    if (plan.heard == group->out_frames)
        return STATUS_OK;
    /* The silent rest is a sum of no products. */
    uint64_t rest = group->out_frames - plan.heard;
    piece.mask.frames = 0;
    piece.frames = (long long)rest;
    piece.hop = ARRAYS_DIRECT_TILE;
    piece.skip = 0;
    piece.chunks = (unsigned)((rest + ARRAYS_DIRECT_TILE - 1) / ARRAYS_DIRECT_TILE);
    advance((const void **)&piece.y, (ptrdiff_t)plan.heard, sample_bytes(sample));
    return add_all(run, 0, piece, group->count);
}

/* ---- calls ---- */

static enum status run_groups(struct device_arrays_run *run)
{
    for (size_t k = 0; k < KINDS; k++)
        run->kinds[k].count = run->kinds[k].items = run->kinds[k].masks = 0;
    for (size_t g = 0; g < run->job->group_count; g++)
        if (run->job->groups[g].count && run->job->groups[g].out_frames)
            TRY(add_group(run, &run->job->groups[g]));
    for (size_t k = 0; k < KINDS; k++)
        TRY(launch(run, k));
    return STATUS_OK;
}

/* The power of the longest transform that a thread block of the current device holds. */
static cudaError_t find_fused_most(unsigned *most)
{
    static _Atomic unsigned kept[GPU_MOST];
    int device;
    CUDA_TRY(cudaGetDevice(&device));
    *most = kept[device % GPU_MOST];
    if (*most)
        return cudaSuccess;
    *most = ARRAYS_POWER_LEAST;
    for (size_t points = fft_fused_most(); (size_t)2 << *most <= points; ++*most)
        ;
    kept[device % GPU_MOST] = *most;
    return cudaSuccess;
}

static enum status begin(const struct arrays_job *job, struct device_arrays_run **result)
{
    unsigned fused_most;
    cudaError_t error = find_fused_most(&fused_most);
    if (error != cudaSuccess)
        return gpu_is_there()
                   ? gpu_failed(error, "convolve arrays")
                   : fail(CAUSE_NO_GPU, "cannot convolve arrays on a GPU: there is none");
    struct device_arrays_run *run = malloc(sizeof *run);
    if (!run)
        return fail_memory("arrays");
    run->job = job;
    run->counts = true;
    run->bytes = 0;
    run->fused_most = fused_most;
    *result = run;
    return STATUS_OK;
}

enum status arrays_scratch_device(const struct arrays_job *job, size_t *bytes)
{
    struct device_arrays_run *run = NULL;
    TRY(begin(job, &run));
    enum status status = run_groups(run);
    *bytes = run->bytes;
    free(run);
    return status;
}

static enum status convolve(struct device_arrays_run *run)
{
    run->counts = false;
    return run_groups(run);
}

static enum status convolve_in_own(struct device_arrays_run *run)
{
    void *scratch = NULL;
    TRY(run_groups(run));
    if (run->bytes == 0)
        return convolve(run);
    cudaError_t error = cudaMallocAsync(&scratch, run->bytes, run->stream);
    if (error != cudaSuccess)
        return gpu_failed(error, "allocate scratch");
    run->scratch = scratch;
    enum status status = convolve(run);
    error = cudaFreeAsync(scratch, run->stream);
    return status == STATUS_OK && error != cudaSuccess ? gpu_failed(error, "free scratch") : status;
}

enum status arrays_convolve_device(const struct arrays_job *job, void *stream, void *scratch,
                                   size_t scratch_bytes)
{
    struct device_arrays_run *run = NULL;
    TRY(begin(job, &run));
    run->stream = stream;
    run->scratch = scratch;
    enum status status;
    if (scratch) {
        run->bytes = scratch_bytes;
        status = convolve(run);
    } else {
        status = convolve_in_own(run);
    }
    free(run);
    return status;
}
