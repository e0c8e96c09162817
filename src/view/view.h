/* Shows a running stream to a person or a script, and returns the keys pressed.
 *
 *   screen  the whole terminal, through ncurses, drawn about 20 times a second
 *   plain   short lines on standard output
 *   json    one object per line on standard output, flushed, with all of live_status.h
 *
 * While a screen is open, its message area shows the lines of fail() and note() and what libraries
 * print on standard error; messages too recent to have been read are printed again when it closes.
 * The terminal is restored by view_close, by exit(), and by any signal that ends the program. One
 * view at a time.
 * Threads: view_message any; everything else the control thread.
 */
#ifndef HALO_VIEW_H
#define HALO_VIEW_H

#include "base/status.h"
#include "view/live_status.h"

struct view;

enum view_choice {
    VIEW_AUTO, /* screen if standard input and output are a capable terminal, else plain */
    VIEW_SCREEN,
    VIEW_PLAIN,
    VIEW_JSON,
};

/* interval: seconds between two lines of plain and json. 0: json every second; plain prints a line
 * for each change (of the mask, gain, mute, device, latency, late blocks ...), and where such a
 * change goes on, some seconds pass between two of its lines.
 * Errors: a screen is requested and the terminal cannot show one; memory. */
MUST_CHECK enum status view_open(enum view_choice choice, double interval, struct view **view);
void view_close(struct view *view); /* restores the terminal first; NULL is ignored */

/* Milliseconds between two calls of view_show, and of what else is looked after meanwhile: twice as
 * often as it shows anything new, but no less than five times a second. */
int view_tick(const struct view *view);

/* Whether it is time to show something; until then its status need not be made. */
bool view_is_due(const struct view *view);

/* Show `status` if it is time. */
void view_show(struct view *view, const struct live_status *status);

/* `status` without what would reveal the hidden choice: chosen 0, not switching, no output meters,
 * no control, no late or lost blocks, load and reduction NaN. Unchanged unless `hidden`. */
struct live_status view_visible(const struct live_status *status);

/* The columns of a line on the screen; INT_MAX: lines may have any length, as in plain and json,
 * and with a NULL view. */
int view_columns(const struct view *view);
int view_rows(const struct view *view); /* of the screen; INT_MAX as view_columns */

/* One line of text, cut at about 400 bytes. screen: in the message area; plain and a NULL view: a
 * note on standard error; json: {"event": "message", "seconds": of the stream, "text": ...}. */
void view_message(struct view *view, const char *format, ...) PRINTF_LIKE(2, 3);

/* The same for what warning() is for. */
void view_warning(struct view *view, const char *format, ...) PRINTF_LIKE(2, 3);

/* What view_key returns besides characters (Unicode code points, Enter '\n', Escape 27). */
enum view_key_code {
    VIEW_KEY_NONE = -1,
    VIEW_KEY_LEFT = 0x110000, /* beyond Unicode */
    VIEW_KEY_RIGHT,
    VIEW_KEY_UP,
    VIEW_KEY_DOWN,
    VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN,
    VIEW_KEY_HOME,
    VIEW_KEY_END,
    VIEW_KEY_BACKSPACE,
};

/* The next key, or VIEW_KEY_NONE; never waits. Call until there is none. If standard input is not
 * a terminal, each character is a key. */
int view_key(struct view *view);

/* For poll(): readable when view_key may return a key; -1 when no more keys will come. Ask before
 * each poll. */
int view_key_fd(const struct view *view);

#endif
