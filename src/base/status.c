#include "base/status.h"

#include "base/printable.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum cause cause_of_errno(int error)
{
    static const struct {
        int error;
        enum cause cause;
    } rows[] = {
        {ENOENT, CAUSE_MISSING},        {ENOTDIR, CAUSE_MISSING},
        {EEXIST, CAUSE_EXISTS},         {EACCES, CAUSE_NOT_PERMITTED},
        {EPERM, CAUSE_NOT_PERMITTED},   {EFBIG, CAUSE_UNSUPPORTED},
        {ENOSYS, CAUSE_UNSUPPORTED},    {ENOTSUP, CAUSE_UNSUPPORTED},
        {ENOSPC, CAUSE_NO_SPACE},       {EDQUOT, CAUSE_NO_SPACE},
        {EROFS, CAUSE_READ_ONLY},       {ENOMEM, CAUSE_NO_MEMORY},
        {EIO, CAUSE_TEMPORARY},         {ESTALE, CAUSE_TEMPORARY},
        {EAGAIN, CAUSE_TEMPORARY},      {EMFILE, CAUSE_TEMPORARY},
        {ENFILE, CAUSE_TEMPORARY},      {ETIMEDOUT, CAUSE_TEMPORARY},
        {EBUSY, CAUSE_TEMPORARY},       {ECONNRESET, CAUSE_TEMPORARY},
        {ENETUNREACH, CAUSE_TEMPORARY},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].error == error)
            return rows[i].cause;
    return CAUSE_OTHER;
}

struct flaw flaw_of_errno(int error)
{
    return (struct flaw){cause_of_errno(error), strerror(error)};
}

const char *cause_name(enum cause cause)
{
    static const char *const names[] = {
        [CAUSE_OTHER] = "other",
        [CAUSE_USAGE] = "usage",
        [CAUSE_MISSING] = "missing",
        [CAUSE_EXISTS] = "exists",
        [CAUSE_NOT_PERMITTED] = "not permitted",
        [CAUSE_DAMAGED] = "damaged",
        [CAUSE_UNSUPPORTED] = "unsupported",
        [CAUSE_NO_SPACE] = "no space",
        [CAUSE_READ_ONLY] = "read-only",
        [CAUSE_NO_MEMORY] = "no memory",
        [CAUSE_TEMPORARY] = "temporary",
        [CAUSE_BUSY] = "busy",
        [CAUSE_DEVICE] = "device",
        [CAUSE_NO_GPU] = "no GPU",
        [CAUSE_SOME_FAILED] = "some failed",
        [CAUSE_INTERRUPTED] = "interrupted",
    };
    return names[cause];
}

/* Printing on standard error: the messages of status.h. Failures are printed by message_emit. */

enum { LINE_MOST = FAILURE_BYTES };

static _Atomic enum verbosity level = VERBOSITY_NORMAL;
/* this thread's captured warnings and notes; NULL: they are printed */
static _Thread_local char *noted;
static _Thread_local size_t noted_size;
static _Thread_local const char *subject; /* prefix of this thread's warnings, or NULL */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool transient_shown = false;                       /* protected by `lock` */
static void (*show_line)(void *context, const char *line); /* protected by `lock` */
static void *show_context;                                 /* protected by `lock` */

void message_lock(void)
{
    pthread_mutex_lock(&lock);
}

void message_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

static void wipe_transient(void)
{
    if (transient_shown)
        fputs("\r\033[K", stderr);
    transient_shown = false;
}

/* Prints a message. All messages pass here, and quoted text becomes printable. */
static void message_emit(const char *raw)
{
    static char line[LINE_MOST]; /* static, as memory may have run out */
    printable_copy(line, sizeof line, raw);
    if (show_line) {
        show_line(show_context, line);
    } else {
        wipe_transient();
        fprintf(stderr, "halo: %s\n", line);
    }
}

