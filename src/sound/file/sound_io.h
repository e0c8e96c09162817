/* Sound files as virtual files of libsndfile, so that no failed call is lost. libsndfile and its
 * codec libraries take a failed read for the end of the file, and some of their writers ignore
 * failed writes. struct sound_io keeps the first errno: check `error` after each call of
 * libsndfile, and after sf_close.
 *
 * Pipes are written and read without seeking. If a library seeks back to write, such as the length
 * into a header, those bytes are dropped. When reading, the first bytes are kept, and a library can
 * seek in them to parse headers.
 *
 * Threads: one at a time. */
#ifndef HALO_SOUND_IO_H
#define HALO_SOUND_IO_H

#include "base/status.h"
#include "sound/file/stream_header.h"
#include "sound/metadata/metadata.h"

#include <ogg/ogg.h>
#include <sndfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- pages of an Ogg ---- */

/* Follows the pages of an Ogg by libogg to find faults that libsndfile does not report: damaged and
 * missing pages, a missing end, and a chain of streams, one after another. libsndfile reads only
 * the first stream of a chain. Streams that begin together are no chain. RFC 3533. */
enum { OGG_HEADER = 27, OGG_SEGMENTS_MOST = 255, OGG_STREAMS_MOST = 8 };

/* Number of the page that a stream should have next. */
struct ogg_next {
    int serial;
    long page;
};

struct ogg_pages {
    ogg_sync_state sync;
    struct ogg_next next[OGG_STREAMS_MOST]; /* pages missing in further streams are not noticed */
    size_t streams;
    bool has_headers; /* a page other than the first of a stream was seen */
    bool has_samples; /* a page with samples was seen */
    bool has_ended;   /* the last page seen ends its stream */
    bool is_chain;    /* a second stream follows the first; its pages are ignored */
    bool failed;      /* memory ran out */
    uint64_t at;      /* bytes followed so far */
    uint64_t skipped; /* bytes since the last page that belong to no page with a right checksum */
    uint64_t damages; /* places with damaged or missing pages */
    /* offset of the first such place, and damaged bytes there; 0 bytes: pages are missing */
    uint64_t damaged_at, damaged_bytes;
    int64_t before, after; /* granule positions before and after that place; after -1: unknown */
    bool begins_late;      /* pages are missing before the first samples */
    int64_t granules[2];   /* granule positions of the last page and the page before it */
};

/* ---- the end of a sound whose header leaves its length open ---- */

/* WAV and AIFF from pipes: separates chunks after the samples (LIST, bext, id3, ...) from the
 * samples.
 *
 * Bytes of the stream are passed on as samples as they arrive. From a byte on where chunks seem to
 * follow one another, bytes are held back. If the stream ends where the last chunk does, they are
 * chunks. As soon as that is impossible, they are samples. */
struct open_end {
    bool is_sought;              /* look for chunks; false: all bytes are passed on */
    bool big_endian;             /* byte order of the chunks */
    bool may_begin;              /* a chunk with any name may begin at the first byte */
    struct metadata_buffer held; /* owned; bytes from the stream */
    /* bytes of `held`: offset of the first not passed on, and end of the known samples */
    size_t first, samples;
    bool is_odd;     /* `held` begins with an odd byte, where no chunk begins */
    bool ended;      /* the end of the stream was read */
    bool has_chunks; /* bytes of `held` after `samples` are chunks */
};

/* The bytes of the chunks, if has_chunks is set. */
struct sound_bytes open_end_chunks(const struct open_end *end);

/* Look for chunks at the end of a file whose samples begin at `from`. Fills the empty `end` and, if
 * has_chunks, returns their offset. Errors are in `bytes`. No memory: none are found. */
uint64_t open_end_find(struct open_end *end, struct sound_bytes *bytes, uint64_t from);

/* ---- halo's bytes in a file that libsndfile writes (sound_splice.c) ---- */

/* Puts metadata in its place while libsndfile writes a file. libsndfile does not see these bytes,
 * and its positions do not count them. This works in files and in pipes, and needs no second pass.
 *
 *   front    before everything (MP3)
 *   FLAC     in the place of the block of comments that libFLAC writes
 *   Ogg      comments in the place of a comment of the same length, so that pages keep their sizes;
 *            sound_splice_room() has that length
 */
enum splice_kind { SPLICE_NONE, SPLICE_FRONT, SPLICE_FLAC, SPLICE_OGG };

struct sound_splice {
    enum splice_kind kind;
    /* owned; a tag, FLAC's other blocks, or chunks for halo's own header, which are not spliced */
    struct metadata_buffer bytes;
    struct metadata_buffer comments; /* owned; FLAC, Ogg: the count (4 bytes) and comments */

    SF_VIRTUAL_IO *base; /* functions of the file below */
    void *user;          /* user data of `base` */
    int64_t position;    /* position that libsndfile sees */
    int64_t length;      /* length that libsndfile sees */
    int64_t at;          /* position of the bytes put in; -1: not yet */
    int64_t dropped;     /* bytes of libsndfile that the bytes put in replace */
    int64_t added;       /* number of bytes put in */
    bool failed;
    struct metadata_buffer held; /* Ogg: bytes held back until the comments are complete */
};

