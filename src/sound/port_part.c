/* Sources of a part of a sound: some of its channels in any order, or a span of time. */
#include "base/plural.h"
#include "base/stop.h"
#include "sound/port.h"

#include <math.h>
#include <stdlib.h>

/* ---- channels ---- */

struct sound_channels {
    struct source source;
    struct source *inner;
    /* row for each channel of the sound; rows after the chosen channels are in `unused` */
    size_t *rows;
    struct block unused; /* rows for channels that were not chosen */
    struct block_in_double unused_in_double;
};

static void channels_close(struct source *source)
{
    struct sound_channels *channels = (struct sound_channels *)source;
    block_free(&channels->unused);
    block_free_in_double(&channels->unused_in_double);
    source_close(channels->inner);
    free(channels->rows);
    free(channels);
}

static size_t unused_count(const struct sound_channels *channels)
{
    return channels->inner->format.channels - channels->source.format.channels;
}

static enum status channels_read(struct source *source, float *const *planar, size_t frames,
                                 size_t *got)
{
    struct sound_channels *channels = (struct sound_channels *)source;
    size_t chosen = source->format.channels, all = channels->inner->format.channels;
    float *rows[all];
    if (frames > channels->unused.frames && unused_count(channels) > 0) {
        block_free(&channels->unused);
        TRY(block_init_unset(&channels->unused, unused_count(channels), frames, "reading"));
    }
    for (size_t c = 0; c < all; c++)
        rows[c] = channels->rows[c] < chosen ? planar[channels->rows[c]]
                                             : channels->unused.data[channels->rows[c] - chosen];
    return source_read(channels->inner, rows, frames, got);
}

static enum status channels_read_in_double(struct source *source, double *const *planar,
                                           size_t frames, size_t *got)
{
    struct sound_channels *channels = (struct sound_channels *)source;
    struct block_in_double *unused = &channels->unused_in_double;
    size_t chosen = source->format.channels, all = channels->inner->format.channels;
    double *rows[all];
    if (frames > unused->frames && unused_count(channels) > 0) {
        block_free_in_double(unused);
        TRY(block_init_unset_in_double(unused, unused_count(channels), frames, "reading"));
    }
    for (size_t c = 0; c < all; c++)
        rows[c] = channels->rows[c] < chosen ? planar[channels->rows[c]]
                                             : unused->data[channels->rows[c] - chosen];
    return source_read_in_double(channels->inner, rows, frames, got);
}

static enum status channels_seek(struct source *source, uint64_t frame)
{
    return source_seek(((struct sound_channels *)source)->inner, frame);
}

static const struct source_kind channels_kind = {.read = channels_read,
                                                 .read_in_double = channels_read_in_double,
                                                 .seek = channels_seek,
                                                 .close = channels_close};

/* The layout of the chosen channels; unknown unless they are in the order of the sound. A single
 * channel gets the layout that one channel implies. */
static struct channel_layout layout_of(const size_t *numbers, size_t count,
                                       struct channel_layout whole)
{
    struct channel_layout layout = {0};
    size_t channel = 0;
    if (count == 1 || whole.ambisonic != AMBISONIC_NONE)
        return channel_layout_implied(count == 1 ? 1 : 0);
    for (size_t i = 0; i < count; i++)
        if (numbers[i] > channel_layout_count(whole) || (i > 0 && numbers[i] <= numbers[i - 1]))
            return layout;
    for (uint32_t rest = whole.speakers; rest; rest &= rest - 1) {
        channel++;
        for (size_t i = 0; i < count; i++)
            layout.speakers |= numbers[i] == channel ? rest & -rest : 0;
    }
    return layout;
}

/* Give each chosen channel its row, and the others the rows after these. */
static enum status choose(const size_t *numbers, size_t count, struct sound_channels *channels)
{
    size_t all = channels->inner->format.channels, next = count;
    for (size_t c = 0; c < all; c++)
        channels->rows[c] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (numbers[i] == 0 || numbers[i] > all)
            return fail(CAUSE_USAGE, "%s has no channel %zu: it has %zu channel%s",
                        channels->source.name, numbers[i], all, plural_s(all));
        if (channels->rows[numbers[i] - 1] != SIZE_MAX)
            return fail(CAUSE_USAGE, "--channel has channel %zu twice", numbers[i]);
        channels->rows[numbers[i] - 1] = i;
    }
    for (size_t c = 0; c < all; c++)
        if (channels->rows[c] == SIZE_MAX)
            channels->rows[c] = next++;
    return STATUS_OK;
}

enum status source_open_channels(struct source *inner, const size_t *numbers, size_t count,
                                 struct source **result)
{
    struct sound_channels *channels = calloc(1, sizeof *channels);
    if (!channels) {
        source_close(inner);
        return fail_memory("reading");
    }
    channels->source = *inner;
    channels->source.kind = &channels_kind;
    channels->inner = inner;
    channels->rows = calloc(inner->format.channels, sizeof *channels->rows);
    enum status status = channels->rows ? choose(numbers, count, channels) : fail_memory("reading");
    if (status != STATUS_OK) {
        channels_close(&channels->source);
        return status;
    }
    channels->source.format.channels = count;
    channels->source.format.layout = layout_of(numbers, count, inner->format.layout);
    *result = &channels->source;
    return STATUS_OK;
}

/* ---- time ---- */

enum { SKIPPED = 1 << 14 }; /* frames read at a time on the way to the part */

/* Seconds by which a manifest may exceed its recording, since manifests round times. */
static const double ROUNDED = 0.025;

struct sound_span {
    struct source source;
    struct source *inner;
    uint64_t from, frames, position;
    bool is_open;      /* the part goes on to the end of the sound */
    uint64_t may_lack; /* frames that may be missing at the end of the part */
    /* frames read on the way to the part, if the sound cannot seek */
    struct block_in_double skipped;
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
            "cannot begin at %.9g s of %s: it has %.9g s; correct --start, or the list that names "
            "it",
            (double)span->from / rate, span->source.name, (double)frames / rate);
    return fail(
        CAUSE_OTHER,
        "cannot take %.9g s from %.9g s on of %s: it has %.9g s; correct --start and --duration "
        "or --end, or the list that names them",
        (double)span->frames / rate, (double)span->from / rate, span->source.name,
        (double)frames / rate);
}

/* Count `got` frames that were read, of `want` wanted, and check the end of the part. */
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

/* Read up to the part, in a sound that cannot seek; in double, as samples may exceed single. */
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

/* Check the part's end against the sound's length, if known. */
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

/* Products within 1 / `exact` of a half count as one, since decimals and products are rounded. */
uint64_t sound_part_frames(double seconds, double rate)
{
    static const double exact = 1e8; /* fractions of a frame */
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
