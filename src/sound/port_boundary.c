/* A source that extends another before its first and after its last frame:
 *
 *   zero       0 0 0 | a b c d | 0 0 0
 *   replicate  a a a | a b c d | d d d
 *   reflect    d c b | a b c d | c b a    (the end frame is not repeated)
 *   wrap       b c d | a b c d | a b c
 *
 * Compiled for each precision. */
#include "signal/real.h"
#include "sound/port.h"

#include <stdlib.h>
#include <string.h>

struct boundary_source {
    struct source source;
    struct source *inner;
    enum boundary boundary;
    uint64_t before;
    uint64_t after;
    uint64_t position; /* frame of the extended sound that the next read begins at */
    uint64_t length;   /* frames of the inner sound, if known */
    bool length_known;
    uint64_t inner_position;
    bool first_held;
    /* `first` was read ahead for the extension and not yet returned as the sound's first frame */
    bool first_pending;
    real *first; /* the first frame */
    real *last;  /* the latest frame read */
};

static void boundary_close(struct source *source)
{
    struct boundary_source *boundary = (struct boundary_source *)source;
    source_close(boundary->inner);
    free(boundary->first);
    free(boundary->last);
    free(boundary);
}

static void fill_with(const struct boundary_source *boundary, const real *frame,
                      real *const *planar, size_t at, size_t frames)
{
    for (size_t c = 0; c < boundary->source.format.channels; c++)
        for (size_t i = 0; i < frames; i++)
            planar[c][at + i] = frame ? frame[c] : 0;
}

/* Read frames at the inner sound's position into planar[c] + at. */
static enum status read_inner(struct boundary_source *boundary, real *const *planar, size_t at,
                              size_t frames, size_t *got)
{
    size_t channels = boundary->source.format.channels;
    real *into[channels];
    for (size_t c = 0; c < channels; c++)
        into[c] = planar[c] + at;
    enum status status = REAL(source_read)(boundary->inner, into, frames, got);
    boundary->inner_position += *got;
    if (status == STATUS_OK && *got > 0)
        for (size_t c = 0; c < channels; c++)
            boundary->last[c] = into[c][*got - 1];
    return status;
}

static enum status hold_first(struct boundary_source *boundary)
{
    size_t channels = boundary->source.format.channels, got;
    real *into[channels];
    for (size_t c = 0; c < channels; c++)
        into[c] = &boundary->first[c];
    boundary->first_held = true;
    TRY(REAL(source_read)(boundary->inner, into, 1, &got));
    boundary->first_pending = got == 1;
    boundary->inner_position = got;
    memcpy(boundary->last, boundary->first, channels * sizeof(real));
    return STATUS_OK;
}

static enum status read_middle(struct boundary_source *boundary, real *const *planar, size_t at,
                               size_t frames, size_t *got)
{
    *got = 0;
    if (boundary->first_pending && frames > 0) {
        fill_with(boundary, boundary->first, planar, at, 1);
        boundary->first_pending = false;
        *got = 1;
    }
    if (boundary->boundary != BOUNDARY_REPLICATE && boundary->inner->seekable &&
        boundary->inner_position != boundary->position - boundary->before) {
        boundary->inner_position = boundary->position - boundary->before;
        TRY(source_seek(boundary->inner, boundary->inner_position));
    }
    if (*got == frames)
        return STATUS_OK;
    size_t more = 0;
    enum status status = read_inner(boundary, planar, at + *got, frames - *got, &more);
    *got += more;
    if (status == STATUS_OK && *got < frames) {
        boundary->length = boundary->position + *got - boundary->before;
        boundary->length_known = true;
    }
    return status;
}

/* Where frames of the extension come from: the inner frame for extended frame `index` (0: the
 * sound's first), and the number of frames from there that run in one direction. */
struct boundary_run {
    uint64_t from;
    int direction;
    uint64_t frames;
};

static struct boundary_run run_at(enum boundary policy, int64_t index, int64_t length)
{
    if (policy == BOUNDARY_WRAP) {
        int64_t from = (index % length + length) % length;
        return (struct boundary_run){(uint64_t)from, 1, (uint64_t)(length - from)};
    }
    if (length == 1)
        return (struct boundary_run){0, 1, 1};
    int64_t period = 2 * (length - 1);
    int64_t phase = (index % period + period) % period;
    if (phase < length)
        return (struct boundary_run){(uint64_t)phase, 1, (uint64_t)(length - phase)};
    return (struct boundary_run){(uint64_t)(period - phase), -1, (uint64_t)(period - phase)};
}

