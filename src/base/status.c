#include "base/status.h"

#include "base/message_lock.h"
#include "base/printable.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = FAILURE_BYTES }; /* of a line */

static _Atomic enum verbosity level = VERBOSITY_NORMAL;
static bool transient_shown = false;
static _Thread_local bool log_is_notes = false;
static _Thread_local char *kept; /* where this thread's failures go; NULL: to the terminal */
static _Thread_local size_t kept_size;
static _Thread_local struct failure *kept_failure; /* in place of `kept` */
static _Thread_local char *noted; /* where this thread's warnings and notes go; NULL: printed */
static _Thread_local size_t noted_size;
static _Thread_local bool was_memory;     /* this thread's last failure was fail_memory's */
static _Thread_local const char *source;  /* that this thread's failures come from, or NULL */
static _Thread_local const char *subject; /* of this thread's warnings, or NULL */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct failure last; /* lock */
static bool failures_hidden = false;
static void (*show_line)(void *context, const char *line); /* lock */
static void *show_context;                                 /* lock */

static void wipe_transient(void)
{
    if (transient_shown)
        fputs("\r\033[K", stderr);
    transient_shown = false;
}

/* The one place where messages leave, and what they quote becomes printable; lock. */
static void emit_line(const char *raw)
{
    static char line[LINE_MOST]; /* memory may have run out */
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
    static char raw[LINE_MOST]; /* lock */
    pthread_mutex_lock(&lock);
    vsnprintf(raw, sizeof raw, format, arguments);
    emit_line(raw);
    pthread_mutex_unlock(&lock);
}

/* The length of the text that the first `length` bytes of a format make. */
static size_t length_of(const char *format, size_t length, va_list arguments)
{
    char part[512];
    va_list again;
    snprintf(part, sizeof part, "%.*s", (int)length, format);
    va_copy(again, arguments);
    int made = vsnprintf(NULL, 0, part, again);
    va_end(again);
    return made > 0 ? (size_t)made : 0;
}

static int without_advice(const struct failure *failure)
{
    return (int)(failure->advice ? failure->advice - strlen("; ") : strlen(failure->message));
}

/* The first `length` bytes of the format, with dots for what stands in it, and the reason. */
static void name_kind(struct failure *failure, const char *format, size_t length)
{
    char *to = failure->kind, *end = to + sizeof failure->kind - sizeof "...";
    for (const char *at = format; at < format + length && to < end; at++) {
        if (*at != '%') {
            *to++ = *at;
            continue;
        }
        at += 1 + strspn(at + 1, "0123456789.*+-# hjlztL");
        to = stpcpy(to, *at == '%' ? "%" : "...");
    }
    *to = '\0';
    if (failure->reason)
        snprintf(to, (size_t)(failure->kind + sizeof failure->kind - to), ": %.*s",
                 without_advice(failure) - (int)failure->reason,
                 failure->message + failure->reason);
}

/* Where the reason and the advice of a failure begin: after ": " and "; " of the format, or
 * at the beginning of an argument, but not of a name; in the reason anywhere. `prefix` is what
 * precedes the format's text. */
static void divide(struct failure *failure, const char *format, va_list arguments, size_t prefix)
{
    const char *text = failure->message;
    size_t what = strlen(format);
    for (size_t i = 0; format[i] && !failure->advice; i++) {
        if (!strchr("%:;", format[i]))
            continue;
        size_t at = prefix + length_of(format, i, arguments);
        if (at >= sizeof failure->message)
            break;
        if (!failure->reason && strncmp(text + at, ": ", 2) == 0)
            failure->reason = at + 2;
        else if (strncmp(text + at, "; ", 2) == 0)
            failure->advice = at + 2;
        what = (failure->reason || failure->advice) && i < what ? i : what;
        i += format[i] == '%' && format[i + 1] == '%';
    }
    if (!failure->reason && strcmp(format, "%s") == 0) /* made elsewhere */
        for (const char *at = text; (at = strstr(at, ": ")); at++)
            failure->reason = (size_t)(at - text) + 2;
    const char *end = failure->reason ? strstr(text + failure->reason, "; ") : NULL;
    if (end && !failure->advice)
        failure->advice = (size_t)(end - text) + 2;
    if (strcmp(format, "%s") == 0)
        snprintf(failure->kind, sizeof failure->kind, "%.*s", without_advice(failure), text);
    else
        name_kind(failure, format, what);
}

/* Of a line that is too long, as names can make it, the end says why. (Whoever asks only whether
 * something fails has no room for either.) */
