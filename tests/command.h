/* Runs halo from a shell, as a user does, in a temporary folder. */
#ifndef HALO_TESTS_COMMAND_H
#define HALO_TESTS_COMMAND_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* How many seconds a test waits for something before it fails. A busy machine takes its time; what
 * never comes is found anyway. */
enum { COMMAND_PATIENCE = 120 };

struct command_result {
    int code;  /* exit code, or 128 + the signal */
    char *out; /* standard output, its first 512 KiB, 0-terminated; kept until the suite ends */
    char *err; /* standard error, the same */
};

/* Run a shell command (printf format). $HALO is the program, $FILTERS and $WAV the project's
 * folders; the working folder is command_folder(). */
struct command_result command_run(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; the test fails unless the exit code is 0. */
struct command_result command_done(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same; the test fails unless halo refuses: exit code `code` (0: 1 or 2), one line "halo:
 * ..." that contains `expected`, and no output file. */
void command_refused(int code, const char *expected, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Start a shell command without waiting. Begin it with "exec", so that the process id is the
 * program's own. */
pid_t command_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Wait for a process; after COMMAND_PATIENCE it is killed and the test fails. */
struct command_result command_wait(pid_t process);

/* Whether an unfinished output of the process in the folder, a hidden file or one without a name,
 * has more than so many bytes. */
bool command_has_written(pid_t process, long bytes);

/* Peak memory of a shell command in KiB. Never less than that of the test itself, from which it
 * is forked. */
long command_memory(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A temporary folder, created by the first call and removed when the test ends. */
const char *command_folder(void);

/* Empty the folder. */
void command_clean(void);

/* Make command_folder() the working folder; return to the folder before, which command_enter
 * returned. */
int command_enter(void);
void command_leave(int before);

/* The path of a file in command_folder(). Valid until the next call. */
const char *command_path(const char *name);

/* Names of all files in the folder, hidden ones included, sorted, separated by blanks. Valid
 * until the next call. */
const char *command_files(void);

/* Number of lines in `text`; an error prints 1. */
size_t command_lines(const char *text);

/* The test fails unless `text` contains `expected`. */
void command_expect(const char *text, const char *expected);

/* `text` as one JSON value, which is freed when the test ends, and members of an object. The test
 * fails where they are missing. */
json_t *command_json(const char *text);
double command_json_number(const json_t *object, const char *key);
const char *command_json_string(const json_t *object, const char *key);

/* A number of a --json report. The test fails unless `text` is exactly one JSON object with that
 * number. */
double command_number(const char *text, const char *key);

/* The cells in the output of `halo bench WHAT --json`, an array of command_json(). */
json_t *command_cells(const struct command_result *result);

#endif
