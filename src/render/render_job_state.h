/* A render as a job: what its files share.
 *
 *   render_job.c    opens, runs and closes everything
 *   render_plan.c   what is settled before it runs: block and precision, and whether OUT can be so
 *   render_sound.c  the runs of the engine
 */
#ifndef HALO_RENDER_JOB_STATE_H
#define HALO_RENDER_JOB_STATE_H

#include "base/progress.h"
#include "base/workers.h"
#include "chain/chain_save.h"
#include "render/render_job.h"
#include "render/render_passes.h"
#include "sound/engine.h"
#include "sound/port.h"

struct render_job {
    const struct render_options *options;
    const struct render_job_settings *settings;
    struct stage_list *stages; /* of the options */
    struct source *source;
    struct source *sound; /* the file or stream itself, which `source` is, or owns */
    struct workers *workers;
    struct render_passes passes;
    struct filter *chain;   /* of the last pass, */
    struct source *current; /* and what it reads */
    struct sink *sink;
    const struct sound_metadata *metadata; /* of the source, or NULL */
    struct stream_format format;           /* of the output */
    int sound_format;
    struct engine_run_settings run;
    bool may_run_again;
    struct chain_save **save; /* shared by all runs; what it points to may be NULL */
    struct report report;
    struct progress progress;
};

/* ---- render_plan.c ---- */

bool render_is_double(const struct render_job *job);
bool render_is_reproducible(const struct render_job *job);

/* Frames of the output, with what a boundary adds, and without the tails that plugins do not
 * report; or FRAMES_UNKNOWN. */
int64_t render_frames_to_come(const struct render_job *job);

/* Whether the sound is so short that threads to read and to write take as long as they save. */
bool render_is_brief(const struct render_job *job);

/* Once the source is open: unless it is asked for, the precision that keeps the bits of the
 * samples. Some options of a GPU are for single precision alone. */
void render_settle_precision(const struct render_job *job, struct render_options *options);

/* Once the stages are loaded and the format of the output is chosen. Errors (usage): the format
 * holds no such peak, or varies. */
MUST_CHECK enum status render_check_output(const struct render_job *job);

/* Frames of a block. On the CPU it depends on the chain and the length of the sound alone; of a
 * reproducible render on the chain alone. */
size_t render_choose_block(const struct render_job *job);

/* ---- render_sound.c ---- */

/* Run all passes, the last one into the sink, and scale what is normalized. Errors: the engine's,
 * files for what is kept on the way. */
MUST_CHECK enum status render_run_sound(struct render_job *job);

/* A plugin reported more latency while it ran: the output would be late. */
bool render_is_too_late(const struct render_job *job);

#endif
