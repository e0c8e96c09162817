/* A region of a sound, for playing and measuring. It can seek, has a known length, and is resampled
 * to the wanted rate.
 *
 * Files are read on demand. A sound that cannot seek or has no known length is read to its end and
 * kept in memory, up to REGION_MEMORY_MIB. A region shorter than REGION_SHORT_SECONDS is kept in
 * memory, too, for looping. Threads: one at a time. Not real-time. */
#ifndef HALO_REGION_H
#define HALO_REGION_H

#include "base/status.h"
#include "sound/port.h"

#include <stdint.h>

enum { REGION_MEMORY_MIB = 512, REGION_SHORT_SECONDS = 10 };

struct region_settings {
    const char *path; /* "-": standard input */
    bool allow_truncated;
    uint32_t rate;   /* Hz; 0: the sound's own */
    double from, to; /* seconds; `to` 0: the end of the sound */
};

/* All frames are at the region's rate and count from the sound's first frame. */
struct region {
    char *name; /* for messages */
    struct stream_format format;
    uint64_t frames;   /* length of the whole sound */
    uint64_t from, to; /* frames of the region; from < to */

    struct source *source; /* source of samples; its frame 0 is frame `base` of the sound */
    uint64_t base;
    uint64_t position;   /* frame of the next read */
    struct sink *memory; /* part kept in memory, or NULL */
};

/* A `to` after the end is clamped, with a note. Errors: those of source_open_sound; an empty region
 * (usage); a region too long for memory; a signal; memory. */
MUST_CHECK enum status region_open(const struct region_settings *settings, struct region **region);
void region_close(struct region *region);

/* The next read begins at `frame`, not before region->from. */
MUST_CHECK enum status region_seek(struct region *region, uint64_t frame);

/* Read `frames` frames, or up to region->to if *got < frames. Errors: reading, NaN or infinity. */
MUST_CHECK enum status region_read(struct region *region, float *const *planar, size_t frames,
                                   size_t *got);

#endif
