#include "sound/file/sound_chunks.h"
#include "base/files_read.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNKS_MOST = 1 << 12 }; /* chunks that a search looks at, at most */

static const struct chunk_layout layouts[] = {
    {"RIFF", "WAVE", "data", 0, false, 12, 4, 4, 8, 0, 2, 4, 4, 8},
    {"RF64", "WAVE", "data", 0, false, 12, 4, 4, 8, 0, 2, 20, 8, 8},
    {"BW64", "WAVE", "data", 0, false, 12, 4, 4, 8, 0, 2, 20, 8, 8},
    {"RIFX", "WAVE", "data", 0, true, 12, 4, 4, 8, 0, 2, 4, 4, 8},
    {"FORM", "AIFF", "SSND", 8, true, 12, 4, 4, 8, 0, 2, 4, 4, 8},
    {"FORM", "AIFC", "SSND", 8, true, 12, 4, 4, 8, 0, 2, 4, 4, 8},
    {"riff", "", "data", 0, false, 40, 16, 8, 24, 24, 8, 16, 8, 0}, /* Sony's W64 */
    {"caff", "", "data", 4, true, 8, 4, 8, 12, 0, 1, 0, 0, 0},
};

struct sound_bytes sound_bytes_of_file(int fd)
{
    struct stat about;
    bool is_known = fstat(fd, &about) == 0;
    return (struct sound_bytes){
        .fd = fd, .size = is_known ? (uint64_t)about.st_size : 0, .error = is_known ? 0 : errno};
}

bool sound_bytes_read(struct sound_bytes *bytes, uint64_t at, void *buffer, size_t count)
{
    if (at > bytes->size || count > bytes->size - at)
        return false;
    if (bytes->memory) {
        memcpy(buffer, bytes->memory + at, count);
        return true;
    }
    ssize_t got = files_read_at(bytes->fd, buffer, count, (off_t)at);
    if (got != (ssize_t)count && bytes->error == 0)
        bytes->error = got < 0 ? errno : SOUND_SHRANK;
    return got == (ssize_t)count;
}

struct flaw sound_flaw(int error)
{
    return error == SOUND_SHRANK
               ? (struct flaw){CAUSE_DAMAGED, "it became shorter while it was read"}
               : flaw_of_errno(error);
}

int sound_bytes_write(int fd, uint64_t at, const void *bytes, size_t count)
{
    for (size_t done = 0; done < count;) {
        ssize_t part = pwrite(fd, (const char *)bytes + done, count - done, (off_t)(at + done));
        if (part < 0 && errno != EINTR)
            return errno;
        if (part == 0)
            return EIO;
        done += part > 0 ? (size_t)part : 0;
    }
    return 0;
}

static uint64_t number_of(const unsigned char *bytes, size_t count, bool big_endian)
{
    uint64_t value = 0;
    for (size_t i = 0; i < count; i++)
        value = value << 8 | bytes[big_endian ? i : count - 1 - i];
    return value;
}

bool sound_bytes_number(struct sound_bytes *bytes, uint64_t at, size_t count, uint64_t *value)
{
    unsigned char buffer[8];
    if (!sound_bytes_read(bytes, at, buffer, count))
        return false;
    *value = number_of(buffer, count, bytes->big_endian);
    return true;
}

const struct chunk_layout *sound_chunks_layout(const unsigned char head[SOUND_CHUNKS_MAGIC])
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (memcmp(head, layouts[i].magic, 4) == 0 &&
            (!*layouts[i].form || memcmp(head + 8, layouts[i].form, 4) == 0))
            return &layouts[i];
    return NULL;
}

bool sound_chunks_begin(struct sound_bytes *bytes, struct sound_chunks *chunks)
{
    unsigned char head[SOUND_CHUNKS_MAGIC];
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return false;
    const struct chunk_layout *layout = sound_chunks_layout(head);
    if (!layout)
        return false;
    bytes->big_endian = layout->big_endian;
    *chunks = (struct sound_chunks){.bytes = bytes, .layout = layout, .at = layout->first};
    return true;
}

uint64_t sound_chunks_size_64(const unsigned char content[DS64_LEAST])
{
    return number_of(content + 8, 8, false);
}

