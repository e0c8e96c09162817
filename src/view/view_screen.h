/* Private to view_screen*.c. Threads: the control thread, between newterm() and endwin(); any
 * thread may add messages. */
#ifndef HALO_VIEW_SCREEN_H
#define HALO_VIEW_SCREEN_H

#include "view/view_kind.h"

#include <pthread.h>

enum { SCREEN_MESSAGES = 16, SCREEN_MESSAGE_MOST = 1024 };

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

void screen_prepare_styles(void);
int screen_width(void);
int screen_height(void);

void screen_draw(struct screen *screen, const struct live_status *status);

#endif
