/* What is done in a folder of outputs, kept in DIR/.halo-batch so that nothing is lost and nothing
 * is done twice:
 *
 *   K-of-N.jsonl   a line for each output of that shard, written and synced before the output gets
 * its name: what it was made of (the digest), and its length and time of change. A job is done if
 * the line has its digest and the file is the one that the line tells of. locks          no
 * content: a run that works at a job holds a lock on the byte that its digest selects, which ends
 * with the run, however it ends.
 *
 * Lines only ever follow each other: a run reads all shards' at its start, those that another run
 * of its shard has added since when it begins a job, and those of others where it finds an output
 * that it does not know. A line that is cut off is none.
 * Threads: any, after batch_journal_open.
 */
#ifndef HALO_BATCH_JOURNAL_H
#define HALO_BATCH_JOURNAL_H

#include "batch/batch_job.h"
#include "batch/batch_list.h"
#include "batch/sum_set.h"

#include <sys/stat.h>

struct batch_journal;

/* Makes the folder where it is missing, and reads what concerns the shard: its jobs, and who wrote
 * the outputs that they have, which are given by their names' batch_id_sum. Both outlive the
 * journal. Errors: permissions, memory. */
MUST_CHECK enum status batch_journal_open(const char *folder, const struct batch_shard *shard,
                                          const struct sum_set *outputs,
                                          struct batch_journal **journal);
void batch_journal_close(struct batch_journal *journal);

enum batch_state {
    BATCH_NEW,     /* its output is not there, or no batch wrote that file */
    BATCH_CHANGED, /* a batch did, of something else */
    BATCH_DONE,
};
enum batch_state batch_journal_state(struct batch_journal *journal, const struct batch_job *job);

/* Whether this run may work at a job, until it releases it; false: another run does. */
bool batch_journal_claim(struct batch_journal *journal, const char *digest);
void batch_journal_release(struct batch_journal *journal, const char *digest);

/* Read what other runs of this shard have added. */
void batch_journal_refresh(struct batch_journal *journal);

/* The output of a job is complete, and gets its name once this has returned OK: it is on the disk.
 * Errors: writing. */
MUST_CHECK enum status batch_journal_add(struct batch_journal *journal, const struct batch_job *job,
                                         const struct stat *about);

/* The job is done. If it has failed since, the journal gets the line of its output again, for the
 * status. */
void batch_journal_confirm(struct batch_journal *journal, const struct batch_job *job);

/* A line that is no output's, such as a run's beginning or a failure; releases it. Not synced. */
void batch_journal_note(struct batch_journal *journal, json_t *line);

/* Remove what killed runs left of files in a folder. */
void batch_journal_sweep(struct batch_journal *journal, const char *folder);

/* Parse a line of a journal; for batch_status.c, and tests. NULL: it is none, or cut off. */
json_t *batch_journal_parse(const char *line, size_t length);

/* Call `found` for each whole line of all journals in a folder, by file. Errors: reading, none are
 * there. */
MUST_CHECK enum status batch_journal_read_all(const char *folder,
                                              void (*found)(void *context, const json_t *line),
                                              void *context);

#endif
