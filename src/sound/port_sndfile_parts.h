/* A sound file whose samples are stored as they are, read in parts by several threads, each with a
 * libsndfile of its own. Private to port_sndfile_source.c. Threads: the caller's, and its workers.
 */
#ifndef HALO_PORT_SNDFILE_PARTS_H
#define HALO_PORT_SNDFILE_PARTS_H

#include "sound/port_sndfile_source.h"

/* The next `frames` frames into rows[c][0..frames), if that pays and all goes well. False: not so;
 * the rows have any contents, and they are to be read in order, which finds what is wrong. */
MUST_CHECK bool sound_parts_read(const struct sound_source *sound, double *const *rows,
                                 size_t frames);

#endif
