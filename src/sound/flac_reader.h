/* FLAC by libFLAC itself, which checks more than libsndfile asks it for: the checksum of each
 * frame, and the MD5 of all samples where a sound is read from its first frame to its last one. RFC
 * 9639.
 *
 * Frames that are damaged or missing are silent, so that what follows keeps its place.
 * Threads: one at a time.
 */
#ifndef HALO_FLAC_READER_H
#define HALO_FLAC_READER_H

#include "sound/sound_io.h"

struct flac_reader;

/* Whether these bytes of the beginning are a FLAC's, or an ID3 tag's, whose end `*next` is: there
 * the same is asked again. */
bool flac_reader_knows(const unsigned char *head, size_t size, uint64_t *next);

/* From the beginning of `io` on, which must outlive the reader. Sets all of `info`; frames is
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

/* Of all that was read so far. Where the header says how many frames there are, a last one that is
 * cut short is no damage, but missing. */
struct flac_damage flac_reader_damage(const struct flac_reader *reader);

void flac_reader_close(struct flac_reader *reader);

#endif
