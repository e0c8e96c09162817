#include "sound/sound_chunks.h"
#include "sound/stream_header.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static enum sound_claim_kind claim_from(uint64_t start, uint64_t size, struct sound_claim *claim)
{
    claim->start = start;
    claim->end = start + size;
    return claim->end >= start ? CLAIM_END : CLAIM_NONE;
}

/* The format chunk of a WAV, whose content begins at `at`. */
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
