#include "sound/sink_metadata.h"

#include "sound/channel_order.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_wav(int container)
{
    return container == SF_FORMAT_WAV || container == SF_FORMAT_WAVEX ||
           container == SF_FORMAT_RF64;
}

bool sink_metadata_follows(int container)
{
    return is_wav(container) || container == SF_FORMAT_AIFF || container == SF_FORMAT_CAF;
}

static void put_chunks(struct sound_metadata *metadata, int container, bool is_rf64,
                       struct metadata_buffer *bytes)
{
    if (container == SF_FORMAT_W64)
        metadata_write_riff(metadata, FAMILY_W64, true, bytes);
    else if (container == SF_FORMAT_AIFF)
        metadata_write_aiff(metadata, true, bytes);
    else if (container == SF_FORMAT_CAF)
        metadata_write_caf(metadata, bytes);
    else
        metadata_write_riff(metadata, is_rf64 ? FAMILY_RF64 : FAMILY_RIFF, true, bytes);
}

/* libsndfile finds no samples behind about 50,000 bytes of chunks, or behind some that it knows and
 * are damaged. The most valuable is chosen first. */
static void put_in_front(struct sound_metadata *metadata, int container,
                         struct metadata_buffer *bytes)
{
    enum { MOST = 32768 };
    unsigned without = METADATA_ALL;
    metadata->why_without = "there is no room for it in front of the samples";
    for (unsigned kind = METADATA_BROADCAST; kind > METADATA_OTHERS; kind >>= 1) {
        metadata->without = without & ~kind;
        bytes->size = 0;
        put_chunks(metadata, container, false, bytes);
        without &= bytes->size <= MOST ? ~kind : METADATA_ALL;
    }
    metadata->without = without;
    bytes->size = 0;
    metadata_keep_none(metadata);
    put_chunks(metadata, container, false, bytes);
}

static enum splice_kind plan_flac(const struct sink_settings *settings,
                                  struct channel_layout layout, struct sound_splice *splice)
{
    char mask[16];
    bool is_implied =
        !channel_layout_is_known(layout) ||
        channel_layout_equals(layout, channel_layout_of_flac(settings->format.channels));
    snprintf(mask, sizeof mask, "0x%04X", layout.speakers);
    const struct metadata_change change = {
        .frames = settings->frames,
        .rate = settings->format.rate,
        .channels = settings->format.channels,
        .bits = sound_format_bits(settings->sound_format),
        .bytes = sound_format_bytes(settings->sound_format),
    };
    metadata_write_comments(settings->metadata, is_implied ? NULL : mask, false, COMMENTS_MOST,
                            &splice->comments);
    if (settings->metadata)
        metadata_write_flac(settings->metadata, &change, &splice->bytes);
    return splice->comments.size > 4 || splice->bytes.size > 0 ? SPLICE_FLAC : SPLICE_NONE;
}

/* libsndfile has at most 51,200 bytes for the header of an Opus. */
enum { OPUS_MOST = 50000 };

static bool is_opus(const struct sink_settings *settings)
{
    return (settings->sound_format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
}

static enum splice_kind plan(const struct sink_settings *settings, bool is_stream,
                             struct channel_layout layout, struct sound_splice *splice)
{
    int major = settings->sound_format & SF_FORMAT_TYPEMASK;
    if (major == SF_FORMAT_FLAC)
        return plan_flac(settings, layout, splice);
    if (!settings->metadata)
        return SPLICE_NONE;
    switch (major) {
    case SF_FORMAT_OGG:
        metadata_write_comments(settings->metadata, NULL, true,
                                is_opus(settings) ? OPUS_MOST : COMMENTS_MOST, &splice->comments);
        return splice->comments.size > 4 ? SPLICE_OGG : SPLICE_NONE;
#ifdef HALO_SNDFILE_MP3
    case SF_FORMAT_MPEG:
        metadata_write_id3(settings->metadata, true, &splice->bytes);
        return splice->bytes.size > 0 ? SPLICE_FRONT : SPLICE_NONE;
#endif
    default:
        if (is_stream ? is_wav(major) : major == SF_FORMAT_W64)
            put_in_front(settings->metadata, major, &splice->bytes);
        return SPLICE_NONE;
    }
}

enum status sink_metadata_plan(const struct sink_settings *settings, bool is_stream,
                               struct channel_layout layout, struct sound_splice *splice)
{
    splice->kind = plan(settings, is_stream, layout, splice);
    TRY(metadata_buffer_status(&splice->bytes));
    return metadata_buffer_status(&splice->comments);
}

enum status sink_metadata_plan_after(struct sound_metadata *metadata, int container, bool is_rf64,
                                     uint64_t size, struct metadata_buffer *chunks)
{
    enum { MARGIN = 64 }; /* for what the file gets at its end */
    bool is_narrow = !is_rf64 && container != SF_FORMAT_CAF;
    chunks->size = 0;
    metadata_keep_none(metadata);
    put_chunks(metadata, container, is_rf64, chunks);
    if (is_narrow && size + chunks->size + MARGIN > UINT32_MAX) {
        chunks->size = 0;
        metadata_keep_none(metadata);
    }
    return metadata_buffer_status(chunks);
}

/* Where the chunk after the samples is to begin; 0: they have none. */
static uint64_t end_of_samples(struct sound_chunks *chunks)
{
    struct sound_chunk chunk;
    while (sound_chunks_next(chunks, &chunk) && !chunk.is_absurd)
        if (chunk.is_data)
            return chunk.is_open ? 0 : chunks->at;
    return 0;
}

int sink_metadata_append(int fd, const struct metadata_buffer *added)
{
    struct sound_bytes bytes = sound_bytes_of_file(fd);
    struct sound_chunks chunks;
    const char zeros[16] = "";
    unsigned char number[8];
    uint64_t at = sound_chunks_begin(&bytes, &chunks) ? end_of_samples(&chunks) : 0;
    if (at == 0)
        return bytes.error ? bytes.error : EIO;
    size_t padding =
        at > bytes.size ? (size_t)(at - bytes.size) : 0; /* less than a chunk's align */
    int error = padding < sizeof zeros ? sound_bytes_write(fd, bytes.size, zeros, padding) : EIO;
    if (bytes.size >
        at + 1) /* chunks that libsndfile has put there; a byte is its padding of a CAF */
        at = bytes.size;
    if (!error)
        error = sound_bytes_write(fd, at, added->bytes, added->size);
    const struct chunk_layout *layout = chunks.layout;
    if (error || layout->whole_bytes == 0)
        return error;
    struct metadata_buffer whole = {.bytes = number, .capacity = layout->whole_bytes};
    (layout->big_endian ? metadata_put_big : metadata_put_little)(
        &whole, at + added->size - layout->whole_less, layout->whole_bytes);
    return sound_bytes_write(fd, layout->whole_at, number, layout->whole_bytes);
}

static enum status make_room(size_t room, SNDFILE *file)
{
    char *text = malloc(room + 1);
    if (!text)
        return fail_memory("tags");
    memset(text, ' ', room);
    text[room] = '\0';
    int failed = sf_set_string(file, SF_STR_COMMENT, text);
    free(text);
    return failed ? fail_memory("tags") : STATUS_OK;
}

enum status sink_metadata_set(const struct sound_splice *splice, SNDFILE *file)
{
    return splice->kind == SPLICE_OGG ? make_room(sound_splice_room(splice), file) : STATUS_OK;
}
