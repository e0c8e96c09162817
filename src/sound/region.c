#include "sound/region.h"

#include "base/stop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 14 }; /* frames read at a time into memory */

void region_close(struct region *region)
{
    if (!region)
        return;
    source_close(region->source);
    sink_close(region->memory);
    for (size_t i = 0; i < region->sound_count; i++)
        free(region->sounds[i].name);
    free(region->name);
    free(region);
}

static enum status refuse_long(const struct region *region)
{
    return fail(CAUSE_UNSUPPORTED,
                "cannot play %s: it is not seekable and exceeds the %d MiB kept in memory; save it "
                "to a file",
                region->name, REGION_MEMORY_MIB);
}

/* Read up to `most` frames from the source's position into memory. */
static enum status fill_memory(struct region *region, struct sink *memory, uint64_t most)
{
    uint64_t capacity =
        ((uint64_t)REGION_MEMORY_MIB << 20) / sizeof(float) / region->format.channels;
    struct block chunk;
    enum status status = block_init(&chunk, region->format.channels, CHUNK, "a region");
    size_t got = 1;
    for (uint64_t done = 0; status == STATUS_OK && done < most && got > 0; done += got) {
        size_t part = most - done < CHUNK ? (size_t)(most - done) : CHUNK;
        if ((status = source_read(region->source, chunk.data, part, &got)))
            break;
        if (stop_requested())
            status = STATUS_INTERRUPTED;
        else if (done + got > capacity)
            status = refuse_long(region);
        else
            status = sink_write(memory, (const float *const *)chunk.data, got);
    }
    block_free(&chunk);
    return status;
}

/* Replace the source by a memory with its next `most` frames. */
static enum status keep(struct region *region, uint64_t most)
{
    struct sink *memory = NULL;
    struct source *source = NULL;
    enum status status;
    if ((status = sink_open_memory(region->format.channels, &memory)) ||
        (status = fill_memory(region, memory, most)) ||
        (status = source_open_memory(sink_memory(memory), region->source->format.rate, &source))) {
        sink_close(memory);
        return status;
    }
    source_close(region->source);
    sink_close(region->memory);
    region->source = source;
    region->memory = memory;
    return STATUS_OK;
}

static enum status change_rate(struct region *region, uint32_t rate)
{
    struct source *inner = region->source;
    if (rate == 0 || rate == inner->format.rate)
        return STATUS_OK;
    region->source = NULL; /* now owned by the resampler, also on failure */
    return source_open_resampled(inner, rate, &region->source);
}

static enum status set_ends(struct region *region, double from, double to)
{
    double rate = region->format.rate, length = (double)region->frames / rate;
    if (to > length + 0.5 / rate)
        note("%s ends at %.3f s, before %.3f s", region->name, length, to);
    region->from = (uint64_t)llrint(fmin(from, length) * rate);
    region->to = to > 0 && to < length ? (uint64_t)llrint(to * rate) : region->frames;
    if (region->from < region->to)
        return STATUS_OK;
    if (to > 0 && to < length)
        return fail(CAUSE_USAGE, "cannot play %s from %.3f s to %.3f s: there is nothing between",
                    region->name, from, to);
    return fail(CAUSE_USAGE, "cannot play %s from %.3f s on: %s is %.3f s long", region->name, from,
                region->sound_count > 1 ? "the shortest" : "it", length);
}

static enum status keep_if_short(struct region *region)
{
    uint64_t frames = region->to - region->from;
    if (frames >= (uint64_t)REGION_SHORT_SECONDS * region->format.rate)
        return STATUS_OK;
    TRY(source_seek(region->source, region->from));
    TRY(keep(region, frames));
    if (region->source->frames == 0)
        return fail(CAUSE_DAMAGED, "cannot play %s: it ends before frame %llu", region->name,
                    (unsigned long long)region->from);
    region->base = region->from;
    region->to = region->from + (uint64_t)region->source->frames;
    return STATUS_OK;
}

/* ---- several sounds ---- */

static enum status name_sounds(struct region *region)
{
    size_t length = 1;
    for (size_t i = 0; i < region->sound_count; i++)
        length += strlen(region->sounds[i].name) + 2;
    region->name = calloc(1, length);
    for (size_t i = 0; region->name && i < region->sound_count; i++) {
        strcat(region->name, i > 0 ? ", " : "");
        strcat(region->name, region->sounds[i].name);
    }
    return region->name ? STATUS_OK : fail_memory("a region");
}

