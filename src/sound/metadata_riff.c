/* Metadata of WAV, RF64 and W64, which has the same chunks under longer names. */
#include "sound/metadata.h"
#include "sound/metadata_names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CUE_POINT = 24, TEXT_HEADER = 20 /* of ltxt */ };

/* The rest of a GUID that begins with a chunk's letters, and of that of lists. */
static const unsigned char guid_rest[12] = {0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1,
                                            0x00, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A};
static const unsigned char list_guid[16] = {'l',  'i',  's',  't',  0x2F, 0x91, 0xCF, 0x11,
                                            0xA5, 0xD6, 0x28, 0xDB, 0x04, 0xC1, 0x00, 0x00};

static bool is_one_of(const char *id, const char *const *ids)
{
    for (; *ids; ids++)
        if (memcmp(id, *ids, 4) == 0)
            return true;
    return false;
}

bool metadata_wants_riff(const char *id)
{
    static const char *const structure[] = {"fmt ", "data", "fact", "ds64", "JUNK",
                                            "junk", "PAD ", "FLLR", "PEAK", NULL};
    return !is_one_of(id, structure);
}

/* ---- reading ---- */

static uint32_t number(bool big_endian, const unsigned char *bytes)
{
    return (uint32_t)(big_endian ? metadata_big : metadata_little)(bytes, 4);
}

static enum status parse_cue(struct sound_metadata *metadata, bool big_endian,
                             const unsigned char *bytes, size_t size)
{
    size_t at = 4;
    for (; size >= CUE_POINT && at <= size - CUE_POINT; at += CUE_POINT) {
        struct metadata_marker *marker;
        TRY(metadata_place_marker(metadata, number(big_endian, bytes + at),
                                  number(big_endian, bytes + at + 20), &marker));
    }
    return at == size && number(big_endian, bytes) == size / CUE_POINT
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of the cue points");
}

static enum status parse_region(struct sound_metadata *metadata, bool big_endian,
                                const unsigned char *bytes, size_t size,
                                struct metadata_marker *marker)
{
    uint32_t length = number(big_endian, bytes + 4);
    if (marker->text &&
        (marker->length != length || memcmp(marker->kind, bytes + 8, sizeof marker->kind) != 0))
        return metadata_leave(metadata, metadata_twice, "a region of marker %u", marker->id);
    marker->length = length;
    memcpy(marker->kind, bytes + 8, sizeof marker->kind);
    return metadata_set(metadata, marker, &marker->text, bytes + TEXT_HEADER, size - TEXT_HEADER);
}

static enum status parse_label(struct sound_metadata *metadata, bool big_endian,
                               const unsigned char *id, const unsigned char *bytes, size_t size)
{
    struct metadata_marker *marker;
    const char *text = (const char *)bytes + 4;
    bool is_region = memcmp(id, "ltxt", 4) == 0;
    if (size < (is_region ? TEXT_HEADER : 4))
        return metadata_leave(metadata, metadata_damaged, "%.4s of a list", id);
    TRY(metadata_add_marker(metadata, number(big_endian, bytes), &marker));
    if (is_region)
        return parse_region(metadata, big_endian, bytes, size, marker);
    char **place = memcmp(id, "labl", 4) == 0 ? &marker->label : &marker->note;
    return metadata_set(metadata, marker, place, text, size - 4);
}

static enum status parse_info(struct sound_metadata *metadata, const unsigned char *id,
                              const unsigned char *bytes, size_t size)
{
    const char *letters = (const char *)id, *name = metadata_name_of("INFO", letters, 4);
    for (size_t i = 0; i < 4; i++)
        if (letters[i] < ' ' || letters[i] > '}' || letters[i] == '=')
            return metadata_leave(metadata, metadata_damaged, "a text of a list");
    return metadata_add_text(metadata, name ? name : letters, name ? strlen(name) : 4, bytes, size);
}

static enum status parse_list(struct sound_metadata *metadata, bool big_endian,
                              const unsigned char *bytes, size_t size)
{
    bool is_info = size >= 4 && memcmp(bytes, "INFO", 4) == 0;
    size_t at = 4;
    if (size < 4)
        return metadata_leave(metadata, metadata_damaged, "LIST");
    if (!is_info && memcmp(bytes, "adtl", 4) != 0)
        return metadata_add_chunk(metadata, FAMILY_RIFF, "LIST", bytes, size);
    while (size - at >= 8) {
        const unsigned char *id = bytes + at;
        size_t part = number(big_endian, bytes + at + 4);
        if (part > size - at - 8)
            break;
        bool is_label =
            memcmp(id, "labl", 4) == 0 || memcmp(id, "note", 4) == 0 || memcmp(id, "ltxt", 4) == 0;
        if (is_info)
            TRY(parse_info(metadata, id, bytes + at + 8, part));
        else if (is_label)
            TRY(parse_label(metadata, big_endian, id, bytes + at + 8, part));
        else
            TRY(metadata_leave(metadata, metadata_unknown, "%.4s of a list", id));
        at += 8 + part;
        at += part & 1 && at < size;
    }
    return metadata_is_zero(bytes + at, size - at)
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of a list");
}

