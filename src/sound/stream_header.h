/* Headers of streams that do not seek: WAV, which libsndfile refuses there, and
 * AU on the way out, whose sizes it would go back to. Samples follow the header
 * and are read and written as SF_FORMAT_RAW.
 *
 * A data size of 0 or 0xFFFFFFFF (or what sox and arecord make up) means that the sound lasts to
 * the end of the stream. WAV: RIFF, RIFX, RF64; PCM of 8 to 32 bits and IEEE float.
 */
#ifndef HALO_STREAM_HEADER_H
#define HALO_STREAM_HEADER_H

#include "base/status.h"
#include "sound/sound_format.h"

#include <stdint.h>
#include <stdio.h>

struct wav_header {
    struct stream_format stream;
    int raw_format; /* to read the samples behind the header as SF_FORMAT_RAW */
    int64_t frames; /* or FRAMES_UNKNOWN */
    size_t frame_bytes;
};

/* Does a stream that begins with these 12 bytes hold WAV? */
bool stream_header_is_wav(const unsigned char head[12]);

/* Read on from byte 12 to the first sample; tags found on the way go to `traits`.
 * Errors: cut short, no format, a format that is not PCM or float. */
MUST_CHECK enum status stream_header_read_wav(FILE *stream, const unsigned char head[12],
                                              const char *name, struct wav_header *header,
                                              struct sound_traits *traits);

/* The header of `frames` frames (or FRAMES_UNKNOWN) of `sound_format`.
 * Errors: the write. */
MUST_CHECK enum status stream_header_write_wav(FILE *stream, const char *name,
                                               const struct stream_format *format, int sound_format,
                                               int64_t frames, const struct sound_traits *traits);

/* The same for AU, which is big-endian and takes no tags. */
MUST_CHECK enum status stream_header_write_au(FILE *stream, const char *name,
                                              const struct stream_format *format, int sound_format,
                                              int64_t frames);

#endif
