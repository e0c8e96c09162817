/* Sounds in containers that libsndfile does not know, but ffmpeg does: recognised by their first
 * bytes, or as an output by their names, and refused with the line of ffmpeg that converts them.
 * Threads: any. */
#ifndef HALO_FOREIGN_SOUND_H
#define HALO_FOREIGN_SOUND_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct foreign_sound {
    const char *name;  /* "MPEG-4" */
    const char *codec; /* ffmpeg's PCM that keeps its samples: "pcm_f32le" */
};

enum { FOREIGN_SOUND_BYTES = 1 << 16 }; /* that tell all; fewer may tell less of the samples */

/* What begins with these bytes, and if `end_size`, ends with those. Returns false: none of them. */
bool foreign_sound_recognise(const void *begin, size_t size, const void *end, size_t end_size,
                             struct foreign_sound *found);

/* The same of an open file, whose position stays. */
bool foreign_sound_recognise_file(int fd, struct foreign_sound *found);

/* Whether ffmpeg writes what has that name, and halo does not. */
bool foreign_sound_is_output(const char *path);

/* Print why not, and how to convert it. Returns STATUS_FAILED, or for an output STATUS_USAGE. */
MUST_CHECK enum status foreign_sound_refuse(const char *path, const struct foreign_sound *sound);
MUST_CHECK enum status foreign_sound_refuse_output(const char *path);

#endif
