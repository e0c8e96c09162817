/* The result of a call, and messages.
 *
 * A function that can fail returns an enum status and its result through its last parameter. Where
 * the cause is known, fail() prints one line; callers only return the status.
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
    STATUS_SOME_FAILED = 3, /* of many jobs; the others are done */
    STATUS_TRY_AGAIN = 4,   /* nothing is wrong with the jobs: a full disk, a lost device */
    STATUS_INTERRUPTED = 5, /* a signal asked to stop; main raises it again */
};

/* Why a call failed: what programs read, such as batch's retry, libhalo and --json. Threads: any.
 */

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

/* SILENT: errors only, where something else is written to standard error. */
enum verbosity { VERBOSITY_SILENT, VERBOSITY_QUIET, VERBOSITY_NORMAL, VERBOSITY_VERBOSE };

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(text, first) __attribute__((format(printf, text, first)))

/* Return the status of `call` unless it succeeds. Only where nothing has to be cleaned up. */
#define TRY(call)                                                                                  \
    do {                                                                                           \
        const enum status tried = (call);                                                          \
        if (tried != STATUS_OK)                                                                    \
            return tried;                                                                          \
    } while (0)

/* Print "halo: ..." on standard error. Messages are made printable.h's. Returns the status of the
 * cause: STATUS_USAGE, STATUS_INTERRUPTED, STATUS_SOME_FAILED or STATUS_FAILED. */
MUST_CHECK enum status fail(enum cause cause, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same with a number from <errno.h>: ": " and its text end the message. */
MUST_CHECK enum status fail_errno(int error, const char *format, ...) PRINTF_LIKE(2, 3);

/* The status that fail() returns. */
enum status cause_status(enum cause cause);

enum { FAILURE_BYTES = 8192, FAILURE_KIND = 256 };

struct failure {
    enum cause cause;
    char message[FAILURE_BYTES]; /* the bytes of names as they are */
    char kind[FAILURE_KIND];     /* "missing: cannot open": cause and what failed, without names */
};

/* The last one that was printed, by any thread, not as a note. False: there is none. */
bool failure_last(struct failure *failure);

/* Print failures no more, since they are reported in another way. */
void failures_hide(bool hidden);

/* For this thread: failures are printed as notes, since another way will be tried. */
void log_as_notes(bool are_notes);

/* For this thread, until it ends: failures are written to `text`, which is emptied now and shown as
 * it is. NULL: printed. What is to fail again is kept by log_keep_failure. */
void log_capture(char *text, size_t size);

/* For this thread: warnings and notes are added to `text`, a string, as lines. NULL: printed. */
void log_capture_notes(char *text, size_t size);

/* For this thread: failures begin with "where: ". NULL: without. Returns the previous prefix. */
const char *log_prefix(const char *where);

/* The same for a while: what log_keep_in returns is restored by log_keep_again, so that a caller
 * who keeps failures goes on to get them. */
struct log_keeper {
    char *text;
    size_t size;
    struct failure *failure;
};
MUST_CHECK struct log_keeper log_keep_in(char *text, size_t size);
void log_keep_again(const struct log_keeper *before);

/* Into `failure`, for fail_again of any thread. Its message is empty until then. */
MUST_CHECK struct log_keeper log_keep_failure(struct failure *failure);

/* Fail as that one did, behind the prefix of this thread. */
MUST_CHECK enum status fail_again(const struct failure *failure);

/* For this thread: warnings begin with "subject: ". NULL: without. */
void warn_about(const char *subject);

/* Print that memory ran out for `what`; returns STATUS_FAILED. */
MUST_CHECK enum status fail_memory(const char *what);

/* Whether that many bytes can be allocated now. For before a call to a library that ends the
 * program, or crashes, where it gets none: libsoxr, lilv, TagLib, libsndfile with its codecs.
 */
MUST_CHECK bool memory_is_there(size_t bytes);

/* On standard error: what spoils the sound or loses a part of it, also when quiet. */
void warning(const char *format, ...) PRINTF_LIKE(1, 2);

/* Notes go to standard error: note() unless quiet, note_detail() if verbose. */
void note(const char *format, ...) PRINTF_LIKE(1, 2);
void note_detail(const char *format, ...) PRINTF_LIKE(1, 2);
void note_verbosity(enum verbosity verbosity);
enum verbosity note_verbosity_now(void);

/* Pass lines to show(), without "halo: ", instead of printing them. show may be called by any
 * thread, one at a time, and must not print; after messages_to(NULL, NULL) returns it is not
 * running. */
void messages_to(void (*show)(void *context, const char *line), void *context);

/* A line on the terminal that the next message replaces (progress). */
void note_transient(const char *format, ...) PRINTF_LIKE(1, 2);

/* The cause of a number from <errno.h>. */
enum cause cause_of_errno(int error);

/* What is wrong with a file. */
struct flaw {
    enum cause cause;
    const char *text; /* the end of a message; NULL: nothing is wrong */
};

/* The flaw in the system's words. They are valid until this thread's next strerror(). */
struct flaw flaw_of_errno(int error);

/* "no space": the word of --json. */
const char *cause_name(enum cause cause);

/* The order of messages. Threads: any. */

/* Until the unlock other threads wait before they print a message, and this one prints none but by
 * message_emit. Also for a call that redirects standard error: those of others would be lost. */
void message_lock(void);
void message_unlock(void);

#endif
