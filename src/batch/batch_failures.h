/* Which failures of jobs may pass: known by the system's words, with which our lines end. Threads:
 * any. */
#ifndef HALO_BATCH_FAILURES_H
#define HALO_BATCH_FAILURES_H

#include "base/status.h"

/* No further job can write its output. */
bool batch_disk_is_full(const char *problem);

/* The same job may succeed if it is tried again. */
bool batch_failure_may_pass(const char *problem);

/* Print why a job failed. `id`: NULL if it is not known. */
void batch_failure_report(const char *id, const struct failure *problem);

#endif
