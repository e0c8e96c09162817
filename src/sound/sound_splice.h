/* Metadata written where it belongs while libsndfile writes a file: it neither knows of these bytes
 * nor of the place they take. This works in files and in pipes, and needs no second pass.
 *
 *   front    before everything (MP3)
 *   FLAC     in the place of the block of comments that libFLAC writes
 *   Ogg      comments in the place of a comment of the same length, so that pages keep their sizes;
 *            sound_splice_room tells that length
 */
#ifndef HALO_SOUND_SPLICE_H
#define HALO_SOUND_SPLICE_H

#include "sound/metadata.h"

#include <sndfile.h>

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

#endif