static void keep_ends(char *text, size_t size, const char *format, va_list arguments)
{
    static const char gap[] = " ... ";
    char *whole;
    va_list again;
    if (size / 2 < 2 * sizeof gap)
        return;
    va_copy(again, arguments);
    int length = vasprintf(&whole, format, again);
    va_end(again);
    if (length < 0)
        return;
    snprintf(text + size / 2, size - size / 2, "%s%s", gap,
             whole + (size_t)length + sizeof gap - (size - size / 2));
    free(whole);
}

/* The text behind the prefix of log_prefix, whose length is returned. */
static size_t compose(char *text, size_t size, const char *format, va_list arguments)
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
    return length;
}

static void make_failure(struct failure *failure, enum status status, const char *format,
                         va_list arguments)
{
    *failure = (struct failure){.status = status};
    size_t prefix = compose(failure->message, sizeof failure->message, format, arguments);
    divide(failure, format, arguments, prefix);
}

/* Where one is made that is printed; lock. */
static struct failure *printed_failure(void)
{
    static struct failure other;
    return log_is_notes ? &other : &last;
}

static void print_failure(const struct failure *failure)
{
    if (!(log_is_notes ? level < VERBOSITY_NORMAL : failures_hidden))
        emit_line(failure->message);
}

enum status fail(enum status status, const char *format, ...)
{
    va_list arguments;
    was_memory = false;
    va_start(arguments, format);
    if (kept_failure) {
        make_failure(kept_failure, status, format, arguments);
    } else if (kept) {
        compose(kept, kept_size, format, arguments);
    } else {
        pthread_mutex_lock(&lock);
        make_failure(printed_failure(), status, format, arguments);
        print_failure(printed_failure());
        pthread_mutex_unlock(&lock);
    }
    va_end(arguments);
    return status;
}

/* What the message has no room for has no place either. */
static size_t shifted(const struct failure *to, size_t at, size_t by)
{
    return at > 0 && at + by < strlen(to->message) ? at + by : 0;
}

static void repeat(const struct failure *from, enum status status, struct failure *to)
{
    *to = (struct failure){.status = status};
    if (source)
        snprintf(to->message, sizeof to->message / 2, "%s: ", source);
    size_t prefix = strlen(to->message);
    snprintf(to->message + prefix, sizeof to->message - prefix, "%s", from->message);
    to->reason = shifted(to, from->reason, prefix);
    to->advice = shifted(to, from->advice, prefix);
    memcpy(to->kind, from->kind, sizeof to->kind);
}

enum status fail_again(enum status status, const struct failure *failure)
{
    if (kept_failure) {
        repeat(failure, status, kept_failure);
    } else if (kept) {
        return fail(status, "%s", failure->message);
    } else {
        pthread_mutex_lock(&lock);
        repeat(failure, status, printed_failure());
        print_failure(printed_failure());
        pthread_mutex_unlock(&lock);
    }
    return status;
}

bool failure_last(struct failure *failure)
{
    pthread_mutex_lock(&lock);
    *failure = last;
    pthread_mutex_unlock(&lock);
    return failure->status != STATUS_OK;
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
    kept = text;
    kept_size = size;
    kept_failure = NULL;
}

struct log_keeper log_keep_in(char *text, size_t size)
{
    const struct log_keeper before = {kept, kept_size, kept_failure};
    log_capture(text, size);
    return before;
}

void log_keep_again(const struct log_keeper *before)
{
    log_capture(before->text, before->size);
    kept_failure = before->failure;
}

struct log_keeper log_keep_failure(struct failure *failure)
{
    const struct log_keeper before = log_keep_in(NULL, 0);
    failure->message[0] = failure->kind[0] = '\0';
    failure->reason = failure->advice = 0;
    kept_failure = failure;
    return before;
}

void warn_about(const char *what)
{
    subject = what;
}

enum status fail_memory(const char *what)
{
    enum status status = fail(STATUS_FAILED, "not enough memory for %s", what);
    was_memory = true;
    return status;
}

bool failed_for_memory(void)
{
    return was_memory;
}

bool memory_is_there(size_t bytes)
{
    void *volatile block = malloc(bytes); /* which the compiler may otherwise leave out */
    free(block);
    return block != NULL;
}

void log_capture_notes(char *text, size_t size)
{
    noted = text;
    noted_size = size;
}

/* A line that does not fit is cut off. */
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

void message_lock(void)
{
    pthread_mutex_lock(&lock);
}

void message_unlock(void)
{
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
