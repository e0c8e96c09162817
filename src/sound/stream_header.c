#include "sound/stream_header.h"

#include "base/stop.h"
#include "sound/port.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum {
    INFO_MOST = 1 << 20, /* bytes of tags worth reading */
    RATE_MOST = 10000000,
    CHANNELS_MOST = 1024,
};

#define SIZE_UNKNOWN UINT32_C(0xFFFFFFFF)

static const struct {
    const char id[5];
    int tag;
} info_tags[] = {
    {"INAM", SF_STR_TITLE},  {"ICOP", SF_STR_COPYRIGHT},   {"ISFT", SF_STR_SOFTWARE},
    {"IART", SF_STR_ARTIST}, {"ICMT", SF_STR_COMMENT},     {"ICRD", SF_STR_DATE},
    {"IPRD", SF_STR_ALBUM},  {"ITRK", SF_STR_TRACKNUMBER}, {"IGNR", SF_STR_GENRE},
};
enum { INFO_TAGS = sizeof info_tags / sizeof *info_tags };

/* ---- reading ---- */

struct reader {
    FILE *stream;
    const char *name;
    bool big_endian;
};

static enum status read_bytes(struct reader *reader, void *bytes, size_t count)
{
    if (fread(bytes, 1, count, reader->stream) == count)
        return STATUS_OK;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    return fail(STATUS_FAILED, "cannot read %s: %s", reader->name,
                ferror(reader->stream) ? strerror(errno) : "its WAV header is cut short");
}

static enum status skip_bytes(struct reader *reader, uint64_t count)
{
    char scrap[4096];
    while (count > 0) {
        size_t part = count < sizeof scrap ? (size_t)count : sizeof scrap;
        TRY(read_bytes(reader, scrap, part));
        count -= part;
    }
    return STATUS_OK;
}

static uint32_t number(const struct reader *reader, const unsigned char *bytes, size_t count)
{
    uint32_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[reader->big_endian ? i : count - 1 - i];
    return value;
}

static int subtype_for(uint32_t tag, uint32_t bits)
{
    static const int pcm[] = {SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24,
                              SF_FORMAT_PCM_32};
    if (tag == TAG_FLOAT)
        return bits == 32 ? SF_FORMAT_FLOAT : bits == 64 ? SF_FORMAT_DOUBLE : 0;
    return tag == TAG_PCM && bits >= 8 && bits <= 32 && bits % 8 == 0 ? pcm[bits / 8 - 1] : 0;
}

static enum status read_format(struct reader *reader, uint32_t size, struct wav_header *header)
{
    unsigned char bytes[40] = {0};
    size_t known = size < sizeof bytes ? size : sizeof bytes;
    if (size < 16)
        return fail(STATUS_FAILED, "cannot read %s: its WAV format is cut short", reader->name);
    TRY(read_bytes(reader, bytes, known));
    TRY(skip_bytes(reader, (uint64_t)size - known + (size & 1)));
    uint32_t tag = number(reader, bytes, 2);
    uint32_t channels = number(reader, bytes + 2, 2);
    uint32_t rate = number(reader, bytes + 4, 4);
    uint32_t bits = number(reader, bytes + 14, 2);
    if (tag == TAG_EXTENSIBLE && size >= 40)
        tag = number(reader, bytes + 24, 2);
    int subtype = subtype_for(tag, bits);
    if (!subtype)
        return fail(STATUS_FAILED,
                    "cannot read %s: a WAV stream with format tag %u and %u bits is not supported; "
                    "use a file",
                    reader->name, tag, bits);
    if (channels == 0 || channels > CHANNELS_MOST || rate == 0 || rate > RATE_MOST)
        return fail(STATUS_FAILED, "cannot read %s: its header says %u channels at %u Hz",
                    reader->name, channels, rate);
    header->stream = (struct stream_format){.rate = rate, .channels = channels};
    header->frame_bytes = (size_t)channels * bits / 8;
    header->raw_format =
        SF_FORMAT_RAW | subtype | (reader->big_endian ? SF_ENDIAN_BIG : SF_ENDIAN_LITTLE);
    return STATUS_OK;
}

