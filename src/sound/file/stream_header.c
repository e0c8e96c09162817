#include "sound/file/stream_header.h"

#include "base/plural.h"
#include "base/stop.h"
#include "sound/file/sound_chunks.h"
#include "sound/port.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK_MOST = 1 << 24, /* most bytes that are kept of a chunk before the samples of a stream */
    CHANNELS_MOST = 1024,
};

#define SIZE_UNKNOWN UINT32_C(0xFFFFFFFF)

/* ---- reading a WAV stream ---- */

struct reader {
    FILE *stream;
    const char *name;
    bool big_endian;
    uint64_t at; /* number of bytes read */
};

static enum status read_bytes(struct reader *reader, void *bytes, size_t count)
{
    reader->at += count;
    if (fread(bytes, 1, count, reader->stream) == count)
        return STATUS_OK;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    if (ferror(reader->stream))
        return fail_errno(errno, "cannot read %s", reader->name);
    return fail(CAUSE_DAMAGED, "cannot read %s: its WAV header is cut short", reader->name);
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
    return tag == TAG_PCM && bits >= 8 && bits <= 32 ? pcm[(bits + 7) / 8 - 1] : 0;
}

static enum status read_format(struct reader *reader, uint32_t size, struct wav_header *header)
{
    unsigned char bytes[40] = {0};
    size_t known = size < sizeof bytes ? size : sizeof bytes;
    if (size < 16)
        return fail(CAUSE_DAMAGED, "cannot read %s: its WAV format is cut short", reader->name);
    TRY(read_bytes(reader, bytes, known));
    TRY(skip_bytes(reader, (uint64_t)size - known + (size & 1)));
    uint32_t tag = number(reader, bytes, 2);
    uint32_t channels = number(reader, bytes + 2, 2);
    uint32_t rate = number(reader, bytes + 4, 4);
    uint32_t bits = number(reader, bytes + 14, 2);
    bool extensible = tag == TAG_EXTENSIBLE && size >= 40;
    if (extensible)
        tag = number(reader, bytes + 24, 2);
    int subtype = subtype_for(tag, bits);
    if (!subtype)
        return fail(
            CAUSE_UNSUPPORTED,
            "cannot read %s: a WAV stream with format tag %u and %u bit%s is not supported; "
            "use a file",
            reader->name, tag, bits, plural_s(bits));
    if (channels == 0 || channels > CHANNELS_MOST || rate == 0 || rate > RATE_MOST)
        return fail(CAUSE_DAMAGED, "cannot read %s: its header says %u channel%s at %u Hz",
                    reader->name, channels, plural_s(channels), rate);
    header->is_extensible = extensible;
    header->stream = (struct stream_format){
        .rate = rate,
        .channels = channels,
        .layout = channel_layout_of_wav(bytes, known, reader->big_endian, channels)};
    if (!channel_layout_is_known(header->stream.layout))
        header->stream.layout = channel_layout_implied(channels);
    header->frame_bytes = (size_t)channels * ((bits + 7) / 8);
    header->raw_format =
        SF_FORMAT_RAW | subtype | (reader->big_endian ? SF_ENDIAN_BIG : SF_ENDIAN_LITTLE);
    return STATUS_OK;
}

/* A chunk before the samples. */
static enum status read_chunk(struct reader *reader, const char *id, uint32_t size,
                              struct sound_metadata *metadata)
{
    uint64_t padded = (uint64_t)size + (size & 1);
    if (!metadata_form_riff.wants(id))
        return skip_bytes(reader, padded);
    if (size > CHUNK_MOST || size > METADATA_BYTES_MOST - metadata->bytes) {
        metadata->cut = true;
        return skip_bytes(reader, padded);
    }
    unsigned char *bytes = malloc((size_t)padded + 1);
    if (!bytes)
        return fail_memory("tags");
    metadata->bytes += size;
    enum status status = read_bytes(reader, bytes, (size_t)padded);
    if (status == STATUS_OK)
        status = metadata_form_riff.parse(metadata, id, reader->big_endian, bytes, size);
    free(bytes);
    return status;
}

