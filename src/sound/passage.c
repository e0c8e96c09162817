#include "sound/passage.h"

#include "base/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 14 }; /* frames at a time into memory */

void passage_close(struct passage *passage)
{
    if (!passage)
        return;
    source_close(passage->source);
    sink_close(passage->memory);
    free(passage->name);
    free(passage);
}

static enum status refuse_long(const struct passage *passage)
{
    return fail(STATUS_FAILED,
                "cannot play %s: it cannot seek and is longer than the %d MiB that are kept in "
                "memory; save it to a file",
                passage->name, PASSAGE_MEMORY_MIB);
}

/* Up to `most` frames of the source, from where it stands. */
static enum status fill_memory(struct passage *passage, struct sink *memory, uint64_t most)
{
    uint64_t room = ((uint64_t)PASSAGE_MEMORY_MIB << 20) / sizeof(float) / passage->format.channels;
    struct block chunk;
    enum status status = block_init(&chunk, passage->format.channels, CHUNK, "a passage");
    size_t got = 1;
    for (uint64_t done = 0; status == STATUS_OK && done < most && got > 0; done += got) {
        size_t part = most - done < CHUNK ? (size_t)(most - done) : CHUNK;
        status = source_read(passage->source, chunk.data, part, &got);
        if (status == STATUS_OK && stop_requested())
            status = STATUS_INTERRUPTED;
        if (status == STATUS_OK && done + got > room)
            status = refuse_long(passage);
        if (status == STATUS_OK)
            status = sink_write(memory, (const float *const *)chunk.data, got);
    }
    block_free(&chunk);
    return status;
}

/* The source's next `most` frames take its place, from memory. */
static enum status keep(struct passage *passage, uint64_t most)
{
    struct sink *memory = NULL;
    struct source *source = NULL;
    enum status status = sink_open_memory(passage->format.channels, &memory);
    if (status == STATUS_OK)
        status = fill_memory(passage, memory, most);
    if (status == STATUS_OK)
        status = source_open_memory(sink_memory(memory), passage->source->format.rate, &source);
    if (status != STATUS_OK) {
        sink_close(memory);
        return status;
    }
    source_close(passage->source);
    sink_close(passage->memory);
    passage->source = source;
    passage->memory = memory;
    return STATUS_OK;
}

static enum status change_rate(struct passage *passage, uint32_t rate)
{
    struct source *inner = passage->source;
    if (rate == 0 || rate == inner->format.rate)
        return STATUS_OK;
    passage->source = NULL; /* closed where it fails */
    return source_open_resampled(inner, rate, &passage->source);
}

static enum status set_ends(struct passage *passage, double from, double to)
{
    double rate = passage->format.rate, length = (double)passage->frames / rate;
    if (to > length + 0.5 / rate)
        note("%s ends at %.3f s, before %.3f s", passage->name, length, to);
    passage->from = (uint64_t)llrint(fmin(from, length) * rate);
    passage->to = to > 0 && to < length ? (uint64_t)llrint(to * rate) : passage->frames;
    if (passage->from < passage->to)
        return STATUS_OK;
    if (to > 0 && to < length)
        return fail(STATUS_USAGE, "cannot play %s from %.3f s to %.3f s: there is nothing between",
                    passage->name, from, to);
    return fail(STATUS_USAGE, "cannot play %s from %.3f s on: it is %.3f s long", passage->name,
                from, length);
}

static enum status keep_if_short(struct passage *passage)
{
    uint64_t frames = passage->to - passage->from;
    if (frames >= (uint64_t)PASSAGE_SHORT_SECONDS * passage->format.rate)
        return STATUS_OK;
    enum status status = source_seek(passage->source, passage->from);
    if (status == STATUS_OK)
        status = keep(passage, frames);
    passage->base = passage->from;
    if (status == STATUS_OK && passage->source->frames == 0)
        status = fail(STATUS_FAILED, "cannot play %s: it ends before frame %llu", passage->name,
                      (unsigned long long)passage->from);
    if (status == STATUS_OK)
        passage->to = passage->from + (uint64_t)passage->source->frames;
    return status;
}

static enum status fill(struct passage *passage, const struct passage_settings *settings)
{
    enum status status =
        source_open_sound(settings->path, settings->allow_truncated, &passage->source);
    if (status != STATUS_OK)
        return status;
    passage->format = passage->source->format;
    passage->name = strdup(passage->source->name);
    if (!passage->name)
        return fail_memory("a passage");
    if (!passage->source->seekable || passage->source->frames == FRAMES_UNKNOWN)
        status = keep(passage, UINT64_MAX);
    if (status == STATUS_OK)
        status = change_rate(passage, settings->rate);
    if (status != STATUS_OK)
        return status;
    passage->format = passage->source->format;
    passage->frames = (uint64_t)passage->source->frames;
    status = set_ends(passage, settings->from, settings->to);
    return status == STATUS_OK ? keep_if_short(passage) : status;
}

enum status passage_open(const struct passage_settings *settings, struct passage **result)
{
    struct passage *passage = calloc(1, sizeof *passage);
    enum status status = passage ? fill(passage, settings) : fail_memory("a passage");
    if (status == STATUS_OK)
        status = passage_seek(passage, passage->from);
    if (status != STATUS_OK) {
        passage_close(passage);
        return status;
    }
    *result = passage;
    return STATUS_OK;
}

enum status passage_seek(struct passage *passage, uint64_t frame)
{
    passage->position = frame;
    return source_seek(passage->source, frame - passage->base);
}

static enum status check_finite(const struct passage *passage, float *const *planar, size_t frames)
{
    for (size_t c = 0; c < passage->format.channels; c++) {
        size_t bad = audio_find_nonfinite(planar[c], frames);
        if (bad < frames)
            return fail(STATUS_FAILED, "cannot play %s: frame %llu of channel %zu is %s",
                        passage->name, (unsigned long long)(passage->position + bad + 1), c + 1,
                        isnan(planar[c][bad]) ? "not a number" : "infinite");
    }
    return STATUS_OK;
}

enum status passage_read(struct passage *passage, float *const *planar, size_t frames, size_t *got)
{
    uint64_t left = passage->to - passage->position;
    enum status status =
        source_read(passage->source, planar, frames < left ? frames : (size_t)left, got);
    if (status == STATUS_OK)
        status = check_finite(passage, planar, *got);
    passage->position += *got;
    return status;
}
