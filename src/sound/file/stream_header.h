/* Headers of sound files, beyond libsndfile: WAV streams, which it does not read; WAV and AU
 * streams, whose sizes it would seek back to write; and the length that a file's header claims.
 * Samples after the header are read and written as SF_FORMAT_RAW.
 *
 * A data size of 0, 0xFFFFFFFF, or a made-up one (sound_chunks.h) means: to the end of the stream.
 * WAV: RIFF, RIFX, RF64, BW64; PCM of 8 to 32 bits and IEEE float.
 */
#ifndef HALO_STREAM_HEADER_H
#define HALO_STREAM_HEADER_H

#include "base/status.h"
#include "sound/file/channel_order.h"
#include "sound/file/sound_format.h"
#include "sound/metadata/metadata.h"

#include <sndfile.h>
#include <stdint.h>
#include <stdio.h>

/* The line about a header that no sound has; with the sound's name. */
#define SOUND_IMPOSSIBLE                                                                           \
    "cannot read %s: its header gives no possible rate, number of channels or length"

enum { RATE_MOST = 10000000 }; /* Hz, of any sound */

enum { TAG_PCM = 1, TAG_FLOAT = 3, TAG_EXTENSIBLE = 0xFFFE }; /* of a WAV's format */

struct wav_header {
    struct stream_format stream;
    int raw_format; /* of the samples after the header */
    int64_t frames; /* or FRAMES_UNKNOWN */
    size_t frame_bytes;
    bool is_extensible;
    const struct chunk_layout *layout;
    bool has_more; /* of unknown length, and the file claims to go on behind its samples' header */
    /* From the first sample on: where the next chunk begins, and where the file claims to end.
     * Equal: there is no next one, or none is known. */
    uint64_t next, end;
};

/* Whether these first 12 bytes of a stream are WAV. */
bool stream_header_is_wav(const unsigned char head[12]);

/* Read from byte 12 to the first sample; adds what is before the samples to traits->metadata.
 * Errors: truncated, no format, neither PCM nor float. */
MUST_CHECK enum status stream_header_read_wav(FILE *stream, const unsigned char head[12],
                                              const char *name, struct wav_header *header,
                                              struct sound_traits *traits);

/* Write the header of `frames` frames, or FRAMES_UNKNOWN, extensible if `sound_format` is, with
 * these chunks before the samples. Errors: writing. */
MUST_CHECK enum status stream_header_write_wav(FILE *stream, const char *name,
                                               const struct stream_format *format, int sound_format,
                                               int64_t frames,
                                               const struct metadata_buffer *chunks);

/* The same for AU, without tags. */
MUST_CHECK enum status stream_header_write_au(FILE *stream, const char *name,
                                              const struct stream_format *format, int sound_format,
                                              int64_t frames);

enum sound_claim_kind {
    CLAIM_NONE,       /* unknown container, or one without a length */
    CLAIM_END,        /* the samples should end at byte `end` */
    CLAIM_OPEN,       /* a stream's header (sound_chunk_is_open): to the end of the file */
    CLAIM_TWICE,      /* the header stands twice (sound_chunk_begins_again) */
    CLAIM_IMPOSSIBLE, /* a size that no chunk can have */
    CLAIM_FAILED,     /* reading failed, see errno */
};

struct sound_claim {
    enum sound_claim_kind kind;
    uint64_t end;
    bool is_described;   /* nothing after it is needed to read them */
    bool is_doubtful;    /* see struct sound_chunk */
    uint64_t start;      /* where the chunk of the samples begins, */
    uint64_t size_at;    /* and CLAIM_OPEN: where their size stands, */
    unsigned size_bytes; /* in as many bytes */
    unsigned bits;       /* of a sample of PCM or floats in a WAV; 0: not said */
};

/* What the header of regular file `fd` claims (WAV, RF64, W64, AIFF, AU, CAF), since libsndfile
 * does not report truncation. Keeps the file's position. */
struct sound_claim sound_claim_read(int fd);

/* ---- W64 (Sony Wave64) ---- */

/* libsndfile writes neither chunks nor WAVE_FORMAT_EXTENSIBLE into one, and reads floating-point
 * samples of the latter as integers. Samples follow as SF_FORMAT_RAW. */

/* Write the header into an empty file, with these chunks before the samples, and leave it behind
 * it; returns 0 or an errno. */
int w64_header_begin(int fd, const struct stream_format *format, int sound_format,
                     bool is_extensible, const struct metadata_buffer *chunks);

/* The samples are complete: write their size. Returns 0 or an errno. */
int w64_header_end(int fd, bool is_extensible, size_t chunks);

/* Whether a W64 has such samples: then *info is for opening it at *start, with `frames` to come. */
bool w64_header_reads_raw(struct sound_bytes *bytes, SF_INFO *info, uint64_t *start,
                          int64_t *frames);

#endif
