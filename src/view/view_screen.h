/* The screen's parts; for view_screen*.c only. Threads: the control thread's, between
 * newterm() and endwin(); any thread may add messages. */
#ifndef HALO_VIEW_SCREEN_H
#define HALO_VIEW_SCREEN_H

#include "view/live_status.h"
#include "view/view_kind.h"

#include <pthread.h>

enum { SCREEN_MESSAGES = 16, SCREEN_MESSAGE_MOST = 1024, SCREEN_LABEL = 9 };

struct screen_message {
    char text[SCREEN_MESSAGE_MOST];
    char stamp[16];
    double drawn; /* when first; monotonic seconds, 0: not yet */
};

struct screen {
    struct view view;
    int errors;           /* what libraries print comes out of here; -1: no */
    char error_line[512]; /* begun and not ended */
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
    STYLE_CHOSEN, /* what sounds */
    STYLE_BAR,    /* the title's */
    STYLE_ALARM,
    STYLES,
};

/* Where the next text goes: from (row, column) to before `right`. */
struct pen {
    int row, column, right;
    enum screen_style over; /* STYLE_PLAIN, or one for the whole row */
};

/* Glyphs, in Unicode or ASCII as the terminal has them. */
struct screen_glyphs {
    const char *full, *until_peak, *empty, *hold, *mark, *chosen, *coming, *more;
};

void screen_prepare_styles(void);
const struct screen_glyphs *screen_glyphs(void);

/* Draws what fits and moves the pen; control characters and what is no text as '?'. */
void pen_print(struct pen *pen, enum screen_style style, const char *format, ...) PRINTF_LIKE(3, 4);
void pen_repeat(struct pen *pen, enum screen_style style, const char *glyph, int times);

/* Columns that a text takes, and bytes of it that fit in so many, broken at a blank. */
int screen_columns(const char *text);
size_t screen_fitting(const char *text, int columns);

/* Bars of -60..0 dBFS: a scale, and a channel. The pen is at the row's left. */
void screen_draw_scale(struct pen *pen);
void screen_draw_meter(struct pen *pen, const char *name, size_t channel,
                       const struct meter_reading *reading);
void screen_draw_load(struct pen *pen, const struct live_status *status);

/* The newest messages, at the end of so many rows. */
void screen_draw_messages(struct screen *screen, int row, int rows, int width);

/* What the keys do, "1-9 choose  space dry", from `row` down; with row < 0 nothing is drawn.
 * The rows that takes. */
int screen_draw_keys(const char *keys, int row, int width);

void screen_draw(struct screen *screen, const struct live_status *status);

#endif
