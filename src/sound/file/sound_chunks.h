/* Walks the chunks of sound files: WAV, RF64, W64, AIFF and CAF. Their bytes come from a file, or
 * from the kept part of a stream. Threads: one at a time. */
#ifndef HALO_SOUND_CHUNKS_H
#define HALO_SOUND_CHUNKS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that can be read in any order. */
struct sound_bytes {
    int fd;                      /* not owned; used if `memory` is NULL */
    const unsigned char *memory; /* not owned, or NULL */
    uint64_t size;
    bool big_endian; /* for sound_bytes_number */
    int error;       /* errno of the first read that failed, SOUND_SHRANK, or 0 */
};

/* Error code of a file that has become shorter since it was opened. */
enum { SOUND_SHRANK = -1 };

/* A text for an errno or SOUND_SHRANK. */
struct flaw sound_flaw(int error);

struct sound_bytes sound_bytes_of_file(int fd);

/* Read `count` bytes, or a number of `count` bytes, at offset `at`. False: not all bytes are there.
 * The file's position stays. */
bool sound_bytes_read(struct sound_bytes *bytes, uint64_t at, void *buffer, size_t count);
bool sound_bytes_number(struct sound_bytes *bytes, uint64_t at, size_t count, uint64_t *value);

/* Write `count` bytes at offset `at` of a regular file. Returns 0 or an errno. */
MUST_CHECK int sound_bytes_write(int fd, uint64_t at, const void *bytes, size_t count);

/* How a kind of file stores chunks. Each chunk has a name, a size, content and padding. */
struct chunk_layout {
    char magic[5];
    char form[5]; /* form of the file, at byte 8; empty: any */
    char data[5]; /* name of the chunk with the samples */
    uint8_t lead; /* bytes at the start of that chunk that are no samples */
    bool big_endian;
    uint8_t first;               /* offset of the first chunk */
    uint8_t size_at, size_bytes; /* where a chunk's header has the size, and in how many bytes */
    uint8_t header;              /* bytes of a chunk's header, before its content */
    uint8_t counted;             /* bytes of the header that are included in the size */
    uint8_t align;               /* content is padded to a multiple of as many bytes */
    uint8_t whole_at,
        whole_bytes;    /* offset and bytes of the file's size (RF64: in ds64); 0: there is none */
    uint8_t whole_less; /* bytes that the file's size does not count */
};

/* Most bytes of a chunk: far more than any stream has, and no overflow in libsndfile. */
#define SIZE_MOST (UINT64_C(1) << 58)

enum { SOUND_CHUNKS_MAGIC = 12 }; /* first bytes of a file, which tell its kind */

/* The layout of a file that begins with these bytes. NULL: the file has no such chunks. */
const struct chunk_layout *sound_chunks_layout(const unsigned char head[SOUND_CHUNKS_MAGIC]);

enum { CHUNK_ID = 16 }; /* bytes of a chunk's id: four letters and zeros, or a GUID */

struct sound_chunk {
    unsigned char id[CHUNK_ID];
    uint64_t content, size; /* offset and bytes of the content (RF64's samples: from ds64) */
    bool is_data;           /* the chunk has the samples */
    bool is_open;           /* the header leaves the size open */
    bool is_made_up;  /* the size of the samples is made up (sound_size_is_made_up) and wrong */
    bool is_doubtful; /* more than 4 GB follow, which may be chunks or samples */
    bool is_absurd;   /* the size is impossible: no next chunk can be found */
};

/* A walk from chunk to chunk. */
struct sound_chunks {
    struct sound_bytes *bytes;
    const struct chunk_layout *layout;
    uint64_t at;       /* offset of the next chunk */
    uint64_t size_64;  /* size of the samples, from the chunk ds64; 0: none */
    uint64_t frame;    /* bytes of a frame, or of a block of compressed samples; 0: not known yet */
    bool is_described; /* the chunks read so far suffice to read the samples */
};

/* Begin a walk at the first chunk; sets bytes->big_endian. False: the file has no chunks. */
bool sound_chunks_begin(struct sound_bytes *bytes, struct sound_chunks *chunks);

/* Get the next chunk. False: there is none. */
bool sound_chunks_next(struct sound_chunks *chunks, struct sound_chunk *chunk);

/* Whether the samples go on to the end of the file. They do if their chunk's size is left open, is
 * made up, or is 0 and no chunks follow. */
bool sound_chunk_is_open(const struct sound_chunks *chunks, const struct sound_chunk *chunk);

/* Whether the chunk of the samples is empty and the beginning of the file follows once more.
 * libsndfile, used by sox, writes W64 and CAF to a pipe like this. The whole header then also
 * stands behind the samples. */
bool sound_chunk_begins_again(const struct sound_chunks *chunks, const struct sound_chunk *chunk);

/* Find the first chunk with this name, up to the chunk of the samples. False: there is none. */
bool sound_chunks_find(struct sound_bytes *bytes, const char id[5], struct sound_chunk *chunk);

/* Whether `size` is one that programs write into the header if they cannot seek back to correct it:
 * sox, FFmpeg, arecord, lame, oggdec, opusdec. `frame`: see struct sound_chunks. */
bool sound_size_is_made_up(uint64_t size, uint64_t frame);

/* The size of an RF64's samples, from the content of its chunk `ds64`. */
enum { DS64_LEAST = 16 };
uint64_t sound_chunks_size_64(const unsigned char content[DS64_LEAST]);

#endif
