/* A sound file or stream as a source: port_sndfile_source.c reads it, port_sndfile_open.c opens it.
 * port_sndfile_metadata.c reads what surrounds the samples. Private to them. Threads: one at a
 * time. */
#ifndef HALO_PORT_SNDFILE_SOURCE_H
#define HALO_PORT_SNDFILE_SOURCE_H

#include "sound/file/channel_order.h"
#include "sound/file/sound_io.h"
#include "sound/port.h"

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

/* All of an Ogg, which is read to its end: whether its pages are right, its end is there, and it is
 * one sound. Errors: unless that is allowed; that of io->error is the caller's to report. */
MUST_CHECK enum status sound_source_check_ogg(struct sound_source *sound);

/* ---- FLAC (flac_reader.c) ---- */

/* FLAC by libFLAC itself, which checks more than libsndfile asks it for: the checksum of each
 * frame, and the MD5 of all samples where a sound is read from its first frame to its last one. RFC
 * 9639. Frames that are damaged or missing are silent, so that what follows keeps its place. */
struct flac_reader;

/* Whether these bytes of the beginning are a FLAC's, or an ID3 tag's, whose end `*next` is: there
 * the same is asked again. */
bool flac_reader_knows(const unsigned char *head, size_t size, uint64_t *next);

/* Read `io` from its beginning; it must outlive the reader. Sets all of `info`; frames is
 * FRAMES_UNKNOWN where the header does not say. Errors: io->error; or the line is the caller's:
 * io->open_problem. NULL: it failed. */
struct flac_reader *flac_reader_open(struct sound_io *io, SF_INFO *info);

/* The next frames, interleaved: floats, or doubles. Fewer: the end, damage (below) or io->error. */
sf_count_t flac_reader_read(struct flac_reader *reader, size_t frames, float *single,
                            double *in_double);

/* Files only. False: see io->error; 0: it is damaged. */
MUST_CHECK bool flac_reader_seek(struct flac_reader *reader, int64_t frame);

struct flac_damage {
    int64_t at;     /* the first frame that is damaged or missing; -1: none is */
    int64_t lost;   /* frames that are silent, or that are missing at the end */
    bool is_cut;    /* the last one, of a sound whose header does not say how many there are */
    bool is_sum;    /* each frame is right, but their MD5 is not */
    bool is_format; /* the header gives another rate, or other channels, bits or number of frames */
};

/* The damage of all that was read so far. Where the header says how many frames there are, a last
 * one that is cut short is no damage, but missing. */
struct flac_damage flac_reader_damage(const struct flac_reader *reader);
void flac_reader_close(struct flac_reader *reader);

#endif
