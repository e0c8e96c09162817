/* A sound file or stream as a source: port_sndfile_source.c reads it, port_sndfile_open.c opens it.
 * port_sndfile_metadata.c reads what surrounds the samples. Private to them. Threads: one at a
 * time.
 */
#ifndef HALO_PORT_SNDFILE_SOURCE_H
#define HALO_PORT_SNDFILE_SOURCE_H

#include "sound/channel_order.h"
#include "sound/flac_reader.h"
#include "sound/port.h"
#include "sound/sound_io.h"

#include <stdio.h>

/* Doubles that are read in single precision. */
struct narrowed {
    double beyond;  /* the first that it cannot hold; 0: none */
    size_t sample;  /* which of those read together */
    double largest; /* of all so far */
};

struct sound_source {
    struct source source;
    SNDFILE *file;
    struct flac_reader *flac; /* instead of it */
    int fd;
    FILE *stream;    /* instead of fd if the input does not seek */
    bool is_in_part; /* standard input that is not at its beginning, or has none */
    struct sound_io io;
    char *path;
    bool allow_truncated;
    bool reported_missing; /* by a warning */
    bool is_double;        /* the samples of the file; */
    bool is_short;         /* integers of 16 bits, which libsndfile hands out as they are */
    struct narrowed narrowed;
    int64_t position;
    int64_t limit; /* frames of sound, without trailing data, or FRAMES_UNKNOWN */
    struct channel_order order;
    /* Of a stream made of chunks: where in `io` the chunk after the samples begins, and where the
     * file claims to end. Equal: there is none, or it is not known. */
    const struct chunk_layout *layout;
    uint64_t next, end;
    size_t chunk;      /* frames; 0: not read yet */
    void *interleaved; /* floats, or doubles if asked for */
};

extern const struct source_kind sound_source_kind;

/* Its header says `frames`, of which `missing` are; 0 frames: as many bytes are; 0: its end is.
 * Errors: unless that is allowed, which one warning says. */
MUST_CHECK enum status sound_source_judge_missing(struct sound_source *sound, uint64_t frames,
                                                  uint64_t missing);

/* Of a file whose header leaves its length open (CLAIM_OPEN), before libsndfile opens it: shows it
 * the right size. Sets claim->end, and sound->layout where chunks follow the samples. Errors are in
 * `bytes`. */
void sound_source_show_size(struct sound_source *sound, struct sound_bytes *bytes,
                            struct sound_claim *claim);

/* The same of a stream that begins so, and goes on from there; all that is read of it is read again
 * by sound->io. Errors: memory. */
MUST_CHECK enum status sound_source_show_stream_size(struct sound_source *sound,
                                                     const unsigned char start[12]);

/* What was read so far has the checksums of its pages or frames. Errors: unless damage is allowed.
 */
MUST_CHECK enum status sound_source_check(struct sound_source *sound);

/* All of an Ogg, which is read to its end: whether its pages are right, its end is there, and it is
 * one sound. Errors: unless that is allowed; that of io->error is the caller's to report. */
MUST_CHECK enum status sound_source_check_ogg(struct sound_source *sound);

/* A warning that names the damage of a FLAC that was read. */
void sound_source_report_damage(const struct sound_source *sound);

#endif
