/* The chunks of sound files that are made of them: WAV, RF64, W64, AIFF and CAF; and their bytes,
 * from a file or from what was kept of a stream.
 *
 * Threads: one at a time.
 */
#ifndef HALO_SOUND_CHUNKS_H
#define HALO_SOUND_CHUNKS_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that can be read in any order. */
struct sound_bytes {
    int fd;                      /* not owned; or instead: */
    const unsigned char *memory; /* not owned, or NULL */
    uint64_t size;
    bool big_endian; /* for sound_bytes_number */
    int error;       /* errno of the first read that failed, SOUND_SHRANK, or 0 */
};

/* An error of a file that has less than when it was opened. */
enum { SOUND_SHRANK = -1 };

/* An errno, or that error. */
struct flaw sound_flaw(int error);

/* All of a file. */
struct sound_bytes sound_bytes_of_file(int fd);

/* Whether all of them are there. The file's position stays. */
bool sound_bytes_read(struct sound_bytes *bytes, uint64_t at, void *buffer, size_t count);
bool sound_bytes_number(struct sound_bytes *bytes, uint64_t at, size_t count, uint64_t *value);

/* Write all of them there, into a regular file. Returns 0 or an errno. */
MUST_CHECK int sound_bytes_write(int fd, uint64_t at, const void *bytes, size_t count);

/* Each has a name, a size, content, padding. */
struct chunk_layout {
    char magic[5];
    char form[5]; /* of the file, at byte 8, or any (empty) */
    char data[5]; /* name of the chunk with the samples, */
    uint8_t lead; /* whose first bytes are none */
    bool big_endian;
    uint8_t first; /* offset of the first chunk */
    uint8_t size_at, size_bytes;
    uint8_t header;  /* bytes before the content */
    uint8_t counted; /* of these, included in the size */
    uint8_t align;
    uint8_t whole_at,
        whole_bytes;    /* the file's size: where it stands (RF64: in ds64); 0: nowhere */
    uint8_t whole_less; /* and bytes that it leaves out */
};

/* Bytes of a chunk: far beyond any stream, and far from overflow in libsndfile. */
#define SIZE_MOST (UINT64_C(1) << 58)

enum { SOUND_CHUNKS_MAGIC = 12 }; /* bytes of a file that tell its kind */

/* The layout of a file that begins with these bytes. NULL: it is not made of such chunks. */
const struct chunk_layout *sound_chunks_layout(const unsigned char head[SOUND_CHUNKS_MAGIC]);

enum { CHUNK_ID = 16 }; /* four letters and zeros, or a GUID */

struct sound_chunk {
    unsigned char id[CHUNK_ID];
    uint64_t content, size; /* offset, bytes; of an RF64's samples those of ds64 */
    bool is_data;           /* the samples */
    bool is_open;           /* of a size that is left open */
    bool is_made_up;        /* samples of such a size (below), which are fewer, or more */
    bool is_doubtful;       /* more than 4 GB follow, and are neither chunks nor samples for sure */
    bool is_absurd;         /* the size is none: there is no next one */
};

/* A walk from chunk to chunk. */
struct sound_chunks {
    struct sound_bytes *bytes;
    const struct chunk_layout *layout;
    uint64_t at; /* offset of the next chunk */
    uint64_t size_64;
    uint64_t frame;    /* bytes of one, or of a block; 0: not known yet */
    bool is_described; /* the chunks so far say all that is needed to read the samples */
};

/* Begin a walk at the first chunk; sets bytes->big_endian. False: the file is not made of chunks.
 */
bool sound_chunks_begin(struct sound_bytes *bytes, struct sound_chunks *chunks);

/* The next chunk. False: there is none. */
bool sound_chunks_next(struct sound_chunks *chunks, struct sound_chunk *chunk);

/* Whether samples go on to the end of the file: their chunk does not say how many there are, or
 * says 0 where no chunks follow, or a made-up size. */
bool sound_chunk_is_open(const struct sound_chunks *chunks, const struct sound_chunk *chunk);

/* Whether samples that are none are followed by the beginning of the file once more: libsndfile
 * writes W64 and CAF so to a pipe, for sox, and the whole header once more behind the samples. */
bool sound_chunk_begins_again(const struct sound_chunks *chunks, const struct sound_chunk *chunk);

/* The first chunk of a name, before the samples or that of the samples. False: there is none. */
bool sound_chunks_find(struct sound_bytes *bytes, const char id[5], struct sound_chunk *chunk);

/* Whether programs that cannot seek back to the header write such a size of all samples there: sox,
 * FFmpeg, arecord, lame, oggdec, opusdec. `frame`: see struct sound_chunks. */
bool sound_size_is_made_up(uint64_t size, uint64_t frame);

/* The size of an RF64's samples, from the content of its chunk `ds64`. */
enum { DS64_LEAST = 16 };
uint64_t sound_chunks_size_64(const unsigned char content[DS64_LEAST]);

#endif
