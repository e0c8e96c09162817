/* The engine: source -> chain -> sink, one step a block.
 *
 * Of files and pipes; a device's callback runs a chain by itself (live.h).
 */
#ifndef HALO_ENGINE_H
#define HALO_ENGINE_H

#include "base/status.h"
#include "sound/filter.h"
#include "sound/port.h"

#include <stdint.h>

/* A full tail that is not known is taken until it stays below -80 dBFS. So is TAIL_UNTIL below its
 * level. Where it is not known it is given up 30 s after what is known of it, or once it has been
 * quiet for 5 s. */
enum tail { TAIL_FULL, TAIL_NONE, TAIL_UNTIL };

struct engine_run_settings {
    enum tail tail;
    double until;   /* linear; TAIL_UNTIL ends the sound once it stays below */
    uint64_t lead;  /* frames of the source before the sound's first (edges) */
    uint64_t trail; /* frames of the source after the sound's last (edges) */
    bool true_peak; /* measure it */
    bool stop_late; /* end, with STATUS_OK, once chain->late shows that the sound comes late */
    /* Called after each block; `total` may be FRAMES_UNKNOWN. May be NULL. */
    void (*progress)(void *context, uint64_t frames, int64_t total);
    void *progress_context;
};

struct engine_totals {
    uint64_t frames_in; /* lead and trail not counted */
    uint64_t frames_out;
    double peak;      /* linear */
    double true_peak; /* linear, where asked for */
    uint64_t tail;    /* frames of frames_out that came after the sound */
    bool tail_cut;    /* it was given up before it was quiet */
};

/* Run the source to its end and the tail after it. The chain's latency is taken
 * off the front: output frame i belongs to input frame i. Does not commit the
 * sink. Errors: reading, writing, NaN or infinity in the sound or what comes of it, a filter's
 * failure, a signal. */
MUST_CHECK enum status engine_run(struct filter *chain, struct source *source, struct sink *sink,
                                  const struct engine_run_settings *settings,
                                  struct engine_totals *totals);

/* Frames that engine_run will write, or FRAMES_UNKNOWN. */
int64_t engine_frames_out(const struct filter *chain, int64_t frames_in, enum tail tail);

#endif
