/* Runs halo as a user would: a shell command in a folder of its own. */
#ifndef HALO_TESTS_COMMAND_H
#define HALO_TESTS_COMMAND_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>

struct command_result {
    int code;        /* exit code, or 128 + the signal */
    char out[16384]; /* standard output, cut to fit, 0-terminated */
    char err[16384]; /* standard error, likewise */
};

/* Run a shell command (printf format). In it $HALO is the program, $FILTERS and
 * $WAV the project's folders; the working folder is command_folder(). */
struct command_result command_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; the test fails unless the command's exit code is 0. */
struct command_result command_done(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; the test fails unless halo refused as the design has it: that exit
 * code (0: 1 or 2), one line "halo: ..." that contains `words`, and no file made. */
void command_refused(int code, const char *spec, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Start a shell command and come back; begin it with "exec", so that the number
 * is the program's own. */
pid_t command_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Wait for one; if it hangs for half a minute it is killed and the test fails. */
struct command_result command_wait(pid_t process);

/* The most memory a shell command held at a time, in KiB. Never less than the
 * test itself holds, since that is where it comes from. */
long command_memory(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A temporary folder, made at the first call and removed when the test ends. */
const char *command_folder(void);

/* Empty the folder; tests that share a process begin with this. */
void command_clean(void);

/* Names of all files in the folder, hidden ones too, sorted, a blank between
 * two. Valid until the next call. */
const char *command_files(void);

/* How many lines `text` has; 1 is what a refusal prints. */
size_t command_lines(const char *text);

/* A number of the report that --json printed. The test fails unless `text` is
 * one JSON object and nothing else, and has that number. */
double command_number(const char *text, const char *key);

/* The cells of what `halo bench WHAT --json` printed, and what stands in one. The test
 * fails where it is not there. The array is the caller's to release. */
json_t *command_cells(const struct command_result *result);
double command_cell_number(const json_t *cell, const char *key);
const char *command_cell_word(const json_t *cell, const char *key);

#endif