static void print_line(const char *format, va_list arguments)
{
    static char raw[LINE_MOST]; /* protected by `lock` */
    pthread_mutex_lock(&lock);
    vsnprintf(raw, sizeof raw, format, arguments);
    message_emit(raw);
    pthread_mutex_unlock(&lock);
}

void warn_about(const char *what)
{
    subject = what;
}

void log_capture_notes(char *text, size_t size)
{
    noted = text;
    noted_size = size;
}

/* Appends a note. A line that does not fit is cut off. */
static void keep_note(const char *format, va_list arguments)
{
    char raw[LINE_MOST];
    size_t length = strlen(noted);
    if (length > 0 && length + 1 < noted_size)
        noted[length++] = '\n';
    vsnprintf(raw, sizeof raw, format, arguments);
    printable_copy(noted + length, noted_size - length, raw);
}

static void print_from(enum verbosity least, const char *format, va_list arguments)
{
    if (level < least)
        return;
    if (noted)
        keep_note(format, arguments);
    else
        print_line(format, arguments);
}

void warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (subject) {
        char line[LINE_MOST];
        const char *about = subject;
        vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        subject = NULL;
        warning("%s: %s", about, line);
        subject = about;
        return;
    }
    print_from(VERBOSITY_QUIET, format, arguments);
    va_end(arguments);
}

void note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_from(VERBOSITY_NORMAL, format, arguments);
    va_end(arguments);
}

void note_detail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_from(VERBOSITY_VERBOSE, format, arguments);
    va_end(arguments);
}

void note_verbosity(enum verbosity verbosity)
{
    level = verbosity;
}

enum verbosity note_verbosity_now(void)
{
    return level;
}

void messages_to(void (*show)(void *context, const char *line), void *context)
{
    pthread_mutex_lock(&lock);
    show_line = show;
    show_context = context;
    pthread_mutex_unlock(&lock);
}

void note_transient(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&lock);
    if (!show_line) {
        wipe_transient();
        vfprintf(stderr, format, arguments);
        fflush(stderr);
        transient_shown = true;
    }
    pthread_mutex_unlock(&lock);
    va_end(arguments);
}

static _Thread_local bool log_is_notes = false;
/* Where this thread's failures are captured. Without text and failure they are printed. */
static _Thread_local struct log_keeper keeper;
/* The prefix of this thread's failures, or NULL. */
static _Thread_local const char *source;

static struct failure last; /* protected by message_lock */
static bool failures_hidden = false;

/* A failure that is to be printed is built here. Call it under message_lock. */
static struct failure *printed_failure(void)
{
    static struct failure other;
    return log_is_notes ? &other : &last;
}

static void print_failure(const struct failure *failure)
{
    if (!(log_is_notes ? note_verbosity_now() < VERBOSITY_NORMAL : failures_hidden))
        message_emit(failure->message);
}

enum status cause_status(enum cause cause)
{
    return cause == CAUSE_USAGE         ? STATUS_USAGE
           : cause == CAUSE_SOME_FAILED ? STATUS_SOME_FAILED
           : cause == CAUSE_INTERRUPTED ? STATUS_INTERRUPTED
                                        : STATUS_FAILED;
}

/* Composes a line. If names make it too long, its middle is left out, since its end says why.
 * (`size` is tiny for callers that only ask whether something fails.) */
static void keep_ends(char *text, size_t size, const char *format, va_list arguments)
{
    static const char gap[] = " ... ";
    char *whole;
    if (size / 2 < 2 * sizeof gap)
        return;
    int length = vasprintf(&whole, format, arguments);
    if (length < 0)
        return;
    snprintf(text + size / 2, size - size / 2, "%s%s", gap,
             whole + (size_t)length + sizeof gap - (size - size / 2));
    free(whole);
}

