/* With --json a failure, too, is one JSON object, {"error": {...}}, where the report would have
 * been: on standard output, or on standard error instead of the line of text. Threads: the main
 * one. */
#ifndef HALO_FAILURE_JSON_H
#define HALO_FAILURE_JSON_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Look for --json in the command line. Where a word is "-", standard output may be for sound, and
 * standard error is chosen until the command says otherwise. */
void failure_json_begin(char **argv);

/* Where reports go: stdout or stderr. */
void failure_json_to(FILE *stream);

/* The last failure: code, cause, message; for a report that has it among other things.
 * It is not printed again. NULL: memory, or nothing failed. */
json_t *failure_json_take(void);

/* The same of one of many files: the command's own failure is still to come. Any thread. */
json_t *failure_json_of_file(void);

/* Print the last failure if --json was given and it was not taken; `code` is the exit code. Errors:
 * it cannot be written. */
MUST_CHECK enum status failure_json_print(int code);

#endif
