/* The ghost cells: a source that goes on before the first and after the last
 * frame of another, as an edge policy has it.
 *
 *   zero       0 0 0 | a b c d | 0 0 0
 *   replicate  a a a | a b c d | d d d
 *   reflect    d c b | a b c d | c b a    (the end frame is not repeated)
 *   wrap       b c d | a b c d | a b c
 */
#include "sound/port.h"

#include <stdlib.h>
#include <string.h>

struct edge_source {
    struct source source;
    struct source *inner;
    enum edge edge;
    uint64_t before;
    uint64_t after;
    uint64_t position; /* in the extended sound */
    uint64_t length;   /* of the inner sound, once it is known */
    bool length_known;
    uint64_t inner_position;
    bool first_held;
    bool first_pending; /* read ahead for the extension, still to be given out in its place */
    float *first;       /* a frame: the sound's first */
    float *last;        /* a frame: the latest that was read */
};

static void edge_close(struct source *source)
{
    struct edge_source *edge = (struct edge_source *)source;
    source_close(edge->inner);
    free(edge->first);
    free(edge->last);
    free(edge);
}

static void fill_with(const struct edge_source *edge, const float *frame, float *const *planar,
                      size_t at, size_t frames)
{
    for (size_t c = 0; c < edge->source.format.channels; c++)
        for (size_t i = 0; i < frames; i++)
            planar[c][at + i] = frame ? frame[c] : 0;
}

/* Read from the inner sound where it stands, into planar[c] + at. */
static enum status read_inner(struct edge_source *edge, float *const *planar, size_t at,
                              size_t frames, size_t *got)
{
    size_t channels = edge->source.format.channels;
    float *into[channels];
    for (size_t c = 0; c < channels; c++)
        into[c] = planar[c] + at;
    enum status status = source_read(edge->inner, into, frames, got);
    edge->inner_position += *got;
    if (status == STATUS_OK && *got > 0)
        for (size_t c = 0; c < channels; c++)
            edge->last[c] = into[c][*got - 1];
    return status;
}

static enum status hold_first(struct edge_source *edge)
{
    size_t channels = edge->source.format.channels, got;
    float *into[channels];
    for (size_t c = 0; c < channels; c++)
        into[c] = &edge->first[c];
    edge->first_held = true;
    enum status status = source_read(edge->inner, into, 1, &got);
    if (status != STATUS_OK)
        return status;
    edge->first_pending = got == 1;
    edge->inner_position = got;
    memcpy(edge->last, edge->first, channels * sizeof(float));
    return STATUS_OK;
}

static enum status read_middle(struct edge_source *edge, float *const *planar, size_t at,
                               size_t frames, size_t *got)
{
    *got = 0;
    if (edge->first_pending && frames > 0) {
        fill_with(edge, edge->first, planar, at, 1);
        edge->first_pending = false;
        *got = 1;
    }
    size_t more = 0;
    enum status status = STATUS_OK;
    if (edge->edge != EDGE_REPLICATE && edge->inner->seekable &&
        edge->inner_position != edge->position - edge->before) {
        edge->inner_position = edge->position - edge->before;
        status = source_seek(edge->inner, edge->inner_position);
    }
    if (status == STATUS_OK && *got < frames)
        status = read_inner(edge, planar, at + *got, frames - *got, &more);
    *got += more;
    if (status == STATUS_OK && *got < frames) {
        edge->length = edge->position + *got - edge->before;
        edge->length_known = true;
    }
    return status;
}

/* Where extended frame `index` (counted from the sound's first) comes from, and
 * how many frames on from there run in one direction. */
struct run {
    uint64_t from;
    int direction;
    uint64_t frames;
};

static struct run run_at(enum edge policy, int64_t index, int64_t length)
{
    if (policy == EDGE_WRAP) {
        int64_t from = (index % length + length) % length;
        return (struct run){(uint64_t)from, 1, (uint64_t)(length - from)};
    }
    if (length == 1)
        return (struct run){0, 1, 1};
    int64_t period = 2 * (length - 1);
    int64_t phase = (index % period + period) % period;
    if (phase < length)
        return (struct run){(uint64_t)phase, 1, (uint64_t)(length - phase)};
    return (struct run){(uint64_t)(period - phase), -1, (uint64_t)(period - phase)};
}

static void reverse(const struct edge_source *edge, float *const *planar, size_t at, size_t frames)
{
    for (size_t c = 0; c < edge->source.format.channels; c++)
        for (size_t i = 0; i < frames / 2; i++) {
            float swap = planar[c][at + i];
            planar[c][at + i] = planar[c][at + frames - 1 - i];
            planar[c][at + frames - 1 - i] = swap;
        }
}

