#include "plugin/plugin_side_chain.h"

#include "base/realtime.h"

#include <errno.h>
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
        return fail(STATUS_FAILED, "cannot open %s: %s", path, strerror(errno));
    if (!S_ISREG(entry.st_mode))
        return fail(STATUS_FAILED, "cannot open %s: a side chain is a regular file", path);
    return STATUS_OK;
}

static enum status copy(struct source *source, struct sink *sink, const struct block *chunk)
{
    for (size_t got = CHUNK; got == CHUNK;) {
        TRY(source_read(source, chunk->data, CHUNK, &got));
        for (size_t c = 0; c < chunk->channels; c++)
            if (audio_find_nonfinite(chunk->data[c], got) < got)
                return fail(STATUS_FAILED,
                            "cannot use %s as a side chain: a sample is not a number",
                            source->name);
        TRY(sink_write(sink, (const float *const *)chunk->data, got));
    }
    return STATUS_OK;
}

static enum status load(struct plugin_side_chain *side, struct source *source)
{
    struct block chunk;
    size_t channels = source->format.channels;
    TRY(block_init(&chunk, channels, CHUNK, "a side chain"));
    enum status status = sink_open_memory(channels, &side->memory);
    if (status == STATUS_OK)
        status = copy(source, side->memory, &chunk);
    block_free(&chunk);
    return status;
}

enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text, uint32_t rate,
                                   bool allow_truncated)
{
    struct source *source;
    plugin_side_chain_close(side);
    side->text = text;
    if (plugin_side_chain_is_list(text))
        return STATUS_OK;
    TRY(check_regular(text));
    TRY(source_open_sound(text, allow_truncated, &source));
    if (source->format.rate != rate)
        TRY(source_open_resampled(source, rate, &source));
    enum status status = load(side, source);
    source_close(source);
    return status;
}

void plugin_side_chain_close(struct plugin_side_chain *side)
{
    sink_close(side->memory);
    *side = (struct plugin_side_chain){0};
}

const struct block *plugin_side_chain_sound(const struct plugin_side_chain *side)
{
    return side->memory ? sink_memory(side->memory) : NULL;
}

HALO_REALTIME void plugin_side_chain_read(const struct block *sound, int64_t position,
                                          size_t frames, float *const *to)
{
    int64_t length = (int64_t)sound->frames, end = position + (int64_t)frames;
    int64_t from = position < 0 ? 0 : position, until = end < length ? end : length;
    for (size_t c = 0; c < sound->channels; c++) {
        memset(to[c], 0, frames * sizeof(float));
        if (from < until)
            memcpy(to[c] + (from - position), sound->data[c] + from,
                   (size_t)(until - from) * sizeof(float));
    }
}
