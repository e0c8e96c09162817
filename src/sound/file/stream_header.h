/* Headers of sound files that libsndfile does not handle. libsndfile does not read WAV streams. It
 * cannot write WAV and AU streams, since it seeks back to write sizes. It does not report the
 * length that a header claims. Samples after a header are read and written as SF_FORMAT_RAW.
 *
 * A data size of 0, 0xFFFFFFFF or a made-up size (sound_chunks.h) means that samples go on to the
 * end. WAV: RIFF, RIFX, RF64, BW64; PCM of 8 to 32 bits and IEEE float. */
#ifndef HALO_STREAM_HEADER_H
#define HALO_STREAM_HEADER_H

#include "base/status.h"
#include "sound/file/channel_order.h"
#include "sound/file/sound_format.h"
#include "sound/metadata/metadata.h"

#include <sndfile.h>
#include <stdint.h>
#include <stdio.h>

/* Message about an impossible header. Its argument is the sound's name. */
#define SOUND_IMPOSSIBLE                                                                           \
    "cannot read %s: its header gives no possible rate, number of channels or length"

enum { RATE_MOST = 10000000 }; /* highest rate of a sound, Hz */

enum { TAG_PCM = 1, TAG_FLOAT = 3, TAG_EXTENSIBLE = 0xFFFE }; /* format tags of WAV */

struct wav_header {
    struct stream_format stream;
    int raw_format; /* libsndfile format of the samples after the header */
    int64_t frames; /* length of the sound, or FRAMES_UNKNOWN */
    size_t frame_bytes;
    bool is_extensible;
    const struct chunk_layout *layout;
    /* the length is unknown, and the file claims to go on after the header of its samples */
    bool has_more;
    /* Bytes from the first sample to the next chunk (next) and to the end that the file claims
     * (end). next == end: no chunk follows, or none is known. */
    uint64_t next, end;
};

/* Whether these first 12 bytes of a stream are WAV. */
bool stream_header_is_wav(const unsigned char head[12]);

/* Read the header from byte 12 to the first sample. Adds metadata before the samples to
 * traits->metadata. Errors: truncated, no format, neither PCM nor float. */
MUST_CHECK enum status stream_header_read_wav(FILE *stream, const unsigned char head[12],
                                              const char *name, struct wav_header *header,
                                              struct sound_traits *traits);

/* Write the header for `frames` frames, or FRAMES_UNKNOWN, with `chunks` before the samples. It is
 * extensible if `sound_format` is. Errors: writing. */
MUST_CHECK enum status stream_header_write_wav(FILE *stream, const char *name,
                                               const struct stream_format *format, int sound_format,
                                               int64_t frames,
                                               const struct metadata_buffer *chunks);

/* Write the header of an AU, without tags. */
MUST_CHECK enum status stream_header_write_au(FILE *stream, const char *name,
                                              const struct stream_format *format, int sound_format,
                                              int64_t frames);

enum sound_claim_kind {
    CLAIM_NONE, /* unknown container, or one without a length */
    CLAIM_END,  /* the samples should end at byte `end` */
    /* the size is open, as in streams (sound_chunk_is_open): samples go on to the file's end */
    CLAIM_OPEN,
    CLAIM_TWICE,      /* the header is there twice (sound_chunk_begins_again) */
    CLAIM_IMPOSSIBLE, /* a size that no chunk can have */
    CLAIM_FAILED,     /* reading failed, see errno */
};

struct sound_claim {
    enum sound_claim_kind kind;
    uint64_t end;
    bool is_described;   /* no chunk after the samples is needed to read them */
    bool is_doubtful;    /* see struct sound_chunk */
    uint64_t start;      /* offset of the chunk of the samples */
    uint64_t size_at;    /* CLAIM_OPEN: offset of that chunk's size */
    unsigned size_bytes; /* CLAIM_OPEN: bytes of the size */
    unsigned bits;       /* bits of a sample of PCM or floats in a WAV; 0: unknown */
};

/* Read the length that the header of regular file `fd` claims (WAV, RF64, W64, AIFF, AU, CAF),
 * since libsndfile does not report truncation. Keeps the file's position. */
struct sound_claim sound_claim_read(int fd);

/* ---- W64 (Sony Wave64) ---- */

/* libsndfile writes neither chunks nor WAVE_FORMAT_EXTENSIBLE into W64, and reads floating-point
 * samples of an extensible W64 as integers. Samples after halo's header are SF_FORMAT_RAW. */

/* Write the header into an empty file, with `chunks` before the samples. The file's position is
 * then after the header. Returns 0 or an errno. */
int w64_header_begin(int fd, const struct stream_format *format, int sound_format,
                     bool is_extensible, const struct metadata_buffer *chunks);

/* Write the size of the samples, once they are complete. Returns 0 or an errno. */
int w64_header_end(int fd, bool is_extensible, size_t chunks);

/* Whether a W64 has floating-point samples that libsndfile would read as integers. If so, sets
 * *info for opening the file at *start, and *frames. */
bool w64_header_reads_raw(struct sound_bytes *bytes, SF_INFO *info, uint64_t *start,
                          int64_t *frames);

#endif
