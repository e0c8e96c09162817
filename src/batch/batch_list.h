/* The jobs of a batch. All are read and checked for names that occur twice; only the jobs of this
 * run's shard are kept. Threads: the control thread; then read by many. */
#ifndef HALO_BATCH_LIST_H
#define HALO_BATCH_LIST_H

#include "base/status.h"
#include "batch/batch_job.h"
#include "batch/sum_set.h"
#include "chain/stages.h"

#include <jansson.h>
#include <stdint.h>

/* The part of a list that a run works at: jobs whose id falls into shard K of N. Only the id
 * decides, so a job stays in its shard if the list grows or is sorted. */
struct batch_shard {
    size_t number, count; /* number: 1 to count */
};

/* Choose the shard. `text` is K/N, N or NULL. A missing K or N is taken from a scheduler's
 * environment, with a note: SLURM_ARRAY_TASK_ID with its _MIN, _MAX, _STEP and _COUNT, or
 * JOB_COMPLETION_INDEX, which gives no N. Without any of these, the shard is 1 of 1. Errors
 * (usage): no such shard; N is missing; variables that are no numbers or contradict each other;
 * only a part of an array was submitted. */
MUST_CHECK enum status batch_shard_choose(const char *text, struct batch_shard *shard);

bool batch_shard_has(const struct batch_shard *shard, uint64_t id_sum);

/* Receives each file that a job's line names for its stages: masks, noise, chains, states of
 * plugins. Files that these files name are not included. The path has no zero at its end. */
struct job_reader {
    enum status (*found)(struct job_reader *reader, const char *path, size_t length);
};

/* Errors: memory, those of found(). */
MUST_CHECK enum status job_reads_find_in(const struct stage_list *stages,
                                         struct job_reader *reader);

enum batch_result { BATCH_LEFT, BATCH_MADE, BATCH_KEPT, BATCH_FAILED };

struct batch_entry {
    char *line;       /* the job as a line of JSON */
    char *original;   /* line of the inputs' manifest, for the outputs'; NULL: a list of jobs */
    const char *flaw; /* why the job cannot be done; NULL: no reason known */
    enum batch_result result;
    uint64_t frames; /* length of the output; 0: unknown */
    uint32_t rate;
    size_t channels;
};

struct batch_list {
    struct batch_entry *entries;
    size_t count, capacity;
    size_t own;             /* number of `entries` with stages of their own */
    size_t all;             /* number of jobs of all shards */
    struct sum_set ids;     /* batch_id_sum() of the ids of all jobs */
    struct sum_set outputs; /* batch_id_sum() of the names of their outputs */
};

/* Load the list, and options->masks. Errors: reading; (usage) a line that is no job, a repeated id
 * or output, an output that leads out of the folder, is an input, or is read by stages. */
MUST_CHECK enum status batch_list_load(struct batch_options *options,
                                       const struct batch_shard *shard, struct batch_list *list);
void batch_list_free(struct batch_list *list);

/* Convert a line of a manifest to a job. *job NULL: the line has none, such as an empty line.
 * Errors (usage): the line is not of this kind, or asks for something that halo does not do. */
MUST_CHECK enum status batch_line_to_job(const struct batch_options *options, const char *line,
                                         char **job);

/* Load the recordings of a wav.scp. Errors: reading; a line without path, a repeated id (usage). */
MUST_CHECK enum status kaldi_recordings_load(const char *scp, struct kaldi_recordings **recordings);
void kaldi_recordings_destroy(struct kaldi_recordings *recordings);

/* Write a manifest of this shard's outputs into DIR, of the inputs' kind. Errors: writing. */
MUST_CHECK enum status batch_manifest_write(const struct batch_options *options,
                                            const struct batch_shard *shard,
                                            const struct batch_list *list);

#endif
