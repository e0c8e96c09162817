/* Shows a running stream to a person or a script, and returns the keys pressed.
 *
 *   screen  the whole terminal, through ncurses, drawn about 20 times a second
 *   plain   short lines on standard output
 *   json    one object per line on standard output, flushed, with all of struct live_status
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
#include "signal/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a running stream at one moment.
 *
 * The control thread fills one in about 20 times a second, for a view and for OSC
 * subscribers (osc.h). What it points to must stay valid during the call only.
 * Units: meters linear, 1 is full scale; gains and levels in dB; latencies in frames.
 */
/* The control of a stage that keys change; all zero: none. */
struct live_status_control {
    const char *text;   /* "2 eg-amp gain -6 dB" */
    size_t stage;       /* from 1 */
    const char *symbol; /* "gain", "@mix" */
    double value;
    bool bypassed; /* the stage is */
    bool failed;   /* the stage failed and is left out */
};

struct live_status {
    const char *command; /* "halo live"; NULL: "halo" */
    double seconds;      /* of sound so far */
    uint64_t frames;
    uint32_t rate;
    size_t block;       /* frames */
    const char *device; /* "JACK: system -> system" */
    const char *place;  /* what it plays, and where: "voice.wav 0:03.2/0:05.0"; NULL: an input */

    size_t inputs, outputs;
    const struct meter_reading *in, *out; /* `inputs` and `outputs` of them */

    size_t choices;           /* 0: no list is shown */
    const char *const *names; /* of the choices, names[0] that of choice 1 */
    size_t chosen;            /* 0: dry; 1..choices */
    bool without_dry;         /* the dry signal is not listed */
    bool switching;           /* to `chosen`, which does not sound alone yet */
    bool hidden;              /* blind: nothing may reveal which choice sounds */

    const char *preset;        /* that is heard, or NULL */
    const char *coming_preset; /* that is being prepared, or NULL */

    struct live_status_control control;
    double gain_db;
    bool muted;
    bool feedback_seen;  /* the feedback detector muted the output */
    double reduction_db; /* by the limiter now: 0, or below */
    double ceiling_db;   /* the limiter's */

    double load_now, load_p99, load_worst; /* of the period, 1 = all of it */
    uint64_t late, lost;                   /* blocks */
    size_t latency_input, latency_mask, latency_plugins, latency_output;
    size_t latency_adapter;
    bool has_bridge; /* input and output have two clocks: the next two are known */
    size_t latency_bridge;
    double ratio_ppm;    /* the input's clock is faster than the output's */
    const char *backend; /* what the convolver runs on, or NULL */

    const char *recording; /* path, or NULL: none is made */
    double recorded;       /* seconds */

    uint64_t osc_refused; /* ignored packets and messages */

    const char *const *lines; /* more text: trials, plots; UTF-8 */
    size_t line_count;
    size_t question_lines; /* the first of them: what the listener has to answer, before all else */
    const char *keys;      /* help line: "1-9 choose  space dry  q leave" */
};

/* Total, from input to output. */
static inline size_t live_status_latency(const struct live_status *status)
{
    return status->latency_input + status->latency_mask + status->latency_plugins +
           status->latency_output + status->latency_adapter + status->latency_bridge;
}

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