/* Sizes in an RF64: of the samples, and of the whole file minus eight bytes. */
struct sizes_64 {
    uint64_t data, whole;
};

static enum status read_sizes_64(struct reader *reader, uint32_t size, struct sizes_64 *sizes)
{
    unsigned char bytes[DS64_LEAST];
    if (size < sizeof bytes)
        return fail(CAUSE_DAMAGED, SOUND_IMPOSSIBLE, reader->name);
    TRY(read_bytes(reader, bytes, sizeof bytes));
    sizes->data = sound_chunks_size_64(bytes);
    sizes->whole = metadata_little(bytes, 8);
    return skip_bytes(reader, (uint64_t)size - sizeof bytes + (size & 1));
}

bool stream_header_is_wav(const unsigned char head[12])
{
    const struct chunk_layout *layout = sound_chunks_layout(head);
    return layout && strcmp(layout->form, "WAVE") == 0;
}

enum { LESS = 8 }; /* bytes of the file that its size does not count */

/* Set where the next chunk and the file end, for samples of `bytes` bytes. */
static void find_next(const struct reader *reader, uint64_t whole, uint64_t bytes,
                      struct wav_header *header)
{
    header->next = header->end = bytes + (bytes & 1);
    if (whole != SIZE_UNKNOWN && whole + LESS > reader->at + header->next)
        header->end = whole + LESS - reader->at;
}

enum status stream_header_read_wav(FILE *stream, const unsigned char head[12], const char *name,
                                   struct wav_header *header, struct sound_traits *traits)
{
    struct reader reader = {
        .stream = stream, .name = name, .big_endian = memcmp(head, "RIFX", 4) == 0, .at = 12};
    struct sizes_64 sizes = {.whole = number(&reader, head + 4, 4)};
    *header = (struct wav_header){.frames = FRAMES_UNKNOWN, .layout = sound_chunks_layout(head)};
    for (;;) {
        unsigned char chunk[8];
        TRY(read_bytes(&reader, chunk, sizeof chunk));
        uint32_t size = number(&reader, chunk + 4, 4);
        if (memcmp(chunk, "data", 4) == 0) {
            if (header->frame_bytes == 0)
                return fail(CAUSE_DAMAGED, "cannot read %s: its WAV header has no format", name);
            uint64_t bytes = size == SIZE_UNKNOWN ? sizes.data : size;
            if (sound_size_is_made_up(bytes, header->frame_bytes))
                bytes = 0;
            if (bytes > SIZE_MOST)
                return fail(CAUSE_DAMAGED, SOUND_IMPOSSIBLE, name);
            if (bytes > 0) {
                header->frames = (int64_t)(bytes / header->frame_bytes);
                find_next(&reader, sizes.whole, bytes, header);
            } else {
                header->has_more = sizes.whole + LESS > reader.at && sizes.whole != SIZE_UNKNOWN &&
                                   !sound_size_is_made_up(sizes.whole, header->frame_bytes);
            }
            int major = reader.big_endian       ? SF_FORMAT_WAV | SF_ENDIAN_BIG
                        : header->is_extensible ? SF_FORMAT_WAVEX
                                                : SF_FORMAT_WAV;
            traits->format = major | (header->raw_format & SF_FORMAT_SUBMASK);
            return STATUS_OK;
        }
        if (memcmp(chunk, "fmt ", 4) == 0)
            TRY(read_format(&reader, size, header));
        else if (memcmp(chunk, "ds64", 4) == 0)
            TRY(read_sizes_64(&reader, size, &sizes));
        else
            TRY(read_chunk(&reader, (const char *)chunk, size, traits->metadata));
    }
}

/* ---- writing WAV and AU streams ---- */

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
    return fflush(stream) == 0 && !ferror(stream) ? STATUS_OK
                                                  : fail_errno(errno, "cannot write %s", name);
}

