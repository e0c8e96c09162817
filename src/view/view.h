/* Displays a running stream for a person or a script, and returns the pressed keys.
 *
 *   screen  the whole terminal, through ncurses, drawn about 20 times a second
 *   plain   short lines on standard output
 *   json    one object per line on standard output, flushed, with all of struct live_status
 *
 * While a screen is open, its message area shows the lines of fail() and note(), and lines that
 * libraries print to standard error. When the screen closes, messages that are too recent to have
 * been read are printed again. The terminal is restored by view_close, by exit(), and by any signal
 * that ends the program. One view at a time.
 * Threads: view_message and view_warning any; the other functions on the control thread. */
#ifndef HALO_VIEW_H
#define HALO_VIEW_H

#include "base/status.h"
#include "signal/meter.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The control of a stage that keys change. All zero: there is none. */
struct live_status_control {
    const char *text;   /* such as "2 eg-amp gain -6 dB" */
    size_t stage;       /* from 1 */
    const char *symbol; /* such as "gain", "@mix" */
    double value;
    bool bypassed; /* the stage is bypassed */
    bool failed;   /* the stage failed and is left out */
};

/* State of a running stream at one moment, for a view and for OSC subscribers (osc.h); filled in
 * about 20 times a second. Data that it points to must stay valid only during the call. Units:
 * meters linear, 1 is full scale; gains and levels in dB; latencies in frames. */
struct live_status {
    const char *command; /* such as "halo live"; NULL: "halo" */
    double seconds;      /* length of the sound so far */
    uint64_t frames;
    uint32_t rate;
    size_t block;       /* frames */
    const char *device; /* such as "JACK: system -> system" */
    const char *place; /* what plays and where, such as "voice.wav 0:03.2/0:05.0"; NULL: an input */

    size_t inputs, outputs;
    const struct meter_reading *in, *out; /* one reading for each input, and for each output */

    size_t choices;           /* number of choices; 0: no list is displayed */
    const char *const *names; /* names[0] is the name of choice 1 */
    size_t chosen;            /* chosen mask, from 1; 0: dry */
    bool without_dry;         /* the dry signal is not in the list */
    bool switching;           /* a switch to `chosen` is in progress */
    bool hidden;              /* blind test: nothing may reveal which choice sounds */

    const char *preset;        /* preset that is heard, or NULL */
    const char *coming_preset; /* preset that is being prepared, or NULL */

    struct live_status_control control;
    double gain_db;
    bool muted;
    bool feedback_seen;  /* the feedback guard has muted the output */
    double reduction_db; /* gain by the limiter now, in dB: 0 or less */
    double ceiling_db;   /* ceiling of the limiter */

    double load_now, load_p99, load_worst; /* share of the period; 1: the whole period */
    uint64_t late, lost;                   /* blocks */
    size_t latency_input, latency_mask, latency_plugins, latency_output;
    size_t latency_adapter;
    bool has_bridge;       /* input and output have two clocks, with a bridge between them */
    size_t latency_bridge; /* has_bridge only */
    double ratio_ppm;      /* has_bridge only: ppm by which the input's clock is faster */
    const char *backend;   /* backend of the convolver, or NULL */

    const char *recording; /* path of the recording; NULL: none */
    double recorded;       /* length of the recording, in seconds */

    uint64_t osc_refused; /* packets and messages that were refused */

    const char *const *lines; /* further text in UTF-8: trials, plots */
    size_t line_count;
    size_t question_lines; /* number of `lines` that are a question; they come first */
    bool only_meters;      /* the screen has no gain, load, latency and counts */
    const char *keys;      /* help line, such as "1-9 choose  space dry  q leave" */
};

/* Total latency from input to output. */
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

/* Opens a view. interval: seconds between two lines of plain and json. With 0, json prints a line
 * every second, and plain prints a line for each change (of the mask, gain, mute, device, latency,
 * late blocks ...). If such a change continues, some seconds pass between its lines.
 * Errors: a screen is requested and the terminal cannot show one; memory. */
MUST_CHECK enum status view_open(enum view_choice choice, double interval, struct view **view);
void view_close(struct view *view); /* restores the terminal first; NULL is ignored */

/* ms between rounds of the control thread: half the view's interval, 25 to 200. */
int view_tick(const struct view *view);

/* Whether it is time to call view_show. Before, the caller need not make a status. */
bool view_is_due(const struct view *view);

/* Displays `status` if it is time. */
void view_show(struct view *view, const struct live_status *status);

/* A copy of `status`. If `hidden`, it lacks all that would reveal the choice: chosen is 0; no
 * switch, output meter, control, late or lost block; load and reduction are NaN. */
struct live_status view_visible(const struct live_status *status);

/* Columns of the screen. INT_MAX: lines of any length, as in plain and json or without a view. */
int view_columns(const struct view *view);
int view_rows(const struct view *view); /* rows of the screen; INT_MAX as in view_columns */

/* Displays a line of text, cut at about 1400 bytes.
 * - screen: in the message area
 * - plain, or if `view` is NULL: a note on standard error
 * - json: {"event": "message", "seconds": of the stream, "text": ...} */
void view_message(struct view *view, const char *format, ...) PRINTF_LIKE(2, 3);

/* Like view_message, but for warnings. */
void view_warning(struct view *view, const char *format, ...) PRINTF_LIKE(2, 3);

/* From now on, also calls `hear` with each message, on the thread that has the message. */
void view_hear(struct view *view, void (*hear)(void *context, bool is_warning, const char *text),
               void *context);

/* With json, prints an object, as a line. Releases it. */
void view_object(struct view *view, json_t *object);

/* The status as view_show prints it with json. NULL: no memory. `status`: from view_visible. */
json_t *view_status_json(const struct live_status *status);

/* Results of view_key that are no characters (Unicode code points; Enter is 10, Escape 27). */
enum view_key_code {
    VIEW_KEY_NONE = -1,
    VIEW_KEY_LEFT = 0x110000, /* beyond the last Unicode code point */
    VIEW_KEY_RIGHT,
    VIEW_KEY_UP,
    VIEW_KEY_DOWN,
    VIEW_KEY_PAGE_UP,
    VIEW_KEY_PAGE_DOWN,
    VIEW_KEY_HOME,
    VIEW_KEY_END,
    VIEW_KEY_BACKSPACE,
};

/* The next key, or VIEW_KEY_NONE. Never waits. Without a terminal, each character is a key. */
int view_key(struct view *view);

/* For poll(): readable when view_key may return a key; ask each time. -1: no more keys come. */
int view_key_fd(const struct view *view);

#endif
