/* Metadata of Apple's Core Audio Format. */
#include "sound/metadata/metadata.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MARKER = 28,      /* bytes: type, frame (a double), id, SMPTE time, channel */
    MARKER_FRAME = 4, /* offsets within a marker */
    MARKER_ID = 12,
    MARKER_TIME = 16,
    MARKER_CHANNEL = 24,
    REGION = 12, /* bytes before its markers: id, flags, their number */
    STRING = 12, /* bytes of an entry of the string table: id, offset */
};

static bool wants_caf(const char *id)
{
    static const char *const structure[] = {"desc", "data", "free", "pakt", "kuki", "chan", "peak"};
    for (size_t i = 0; i < sizeof structure / sizeof *structure; i++)
        if (memcmp(id, structure[i], 4) == 0)
            return false;
    return true;
}

/* ---- reading ---- */

/* Read the frame of a marker. False: the number is no valid frame. */
static bool frame_of(const unsigned char *marker, uint64_t *frame)
{
    uint64_t bits = metadata_big(marker + MARKER_FRAME, 8);
    double position;
    memcpy(&position, &bits, sizeof position);
    bool is_frame = position >= 0 && position < 0x1p62;
    *frame = is_frame ? (uint64_t)position : 0;
    return is_frame;
}

/* Whether a marker is only a position: it has `type` or none, is for all channels, has no SMPTE
 * time, and is at a whole frame. */
static bool is_plain(const unsigned char *marker, const char *type)
{
    uint64_t frame, bits = metadata_big(marker + MARKER_FRAME, 8);
    double position;
    memcpy(&position, &bits, sizeof position);
    uint64_t time = metadata_big(marker + MARKER_TIME, 8);
    return (memcmp(marker, type, 4) == 0 || metadata_is_zero(marker, 4)) &&
           (time == UINT64_MAX || time == 0) && metadata_is_zero(marker + MARKER_CHANNEL, 4) &&
           frame_of(marker, &frame) && (double)frame == position;
}

static const char only_places[] = "halo keeps frames and labels of markers";

static enum status parse_markers(struct sound_metadata *metadata, const unsigned char *bytes,
                                 size_t size)
{
    size_t at = 8;
    for (; size >= MARKER && at <= size - MARKER; at += MARKER) {
        uint32_t id = (uint32_t)metadata_big(bytes + at + MARKER_ID, 4);
        struct metadata_marker *marker;
        uint64_t frame;
        if (!frame_of(bytes + at, &frame)) {
            TRY(metadata_leave(metadata, "its frame is no possible one", "marker %u", id));
            continue;
        }
        TRY(metadata_place_marker(metadata, id, frame, &marker));
        if (!is_plain(bytes + at, "\0\0\0\0"))
            TRY(metadata_leave(metadata, only_places, "part of marker %u", id));
    }
    return at == size && metadata_big(bytes + 4, 4) == (size - 8) / MARKER
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of the markers");
}

/* Parse a region from its header on. Its first and its last marker are its ends. */
static enum status parse_region(struct sound_metadata *metadata, const unsigned char *region,
                                uint64_t count)
{
    uint64_t first = UINT64_MAX, last = 0, frame;
    uint32_t id = (uint32_t)metadata_big(region, 4);
    struct metadata_marker *marker;
    bool is_whole = count == 2;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *end = region + REGION + i * MARKER;
        if (!frame_of(end, &frame))
            return metadata_leave(metadata, "its frame is no possible one", "region %u", id);
        first = frame < first ? frame : first;
        last = frame > last ? frame : last;
        is_whole &= is_plain(end, i == 0 ? "rbeg" : "rend");
    }
    if (count == 0)
        return metadata_leave(metadata, metadata_damaged, "region %u", id);
    TRY(metadata_place_marker(metadata, id, first, &marker));
    marker->flags = (uint32_t)metadata_big(region + 4, 4);
    marker->length = last - first;
    return is_whole ? STATUS_OK : metadata_leave(metadata, only_places, "part of region %u", id);
}