static void reverse(const struct boundary_source *boundary, real *const *planar, size_t at,
                    size_t frames)
{
    for (size_t c = 0; c < boundary->source.format.channels; c++)
        for (size_t i = 0; i < frames / 2; i++) {
            real swap = planar[c][at + i];
            planar[c][at + i] = planar[c][at + frames - 1 - i];
            planar[c][at + frames - 1 - i] = swap;
        }
}

static enum status read_moved(struct boundary_source *boundary, real *const *planar, size_t at,
                              size_t frames)
{
    int64_t index = (int64_t)boundary->position - (int64_t)boundary->before;
    while (frames > 0) {
        struct boundary_run run = run_at(boundary->boundary, index, (int64_t)boundary->length);
        size_t part = frames < run.frames ? frames : (size_t)run.frames, got;
        uint64_t from = run.direction > 0 ? run.from : run.from - part + 1;
        TRY(source_seek(boundary->inner, from));
        boundary->inner_position = from;
        TRY(read_inner(boundary, planar, at, part, &got));
        if (got < part)
            fill_with(boundary, NULL, planar, at + got, part - got);
        if (run.direction < 0)
            reverse(boundary, planar, at, part);
        at += part;
        index += (int64_t)part;
        frames -= part;
    }
    return STATUS_OK;
}

static enum status repeat_end(struct boundary_source *boundary, real *const *planar, size_t at,
                              size_t frames)
{
    bool before = boundary->position < boundary->before;
    if (before && !boundary->first_held) {
        TRY(hold_first(boundary));
    }
    bool silent = boundary->inner_position == 0; /* the inner sound is empty */
    fill_with(boundary,
              silent   ? NULL
              : before ? boundary->first
                       : boundary->last,
              planar, at, frames);
    return STATUS_OK;
}

static enum status read_beyond(struct boundary_source *boundary, real *const *planar, size_t at,
                               size_t frames)
{
    if (boundary->boundary == BOUNDARY_REPLICATE)
        return repeat_end(boundary, planar, at, frames);
    if (boundary->boundary != BOUNDARY_ZERO && boundary->length > 0)
        return read_moved(boundary, planar, at, frames);
    fill_with(boundary, NULL, planar, at, frames);
    return STATUS_OK;
}

static enum status boundary_read(struct source *source, real *const *planar, size_t frames,
                                 size_t *got)
{
    struct boundary_source *boundary = (struct boundary_source *)source;
    for (*got = 0; *got < frames;) {
        uint64_t position = boundary->position, begin = boundary->before;
        uint64_t end = boundary->length_known ? begin + boundary->length : UINT64_MAX;
        bool inside = position >= begin && position < end;
        uint64_t limit = inside ? end : position < begin ? begin : end + boundary->after;
        if (position == limit)
            return STATUS_OK;
        size_t done = frames - *got;
        if (limit - position < done)
            done = (size_t)(limit - position);
        TRY(inside ? read_middle(boundary, planar, *got, done, &done)
                   : read_beyond(boundary, planar, *got, done));
        boundary->position += done;
        *got += done;
    }
    return STATUS_OK;
}

static const struct source_kind boundary_source_kind = {.REAL(read) = boundary_read,
                                                        .close = boundary_close};

enum status REAL(source_open_boundary)(struct source *inner, enum boundary policy, uint64_t before,
                                       uint64_t after, struct source **result)
{
    struct boundary_source *boundary = calloc(1, sizeof *boundary);
    if (!boundary) {
        source_close(inner);
        return fail_memory("the sound's boundaries");
    }
    boundary->inner = inner;
    boundary->source = *inner;
    boundary->source.traits = (struct sound_traits){0}; /* the inner source owns its traits */
    boundary->source.kind = &boundary_source_kind;
    boundary->source.seekable = false;
    boundary->boundary = policy;
    boundary->before = before;
    boundary->after = after;
    boundary->length = inner->frames == FRAMES_UNKNOWN ? 0 : (uint64_t)inner->frames;
    boundary->length_known = inner->frames != FRAMES_UNKNOWN;
    if (boundary->length_known)
        boundary->source.frames += (int64_t)(before + after);
    boundary->first = calloc(inner->format.channels, sizeof(real));
    boundary->last = calloc(inner->format.channels, sizeof(real));
    enum status status = STATUS_OK;
    if (!boundary->first || !boundary->last)
        status = fail_memory("the sound's boundaries");
    else if (policy >= BOUNDARY_REFLECT && !(inner->seekable && boundary->length_known))
        status = fail(CAUSE_USAGE,
                      "--edge reflect and wrap need a seekable sound, and %s is not; "
                      "save it to a WAV file first",
                      inner->name);
    if (status != STATUS_OK)
        boundary_close(&boundary->source);
    else
        *result = &boundary->source;
    return status;
}