static void put_extension(FILE *stream, struct channel_layout layout, uint32_t tag, uint32_t bits)
{
    unsigned char extension[CHANNEL_WAV_BYTES];
    channel_layout_put_wav(layout, tag, extension);
    put(stream, 2 + sizeof extension, 2);
    put(stream, bits, 2);
    fwrite(extension, 1, sizeof extension, stream);
}

enum status stream_header_write_wav(FILE *stream, const char *name,
                                    const struct stream_format *format, int sound_format,
                                    int64_t frames, const struct metadata_buffer *chunks)
{
    uint32_t bytes = sound_format_bytes(sound_format);
    uint32_t frame = (uint32_t)(bytes * format->channels);
    bool extensible = (sound_format & SF_FORMAT_TYPEMASK) == SF_FORMAT_WAVEX;
    uint32_t size = extensible ? 40 : 16;
    uint32_t before = 4 + 8 + size + (uint32_t)chunks->size + 8; /* content before the samples */
    uint32_t data = SIZE_UNKNOWN;
    if (frames >= 0 && (uint64_t)frames <= (UINT32_MAX - 1 - before) / frame)
        data = (uint32_t)frames * frame;
    bool is_float = sound_format_bits(sound_format) == 0;
    put_id(stream, "RIFF");
    put(stream, data == SIZE_UNKNOWN ? data : before + data + (data & 1), 4);
    put_id(stream, "WAVE");
    put_id(stream, "fmt ");
    put(stream, size, 4);
    put(stream, extensible ? TAG_EXTENSIBLE : is_float ? TAG_FLOAT : TAG_PCM, 2);
    put(stream, (uint32_t)format->channels, 2);
    put(stream, format->rate, 4);
    put(stream, format->rate * frame, 4);
    put(stream, frame, 2);
    put(stream, 8 * bytes, 2);
    if (extensible)
        put_extension(stream, format->layout, is_float ? TAG_FLOAT : TAG_PCM, 8 * bytes);
    if (chunks->size > 0)
        fwrite(chunks->bytes, 1, chunks->size, stream);
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

/* ---- W64 ---- */

enum {
    RIFF_SIZE_AT = 16,
    FORMAT_AT = 40,
    CHUNK_HEADER = 24,
    FORMAT_PLAIN = 16,
    FORMAT_SIZE = 40,
    CHUNKS_AT = FORMAT_AT + CHUNK_HEADER, /* chunks follow the format chunk */
};

static const unsigned char riff[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                       0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0,    0};
/* Bytes of a GUID after the four letters of a chunk's name, for all chunks but riff. */
static const unsigned char chunk_id[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1,
                                           0,    0xc0, 0x4f, 0x8e, 0xdb, 0x8a};

static void put_at(unsigned char *bytes, uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
}

static void put_id_at(unsigned char *bytes, const char id[5])
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
    put_id_at(header + RIFF_SIZE_AT + 8, "wave");
    put_id_at(header + FORMAT_AT, "fmt ");
    put_at(header + FORMAT_AT + 16, CHUNK_HEADER + format_size(is_extensible), 8);
    put_at(chunk, is_extensible ? TAG_EXTENSIBLE : tag, 2);
    put_at(chunk + 2, format->channels, 2);
    put_at(chunk + 4, format->rate, 4);
    put_at(chunk + 8, format->rate * frame, 4);
    put_at(chunk + 12, frame, 2);
    put_at(chunk + 14, 8 * bytes, 2);
    put_at(chunk + 16, 2 + CHANNEL_WAV_BYTES, 2); /* a plain format has no bytes from here on */
    put_at(chunk + 18, 8 * bytes, 2);
    channel_layout_put_wav(format->layout, tag, chunk + 20);
    put_id_at(data, "data");
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

/* Writes no padding, since libsndfile would read it as samples. */
int w64_header_end(int fd, bool is_extensible, size_t chunks)
{
    unsigned char size[8];
    off_t data = (off_t)(CHUNKS_AT + format_size(is_extensible) + chunks);
    off_t end = lseek(fd, 0, SEEK_END);
    if (end < data + CHUNK_HEADER)
        return end < 0 ? errno : EIO;
    put_at(size, (uint64_t)(end - data), sizeof size);
    int error = sound_bytes_write(fd, (uint64_t)data + 16, size, sizeof size);
    put_at(size, (uint64_t)end, sizeof size);
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

/* ---- what a header claims ---- */

static enum sound_claim_kind claim_from(uint64_t start, uint64_t size, struct sound_claim *claim)
{
    claim->start = start;
    claim->end = start + size;
    return claim->end >= start ? CLAIM_END : CLAIM_NONE;
}

/* Read the bits of a sample from the format chunk of a WAV, whose content begins at `at`. */
static void claim_bits(struct sound_bytes *bytes, uint64_t at, struct sound_claim *claim)
{
    uint64_t tag = 0, bits = 0;
    if (!sound_bytes_number(bytes, at, 2, &tag) || !sound_bytes_number(bytes, at + 14, 2, &bits))
        return;
    if (tag == TAG_EXTENSIBLE && !sound_bytes_number(bytes, at + 24, 2, &tag))
        return;
    if (tag == TAG_PCM || tag == TAG_FLOAT)
        claim->bits = (unsigned)bits;
}

static enum sound_claim_kind claim_open(uint64_t start, uint64_t size_at, unsigned size_bytes,
                                        struct sound_claim *claim)
{
    claim->start = start;
    claim->size_at = size_at;
    claim->size_bytes = size_bytes;
    return CLAIM_OPEN;
}

static enum sound_claim_kind claim_of_chunks(struct sound_chunks *chunks, struct sound_claim *claim)
{
    const struct chunk_layout *layout = chunks->layout;
    struct sound_chunk chunk;
    while (sound_chunks_next(chunks, &chunk)) {
        if (sound_chunk_begins_again(chunks, &chunk))
            return CLAIM_TWICE;
        if (sound_chunk_is_open(chunks, &chunk))
            return claim_open(chunk.content, chunk.content - layout->header + layout->size_at,
                              layout->size_bytes, claim);
        if (chunk.is_absurd)
            return CLAIM_IMPOSSIBLE;
        if (memcmp(chunk.id, "fmt ", 4) == 0)
            claim_bits(chunks->bytes, chunk.content, claim);
        claim->is_described = chunks->is_described;
        claim->is_doubtful = chunk.is_doubtful;
        if (chunk.is_data)
            return claim_from(chunk.content + layout->lead, chunk.size - layout->lead, claim);
    }
    return CLAIM_NONE;
}

static enum sound_claim_kind claim_of_au(struct sound_bytes *bytes, struct sound_claim *claim)
{
    uint64_t offset, size;
    char beyond;
    if (!sound_bytes_number(bytes, 4, 4, &offset) || !sound_bytes_number(bytes, 8, 4, &size))
        return CLAIM_NONE;
    bool is_beyond = offset <= bytes->size && size > bytes->size - offset;
    bool is_open = (is_beyond && sound_size_is_made_up(size, 0)) ||
                   (size == 0 && sound_bytes_read(bytes, offset, &beyond, 1));
    return is_open ? claim_open(offset, 8, 4, claim) : claim_from(offset, size, claim);
}

static enum sound_claim_kind claim_of(struct sound_bytes *bytes, struct sound_claim *claim)
{
    char head[12];
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return CLAIM_NONE;
    struct sound_chunks chunks;
    if (sound_chunks_begin(bytes, &chunks))
        return claim_of_chunks(&chunks, claim);
    bytes->big_endian = memcmp(head, ".snd", 4) == 0;
    bool au = bytes->big_endian || memcmp(head, "dns.", 4) == 0;
    return au ? claim_of_au(bytes, claim) : CLAIM_NONE;
}

struct sound_claim sound_claim_read(int fd)
{
    struct sound_bytes bytes = sound_bytes_of_file(fd);
    struct sound_claim claim = {0};
    claim.kind = claim_of(&bytes, &claim);
    if (bytes.error)
        claim.kind = CLAIM_FAILED;
    errno = bytes.error;
    return claim;
}
