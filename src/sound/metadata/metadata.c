#include "sound/metadata/metadata.h"

#include "base/printable.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Most entries read from a file: each is compared with all before. A message tells of the rest. */
enum {
    METADATA_CHUNKS_MOST = 4096,
    METADATA_TEXTS_MOST = 4096,
    METADATA_MARKERS_MOST = 8192,
    METADATA_PICTURES_MOST = 1024,
    METADATA_UNKNOWN_MOST = 4096, /* unknown parts of lists that are named as losses */
    /* factor: a text may be in several places, a marker has several parts */
    METADATA_REPEATS_MOST = 4,
};

static void free_marker(struct metadata_marker *marker)
{
    free(marker->label);
    free(marker->note);
    free(marker->text);
}

enum status metadata_create(struct sound_metadata **metadata)
{
    *metadata = calloc(1, sizeof **metadata);
    return *metadata ? STATUS_OK : fail_memory("tags");
}

static void remove_row(void *rows, size_t *count, size_t size, size_t index)
{
    char *at = (char *)rows + index * size;
    memmove(at, at + size, (--*count - index) * size);
}

static void metadata_remove_chunk(struct sound_metadata *metadata, size_t index)
{
    free(metadata->chunks[index].bytes);
    remove_row(metadata->chunks, &metadata->chunk_count, sizeof *metadata->chunks, index);
}

void metadata_destroy(struct sound_metadata *metadata)
{
    if (!metadata)
        return;
    while (metadata->chunk_count > 0)
        metadata_remove_chunk(metadata, metadata->chunk_count - 1);
    while (metadata->text_count > 0)
        metadata_remove_text(metadata, metadata->text_count - 1);
    while (metadata->marker_count > 0)
        metadata_remove_marker(metadata, metadata->marker_count - 1);
    free_marker(&metadata->surplus);
    for (size_t i = 0; i < metadata->picture_count; i++)
        free(metadata->pictures[i].bytes);
    for (size_t i = 0; i < metadata->loss_count; i++)
        free(metadata->losses[i].what);
    for (size_t i = 0; i < metadata->moved_count; i++)
        free(metadata->moved[i]);
    free(metadata->chunks);
    free(metadata->texts);
    free(metadata->pictures);
    free(metadata->markers);
    free(metadata->losses);
    free(metadata->moved);
    free(metadata->id3);
    free(metadata);
}

enum status metadata_copy(struct sound_metadata *metadata, struct sound_bytes *bytes, uint64_t at,
                          uint64_t size, unsigned char **taken)
{
    *taken = NULL;
    if (at > bytes->size || size > bytes->size - at ||
        size > METADATA_BYTES_MOST - metadata->bytes) {
        metadata->cut = true;
        return STATUS_OK;
    }
    *taken = malloc((size_t)size + 1);
    if (!*taken)
        return fail_memory("tags");
    if (sound_bytes_read(bytes, at, *taken, (size_t)size)) {
        metadata->bytes += size;
        return STATUS_OK;
    }
    free(*taken);
    *taken = NULL;
    metadata->cut = true;
    return STATUS_OK;
}

/* ---- lists ---- */

/* Make room for another element of `size` bytes. `list`: address of the list's pointer. */
static void *add_row(void *list, size_t *count, size_t size)
{
    void **rows = list;
    if ((*count & (*count - 1)) == 0) { /* the list is full at 0 and at powers of two */
        void *more = reallocarray(*rows, *count ? 2 * *count : 1, size);
        if (!more)
            return NULL;
        *rows = more;
    }
    return memset((char *)*rows + size * (*count)++, 0, size);
}

/* Whether the list has the most entries; if so, sets `cut`. */
static bool is_full(struct sound_metadata *metadata, size_t count, size_t most)
{
    metadata->cut |= count >= most;
    return count >= most;
}

static void *copy_of(const void *bytes, size_t size)
{
    char *copy = malloc(size + 1);
    if (!copy)
        return NULL;
    memcpy(copy, bytes, size);
    copy[size] = '\0';
    return copy;
}

bool metadata_is_zero(const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0 && *at == 0)
        at++, size--;
    return size == 0;
}

/* Keep a text up to its first zero byte. *size: bytes before it. The rest becomes a loss. */
static enum status leave_rest(struct sound_metadata *metadata, const char *text, size_t *size)
{
    size_t whole = *size;
    *size = strnlen(text, whole);
    return metadata_is_zero(text + *size, whole - *size)
               ? STATUS_OK
               : metadata_leave(metadata, "it follows a zero", "the end of a text");
}

