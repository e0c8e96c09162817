/* Finds metadata in sound files. Walks the chunks of files that have chunks. */
#include "base/plural.h"
#include "sound/metadata/metadata.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNKS_MOST = 1 << 16 };

struct walk {
    struct sound_chunks chunks;
    enum metadata_family family;
    struct sound_metadata *metadata;
    bool is_file;  /* the walk began at the file's first chunk */
    bool is_after; /* the walk has passed the samples */
};

const struct metadata_form *const metadata_forms[] = {
    [FAMILY_RIFF] = &metadata_form_riff, [FAMILY_RF64] = &metadata_form_riff,
    [FAMILY_W64] = &metadata_form_w64,   [FAMILY_AIFF] = &metadata_form_aiff,
    [FAMILY_CAF] = &metadata_form_caf,
};

static enum metadata_family family_of(const struct chunk_layout *layout)
{
    for (enum metadata_family i = FAMILY_W64; i <= FAMILY_CAF; i++)
        if (strcmp(metadata_forms[i]->magic, layout->magic) == 0)
            return i;
    return FAMILY_RIFF;
}

static bool wants(const struct walk *walk, const struct sound_chunk *chunk)
{
    return metadata_forms[walk->family]->wants((const char *)chunk->id);
}

static enum status parse_chunk(struct walk *walk, const struct sound_chunk *chunk)
{
    unsigned char *bytes;
    if (!wants(walk, chunk))
        return STATUS_OK;
    TRY(metadata_copy(walk->metadata, walk->chunks.bytes, chunk->content, chunk->size, &bytes));
    if (!bytes)
        return STATUS_OK;
    enum status status = metadata_forms[walk->family]->parse(
        walk->metadata, (const char *)chunk->id, walk->chunks.layout->big_endian, bytes,
        (size_t)chunk->size);
    free(bytes);
    return status;
}

/* End a walk. Bytes that are left at the end are no chunk; the file may be truncated. */
static enum status end_walk(struct walk *walk)
{
    const struct chunk_layout *layout = walk->chunks.layout;
    struct sound_bytes *bytes = walk->chunks.bytes;
    unsigned char rest[24];
    uint64_t at = walk->chunks.at, whole, size = bytes->size;
    size_t left = at < size ? (size_t)(size - at) : 0;
    if (left >= sizeof rest) /* the bytes are a chunk that could not be read */
        return STATUS_OK;
    if (left > 0 && sound_bytes_read(bytes, at, rest, left) && !metadata_is_zero(rest, left))
        TRY(metadata_leave(walk->metadata, metadata_unknown, "%zu byte%s at the end", left,
                           plural_s(left)));
    if (!walk->is_file || layout->whole_bytes == 0 ||
        !sound_bytes_number(bytes, layout->whole_at, layout->whole_bytes, &whole))
        return STATUS_OK;
    walk->metadata->cut |= !sound_size_is_made_up(whole, walk->chunks.frame) &&
                           whole + layout->whole_less > size + layout->header;
    return STATUS_OK;
}

static enum status walk_chunks(struct walk *walk)
{
    struct sound_chunk chunk;
    for (size_t i = 0; i < CHUNKS_MOST; i++) {
        if (!sound_chunks_next(&walk->chunks, &chunk))
            return end_walk(walk);
        if (sound_chunk_is_open(&walk->chunks, &chunk))
            return STATUS_OK;
        if (chunk.is_data && walk->is_after)
            TRY(metadata_leave(walk->metadata, "the sound is that of the first",
                               "another chunk of samples"));
        walk->is_after |= chunk.is_data;
        /* The last chunk of a stream may claim any size. */
        if (chunk.is_absurd || chunk.size > walk->chunks.bytes->size - chunk.content) {
            walk->metadata->cut |= wants(walk, &chunk);
            return STATUS_OK;
        }
        TRY(parse_chunk(walk, &chunk));
    }
    walk->metadata->cut = true;
    return STATUS_OK;
}

enum status metadata_remove_unplaced(struct sound_metadata *metadata)
{
    for (size_t i = metadata->marker_count; i-- > 0;) {
        if (metadata->markers[i].placed)
            continue;
        TRY(metadata_leave(metadata, "there is no marker of that number", "a text of marker %u",
                           metadata->markers[i].id));
        metadata_remove_marker(metadata, i);
    }
    return STATUS_OK;
}

/* Read the text between the header and the samples of an AU. */
static enum status read_au(struct sound_bytes *bytes, struct sound_metadata *metadata)
{
    enum { HEADER = 24 };
    uint64_t samples, size;
    unsigned char *text;
    if (!sound_bytes_number(bytes, 4, 4, &samples) || !sound_bytes_number(bytes, 8, 4, &size))
        return STATUS_OK;
    if (bytes->fd >= 0 && size > 0 && samples + size < bytes->size)
        TRY(metadata_leave(metadata, metadata_unknown, "%" PRIu64 " bytes at the end",
                           bytes->size - samples - size));
    if (samples <= HEADER)
        return STATUS_OK;
    TRY(metadata_copy(metadata, bytes, HEADER, samples - HEADER, &text));
    bool has_text = text && !metadata_is_zero(text, (size_t)(samples - HEADER));
    free(text);
    return has_text ? metadata_leave(metadata, metadata_unknown, "the annotation") : STATUS_OK;
}

