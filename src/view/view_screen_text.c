/* What is broken into rows: questions, messages and the help line. */
#include "view/view_screen.h"

#include "base/monotonic.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { STAMPED = 60 /* columns; on narrower screens messages have no time */ };

/* Broken at blanks, from a column to `right`. The row is -1: only count. Returns the rows used, at
 * most `most`. */
static int draw_wrapped(const char *text, struct pen pen, enum screen_style style, int most)
{
    const int row = pen.row, column = pen.column;
    int rows = 0;
    for (; *text && rows < most; rows++) {
        size_t length = screen_fitting(text, pen.right - column);
        pen.row = row < 0 ? -1 : row + rows;
        pen.column = column;
        pen_print(&pen, style, "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    return rows;
}

int screen_draw_questions(const struct live_status *status, int row, int most, int width)
{
    int rows = 0;
    for (size_t i = 0; i < status->question_lines && rows < most; i++) {
        struct pen pen = {.row = row < 0 ? -1 : row + rows, .column = 1, .right = width};
        rows += draw_wrapped(status->lines[i], pen, STYLE_BOLD, most - rows);
    }
    return rows;
}

/* Returns the rows used. */
static int draw_message(const struct screen_message *message, enum screen_style style, int row,
                        int most, int width)
{
    struct pen pen = {.row = row, .right = width};
    char stamp[sizeof message->stamp + 3] = " ";
    if (width >= STAMPED)
        snprintf(stamp, sizeof stamp, " %s  ", message->stamp);
    pen_print(&pen, STYLE_DIM, "%s", stamp);
    pen.column = screen_columns(stamp);
    return draw_wrapped(message->text, pen, style, most);
}

/* The newest messages, at the end of `rows` rows. */
void screen_draw_messages(struct screen *screen, int row, int rows, int width)
{
    double now = monotonic_seconds();
    pthread_mutex_lock(&screen->lock);
    size_t count = screen->message_count, first = count;
    size_t oldest = count > SCREEN_MESSAGES ? count - SCREEN_MESSAGES : 0;
    int used = 0;
    while (first > oldest) {
        int more = draw_message(&screen->messages[(first - 1) % SCREEN_MESSAGES], STYLE_PLAIN, -1,
                                rows, width);
        if (used + more > rows)
            break;
        used += more;
        first--;
    }
    row += rows - used;
    for (size_t i = first; i < count; i++) {
        struct screen_message *message = &screen->messages[i % SCREEN_MESSAGES];
        enum screen_style style = i + 1 == count ? STYLE_BOLD : STYLE_PLAIN;
        row += draw_message(message, style, row, rows, width);
        if (message->drawn == 0)
            message->drawn = now;
    }
    pthread_mutex_unlock(&screen->lock);
}

int screen_draw_keys(const char *keys, int row, int width)
{
    int rows = 1, column = 1;
    while (*keys) {
        size_t length = strcspn(keys, " ");
        const char *end = strstr(keys, "  ");
        size_t whole = end ? (size_t)(end - keys) : strlen(keys);
        if (column > 1 && column + (int)whole > width) {
            rows++;
            column = 1;
        }
        struct pen pen = {.row = row < 0 ? -1 : row + rows - 1, .column = column, .right = width};
        pen_print(&pen, STYLE_BOLD, "%.*s", (int)length, keys);
        pen_print(&pen, STYLE_PLAIN, "%.*s", (int)(whole - length), keys + length);
        column += (int)whole + 2;
        keys += whole;
        keys += strspn(keys, " ");
    }
    return rows;
}
