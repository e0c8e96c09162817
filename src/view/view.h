/* A view shows a running stream to a person or a script, and hands on the keys pressed.
 *
 *   screen  the whole terminal, through ncurses, drawn about 20 times a second
 *   plain   short lines on standard output
 *   json    one object a line on standard output, flushed, all that live_status.h has
 *
 * While a screen is up, what fail() and note() say and what libraries print on standard
 * error appears in its message area; what came too late to be read there is printed when
 * the view closes.
 * The terminal is put back as it was by view_close, by exit(), and by any signal that ends
 * the program. One view at a time.
 * Threads: view_message any; everything else the control thread's.
 */
#ifndef HALO_VIEW_H
#define HALO_VIEW_H

#include "base/status.h"
#include "view/live_status.h"

struct view;

enum view_choice {
    VIEW_AUTO, /* screen where standard input and output are a terminal that can, else plain */
    VIEW_SCREEN,
    VIEW_PLAIN,
    VIEW_JSON,
};

/* interval: seconds between two lines of plain and json. 0: json each second; plain looks
 * each second and prints when something happened (a choice, mute, clips, late blocks ...),
 * and every 10 seconds anyway.
 * Errors: a screen was asked for and the terminal is none or not known; memory. */
MUST_CHECK enum status view_open(enum view_choice choice, double interval, struct view **view);

/* Restores the terminal first of all. Takes NULL. */
void view_close(struct view *view);

/* Show `status` if it is time; cheap to call more often than that. */
void view_show(struct view *view, const struct live_status *status);

/* What may be shown of `status`. The same, unless it is hidden: then all that depends on
 * which choice sounds is gone (chosen 0, not switching, no output meters, the load and the
 * limiter's reduction NaN), since an eye would hear by them; so is the control. */
struct live_status view_visible(const struct live_status *status);

/* One line of text, cut after some 400 bytes. screen: in the message area; plain: a note on
 * standard error; json: an object {"event": "message", "seconds": of the stream, "text": ...};
 * NULL: a note. */
void view_message(struct view *view, const char *format, ...) PRINTF_LIKE(2, 3);

/* What view_key returns beside characters (Unicode code points, Enter '\n', Escape 27). */
enum view_key_code {
    VIEW_KEY_NONE = -1,
    VIEW_KEY_LEFT = 0x110000, /* past Unicode's last */
    VIEW_KEY_RIGHT,
    VIEW_KEY_UP,
    VIEW_KEY_DOWN,
    VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN,
    VIEW_KEY_HOME,
    VIEW_KEY_END,
    VIEW_KEY_BACKSPACE,
};

/* The next key, or VIEW_KEY_NONE; never waits. Call until none is left. Where standard
 * input is no terminal, each of its characters is a key; its end is no key. */
int view_key(struct view *view);

/* For poll(): readable when view_key may have something; -1 when there will be no more
 * keys. Ask before each poll. */
int view_key_fd(const struct view *view);

#endif
