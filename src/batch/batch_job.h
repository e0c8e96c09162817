/* A job of a batch: a line of JSON, as options of a render.
 *
 *   {"id": "utt1-r7", "in": "utt1.flac", "out": "r7/utt1.flac", "mask": "r7.wav,gain=-3", "tail":
 * "none"}
 *
 * Each other member is an option of halo render: a text, a number, true, or a list of them. Stages
 * stand in the order of the members, or in "stages": [{"mask": "r7.wav"}, {"gain": -3}], and
 * replace those of the command line. Paths of inputs and masks are seen from the working folder,
 * those of outputs from --out-dir. Threads: any.
 */
#ifndef HALO_BATCH_JOB_H
#define HALO_BATCH_JOB_H

#include "batch/batch_options.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BATCH_DIGEST = 33 }; /* digits of a digest, and the 0 */

struct batch_job {
    json_t *root; /* owns the texts of the options */
    const char *id;
    const char *name; /* of the output, within the folder of all */
    char *output;     /* its path */
    char **texts;     /* of numbers */
    size_t text_count;
    struct render_options options;
    uint64_t seed;             /* its own, or that of all */
    char digest[BATCH_DIGEST]; /* of all that the output depends on, as it is now */
};

/* What identifies a job without preparing it: the members of its line, which `root` owns. Errors
 * (usage): no JSON object, no input, no name. */
MUST_CHECK enum status batch_job_identify(const struct batch_options *defaults, const char *line,
                                          struct batch_job *job);

/* Its options, and its digest. Errors (usage): options; an input that is not there. */
MUST_CHECK enum status batch_job_prepare(const struct batch_options *defaults,
                                         struct batch_job *job);
void batch_job_free(struct batch_job *job);

/* Whether a job has stages of its own, in place of those of the command line. */
bool batch_job_has_stages(const json_t *root);

/* Whether a path leads into the folder of a journal, of this batch or another one. */
bool batch_is_journal(const char *path);

uint64_t batch_id_sum(const char *id);

/* The pattern (output_names.h) in which {id} is the job's, for free(). NULL: memory. */
char *batch_name_pattern(const char *pattern, const char *id);

/* ---- what a line says of its job's name, found without parsing all of the line ---- */

/* A shard reads the lines of all others as well. Only ordinary lines are accepted: an object with
 * the members "id", "in" and "out" once each, texts of ASCII without escapes, "out" a tidy path. Of
 * such a line a JSON parser has the same three texts, or finds a fault in the rest of it, which is
 * not looked for here. */

/* A text within the line, not ended by a 0. */
struct job_text {
    const char *text;
    size_t length;
};

struct job_line {
    struct job_text id, in, out;
};

/* False: it is to be parsed. */
bool job_line_scan(const char *line, struct job_line *job);

/* The same of a journal's line (batch_journal.h), of which "id" and "out" are wanted. */
bool job_line_scan_done(const char *line, struct job_line *job);

#endif
