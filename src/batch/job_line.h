/* What a line of a list says of its job's name, found without parsing all of the line: a shard
 * reads the lines of all others as well.
 *
 * Only ordinary lines are accepted: an object with the members "id", "in" and "out" once each,
 * texts of ASCII without escapes, "out" a tidy path. Of such a line a JSON parser has the same
 * three texts, or finds a fault in the rest of it, which is not looked for here. Threads: any.
 */
#ifndef HALO_JOB_LINE_H
#define HALO_JOB_LINE_H

#include <stdbool.h>
#include <stddef.h>

/* In the line; not ended by a 0. */
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