/* Resamples the sounds to one rate, and stacks them. */
static enum status stack(struct region *region, struct source **sounds, uint32_t rate)
{
    for (size_t i = 0; i < region->sound_count; i++) {
        struct source *inner = sounds[i];
        if (inner->format.rate == rate)
            continue;
        sounds[i] = NULL; /* the resampler owns it, also on failure */
        TRY(source_open_resampled(inner, rate, &sounds[i]));
    }
    struct source *stacked[REGION_SOUNDS_MOST];
    memcpy(stacked, sounds, sizeof stacked);
    memset(sounds, 0, sizeof stacked); /* the stack owns them, also on failure */
    return source_open_stacked(stacked, region->sound_count, region->name, &region->source);
}

static enum status open_sounds(struct region *region, const struct region_settings *settings)
{
    struct source *sounds[REGION_SOUNDS_MOST] = {NULL};
    uint32_t rate = settings->rate, highest = 0;
    enum status status = STATUS_OK;
    region->sound_count = settings->other_count + 1; /* names are NULL for now */
    for (size_t i = 0; i < region->sound_count && status == STATUS_OK; i++) {
        status = source_open_sound(i > 0 ? settings->others[i - 1] : settings->path,
                                   settings->allow_truncated, &sounds[i]);
        if (status != STATUS_OK)
            break;
        region->sounds[i] =
            (struct region_sound){strdup(sounds[i]->name), sounds[i]->format, sounds[i]->frames};
        status = region->sounds[i].name ? STATUS_OK : fail_memory("a region");
        highest = sounds[i]->format.rate > highest ? sounds[i]->format.rate : highest;
    }
    if (status == STATUS_OK)
        status = name_sounds(region);
    if (status == STATUS_OK && region->sound_count > 1) {
        status = stack(region, sounds, rate ? rate : highest);
    } else if (status == STATUS_OK) {
        region->source = sounds[0];
        sounds[0] = NULL;
    }
    for (size_t i = 0; i < REGION_SOUNDS_MOST; i++)
        source_close(sounds[i]);
    return status;
}

static enum status fill(struct region *region, const struct region_settings *settings)
{
    TRY(open_sounds(region, settings));
    struct channel_layout layout = region->source->format.layout;
    region->format = region->source->format;
    if (!region->source->seekable || region->source->frames == FRAMES_UNKNOWN)
        TRY(keep(region, UINT64_MAX));
    TRY(change_rate(region, settings->rate));
    region->format = region->source->format;
    region->format.layout = layout; /* sources in between do not pass the layout on */
    region->frames = (uint64_t)region->source->frames;
    TRY(set_ends(region, settings->from, settings->to));
    TRY(keep_if_short(region));
    return region_seek(region, region->from);
}

enum status region_open(const struct region_settings *settings, struct region **result)
{
    struct region *region = calloc(1, sizeof *region);
    enum status status = region ? fill(region, settings) : fail_memory("a region");
    if (status == STATUS_OK)
        *result = region;
    else
        region_close(region);
    return status;
}

enum status region_seek(struct region *region, uint64_t frame)
{
    region->position = frame;
    return source_seek(region->source, frame - region->base);
}

/* The sound of a channel; *channel becomes its number in this sound. */
static const char *sound_of(const struct region *region, size_t *channel)
{
    size_t i = 0;
    for (; *channel >= region->sounds[i].format.channels; i++)
        *channel -= region->sounds[i].format.channels;
    return region->sounds[i].name;
}

static enum status check_finite(const struct region *region, float *const *planar, size_t frames)
{
    for (size_t c = 0; c < region->format.channels; c++) {
        size_t bad = audio_find_nonfinite(planar[c], frames);
        if (bad == frames)
            continue;
        size_t channel = c;
        const char *name = sound_of(region, &channel);
        return fail(CAUSE_DAMAGED, "cannot play %s: frame %llu of channel %zu is %s", name,
                    (unsigned long long)(region->position + bad + 1), channel + 1,
                    isnan(planar[c][bad]) ? "not a number" : "infinite");
    }
    return STATUS_OK;
}

enum status region_read(struct region *region, float *const *planar, size_t frames, size_t *got)
{
    uint64_t left = region->to - region->position;
    enum status status =
        source_read(region->source, planar, frames < left ? frames : (size_t)left, got);
    if (status == STATUS_OK)
        status = check_finite(region, planar, *got);
    region->position += *got;
    return status;
}
