#include "base/status.h"

#include "base/printable.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINE_MOST = 8192 }; /* bytes of a line */

static _Atomic enum verbosity level = VERBOSITY_NORMAL;
static bool transient_shown = false;
static _Thread_local bool log_is_notes = false;
static _Thread_local char *kept; /* where this thread's failures go; NULL: to the terminal */
static _Thread_local size_t kept_size;
static _Thread_local const char *source; /* that this thread's failures come from, or NULL */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void (*show_line)(void *context, const char *line); /* lock */
static void *show_context;                                 /* lock */

static void wipe_transient(void)
{
    if (transient_shown)
        fputs("\r\033[K", stderr);
    transient_shown = false;
}

/* The one place where messages leave, and what they quote becomes printable. */
static void print_line(const char *format, va_list arguments)
{
    static char raw[LINE_MOST], line[LINE_MOST]; /* lock: memory may have run out */
    pthread_mutex_lock(&lock);
    vsnprintf(raw, sizeof raw, format, arguments);
    printable_copy(line, sizeof line, raw);
    if (show_line) {
        show_line(show_context, line);
    } else {
        wipe_transient();
        fprintf(stderr, "halo: %s\n", line);
    }
    pthread_mutex_unlock(&lock);
}

enum status fail(enum status status, const char *format, ...)
{
    va_list arguments;
    if (source) {
        char line[LINE_MOST];
        va_start(arguments, format);
        vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        const char *where = log_prefix(NULL);
        status = fail(status, "%s: %s", where, line);
        log_prefix(where);
        return status;
    }
    va_start(arguments, format);
    if (kept)
        vsnprintf(kept, kept_size, format, arguments);
    else if (!log_is_notes || level >= VERBOSITY_NORMAL)
        print_line(format, arguments);
    va_end(arguments);
    return status;
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
}

void log_captured(char **text, size_t *size)
{
    *text = kept;
    *size = kept_size;
}

enum status fail_memory(const char *what)
{
    return fail(STATUS_FAILED, "not enough memory for %s", what);
}

bool memory_is_there(size_t bytes)
{
    void *volatile block = malloc(bytes); /* which the compiler may otherwise leave out */
    free(block);
    return block != NULL;
}

static void print_from(enum verbosity least, const char *format, va_list arguments)
{
    if (level >= least)
        print_line(format, arguments);
}

void warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
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