static void read_info(const struct reader *reader, const char *list, size_t size,
                      struct sound_traits *traits)
{
    size_t at = 4; /* past "INFO" */
    while (at + 8 <= size) {
        size_t length = number(reader, (const unsigned char *)list + at + 4, 4);
        if (length > size - at - 8)
            return;
        for (size_t i = 0; i < INFO_TAGS; i++) {
            char **tag = &traits->tags[info_tags[i].tag];
            if (!*tag && memcmp(list + at, info_tags[i].id, 4) == 0)
                *tag = strndup(list + at + 8, length);
        }
        at += 8 + length + (length & 1);
    }
}

static enum status read_list(struct reader *reader, uint32_t size, struct sound_traits *traits)
{
    uint64_t padded = (uint64_t)size + (size & 1);
    if (size < 4 || size > INFO_MOST)
        return skip_bytes(reader, padded);
    char *list = malloc((size_t)padded);
    if (!list)
        return fail_memory("tags");
    enum status status = read_bytes(reader, list, (size_t)padded);
    if (status == STATUS_OK && memcmp(list, "INFO", 4) == 0)
        read_info(reader, list, size, traits);
    free(list);
    return status;
}

static enum status read_sizes_64(struct reader *reader, uint32_t size, uint64_t *data_size)
{
    unsigned char bytes[16];
    if (size < sizeof bytes)
        return skip_bytes(reader, (uint64_t)size + (size & 1));
    TRY(read_bytes(reader, bytes, sizeof bytes));
    *data_size = (uint64_t)number(reader, bytes + 12, 4) << 32 | number(reader, bytes + 8, 4);
    return skip_bytes(reader, (uint64_t)size - sizeof bytes + (size & 1));
}

/* Sizes that sox (just under 0x7FFFF000) and arecord (about 0x80000000) write if unknown. */
static bool is_made_up(uint32_t size, size_t frame)
{
    return (size > 0x7FFFF000 - frame && size <= 0x7FFFF000) ||
           (size >= 0x7FFFFF00 && size <= 0x80000000);
}

bool stream_header_is_wav(const unsigned char head[12])
{
    bool riff = memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RIFX", 4) == 0 ||
                memcmp(head, "RF64", 4) == 0;
    return riff && memcmp(head + 8, "WAVE", 4) == 0;
}

enum status stream_header_read_wav(FILE *stream, const unsigned char head[12], const char *name,
                                   struct wav_header *header, struct sound_traits *traits)
{
    struct reader reader = {
        .stream = stream, .name = name, .big_endian = memcmp(head, "RIFX", 4) == 0};
    uint64_t size_64 = 0;
    *header = (struct wav_header){.frames = FRAMES_UNKNOWN};
    for (;;) {
        unsigned char chunk[8];
        TRY(read_bytes(&reader, chunk, sizeof chunk));
        uint32_t size = number(&reader, chunk + 4, 4);
        if (memcmp(chunk, "data", 4) == 0) {
            if (header->frame_bytes == 0)
                return fail(STATUS_FAILED, "cannot read %s: its WAV header has no format", name);
            uint64_t bytes = size == SIZE_UNKNOWN ? size_64 : size;
            if (is_made_up(size, header->frame_bytes))
                bytes = 0;
            if (bytes > 0 && bytes <= INT64_MAX)
                header->frames = (int64_t)(bytes / header->frame_bytes);
            int major = reader.big_endian ? SF_FORMAT_WAV | SF_ENDIAN_BIG : SF_FORMAT_WAV;
            traits->format = major | (header->raw_format & SF_FORMAT_SUBMASK);
            return STATUS_OK;
        }
        if (memcmp(chunk, "fmt ", 4) == 0)
            TRY(read_format(&reader, size, header));
        else if (memcmp(chunk, "ds64", 4) == 0)
            TRY(read_sizes_64(&reader, size, &size_64));
        else if (memcmp(chunk, "LIST", 4) == 0)
            TRY(read_list(&reader, size, traits));
        else
            TRY(skip_bytes(&reader, (uint64_t)size + (size & 1)));
    }
}

/* ---- writing ---- */

