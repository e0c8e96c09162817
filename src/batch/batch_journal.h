/* The journal records in DIR/.halo-batch which outputs in the folder DIR are done, so that no work
 * is lost or done twice:
 *
 *   K-of-N.jsonl   a line for each output of shard K: the digest of everything that it was made of,
 *                  its length and its time of change. The line is written and synced before the
 *                  output gets its name. A job is done if a line has its digest, and the file has
 *                  the length and time of that line.
 *   locks          no content. A run that works at a job holds a lock on the byte that the job's
 *                  digest selects. The lock ends with the run, however that ends.
 *
 * Lines are only appended. A run reads the lines of all shards at its start. When it begins a job,
 * it reads new lines that other runs of its shard have added. When it finds an output that it does
 * not know, it reads new lines of other shards. Incomplete lines are ignored.
 * Threads: any, after batch_journal_open. */
#ifndef HALO_BATCH_JOURNAL_H
#define HALO_BATCH_JOURNAL_H

#include "batch/batch_job.h"
#include "batch/batch_list.h"
#include "batch/sum_set.h"

#include <sys/stat.h>

struct batch_journal;

/* Open the journals of a folder, which is created if it is missing. Reads the lines about jobs of
 * `shard` and about `outputs`, a set of batch_id_sum() of output names. `shard` and `outputs`
 * outlive the journal. Errors: permissions, memory. */
MUST_CHECK enum status batch_journal_open(const char *folder, const struct batch_shard *shard,
                                          const struct sum_set *outputs,
                                          struct batch_journal **journal);
void batch_journal_close(struct batch_journal *journal);

enum batch_state {
    BATCH_NEW,     /* the output is missing, or no batch wrote the file */
    BATCH_CHANGED, /* a batch wrote the output, from other inputs or options */
    BATCH_DONE,
};
enum batch_state batch_journal_state(struct batch_journal *journal, const struct batch_job *job);

/* Claim a job for this run until it releases the job. False: another run is working at the job. */
bool batch_journal_claim(struct batch_journal *journal, const char *digest);
void batch_journal_release(struct batch_journal *journal, const char *digest);

/* Read lines that other runs of this shard have added. */
void batch_journal_refresh(struct batch_journal *journal);

/* Record and sync that a job's output is complete. It gets its name afterwards. Errors: writing. */
MUST_CHECK enum status batch_journal_add(struct batch_journal *journal, const struct batch_job *job,
                                         const struct stat *about);

/* Call for a job that is already done. If the job failed after its output was made, the line of the
 * output is appended again, so that halo batch status counts the job as done. */
void batch_journal_confirm(struct batch_journal *journal, const struct batch_job *job);

/* Append a line that is about no output, such as a failure. Releases `line`. Not synced. */
void batch_journal_note(struct batch_journal *journal, json_t *line);

/* Remove unfinished files that killed runs left in a folder. */
void batch_journal_sweep(struct batch_journal *journal, const char *folder);

/* Parse a line of a journal. NULL: the line is invalid or incomplete. */
json_t *batch_journal_parse(const char *line, size_t length);

/* Call `found` for each complete line of a folder's journals. Errors: reading; no journals. */
MUST_CHECK enum status batch_journal_read_all(const char *folder,
                                              void (*found)(void *context, const json_t *line),
                                              void *context);

#endif
