#include "sound/sound_chunks.h"
#include "base/files_read.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS_MOST = 1 << 12 }; /* before the samples */

static const struct chunk_layout layouts[] = {
    {"RIFF", "data", false, 12, 4, 4, 8, 0, 2},    {"RF64", "data", false, 12, 4, 4, 8, 0, 2},
    {"RIFX", "data", true, 12, 4, 4, 8, 0, 2},     {"FORM", "SSND", true, 12, 4, 4, 8, 0, 2},
    {"riff", "data", false, 40, 16, 8, 24, 24, 8}, /* Sony's W64 */
    {"caff", "data", true, 8, 4, 8, 12, 0, 1},
};

bool sound_bytes_read(struct sound_bytes *bytes, uint64_t at, void *buffer, size_t count)
{
    if (bytes->head) {
        bool is_there = at <= bytes->head_size && count <= bytes->head_size - at;
        if (is_there)
            memcpy(buffer, bytes->head + at, count);
        return is_there;
    }
    ssize_t got = at <= INT64_MAX ? files_read_at(bytes->fd, buffer, count, (off_t)at) : 0;
    if (got < 0 && bytes->error == 0)
        bytes->error = errno;
    return got == (ssize_t)count;
}

bool sound_bytes_number(struct sound_bytes *bytes, uint64_t at, size_t count, uint64_t *value)
{
    unsigned char buffer[8];
    if (!sound_bytes_read(bytes, at, buffer, count))
        return false;
    *value = 0;
    for (size_t i = 0; i < count; i++)
        *value = *value << 8 | buffer[bytes->big_endian ? i : count - 1 - i];
    return true;
}

const struct chunk_layout *sound_chunks_layout(struct sound_bytes *bytes)
{
    char magic[4];
    if (!sound_bytes_read(bytes, 0, magic, sizeof magic))
        return NULL;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (memcmp(magic, layouts[i].magic, sizeof magic) == 0) {
            bytes->big_endian = layouts[i].big_endian;
            return &layouts[i];
        }
    return NULL;
}

bool sound_chunk_read(struct sound_bytes *bytes, const struct chunk_layout *layout, uint64_t at,
                      struct sound_chunk *chunk)
{
    uint64_t size;
    *chunk = (struct sound_chunk){.content = at + layout->header};
    if (!sound_bytes_read(bytes, at, chunk->id, sizeof chunk->id) ||
        !sound_bytes_number(bytes, at + layout->size_at, layout->size_bytes, &size))
        return false;
    bool is_data = memcmp(chunk->id, layout->data, 4) == 0;
    chunk->is_open = size == UINT64_MAX && !layout->counted;
    chunk->is_absurd =
        size < layout->counted || (size > INT64_MAX && (layout->counted || !is_data));
    chunk->size = size - layout->counted;
    chunk->next =
        chunk->content + (chunk->size + layout->align - 1) / layout->align * layout->align;
    return true;
}

bool sound_chunk_find(struct sound_bytes *bytes, const struct chunk_layout *layout,
                      const char id[5], struct sound_chunk *chunk)
{
    uint64_t at = layout->first;
    for (int i = 0; i < CHUNKS_MOST && sound_chunk_read(bytes, layout, at, chunk); i++) {
        if (memcmp(chunk->id, id, 4) == 0)
            return !chunk->is_absurd && !chunk->is_open;
        if (memcmp(chunk->id, layout->data, 4) == 0 || chunk->is_absurd || chunk->next <= at)
            return false;
        at = chunk->next;
    }
    return false;
}
