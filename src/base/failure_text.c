#include "base/failure_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

size_t failure_compose(char *text, size_t size, const char *source, const char *format,
                       va_list arguments)
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

/* A reason may be that of another failure, with its own: the last one counts. Names that are quoted
 * precede it. */
static bool is_for_memory(const struct failure *failure, size_t prefix)
{
    const char *system = strerror(ENOMEM);
    const char *reason = failure->message + (failure->reason ? failure->reason : prefix);
    const char *end = failure->message + without_advice(failure), *colon;
    while (failure->reason && (colon = strstr(reason, ": ")) && colon < end)
        reason = colon + 2;
    return strncmp(reason, NO_MEMORY, strlen(NO_MEMORY)) == 0 ||
           ((size_t)(end - reason) == strlen(system) &&
            strncmp(reason, system, strlen(system)) == 0);
}

void failure_make(struct failure *failure, enum status status, const char *source,
                  const char *format, va_list arguments)
{
    *failure = (struct failure){.status = status};
    size_t prefix =
        failure_compose(failure->message, sizeof failure->message, source, format, arguments);
    divide(failure, format, arguments, prefix);
    failure->for_memory = is_for_memory(failure, prefix);
}

/* What the message has no room for has no place either. */
static size_t shifted(const struct failure *to, size_t at, size_t by)
{
    return at > 0 && at + by < strlen(to->message) ? at + by : 0;
}

void failure_repeat(const struct failure *from, enum status status, const char *source,
                    struct failure *to)
{
    *to = (struct failure){.status = status};
    if (source)
        snprintf(to->message, sizeof to->message / 2, "%s: ", source);
    size_t prefix = strlen(to->message);
    snprintf(to->message + prefix, sizeof to->message - prefix, "%s", from->message);
    to->reason = shifted(to, from->reason, prefix);
    to->advice = shifted(to, from->advice, prefix);
    to->for_memory = from->for_memory;
    memcpy(to->kind, from->kind, sizeof to->kind);
}