/* Made-up sizes. sox writes whole frames below 0x7F000000 (AIFF) and 0x7FFFF000 (WAV). Others write
 * sizes near the most that 31, 32 and 63 bits hold, some less the header. */
bool sound_size_is_made_up(uint64_t size, uint64_t frame)
{
    enum { HEADER_MOST = 256 };
    const struct {
        uint64_t most, less;
    } rows[] = {{0x7F000000, frame ? frame - 1 : 0},
                {0x7FFFF000, frame ? frame - 1 : 0},
                {0x80000000, HEADER_MOST},
                {UINT32_MAX, HEADER_MOST},
                {INT64_MAX, HEADER_MOST},
                {UINT64_MAX, HEADER_MOST}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (size <= rows[i].most && rows[i].most - size <= rows[i].less)
            return true;
    return false;
}

/* Take the bytes of a frame from the format chunk, which comes before the samples. */
static void take_frame(struct sound_chunks *chunks, const struct sound_chunk *chunk)
{
    uint64_t channels, bits, packet = 0;
    if (memcmp(chunk->id, "desc", 4) == 0) /* packets of various sizes need the chunk pakt */
        (void)sound_bytes_number(chunks->bytes, chunk->content + 16, 4, &packet);
    chunks->is_described |= packet > 0 || memcmp(chunk->id, "fmt ", 4) == 0 ||
                            memcmp(chunk->id, "COMM", 4) == 0 || memcmp(chunk->id, "pakt", 4) == 0;
    if (memcmp(chunk->id, "fmt ", 4) == 0)
        (void)sound_bytes_number(chunks->bytes, chunk->content + 12, 2, &chunks->frame);
    else if (memcmp(chunk->id, "COMM", 4) == 0 &&
             sound_bytes_number(chunks->bytes, chunk->content, 2, &channels) &&
             sound_bytes_number(chunks->bytes, chunk->content + 6, 2, &bits))
        chunks->frame = channels * ((bits + 7) / 8);
}

/* Whether chunks of a WAV or an AIFF follow one another from `at` to the very end of the file. */
static bool reach_end(struct sound_bytes *bytes, uint64_t at)
{
    uint64_t size;
    char id[4], beyond;
    while (sound_bytes_read(bytes, at, &beyond, 1)) {
        if (!sound_bytes_read(bytes, at, id, 4) || !sound_bytes_number(bytes, at + 4, 4, &size))
            return false;
        for (size_t i = 0; i < sizeof id; i++)
            if (id[i] < ' ' || id[i] > '~') /* samples, typically silence */
                return false;
        at += 8 + size + (size & 1);
    }
    return sound_bytes_read(bytes, at - 1, &beyond, 1);
}

/* Whether a 32-bit size of samples began again at 0. More than 4 GB follow the samples. If these
 * are chunks, the size is right. If the size plus a multiple of 4 GB reaches the file's end, or
 * chunks up to it, it began again at 0. If neither or both hold, halo takes the header's size. */
static bool is_wrapped(const struct sound_chunks *chunks, struct sound_chunk *chunk)
{
    struct sound_bytes *bytes = chunks->bytes;
    uint64_t most = bytes->size, end = chunk->content + chunk->size;
    if (chunks->layout->size_bytes != 4 || chunks->size_64 > 0 || end > most ||
        most - end <= UINT32_MAX)
        return false;
    end += (most - end) & ~(uint64_t)UINT32_MAX;
    bool has_chunks = reach_end(bytes, chunks->at),
         began_again = end == most || reach_end(bytes, end + (chunk->size & 1));
    chunk->is_doubtful = has_chunks == began_again;
    return began_again && !has_chunks;
}

/* Whether the size of the samples is made up and wrong. The file may have fewer bytes. Or it has
 * more and no chunks follow: the stream became longer, or its size began again after 4 GB. */
static bool is_made_up(const struct sound_chunks *chunks, struct sound_chunk *chunk)
{
    uint64_t lead = chunks->layout->lead, most = chunks->bytes->size;
    if (!chunk->is_data || chunk->is_open || chunk->size < lead || chunk->content > most)
        return false;
    if (!sound_size_is_made_up(chunk->size - lead, chunks->frame))
        return is_wrapped(chunks, chunk);
    return chunk->size > most - chunk->content ||
           (chunks->layout->size_bytes == 4 && !reach_end(chunks->bytes, chunks->at));
}

/* Whether the size is impossible: beyond any file, less than the lead, or missing in an RF64. */
static bool is_impossible(const struct sound_chunks *chunks, const struct sound_chunk *chunk)
{
    const struct chunk_layout *layout = chunks->layout;
    bool is_narrow = layout->size_bytes == 4;
    if (is_narrow && memcmp(chunk->id, "ds64", 4) == 0)
        return chunk->size < DS64_LEAST;
    if (chunk->is_open || chunk->is_made_up)
        return false;
    return chunk->size > SIZE_MOST ||
           (chunk->is_data && chunk->size < layout->lead && (chunk->size > 0 || !is_narrow));
}

bool sound_chunks_next(struct sound_chunks *chunks, struct sound_chunk *chunk)
{
    const struct chunk_layout *layout = chunks->layout;
    unsigned char header[24], sizes[DS64_LEAST];
    if (!sound_bytes_read(chunks->bytes, chunks->at, header, layout->header))
        return false;
    uint64_t size = number_of(header + layout->size_at, layout->size_bytes, layout->big_endian);
    bool is_narrow = layout->size_bytes == 4;
    *chunk = (struct sound_chunk){.content = chunks->at + layout->header};
    memcpy(chunk->id, header, layout->size_at);
    chunk->is_data = memcmp(header, layout->data, 4) == 0;
    bool is_unsaid = is_narrow && size == UINT32_MAX && chunks->size_64 == 0;
    chunk->is_open = !layout->counted && (size == UINT64_MAX || (chunk->is_data && is_unsaid));
    chunk->is_absurd =
        size < layout->counted || (size > INT64_MAX && (layout->counted || !chunk->is_data));
    if (is_narrow && chunk->is_data && size == UINT32_MAX)
        size = chunks->size_64;
    if (is_narrow && memcmp(header, "ds64", 4) == 0 &&
        sound_bytes_read(chunks->bytes, chunk->content, sizes, sizeof sizes))
        chunks->size_64 = sound_chunks_size_64(sizes);
    chunk->size = size - layout->counted;
    chunks->at = chunk->content + (chunk->size + layout->align - 1) / layout->align * layout->align;
    chunk->is_absurd |= chunks->at < chunk->content && !chunk->is_open;
    take_frame(chunks, chunk);
    chunk->is_made_up = is_made_up(chunks, chunk);
    chunk->is_absurd |= is_impossible(chunks, chunk);
    return true;
}

bool sound_chunk_is_open(const struct sound_chunks *chunks, const struct sound_chunk *chunk)
{
    bool is_narrow = chunks->layout->size_bytes == 4;
    if (!chunk->is_data)
        return false;
    return chunk->is_open || chunk->is_made_up ||
           (is_narrow && chunk->size == 0 && !reach_end(chunks->bytes, chunk->content));
}

bool sound_chunk_begins_again(const struct sound_chunks *chunks, const struct sound_chunk *chunk)
{
    unsigned char first[SOUND_CHUNKS_MAGIC], again[SOUND_CHUNKS_MAGIC];
    const struct chunk_layout *layout = chunks->layout;
    bool is_empty = chunk->is_data && (chunk->is_absurd || chunk->size <= layout->lead);
    return is_empty && layout->size_bytes == 8 &&
           sound_bytes_read(chunks->bytes, 0, first, sizeof first) &&
           sound_bytes_read(chunks->bytes, chunk->content + layout->lead, again, sizeof again) &&
           memcmp(first, again, sizeof first) == 0;
}

bool sound_chunks_find(struct sound_bytes *bytes, const char id[5], struct sound_chunk *chunk)
{
    struct sound_chunks chunks;
    if (!sound_chunks_begin(bytes, &chunks))
        return false;
    for (int i = 0; i < CHUNKS_MOST && sound_chunks_next(&chunks, chunk); i++) {
        if (memcmp(chunk->id, id, 4) == 0)
            return !chunk->is_absurd && !chunk->is_open;
        if (chunk->is_data || chunk->is_absurd)
            return false;
    }
    return false;
}
