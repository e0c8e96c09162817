/* Headers of sound files, beyond libsndfile: WAV streams, which it does not read; WAV and AU
 * streams, whose sizes it would seek back to write; and the length that a file's header claims.
 * Samples after the header are read and written as SF_FORMAT_RAW.
 *
 * A data size of 0, 0xFFFFFFFF, or as made up by sox and arecord means: to the end of the stream.
 * WAV: RIFF, RIFX, RF64; PCM of 8 to 32 bits and IEEE float.
 */
#ifndef HALO_STREAM_HEADER_H
#define HALO_STREAM_HEADER_H

#include "base/status.h"
#include "sound/sound_format.h"

#include <stdint.h>
#include <stdio.h>

struct wav_header {
    struct stream_format stream;
    int raw_format; /* of the samples after the header */
    int64_t frames; /* or FRAMES_UNKNOWN */
    size_t frame_bytes;
};

/* Whether these first 12 bytes of a stream are WAV. */
bool stream_header_is_wav(const unsigned char head[12]);

/* Read from byte 12 to the first sample; adds tags to `traits`.
 * Errors: truncated, no format, neither PCM nor float. */
MUST_CHECK enum status stream_header_read_wav(FILE *stream, const unsigned char head[12],
                                              const char *name, struct wav_header *header,
                                              struct sound_traits *traits);

/* Write the header of `frames` frames, or FRAMES_UNKNOWN. Errors: writing. */
MUST_CHECK enum status stream_header_write_wav(FILE *stream, const char *name,
                                               const struct stream_format *format, int sound_format,
                                               int64_t frames, const struct sound_traits *traits);

/* The same for AU, without tags. */
MUST_CHECK enum status stream_header_write_au(FILE *stream, const char *name,
                                              const struct stream_format *format, int sound_format,
                                              int64_t frames);

enum sound_claim {
    CLAIM_NONE, /* unknown container, or one without a length */
    CLAIM_END,  /* *end is the byte at which the samples should end */
    CLAIM_OPEN, /* a stream's header (size 0 or 0xFFFFFFFF): to the end of the file */
};

/* The length claimed by the header of regular file `fd` (WAV, RF64, W64, AIFF, AU, CAF), since
 * libsndfile does not report truncation. Keeps the file's position. */
enum sound_claim sound_claim_read(int fd, uint64_t *end);

/* A stream that does not seek, as a virtual file of libsndfile. The first bytes are kept and
 * seekable, for parsing headers. Positions count from stream_io_begin. */
enum { STREAM_HEAD = 1 << 16 };

struct stream_io {
    FILE *stream; /* not owned */
    int64_t position;
    int64_t consumed; /* bytes read from the stream */
    bool ended;       /* and there are no more */
    unsigned char head[STREAM_HEAD];
};

void stream_io_begin(struct stream_io *io, FILE *stream);
/* Bytes that the caller has read before; they are read again first. */
void stream_io_unread(struct stream_io *io, const void *bytes, size_t count);
extern SF_VIRTUAL_IO stream_io_functions; /* user data: struct stream_io */

#endif
