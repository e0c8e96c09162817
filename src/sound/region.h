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

enum { REGION_MEMORY_MIB = 512, REGION_SHORT_SECONDS = 10, REGION_SOUNDS_MOST = 12 };

struct region_settings {
    const char *path; /* "-": standard input */
    /* Further sounds, whose channels follow those of `path` (source_open_stacked). */
    const char *const *others;
    size_t other_count;
    bool allow_truncated;
    uint32_t rate;   /* Hz; 0: the sound's own; of several sounds the highest */
    double from, to; /* seconds; `to` 0: the end of the sound */
};

/* A sound as it is in its file. */
struct region_sound {
    char *name; /* for messages */
    struct stream_format format;
    int64_t frames; /* or FRAMES_UNKNOWN */
};

/* All frames are at the region's rate and count from the sound's first frame. */
struct region {
    char *name; /* for messages */
    size_t sound_count;
    struct region_sound sounds[REGION_SOUNDS_MOST];
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
