/* The jobs of a batch: read, checked for names that occur twice, and those of a shard kept.
 * Threads: the control thread; then read by many. */
#ifndef HALO_BATCH_LIST_H
#define HALO_BATCH_LIST_H

#include "base/status.h"
#include "batch/batch_job.h"
#include "batch/sum_set.h"
#include "chain/stages.h"

#include <jansson.h>
#include <stdint.h>

/* Which jobs of a list a run does: those whose id has the number K of N. The ids alone decide, so
 * that shards stay the same when the list grows or is sorted. */
struct batch_shard {
    size_t number, count; /* 1 to count */
};

/* `text` is K/N, or N, or NULL: what is not said comes from a scheduler's environment, and is
 * noted: SLURM_ARRAY_TASK_ID with its _MIN, _MAX, _STEP and _COUNT, or JOB_COMPLETION_INDEX, which
 * knows no N. Without any, the only shard. Errors (usage): no such shard; N is missing; variables
 * that are no numbers or contradict each other, an array of which a part was submitted. */
MUST_CHECK enum status batch_shard_choose(const char *text, struct batch_shard *shard);

bool batch_shard_has(const struct batch_shard *shard, uint64_t id_sum);

/* What is called with each file that the stages of a job read, as far as its line names them:
 * masks, noise, chains, states of plugins; not what these name in turn. The path has no 0 at its
 * end. */
struct job_reader {
    enum status (*found)(struct job_reader *reader, const char *path, size_t length);
};

/* Errors: memory, those of found(). */
MUST_CHECK enum status job_reads_find_in(const struct stage_list *stages,
                                         struct job_reader *reader);

enum batch_result { BATCH_LEFT, BATCH_MADE, BATCH_KEPT, BATCH_FAILED };

struct batch_entry {
    char *line;       /* a job, as JSON */
    char *original;   /* of a manifest, for the one of the outputs; NULL: a list of jobs */
    const char *flaw; /* why it cannot be done; NULL: it may be */
    enum batch_result result;
    uint64_t frames; /* of the output, once known; 0: not */
    uint32_t rate;
    size_t channels;
};

struct batch_list {
    struct batch_entry *entries;
    size_t count, capacity;
    size_t own;             /* of these, jobs with stages of their own */
    size_t all;             /* with those of other shards, */
    struct sum_set ids;     /* which they are, by batch_id_sum */
    struct sum_set outputs; /* the names of their outputs */
};

/* Also reads options->masks. Errors: reading, a line that is no job, two jobs of one id or output,
 * an output that is an input or that its stages or those of another job read, or that leads out of
 * the folder (usage). */
MUST_CHECK enum status batch_list_load(struct batch_options *options,
                                       const struct batch_shard *shard, struct batch_list *list);
void batch_list_free(struct batch_list *list);

/* A line of a manifest as a job; NULL: none, such as an empty line. Errors (usage): not of the
 * kind, or what halo does not do. */
MUST_CHECK enum status batch_line_to_job(const struct batch_options *options, const char *line,
                                         char **job);

/* Load the recordings of a wav.scp. Errors: reading it, a line without a path, an id that occurs
 * twice (usage). */
MUST_CHECK enum status kaldi_recordings_load(const char *scp, struct kaldi_recordings **recordings);
void kaldi_recordings_destroy(struct kaldi_recordings *recordings);

/* The outputs as a manifest of the kind that the inputs came in, in DIR, of this shard. Errors:
 * writing. */
MUST_CHECK enum status batch_manifest_write(const struct batch_options *options,
                                            const struct batch_shard *shard,
                                            const struct batch_list *list);

#endif
