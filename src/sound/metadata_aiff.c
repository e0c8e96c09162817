/* Metadata of AIFF and AIFF-C. */
#include "sound/metadata.h"
#include "sound/metadata_names.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* libsndfile opens no file with a text of 8,192 bytes: a long one goes into the ID3 tag. */
enum { LABEL_MOST = 255, ID_MOST = 32767, TEXT_MOST = 4000 };

bool metadata_wants_aiff(const char *id)
{
    static const char *const structure[] = {"COMM", "SSND", "FVER", "PEAK", "CHAN"};
    for (size_t i = 0; i < sizeof structure / sizeof *structure; i++)
        if (memcmp(id, structure[i], 4) == 0)
            return false;
    return true;
}

/* ---- reading ---- */

static enum status parse_markers(struct sound_metadata *metadata, const unsigned char *bytes,
                                 size_t size)
{
    size_t at = 2, count = 0;
    for (; at < size && size - at >= 7; count++) {
        size_t length = bytes[at + 6];
        struct metadata_marker *marker;
        if (length > size - at - 7)
            break;
        TRY(metadata_place_marker(metadata, (uint32_t)metadata_big(bytes + at, 2),
                                  metadata_big(bytes + at + 2, 4), &marker));
        if (length > 0)
            TRY(metadata_set(metadata, marker, &marker->label, bytes + at + 7, length));
        at += 7 + length;
        at += (length & 1) == 0; /* with its length it is of even size */
    }
    return size >= 2 && at >= size && metadata_big(bytes, 2) == count
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of the markers");
}

/* Of chunks that sox reads and others do not have to: their length, by what is in them. */
static bool is_whole(const char *id, const unsigned char *bytes, size_t size)
{
    enum { INSTRUMENT = 20, COMMENT = 8 };
    size_t at = 2;
    if (memcmp(id, "INST", 4) == 0)
        return size == INSTRUMENT;
    if (memcmp(id, "COMT", 4) != 0)
        return true;
    for (size_t left = size >= 2 ? (size_t)metadata_big(bytes, 2) : 1; left > 0; left--) {
        if (at > size || size - at < COMMENT)
            return false;
        size_t length = (size_t)metadata_big(bytes + at + 6, 2);
        at += COMMENT + length + (length & 1);
    }
    return at <= size + 1;
}

enum status metadata_parse_aiff(struct sound_metadata *metadata, const char *id,
                                const unsigned char *bytes, size_t size)
{
    const char *name = metadata_name_of("AIFF", id, 4);
    if (name)
        return metadata_add_text(metadata, name, strlen(name), bytes, size);
    if (memcmp(id, "MARK", 4) == 0)
        return parse_markers(metadata, bytes, size);
    if (strncasecmp(id, "ID3 ", 4) == 0)
        return metadata_parse_id3(metadata, bytes, size);
    return is_whole(id, bytes, size) ? metadata_add_chunk(metadata, FAMILY_AIFF, id, bytes, size)
                                     : metadata_leave(metadata, metadata_damaged, "%.4s", id);
}

/* ---- writing ---- */

static void put_chunk(struct metadata_buffer *buffer, const void *id, const void *bytes,
                      size_t size)
{
    metadata_put(buffer, id, 4);
    metadata_put_big(buffer, size, 4);
    metadata_put(buffer, bytes, size);
    metadata_put(buffer, "", size & 1);
}

/* Those of AIFF keep their numbers, which other chunks refer to. */
static uint32_t marker_id(const struct sound_metadata *metadata, size_t index)
{
    return metadata->origin == FAMILY_AIFF ? metadata->markers[index].id : (uint32_t)index + 1;
}

static void put_marker(struct metadata_buffer *list, uint32_t id, uint64_t frame, const char *label)
{
    size_t length = strlen(label);
    metadata_put_big(list, id, 2);
    metadata_put_big(list, frame, 4);
    metadata_put_big(list, length, 1);
    metadata_put(list, label, length);
    metadata_put(list, "", (length & 1) == 0);
}

static void put_markers(struct sound_metadata *metadata, struct metadata_buffer *buffer)
{
    struct metadata_buffer list = {0};
    uint32_t count = 0;
    metadata_put_big(&list, 0, 2);
    for (size_t i = 0; i < metadata->marker_count; i++) {
        struct metadata_marker *marker = &metadata->markers[i];
        uint32_t id = marker_id(metadata, i);
        if (marker->frame + marker->length > UINT32_MAX || id == 0 || id > ID_MOST / 2)
            continue;
        const char *label = metadata_marker_text(marker, LABEL_MOST);
        marker->kept = true;
        put_marker(&list, id, marker->frame, label);
        count++;
        if (marker->length == 0)
            continue;
        put_marker(&list, id + ID_MOST / 2, marker->frame + marker->length, label); /* its end */
        count++;
    }
    if (list.bytes)
        metadata_put_big(&(struct metadata_buffer){.bytes = list.bytes, .capacity = 2}, count, 2);
    if (count > 0)
        put_chunk(buffer, "MARK", list.bytes, list.size);
    buffer->failed |= list.failed;
    free(list.bytes);
}

static void put_texts(struct sound_metadata *metadata, struct metadata_buffer *buffer)
{
    for (size_t i = 0; i < metadata->text_count; i++) {
        struct metadata_text *text = &metadata->texts[i];
        const char *id = metadata_id_of("AIFF", text->name, 0);
        bool is_first = true;
        for (size_t k = 0; k < i; k++)
            is_first &= strcmp(metadata->texts[k].name, text->name) != 0;
        size_t size = strlen(text->value);
        if (!id || !(is_first || strcmp(id, "ANNO") == 0) || /* of which there may be several */
            size > TEXT_MOST)
            continue;
        put_chunk(buffer, id, text->value, size);
        text->kept = true;
    }
}

static void put_tags(struct sound_metadata *metadata, struct metadata_buffer *buffer)
{
    struct metadata_buffer id3 = {0};
    put_texts(metadata, buffer);
    metadata_write_id3(metadata, false, &id3);
    if (id3.size > 0)
        put_chunk(buffer, "ID3 ", id3.bytes, id3.size);
    buffer->failed |= id3.failed;
    buffer->said |= id3.said;
    free(id3.bytes);
}

void metadata_write_aiff(struct sound_metadata *metadata, bool with_texts,
                         struct metadata_buffer *buffer)
{
    if (!(metadata->without & METADATA_MARKERS))
        put_markers(metadata, buffer);
    if (with_texts && !(metadata->without & METADATA_TAGS))
        put_tags(metadata, buffer);
    for (size_t i = 0; i < metadata->chunk_count; i++) {
        struct metadata_chunk *chunk = &metadata->chunks[i];
        if (chunk->family != FAMILY_AIFF || metadata->without & METADATA_OTHERS)
            continue;
        put_chunk(buffer, chunk->id, chunk->bytes, chunk->size);
        chunk->kept = true;
    }
}
