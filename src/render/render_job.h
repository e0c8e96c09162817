/* A job renders one sound through a chain into a file. A process runs any number of jobs, one after
 * the other or on several threads at once.
 *
 * Threads: any; a job's options and settings are its own while it runs. */
#ifndef HALO_RENDER_JOB_H
#define HALO_RENDER_JOB_H

#include "chain/report.h"
#include "render/render_options.h"
#include "sound/port.h"

struct render_job_settings {
    bool alone; /* run on the caller's thread alone; false: on as many threads as the options say */
    bool shows_progress;      /* show the progress of this job on a terminal */
    struct mask_cache *masks; /* shared with other jobs, or NULL */
    /* Called after each block (engine.h), instead of showing progress; NULL: not called. */
    void (*progress)(void *context, uint64_t frames, int64_t total);
    /* Called when the output is complete; NULL: not called. */
    enum status (*report)(void *context, const struct report *report);
    void *context;
};

/* Run a job whose options were checked. `stages`: the stages of the options; they are loaded and
 * unloaded by this call. Errors: those of the input, the stages and the output, a signal. */
MUST_CHECK enum status render_job_run(const struct render_options *options,
                                      struct stage_list *stages,
                                      const struct render_job_settings *settings);

/* ---- the output of a chain, or of a replay (render_run.c) ---- */

/* Read the metadata of the input as --metadata says. Errors: memory; the file of --metadata. */
MUST_CHECK enum status render_read_metadata(const struct render_options *options,
                                            struct source *source);

/* Open the output. `change`: changes of the sound; its members about the output's format are filled
 * in here. Errors: those of sink_open_sound. */
MUST_CHECK enum status render_open_sink(const struct render_options *options,
                                        const struct source *source,
                                        const struct stream_format *format, int sound_format,
                                        int64_t frames, struct metadata_change *change,
                                        struct sink **sink);

/* After all `frames` frames: read the metadata after the samples of an input stream, and write the
 * metadata that goes behind OUT's samples. A message names metadata that comes too late. `source`:
 * the file or stream itself. Errors: those of source_read_metadata_after and sink_put_metadata. */
MUST_CHECK enum status render_end_metadata(const struct render_options *options,
                                           struct source *source, uint64_t frames,
                                           struct metadata_change *change, struct sink *sink);

/* Judge the proof, before the output takes its name. Errors: the proof failed. */
MUST_CHECK enum status render_judge(const struct render_options *options, const struct sink *sink,
                                    const struct proof_result *result);

#endif
