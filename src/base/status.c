#include "base/status.h"

#include "base/message_lock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Thread_local bool log_is_notes = false;
/* Where failures of this thread go. Without a text and a failure they are printed. */
static _Thread_local struct log_keeper keeper;
/* The prefix of this thread's failures, or NULL. */
static _Thread_local const char *source;

static struct failure last; /* message_lock */
static bool failures_hidden = false;

/* Where one is made that is printed; message_lock. */
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

/* Of a line that is too long, as names can make it, the end says why. (Whoever asks only whether
 * something fails has no room for either.) */
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

/* `source` and ": ", unless that is NULL, then the text. Both ends of a long line are kept. */
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

/* The cause, and the words of a format before its first name. */
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
    void *volatile block = malloc(bytes); /* which the compiler may otherwise leave out */
    free(block);
    return block != NULL;
}