enum status metadata_set(struct sound_metadata *metadata, const struct metadata_marker *marker,
                         char **text, const void *bytes, size_t size)
{
    TRY(leave_rest(metadata, bytes, &size));
    if (*text)
        return strlen(*text) == size && memcmp(*text, bytes, size) == 0
                   ? STATUS_OK
                   : metadata_leave(metadata, metadata_twice, "a text of marker %u", marker->id);
    *text = copy_of(bytes, size);
    return *text ? STATUS_OK : fail_memory("tags");
}

enum status metadata_add_chunk(struct sound_metadata *metadata, enum metadata_family family,
                               const void *id, const void *bytes, size_t size)
{
    for (size_t i = 0; i < 4; i++)
        if (((const char *)id)[i] < ' ' || ((const char *)id)[i] > '~')
            return metadata_is_zero(id, 4) && metadata_is_zero(bytes, size)
                       ? STATUS_OK
                       : metadata_leave(metadata, "its name is not printable", "a chunk");
    if (is_full(metadata, metadata->chunk_count, METADATA_CHUNKS_MOST))
        return STATUS_OK;
    struct metadata_chunk *chunk =
        add_row(&metadata->chunks, &metadata->chunk_count, sizeof *chunk);
    if (!chunk)
        return fail_memory("tags");
    chunk->family = family;
    memcpy(chunk->id, id, sizeof chunk->id);
    chunk->size = size;
    chunk->bytes = copy_of(bytes, size);
    return chunk->bytes ? STATUS_OK : fail_memory("tags");
}

enum status metadata_add_text(struct sound_metadata *metadata, const char *name, size_t name_size,
                              const void *value, size_t size)
{
    if (is_full(metadata, metadata->text_count, METADATA_TEXTS_MOST) ||
        is_full(metadata, metadata->texts_read++, METADATA_REPEATS_MOST * METADATA_TEXTS_MOST))
        return STATUS_OK;
    TRY(leave_rest(metadata, value, &size));
    /* a file may have the same text in several places */
    for (size_t i = 0; i < metadata->text_count; i++) {
        const struct metadata_text *text = &metadata->texts[i];
        if (strlen(text->name) == name_size && strncasecmp(text->name, name, name_size) == 0 &&
            strlen(text->value) == size && memcmp(text->value, value, size) == 0)
            return STATUS_OK;
    }
    struct metadata_text *text = add_row(&metadata->texts, &metadata->text_count, sizeof *text);
    if (!text)
        return fail_memory("tags");
    text->name = copy_of(name, name_size);
    text->value = copy_of(value, size);
    if (!text->name || !text->value)
        return fail_memory("tags");
    for (char *letter = text->name; *letter; letter++)
        if (*letter >= 'a' && *letter <= 'z')
            *letter = (char)(*letter - 'a' + 'A');
    return STATUS_OK;
}

/* Whether a picture is complete. After its type it has two texts, 16 bytes and an image; texts and
 * image have their length before them. */
static bool is_whole_picture(const unsigned char *bytes, size_t size)
{
    size_t at = 4;
    for (int part = 0; part < 3; part++) {
        at += part == 2 ? 16 : 0;
        if (size < 4 || at > size - 4 || metadata_big(bytes + at, 4) > size - at - 4)
            return false;
        at += 4 + (size_t)metadata_big(bytes + at, 4);
    }
    return true;
}

enum status metadata_add_picture(struct sound_metadata *metadata, const void *bytes, size_t size)
{
    if (!is_whole_picture(bytes, size))
        return metadata_leave(metadata, metadata_damaged, "a picture");
    if (is_full(metadata, metadata->picture_count, METADATA_PICTURES_MOST))
        return STATUS_OK;
    for (size_t i = 0; i < metadata->picture_count; i++)
        if (metadata->pictures[i].size == size &&
            memcmp(metadata->pictures[i].bytes, bytes, size) == 0)
            return STATUS_OK;
    struct metadata_picture *picture =
        add_row(&metadata->pictures, &metadata->picture_count, sizeof *picture);
    if (!picture)
        return fail_memory("tags");
    picture->size = size;
    picture->bytes = copy_of(bytes, size);
    return picture->bytes ? STATUS_OK : fail_memory("tags");
}

enum status metadata_add_marker(struct sound_metadata *metadata, uint32_t id,
                                struct metadata_marker **marker)
{
    *marker = &metadata->surplus;
    free_marker(*marker);
    **marker = (struct metadata_marker){0};
    if (is_full(metadata, metadata->marker_parts++, METADATA_REPEATS_MOST * METADATA_MARKERS_MOST))
        return STATUS_OK;
    for (size_t i = 0; i < metadata->marker_count; i++)
        if (metadata->markers[i].id == id) {
            *marker = &metadata->markers[i];
            return STATUS_OK;
        }
    if (is_full(metadata, metadata->marker_count, METADATA_MARKERS_MOST))
        return STATUS_OK;
    *marker = add_row(&metadata->markers, &metadata->marker_count, sizeof **marker);
    if (!*marker)
        return fail_memory("tags");
    (*marker)->id = id;
    return STATUS_OK;
}