/* Composes `source` (or NULL), ": " and the text. Both ends of a long line are kept. */
static void compose(char *text, size_t size, const char *format, va_list arguments)
{
    va_list again;
    text[0] = '\0';
    if (source)
        snprintf(text, size / 2, "%s: ", source);
    size_t length = strlen(text);
    va_copy(again, arguments);
    int made = vsnprintf(text + length, size - length, format, again);
    va_end(again);
    if (made >= 0 && (size_t)made >= size - length)
        keep_ends(text, size, format, arguments);
}

static void make(struct failure *failure, enum cause cause, const char *kind, const char *format,
                 va_list arguments)
{
    failure->cause = cause;
    compose(failure->message, sizeof failure->message, format, arguments);
    memcpy(failure->kind, kind, sizeof failure->kind);
}

static enum status fail_as(enum cause cause, const char *kind, const char *format,
                           va_list arguments)
{
    if (keeper.failure) {
        make(keeper.failure, cause, kind, format, arguments);
    } else if (keeper.text) {
        compose(keeper.text, keeper.size, format, arguments);
    } else {
        message_lock();
        make(printed_failure(), cause, kind, format, arguments);
        print_failure(printed_failure());
        message_unlock();
    }
    return cause_status(cause);
}

/* Writes the cause, and the format's words before its first name. */
static void name_kind(char kind[FAILURE_KIND], enum cause cause, const char *format)
{
    size_t length = strcspn(format, "%");
    while (length > 0 && strchr(" :'(\"", format[length - 1]))
        length--;
    snprintf(kind, FAILURE_KIND, "%s%s%.*s", cause_name(cause), length > 0 ? ": " : "", (int)length,
             format);
}

enum status fail(enum cause cause, const char *format, ...)
{
    char kind[FAILURE_KIND];
    va_list arguments;
    name_kind(kind, cause, format);
    va_start(arguments, format);
    enum status status = fail_as(cause, kind, format, arguments);
    va_end(arguments);
    return status;
}

enum status fail_errno(int error, const char *format, ...)
{
    char kind[FAILURE_KIND], whole[FAILURE_KIND];
    va_list arguments;
    name_kind(kind, cause_of_errno(error), format);
    snprintf(whole, sizeof whole, "%s: %%m", format);
    va_start(arguments, format);
    errno = error;
    enum status status = fail_as(cause_of_errno(error), kind, whole, arguments);
    va_end(arguments);
    return status;
}

static enum status fail_with(const struct failure *failure, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    enum status status = fail_as(failure->cause, failure->kind, format, arguments);
    va_end(arguments);
    return status;
}

enum status fail_again(const struct failure *failure)
{
    return fail_with(failure, "%s", failure->message);
}

bool failure_last(struct failure *failure)
{
    message_lock();
    *failure = last;
    message_unlock();
    return failure->message[0];
}

void failures_hide(bool hidden)
{
    failures_hidden = hidden;
}

const char *log_prefix(const char *where)
{
    const char *before = source;
    source = where;
    return before;
}

void log_as_notes(bool are_notes)
{
    log_is_notes = are_notes;
}

void log_capture(char *text, size_t size)
{
    if (text)
        text[0] = '\0';
    keeper = (struct log_keeper){text, size, NULL};
}

struct log_keeper log_keep_in(char *text, size_t size)
{
    const struct log_keeper before = keeper;
    log_capture(text, size);
    return before;
}

void log_keep_again(const struct log_keeper *before)
{
    keeper = *before;
}

struct log_keeper log_keep_failure(struct failure *failure)
{
    const struct log_keeper before = keeper;
    failure->cause = CAUSE_OTHER;
    failure->message[0] = failure->kind[0] = '\0';
    keeper = (struct log_keeper){.failure = failure};
    return before;
}

enum status fail_memory(const char *what)
{
    return fail(CAUSE_NO_MEMORY, "not enough memory for %s", what);
}

bool memory_is_there(size_t bytes)
{
    /* volatile, since the compiler may otherwise remove the call */
    void *volatile block = malloc(bytes);
    free(block);
    return block != NULL;
}
