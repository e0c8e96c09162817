/* Metadata of WAV, RF64, W64 (the same chunks under longer names) and AIFF. */
#include "sound/metadata/metadata.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- names of tags ---- */

/* If several ids mean the same, the first is written. In CAF all are written: the ids that Apple
 * names, and the ids that libsndfile reads. */
static const struct {
    const char *list, *id, *name;
} rows[] = {
    {"INFO", "INAM", "TITLE"},
    {"INFO", "IART", "ARTIST"},
    {"INFO", "IPRD", "ALBUM"},
    {"INFO", "IALB", "ALBUM"},
    {"INFO", "ICMT", "COMMENT"},
    {"INFO", "ICRD", "DATE"},
    {"INFO", "IGNR", "GENRE"},
    {"INFO", "ICOP", "COPYRIGHT"},
    {"INFO", "ITRK", "TRACKNUMBER"},
    {"INFO", "IPRT", "TRACKNUMBER"},
    {"INFO", "ISFT", "ENCODER"},
    {"INFO", "ISRC", "SOURCE"},
    {"INFO", "ISBJ", "SUBJECT"},
    {"INFO", "IKEY", "KEYWORDS"},
    {"INFO", "ILNG", "LANGUAGE"},
    {"INFO", "IMED", "MEDIA"},
    {"INFO", "IENG", "ENGINEER"},
    {"INFO", "ITCH", "ENCODEDBY"},
    {"INFO", "IMUS", "COMPOSER"},
    {"INFO", "IWRI", "LYRICIST"},
    {"INFO", "IPUB", "LABEL"},
    {"INFO", "IBPM", "BPM"},
    {"AIFF", "NAME", "TITLE"},
    {"AIFF", "AUTH", "ARTIST"},
    {"AIFF", "(c) ", "COPYRIGHT"},
    {"AIFF", "ANNO", "COMMENT"},
    {"CAF", "title", "TITLE"},
    {"CAF", "artist", "ARTIST"},
    {"CAF", "album", "ALBUM"},
    {"CAF", "comments", "COMMENT"},
    {"CAF", "comment", "COMMENT"},
    {"CAF", "recorded date", "DATE"},
    {"CAF", "date", "DATE"},
    {"CAF", "license", "LICENSE"},
    {"CAF", "genre", "GENRE"},
    {"CAF", "copyright", "COPYRIGHT"},
    {"CAF", "track number", "TRACKNUMBER"},
    {"CAF", "tracknumber", "TRACKNUMBER"},
    {"CAF", "encoding application", "ENCODER"},
    {"CAF", "software", "ENCODER"},
    {"CAF", "composer", "COMPOSER"},
    {"CAF", "lyricist", "LYRICIST"},
    {"CAF", "tempo", "BPM"},
    {"CAF", "key signature", "KEY"},
    {"CAF", "time signature", "TIMESIGNATURE"},
    {"CAF", "source encoder", "SOURCE ENCODER"},
};

const char *metadata_name_of(const char *list, const char *id, size_t size)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].list, list) == 0 && strlen(rows[i].id) == size &&
            strncasecmp(rows[i].id, id, size) == 0)
            return rows[i].name;
    return NULL;
}

const char *metadata_id_of(const char *list, const char *name, size_t index)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(rows[i].list, list) == 0 && strcasecmp(rows[i].name, name) == 0 && index-- == 0)
            return rows[i].id;
    return NULL;
}

/* ---- RIFF ---- */

enum { CUE_POINT = 24, TEXT_HEADER = 20 /* bytes of ltxt before its text */ };

/* Bytes of a GUID after the four letters of a chunk, and of lists. */
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

static bool wants_riff(const char *id)
{
    static const char *const structure[] = {"fmt ", "data", "fact", "ds64", "JUNK",
                                            "junk", "PAD ", "FLLR", "PEAK", NULL};
    return !is_one_of(id, structure);
}

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

