/* One run of the engine: what its files share. Compiled for each precision.
 *
 *   engine.c         a run: its threads, its steps, its end
 *   engine_read.c    blocks from the source
 *   engine_write.c   blocks to the sink, measured
 *   engine_frames.c  which frames of the chain are the sound's, and which are written
 */
#ifndef HALO_ENGINE_JOB_H
#define HALO_ENGINE_JOB_H

#include "signal/loudness.h"
#include "signal/real.h"
#include "sound/engine.h"
#include "sound/io_thread.h"

#include <stdatomic.h>

/* For each precision. */
#define engine_read_input REAL(engine_read_input)
#define engine_write_output REAL(engine_write_output)
#define engine_write_tail REAL(engine_write_tail)
#define engine_energy REAL(engine_energy)
#define engine_sound_frames REAL(engine_sound_frames)
#define engine_wanted REAL(engine_wanted)
#define engine_first_of_sound REAL(engine_first_of_sound)
#define engine_first_written REAL(engine_first_written)
#define engine_frames_done REAL(engine_frames_done)

enum { ENGINE_SLOTS = 2 }; /* blocks before and after the chain: one in use, one pending */

/* A block from the source. */
struct engine_input {
    struct real_block block;
    uint64_t read; /* frames read from the source, with this block */
    bool ended;
    enum status status;
    struct failure problem;
};

/* A block from the chain. */
struct engine_output {
    struct real_block block;
    uint64_t position; /* frames processed, with lead and trailing silence */
    uint64_t read;
    bool ended;
};

/* The state of a run. The reader thread owns the source; the writer thread owns the sink and the
 * totals. */
struct engine_job {
    struct filter *chain;
    struct source *source;
    struct sink *sink;
    const struct engine_run_settings *settings;
    struct engine_totals *totals;
    struct true_peak *true_peak;
    struct sink *tail; /* TAIL_UNTIL: kept in memory until its end is known */
    enum tail kind;
    double until;
    uint64_t known;     /* frames of the tail */
    uint64_t most;      /* frames of the tail to try */
    bool begun;         /* a block was read */
    uint64_t last_loud; /* frames of the sound and its tail, to the end of the last loud block */

    struct io_thread *reader; /* NULL: read in this thread */
    struct engine_input inputs[ENGINE_SLOTS];
    uint64_t read; /* these three: the reader's */
    bool ended;
    bool broken; /* reading has failed */

    struct io_thread *writer; /* NULL: write in this thread */
    struct engine_output outputs[ENGINE_SLOTS];
    uint64_t written; /* the writer's: frames of the sound */
    struct failure write_problem;
    atomic_int write_status; /* enum status; after an error nothing more is written */
};

/* ---- engine_read.c ---- */

/* The next block into inputs[slot]. On the reader thread, if any. */
void engine_read_input(void *context, size_t slot);

/* ---- engine_write.c ---- */

/* What is wanted of outputs[slot] into the sink. On the writer thread, if any. */
void engine_write_output(void *context, size_t slot);

/* Once all blocks are written: the tail up to the last frame that is not below the level. */
MUST_CHECK enum status engine_write_tail(struct engine_job *run);

/* The sum of squares of some frames of all channels, in the order of time. */
double engine_energy(size_t channels, const real *const *planar, size_t from, size_t frames);

/* ---- engine_frames.c; `read`: frames read from the source, `ended`: that was its last one ---- */

/* Frames of the sound among those. */
uint64_t engine_sound_frames(const struct engine_job *run, uint64_t read);

/* Frames of output wanted so far. */
uint64_t engine_wanted(const struct engine_job *run, uint64_t read, bool ended);

/* The frame of the chain that is the sound's first, and the first that is written. */
uint64_t engine_first_of_sound(const struct engine_job *run);
uint64_t engine_first_written(const struct engine_job *run);

/* Frames of output, `all` at most, that are complete after `position` frames of the chain. */
uint64_t engine_frames_done(const struct engine_job *run, uint64_t position, uint64_t all);

#endif
