/* A job of a batch: a line of JSON, as options of a render.
 *
 *   {"id": "u1-r7", "in": "u1.flac", "out": "r7/u1.flac", "mask": "r7.wav,gain=-3", "tail": "none"}
 *
 * All other members are options of halo render: a text, a number, true, or a list of these. Stages
 * are in the order of the members, or in "stages": [{"mask": "r7.wav"}, {"gain": -3}]. They replace
 * the stages of the command line. Paths of inputs and masks are relative to the working folder,
 * paths of outputs to --out-dir. Threads: any. */
#ifndef HALO_BATCH_JOB_H
#define HALO_BATCH_JOB_H

#include "batch/batch_options.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCH_DIGEST = 33 }; /* digits of a digest, and the zero at its end */

struct batch_job {
    json_t *root; /* owns the texts of the options */
    const char *id;
    const char *name; /* path of the output within the folder of outputs */
    char *output;     /* path of the output */
    char **texts;     /* numbers of the line as text, for `options`; owned */
    size_t text_count;
    struct render_options options;
    uint64_t seed;             /* seed of the job, or of the batch */
    char digest[BATCH_DIGEST]; /* digest of everything that the output depends on, as it is now */
};

/* Set id, name and output from the line of a job, without preparing it; `root` owns the texts.
 * Errors (usage): no JSON object, no input, no name. */
MUST_CHECK enum status batch_job_identify(const struct batch_options *defaults, const char *line,
                                          struct batch_job *job);

/* Set options and digest of an identified job. Errors (usage): wrong options; no such input. */
MUST_CHECK enum status batch_job_prepare(const struct batch_options *defaults,
                                         struct batch_job *job);
void batch_job_free(struct batch_job *job);

/* Whether a job has stages of its own, which replace the stages of the command line. */
bool batch_job_has_stages(const json_t *root);

/* Whether a path leads into the folder of a journal, of this batch or another one. */
bool batch_is_journal(const char *path);

uint64_t batch_id_sum(const char *id);

/* Replace {id} in a pattern (output_names.h) by a job's id. The caller frees it. NULL: memory. */
char *batch_name_pattern(const char *pattern, const char *id);

/* ---- id, input and output of a line, found without parsing all of the line ---- */

/* This is fast, since a shard also reads the lines of all others. It accepts only ordinary lines:
 * an object with "id", "in" and "out" once each, ASCII texts without escapes, "out" a tidy path. A
 * JSON parser finds the same texts, or a fault in the rest of the line, which is not checked. */

/* A text within the line, not ended by a 0. */
struct job_text {
    const char *text;
    size_t length;
};

struct job_line {
    struct job_text id, in, out;
};

/* Find the texts in a line. False: the line must be parsed as JSON. */
bool job_line_scan(const char *line, struct job_line *job);

/* Find "id" and "out" in a line of a journal. False: the line must be parsed as JSON. */
bool job_line_scan_done(const char *line, struct job_line *job);

#endif
