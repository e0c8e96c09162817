/* The chunks of sound files that are made of them: WAV, RF64, W64, AIFF and CAF; and their bytes,
 * from a file or from what was kept of a stream's head.
 *
 * Threads: one at a time.
 */
#ifndef HALO_SOUND_CHUNKS_H
#define HALO_SOUND_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sound_bytes {
    int fd;
    const unsigned char *head; /* instead of the file, or NULL */
    size_t head_size;
    bool big_endian;
    int error; /* of the first read that failed, or 0 */
};

/* Whether all of them are there. The file's position stays. */
bool sound_bytes_read(struct sound_bytes *bytes, uint64_t at, void *buffer, size_t count);
bool sound_bytes_number(struct sound_bytes *bytes, uint64_t at, size_t count, uint64_t *value);

/* Each has a four-letter name, a size, content, padding. */
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

/* By the first four bytes, which set bytes->big_endian; NULL: none of them. */
const struct chunk_layout *sound_chunks_layout(struct sound_bytes *bytes);

struct sound_chunk {
    char id[4];
    uint64_t content, size; /* offset, bytes */
    uint64_t next;          /* offset of the next chunk */
    bool is_open;           /* of a size that CAF leaves open */
    bool is_absurd;         /* the size is none: there is no next one */
};

/* The chunk at this offset. False: there is none. */
bool sound_chunk_read(struct sound_bytes *bytes, const struct chunk_layout *layout, uint64_t at,
                      struct sound_chunk *chunk);

/* The first chunk of a name, before the samples. False: there is none. */
bool sound_chunk_find(struct sound_bytes *bytes, const struct chunk_layout *layout,
                      const char id[5], struct sound_chunk *chunk);

#endif
