/* A render as a job: one sound through a chain into a file. A process runs any number of them, one
 * after the other or on several threads at once.
 *
 * Threads: any; a job's options and settings are its own while it runs.
 */
#ifndef HALO_RENDER_JOB_H
#define HALO_RENDER_JOB_H

#include "chain/report.h"
#include "render/render_options.h"

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

/* The options were checked; their stages are loaded and unloaded here. Errors: those of the input,
 * the stages and the output, a signal. */
MUST_CHECK enum status render_job_run(struct render_options *options,
                                      const struct render_job_settings *settings);

#endif
