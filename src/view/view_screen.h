/* Private to view_screen*.c. Threads: control, from newterm() to endwin(); messages from any. */
#ifndef HALO_VIEW_SCREEN_H
#define HALO_VIEW_SCREEN_H

#include "view/view_kind.h"

#include <pthread.h>

enum { SCREEN_MESSAGES = 16, SCREEN_MESSAGE_MOST = 1024 };

struct screen_message {
    char text[SCREEN_MESSAGE_MOST];
    char stamp[16];
    double drawn; /* time of the first drawing, in monotonic seconds; 0: not drawn yet */
};

struct screen {
    struct view view;
    int errors;           /* descriptor to read standard error from; -1: none */
    char error_line[512]; /* a line that is not complete yet */
    size_t error_length;
    pthread_mutex_t lock;
    struct screen_message messages[SCREEN_MESSAGES]; /* under `lock`; a ring */
    size_t message_count;                            /* under `lock`; number of messages so far */
};

void screen_prepare_styles(void);
int screen_width(void);
int screen_height(void);

void screen_draw(struct screen *screen, const struct live_status *status);

#endif
