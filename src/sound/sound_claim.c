#include "sound/ogg_pages.h"
#include "sound/stream_header.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OGG_FLAGS = 5, OGG_LAST = 4, OGG_SEGMENTS = 26 }; /* of a page */

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

static enum sound_claim_kind claim_from(uint64_t start, uint64_t size, struct sound_claim *claim)
{
    claim->end = start + size;
    return claim->end >= start ? CLAIM_END : CLAIM_NONE;
}

/* The format chunk of a WAV, whose content begins at `at`. */
static void claim_bits(struct bytes *bytes, uint64_t at, struct sound_claim *claim)
{
    uint64_t tag = 0, bits = 0;
    if (!number_at(bytes, at, 2, &tag) || !number_at(bytes, at + 14, 2, &bits))
        return;
    if (tag == TAG_EXTENSIBLE && !number_at(bytes, at + 24, 2, &tag))
        return;
    if (tag == TAG_PCM)
        claim->bits = (unsigned)bits;
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

static enum sound_claim_kind claim_of_chunks(struct bytes *bytes, const struct chunk_layout *layout,
                                             struct sound_claim *claim)
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
        if (memcmp(id, "fmt ", 4) == 0)
            claim_bits(bytes, at + layout->header, claim);
        at += layout->header;
        size -= layout->counted;
        if (narrow && found && size == 0 && !chunks_to_end(bytes, at))
            return CLAIM_OPEN; /* not an empty sound */
        if (found)
            return claim_from(at, size, claim);
        at += (size + layout->align - 1) / layout->align * layout->align;
    }
    return CLAIM_NONE;
}

static enum sound_claim_kind claim_of_au(struct bytes *bytes, struct sound_claim *claim)
{
    uint64_t offset, size;
    char beyond;
    if (!number_at(bytes, 4, 4, &offset) || !number_at(bytes, 8, 4, &size))
        return CLAIM_NONE;
    bool open = size == UINT32_MAX || (size == 0 && read_at(bytes, offset, &beyond, 1));
    return open ? CLAIM_OPEN : claim_from(offset, size, claim);
}

bool sound_claim_ogg_ends(const unsigned char *tail, size_t size)
{
    bool ends = false;
    for (size_t at = 0; at < size;) {
        const unsigned char *page = memmem(tail + at, size - at, "OggS", 4);
        if (!page)
            break;
        size_t left = size - (size_t)(page - tail), length = OGG_HEADER;
        if (left < OGG_HEADER || left < OGG_HEADER + (size_t)page[OGG_SEGMENTS])
            return false;
        for (size_t i = 0; i < page[OGG_SEGMENTS]; i++)
            length += 1 + (size_t)page[OGG_HEADER + i];
        if (left < length)
            return false;
        ends = page[OGG_FLAGS] & OGG_LAST;
        at = (size_t)(page - tail) + length;
    }
    return ends;
}

static bool is_ogg_chain(struct bytes *bytes, uint64_t size)
{
    struct ogg_pages pages = {0};
    unsigned char part[OGG_HEADER + OGG_SEGMENTS_MOST];
    for (uint64_t at = 0; at < size && !pages.is_chain && !pages.is_lost;) {
        size_t count = size - at < sizeof part ? (size_t)(size - at) : sizeof part;
        if (!read_at(bytes, at, part, count))
            break;
        ogg_pages_feed(&pages, part, count);
        at += count + pages.skip;
        pages.skip = 0;
    }
    return pages.is_chain;
}

static enum sound_claim_kind claim_of_ogg(struct bytes *bytes)
{
    unsigned char tail[OGG_TAIL];
    struct stat about;
    if (fstat(bytes->fd, &about) != 0)
        return CLAIM_NONE;
    if (is_ogg_chain(bytes, (uint64_t)about.st_size))
        return CLAIM_CHAIN;
    size_t size = about.st_size < OGG_TAIL ? (size_t)about.st_size : OGG_TAIL;
    if (!read_at(bytes, (uint64_t)about.st_size - size, tail, size))
        return CLAIM_NONE;
    return sound_claim_ogg_ends(tail, size) ? CLAIM_NONE : CLAIM_CUT;
}

static enum sound_claim_kind claim_of(struct bytes *bytes, struct sound_claim *claim)
{
    char head[12];
    if (!read_at(bytes, 0, head, sizeof head))
        return CLAIM_NONE;
    if (memcmp(head, "OggS", 4) == 0)
        return claim_of_ogg(bytes);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (memcmp(head, layouts[i].magic, 4) == 0) {
            bytes->big_endian = layouts[i].big_endian;
            return claim_of_chunks(bytes, &layouts[i], claim);
        }
    bytes->big_endian = memcmp(head, ".snd", 4) == 0;
    bool au = bytes->big_endian || memcmp(head, "dns.", 4) == 0;
    return au ? claim_of_au(bytes, claim) : CLAIM_NONE;
}

struct sound_claim sound_claim_read(int fd)
{
    struct bytes bytes = {.fd = fd};
    struct sound_claim claim = {0};
    claim.kind = claim_of(&bytes, &claim);
    if (bytes.error)
        claim.kind = CLAIM_FAILED;
    errno = bytes.error;
    return claim;
}
