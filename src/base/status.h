/* The result of a call, and messages.
 *
 * A function that can fail returns an enum status. It returns its result through its last
 * parameter. Where the cause is known, fail() prints one line. Callers only return the status.
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
    STATUS_SOME_FAILED = 3, /* some of many jobs failed; the others are done */
    STATUS_TRY_AGAIN = 4,   /* the jobs are right, but a disk is full or a device is lost */
    STATUS_INTERRUPTED = 5, /* a signal asked to stop; main() ends by the same signal */
};

/* Why a call failed, for programs: batch's retry, libhalo and --json. Threads: any. */

enum cause {
    CAUSE_OTHER,
    CAUSE_USAGE,         /* The command line, a job, or an argument of a call is wrong. */
    CAUSE_MISSING,       /* A file, a plugin or a program is not there. */
    CAUSE_EXISTS,        /* halo would have replaced a file. */
    CAUSE_NOT_PERMITTED, /* The system's permissions forbid it. */
    CAUSE_DAMAGED,       /* The content of a file breaks the rules of its format. */
    CAUSE_UNSUPPORTED,   /* halo, this build, or a format has no way to do it. */
    CAUSE_NO_SPACE,      /* A disk is full. */
    CAUSE_READ_ONLY,     /* A disk takes no writes. */
    CAUSE_NO_MEMORY,     /* Memory ran out, or a thread could not be started. */
    CAUSE_TEMPORARY,     /* The call may succeed later: I/O errors, too many open files. */
    CAUSE_BUSY,          /* An earlier call has not ended. */
    CAUSE_DEVICE,        /* A GPU, a sound device or a sound server failed. */
    CAUSE_NO_GPU,        /* No GPU can be used. */
    CAUSE_SOME_FAILED,   /* Some of many jobs failed. */
    CAUSE_INTERRUPTED,   /* A signal asked to stop. */
};

/* VERBOSITY_SILENT: errors only, since something else is written to standard error. */
enum verbosity { VERBOSITY_SILENT, VERBOSITY_QUIET, VERBOSITY_NORMAL, VERBOSITY_VERBOSE };

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* Returns the status of `call` unless it succeeds. Use it only if nothing has to be cleaned up. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const enum status tried = (call);                                                          \
        if (tried != STATUS_OK)                                                                    \
            return tried;                                                                          \
    } while (0)

/* Prints "halo: ..." on standard error, with unprintable characters replaced (printable.h). Returns
 * the cause's status: STATUS_USAGE, STATUS_INTERRUPTED, STATUS_SOME_FAILED or STATUS_FAILED. */
MUST_CHECK enum status fail(enum cause cause, const char *format, ...) PRINTF_LIKE(2, 3);

/* fail() for a number from <errno.h>. The message ends with ": " and the number's text. */
MUST_CHECK enum status fail_errno(int error, const char *format, ...) PRINTF_LIKE(2, 3);

/* The status that fail() returns for a cause. */
enum status cause_status(enum cause cause);

enum { FAILURE_BYTES = 8192, FAILURE_KIND = 256 };

struct failure {
    enum cause cause;
    char message[FAILURE_BYTES]; /* names have their original bytes */
    char kind[FAILURE_KIND];     /* cause and failed action, such as "missing: cannot open" */
};

/* The last failure that any thread printed as an error. False: there is none. */
bool failure_last(struct failure *failure);

/* Hides failures, since they are reported in another way. */
void failures_hide(bool hidden);

/* For this thread: failures are printed as notes, since another way will be tried. */
void log_as_notes(bool are_notes);

/* For this thread, until it ends: failures go to `text`, which is emptied first, with their
 * original bytes. NULL: they are printed. To fail with them again, use log_keep_failure. */
void log_capture(char *text, size_t size);

/* For this thread: warnings and notes are appended to `text` as lines. NULL: they are printed. */
void log_capture_notes(char *text, size_t size);

/* For this thread: failures begin with "where: ". NULL: no prefix. Returns the previous prefix. */
const char *log_prefix(const char *where);

/* Captures failures for a while. log_keep_in returns the former state, which log_keep_again
 * restores, so that a caller who captures failures, too, gets later ones. */
struct log_keeper {
    char *text;
    size_t size;
    struct failure *failure;
};
MUST_CHECK struct log_keeper log_keep_in(char *text, size_t size);
void log_keep_again(const struct log_keeper *before);

/* Captures failures into `failure`, for fail_again on any thread. At first its message is empty. */
MUST_CHECK struct log_keeper log_keep_failure(struct failure *failure);

/* Fails with the same cause and message. This thread's prefix is put before the message. */
MUST_CHECK enum status fail_again(const struct failure *failure);

/* For this thread: warnings begin with "subject: ". NULL: no prefix. */
void warn_about(const char *subject);

/* Prints that there is no memory for `what`. Returns STATUS_FAILED. */
MUST_CHECK enum status fail_memory(const char *what);

/* Whether so many bytes can be allocated now. Call it before a library that ends the program, or
 * crashes, without memory: libsoxr, lilv, TagLib, libsndfile with its codecs. */
MUST_CHECK bool memory_is_there(size_t bytes);

/* Prints a warning on standard error, even when quiet: sound is spoilt or lost. */
void warning(const char *format, ...) PRINTF_LIKE(1, 2);

/* Print notes on standard error: note() unless quiet, note_detail() only if verbose. */
void note(const char *format, ...) PRINTF_LIKE(1, 2);
void note_detail(const char *format, ...) PRINTF_LIKE(1, 2);
void note_verbosity(enum verbosity verbosity);
enum verbosity note_verbosity_now(void);

/* Passes lines to show(), without "halo: ", instead of printing them. Any thread may call show(),
 * one at a time. show() must not print. It has ended when messages_to(NULL, NULL) returns. */
void messages_to(void (*show)(void *context, const char *line), void *context);

/* Prints a line on the terminal that the next message replaces, for progress. */
void note_transient(const char *format, ...) PRINTF_LIKE(1, 2);

/* The cause for a number from <errno.h>. */
enum cause cause_of_errno(int error);

/* Why a file cannot be used. */
struct flaw {
    enum cause cause;
    const char *text; /* the end of a message; NULL: nothing is wrong */
};

/* The flaw in the system's words. Its text is valid until this thread's next strerror(). */
struct flaw flaw_of_errno(int error);

/* The word for a cause in --json, such as "no space". */
const char *cause_name(enum cause cause);

/* ---- the order of messages; any thread ---- */

/* Locks messages until message_unlock. Other threads wait before they print, and this thread prints
 * only by message_emit. Also use it around a call that redirects standard error, where other
 * threads' messages would be lost. */
void message_lock(void);
void message_unlock(void);

#endif
