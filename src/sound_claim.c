#include "sound_claim.h"

#include <string.h>
#include <unistd.h>

struct bytes {
    int fd;
    bool big_endian;
};

static bool read_at(const struct bytes *bytes, uint64_t at, void *buffer, size_t count)
{
    return at <= INT64_MAX && pread(bytes->fd, buffer, count, (off_t)at) == (ssize_t)count;
}

static bool number_at(const struct bytes *bytes, uint64_t at, size_t count, uint64_t *value)
{
    unsigned char buffer[8];
    if (!read_at(bytes, at, buffer, count))
        return false;
    *value = 0;
    for (size_t i = 0; i < count; i++)
        *value = *value << 8 | buffer[bytes->big_endian ? i : count - 1 - i];
    return true;
}

static bool end_from(uint64_t start, uint64_t size, uint64_t *end)
{
    *end = start + size;
    return *end >= start;
}

/* Chunks of a four-letter name and a size, padded to even lengths: RIFF, AIFF. */
static bool end_of_chunk(const struct bytes *bytes, const char *wanted, uint64_t *end)
{
    uint64_t at = 12, size_64 = 0, size;
    char id[4];
    while (read_at(bytes, at, id, 4) && number_at(bytes, at + 4, 4, &size)) {
        if (memcmp(id, "ds64", 4) == 0 && !number_at(bytes, at + 16, 8, &size_64))
            return false;
        if (memcmp(id, wanted, 4) == 0) {
            if (size == UINT32_MAX)
                size = size_64;
            return size != 0 && end_from(at + 8, size, end); /* 0: a stream's */
        }
        at += 8 + size + (size & 1);
    }
    return false;
}

static bool end_of_au(const struct bytes *bytes, uint64_t *end)
{
    uint64_t offset, size;
    return number_at(bytes, 4, 4, &offset) && number_at(bytes, 8, 4, &size) && size != UINT32_MAX &&
           size != 0 && end_from(offset, size, end);
}

static bool end_of_caf(const struct bytes *bytes, uint64_t *end)
{
    uint64_t at = 8, size;
    char id[4];
    while (read_at(bytes, at, id, 4) && number_at(bytes, at + 4, 8, &size)) {
        if (memcmp(id, "data", 4) == 0)
            return size != UINT64_MAX && end_from(at + 12, size, end);
        if (size > INT64_MAX)
            return false;
        at += 12 + size;
    }
    return false;
}

/* Sony's W64: 16-byte names, sizes that count their own header, padded to 8. */
static bool end_of_w64(const struct bytes *bytes, uint64_t *end)
{
    uint64_t at = 40, size;
    char id[4];
    while (read_at(bytes, at, id, 4) && number_at(bytes, at + 16, 8, &size)) {
        if (size < 24 || size > INT64_MAX)
            return false;
        if (memcmp(id, "data", 4) == 0)
            return end_from(at, size, end);
        at += (size + 7) / 8 * 8;
    }
    return false;
}

bool sound_claim_end(int fd, uint64_t *end)
{
    struct bytes bytes = {.fd = fd};
    char head[12];
    if (!read_at(&bytes, 0, head, sizeof head))
        return false;
    if (memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RF64", 4) == 0)
        return end_of_chunk(&bytes, "data", end);
    if (memcmp(head, "riff", 4) == 0)
        return end_of_w64(&bytes, end);
    if (memcmp(head, "dns.", 4) == 0)
        return end_of_au(&bytes, end);
    bytes.big_endian = true;
    if (memcmp(head, "RIFX", 4) == 0)
        return end_of_chunk(&bytes, "data", end);
    if (memcmp(head, "FORM", 4) == 0)
        return end_of_chunk(&bytes, "SSND", end);
    if (memcmp(head, ".snd", 4) == 0)
        return end_of_au(&bytes, end);
    if (memcmp(head, "caff", 4) == 0)
        return end_of_caf(&bytes, end);
    return false;
}
