#include "sound/sound_claim.h"

#include <stdbool.h>
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

static enum sound_claim claim_from(uint64_t start, uint64_t size, uint64_t *end)
{
    *end = start + size;
    return *end >= start ? CLAIM_END : CLAIM_NONE;
}

/* Do chunks follow one another from `at` to the very end of the file? */
static bool chunks_to_end(const struct bytes *bytes, uint64_t at)
{
    uint64_t size;
    char id[4], beyond;
    while (read_at(bytes, at, &beyond, 1)) {
        if (!read_at(bytes, at, id, 4) || !number_at(bytes, at + 4, 4, &size))
            return false;
        for (size_t i = 0; i < sizeof id; i++)
            if (id[i] < ' ' || id[i] > '~') /* samples, silent ones above all */
                return false;
        at += 8 + size + (size & 1);
    }
    return read_at(bytes, at - 1, &beyond, 1);
}

/* Chunks of a four-letter name and a size, padded to even lengths: RIFF, AIFF. */
static enum sound_claim claim_of_chunk(const struct bytes *bytes, const char *wanted, uint64_t *end)
{
    uint64_t at = 12, size_64 = 0, size;
    char id[4];
    while (read_at(bytes, at, id, 4) && number_at(bytes, at + 4, 4, &size)) {
        if (memcmp(id, "ds64", 4) == 0 && !number_at(bytes, at + 16, 8, &size_64))
            return CLAIM_NONE;
        if (memcmp(id, wanted, 4) == 0) {
            if (size == UINT32_MAX)
                size = size_64;
            /* No samples, or as many as come: what follows tells. */
            if (size == 0 && !chunks_to_end(bytes, at + 8))
                return CLAIM_OPEN;
            return claim_from(at + 8, size, end);
        }
        at += 8 + size + (size & 1);
    }
    return CLAIM_NONE;
}

static enum sound_claim claim_of_au(const struct bytes *bytes, uint64_t *end)
{
    uint64_t offset, size;
    char beyond;
    if (!number_at(bytes, 4, 4, &offset) || !number_at(bytes, 8, 4, &size))
        return CLAIM_NONE;
    bool open = size == UINT32_MAX || (size == 0 && read_at(bytes, offset, &beyond, 1));
    return open ? CLAIM_OPEN : claim_from(offset, size, end);
}

static enum sound_claim claim_of_caf(const struct bytes *bytes, uint64_t *end)
{
    uint64_t at = 8, size;
    char id[4];
    while (read_at(bytes, at, id, 4) && number_at(bytes, at + 4, 8, &size)) {
        if (memcmp(id, "data", 4) == 0)
            return size == UINT64_MAX ? CLAIM_OPEN : claim_from(at + 12, size, end);
        if (size > INT64_MAX)
            return CLAIM_NONE;
        at += 12 + size;
    }
    return CLAIM_NONE;
}

/* Sony's W64: 16-byte names, sizes that count their own header, padded to 8. */
static enum sound_claim claim_of_w64(const struct bytes *bytes, uint64_t *end)
{
    uint64_t at = 40, size;
    char id[4];
    while (read_at(bytes, at, id, 4) && number_at(bytes, at + 16, 8, &size)) {
        if (size < 24 || size > INT64_MAX)
            return CLAIM_NONE;
        if (memcmp(id, "data", 4) == 0)
            return claim_from(at, size, end);
        at += (size + 7) / 8 * 8;
    }
    return CLAIM_NONE;
}

enum sound_claim sound_claim_read(int fd, uint64_t *end)
{
    struct bytes bytes = {.fd = fd};
    char head[12];
    if (!read_at(&bytes, 0, head, sizeof head))
        return CLAIM_NONE;
    if (memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RF64", 4) == 0)
        return claim_of_chunk(&bytes, "data", end);
    if (memcmp(head, "riff", 4) == 0)
        return claim_of_w64(&bytes, end);
    if (memcmp(head, "dns.", 4) == 0)
        return claim_of_au(&bytes, end);
    bytes.big_endian = true;
    if (memcmp(head, "RIFX", 4) == 0)
        return claim_of_chunk(&bytes, "data", end);
    if (memcmp(head, "FORM", 4) == 0)
        return claim_of_chunk(&bytes, "SSND", end);
    if (memcmp(head, ".snd", 4) == 0)
        return claim_of_au(&bytes, end);
    if (memcmp(head, "caff", 4) == 0)
        return claim_of_caf(&bytes, end);
    return CLAIM_NONE;
}
