/* The files that the stages of a job read, as far as its line names them: masks, noise, chains,
 * states of plugins; not what these name in turn. Threads: any. */
#ifndef HALO_JOB_READS_H
#define HALO_JOB_READS_H

#include "chain/stages.h"

#include <jansson.h>

/* What is called with each of them; the path has no 0 at its end. */
struct job_reader {
    enum status (*found)(struct job_reader *reader, const char *path, size_t length);
};

/* Of a job, and of stages. Errors: memory, those of found(). */
MUST_CHECK enum status job_reads_find(const json_t *job, struct job_reader *reader);
MUST_CHECK enum status job_reads_find_in(const struct stage_list *stages,
                                         struct job_reader *reader);

/* Of the value of an option that adds a stage, or stages. */
MUST_CHECK enum status job_reads_find_for(const char *option, const char *value,
                                          struct job_reader *reader);

#endif
