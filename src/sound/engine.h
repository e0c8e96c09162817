/* The engine: source -> chain -> sink, one step per block, for files and pipes. A device's callback
 * runs a chain itself (live.h).
 */
#ifndef HALO_ENGINE_H
#define HALO_ENGINE_H

#include "base/status.h"
#include "sound/filter.h"
#include "sound/port.h"

#include <stdint.h>

/* A full tail of unknown length ends when it stays below -80 dBFS, TAIL_UNTIL below its level. If
 * the length is unknown, it ends 30 s after the known part or after 5 s of quiet at the latest. */
enum tail { TAIL_FULL, TAIL_NONE, TAIL_UNTIL, TAIL_TIME };

struct loudness;

struct engine_run_settings {
    enum tail tail;
    double until;   /* TAIL_UNTIL: level, linear; TAIL_TIME: seconds, of silence at last */
    uint64_t lead;  /* frames of the source before the sound's first (boundary) */
    uint64_t trail; /* frames of the source after the sound's last (boundary) */
    bool true_peak; /* measure it */
    struct loudness *loudness; /* what is written is added to it; NULL: not measured */
    /* For another run to go on with: write all that the chain makes, from its first frame on; the
     * sound's first one is then frame latency + lead. And measure its power. */
    bool whole;
    /* The source has more than the sound after `lead`, as it comes from such a run: */
    bool knows_sound;
    uint64_t sound_frames; /* those of the sound, which TAIL_NONE writes and power.sound is of */
    bool alone;            /* read and write on the caller's thread, too */
    bool stop_late;        /* end, with STATUS_OK, once chain->late is not 0 */
    /* Called after each block, or NULL; `total` may be FRAMES_UNKNOWN. */
    void (*progress)(void *context, uint64_t frames, int64_t total);
    void *progress_context;
};

/* Sums of squares over all channels of what a whole run read and wrote. */
struct engine_power {
    double in;
    double lead; /* before the sound's first frame */
    double sound;
    double tail; /* after its last */
};

struct engine_totals {
    uint64_t frames_in; /* without lead and trail */
    uint64_t frames_out;
    double peak;      /* linear */
    double true_peak; /* linear, if requested */
    struct engine_power power;
    uint64_t tail; /* frames of frames_out after the sound */
    bool tail_cut; /* it ended before it was quiet */
};

/* Run the source to its end, and the tail. Compensates the chain's latency: output frame i belongs
 * to input frame i. Does not commit the sink. Errors: reading, writing, NaN or infinity in the
 * input or output, a filter's failure, a signal. */
MUST_CHECK enum status engine_run(struct filter *chain, struct source *source, struct sink *sink,
                                  const struct engine_run_settings *settings,
                                  struct engine_totals *totals);

/* The same in double precision, with a chain and ports that have it. */
MUST_CHECK enum status engine_run_in_double(struct filter *chain, struct source *source,
                                            struct sink *sink,
                                            const struct engine_run_settings *settings,
                                            struct engine_totals *totals);

/* What TAIL_FULL means for a chain. */
static inline enum tail engine_tail(const struct filter *chain, enum tail tail)
{
    return tail == TAIL_FULL && chain->tail_unknown ? TAIL_UNTIL : tail;
}

/* The number of frames engine_run will write, or FRAMES_UNKNOWN. tail_time: those of TAIL_TIME. */
static inline int64_t engine_frames_out(const struct filter *chain, int64_t frames_in,
                                        enum tail tail, uint64_t tail_time)
{
    if (frames_in == FRAMES_UNKNOWN || engine_tail(chain, tail) == TAIL_UNTIL)
        return FRAMES_UNKNOWN;
    return frames_in + (int64_t)(tail == TAIL_FULL   ? chain->tail
                                 : tail == TAIL_TIME ? tail_time
                                                     : 0);
}

#endif
