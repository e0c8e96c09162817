/* Runs halo as a user would: a shell command in a folder of its own. */
#ifndef HALO_TESTS_COMMAND_H
#define HALO_TESTS_COMMAND_H

#include <stddef.h>

struct command_result {
    int code;      /* exit code, or 128 + the signal */
    char out[16384]; /* standard output, cut to fit, 0-terminated */
    char err[16384]; /* standard error, likewise */
};

/* Run a shell command (printf format). In it $HALO is the program, $FILTERS and
 * $WAV the project's folders; the working folder is command_folder(). */
struct command_result command_run(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* A temporary folder, made at the first call and removed when the test ends. */
const char *command_folder(void);

/* How many lines `text` has; 1 is what a refusal prints. */
size_t command_lines(const char *text);

#endif
