/* A region of a sound, open for playing and measuring: it seeks, its length is known, and it
 * has the rate that is wanted.
 *
 * A file is read as it is needed. What cannot seek (a pipe, "-") or does not say how long it is
 * is read to its end and kept in memory, up to REGION_MEMORY_MIB; so is a region of less than
 * REGION_SHORT_SECONDS, which loops too often for a file.
 * Threads: one at a time. Not real-time.
 */
#ifndef HALO_REGION_H
#define HALO_REGION_H

#include "base/status.h"
#include "sound/port.h"

#include <stdint.h>

enum { REGION_MEMORY_MIB = 512, REGION_SHORT_SECONDS = 10 };

struct region_settings {
    const char *path; /* "-": standard input */
    bool allow_truncated;
    uint32_t rate;   /* frames a second; 0: the sound's own */
    double from, to; /* seconds; `to` 0: the end */
};

/* Frames here are at the region's rate and counted from the sound's first one. */
struct region {
    char *name; /* for messages */
    struct stream_format format;
    uint64_t frames;   /* of the whole sound */
    uint64_t from, to; /* from < to */

    struct source *source; /* gives frame `base` first */
    uint64_t base;
    uint64_t position;   /* of the next read */
    struct sink *memory; /* what is kept of it, or NULL */
};

/* A `to` after the end is the end, and said to be. Errors: those of source_open_sound, no frame
 * between `from` and `to` (usage), too long to be kept, a signal, memory. */
MUST_CHECK enum status region_open(const struct region_settings *settings, struct region **region);
void region_close(struct region *region);

/* The next read begins at that frame of the sound, at `from` or after. */
MUST_CHECK enum status region_seek(struct region *region, uint64_t frame);

/* Up to `frames` frames, not beyond `to`; fewer mean that `to` is reached, or that the sound
 * ends before. Errors: those of reading, NaN or infinity in the sound. */
MUST_CHECK enum status region_read(struct region *region, float *const *planar, size_t frames,
                                   size_t *got);

#endif
