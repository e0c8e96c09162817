/* The engine: source -> chain -> sink, one step per block, for files and pipes. A device's callback
 * runs a chain itself (live.h). */
#ifndef HALO_ENGINE_H
#define HALO_ENGINE_H

#include "base/status.h"
#include "sound/filter.h"
#include "sound/port.h"

#include <stdint.h>

/* The tail: output after the end of the sound. A TAIL_FULL of unknown length ends when the output
 * stays below -80 dBFS, TAIL_UNTIL when it stays below `until`. A tail of unknown length ends at
 * the latest 30 s after its known part, or after 5 s of quiet. */
enum tail { TAIL_FULL, TAIL_NONE, TAIL_UNTIL, TAIL_TIME };

struct loudness;

struct engine_run_settings {
    enum tail tail;
    double until;   /* TAIL_UNTIL: linear level; TAIL_TIME: seconds, filled up with silence */
    uint64_t lead;  /* frames of the source before the sound's first frame (source_open_boundary) */
    uint64_t trail; /* frames of the source after the sound's last frame (source_open_boundary) */
    bool true_peak; /* measure the true peak */
    struct loudness *loudness; /* measures the output; NULL: not measured */
    /* For a run whose output another run reads: write all output of the chain from its first frame
     * on, and measure its power. The sound then begins at frame latency + lead of the output. */
    bool whole;
    /* The source is the output of a run with `whole`: `sound_frames` tells where the sound ends. */
    bool knows_sound;
    /* frames of the sound: TAIL_NONE writes them, power.sound measures them */
    uint64_t sound_frames;
    bool alone;     /* read, process and write on the caller's thread */
    bool stop_late; /* end with STATUS_OK once chain->late is not 0 */
    /* Called after each block; NULL: not called. `total` may be FRAMES_UNKNOWN. */
    void (*progress)(void *context, uint64_t frames, int64_t total);
    void *progress_context;
};

/* Sums of squares over all channels of a run with settings.whole. */
struct engine_power {
    double in;    /* input */
    double lead;  /* output before the sound's first frame */
    double sound; /* output of the sound's frames */
    double tail;  /* output after the sound's last frame */
};

struct engine_totals {
    uint64_t frames_in; /* frames read, without lead and trail */
    uint64_t frames_out;
    double peak;      /* linear */
    double true_peak; /* linear, if requested */
    struct engine_power power;
    uint64_t tail; /* frames written after the end of the sound */
    bool tail_cut; /* the tail ended before it was quiet */
};

/* Run the source to its end, then the tail. Compensates the chain's latency: output frame i belongs
 * to input frame i. Does not commit the sink. Errors: reading, writing, NaN or infinity in the
 * input or output, a filter's failure, a signal. */
MUST_CHECK enum status engine_run(struct filter *chain, struct source *source, struct sink *sink,
                                  const struct engine_run_settings *settings,
                                  struct engine_totals *totals);

/* engine_run() in double precision. Chain and ports must support it. */
MUST_CHECK enum status engine_run_in_double(struct filter *chain, struct source *source,
                                            struct sink *sink,
                                            const struct engine_run_settings *settings,
                                            struct engine_totals *totals);

/* `tail`, but TAIL_UNTIL for a TAIL_FULL of unknown length. */
static inline enum tail engine_tail(const struct filter *chain, enum tail tail)
{
    return tail == TAIL_FULL && chain->tail_unknown ? TAIL_UNTIL : tail;
}

/* The number of frames engine_run will write, or FRAMES_UNKNOWN. tail_time: frames of TAIL_TIME. */
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
