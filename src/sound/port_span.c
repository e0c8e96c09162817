/* A part of a sound, of which nothing else is read where the sound can seek. */
#include "base/stop.h"
#include "sound/port.h"

#include <math.h>
#include <stdlib.h>

enum { SKIPPED = 1 << 14 }; /* frames read at a time on the way to the part */

/* By that many seconds manifests may exceed their recordings: times are rounded there. */
static const double ROUNDED = 0.025;

struct sound_span {
    struct source source;
    struct source *inner;
    uint64_t from, frames, position;
    bool is_open;                   /* its end is that of the sound */
    uint64_t may_lack;              /* frames at its end */
    struct block_in_double skipped; /* on the way to it, without a seek */
};

static void span_close(struct source *source)
{
    struct sound_span *span = (struct sound_span *)source;
    block_free_in_double(&span->skipped);
    source_close(span->inner);
    free(span);
}

static enum status refuse_end(const struct sound_span *span, uint64_t frames)
{
    double rate = span->source.format.rate;
    if (span->is_open)
        return fail(
            CAUSE_OTHER,
            "cannot begin at %.9g s of %s: it has %.9g s; correct --start, or what lists it",
            (double)span->from / rate, span->source.name, (double)frames / rate);
    return fail(CAUSE_OTHER,
                "cannot take %.9g s from %.9g s on of %s: it has %.9g s; correct --start and "
                "--duration or --end, or what lists them",
                (double)span->frames / rate, (double)span->from / rate, span->source.name,
                (double)frames / rate);
}

/* After what was read from the sound: `want` at most, `got`. */
static enum status advance(struct sound_span *span, size_t want, size_t got)
{
    span->position += got;
    uint64_t missing = span->is_open ? 0 : span->frames - span->position;
    return got < want && missing > span->may_lack ? refuse_end(span, span->from + span->position)
                                                  : STATUS_OK;
}

static size_t wanted(const struct sound_span *span, size_t frames)
{
    uint64_t left = span->frames - span->position;
    return span->is_open || frames < left ? frames : (size_t)left;
}

static enum status span_read(struct source *source, float *const *planar, size_t frames,
                             size_t *got)
{
    struct sound_span *span = (struct sound_span *)source;
    size_t want = wanted(span, frames);
    TRY(source_read(span->inner, planar, want, got));
    return advance(span, want, *got);
}

static enum status span_read_in_double(struct source *source, double *const *planar, size_t frames,
                                       size_t *got)
{
    struct sound_span *span = (struct sound_span *)source;
    size_t want = wanted(span, frames);
    TRY(source_read_in_double(span->inner, planar, want, got));
    return advance(span, want, *got);
}

static enum status span_seek(struct source *source, uint64_t frame)
{
    struct sound_span *span = (struct sound_span *)source;
    TRY(source_seek(span->inner, span->from + frame));
    span->position = frame;
    return STATUS_OK;
}

static const struct source_kind span_kind = {.read = span_read,
                                             .read_in_double = span_read_in_double,
                                             .seek = span_seek,
                                             .close = span_close};

/* To the part, of a sound that does not seek; its samples may be beyond single precision. */
static enum status skip(struct sound_span *span)
{
    struct block_in_double *block = &span->skipped;
    TRY(block_init_in_double(block, span->source.format.channels, SKIPPED, "reading"));
    for (uint64_t done = 0; done < span->from;) {
        size_t part = span->from - done < SKIPPED ? (size_t)(span->from - done) : SKIPPED, got;
        if (stop_requested())
            return STATUS_INTERRUPTED;
        TRY(source_read_in_double(span->inner, block->data, part, &got));
        done += got;
        if (got < part)
            return refuse_end(span, done);
    }
    return STATUS_OK;
}

/* Against the sound's length, where that is known. */
static enum status check_end(struct sound_span *span, int64_t frames)
{
    uint64_t length = (uint64_t)frames;
    if (frames == FRAMES_UNKNOWN)
        return STATUS_OK;
    bool is_inside = span->from < length || (span->from == length && length == 0 && span->is_open);
    if (!is_inside || (!span->is_open && span->frames > length - span->from + span->may_lack))
        return refuse_end(span, length);
    if (span->is_open || span->frames > length - span->from)
        span->frames = length - span->from;
    span->is_open = false;
    span->source.frames = (int64_t)span->frames;
    return STATUS_OK;
}

/* A product that is off by what decimals and products are rounded is still a half. */
uint64_t sound_part_frames(double seconds, double rate)
{
    static const double exact = 1e8; /* parts of a frame */
    return (uint64_t)floor(rint(seconds * rate * exact) / exact + 0.5);
}

enum status source_open_span(struct source *inner, const struct sound_part *part,
                             struct source **result)
{
    struct sound_span *span = calloc(1, sizeof *span);
    if (!span) {
        source_close(inner);
        return fail_memory("reading");
    }
    double rate = inner->format.rate;
    span->source = *inner;
    span->source.kind = &span_kind;
    span->source.frames = FRAMES_UNKNOWN;
    span->inner = inner;
    uint64_t end = sound_part_frames(part->end, rate);
    span->from = sound_part_frames(part->start, rate);
    span->frames = part->duration > 0 ? sound_part_frames(part->duration, rate)
                   : end > span->from ? end - span->from
                                      : 0;
    span->is_open = part->duration == 0 && part->end == 0;
    span->may_lack = (uint64_t)(ROUNDED * rate);
    enum status status = STATUS_OK;
    if (!span->is_open && span->frames == 0)
        status =
            fail(CAUSE_OTHER, "cannot take %.9g s of %s: that is less than a frame at %.0f Hz",
                 part->duration > 0 ? part->duration : part->end - part->start, inner->name, rate);
    if (status == STATUS_OK)
        status = check_end(span, inner->frames);
    span->source.seekable = inner->seekable && span->source.frames != FRAMES_UNKNOWN;
    if (status == STATUS_OK && span->from > 0)
        status = inner->seekable ? source_seek(inner, span->from) : skip(span);
    if (status == STATUS_OK)
        *result = &span->source;
    else
        span_close(&span->source);
    return status;
}
