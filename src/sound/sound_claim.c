#include "sound/stream_header.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct bytes {
    int fd;
    bool big_endian;
    int error; /* of the first read that failed, or 0 */
};

/* Containers made of chunks: a four-letter name, a size, content, padding. */
struct chunk_layout {
    char magic[5];
    char data[5]; /* name of the chunk with the samples */
    bool big_endian;
    uint8_t first; /* offset of the first chunk */
    uint8_t size_at, size_bytes;
    uint8_t header;  /* bytes before the content */
    uint8_t counted; /* of these, included in the size */
    uint8_t align;
};

static const struct chunk_layout layouts[] = {
    {"RIFF", "data", false, 12, 4, 4, 8, 0, 2},    {"RF64", "data", false, 12, 4, 4, 8, 0, 2},
    {"RIFX", "data", true, 12, 4, 4, 8, 0, 2},     {"FORM", "SSND", true, 12, 4, 4, 8, 0, 2},
    {"riff", "data", false, 40, 16, 8, 24, 24, 8}, /* Sony's W64 */
    {"caff", "data", true, 8, 4, 8, 12, 0, 1},
};

static bool read_at(struct bytes *bytes, uint64_t at, void *buffer, size_t count)
{
    ssize_t got = at <= INT64_MAX ? pread(bytes->fd, buffer, count, (off_t)at) : 0;
    if (got < 0 && bytes->error == 0)
        bytes->error = errno;
    return got == (ssize_t)count;
}

static bool number_at(struct bytes *bytes, uint64_t at, size_t count, uint64_t *value)
{
    unsigned char buffer[8];
    if (!read_at(bytes, at, buffer, count))
        return false;
    *value = 0;
    for (size_t i = 0; i < count; i++)
        *value = *value << 8 | buffer[bytes->big_endian ? i : count - 1 - i];
    return true;
}

static enum sound_claim claim_from(uint64_t start, uint64_t size, uint64_t *end)
{
    *end = start + size;
    return *end >= start ? CLAIM_END : CLAIM_NONE;
}

/* Whether chunks follow one another from `at` to the very end of the file. */
static bool chunks_to_end(struct bytes *bytes, uint64_t at)
{
    uint64_t size;
    char id[4], beyond;
    while (read_at(bytes, at, &beyond, 1)) {
        if (!read_at(bytes, at, id, 4) || !number_at(bytes, at + 4, 4, &size))
            return false;
        for (size_t i = 0; i < sizeof id; i++)
            if (id[i] < ' ' || id[i] > '~') /* samples, typically silence */
                return false;
        at += 8 + size + (size & 1);
    }
    return read_at(bytes, at - 1, &beyond, 1);
}

static enum sound_claim claim_of_chunks(struct bytes *bytes, const struct chunk_layout *layout,
                                        uint64_t *end)
{
    uint64_t at = layout->first, size_64 = 0, size;
    char id[4];
    while (read_at(bytes, at, id, 4) &&
           number_at(bytes, at + layout->size_at, layout->size_bytes, &size)) {
        bool found = memcmp(id, layout->data, 4) == 0, narrow = layout->size_bytes == 4;
        if (found && size == UINT64_MAX && !layout->counted)
            return CLAIM_OPEN;
        if (size < layout->counted || (size > INT64_MAX && (layout->counted || !found)))
            return CLAIM_NONE;
        if (narrow && memcmp(id, "ds64", 4) == 0 && !number_at(bytes, at + 16, 8, &size_64))
            return CLAIM_NONE;
        if (narrow && found && size == UINT32_MAX)
            size = size_64;
        at += layout->header;
        size -= layout->counted;
        if (narrow && found && size == 0 && !chunks_to_end(bytes, at))
            return CLAIM_OPEN; /* not an empty sound */
        if (found)
            return claim_from(at, size, end);
        at += (size + layout->align - 1) / layout->align * layout->align;
    }
    return CLAIM_NONE;
}

static enum sound_claim claim_of_au(struct bytes *bytes, uint64_t *end)
{
    uint64_t offset, size;
    char beyond;
    if (!number_at(bytes, 4, 4, &offset) || !number_at(bytes, 8, 4, &size))
        return CLAIM_NONE;
    bool open = size == UINT32_MAX || (size == 0 && read_at(bytes, offset, &beyond, 1));
    return open ? CLAIM_OPEN : claim_from(offset, size, end);
}

static enum sound_claim claim_of(struct bytes *bytes, uint64_t *end)
{
    char head[12];
    if (!read_at(bytes, 0, head, sizeof head))
        return CLAIM_NONE;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (memcmp(head, layouts[i].magic, 4) == 0) {
            bytes->big_endian = layouts[i].big_endian;
            return claim_of_chunks(bytes, &layouts[i], end);
        }
    bytes->big_endian = memcmp(head, ".snd", 4) == 0;
    return bytes->big_endian || memcmp(head, "dns.", 4) == 0 ? claim_of_au(bytes, end) : CLAIM_NONE;
}

enum sound_claim sound_claim_read(int fd, uint64_t *end)
{
    struct bytes bytes = {.fd = fd};
    enum sound_claim claim = claim_of(&bytes, end);
    errno = bytes.error;
    return bytes.error ? CLAIM_FAILED : claim;
}
