/* Cuts of lhotse as jobs, and as what lists the outputs (--from lhotse): a part of a recording, of
 * some of its channels. Threads: any. */
#ifndef HALO_LHOTSE_CUT_H
#define HALO_LHOTSE_CUT_H

#include "base/status.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A line as a job, with "start", "duration" and "channel" where the cut is not all of its
 * recording. Errors (usage): no cut, one that is not in one file or that lhotse transforms. */
MUST_CHECK enum status lhotse_cut_read(const char *line, json_t **job);

/* A sound that was written. */
struct lhotse_sound {
    const char *id, *path;
    uint64_t frames; /* 0: unknown, as are the others then */
    uint32_t rate;
    size_t channels;
};

/* The cut of a line that lhotse_cut_read() has read, as one of a sound, which is a recording of its
 * own of which no features are known. NULL: memory. */
json_t *lhotse_cut_of_sound(const char *line, const struct lhotse_sound *sound);

#endif
