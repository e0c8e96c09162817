/* What the program has to say on standard error: the messages of status.h, of which those of
 * failures come through message_emit. */
#include "base/message_lock.h"
#include "base/printable.h"
#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LINE_MOST = FAILURE_BYTES };

static _Atomic enum verbosity level = VERBOSITY_NORMAL;
static _Thread_local char *noted; /* where this thread's warnings and notes go; NULL: printed */
static _Thread_local size_t noted_size;
static _Thread_local const char *subject; /* of this thread's warnings, or NULL */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool transient_shown = false;                       /* lock */
static void (*show_line)(void *context, const char *line); /* lock */
static void *show_context;                                 /* lock */

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

/* The one place where messages leave, and what they quote becomes printable. */
void message_emit(const char *raw)
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
