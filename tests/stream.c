#include "stream.h"

#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void release_block(void *block)
{
    block_free(block);
    free(block);
}

struct block stream_block(size_t channels, size_t frames)
{
    struct block *block = malloc(sizeof *block);
    if (!block || block_init(block, channels, frames, "a test") != STATUS_OK)
        abort();
    suite_release(release_block, block);
    return *block;
}

struct block stream_noise(uint64_t seed, size_t channels, size_t frames)
{
    struct block block = stream_block(channels, frames);
    for (size_t c = 0; c < channels; c++)
        truth_noise(seed * 1000 + c, block.data[c], frames);
    return block;
}

struct block stream_through(struct filter *filter, float *const *x, size_t n, size_t frames)
{
    struct block result = stream_block(filter->outputs, frames),
                 in = stream_block(filter->inputs, filter->block),
                 out = stream_block(filter->outputs, filter->block);
    for (size_t at = 0; at < frames; at += filter->block) {
        size_t fed = at < n ? (n - at < filter->block ? n - at : filter->block) : 0;
        for (size_t c = 0; c < filter->inputs; c++)
            if (fed > 0)
                memcpy(in.data[c], x[c] + at, fed * sizeof(float));
        block_silence(&in, fed, filter->block - fed);
        filter_process(filter, (const float *const *)in.data, out.data);
        size_t kept = frames - at < filter->block ? frames - at : filter->block;
        for (size_t c = 0; c < filter->outputs; c++)
            memcpy(result.data[c] + at, out.data[c], kept * sizeof(float));
    }
    return result;
}

static double norm_of(const struct mask *mask)
{
    double *sums = calloc(mask->outputs, sizeof *sums), largest = 0;
    if (!sums)
        abort();
    for (size_t p = 0; p < mask->path_count; p++) {
        const double *h = mask_column(mask, mask->paths[p].column);
        for (size_t k = 0; k < mask->taps; k++)
            sums[mask->paths[p].output] += fabs(h[k]);
    }
    for (size_t o = 0; o < mask->outputs; o++)
        largest = fmax(largest, sums[o]);
    free(sums);
    return largest;
}

struct truth_error stream_error(const struct block *out, double *const *truth,
                                const struct mask *mask, const struct block *x)
{
    struct truth_error error = {.mask_norm = norm_of(mask)};
    for (size_t c = 0; c < x->channels; c++)
        for (size_t i = 0; i < x->frames; i++)
            error.input_peak = fmax(error.input_peak, fabs((double)x->data[c][i]));
    for (size_t c = 0; c < out->channels; c++)
        for (size_t i = 0; i < out->frames; i++) {
            error.largest = fmax(error.largest, fabs((double)out->data[c][i] - truth[c][i]));
            error.output_peak = fmax(error.output_peak, fabs(truth[c][i]));
        }
    return error;
}
