/* Sound files as virtual files of libsndfile, so that no failed call is lost. libsndfile and the
 * libraries below it take a failed read for the end of the file, and some of their writers ignore
 * failed writes. Here the first errno is kept: check `error` after each call of libsndfile, and
 * after sf_close.
 *
 * A pipe is written and read without seeking. What a library would write over bytes that are gone,
 * such as the length into a header, is dropped. Reading, the first bytes are kept and seekable, for
 * parsing headers.
 *
 * Threads: one at a time.
 */
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

/* Follows the pages of an Ogg through its bytes, by libogg, for what libsndfile does not report:
 * damaged and missing pages, a missing end, and a chain of streams, one after another, of which
 * libsndfile reads the first. Streams that begin together are no chain. RFC 3533. */
enum { OGG_HEADER = 27, OGG_SEGMENTS_MOST = 255, OGG_STREAMS_MOST = 8 };

/* Number of the page that a stream should have next. */
struct ogg_next {
    int serial;
    long page;
};

struct ogg_pages {
    ogg_sync_state sync;
    struct ogg_next next[OGG_STREAMS_MOST]; /* of streams beyond these no page is missed */
    size_t streams;
    bool has_headers; /* a page that is no stream's first came */
    bool has_samples; /* a page with samples came */
    bool has_ended;   /* the last page ends its stream */
    bool is_chain;    /* the rest is not looked at */
    bool failed;      /* no memory */
    uint64_t at;      /* bytes that were looked at */
    uint64_t skipped; /* of these, since the last page, belong to no page with a right checksum */
    uint64_t damages; /* places with damaged or missing pages */
    uint64_t damaged_at, damaged_bytes; /* the first place, and bytes there; 0: pages are missing */
    int64_t before, after;              /* granule positions beside it; after -1: not known */
    bool begins_late;                   /* pages are missing before the first samples */
    int64_t granules[2];                /* of the last page, and of the one before it */
};

/* ---- the end of a sound whose header leaves its length open ---- */

/* WAV and AIFF from pipes: chunks after the samples (LIST, bext, id3, ...) are kept apart from
 * them.
 *
 * A stream's bytes are passed on as they arrive, but for those from which on chunks seem to follow
 * one another. They are held back until the stream ends where the last chunk does: then they are no
 * samples. Or until that is refuted: then they are samples. */
struct open_end {
    bool is_sought;              /* else bytes are read as they are */
    bool big_endian;             /* the chunks */
    bool may_begin;              /* the first byte may be that of a chunk of any name */
    struct metadata_buffer held; /* owned; from the stream */
    size_t first, samples;       /* of it: not passed on yet, and known to be samples */
    bool is_odd;                 /* `held` begins with an odd byte, where no chunk begins */
    bool ended;                  /* the stream has no more */
    bool has_chunks;             /* and those after `samples` are chunks */
};

/* The chunks, once has_chunks. */
struct sound_bytes open_end_chunks(const struct open_end *end);

/* The chunks at the end of a file whose samples begin at `from`, into an empty `end`: has_chunks.
 * Their offset. Errors are in `bytes`; memory: none are found. */
uint64_t open_end_find(struct open_end *end, struct sound_bytes *bytes, uint64_t from);

/* ---- bytes of ours in what libsndfile writes (sound_splice.c) ---- */

/* Metadata written where it belongs while libsndfile writes a file: it neither knows of these bytes
 * nor of the place they take. This works in files and in pipes, and needs no second pass.
 *
 *   front    before everything (MP3)
 *   FLAC     in the place of the block of comments that libFLAC writes
 *   Ogg      comments in the place of a comment of the same length, so that pages keep their sizes;
 *            sound_splice_room() has that length
 */
enum splice_kind { SPLICE_NONE, SPLICE_FRONT, SPLICE_FLAC, SPLICE_OGG };

struct sound_splice {
    enum splice_kind kind;
    struct metadata_buffer bytes;    /* owned; a tag, FLAC's blocks after the comments, or chunks
                                        for a header of our own, which are not spliced */
    struct metadata_buffer comments; /* owned; FLAC and Ogg, from their count on */

    SF_VIRTUAL_IO *base; /* the file below, */
    void *user;          /* and its own */
    int64_t position;    /* as libsndfile sees it */
    int64_t length;
    int64_t at;      /* where bytes were put; -1: not yet */
    int64_t dropped; /* bytes of libsndfile's that they replace */
    int64_t added;
    bool failed;
    struct metadata_buffer held; /* Ogg: until the comments are complete */
};

extern SF_VIRTUAL_IO sound_splice_functions; /* with a struct sound_splice */

