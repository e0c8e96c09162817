/* Several sounds as one: the channels of the first, then those of the second, and so on. */
#include "sound/port.h"

#include <stdlib.h>

struct stacked {
    struct source source;
    size_t count;
    struct source *sounds[];
};

static void stacked_close(struct source *source)
{
    struct stacked *stacked = (struct stacked *)source;
    for (size_t i = 0; i < stacked->count; i++)
        source_close(stacked->sounds[i]);
    free(stacked);
}

/* The stack ends where its shortest sound ends. */
static enum status stacked_read(struct source *source, float *const *planar, size_t frames,
                                size_t *got)
{
    struct stacked *stacked = (struct stacked *)source;
    size_t least = frames;
    for (size_t i = 0; i < stacked->count; i++) {
        size_t own = 0;
        TRY(source_read(stacked->sounds[i], planar, frames, &own));
        planar += stacked->sounds[i]->format.channels;
        least = own < least ? own : least;
    }
    *got = least;
    return STATUS_OK;
}

static enum status stacked_seek(struct source *source, uint64_t frame)
{
    struct stacked *stacked = (struct stacked *)source;
    for (size_t i = 0; i < stacked->count; i++)
        TRY(source_seek(stacked->sounds[i], frame));
    return STATUS_OK;
}

static const struct source_kind stacked_kind = {
    .read = stacked_read, .seek = stacked_seek, .close = stacked_close};

static void describe(struct source *source, const struct source *sound)
{
    bool is_known = source->frames != FRAMES_UNKNOWN && sound->frames != FRAMES_UNKNOWN;
    source->format.channels += sound->format.channels;
    source->seekable = source->seekable && sound->seekable;
    source->waits = source->waits || sound->waits;
    if (!is_known || sound->frames < source->frames)
        source->frames = is_known ? sound->frames : FRAMES_UNKNOWN;
}

enum status source_open_stacked(struct source *const *sounds, size_t count, const char *name,
                                struct source **result)
{
    struct stacked *stacked = calloc(1, sizeof *stacked + count * sizeof(struct source *));
    if (!stacked) {
        for (size_t i = 0; i < count; i++)
            source_close(sounds[i]);
        return fail_memory("reading several sounds");
    }
    stacked->count = count;
    stacked->source = (struct source){.kind = &stacked_kind,
                                      .name = name,
                                      .format = {.rate = sounds[0]->format.rate},
                                      .frames = sounds[0]->frames,
                                      .seekable = true};
    for (size_t i = 0; i < count; i++) {
        stacked->sounds[i] = sounds[i];
        describe(&stacked->source, sounds[i]);
    }
    *result = &stacked->source;
    return STATUS_OK;
}
