#include "base/status.h"

#include "base/failure_text.h"
#include "base/message_lock.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local bool log_is_notes = false;
static _Thread_local char *kept; /* where this thread's failures go; NULL: to the terminal */
static _Thread_local size_t kept_size;
static _Thread_local struct failure *kept_failure; /* in place of `kept` */
static _Thread_local const char *source; /* that this thread's failures come from, or NULL */

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

enum status fail(enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (kept_failure) {
        failure_make(kept_failure, status, source, format, arguments);
    } else if (kept) {
        failure_compose(kept, kept_size, source, format, arguments);
    } else {
        message_lock();
        failure_make(printed_failure(), status, source, format, arguments);
        print_failure(printed_failure());
        message_unlock();
    }
    va_end(arguments);
    return status;
}

enum status fail_again(enum status status, const struct failure *failure)
{
    if (kept_failure) {
        failure_repeat(failure, status, source, kept_failure);
    } else if (kept) {
        return fail(status, "%s", failure->message);
    } else {
        message_lock();
        failure_repeat(failure, status, source, printed_failure());
        print_failure(printed_failure());
        message_unlock();
    }
    return status;
}

bool failure_last(struct failure *failure)
{
    message_lock();
    *failure = last;
    message_unlock();
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
    if (text)
        text[0] = '\0';
    log_keep_again(&(struct log_keeper){text, size, NULL});
}

struct log_keeper log_keep_in(char *text, size_t size)
{
    const struct log_keeper before = {kept, kept_size, kept_failure};
    log_capture(text, size);
    return before;
}

void log_keep_again(const struct log_keeper *before)
{
    kept = before->text;
    kept_size = before->size;
    kept_failure = before->failure;
}

struct log_keeper log_keep_failure(struct failure *failure)
{
    const struct log_keeper before = log_keep_in(NULL, 0);
    failure->message[0] = failure->kind[0] = '\0';
    failure->reason = failure->advice = 0;
    failure->for_memory = false;
    kept_failure = failure;
    return before;
}

enum status fail_memory(const char *what)
{
    return fail(STATUS_FAILED, NO_MEMORY " for %s", what);
}

bool memory_is_there(size_t bytes)
{
    void *volatile block = malloc(bytes); /* which the compiler may otherwise leave out */
    free(block);
    return block != NULL;
}
