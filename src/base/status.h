/* What a call came to, and the one way to tell a person about it.
 *
 * A function that can fail returns an enum status and hands its result out
 * through its last parameter. Whoever knows the cause prints one line with
 * fail() and everybody above only passes the status on.
 * Threads: any, except the thread of a real-time step, which prints nothing.
 */
#ifndef HALO_STATUS_H
#define HALO_STATUS_H

#include <stdbool.h>
#include <stddef.h>

/* The values are the program's exit codes. */
enum status {
    STATUS_OK = 0,
    STATUS_FAILED = 1,
    STATUS_USAGE = 2,
    STATUS_INTERRUPTED = 3, /* a signal asked to stop; main raises it again */
};

enum verbosity { VERBOSITY_QUIET, VERBOSITY_NORMAL, VERBOSITY_VERBOSE };

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* Go on if `call` succeeds, else return its status. Only where nothing is left to clean up. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const enum status tried = (call);                                                          \
        if (tried != STATUS_OK)                                                                    \
            return tried;                                                                          \
    } while (0)

/* Print "halo: ..." on standard error and return `status`. */
MUST_CHECK enum status fail(enum status status, const char *format, ...) PRINTF_LIKE(2, 3);

/* What fails on this thread from now on is no more than a note: another way will be tried. */
void log_as_notes(bool are_notes);

/* What fails on this thread from now on is written there instead, for another thread to
 * tell: one that works beside others must not talk over them. NULL: printed again. */
void log_capture(char *text, size_t size);

/* What fails on this thread from now on begins with "where: ". NULL: no longer. Returns what
 * it began with before. */
const char *log_prefix(const char *where);

/* Where they go now, to put that back after keeping some for a while. */
void log_captured(char **text, size_t *size);

/* Memory ran out while making `what`; prints, returns STATUS_FAILED. */
MUST_CHECK enum status fail_memory(const char *what);

/* Notes go to standard error: note() unless quiet, note_detail() if verbose. */
void note(const char *format, ...) PRINTF_LIKE(1, 2);
void note_detail(const char *format, ...) PRINTF_LIKE(1, 2);
void note_verbosity(enum verbosity verbosity);
enum verbosity note_verbosity_now(void);

/* Hand lines to show() instead of printing them, without "halo: ": while something else owns
 * the terminal. show may be called by any thread, by one at a time, and must not come back
 * here; when messages_to(NULL, NULL) returns, none is inside it any more. */
void messages_to(void (*show)(void *context, const char *line), void *context);

/* A line that stays on the terminal until the next message wipes it (progress). */
void note_transient(const char *format, ...) PRINTF_LIKE(1, 2);

#endif
