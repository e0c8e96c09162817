/* Finds metadata in sound files: walks the chunks of those that are made of chunks. */
#include "sound/metadata.h"

#include <stdlib.h>
#include <string.h>

/* Containers made of chunks: a name, a size, content, padding. */
struct chunk_walk_layout {
    char magic[5];
    char form[5]; /* of the file, at byte 8, or any (empty) */
    enum metadata_family family;
    bool big_endian;
    uint8_t first; /* offset of the first chunk */
    uint8_t size_at, size_bytes;
    uint8_t header;  /* bytes before the content */
    uint8_t counted; /* of these, included in the size */
    uint8_t align;
};

static const struct chunk_walk_layout layouts[] = {
    {"RIFF", "WAVE", FAMILY_RIFF, false, 12, 4, 4, 8, 0, 2},
    {"RF64", "WAVE", FAMILY_RIFF, false, 12, 4, 4, 8, 0, 2},
    {"RIFX", "WAVE", FAMILY_RIFF, true, 12, 4, 4, 8, 0, 2},
    {"FORM", "AIFF", FAMILY_AIFF, true, 12, 4, 4, 8, 0, 2},
    {"FORM", "AIFC", FAMILY_AIFF, true, 12, 4, 4, 8, 0, 2},
    {"riff", "", FAMILY_W64, false, 40, 16, 8, 24, 24, 8},
    {"caff", "", FAMILY_CAF, true, 8, 4, 8, 12, 0, 1},
};

enum { CHUNKS_MOST = 1 << 16 };

struct walk {
    struct metadata_bytes *bytes;
    const struct chunk_walk_layout *layout;
    struct sound_metadata *metadata;
    uint64_t data_size; /* of an RF64 */
};

static bool wants(const struct walk *walk, const unsigned char *id)
{
    const char *letters = (const char *)id;
    switch (walk->layout->family) {
    case FAMILY_AIFF:
        return metadata_wants_aiff(letters);
    case FAMILY_CAF:
        return metadata_wants_caf(letters);
    default:
        return metadata_wants_riff(letters);
    }
}

static enum status parse_chunk(struct walk *walk, const unsigned char *id, uint64_t at,
                               uint64_t size)
{
    const char *letters = (const char *)id;
    unsigned char *bytes;
    if (!wants(walk, id))
        return STATUS_OK;
    TRY(metadata_copy(walk->metadata, walk->bytes, at, size, &bytes));
    if (!bytes)
        return STATUS_OK;
    enum status status = STATUS_OK;
    size_t count = (size_t)size;
    if (walk->layout->family == FAMILY_AIFF)
        status = metadata_parse_aiff(walk->metadata, letters, bytes, count);
    else if (walk->layout->family == FAMILY_CAF)
        status = metadata_parse_caf(walk->metadata, letters, bytes, count);
    else if (walk->layout->family == FAMILY_W64)
        status = metadata_parse_w64(walk->metadata, id, bytes, count);
    else
        status =
            metadata_parse_riff(walk->metadata, letters, walk->layout->big_endian, bytes, count);
    free(bytes);
    return status;
}

/* The size of a chunk's content; false: it cannot be. */
static bool content_size(const struct walk *walk, const unsigned char *header, uint64_t at,
                         uint64_t *size)
{
    const struct chunk_walk_layout *layout = walk->layout;
    *size = (layout->big_endian ? metadata_big : metadata_little)(header + layout->size_at,
                                                                  layout->size_bytes);
    bool is_data = memcmp(header, "data", 4) == 0;
    if (is_data && layout->size_bytes == 4 && *size == UINT32_MAX)
        *size = walk->data_size;
    if (*size < layout->counted)
        return false;
    *size -= layout->counted;
    return *size <= walk->bytes->size - at; /* a stream's, too: the last one, of any size */
}

static enum status walk_chunks(struct walk *walk)
{
    const struct chunk_walk_layout *layout = walk->layout;
    unsigned char header[24] = {0}, size_64[8];
    uint64_t at = layout->first, size = 0;
    for (size_t i = 0; i < CHUNKS_MOST; i++) {
        if (!metadata_bytes_at(walk->bytes, at, header, layout->header))
            return STATUS_OK;
        if (!content_size(walk, header, at + layout->header, &size)) {
            walk->metadata->cut |= wants(walk, header);
            return STATUS_OK;
        }
        at += layout->header;
        if (layout->size_bytes == 4 && memcmp(header, "ds64", 4) == 0 &&
            metadata_bytes_at(walk->bytes, at + 8, size_64, sizeof size_64))
            walk->data_size = metadata_little(size_64, sizeof size_64);
        TRY(parse_chunk(walk, header, at, size));
        at += (size + layout->align - 1) / layout->align * layout->align;
    }
    walk->metadata->cut = true;
    return STATUS_OK;
}

static void remove_unplaced(struct sound_metadata *metadata)
{
    for (size_t i = metadata->marker_count; i-- > 0;)
        if (!metadata->markers[i].placed)
            metadata_remove_marker(metadata, i);
}

static const struct chunk_walk_layout *layout_of(const unsigned char *head)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (memcmp(head, layouts[i].magic, 4) == 0 &&
            (!*layouts[i].form || memcmp(head + 8, layouts[i].form, 4) == 0))
            return &layouts[i];
    return NULL;
}

enum status metadata_read(struct metadata_bytes *bytes, struct sound_metadata *metadata,
                          bool *known)
{
    unsigned char head[12];
    *known = true;
    if (!metadata_bytes_at(bytes, 0, head, sizeof head))
        return STATUS_OK;
    enum status status = STATUS_OK;
    struct walk walk = {.bytes = bytes, .layout = layout_of(head), .metadata = metadata};
    if (walk.layout) {
        metadata->origin = walk.layout->family == FAMILY_W64 ? FAMILY_RIFF : walk.layout->family;
        status = walk_chunks(&walk);
    } else if (memcmp(head, "fLaC", 4) == 0) {
        status = metadata_read_flac(bytes, 4, metadata);
    } else if (memcmp(head, "OggS", 4) == 0) {
        status = metadata_read_ogg(bytes, metadata);
    } else {
        status = metadata_read_mp3(bytes, head, metadata, known);
    }
    remove_unplaced(metadata);
    return status;
}
