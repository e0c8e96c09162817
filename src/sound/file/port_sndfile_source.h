/* A sound file or stream as a source. port_sndfile_open.c opens it, _source.c reads it, _metadata.c
 * reads its metadata; only these files include this header. Threads: one at a time. */
#ifndef HALO_PORT_SNDFILE_SOURCE_H
#define HALO_PORT_SNDFILE_SOURCE_H

#include "sound/file/channel_order.h"
#include "sound/file/sound_io.h"
#include "sound/port.h"

#include <stdio.h>

/* Losses when doubles are read in single precision. */
struct narrowed {
    double beyond;  /* first value that single precision cannot hold; 0: none */
    size_t sample;  /* index of `beyond` in its read */
    double largest; /* largest magnitude so far */
};

struct sound_source {
    struct source source;
    SNDFILE *file;
    struct flac_reader *flac; /* used instead of `file` for FLAC; NULL: not used */
    int fd;
    FILE *stream;    /* used instead of `fd` if the input cannot seek */
    bool is_in_part; /* standard input is not at the beginning of its file, or cannot tell */
    struct sound_io io;
    char *path;
    bool allow_truncated;
    bool reported_missing; /* a warning about missing frames was printed */
    bool is_double;        /* the file has samples in double precision */
    bool is_short;         /* the file has 16-bit integers, which libsndfile passes on unchanged */
    struct narrowed narrowed;
    int64_t position; /* frame of the next read */
    int64_t limit;    /* frames of sound, without trailing data, or FRAMES_UNKNOWN */
    struct channel_order order;
    /* For a stream of chunks: the layout; the bytes of `io` where the chunk after the samples
     * begins (next) and where the file claims to end (end). next == end: no next chunk is known. */
    const struct chunk_layout *layout;
    uint64_t next, end;
    size_t chunk;      /* frames in `interleaved`; 0: nothing was read yet */
    void *interleaved; /* floats, or doubles when read in double precision */
};
extern const struct source_kind sound_source_kind;

/* Report a truncated sound: as an error, or once as a warning if allow_truncated. `missing` of the
 * `frames` in its header are missing; if `frames` is 0, `missing` bytes; if both are 0, the end. */
MUST_CHECK enum status sound_source_judge_missing(struct sound_source *sound, uint64_t frames,
                                                  uint64_t missing);

/* Read an Ogg to its end and check that its pages are intact, its end is there, and it holds one
 * sound. Errors: a fault that allow_truncated does not allow. The caller reports io->error. */
MUST_CHECK enum status sound_source_check_ogg(struct sound_source *sound);

/* ---- FLAC (flac_reader.c) ---- */

/* Reads FLAC by libFLAC directly, to check more than libsndfile does: the checksum of each frame,
 * and the MD5 of all samples if a sound is read from its first frame to its last. RFC 9639. Frames
 * that are damaged or missing are silent, so that later frames keep their place. */
struct flac_reader;

/* Whether a file with these first bytes is a FLAC. If they begin an ID3 tag, the result is false
 * and *next is the end of the tag, where the caller asks again; otherwise *next is 0. */
bool flac_reader_knows(const unsigned char *head, size_t size, uint64_t *next);

/* Read `io` from its beginning; it must outlive the reader. Sets all of `info`; info->frames is
 * FRAMES_UNKNOWN if the header has no length. NULL: opening failed. The error is in io->error, or
 * as text in io->open_problem, which the caller prints. */
struct flac_reader *flac_reader_open(struct sound_io *io, SF_INFO *info);

/* Read the next frames, interleaved, into `single` or `in_double`. Fewer frames mean the end,
 * damage (flac_reader_damage) or io->error. */
sf_count_t flac_reader_read(struct flac_reader *reader, size_t frames, float *single,
                            double *in_double);

/* Files only. False: seeking failed, by io->error; if that is 0, the file is damaged. */
MUST_CHECK bool flac_reader_seek(struct flac_reader *reader, int64_t frame);

struct flac_damage {
    int64_t at;     /* first frame that is damaged or missing; -1: none */
    int64_t lost;   /* number of frames that are silent or missing at the end */
    bool is_cut;    /* the last frame is cut short, and the header gives no number of frames */
    bool is_sum;    /* each frame is right, but the MD5 of all samples is wrong */
    bool is_format; /* rate, channels, bits or number of frames differ from the header */
};

/* The damage of all frames read so far. If the header gives the number of frames, a last frame that
 * is cut short counts as missing, not as damaged. */
struct flac_damage flac_reader_damage(const struct flac_reader *reader);
void flac_reader_close(struct flac_reader *reader);

#endif
