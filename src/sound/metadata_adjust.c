/* What a filtered sound makes untrue of what was said about it. */
#include "sound/metadata.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char changed[] = "the sound changed";
static const char before[] = "it is before the part that was taken";
static const char other_loops[] = "loops are kept by whole sounds through gains alone";
static const char beyond[] = "it is after the end of the sound";

/* ---- tags ---- */

static bool is_about_level(const char *name)
{
    static const char *const prefixes[] = {
        "REPLAYGAIN_", "R128_",  "MP3GAIN_", "LOUDNESS",         "ITUNNORM",
        "ITUNSMPB",    "LENGTH", "TLEN",     "COMMENT:ITUNNORM", "COMMENT:ITUNSMPB",
    };
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    return false;
}

static enum status drop_levels(struct sound_metadata *metadata)
{
    for (size_t i = metadata->text_count; i-- > 0;) {
        if (!is_about_level(metadata->texts[i].name))
            continue;
        TRY(metadata_lose(metadata, changed, "%s", metadata->texts[i].name));
        metadata_remove_text(metadata, i);
    }
    return STATUS_OK;
}

/* The sink says again which speakers the channels are for (channel_order.h). */
static void drop_layout(struct sound_metadata *metadata)
{
    for (size_t i = metadata->text_count; i-- > 0;)
        if (strcmp(metadata->texts[i].name, METADATA_CHANNEL_MASK) == 0)
            metadata_remove_text(metadata, i);
}

/* ---- markers ---- */

static uint64_t at_rate(uint64_t frames, const struct metadata_change *change)
{
    if (change->rate == change->rate_in)
        return frames;
    double moved = rint((double)frames * change->rate / change->rate_in);
    return moved < 0x1p64 ? (uint64_t)moved : UINT64_MAX; /* a damaged file marks any frame */
}

static enum status shift_markers(struct sound_metadata *metadata,
                                 const struct metadata_change *change)
{
    for (size_t i = metadata->marker_count; i-- > 0;) {
        struct metadata_marker *marker = &metadata->markers[i];
        if (marker->frame >= change->start) {
            uint64_t from = marker->frame - change->start;
            marker->frame = at_rate(from, change);
            marker->length = at_rate(from + marker->length, change) - marker->frame;
        } else {
            TRY(metadata_lose(metadata, before, "marker %u", marker->id));
            metadata_remove_marker(metadata, i);
        }
    }
    return STATUS_OK;
}

static enum status clip_markers(struct sound_metadata *metadata, uint64_t frames)
{
    for (size_t i = metadata->marker_count; i-- > 0;) {
        struct metadata_marker *marker = &metadata->markers[i];
        if (marker->frame > frames) {
            TRY(metadata_lose(metadata, beyond, "marker %u", marker->id));
            metadata_remove_marker(metadata, i);
        } else if (marker->length > frames - marker->frame) {
            marker->length = frames - marker->frame;
            TRY(metadata_move(metadata, "a region that ended after the sound"));
        }
    }
    return STATUS_OK;
}

/* Regions of CAF say whether they are loops. */
static enum status drop_loops(struct sound_metadata *metadata)
{
    size_t lost = 0;
    for (size_t i = 0; i < metadata->marker_count; i++) {
        lost += metadata->markers[i].flags != 0;
        metadata->markers[i].flags = 0;
    }
    return lost == 0
               ? STATUS_OK
               : metadata_lose(metadata, other_loops, "%zu loop%s", lost, lost > 1 ? "s" : "");
}

/* ---- a broadcast WAV: EBU Tech 3285 ---- */

enum {
    BEXT_LEAST = 602,
    BEXT_TIME = 338, /* of the first sample since midnight, in samples: 8 bytes */
    BEXT_VERSION = 346,
    BEXT_LOUDNESS = 412, /* five numbers of two bytes, from version 2 on */
    BEXT_LOUDNESS_END = 422,
};

/* 0x7FFF says that a value is not given. */
static enum status clear_loudness(struct sound_metadata *metadata, struct metadata_chunk *bext)
{
    bool was_given = false;
    if (metadata_little(bext->bytes + BEXT_VERSION, 2) < 2)
        return STATUS_OK;
    for (size_t at = BEXT_LOUDNESS; at < BEXT_LOUDNESS_END; at += 2) {
        was_given |= metadata_little(bext->bytes + at, 2) != 0x7FFF;
        memcpy(bext->bytes + at, "\xFF\x7F", 2);
    }
    return was_given ? metadata_lose(metadata, changed, "loudness in bext") : STATUS_OK;
}

