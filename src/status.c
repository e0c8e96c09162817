#include "status.h"

#include <stdarg.h>
#include <stdio.h>

static enum verbosity level = VERBOSITY_NORMAL;
static bool transient_shown = false;
static bool failures_are_notes = false;
static _Thread_local char *kept; /* where this thread's failures go; NULL: to the terminal */
static _Thread_local size_t kept_size;

static void wipe_transient(void)
{
    if (transient_shown)
        fputs("\r\033[K", stderr);
    transient_shown = false;
}

static void print_line(const char *format, va_list arguments)
{
    wipe_transient();
    fputs("halo: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
}

enum status fail(enum status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (kept)
        vsnprintf(kept, kept_size, format, arguments);
    else if (!failures_are_notes || level >= VERBOSITY_NORMAL)
        print_line(format, arguments);
    va_end(arguments);
    return status;
}

void failures_as_notes(bool are_notes)
{
    failures_are_notes = are_notes;
}

void failures_keep(char *text, size_t size)
{
    kept = text;
    kept_size = size;
}

enum status fail_memory(const char *what)
{
    return fail(STATUS_FAILED, "not enough memory for %s", what);
}

void note(const char *format, ...)
{
    if (level < VERBOSITY_NORMAL)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void note_detail(const char *format, ...)
{
    if (level < VERBOSITY_VERBOSE)
        return;
    va_list arguments;
    va_start(arguments, format);
    print_line(format, arguments);
    va_end(arguments);
}

void note_verbosity(enum verbosity verbosity)
{
    level = verbosity;
}

void note_transient(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    wipe_transient();
    vfprintf(stderr, format, arguments);
    fflush(stderr);
    va_end(arguments);
    transient_shown = true;
}