static void put(FILE *stream, uint32_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        putc((int)(value >> (8 * i) & 0xFF), stream);
}

static void put_id(FILE *stream, const char *id)
{
    fwrite(id, 1, 4, stream);
}

static enum status finish(FILE *stream, const char *name)
{
    return fflush(stream) == 0 && !ferror(stream)
               ? STATUS_OK
               : fail(STATUS_FAILED, "cannot write %s: %s", name, strerror(errno));
}

static uint32_t info_size(const struct sound_traits *traits)
{
    size_t size = 0;
    for (size_t i = 0; i < INFO_TAGS; i++) {
        const char *text = traits ? traits->tags[info_tags[i].tag] : NULL;
        if (text)
            size += 8 + (strlen(text) + 2) / 2 * 2;
    }
    return size ? 4 + (uint32_t)size : 0;
}

static void put_info(FILE *stream, const struct sound_traits *traits, uint32_t size)
{
    put_id(stream, "LIST");
    put(stream, size, 4);
    put_id(stream, "INFO");
    for (size_t i = 0; i < INFO_TAGS; i++) {
        const char *text = traits->tags[info_tags[i].tag];
        if (!text)
            continue;
        uint32_t length = (uint32_t)strlen(text) + 1;
        put_id(stream, info_tags[i].id);
        put(stream, length, 4);
        fwrite(text, 1, length, stream);
        if (length & 1)
            putc(0, stream);
    }
}

enum status stream_header_write_wav(FILE *stream, const char *name,
                                    const struct stream_format *format, int sound_format,
                                    int64_t frames, const struct sound_traits *traits)
{
    uint32_t bytes = sound_format_bytes(sound_format);
    uint32_t frame = (uint32_t)(bytes * format->channels);
    uint32_t info = info_size(traits);
    uint32_t before = 4 + 8 + 16 + (info ? 8 + info : 0) + 8; /* RIFF content before the samples */
    uint32_t data = SIZE_UNKNOWN;
    if (frames >= 0 && (uint64_t)frames <= (UINT32_MAX - 1 - before) / frame)
        data = (uint32_t)frames * frame;
    bool is_float = sound_format_bits(sound_format) == 0;
    put_id(stream, "RIFF");
    put(stream, data == SIZE_UNKNOWN ? data : before + data + (data & 1), 4);
    put_id(stream, "WAVE");
    put_id(stream, "fmt ");
    put(stream, 16, 4);
    put(stream, is_float ? TAG_FLOAT : TAG_PCM, 2);
    put(stream, (uint32_t)format->channels, 2);
    put(stream, format->rate, 4);
    put(stream, format->rate * frame, 4);
    put(stream, frame, 2);
    put(stream, 8 * bytes, 2);
    if (info)
        put_info(stream, traits, info);
    put_id(stream, "data");
    put(stream, data, 4);
    return finish(stream, name);
}

static uint32_t au_encoding(int sound_format)
{
    static const uint32_t encodings[] = {[SF_FORMAT_PCM_S8] = 2, [SF_FORMAT_PCM_16] = 3,
                                         [SF_FORMAT_PCM_24] = 4, [SF_FORMAT_PCM_32] = 5,
                                         [SF_FORMAT_FLOAT] = 6,  [SF_FORMAT_DOUBLE] = 7};
    return encodings[sound_format & SF_FORMAT_SUBMASK];
}

enum status stream_header_write_au(FILE *stream, const char *name,
                                   const struct stream_format *format, int sound_format,
                                   int64_t frames)
{
    uint64_t frame = sound_format_bytes(sound_format) * (uint64_t)format->channels;
    bool known = frames >= 0 && (uint64_t)frames < SIZE_UNKNOWN / frame;
    uint32_t size = known ? (uint32_t)((uint64_t)frames * frame) : SIZE_UNKNOWN;
    uint32_t fields[] = {24, size, au_encoding(sound_format), format->rate,
                         (uint32_t)format->channels}; /* 24: bytes of the header */
    put_id(stream, ".snd");
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put(stream, __builtin_bswap32(fields[i]), 4); /* big-endian */
    return finish(stream, name);
}