void sound_splice_begin(struct sound_splice *splice, SF_VIRTUAL_IO *base, void *user);
/* After sf_close. False: not all was written, which libsndfile may not have noticed. */
MUST_CHECK bool sound_splice_finish(struct sound_splice *splice);
void sound_splice_free(struct sound_splice *splice);

/* The length of the comment to set, so that there is room for all; 0: none is to be written. */
size_t sound_splice_room(const struct sound_splice *splice);

/* ---- the virtual file ---- */

enum { STREAM_HEAD = 1 << 16 };

#ifdef HALO_SNDFILE_MP3
enum { SOUND_MPEG = SF_FORMAT_MPEG };
#else
enum { SOUND_MPEG = -1 }; /* libsndfile reads none */
#endif

/* Bytes that a file has not, and which are read all the same in place of what is there. */
struct sound_patch {
    int64_t at;
    size_t size; /* 0: none */
    unsigned char bytes[8];
};

struct sound_io {
    int fd;         /* not owned; or instead, for reading without seeking: */
    FILE *stream;   /* not owned */
    int error;      /* errno of the first call that failed, or SOUND_SHRANK; 0: none did */
    int64_t origin; /* offset of the sound in a file, or in a stream that is read */
    struct sound_patch patch; /* of a file that is read, set after sound_io_begin */
    int64_t length;           /* of a file that is read, from its first byte, when it was opened */
    int64_t shown;            /* of what is read: libsndfile sees no byte behind it; 0: all */
    int64_t position;         /* of a stream, or a file that is read: from its origin */
    int64_t passed;           /* bytes that went through a stream */
    bool ended;               /* and a stream that is read has no more */
    int open_error;           /* libsndfile's, if sound_io_open failed; 0: none */
    char open_problem[256];   /* the same as text */
    bool has_codec;           /* whose library allocates at any call */
    unsigned char *head;      /* of a stream that is read: STREAM_HEAD bytes */
    bool is_ogg;              /* a stream that is read, or a file after sound_io_read_pages */
    struct ogg_pages pages;   /* of an Ogg: those that were read */
    struct open_end end; /* of one; sought after sound_io_begin_stream if its header has none */
    struct sound_splice
        splice; /* what is written beside libsndfile's bytes, set before it is opened */
};

/* Begin at the current offset of `fd`. */
void sound_io_begin(struct sound_io *io, int fd);

/* The same part of the file that another one reads, independently. */
void sound_io_begin_beside(struct sound_io *io, const struct sound_io *other);

/* Errors: memory. */
MUST_CHECK enum status sound_io_begin_stream(struct sound_io *io, FILE *stream);

/* Frees what a stream keeps and holds back. */
void sound_io_free(struct sound_io *io);

/* Read again from an offset on of which the head is kept, as if the sound began there. */
void sound_io_begin_at(struct sound_io *io, uint64_t origin);

/* Bytes that the caller has read before, at most STREAM_HEAD; they are read again first. */
void sound_io_unread(struct sound_io *io, const void *bytes, size_t count);

/* The bytes of io->head that are there. */
size_t sound_io_kept(const struct sound_io *io);

/* Whether `fd` can be written in any order. */
bool sound_io_seekable(int fd);

/* As sf_open_virtual, but for errors: those are in `io`, since libsndfile has one for all threads.
 * Closing it leaves the descriptor or the stream open. */
SNDFILE *sound_io_open(struct sound_io *io, int mode, SF_INFO *info);

/* The same for reading, with nothing on standard error: libmpg123, which libsndfile uses, prints
 * warnings there. */
SNDFILE *sound_io_open_quietly(struct sound_io *io, SF_INFO *info);

/* Make sure of the memory that the file's codec takes, which may be long after it was opened;
 * without it the error is ENOMEM. Before reading or writing frames. Always true of samples that are
 * stored as they are. */
MUST_CHECK bool sound_io_has_memory(struct sound_io *io, size_t channels);

/* Read a stream until its head has `size` bytes, or all that are kept, or it ends. What is read
 * next stays what it was. Returns how many bytes the head has. */
size_t sound_io_fill_head(struct sound_io *io, size_t size);

/* Read an Ogg to its end, so that io->pages knows all of it: the rest of a stream, or all of a
 * file, whose position stays. Nothing of other sounds. Errors: io->error. */
void sound_io_read_pages(struct sound_io *io);

/* How libsndfile and other decoders read. Reading: seek is of a file alone. */
const SF_VIRTUAL_IO *sound_io_functions(const struct sound_io *io);

/* Write `count` bytes where libsndfile's end. Returns io->error. */
int sound_io_append(struct sound_io *io, const void *bytes, size_t count);

#endif