enum status metadata_place_marker(struct sound_metadata *metadata, uint32_t id, uint64_t frame,
                                  struct metadata_marker **marker)
{
    TRY(metadata_add_marker(metadata, id, marker));
    if ((*marker)->placed && (*marker)->frame != frame) {
        *marker = &metadata->surplus;
        TRY(metadata_leave(metadata, metadata_twice, "marker %u", id));
    }
    (*marker)->frame = frame;
    (*marker)->placed = true;
    return STATUS_OK;
}

const char metadata_damaged[] = "it is damaged", metadata_unknown[] = "halo does not know it",
           metadata_twice[] = "another has its number",
           metadata_no_module[] = "it needs halo-tags.so, a part of halo that is not there";

__attribute__((format(printf, 3, 0))) static enum status
add_loss(struct sound_metadata *metadata, const char *why, const char *format, va_list arguments)
{
    struct metadata_loss *loss = add_row(&metadata->losses, &metadata->loss_count, sizeof *loss);
    if (!loss)
        return fail_memory("tags");
    loss->why = why;
    if (vasprintf(&loss->what, format, arguments) >= 0)
        return STATUS_OK;
    loss->what = NULL;
    return fail_memory("tags");
}

enum status metadata_lose(struct sound_metadata *metadata, const char *why, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum status status = add_loss(metadata, why, format, arguments);
    va_end(arguments);
    return status;
}

enum status metadata_leave(struct sound_metadata *metadata, const char *why, const char *format,
                           ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum status status = is_full(metadata, metadata->loss_count, METADATA_UNKNOWN_MOST)
                             ? STATUS_OK
                             : add_loss(metadata, why, format, arguments);
    va_end(arguments);
    return status;
}

static enum status metadata_move(struct sound_metadata *metadata, const char *what)
{
    char **moved = add_row(&metadata->moved, &metadata->moved_count, sizeof *moved);
    if (!moved)
        return fail_memory("tags");
    *moved = strdup(what);
    return *moved ? STATUS_OK : fail_memory("tags");
}

void metadata_remove_text(struct sound_metadata *metadata, size_t index)
{
    free(metadata->texts[index].name);
    free(metadata->texts[index].value);
    remove_row(metadata->texts, &metadata->text_count, sizeof *metadata->texts, index);
}

void metadata_remove_marker(struct sound_metadata *metadata, size_t index)
{
    free_marker(&metadata->markers[index]);
    remove_row(metadata->markers, &metadata->marker_count, sizeof *metadata->markers, index);
}

void metadata_keep_none(struct sound_metadata *metadata)
{
    for (size_t i = 0; i < metadata->chunk_count; i++)
        metadata->chunks[i].kept = false;
    for (size_t i = 0; i < metadata->text_count; i++)
        metadata->texts[i].kept = false;
    for (size_t i = 0; i < metadata->picture_count; i++)
        metadata->pictures[i].kept = false;
    for (size_t i = 0; i < metadata->marker_count; i++)
        metadata->markers[i].kept = false;
}

const char *metadata_marker_text(struct metadata_marker *marker, size_t most)
{
    const char *const texts[] = {marker->label, marker->note, marker->text};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && *texts[i] && strlen(texts[i]) <= most) {
            marker->kept_parts = 1U << i;
            return texts[i];
        }
    marker->kept_parts = 0;
    return "";
}

enum metadata_kind metadata_kind_of(const struct metadata_chunk *chunk)
{
    bool is_broadcast = memcmp(chunk->id, "bext", 4) == 0 || memcmp(chunk->id, "iXML", 4) == 0;
    return is_broadcast ? METADATA_BROADCAST : METADATA_OTHERS;
}

/* ---- bytes that are written ---- */

enum status metadata_buffer_status(const struct metadata_buffer *buffer)
{
    if (!buffer->failed)
        return STATUS_OK;
    return buffer->said ? STATUS_FAILED : fail_memory("tags");
}

void metadata_put(struct metadata_buffer *buffer, const void *bytes, size_t size)
{
    if (size > buffer->capacity - buffer->size) {
        size_t capacity = 2 * (buffer->size + size) + 256;
        unsigned char *more = realloc(buffer->bytes, capacity);
        if (!more) {
            buffer->failed = true;
            return;
        }
        buffer->bytes = more;
        buffer->capacity = capacity;
    }
    if (size > 0)
        memcpy(buffer->bytes + buffer->size, bytes, size);
    buffer->size += size;
}

