/* Sound in memory as a port; compiled for each precision. */
#include "signal/real.h"
#include "sound/port.h"

#include <stdlib.h>
#include <string.h>

struct memory_source {
    struct source source;
    const struct real_block *block;
    size_t position;
};

static enum status memory_read(struct source *source, real *const *planar, size_t frames,
                               size_t *got)
{
    struct memory_source *memory = (struct memory_source *)source;
    size_t left = memory->block->frames - memory->position;
    *got = frames < left ? frames : left;
    for (size_t c = 0; c < memory->block->channels; c++)
        memcpy(planar[c], memory->block->data[c] + memory->position, *got * sizeof(real));
    memory->position += *got;
    return STATUS_OK;
}

static enum status memory_seek(struct source *source, uint64_t frame)
{
    struct memory_source *memory = (struct memory_source *)source;
    memory->position = frame < memory->block->frames ? (size_t)frame : memory->block->frames;
    return STATUS_OK;
}

static void memory_source_close(struct source *source)
{
    free(source);
}

static const struct source_kind memory_source_kind = {
    .REAL(read) = memory_read, .seek = memory_seek, .close = memory_source_close};

enum status REAL(source_open_memory)(const struct real_block *block, uint32_t rate,
                                     struct source **result)
{
    struct memory_source *memory = calloc(1, sizeof *memory);
    if (!memory)
        return fail_memory("reading");
    memory->source = (struct source){.kind = &memory_source_kind,
                                     .name = "memory",
                                     .format = {.rate = rate, .channels = block->channels},
                                     .frames = (int64_t)block->frames,
                                     .seekable = true};
    memory->block = block;
    *result = &memory->source;
    return STATUS_OK;
}

struct memory_sink {
    struct sink sink;
    struct real_block block; /* frames counts what was written */
    size_t capacity;
};

static enum status grow(struct memory_sink *memory, size_t frames)
{
    if (frames <= memory->capacity)
        return STATUS_OK;
    size_t capacity = 2 * frames;
    for (size_t c = 0; c < memory->block.channels; c++) {
        real *data = realloc(memory->block.data[c], capacity * sizeof *data);
        if (!data)
            return fail_memory("writing");
        memory->block.data[c] = data;
    }
    memory->capacity = capacity;
    return STATUS_OK;
}

static enum status memory_write(struct sink *sink, const real *const *planar, size_t frames)
{
    struct memory_sink *memory = (struct memory_sink *)sink;
    TRY(grow(memory, memory->block.frames + frames));
    for (size_t c = 0; c < memory->block.channels; c++)
        memcpy(memory->block.data[c] + memory->block.frames, planar[c], frames * sizeof(real));
    memory->block.frames += frames;
    return STATUS_OK;
}

static enum status memory_commit(struct sink *sink)
{
    (void)sink;
    return STATUS_OK;
}

static void memory_sink_close(struct sink *sink)
{
    block_free(&((struct memory_sink *)sink)->block);
    free(sink);
}

static const struct sink_kind memory_sink_kind = {
    .REAL(write) = memory_write, .commit = memory_commit, .close = memory_sink_close};

enum status REAL(sink_open_memory)(size_t channels, struct sink **result)
{
    struct memory_sink *memory = calloc(1, sizeof *memory);
    if (!memory)
        return fail_memory("writing");
    memory->sink.kind = &memory_sink_kind;
    enum status status = block_init(&memory->block, channels, 0, "writing");
    if (status == STATUS_OK)
        *result = &memory->sink;
    else
        memory_sink_close(&memory->sink);
    return status;
}

const struct real_block *REAL(sink_memory)(const struct sink *sink)
{
    return &((const struct memory_sink *)sink)->block;
}
