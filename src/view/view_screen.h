/* Private to view_screen*.c. Threads: the control thread, between newterm() and endwin(); any
 * thread may add messages. */
#ifndef HALO_VIEW_SCREEN_H
#define HALO_VIEW_SCREEN_H

#include "view/live_status.h"
#include "view/view_kind.h"

#include <pthread.h>

enum { SCREEN_MESSAGES = 16, SCREEN_MESSAGE_MOST = 1024, SCREEN_LABEL = 9 };

struct screen_message {
    char text[SCREEN_MESSAGE_MOST];
    char stamp[16];
    double drawn; /* first time; monotonic seconds, 0: not yet */
};

struct screen {
    struct view view;
    int errors;           /* reads standard error; -1: none */
    char error_line[512]; /* incomplete line */
    size_t error_length;
    pthread_mutex_t lock;
    struct screen_message messages[SCREEN_MESSAGES]; /* lock; a ring */
    size_t message_count;                            /* lock; ever */
};

enum screen_style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_BOLD,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_CHOSEN,
    STYLE_BAR, /* the title */
    STYLE_ALARM,
    STYLES,
};

/* The next text starts at (row, column) and ends before column `right`. */
struct pen {
    int row, column, right;
    enum screen_style over; /* a style for the whole row, or STYLE_PLAIN */
};

/* In Unicode or ASCII, by the locale. */
struct screen_glyphs {
    const char *full, *until_peak, *empty, *hold, *mark, *chosen, *coming, *more;
};

void screen_prepare_styles(void);
const struct screen_glyphs *screen_glyphs(void);

/* Draw what fits and move the pen; control characters and invalid text become '?'. */
void pen_print(struct pen *pen, enum screen_style style, const char *format, ...) PRINTF_LIKE(3, 4);
void pen_repeat(struct pen *pen, enum screen_style style, const char *glyph, int times);

/* The width of a text, and how many bytes of it fit in `columns`, broken at a blank. */
int screen_columns(const char *text);
size_t screen_fitting(const char *text, int columns);

/* Bars of -60..0 dBFS. The pen is at the left of the row. */
void screen_draw_scale(struct pen *pen);
void screen_draw_meter(struct pen *pen, const char *name, size_t channel,
                       const struct meter_reading *reading);
void screen_draw_load(struct pen *pen, const struct live_status *status);

/* Text broken into rows from `row`; row < 0: only count. They return the rows used. */
int screen_draw_questions(const struct live_status *status, int row, int most, int width);

/* "1-9 choose  space dry": two blanks between items, the first word is the key. */
int screen_draw_keys(const char *keys, int row, int width);

/* The newest messages, at the end of `rows` rows. */
void screen_draw_messages(struct screen *screen, int row, int rows, int width);

int screen_width(void);
int screen_height(void);

void screen_draw(struct screen *screen, const struct live_status *status);

#endif
