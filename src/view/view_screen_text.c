/* The screen's lower rows: messages and keys, broken into rows. */
#include "base/monotonic.h"
#include "view/view_screen.h"

#include <stdio.h>
#include <string.h>

/* ---- messages ---- */

/* From `row` on, at most `most` rows; with row < 0 nothing is drawn. The rows it takes. */
static int draw_message(const struct screen_message *message, enum screen_style style, int row,
                        int most, int width)
{
    struct pen pen = {.row = row, .right = width};
    char stamp[sizeof message->stamp + 3];
    snprintf(stamp, sizeof stamp, " %s  ", message->stamp);
    int margin = screen_columns(stamp), rows = 0;
    pen_print(&pen, STYLE_DIM, "%s", stamp);
    for (const char *text = message->text; *text && rows < most; rows++) {
        size_t length = screen_fitting(text, width - margin);
        pen.row = row < 0 ? -1 : row + rows;
        pen.column = margin;
        pen_print(&pen, style, "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    return rows;
}

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

/* ---- keys ---- */

/* Items are two blanks apart; of each the first word is the key. */
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