static enum status parse_regions(struct sound_metadata *metadata, const unsigned char *bytes,
                                 size_t size)
{
    size_t at = 8, regions = 0;
    for (; at < size && size - at >= REGION; regions++) {
        uint64_t count = metadata_big(bytes + at + 8, 4);
        if (count > (size - at - REGION) / MARKER)
            break;
        TRY(parse_region(metadata, bytes + at, count));
        at += REGION + (size_t)count * MARKER;
    }
    return at == size && metadata_big(bytes + 4, 4) == regions
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of the regions");
}

static enum status parse_strings(struct sound_metadata *metadata, const unsigned char *bytes,
                                 size_t size)
{
    uint64_t count = size >= 4 ? metadata_big(bytes, 4) : UINT64_MAX;
    if (count > size / STRING || 4 + count * STRING > size)
        return metadata_leave(metadata, metadata_damaged, "strg");
    size_t table = 4 + (size_t)count * STRING;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *entry = bytes + 4 + i * STRING;
        const char *text = (const char *)bytes + table;
        uint64_t offset = metadata_big(entry + 4, 8);
        uint32_t id = (uint32_t)metadata_big(entry, 4);
        struct metadata_marker *marker;
        if (offset >= size - table) {
            TRY(metadata_leave(metadata, metadata_damaged, "a text of marker %u", id));
            continue;
        }
        TRY(metadata_add_marker(metadata, id, &marker));
        TRY(metadata_set(metadata, marker, &marker->label, text + offset,
                         strnlen(text + offset, size - table - (size_t)offset)));
    }
    return STATUS_OK;
}

/* Parse pairs of key and value, each ended by a zero byte. */
static enum status parse_info(struct sound_metadata *metadata, const unsigned char *bytes,
                              size_t size)
{
    size_t at = 4, count = 0;
    for (; at < size; count++) {
        const char *key = (const char *)bytes + at;
        size_t key_size = strnlen(key, size - at);
        at += key_size + 1;
        if (at >= size)
            break;
        const char *value = (const char *)bytes + at,
                   *name = metadata_name_of("CAF", key, key_size);
        size_t value_size = strnlen(value, size - at);
        at += value_size + 1;
        TRY(metadata_add_text(metadata, name ? name : key, name ? strlen(name) : key_size, value,
                              value_size));
    }
    return size >= 4 && metadata_big(bytes, 4) == count
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of info");
}

static enum status parse_caf(struct sound_metadata *metadata, const char *id, bool big_endian,
                             const unsigned char *bytes, size_t size)
{
    (void)big_endian;
    if (memcmp(id, "mark", 4) == 0)
        return parse_markers(metadata, bytes, size);
    if (memcmp(id, "regn", 4) == 0)
        return parse_regions(metadata, bytes, size);
    if (memcmp(id, "strg", 4) == 0)
        return parse_strings(metadata, bytes, size);
    if (memcmp(id, "info", 4) == 0)
        return parse_info(metadata, bytes, size);
    return metadata_add_chunk(metadata, FAMILY_CAF, id, bytes, size);
}

/* ---- writing ---- */

static void put_chunk(struct metadata_buffer *buffer, const void *id,
                      const struct metadata_buffer *content)
{
    metadata_put(buffer, id, 4);
    metadata_put_big(buffer, content->size, 8);
    metadata_put(buffer, content->bytes, content->size);
    buffer->failed |= content->failed;
}

