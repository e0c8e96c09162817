/* What became of the jobs of a batch: a line of JSON each, in a file that is complete or absent,
 * and a summary. Threads: any, after batch_report_open. */
#ifndef HALO_BATCH_REPORT_H
#define HALO_BATCH_REPORT_H

#include "base/atomic_file.h"
#include "batch/batch_job.h"
#include "batch/batch_list.h"
#include "chain/report.h"

#include <pthread.h>

enum { BATCH_REASONS = 20 }; /* kinds of failures that are counted */

struct batch_report {
    pthread_mutex_t lock;
    struct atomic_file file;
    FILE *stream; /* NULL: not wanted */
    int error;    /* an errno: a line could not be written */
    double start;
    size_t made, kept, failed;
    size_t clipped, lossy; /* of those made: without some samples, or metadata */
    size_t open;           /* and of inputs whose length was open */
    double sound_seconds;  /* of outputs made */
    json_t *devices;       /* what became of GPUs; NULL: none were used. Owned */
    size_t reason_count;
    struct batch_reason { /* the kind of a failure */
        char text[FAILURE_KIND];
        size_t count;
    } reasons[BATCH_REASONS];
};

/* `path` may be NULL. Errors: writing. */
MUST_CHECK enum status batch_report_open(struct batch_report *report, const char *path);

/* `details`: new, or NULL; released. `problem`: of a failure, else NULL. Failures are counted by
 * their kinds. */
void batch_report_add(struct batch_report *report, const char *id, enum batch_result result,
                      const struct failure *problem, json_t *details);

/* The summary, as a new object; NULL: memory. */
json_t *batch_report_summary(struct batch_report *report, size_t jobs);

/* A line, if some outputs are clipped or without metadata. */
void batch_report_note_losses(const struct batch_report *report);

/* With the summary as its last line. Errors: writing. */
MUST_CHECK enum status batch_report_keep(struct batch_report *report, const char *path,
                                         size_t jobs);
void batch_report_close(struct batch_report *report);

#endif