enum status metadata_parse_riff(struct sound_metadata *metadata, const char *id, bool big_endian,
                                const unsigned char *bytes, size_t size)
{
    if (memcmp(id, "cue ", 4) == 0)
        return parse_cue(metadata, big_endian, bytes, size);
    if (memcmp(id, "LIST", 4) == 0)
        return parse_list(metadata, big_endian, bytes, size);
    if (strncasecmp(id, "id3 ", 4) == 0)
        return metadata_parse_id3(metadata, bytes, size);
    if (big_endian)
        return metadata_leave(metadata, "it is big-endian", "chunk '%.4s'", id);
    return metadata_add_chunk(metadata, FAMILY_RIFF, id, bytes, size);
}

enum status metadata_parse_w64(struct sound_metadata *metadata, const unsigned char *guid,
                               const unsigned char *bytes, size_t size)
{
    if (memcmp(guid, list_guid, sizeof list_guid) == 0)
        return metadata_parse_riff(metadata, "LIST", false, bytes, size);
    if (memcmp(guid + 4, guid_rest, sizeof guid_rest) == 0)
        return metadata_parse_riff(metadata, (const char *)guid, false, bytes, size);
    return metadata_leave(metadata, metadata_unknown, "GUID %02x%02x%02x%02x", guid[3], guid[2],
                          guid[1], guid[0]);
}

/* ---- writing ---- */

static void put_header(struct metadata_buffer *buffer, enum metadata_family family, const char *id,
                       size_t size)
{
    if (family != FAMILY_W64) {
        metadata_put(buffer, id, 4);
        metadata_put_little(buffer, size, 4);
        return;
    }
    if (memcmp(id, "LIST", 4) == 0) {
        metadata_put(buffer, list_guid, sizeof list_guid);
    } else {
        metadata_put(buffer, id, 4);
        metadata_put(buffer, guid_rest, sizeof guid_rest);
    }
    metadata_put_little(buffer, 24 + (uint64_t)size, 8);
}

static void put_padding(struct metadata_buffer *buffer, size_t size, size_t align)
{
    metadata_put(buffer, (const char[8]){0}, (align - size % align) % align);
}

/* libsndfile, and what uses it, does not skip the padding of these chunks of odd size, and finds no
 * samples then: there the padding counts. */
static bool counts_padding(enum metadata_family family, const char *id)
{
    return family == FAMILY_RF64 ||
           (family == FAMILY_RIFF && (memcmp(id, "bext", 4) == 0 || memcmp(id, "cart", 4) == 0));
}

static void put_chunk(struct metadata_buffer *buffer, enum metadata_family family, const char *id,
                      const void *bytes, size_t size)
{
    put_header(buffer, family, id, counts_padding(family, id) ? size + (size & 1) : size);
    metadata_put(buffer, bytes, size);
    put_padding(buffer, size, family == FAMILY_W64 ? 8 : 2);
}

/* A text of a list, with a zero and padding. `before`: bytes in the chunk before it. */
static void put_text(struct metadata_buffer *list, const char *id,
                     const struct metadata_buffer *before, const char *text)
{
    size_t size = before->size + strlen(text) + 1;
    metadata_put(list, id, 4);
    metadata_put_little(list, size, 4);
    metadata_put(list, before->bytes, before->size);
    metadata_put(list, text, strlen(text) + 1);
    put_padding(list, size, 2);
}

static void put_label(struct metadata_buffer *list, const char *id, uint32_t cue, const char *text)
{
    struct metadata_buffer before = {0};
    metadata_put_little(&before, cue, 4);
    if (text)
        put_text(list, id, &before, text);
    list->failed |= before.failed;
    free(before.bytes);
}

static void put_region(struct metadata_buffer *list, const struct metadata_marker *marker)
{
    size_t size = TEXT_HEADER + (marker->text && *marker->text ? strlen(marker->text) + 1 : 0);
    metadata_put(list, "ltxt", 4);
    metadata_put_little(list, size, 4);
    metadata_put_little(list, marker->id, 4);
    metadata_put_little(list, marker->length, 4);
    metadata_put(list, marker->kind, sizeof marker->kind);
    metadata_put(list, marker->text, size - TEXT_HEADER);
    put_padding(list, size, 2);
}

