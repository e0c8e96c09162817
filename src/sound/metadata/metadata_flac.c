/* Metadata of FLAC and Ogg: Vorbis comments, pictures, and in FLAC the chunks of a WAV or AIFF as
 * `flac --keep-foreign-metadata` stores them. RFC 9639, the Vorbis I specification, RFC 7845. */
#include "sound/metadata/metadata.h"

#include "sound/file/sound_io.h"
#include "sound/sodium_library.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    BLOCK_STREAM = 0,
    BLOCK_PADDING = 1,
    BLOCK_APPLICATION = 2,
    BLOCK_SEEKING = 3,
    BLOCK_COMMENTS = 4,
    BLOCK_CUES = 5,
    BLOCK_PICTURE = 6,
};
enum { BLOCK_LAST = 0x80, BLOCK_MOST = (1 << 24) - 1, BLOCKS_MOST = 1 << 16 };

static const char picture_name[] = "METADATA_BLOCK_PICTURE";

/* ---- Vorbis comments ---- */

static enum status parse_picture_text(struct sound_metadata *metadata, const char *text,
                                      size_t size)
{
    size_t length = 0;
    TRY(library_open(&sodium_library));
    unsigned char *bytes = malloc(size + 1);
    if (!bytes)
        return fail_memory("tags");
    if (sodium_base642bin(bytes, size + 1, text, size, " \r\n", &length, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0)
        length = 0; /* the length is damaged */
    enum status status = metadata_add_picture(metadata, bytes, length);
    free(bytes);
    return status;
}

static enum status parse_comment(struct sound_metadata *metadata, const char *text, size_t size)
{
    const char *sign = memchr(text, '=', size);
    if (!sign || sign == text)
        return metadata_leave(metadata, "it has no name", "a comment");
    size_t name = (size_t)(sign - text), value = size - name - 1;
    if (name == sizeof picture_name - 1 && strncasecmp(text, picture_name, name) == 0)
        return parse_picture_text(metadata, sign + 1, value);
    return metadata_add_text(metadata, text, name, sign + 1, value);
}

/* Parse comments. `bytes` begin with the length of the vendor's name. */
static enum status parse_comments(struct sound_metadata *metadata, const unsigned char *bytes,
                                  size_t size)
{
    size_t vendor = size >= 8 ? metadata_little(bytes, 4) : SIZE_MAX;
    if (size < 8 || vendor > size - 8)
        return metadata_leave(metadata, metadata_damaged, "the list of comments");
    uint64_t count = metadata_little(bytes + 4 + vendor, 4);
    size_t at = 8 + vendor;
    for (; count > 0 && size - at >= 4; count--) {
        size_t length = metadata_little(bytes + at, 4);
        if (length > size - at - 4)
            break;
        TRY(parse_comment(metadata, (const char *)bytes + at + 4, length));
        at += 4 + length;
    }
    at += at < size && bytes[at] == 1; /* the framing bit of Vorbis */
    return count == 0 && metadata_is_zero(bytes + at, size - at)
               ? STATUS_OK
               : metadata_leave(metadata, metadata_damaged, "the end of the list of comments");
}

/* Write a comment. False: it would exceed `most` bytes. */
static bool put_comment(struct metadata_buffer *buffer, size_t most, const char *name,
                        const char *value)
{
    struct metadata_buffer text = {0};
    metadata_put_utf8(&text, name);
    metadata_put(&text, "=", 1);
    metadata_put_utf8(&text, value);
    bool fits = buffer->size + 4 + text.size <= most;
    if (fits) {
        metadata_put_little(buffer, text.size, 4);
        metadata_put(buffer, text.bytes, text.size);
    }
    buffer->failed |= text.failed;
    free(text.bytes);
    return fits;
}

static bool put_picture_text(struct metadata_buffer *buffer, size_t most,
                             const struct metadata_picture *picture)
{
    bool fits = false;
    if (library_open(&sodium_library) != STATUS_OK) {
        buffer->failed = buffer->said = true;
        return false;
    }
    size_t size = sodium_base64_encoded_len(picture->size, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(size);
    if (text) {
        sodium_bin2base64(text, size, picture->bytes, picture->size,
                          sodium_base64_VARIANT_ORIGINAL);
        fits = put_comment(buffer, most, picture_name, text);
    }
    buffer->failed |= !text;
    free(text);
    return fits;
}

/* Whether a name is valid: printable ASCII without '='. */
static bool can_be_name(const char *name)
{
    for (; *name; name++)
        if (*name < ' ' || *name > '}' || *name == '=')
            return false;
    return true;
}

void metadata_write_comments(struct sound_metadata *metadata, const char *channel_mask,
                             bool with_pictures, size_t most, struct metadata_buffer *buffer)
{
    uint32_t count = channel_mask ? 1 : 0;
    size_t start = buffer->size;
    metadata_put_little(buffer, 0, 4); /* number of comments, set at the end */
    if (channel_mask)
        (void)put_comment(buffer, most, METADATA_CHANNEL_MASK, channel_mask);
    for (size_t i = 0; metadata && i < metadata->text_count; i++) {
        struct metadata_text *text = &metadata->texts[i];
        text->kept = can_be_name(text->name) && put_comment(buffer, most, text->name, text->value);
        count += text->kept;
    }
    for (size_t i = 0; metadata && with_pictures && i < metadata->picture_count; i++) {
        struct metadata_picture *picture = &metadata->pictures[i];
        picture->kept = put_picture_text(buffer, most, picture);
        count += picture->kept;
    }
    if (!buffer->failed)
        metadata_put_little(
            &(struct metadata_buffer){.bytes = buffer->bytes + start, .capacity = 4}, count, 4);
}

/* ---- FLAC ---- */

/* Parse an application block with a foreign chunk. Each kind's first is the file's own header. */
static enum status parse_application(struct sound_metadata *metadata, const unsigned char *bytes,
                                     size_t size)
{
    bool is_riff = size >= 12 && memcmp(bytes, "riff", 4) == 0;
    bool is_aiff = size >= 12 && memcmp(bytes, "aiff", 4) == 0;
    const char *id = (const char *)bytes + 4;
    if (!is_riff && !is_aiff)
        return metadata_leave(metadata, metadata_unknown, "a block of an application");
    if (memcmp(id, "RIFF", 4) == 0 || memcmp(id, "RF64", 4) == 0 || memcmp(id, "FORM", 4) == 0)
        return STATUS_OK;
    metadata->origin = is_riff ? FAMILY_RIFF : FAMILY_AIFF;
    size_t content = (is_riff ? metadata_little : metadata_big)(bytes + 8, 4);
    const struct metadata_form *form = metadata_forms[metadata->origin];
    if (!form->wants(id))
        return STATUS_OK;
    if (content > size - 12)
        return metadata_leave(metadata, metadata_damaged, "a chunk");
    return form->parse(metadata, id, false, bytes + 12, content);
}

static enum status parse_block(struct sound_metadata *metadata, unsigned type,
                               const unsigned char *bytes, size_t size)
{
    switch (type) {
    case BLOCK_APPLICATION:
        return parse_application(metadata, bytes, size);
    case BLOCK_COMMENTS:
        return parse_comments(metadata, bytes, size);
    case BLOCK_PICTURE:
        return metadata_add_picture(metadata, bytes, size);
    case BLOCK_CUES:
        return metadata_leave(metadata, "its tracks are those of a disc", "a cue sheet");
    case BLOCK_STREAM:
    case BLOCK_PADDING:
    case BLOCK_SEEKING:
        return STATUS_OK;
    default:
        return metadata_leave(metadata, metadata_unknown, "a block of type %u", type);
    }
}

enum status metadata_read_flac(struct sound_bytes *bytes, uint64_t at,
                               struct sound_metadata *metadata)
{
    unsigned char header[4] = {0};
    for (size_t i = 0; i < BLOCKS_MOST && !(header[0] & BLOCK_LAST); i++) {
        if (!sound_bytes_read(bytes, at, header, sizeof header)) {
            metadata->cut = true;
            return STATUS_OK;
        }
        uint64_t size = metadata_big(header + 1, 3);
        unsigned char *taken;
        TRY(metadata_copy(metadata, bytes, at + 4, size, &taken));
        if (!taken)
            return STATUS_OK;
        enum status status =
            parse_block(metadata, header[0] & (BLOCK_LAST - 1), taken, (size_t)size);
        free(taken);
        TRY(status);
        at += 4 + size;
    }
    return STATUS_OK;
}

struct block_list {
    struct metadata_buffer *buffer;
    size_t last; /* offset of the last block's header */
};

static bool put_block(struct block_list *list, unsigned type, const char *application,
                      const void *bytes, size_t size)
{
    size_t whole = size + (application ? 4 : 0);
    if (whole > BLOCK_MOST)
        return false;
    list->last = list->buffer->size;
    metadata_put_big(list->buffer, type, 1);
    metadata_put_big(list->buffer, whole, 3);
    if (application)
        metadata_put(list->buffer, application, 4);
    metadata_put(list->buffer, bytes, size);
    return true;
}

static void put_rate(struct metadata_buffer *buffer, uint32_t rate) /* as an 80-bit float */
{
    int shift = __builtin_clz(rate | 1);
    metadata_put_big(buffer, 16383 + 31 - (uint64_t)shift, 2);
    metadata_put_big(buffer, (uint64_t)rate << (32 + shift), 8);
}

/* Write the headers of the file that flac would decode to: the file's header up to its chunks, and
 * the header of the samples' chunk. */
static void put_file_header(struct metadata_buffer *head, struct metadata_buffer *data,
                            bool is_riff, uint64_t chunks, const struct metadata_change *change)
{
    uint64_t frame = change->bytes * change->channels;
    uint64_t samples = change->frames > 0 ? (uint64_t)change->frames * frame : 0;
    uint64_t padded = samples + (samples & 1);
    if (is_riff) {
        metadata_put(head, "RIFF", 4);
        metadata_put_little(head, 4 + 24 + chunks + 8 + padded, 4);
        metadata_put(head, "WAVE", 4);
        metadata_put(data, "data", 4);
        metadata_put_little(data, samples, 4);
        return;
    }
    metadata_put(head, "FORM", 4);
    metadata_put_big(head, 4 + 26 + chunks + 16 + padded, 4);
    metadata_put(head, "AIFF", 4);
    metadata_put(data, "SSND", 4);
    metadata_put_big(data, samples + 8, 4);
    metadata_put_big(data, 0, 8);
}

static void put_format(struct metadata_buffer *format, bool is_riff,
                       const struct metadata_change *change)
{
    uint32_t frame = (uint32_t)(change->bytes * change->channels);
    metadata_put(format, is_riff ? "fmt " : "COMM", 4);
    if (is_riff) {
        metadata_put_little(format, 16, 4);
        metadata_put_little(format, 1, 2);
        metadata_put_little(format, change->channels, 2);
        metadata_put_little(format, change->rate, 4);
        metadata_put_little(format, (uint64_t)change->rate * frame, 4);
        metadata_put_little(format, frame, 2);
        metadata_put_little(format, change->bits, 2);
        return;
    }
    metadata_put_big(format, 18, 4);
    metadata_put_big(format, change->channels, 2);
    metadata_put_big(format, change->frames > 0 ? (uint64_t)change->frames : 0, 4);
    metadata_put_big(format, change->bits, 2);
    put_rate(format, change->rate);
}

static void lose_large(struct sound_metadata *metadata, const unsigned char *id)
{
    for (size_t i = 0; i < metadata->chunk_count; i++)
        if (memcmp(metadata->chunks[i].id, id, 4) == 0)
            metadata->chunks[i].kept = false;
}

static void put_foreign(struct sound_metadata *metadata, const struct metadata_change *change,
                        struct block_list *list)
{
    bool is_riff = metadata->origin != FAMILY_AIFF;
    const char *application = is_riff ? "riff" : "aiff";
    struct metadata_buffer chunks = {0}, head = {0}, format = {0}, data = {0};
    enum metadata_family family = is_riff ? FAMILY_RIFF : FAMILY_AIFF;
    metadata_forms[family]->write(metadata, family, false, &chunks);
    put_file_header(&head, &data, is_riff, chunks.size, change);
    put_format(&format, is_riff, change);
    list->buffer->failed |= chunks.failed || head.failed || format.failed || data.failed;
    if (chunks.size > 0 && !list->buffer->failed) {
        put_block(list, BLOCK_APPLICATION, application, head.bytes, head.size);
        put_block(list, BLOCK_APPLICATION, application, format.bytes, format.size);
        for (size_t at = 0; at < chunks.size;) {
            unsigned char *chunk = chunks.bytes + at;
            size_t size = (is_riff ? metadata_little : metadata_big)(chunk + 4, 4);
            size_t whole = 8 + size + (size & 1);
            if (!put_block(list, BLOCK_APPLICATION, application, chunk, whole))
                lose_large(metadata, chunk);
            at += whole;
        }
        put_block(list, BLOCK_APPLICATION, application, data.bytes, data.size);
    }
    free(chunks.bytes);
    free(head.bytes);
    free(format.bytes);
    free(data.bytes);
}

void metadata_write_flac(struct sound_metadata *metadata, const struct metadata_change *change,
                         struct metadata_buffer *buffer)
{
    struct block_list list = {.buffer = buffer};
    put_foreign(metadata, change, &list);
    for (size_t i = 0; i < metadata->picture_count; i++) {
        struct metadata_picture *picture = &metadata->pictures[i];
        picture->kept = put_block(&list, BLOCK_PICTURE, NULL, picture->bytes, picture->size);
    }
    if (buffer->size > 0 && !buffer->failed)
        buffer->bytes[list.last] |= BLOCK_LAST;
}

/* ---- Ogg ---- */

/* Read the packet that begins with the page at *at, and set *at to the page after it. Pages of
 * other streams are skipped. A packet that is too long is left out. */
static enum status read_packet(struct sound_bytes *bytes, uint64_t *at,
                               struct sound_metadata *metadata, struct metadata_buffer *packet)
{
    unsigned char page[OGG_HEADER + OGG_SEGMENTS_MOST], serial[4];
    unsigned char *body;
    for (bool ends = false, is_first = true; !ends; is_first = false) {
        if (!sound_bytes_read(bytes, *at, page, OGG_HEADER) || memcmp(page, "OggS", 4) != 0 ||
            !sound_bytes_read(bytes, *at, page, OGG_HEADER + (size_t)page[26])) {
            metadata->cut = true;
            return STATUS_OK;
        }
        size_t count = page[26], size = 0, wanted = 0;
        for (size_t i = 0; i < count; i++) {
            size += page[OGG_HEADER + i];
            wanted += ends ? 0 : page[OGG_HEADER + i];
            ends |= page[OGG_HEADER + i] < 255;
        }
        if (is_first)
            memcpy(serial, page + 14, sizeof serial);
        bool is_other = memcmp(serial, page + 14, sizeof serial) != 0;
        ends &= !is_other;
        TRY(metadata_copy(metadata, bytes, *at + OGG_HEADER + count, is_other ? 0 : wanted, &body));
        if (body)
            metadata_put(packet, body, is_other ? 0 : wanted);
        free(body);
        if (!body || packet->failed)
            return packet->failed ? fail_memory("tags") : STATUS_OK;
        *at += OGG_HEADER + count + size;
    }
    return STATUS_OK;
}

static enum status parse_packet(struct sound_metadata *metadata,
                                const struct metadata_buffer *packet)
{
    static const struct {
        const char *magic;
        size_t size;
    } kinds[] = {{"\x03vorbis", 7}, {"OpusTags", 8}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (packet->size > kinds[i].size &&
            memcmp(packet->bytes, kinds[i].magic, kinds[i].size) == 0)
            return parse_comments(metadata, packet->bytes + kinds[i].size,
                                  packet->size - kinds[i].size);
    bool is_flac = packet->size > 4 && (packet->bytes[0] & (BLOCK_LAST - 1)) == BLOCK_COMMENTS;
    return is_flac ? parse_comments(metadata, packet->bytes + 4, packet->size - 4)
                   : metadata_leave(metadata, metadata_damaged, "the list of comments");
}

enum status metadata_read_ogg(struct sound_bytes *bytes, struct sound_metadata *metadata)
{
    struct metadata_buffer first = {0}, second = {0};
    uint64_t at = 0;
    enum status status = read_packet(bytes, &at, metadata, &first);
    if (status == STATUS_OK && !metadata->cut)
        status = read_packet(bytes, &at, metadata, &second);
    if (status == STATUS_OK)
        status = parse_packet(metadata, &second);
    free(first.bytes);
    free(second.bytes);
    return status;
}