void metadata_put_little(struct metadata_buffer *buffer, uint64_t value, size_t bytes)
{
    unsigned char number[8];
    for (size_t i = 0; i < bytes; i++)
        number[i] = (unsigned char)(value >> (8 * i));
    metadata_put(buffer, number, bytes);
}

void metadata_put_big(struct metadata_buffer *buffer, uint64_t value, size_t bytes)
{
    unsigned char number[8];
    for (size_t i = 0; i < bytes; i++)
        number[i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
    metadata_put(buffer, number, bytes);
}

uint64_t metadata_little(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = count; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

uint64_t metadata_big(const unsigned char *bytes, size_t count)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[i];
    return value;
}

void metadata_put_utf8(struct metadata_buffer *buffer, const char *text)
{
    bool is_utf8 = true;
    for (const char *at = text; *at && is_utf8; at += is_utf8 ? printable_utf8(at) : 0)
        is_utf8 = printable_utf8(at) > 0;
    if (is_utf8) {
        metadata_put(buffer, text, strlen(text));
        return;
    }
    for (; *text; text++) {
        unsigned char byte = (unsigned char)*text;
        if (byte >= 0x80)
            metadata_put_big(buffer, 0xC0 | byte >> 6, 1);
        metadata_put_big(buffer, byte >= 0x80 ? 0x80 | (byte & 0x3F) : byte, 1);
    }
}

static const char changed[] = "the sound changed";
static const char before[] = "it is before the part that was taken";
static const char other_loops[] = "loops are kept by whole sounds through gains alone";
static const char beyond[] = "it is after the end of the sound";

/* ---- tags that are untrue of a changed sound ---- */

/* Comments of halo measure tell levels and times, too (sweep/measurement.h, measure/take.h). */
static bool is_about_level(const struct metadata_text *text)
{
    const char *name = text->name, *value = text->value;
    if (strcmp(name, "COMMENT") == 0)
        return strncmp(value, "halo measure", strlen("halo measure")) == 0 ||
               strncmp(value, "halo sweep", strlen("halo sweep")) == 0 ||
               strncmp(value, "halo take", strlen("halo take")) == 0;
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
        if (!is_about_level(&metadata->texts[i]))
            continue;
        TRY(metadata_lose(metadata, changed, "%s", metadata->texts[i].name));
        metadata_remove_text(metadata, i);
    }
    return STATUS_OK;
}

/* Drop the tag with the layout. The sink writes the layout anew (channel_order.h). */
static void drop_layout(struct sound_metadata *metadata)
{
    for (size_t i = metadata->text_count; i-- > 0;)
        if (strcmp(metadata->texts[i].name, METADATA_CHANNEL_MASK) == 0)
            metadata_remove_text(metadata, i);
}

/* ---- markers of a changed sound ---- */

static uint64_t at_rate(uint64_t frames, const struct metadata_change *change)
{
    if (change->rate == change->rate_in)
        return frames;
    double moved = rint((double)frames * change->rate / change->rate_in);
    /* markers of a damaged file may have any frame */
    return moved < 0x1p64 ? (uint64_t)moved : UINT64_MAX;
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

/* ---- a changed broadcast WAV: EBU Tech 3285 ---- */

enum {
    BEXT_LEAST = 602,
    BEXT_TIME = 338, /* offset of the time of the first sample: samples since midnight, 8 bytes */
    BEXT_VERSION = 346,
    BEXT_LOUDNESS = 412, /* offset of five loudness values of two bytes, from version 2 on */
    BEXT_LOUDNESS_END = 422,
};

/* Clear the loudness. 0x7FFF means that a value is not given. */
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

/* Add a line to the coding history (EBU R98), which lists processing in the order of time. */
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

/* ---- chunks of a changed sound ---- */

static const struct {
    enum metadata_family family;
    const char *id;
    /* Adjust the chunk. NULL: the chunk describes the old samples and is dropped. */
    enum status (*adjust)(struct sound_metadata *metadata, struct metadata_chunk *chunk,
                          const struct metadata_change *change);
    bool of_channels; /* kept if the number of channels stays */
    bool of_loops;    /* kept with change->keeps_loops */
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
    /* ITU-R BS.2088: chna assigns channels to objects of a scene, axml describes the scene. */
    {FAMILY_RIFF, "chna", .of_channels = true},
    {FAMILY_RIFF, "axml", .of_channels = true},
    {FAMILY_RIFF, "bxml", .of_channels = true},
};

static enum status adjust_chunk(struct sound_metadata *metadata, size_t index,
                                const struct metadata_change *change)
{
    struct metadata_chunk *chunk = &metadata->chunks[index];
    /* ffmpeg opens no file with a bext chunk that is too short */
    if (memcmp(chunk->id, "bext", 4) == 0 && chunk->size < BEXT_LEAST) {
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