static void put_markers(struct sound_metadata *metadata, enum metadata_family family,
                        struct metadata_buffer *buffer)
{
    struct metadata_buffer cue = {0}, list = {0};
    uint32_t count = 0;
    metadata_put_little(&cue, 0, 4); /* their number, which comes */
    metadata_put(&list, "adtl", 4);
    for (size_t i = 0; i < metadata->marker_count; i++) {
        struct metadata_marker *marker = &metadata->markers[i];
        if (marker->frame > UINT32_MAX || marker->length > UINT32_MAX)
            continue;
        marker->kept = true;
        marker->kept_parts = MARKER_LABEL | MARKER_NOTE | MARKER_TEXT;
        count++;
        metadata_put_little(&cue, marker->id, 4);
        metadata_put_little(&cue, marker->frame, 4);
        metadata_put(&cue, "data\0\0\0\0\0\0\0", 12);
        metadata_put_little(&cue, marker->frame, 4);
        put_label(&list, "labl", marker->id, marker->label);
        put_label(&list, "note", marker->id, marker->note);
        if (marker->length > 0 || marker->text)
            put_region(&list, marker);
    }
    if (cue.bytes)
        metadata_put_little(&(struct metadata_buffer){.bytes = cue.bytes, .capacity = 4}, count, 4);
    if (count > 0)
        put_chunk(buffer, family, "cue ", cue.bytes, cue.size);
    if (list.size > 4)
        put_chunk(buffer, family, "LIST", list.bytes, list.size);
    buffer->failed |= cue.failed || list.failed;
    free(cue.bytes);
    free(list.bytes);
}

/* A list has one text of each name: the first. */
static void put_info(struct sound_metadata *metadata, enum metadata_family family,
                     struct metadata_buffer *buffer)
{
    struct metadata_buffer list = {0};
    const struct metadata_buffer nothing = {0};
    metadata_put(&list, "INFO", 4);
    for (size_t i = 0; i < metadata->text_count; i++) {
        struct metadata_text *text = &metadata->texts[i];
        const char *id = metadata_id_of("INFO", text->name, 0);
        bool is_own = strlen(text->name) == 4 && *text->name == 'I' && /* as it was read */
                      !metadata_name_of("INFO", text->name, 4);
        for (size_t k = 0; k < i; k++)
            if (strcmp(metadata->texts[k].name, text->name) == 0)
                id = NULL, is_own = false;
        if (!id && !is_own)
            continue;
        put_text(&list, id ? id : text->name, &nothing, text->value);
        text->kept = true;
    }
    if (list.size > 4)
        put_chunk(buffer, family, "LIST", list.bytes, list.size);
    buffer->failed |= list.failed;
    free(list.bytes);
}

static void put_chunks(struct sound_metadata *metadata, enum metadata_family family,
                       enum metadata_kind kind, struct metadata_buffer *buffer)
{
    for (size_t i = 0; i < metadata->chunk_count; i++) {
        struct metadata_chunk *chunk = &metadata->chunks[i];
        bool is_refused = family == FAMILY_W64 && chunk->size == 0; /* by ffmpeg */
        if (chunk->family != FAMILY_RIFF || metadata_kind_of(chunk) != kind ||
            metadata->without & kind || is_refused)
            continue;
        put_chunk(buffer, family, chunk->id, chunk->bytes, chunk->size);
        chunk->kept = true;
    }
}

static void put_tags(struct sound_metadata *metadata, enum metadata_family family,
                     struct metadata_buffer *buffer)
{
    struct metadata_buffer id3 = {0};
    put_info(metadata, family, buffer);
    metadata_write_id3(metadata, false, &id3);
    if (id3.size > 0)
        put_chunk(buffer, family, "id3 ", id3.bytes, id3.size);
    buffer->failed |= id3.failed;
    buffer->said |= id3.said;
    free(id3.bytes);
}

void metadata_write_riff(struct sound_metadata *metadata, enum metadata_family family,
                         bool with_texts, struct metadata_buffer *buffer)
{
    put_chunks(metadata, family, METADATA_BROADCAST, buffer);
    if (!(metadata->without & METADATA_MARKERS))
        put_markers(metadata, family, buffer);
    if (with_texts && !(metadata->without & METADATA_TAGS))
        put_tags(metadata, family, buffer);
    put_chunks(metadata, family, METADATA_OTHERS, buffer);
}