static enum status read_moved(struct edge_source *edge, float *const *planar, size_t at,
                              size_t frames)
{
    int64_t index = (int64_t)edge->position - (int64_t)edge->before;
    while (frames > 0) {
        struct run run = run_at(edge->edge, index, (int64_t)edge->length);
        size_t part = frames < run.frames ? frames : (size_t)run.frames, got;
        uint64_t from = run.direction > 0 ? run.from : run.from - part + 1;
        enum status status = source_seek(edge->inner, from);
        edge->inner_position = from;
        if (status == STATUS_OK)
            status = read_inner(edge, planar, at, part, &got);
        if (status != STATUS_OK)
            return status;
        if (got < part)
            fill_with(edge, NULL, planar, at + got, part - got);
        if (run.direction < 0)
            reverse(edge, planar, at, part);
        at += part;
        index += (int64_t)part;
        frames -= part;
    }
    return STATUS_OK;
}

static enum status repeat_end(struct edge_source *edge, float *const *planar, size_t at,
                              size_t frames)
{
    bool before = edge->position < edge->before;
    if (before && !edge->first_held) {
        enum status status = hold_first(edge);
        if (status != STATUS_OK)
            return status;
    }
    bool silent = edge->inner_position == 0; /* a sound of no frames */
    fill_with(edge, silent ? NULL : before ? edge->first : edge->last, planar, at, frames);
    return STATUS_OK;
}

static enum status read_beyond(struct edge_source *edge, float *const *planar, size_t at,
                               size_t frames)
{
    if (edge->edge == EDGE_REPLICATE)
        return repeat_end(edge, planar, at, frames);
    if (edge->edge != EDGE_ZERO && edge->length > 0)
        return read_moved(edge, planar, at, frames);
    fill_with(edge, NULL, planar, at, frames);
    return STATUS_OK;
}

static enum status edge_read(struct source *source, float *const *planar, size_t frames,
                             size_t *got)
{
    struct edge_source *edge = (struct edge_source *)source;
    *got = 0;
    while (*got < frames) {
        size_t part = frames - *got, done;
        enum status status = STATUS_OK;
        if (edge->position < edge->before) {
            if (edge->before - edge->position < part)
                part = (size_t)(edge->before - edge->position);
            status = read_beyond(edge, planar, *got, part);
            done = part;
        } else if (!edge->length_known || edge->position < edge->before + edge->length) {
            if (edge->length_known && edge->before + edge->length - edge->position < part)
                part = (size_t)(edge->before + edge->length - edge->position);
            status = read_middle(edge, planar, *got, part, &done);
        } else {
            uint64_t left = edge->before + edge->length + edge->after - edge->position;
            if (left == 0)
                return STATUS_OK;
            if (left < part)
                part = (size_t)left;
            status = read_beyond(edge, planar, *got, part);
            done = part;
        }
        if (status != STATUS_OK)
            return status;
        edge->position += done;
        *got += done;
    }
    return STATUS_OK;
}

static const struct source_kind edge_source_kind = {
    .read = edge_read,
    .close = edge_close,
};

static enum status refuse_stream(const struct source *inner)
{
    return fail(STATUS_USAGE,
                "--edge reflect and wrap need a sound that can seek, and %s cannot; "
                "save it to a WAV file first",
                inner->name);
}

enum status source_open_edge(struct source *inner, enum edge policy, uint64_t before,
                             uint64_t after, struct source **result)
{
    enum status status = STATUS_OK;
    struct edge_source *edge = calloc(1, sizeof *edge);
    if (!edge) {
        source_close(inner);
        return fail_memory("the sound's edges");
    }
    edge->inner = inner;
    edge->source = *inner;
    edge->source.traits = (struct sound_traits){0}; /* they stay the inner one's */
    edge->source.kind = &edge_source_kind;
    edge->source.seekable = false;
    edge->edge = policy;
    edge->before = before;
    edge->after = after;
    edge->length = inner->frames == FRAMES_UNKNOWN ? 0 : (uint64_t)inner->frames;
    edge->length_known = inner->frames != FRAMES_UNKNOWN;
    if (edge->length_known)
        edge->source.frames += (int64_t)(before + after);
    edge->first = calloc(inner->format.channels, sizeof(float));
    edge->last = calloc(inner->format.channels, sizeof(float));
    if (!edge->first || !edge->last)
        status = fail_memory("the sound's edges");
    else if (policy >= EDGE_REFLECT && !(inner->seekable && edge->length_known))
        status = refuse_stream(inner);
    if (status != STATUS_OK) {
        edge_close(&edge->source);
        return status;
    }
    *result = &edge->source;
    return STATUS_OK;
}
