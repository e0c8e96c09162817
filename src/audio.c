#include "audio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ALIGNMENT = 64 };

float *audio_alloc(size_t count)
{
    if (count > (SIZE_MAX - ALIGNMENT) / sizeof(float))
        return NULL;
    size_t bytes = (count * sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (bytes == 0)
        bytes = ALIGNMENT;
    float *samples = aligned_alloc(ALIGNMENT, bytes);
    if (samples)
        memset(samples, 0, bytes);
    return samples;
}

enum status block_init(struct block *block, size_t channels, size_t frames, const char *what)
{
    *block = (struct block){.channels = channels, .frames = frames};
    block->data = calloc(channels ? channels : 1, sizeof *block->data);
    if (!block->data)
        goto fail;
    for (size_t c = 0; c < channels; c++) {
        block->data[c] = audio_alloc(frames);
        if (!block->data[c])
            goto fail;
    }
    return STATUS_OK;
fail:
    block_free(block);
    return fail_memory(what);
}

void block_free(struct block *block)
{
    if (block->data)
        for (size_t c = 0; c < block->channels; c++)
            free(block->data[c]);
    free(block->data);
    *block = (struct block){0};
}

void block_silence(struct block *block, size_t from, size_t frames)
{
    for (size_t c = 0; c < block->channels; c++)
        memset(block->data[c] + from, 0, frames * sizeof(float));
}

size_t audio_find_nonfinite(const float *samples, size_t count)
{
    /* x * 0 is 0 for finite x and NaN otherwise: one sum tells for a whole run. */
    enum { RUN = 1024 };
    for (size_t start = 0; start < count; start += RUN) {
        size_t end = start + RUN < count ? start + RUN : count;
        float sum = 0;
        for (size_t i = start; i < end; i++)
            sum += samples[i] * 0.0f;
        if (sum == 0.0f)
            continue;
        for (size_t i = start; i < end; i++)
            if (!isfinite(samples[i]))
                return i;
    }
    return count;
}

double audio_from_db(double db)
{
    return pow(10.0, db / 20.0);
}

double audio_to_db(double amplitude)
{
    return 20.0 * log10(amplitude);
}

uint64_t audio_memory_limit(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page <= 0)
        return UINT64_MAX;
    return (uint64_t)pages * (uint64_t)page;
}
