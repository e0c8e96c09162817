/* A render as a job: one sound through a chain into a file. A process runs any number of them, one
 * after the other or on several threads at once.
 *
 * Threads: any; a job's options and settings are its own while it runs.
 */
#ifndef HALO_RENDER_JOB_H
#define HALO_RENDER_JOB_H

#include "chain/report.h"
#include "render/render_options.h"
#include "sound/port.h"

struct render_job_settings {
    bool alone;               /* on this thread, without others; else on the options' threads */
    bool shows_progress;      /* of this job, on a terminal */
    struct mask_cache *masks; /* shared with other jobs, or NULL */
    /* After each block, as in engine.h, in place of the progress shown; or NULL. */
    void (*progress)(void *context, uint64_t frames, int64_t total);
    /* When the output is complete, unless NULL. */
    enum status (*report)(void *context, const struct report *report);
    void *context;
};

/* The options were checked. `stages`: those of the options, which are loaded and unloaded here.
 * Errors: those of the input, the stages and the output, a signal. */
MUST_CHECK enum status render_job_run(const struct render_options *options,
                                      struct stage_list *stages,
                                      const struct render_job_settings *settings);

/* ---- the output, of a chain or of a replay (render_run.c) ---- */

/* Reads what the input has besides its samples, as --metadata says. Errors: memory, its file. */
MUST_CHECK enum status render_read_metadata(const struct render_options *options,
                                            struct source *source);

/* `change`: what became of the sound; its format is filled in here. Errors: as sink_open_sound. */
MUST_CHECK enum status render_open_sink(const struct render_options *options,
                                        const struct source *source,
                                        const struct stream_format *format, int sound_format,
                                        int64_t frames, struct metadata_change *change,
                                        struct sink **sink);

/* After the last of so many frames: what goes behind OUT's samples is put there, and what follows
 * those of a stream, too, or is named. `source`: the file or stream itself. Errors: as
 * source_read_metadata_after and sink_put_metadata. */
MUST_CHECK enum status render_end_metadata(const struct render_options *options,
                                           struct source *source, uint64_t frames,
                                           struct metadata_change *change, struct sink *sink);

/* Before the output takes its name. Errors: the proof failed. */
MUST_CHECK enum status render_judge(const struct render_options *options, const struct sink *sink,
                                    const struct proof_result *result);

#endif
