#include "sound/w64_header.h"

#include "sound/sound_format.h"
#include "sound/stream_header.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    RIFF_SIZE_AT = 16,
    FORMAT_AT = 40,
    CHUNK_HEADER = 24,
    FORMAT_PLAIN = 16,
    FORMAT_SIZE = 40,
    CHUNKS_AT = FORMAT_AT + CHUNK_HEADER, /* and the format */
};

static const unsigned char riff[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                       0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0,    0};
/* Of all other chunks, behind four letters. */
static const unsigned char chunk_id[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1,
                                           0,    0xc0, 0x4f, 0x8e, 0xdb, 0x8a};

static void put(unsigned char *bytes, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

static void put_id(unsigned char *bytes, const char id[5])
{
    memcpy(bytes, id, 4);
    memcpy(bytes + 4, chunk_id, sizeof chunk_id);
}

static size_t format_size(bool is_extensible)
{
    return is_extensible ? FORMAT_SIZE : FORMAT_PLAIN;
}

int w64_header_begin(int fd, const struct stream_format *format, int sound_format,
                     bool is_extensible, const struct metadata_buffer *chunks)
{
    unsigned char header[CHUNKS_AT + FORMAT_SIZE] = {0}, data[CHUNK_HEADER] = {0},
                                     *chunk = header + CHUNKS_AT;
    size_t size = CHUNKS_AT + format_size(is_extensible);
    unsigned bytes = sound_format_bytes(sound_format);
    unsigned tag = sound_format_bits(sound_format) ? TAG_PCM : TAG_FLOAT;
    uint64_t frame = bytes * (uint64_t)format->channels;
    memcpy(header, riff, sizeof riff);
    put_id(header + RIFF_SIZE_AT + 8, "wave");
    put_id(header + FORMAT_AT, "fmt ");
    put(header + FORMAT_AT + 16, CHUNK_HEADER + format_size(is_extensible), 8);
    put(chunk, is_extensible ? TAG_EXTENSIBLE : tag, 2);
    put(chunk + 2, format->channels, 2);
    put(chunk + 4, format->rate, 4);
    put(chunk + 8, format->rate * frame, 4);
    put(chunk + 12, frame, 2);
    put(chunk + 14, 8 * bytes, 2);
    put(chunk + 16, 2 + CHANNEL_WAV_BYTES, 2); /* from here on: not if it is plain */
    put(chunk + 18, 8 * bytes, 2);
    channel_layout_put_wav(format->layout, tag, chunk + 20);
    put_id(data, "data");
    int error = sound_bytes_write(fd, 0, header, size);
    if (!error)
        error = sound_bytes_write(fd, size, chunks->bytes, chunks->size);
    size += chunks->size;
    if (!error)
        error = sound_bytes_write(fd, size, data, sizeof data);
    if (!error && lseek(fd, (off_t)(size + sizeof data), SEEK_SET) < 0)
        error = errno;
    return error;
}

/* Without padding, which libsndfile takes for samples. */
int w64_header_end(int fd, bool is_extensible, size_t chunks)
{
    unsigned char size[8];
    off_t data = (off_t)(CHUNKS_AT + format_size(is_extensible) + chunks);
    off_t end = lseek(fd, 0, SEEK_END);
    if (end < data + CHUNK_HEADER)
        return end < 0 ? errno : EIO;
    put(size, (uint64_t)(end - data), sizeof size);
    int error = sound_bytes_write(fd, (uint64_t)data + 16, size, sizeof size);
    put(size, (uint64_t)end, sizeof size);
    return error ? error : sound_bytes_write(fd, RIFF_SIZE_AT, size, sizeof size);
}

bool w64_header_reads_raw(struct sound_bytes *bytes, SF_INFO *info, uint64_t *start,
                          int64_t *frames)
{
    struct sound_chunk format, data;
    uint64_t outer, tag, bits;
    if ((info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_W64 ||
        !sound_chunks_find(bytes, "fmt ", &format) || format.size < FORMAT_SIZE ||
        !sound_chunks_find(bytes, "data", &data) ||
        !sound_bytes_number(bytes, format.content, 2, &outer) || outer != TAG_EXTENSIBLE ||
        !sound_bytes_number(bytes, format.content + 24, 2, &tag) || tag != TAG_FLOAT ||
        !sound_bytes_number(bytes, format.content + 14, 2, &bits) || (bits != 32 && bits != 64))
        return false;
    *info = (SF_INFO){.format = SF_FORMAT_RAW | SF_ENDIAN_LITTLE |
                                (bits == 32 ? SF_FORMAT_FLOAT : SF_FORMAT_DOUBLE),
                      .channels = info->channels,
                      .samplerate = info->samplerate};
    *start = data.content;
    *frames = (int64_t)(data.size / (bits / 8 * (uint64_t)info->channels));
    return info->channels > 0;
}
