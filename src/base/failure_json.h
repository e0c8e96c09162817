/* With --json a failure is an object {"error": {...}}, where the report would have gone: on
 * standard output, or on standard error instead of the line of text. Threads: the main one. */
#ifndef HALO_FAILURE_JSON_H
#define HALO_FAILURE_JSON_H

#include "base/status.h"

#include <jansson.h>
#include <stdio.h>

/* Looks for --json in the command line. If a word is "-", standard output may be for sound. Then
 * standard error is used until the command chooses (failure_json_to). */
void failure_json_begin(char **argv);

/* Chooses where reports go: stdout or stderr. */
void failure_json_to(FILE *stream);

/* The last failure (code, cause, message), for a report that includes it. It is then not printed
 * again. NULL: no memory, or nothing failed. */
json_t *failure_json_take(void);

/* The last failure as failure_json_take returns it, for one of many files. The command's own
 * failure is still printed. Any thread. */
json_t *failure_json_of_file(void);

/* Prints the last failure if --json was given and nobody took it. `code`: exit code. */
MUST_CHECK enum status failure_json_print(int code);

#endif
