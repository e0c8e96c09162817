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

#include "sound/ogg_pages.h"
#include "sound/open_end.h"
#include "sound/sound_splice.h"
#include "sound/stream_header.h"

#include <sndfile.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

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

/* From the current offset of `fd` on. */
void sound_io_begin(struct sound_io *io, int fd);

/* The same part of the file that another one reads, independently. */
void sound_io_begin_beside(struct sound_io *io, const struct sound_io *other);

/* Errors: memory. */
MUST_CHECK enum status sound_io_begin_stream(struct sound_io *io, FILE *stream);

/* What a stream keeps and holds back. */
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
