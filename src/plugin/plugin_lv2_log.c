#include "plugin/plugin_lv2.h"

#include "base/realtime.h"
#include "base/ring.h"
#include "plugin/plugin_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 256, LINES_KEPT = 64 };

struct log_line {
    bool is_serious; /* an error or a warning */
    char text[LINE_BYTES];
};

struct lv2_logbook {
    const char *name;
    LV2_Log_Log feature;
    LV2_URID error, warning;
    struct ring *lines;     /* of struct log_line; the thread that runs writes */
    struct log_line latest; /* the last one kept: repetitions are dropped */
    bool loads;
    char trouble[2 * LINE_BYTES];   /* the first error while it loads */
    char complaint[2 * LINE_BYTES]; /* the first error while it runs */
};

static _Thread_local const struct lv2_logbook *runs_with; /* of the plugin that this thread runs */

static void report(const struct lv2_logbook *book, const struct log_line *line)
{
    if (line->is_serious)
        plugin_output_warn(book->name, line->text);
    else
        note_detail("%s: %s", book->name, line->text);
}

/* Real-time. */
static void keep(struct lv2_logbook *book, const struct log_line *line, bool is_error)
{
    if (strcmp(line->text, book->latest.text) == 0)
        return;
    book->latest = *line;
    if (is_error && !*book->complaint)
        snprintf(book->complaint, sizeof book->complaint, "%s: %s", book->name, line->text);
    else
        ring_write(book->lines, line, 1);
}

/* Trim the end and join the lines of a message. */
static void make_one_line(char *text)
{
    size_t length = strlen(text);
    while (length > 0 && strchr("\r\n ", text[length - 1]))
        text[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < ' ')
            text[i] = ' ';
}

__attribute__((format(printf, 3, 0))) static int log_list(LV2_Log_Handle handle, LV2_URID type,
                                                          const char *format, va_list arguments)
{
    struct lv2_logbook *book = handle;
    struct log_line line = {.is_serious = type == book->error || type == book->warning};
    int length = vsnprintf(line.text, sizeof line.text, format, arguments);
    make_one_line(line.text);
    if (!line.text[0])
        return length;
    if (book->loads && type == book->error) {
        if (!*book->trouble)
            snprintf(book->trouble, sizeof book->trouble, "%s: %s", book->name, line.text);
        return length;
    }
    if (runs_with == book)
        keep(book, &line, type == book->error);
    else
        report(book, &line);
    return length;
}

__attribute__((format(printf, 3, 4))) static int log_text(LV2_Log_Handle handle, LV2_URID type,
                                                          const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = log_list(handle, type, format, arguments);
    va_end(arguments);
    return length;
}

enum status lv2_logbook_create(const char *name, struct lv2_logbook **result)
{
    struct lv2_logbook *book = calloc(1, sizeof *book);
    if (!book)
        return fail_memory("a plugin");
    book->name = name;
    book->feature = (LV2_Log_Log){.handle = book, .printf = log_text, .vprintf = log_list};
    book->error = lv2_urid(LV2_LOG__Error);
    book->warning = lv2_urid(LV2_LOG__Warning);
    if (ring_create(sizeof(struct log_line), LINES_KEPT, "a plugin", &book->lines) != STATUS_OK) {
        lv2_logbook_destroy(book);
        return STATUS_FAILED;
    }
    *result = book;
    return STATUS_OK;
}

void lv2_logbook_destroy(struct lv2_logbook *book)
{
    if (!book)
        return;
    if (book->lines)
        lv2_logbook_report(book);
    ring_destroy(book->lines);
    free(book);
}

LV2_Log_Log *lv2_logbook_feature(struct lv2_logbook *book)
{
    return &book->feature;
}

HALO_REALTIME void lv2_logbook_hold(struct lv2_logbook *book, bool runs)
{
    runs_with = runs ? book : NULL;
}

void lv2_logbook_load(struct lv2_logbook *book, bool loads)
{
    book->loads = loads;
}

const char *lv2_logbook_trouble(const struct lv2_logbook *book)
{
    return *book->trouble ? book->trouble : NULL;
}

void lv2_logbook_report(struct lv2_logbook *book)
{
    struct log_line line;
    while (ring_read(book->lines, &line, 1) == 1)
        report(book, &line);
}

HALO_REALTIME const char *lv2_logbook_complaint(const struct lv2_logbook *book)
{
    return *book->complaint ? book->complaint : NULL;
}