static enum status parse_riff(struct sound_metadata *metadata, const char *id, bool big_endian,
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

static enum status parse_w64(struct sound_metadata *metadata, const char *id, bool big_endian,
                             const unsigned char *bytes, size_t size)
{
    const unsigned char *guid = (const unsigned char *)id;
    if (memcmp(guid, list_guid, sizeof list_guid) == 0)
        return parse_riff(metadata, "LIST", big_endian, bytes, size);
    if (memcmp(guid + 4, guid_rest, sizeof guid_rest) == 0)
        return parse_riff(metadata, id, big_endian, bytes, size);
    return metadata_leave(metadata, metadata_unknown, "GUID %02x%02x%02x%02x", guid[3], guid[2],
                          guid[1], guid[0]);
}

/* ---- writing RIFF ---- */

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

/* Whether the size of a chunk includes its padding. libsndfile does not skip the padding of these
 * chunks with odd sizes, and would then find no samples. */
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

/* Write a text of a list, with a zero byte and padding. `before`: bytes in the chunk before it. */
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
    metadata_put_little(&cue, 0, 4); /* number of points, set at the end */
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

/* Write the list INFO. It has one text for each name: the first. */
static void put_info(struct sound_metadata *metadata, enum metadata_family family,
                     struct metadata_buffer *buffer)
{
    struct metadata_buffer list = {0};
    const struct metadata_buffer nothing = {0};
    metadata_put(&list, "INFO", 4);
    for (size_t i = 0; i < metadata->text_count; i++) {
        struct metadata_text *text = &metadata->texts[i];
        const char *id = metadata_id_of("INFO", text->name, 0);
        /* the name is an id that was read from a list */
        bool is_own = strlen(text->name) == 4 && *text->name == 'I' &&
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
        /* ffmpeg refuses empty chunks in W64 */
        bool is_refused = family == FAMILY_W64 && chunk->size == 0;
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

static void write_riff(struct sound_metadata *metadata, enum metadata_family family,
                       bool with_texts, struct metadata_buffer *buffer)
{
    put_chunks(metadata, family, METADATA_BROADCAST, buffer);
    if (!(metadata->without & METADATA_MARKERS))
        put_markers(metadata, family, buffer);
    if (with_texts && !(metadata->without & METADATA_TAGS))
        put_tags(metadata, family, buffer);
    put_chunks(metadata, family, METADATA_OTHERS, buffer);
}

const struct metadata_form metadata_form_riff = {
    .wants = wants_riff, .parse = parse_riff, .write = write_riff};
const struct metadata_form metadata_form_w64 = {
    .magic = "riff", .wants = wants_riff, .parse = parse_w64, .write = write_riff};

/* ---- AIFF ---- */

/* Most bytes: libsndfile opens no file with a text of 8,192. Longer ones go into the ID3 tag. */
enum { LABEL_MOST = 255, ID_MOST = 32767, TEXT_MOST = 4000 };

static bool wants_aiff(const char *id)
{
    static const char *const structure[] = {"COMM", "SSND", "FVER", "PEAK", "CHAN", NULL};
    return !is_one_of(id, structure);
}

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
        at += (length & 1) == 0; /* padded to an even size, with the byte for the length */
    }
    return size >= 2 && at >= size && metadata_big(bytes, 2) == count
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of the markers");
}

/* Whether a chunk that sox reads is as long as its content says. */
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

static enum status parse_aiff(struct sound_metadata *metadata, const char *id, bool big_endian,
                              const unsigned char *bytes, size_t size)
{
    (void)big_endian;
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

/* ---- writing AIFF ---- */

static void put_aiff_chunk(struct metadata_buffer *buffer, const void *id, const void *bytes,
                           size_t size)
{
    metadata_put(buffer, id, 4);
    metadata_put_big(buffer, size, 4);
    metadata_put(buffer, bytes, size);
    metadata_put(buffer, "", size & 1);
}

/* The id of a marker. Markers of AIFF keep their ids, since other chunks refer to them. */
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

static void put_aiff_markers(struct sound_metadata *metadata, struct metadata_buffer *buffer)
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
        /* marker at the region's end */
        put_marker(&list, id + ID_MOST / 2, marker->frame + marker->length, label);
        count++;
    }
    if (list.bytes)
        metadata_put_big(&(struct metadata_buffer){.bytes = list.bytes, .capacity = 2}, count, 2);
    if (count > 0)
        put_aiff_chunk(buffer, "MARK", list.bytes, list.size);
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
        if (!id || !(is_first || strcmp(id, "ANNO") == 0) || /* there may be several */
            size > TEXT_MOST)
            continue;
        put_aiff_chunk(buffer, id, text->value, size);
        text->kept = true;
    }
}

static void put_aiff_tags(struct sound_metadata *metadata, struct metadata_buffer *buffer)
{
    struct metadata_buffer id3 = {0};
    put_texts(metadata, buffer);
    metadata_write_id3(metadata, false, &id3);
    if (id3.size > 0)
        put_aiff_chunk(buffer, "ID3 ", id3.bytes, id3.size);
    buffer->failed |= id3.failed;
    buffer->said |= id3.said;
    free(id3.bytes);
}

static void write_aiff(struct sound_metadata *metadata, enum metadata_family family,
                       bool with_texts, struct metadata_buffer *buffer)
{
    if (!(metadata->without & METADATA_MARKERS))
        put_aiff_markers(metadata, buffer);
    if (with_texts && !(metadata->without & METADATA_TAGS))
        put_aiff_tags(metadata, buffer);
    for (size_t i = 0; i < metadata->chunk_count; i++) {
        struct metadata_chunk *chunk = &metadata->chunks[i];
        if (chunk->family != family || metadata->without & METADATA_OTHERS)
            continue;
        put_aiff_chunk(buffer, chunk->id, chunk->bytes, chunk->size);
        chunk->kept = true;
    }
}

const struct metadata_form metadata_form_aiff = {
    .magic = "FORM", .wants = wants_aiff, .parse = parse_aiff, .write = write_aiff};
