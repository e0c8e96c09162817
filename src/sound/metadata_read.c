/* Finds metadata in sound files: walks the chunks of those that are made of chunks. */
#include "sound/metadata.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNKS_MOST = 1 << 16 };

struct walk {
    struct sound_chunks chunks;
    enum metadata_family family;
    struct sound_metadata *metadata;
};

static enum metadata_family family_of(const struct chunk_layout *layout)
{
    return strcmp(layout->magic, "FORM") == 0   ? FAMILY_AIFF
           : strcmp(layout->magic, "riff") == 0 ? FAMILY_W64
           : strcmp(layout->magic, "caff") == 0 ? FAMILY_CAF
                                                : FAMILY_RIFF;
}

static bool wants(const struct walk *walk, const unsigned char *id)
{
    const char *letters = (const char *)id;
    switch (walk->family) {
    case FAMILY_AIFF:
        return metadata_wants_aiff(letters);
    case FAMILY_CAF:
        return metadata_wants_caf(letters);
    default:
        return metadata_wants_riff(letters);
    }
}

static enum status parse_chunk(struct walk *walk, const struct sound_chunk *chunk)
{
    const unsigned char *id = chunk->id;
    const char *letters = (const char *)id;
    unsigned char *bytes;
    if (!wants(walk, id))
        return STATUS_OK;
    TRY(metadata_copy(walk->metadata, walk->chunks.bytes, chunk->content, chunk->size, &bytes));
    if (!bytes)
        return STATUS_OK;
    enum status status = STATUS_OK;
    size_t count = (size_t)chunk->size;
    if (walk->family == FAMILY_AIFF)
        status = metadata_parse_aiff(walk->metadata, letters, bytes, count);
    else if (walk->family == FAMILY_CAF)
        status = metadata_parse_caf(walk->metadata, letters, bytes, count);
    else if (walk->family == FAMILY_W64)
        status = metadata_parse_w64(walk->metadata, id, bytes, count);
    else
        status = metadata_parse_riff(walk->metadata, letters, walk->chunks.layout->big_endian,
                                     bytes, count);
    free(bytes);
    return status;
}

static enum status walk_chunks(struct walk *walk)
{
    struct sound_chunk chunk;
    for (size_t i = 0; i < CHUNKS_MOST; i++) {
        if (!sound_chunks_next(&walk->chunks, &chunk))
            return STATUS_OK;
        if (sound_chunk_is_open(&walk->chunks, &chunk))
            return STATUS_OK;
        /* The last chunk of a stream may claim any size. */
        if (chunk.is_absurd || chunk.size > walk->chunks.bytes->size - chunk.content) {
            walk->metadata->cut |= wants(walk, chunk.id);
            return STATUS_OK;
        }
        TRY(parse_chunk(walk, &chunk));
    }
    walk->metadata->cut = true;
    return STATUS_OK;
}

void metadata_remove_unplaced(struct sound_metadata *metadata)
{
    for (size_t i = metadata->marker_count; i-- > 0;)
        if (!metadata->markers[i].placed)
            metadata_remove_marker(metadata, i);
}

enum status metadata_read(struct sound_bytes *bytes, struct sound_metadata *metadata)
{
    unsigned char head[12];
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return STATUS_OK;
    enum status status = STATUS_OK;
    struct walk walk = {.metadata = metadata};
    if (sound_chunks_begin(bytes, &walk.chunks)) {
        walk.family = family_of(walk.chunks.layout);
        metadata->origin = walk.family == FAMILY_W64 ? FAMILY_RIFF : walk.family;
        status = walk_chunks(&walk);
    } else if (memcmp(head, "fLaC", 4) == 0) {
        status = metadata_read_flac(bytes, 4, metadata);
    } else if (memcmp(head, "OggS", 4) == 0) {
        status = metadata_read_ogg(bytes, metadata);
    } else {
        status = metadata_read_mp3(bytes, head, metadata);
    }
    return status;
}

enum status metadata_read_after(struct sound_bytes *bytes, const struct chunk_layout *layout,
                                struct sound_metadata *metadata)
{
    struct walk walk = {.chunks = {.bytes = bytes, .layout = layout},
                        .family = family_of(layout),
                        .metadata = metadata};
    bytes->big_endian = layout->big_endian;
    return walk_chunks(&walk);
}
