#include "plugin/plugin_side_chain.h"

#include "base/realtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { CHUNK = 4096 }; /* frames read at a time */

bool plugin_side_chain_is_list(const char *text)
{
    return text[strspn(text, "0123456789:")] == '\0';
}

/* A render that starts again reads it again. */
static enum status check_regular(const char *path)
{
    struct stat entry;
    if (stat(path, &entry) != 0)
        return fail_errno(errno, "cannot open %s", path);
    if (!S_ISREG(entry.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot open %s: a side chain is a regular file", path);
    return STATUS_OK;
}

static enum status check_samples_of(const struct source *source, float *const *samples,
                                    size_t frames)
{
    for (size_t c = 0; c < source->format.channels; c++)
        if (audio_find_nonfinite(samples[c], frames) < frames)
            return fail(CAUSE_DAMAGED, "cannot use %s as a side chain: a sample is not a number",
                        source->name);
    return STATUS_OK;
}

static void silence_from(const struct plugin_side_chain *side, float *const *to, size_t frame,
                         size_t frames)
{
    for (size_t c = 0; c < side->channels; c++)
        memset(to[c] + frame, 0, (frames - frame) * sizeof(float));
}

/* ---- in memory ---- */

static enum status copy(struct source *source, struct sink *sink, const struct block *chunk)
{
    for (size_t got = CHUNK; got == CHUNK;) {
        TRY(source_read(source, chunk->data, CHUNK, &got));
        TRY(check_samples_of(source, chunk->data, got));
        TRY(sink_write(sink, (const float *const *)chunk->data, got));
    }
    return STATUS_OK;
}

static enum status load(struct plugin_side_chain *side, struct source *source)
{
    struct block chunk;
    TRY(block_init(&chunk, side->channels, CHUNK, "a side chain"));
    enum status status = sink_open_memory(side->channels, &side->memory);
    if (status == STATUS_OK)
        status = copy(source, side->memory, &chunk);
    block_free(&chunk);
    if (status == STATUS_OK)
        side->sound = sink_memory(side->memory);
    return status;
}

HALO_REALTIME static void read_memory(struct plugin_side_chain *side, int64_t position,
                                      size_t frames, float *const *to)
{
    const struct block *sound = side->sound;
    int64_t length = (int64_t)sound->frames, end = position + (int64_t)frames;
    int64_t from = position < 0 ? 0 : position, until = end < length ? end : length;
    for (size_t c = 0; c < sound->channels; c++) {
        memset(to[c], 0, frames * sizeof(float));
        if (from < until)
            memcpy(to[c] + (from - position), sound->data[c] + from,
                   (size_t)(until - from) * sizeof(float));
    }
}

/* ---- from the file ---- */

static enum status read_on(struct plugin_side_chain *side, uint64_t position, size_t frames,
                           float *const *to, size_t *got)
{
    if (side->next != position)
        TRY(source_seek(side->source, position));
    side->next = position;
    TRY(source_read(side->source, to, frames, got));
    side->next += *got;
    if (*got < frames)
        side->end = side->next;
    return check_samples_of(side->source, to, *got);
}

/* Past its end it is not read again. */
static void read_source(struct plugin_side_chain *side, int64_t position, size_t frames,
                        float *const *to)
{
    size_t late = position < 0 ? (size_t)-position : 0, got = 0;
    silence_from(side, to, 0, frames);
    uint64_t from = position < 0 ? 0 : (uint64_t)position;
    if (late >= frames || from >= side->end)
        return;
    for (size_t c = 0; c < side->channels; c++)
        side->rest[c] = to[c] + late;
    const struct log_keeper before = log_keep_in(side->failure, sizeof side->failure);
    side->has_failed = read_on(side, from, frames - late, side->rest, &got) != STATUS_OK;
    log_keep_again(&before);
    if (side->has_failed)
        silence_from(side, to, 0, frames);
}

/* ---- both ---- */

static enum status open_file(struct plugin_side_chain *side, uint32_t rate, bool allow_truncated)
{
    TRY(check_regular(side->text));
    TRY(source_open_sound(side->text, allow_truncated, &side->source));
    side->channels = side->source->format.channels;
    if (side->source->format.rate == rate)
        return STATUS_OK;
    struct source *inner = side->source;
    side->source = NULL; /* taken over */
    return source_open_resampled(inner, rate, &side->source);
}

enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text, uint32_t rate,
                                   bool allow_truncated, bool live)
{
    plugin_side_chain_close(side);
    side->text = text;
    if (plugin_side_chain_is_list(text))
        return STATUS_OK;
    TRY(open_file(side, rate, allow_truncated));
    side->read = read_source;
    side->end = UINT64_MAX;
    side->rest = calloc(side->channels, sizeof *side->rest);
    if (!side->rest)
        return fail_memory("a side chain");
    if (!live && side->source->seekable)
        return STATUS_OK;
    side->read = read_memory;
    TRY(load(side, side->source));
    source_close(side->source);
    side->source = NULL;
    return STATUS_OK;
}

void plugin_side_chain_close(struct plugin_side_chain *side)
{
    sink_close(side->memory);
    source_close(side->source);
    free(side->rest);
    *side = (struct plugin_side_chain){0};
}

HALO_REALTIME const char *plugin_side_chain_read(struct plugin_side_chain *side, int64_t position,
                                                 size_t frames, float *const *to)
{
    if (!side->has_failed)
        side->read(side, position, frames, to);
    return side->has_failed ? side->failure : NULL;
}
