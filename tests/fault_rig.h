/* Runs command lines with one call failing after the other (faults.h), several at a time, and looks
 * at what is left. */
#ifndef HALO_TESTS_FAULT_RIG_H
#define HALO_TESTS_FAULT_RIG_H

#include <stdbool.h>
#include <stddef.h>

struct fault_row {
    const char *line; /* for the shell; what it writes is in out/, "$IN" are its inputs */
    const char *old;  /* for the shell: what is in out/ before; NULL: nothing */
    bool grows;       /* a recording, which is kept as far as it got; it may print more lines */
    bool tells;       /* what went wrong may be a part of its output; libraries print lines, too */
};

/* What fails: any, wait, short or memory (faults.h), with an errno or 0; and at how many calls at
 * most, 0: at all. */
struct fault_kind {
    const char *call;
    int error;
    unsigned most;
};

/* For each row and kind let one call after the other fail, evenly spread from a random first one.
 * The test fails unless each time
 *
 *   - the program ends within seconds, by exit code 0 and with all that it writes as without a
 *     fault; or by another one and with one line "halo: ...", and what was in out/ before, unless
 *     that line says what is complete,
 *   - nothing is left over: no file, no process.
 */
void fault_rig_run(const struct fault_row *rows, size_t row_count, const struct fault_kind *kinds,
                   size_t kind_count);

#endif