/* EBU R98: what was done, in the order of time. */
static enum status add_history(struct metadata_chunk *bext, const struct metadata_change *change)
{
    static const char *const modes[] = {"", ",M=mono", ",M=stereo"};
    char line[160];
    int length =
        snprintf(line, sizeof line, "A=%s,F=%u,W=%u%s,T=%s\r\n", change->bytes ? "PCM" : "ANALOGUE",
                 change->rate, change->bits ? change->bits : 8 * change->bytes,
                 modes[change->channels <= 2 ? change->channels : 0], change->maker);
    size_t text = strnlen((char *)bext->bytes + BEXT_LEAST, bext->size - BEXT_LEAST);
    size_t size = BEXT_LEAST + text;
    unsigned char *more = realloc(bext->bytes, size + 2 + (size_t)length + 1);
    if (!more)
        return fail_memory("tags");
    bext->bytes = more;
    if (text > 0 && more[size - 1] != '\n') {
        more[size++] = '\r';
        more[size++] = '\n';
    }
    memcpy(more + size, line, (size_t)length + 1);
    bext->size = size + (size_t)length;
    return STATUS_OK;
}

static enum status adjust_bext(struct sound_metadata *metadata, struct metadata_chunk *bext,
                               const struct metadata_change *change)
{
    uint64_t time = metadata_little(bext->bytes + BEXT_TIME, 8) + change->start;
    metadata_put_little(&(struct metadata_buffer){.bytes = bext->bytes + BEXT_TIME, .capacity = 8},
                        at_rate(time, change), 8);
    TRY(clear_loudness(metadata, bext));
    return change->bytes > 0 ? add_history(bext, change) : STATUS_OK;
}

/* ---- chunks ---- */

static const struct {
    enum metadata_family family;
    const char *id;
    /* NULL: it describes the samples that were, and is dropped. */
    enum status (*adjust)(struct sound_metadata *metadata, struct metadata_chunk *chunk,
                          const struct metadata_change *change);
    bool of_channels; /* it is true of as many channels as there were */
    bool of_loops;    /* it stays with change->keeps_loops */
} rules[] = {
    {FAMILY_RIFF, "bext", .adjust = adjust_bext},
    {FAMILY_RIFF, "smpl", .of_loops = true},
    {FAMILY_RIFF, "inst", .of_loops = true},
    {FAMILY_AIFF, "INST", .of_loops = true},
    {FAMILY_CAF, "inst", .of_loops = true},
    {FAMILY_RIFF, "MD5 ", .adjust = NULL},
    {FAMILY_RIFF, "levl", .adjust = NULL},
    {FAMILY_RIFF, "R64M", .adjust = NULL},
    {FAMILY_CAF, "ovvw", .adjust = NULL},
    /* ITU-R BS.2088: which object of a scene each channel is for, and the scene. */
    {FAMILY_RIFF, "chna", .of_channels = true},
    {FAMILY_RIFF, "axml", .of_channels = true},
    {FAMILY_RIFF, "bxml", .of_channels = true},
};

static enum status adjust_chunk(struct sound_metadata *metadata, size_t index,
                                const struct metadata_change *change)
{
    struct metadata_chunk *chunk = &metadata->chunks[index];
    if (memcmp(chunk->id, "bext", 4) == 0 && chunk->size < BEXT_LEAST) { /* ffmpeg opens no such */
        TRY(metadata_lose(metadata, metadata_damaged, "bext"));
        metadata_remove_chunk(metadata, index);
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (rules[i].family != chunk->family || memcmp(rules[i].id, chunk->id, 4) != 0)
            continue;
        if (rules[i].adjust)
            return rules[i].adjust(metadata, chunk, change);
        if ((rules[i].of_channels && change->channels == change->inputs) ||
            (rules[i].of_loops && change->keeps_loops))
            return STATUS_OK;
        TRY(metadata_lose(metadata, rules[i].of_loops ? other_loops : changed, "%s", rules[i].id));
        metadata_remove_chunk(metadata, index);
        return STATUS_OK;
    }
    return STATUS_OK;
}

enum status metadata_adjust(struct sound_metadata *metadata, const struct metadata_change *change)
{
    if (metadata->cut)
        TRY(metadata_lose(metadata, "it is cut short, or more than halo reads", "some of it"));
    drop_layout(metadata);
    TRY(drop_levels(metadata));
    TRY(shift_markers(metadata, change));
    if (!change->keeps_loops)
        TRY(drop_loops(metadata));
    for (size_t i = metadata->chunk_count; i-- > 0;)
        TRY(adjust_chunk(metadata, i, change));
    return change->frames >= 0 ? clip_markers(metadata, (uint64_t)change->frames) : STATUS_OK;
}