static void put_marker(struct metadata_buffer *list, const char *type, uint64_t frame, uint32_t id)
{
    double position = (double)frame;
    uint64_t bits;
    memcpy(&bits, &position, sizeof bits);
    metadata_put(list, type, 4);
    metadata_put_big(list, bits, 8);
    metadata_put_big(list, id, 4);
    metadata_put(list, "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 8); /* no SMPTE time */
    metadata_put_big(list, 0, 4);                              /* channel 0: all channels */
}

struct marker_lists {
    struct metadata_buffer points, regions, table, strings;
    uint32_t point_count, region_count, string_count;
};

static void put_region(struct marker_lists *lists, uint32_t id, uint32_t flags, uint64_t start,
                       uint64_t end)
{
    metadata_put_big(&lists->regions, id, 4);
    metadata_put_big(&lists->regions, flags, 4);
    metadata_put_big(&lists->regions, 2, 4);
    put_marker(&lists->regions, "rbeg", start, id);
    put_marker(&lists->regions, "rend", end, id);
    lists->region_count++;
}

static void add_marker(struct marker_lists *lists, struct metadata_marker *marker)
{
    if (marker->length == 0) {
        put_marker(&lists->points, "\0\0\0\0", marker->frame, marker->id); /* type 0: generic */
        lists->point_count++;
    } else {
        put_region(lists, marker->id, marker->flags, marker->frame, marker->frame + marker->length);
    }
    const char *label = metadata_marker_text(marker, SIZE_MAX);
    marker->kept_parts |= MARKER_LOOP;
    if (!*label)
        return;
    metadata_put_big(&lists->table, marker->id, 4);
    metadata_put_big(&lists->table, lists->strings.size, 8);
    metadata_put_utf8(&lists->strings, label);
    metadata_put(&lists->strings, "", 1);
    lists->string_count++;
}

/* Write a list: SMPTE type 0 (none) if `has_smpte`, the count, and the entries. */
static void put_list(struct metadata_buffer *buffer, const char *id, bool has_smpte, uint32_t count,
                     const struct metadata_buffer *rows, const struct metadata_buffer *more)
{
    struct metadata_buffer content = {0};
    if (has_smpte)
        metadata_put_big(&content, 0, 4);
    metadata_put_big(&content, count, 4);
    metadata_put(&content, rows->bytes, rows->size);
    if (more)
        metadata_put(&content, more->bytes, more->size);
    if (count > 0)
        put_chunk(buffer, id, &content);
    buffer->failed |= rows->failed || (more && more->failed);
    free(content.bytes);
}

static void put_markers(struct sound_metadata *metadata, struct metadata_buffer *buffer)
{
    struct marker_lists lists = {0};
    for (size_t i = 0; i < metadata->marker_count; i++) {
        metadata->markers[i].kept = true;
        add_marker(&lists, &metadata->markers[i]);
    }
    put_list(buffer, "mark", true, lists.point_count, &lists.points, NULL);
    put_list(buffer, "regn", true, lists.region_count, &lists.regions, NULL);
    put_list(buffer, "strg", false, lists.string_count, &lists.table, &lists.strings);
    free(lists.points.bytes);
    free(lists.regions.bytes);
    free(lists.table.bytes);
    free(lists.strings.bytes);
}

static void put_pair(struct metadata_buffer *pairs, const char *key, const char *value)
{
    metadata_put_utf8(pairs, key);
    metadata_put(pairs, "", 1);
    metadata_put_utf8(pairs, value);
    metadata_put(pairs, "", 1);
}

static void put_info(struct sound_metadata *metadata, struct metadata_buffer *buffer)
{
    struct metadata_buffer pairs = {0};
    uint32_t count = 0;
    for (size_t i = 0; i < metadata->text_count; i++) {
        struct metadata_text *text = &metadata->texts[i];
        const char *key;
        size_t keys = 0;
        for (; (key = metadata_id_of("CAF", text->name, keys)) != NULL; keys++)
            put_pair(&pairs, key, text->value);
        if (keys == 0)
            put_pair(&pairs, text->name, text->value);
        count += keys ? (uint32_t)keys : 1;
        text->kept = true;
    }
    put_list(buffer, "info", false, count, &pairs, NULL);
    free(pairs.bytes);
}

static void write_caf(struct sound_metadata *metadata, enum metadata_family family, bool with_texts,
                      struct metadata_buffer *buffer)
{
    if (!(metadata->without & METADATA_MARKERS))
        put_markers(metadata, buffer);
    if (with_texts && !(metadata->without & METADATA_TAGS))
        put_info(metadata, buffer);
    for (size_t i = 0; i < metadata->chunk_count; i++) {
        struct metadata_chunk *chunk = &metadata->chunks[i];
        const struct metadata_buffer content = {.bytes = chunk->bytes, .size = chunk->size};
        if (chunk->family != family || metadata->without & METADATA_OTHERS)
            continue;
        put_chunk(buffer, chunk->id, &content);
        chunk->kept = true;
    }
}

const struct metadata_form metadata_form_caf = {
    .magic = "caff", .wants = wants_caf, .parse = parse_caf, .write = write_caf};