/* Name tags after the sound as losses. read: an ID3v1 tag at the end of the file was read. */
static enum status name_tags_at_end(struct sound_bytes *bytes, bool read,
                                    struct sound_metadata *metadata)
{
    enum { APE = 32, ID3V1 = 128, TAGS_MOST = 4 };
    uint64_t end = bytes->fd >= 0 ? bytes->size : 0;
    unsigned char tag[APE];
    for (int i = 0; i < TAGS_MOST; i++) {
        if (end >= ID3V1 && sound_bytes_read(bytes, end - ID3V1, tag, 3) &&
            memcmp(tag, "TAG", 3) == 0) {
            if (!read || end < bytes->size)
                TRY(metadata_leave(metadata, metadata_unknown, "an ID3 tag at the end"));
            end -= ID3V1;
        } else if (end >= APE && sound_bytes_read(bytes, end - APE, tag, APE) &&
                   memcmp(tag, "APETAGEX", 8) == 0) {
            uint64_t size = metadata_little(tag + 12, 4) + (tag[23] & 0x80 ? APE : 0);
            TRY(metadata_leave(metadata, metadata_unknown, "an APE tag"));
            end = size < end ? end - size : 0;
        } else {
            break;
        }
    }
    return STATUS_OK;
}

/* ---- ID3 tags at the beginning or the end of a file: MP3, and FLAC behind one ---- */

enum { ID3_HEADER = 10, ID3_FOOTER = 0x10, ID3V1 = 128 };

/* The size of an ID3 tag at the beginning; 0: there is none. */
static uint64_t front_size(const unsigned char head[ID3_HEADER])
{
    uint64_t size = 0;
    if (memcmp(head, "ID3", 3) != 0)
        return 0;
    for (size_t i = 6; i < ID3_HEADER; i++)
        size = size << 7 | (head[i] & 0x7F);
    return size + ID3_HEADER + (head[5] & ID3_FOOTER ? ID3_HEADER : 0);
}

static enum status read_mp3(struct sound_bytes *bytes, const unsigned char head[12],
                            struct sound_metadata *metadata)
{
    uint64_t front = front_size(head);
    unsigned char *taken, magic[4], tail[ID3V1];
    if (front == 0 && (head[0] != 0xFF || (head[1] & 0xE0) != 0xE0))
        return STATUS_OK;
    TRY(metadata_copy(metadata, bytes, 0, front, &taken));
    enum status status = STATUS_OK;
    if (taken && front > 0)
        status = metadata_parse_id3(metadata, taken, (size_t)front);
    free(taken);
    bool is_flac =
        sound_bytes_read(bytes, front, magic, sizeof magic) && memcmp(magic, "fLaC", 4) == 0;
    if (status == STATUS_OK && is_flac)
        return metadata_read_flac(bytes, front + 4, metadata);
    bool has_tail = front == 0 && bytes->fd >= 0 && bytes->size > ID3V1 &&
                    sound_bytes_read(bytes, bytes->size - ID3V1, tail, sizeof tail) &&
                    memcmp(tail, "TAG", 3) == 0;
    return status == STATUS_OK && has_tail ? metadata_parse_id3(metadata, tail, sizeof tail)
                                           : status;
}

/* ---- any file ---- */

enum status metadata_read(struct sound_bytes *bytes, struct sound_metadata *metadata)
{
    unsigned char head[12];
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return STATUS_OK;
    enum status status = STATUS_OK;
    struct walk walk = {.metadata = metadata, .is_file = bytes->fd >= 0};
    bool is_little = memcmp(head, "dns.", 4) == 0;
    if (sound_chunks_begin(bytes, &walk.chunks)) {
        walk.family = family_of(walk.chunks.layout);
        metadata->origin = walk.family == FAMILY_W64 ? FAMILY_RIFF : walk.family;
        status = walk_chunks(&walk);
    } else if (memcmp(head, "fLaC", 4) == 0) {
        status = metadata_read_flac(bytes, 4, metadata);
        if (status == STATUS_OK)
            status = name_tags_at_end(bytes, false, metadata);
    } else if (memcmp(head, "OggS", 4) == 0) {
        status = metadata_read_ogg(bytes, metadata);
    } else if (is_little || memcmp(head, ".snd", 4) == 0) {
        bytes->big_endian = !is_little;
        status = read_au(bytes, metadata);
    } else {
        bool has_tag = memcmp(head, "ID3", 3) == 0;
        status = read_mp3(bytes, head, metadata);
        if (status == STATUS_OK && (has_tag || head[0] == 0xFF))
            status = name_tags_at_end(bytes, true, metadata);
    }
    return status;
}

enum status metadata_read_after(struct sound_bytes *bytes, const struct chunk_layout *layout,
                                struct sound_metadata *metadata)
{
    struct walk walk = {.chunks = {.bytes = bytes, .layout = layout},
                        .family = family_of(layout),
                        .metadata = metadata,
                        .is_after = true};
    bytes->big_endian = layout->big_endian;
    return walk_chunks(&walk);
}