extern SF_VIRTUAL_IO sound_splice_functions; /* user data: a struct sound_splice */

void sound_splice_begin(struct sound_splice *splice, SF_VIRTUAL_IO *base, void *user);
/* Call after sf_close. False: not all bytes were written; libsndfile may not have noticed. */
MUST_CHECK bool sound_splice_finish(struct sound_splice *splice);
void sound_splice_free(struct sound_splice *splice);

/* Ogg: the length of a comment to set in libsndfile, which makes room for all comments; 0: none. */
size_t sound_splice_room(const struct sound_splice *splice);

/* ---- the virtual file ---- */

enum { STREAM_HEAD = 1 << 16 };

#ifdef HALO_SNDFILE_MP3
enum { SOUND_MPEG = SF_FORMAT_MPEG };
#else
enum { SOUND_MPEG = -1 }; /* this libsndfile reads no MP3 */
#endif

/* Bytes that a read returns in place of the bytes in the file. */
struct sound_patch {
    int64_t at;
    size_t size; /* 0: none */
    unsigned char bytes[8];
};

struct sound_io {
    int fd;         /* not owned; used if `stream` is NULL */
    FILE *stream;   /* not owned; read without seeking; NULL: `fd` is used */
    int error;      /* errno of the first call that failed, or SOUND_SHRANK; 0: none failed */
    int64_t origin; /* offset of the sound in the file or in a stream that is read */
    struct sound_patch patch; /* for a file that is read; set after sound_io_begin */
    int64_t length;           /* bytes of a file that is read, when it was opened */
    int64_t shown;    /* when reading: libsndfile sees only bytes before this offset; 0: all */
    int64_t position; /* offset from `origin`, in a stream or a file that is read */
    int64_t passed;   /* bytes that went through a stream */
    bool ended;       /* the end of a stream that is read was reached */
    int open_error;   /* error number of libsndfile if sound_io_open failed; 0: none */
    char open_problem[256]; /* text of open_error */
    bool has_codec;         /* the codec's library may allocate memory at any call */
    unsigned char *head;    /* first bytes of a stream that is read; room for STREAM_HEAD bytes */
    bool is_ogg;            /* pages are followed, of a stream or by sound_io_read_pages */
    struct ogg_pages pages; /* Ogg: pages read so far */
    struct open_end end;    /* end of a stream's samples; looked for if the header has no length */
    struct sound_splice splice; /* bytes added to those of libsndfile; set before sound_io_open */
};

/* Start to use `fd`, at its current offset. */
void sound_io_begin(struct sound_io *io, int fd);

/* Read the same part of the file as `other`, with a position of its own. */
void sound_io_begin_beside(struct sound_io *io, const struct sound_io *other);

/* Start to read a stream. Errors: memory. */ MUST_CHECK enum status
sound_io_begin_stream(struct sound_io *io, FILE *stream);

/* Free the bytes that a stream keeps and holds back. */
void sound_io_free(struct sound_io *io);

/* Read again from an offset within the kept head, as if the sound began there. */
void sound_io_begin_at(struct sound_io *io, uint64_t origin);

/* Give back at most STREAM_HEAD bytes that the caller read from the stream. They are read next. */
void sound_io_unread(struct sound_io *io, const void *bytes, size_t count);

/* The number of bytes in io->head. */
size_t sound_io_kept(const struct sound_io *io);

/* Whether `fd` can be written in any order. */
bool sound_io_seekable(int fd);

/* Like sf_open_virtual, but errors are in `io`, since libsndfile has one error for all threads.
 * Closing the SNDFILE leaves the descriptor or the stream open. */
SNDFILE *sound_io_open(struct sound_io *io, int mode, SF_INFO *info);

/* sound_io_open() for reading, with nothing on standard error, where libmpg123 prints warnings. */
SNDFILE *sound_io_open_quietly(struct sound_io *io, SF_INFO *info);

/* Check that there is memory for the file's codec, which may allocate late. Call before reading or
 * writing frames. False: the error is ENOMEM. True for samples without a codec. */
MUST_CHECK bool sound_io_has_memory(struct sound_io *io, size_t channels);

/* Read a stream until its head has `size` bytes or is full, or the stream ends. The next read
 * returns the same bytes as without this call. Returns the number of bytes in the head. */
size_t sound_io_fill_head(struct sound_io *io, size_t size);

/* Read an Ogg to its end, so that io->pages covers all of it: the rest of a stream, or all of a
 * file, whose position stays. Does nothing for other sounds. Errors: io->error. */
void sound_io_read_pages(struct sound_io *io);

/* The functions by which libsndfile and other decoders read. When reading, only files can seek. */
const SF_VIRTUAL_IO *sound_io_functions(const struct sound_io *io);

/* Write `count` bytes after those of libsndfile. Returns io->error. */
int sound_io_append(struct sound_io *io, const void *bytes, size_t count);

#endif
