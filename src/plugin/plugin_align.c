#include "plugin/plugin_align.h"

#include <string.h>

enum status plugin_align_init(struct plugin_align *align, size_t channels, size_t latency,
                              size_t block)
{
    *align = (struct plugin_align){.latency = latency};
    return latency ? block_init(&align->ring, channels, latency + block, "a plugin") : STATUS_OK;
}

void plugin_align_free(struct plugin_align *align)
{
    block_free(&align->ring);
}

void plugin_align_reset(struct plugin_align *align)
{
    block_silence(&align->ring, 0, align->ring.frames);
    align->at = 0;
}

static void put(float *ring, size_t length, size_t at, const float *from, size_t frames)
{
    size_t first = frames < length - at ? frames : length - at;
    memcpy(ring + at, from, first * sizeof *ring);
    memcpy(ring, from + first, (frames - first) * sizeof *ring);
}

static void take(float *ring, size_t length, size_t at, float *to, size_t frames)
{
    size_t first = frames < length - at ? frames : length - at;
    memcpy(to, ring + at, first * sizeof *ring);
    memcpy(to + first, ring, (frames - first) * sizeof *ring);
    memset(ring + at, 0, first * sizeof *ring);
    memset(ring, 0, (frames - first) * sizeof *ring);
}

void plugin_align_process(struct plugin_align *align, float *const *planar, size_t from,
                          size_t frames, uint64_t reported)
{
    size_t length = align->ring.frames;
    if (align->latency == 0)
        return;
    size_t more = reported < align->latency ? align->latency - (size_t)reported : 0;
    for (size_t c = 0; c < align->ring.channels; c++) {
        float *ring = align->ring.data[c], *samples = planar[c] + from;
        put(ring, length, (align->at + more) % length, samples, frames);
        take(ring, length, align->at, samples, frames);
    }
    align->at = (align->at + frames) % length;
}
