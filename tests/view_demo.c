/* Displays a simulated stream in a view and obeys its keys; for test_view.
 *
 *   view_demo auto|screen|plain|json [interval [seconds]]
 */
#include "base/status.h"
#include "base/stop.h"
#include "view/view.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { POLL_MS = 20 };

static const char *const choice_names[] = {"hall.wav", "plate \xc3\xa9t\xc3\xa9.wav", "room.wav",
                                           "spring.wav"};
static const char *const trial_lines[] = {"trial 3 of 16: is X A or B?",
                                          "a A  b B  x X  1 it is A  2 it is B"};
static const struct meter_reading in[] = {{.peak = 0.5f, .rms = 0.251189f, .hold = 0.707946f},
                                          {.peak = 0.01f, .rms = 0.005f, .hold = 0.01f}};
static struct meter_reading out[] = {{.peak = 0.891251f, .rms = 0.1f, .hold = 0.95f},
                                     {.peak = 0, .rms = 0, .hold = 0}};

static struct live_status status = {
    .command = "halo live",
    .rate = 48000,
    .block = 64,
    .device = "JACK: system -> system",
    .inputs = 2,
    .outputs = 2,
    .in = in,
    .out = out,
    .choices = 4,
    .names = choice_names,
    .chosen = 1,
    .reduction_db = -1.5,
    .ceiling_db = -1,
    .load_now = 0.12,
    .load_p99 = 0.31,
    .load_worst = 0.74,
    .latency_input = 64,
    .latency_plugins = 32,
    .latency_output = 96,
    .backend = "cpu",
    .keys = "1-9 choose  space dry  [ ] gain  m mute  r reload  w record  q leave",
};

static bool deaf = false; /* to the first signal */

static bool state_key(int key)
{
    if (key >= '1' && key <= '4')
        status.chosen = (size_t)(key - '0');
    else if (key == ' ')
        status.chosen = 0;
    else if (key == 'm')
        status.muted = !status.muted;
    else if (key == 'o')
        status.feedback_seen = !status.feedback_seen;
    else if (key == 'b')
        status.hidden = !status.hidden;
    else if (key == 's')
        status.switching = !status.switching;
    else if (key == 'c')
        out[0].clips += 3;
    else if (key == 'l')
        status.late++;
    else if (key == 'k')
        status.control = (struct live_status_control){.text = "2 eg-amp gain -6 dB",
                                                      .stage = 2,
                                                      .symbol = "gain",
                                                      .value = -6,
                                                      .bypassed = status.control.text != NULL};
    else if (key == ']')
        status.gain_db += 1.5;
    else if (key == 'w')
        status.recording = status.recording ? NULL : "take 1.wav";
    else if (key == 't')
        status.line_count = status.line_count ? 0 : 2;
    else
        return false;
    return true;
}

static void speak(struct view *view, int key)
{
    if (key == 'e')
        view_message(view, "a message for the view");
    else if (key == 'f')
        (void)!fail(CAUSE_OTHER, "cannot load hall.wav: %s", "it is no sound");
    else if (key == 'p')
        fprintf(stderr, "a library talks\n");
    else if (key == VIEW_KEY_LEFT)
        view_message(view, "left");
    else if (key == VIEW_KEY_PAGE_UP)
        view_message(view, "page up");
    else if (key == '\n')
        view_message(view, "enter");
    else if (key == 27)
        view_message(view, "escape");
    else if (key == 0xe9)
        view_message(view, "e acute");
    else if (key == 'L')
        view_message(view,
                     "a long message that goes on at length, and at greater length, about what "
                     "went on before it could come to its end, which is here");
    else if (key == 'x')
        exit(3);
    else if (key == 'h') {
        deaf = true;
        view_message(view, "deaf to a signal");
    } else if (key == 'a')
        abort();
}

static bool should_stop(struct view *view)
{
    if (stop_requested() && deaf)
        view_message(view, "a message on the screen");
    return stop_requested() && !deaf;
}

/* false: quit. */
static bool handle_keys(struct view *view)
{
    for (int key; (key = view_key(view)) != VIEW_KEY_NONE;) {
        if (key == 'q')
            return false;
        if (!state_key(key))
            speak(view, key);
    }
    return true;
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"auto", "screen", "plain", "json"};
    enum view_choice choice = VIEW_AUTO;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (argc > 1 && strcmp(argv[1], names[i]) == 0)
            choice = (enum view_choice)i;
    double interval = argc > 2 ? atof(argv[2]) : 0;
    double seconds = argc > 3 ? atof(argv[3]) : 1e9;
    struct view *view;
    status.lines = trial_lines;
    stop_watch();
    enum status opened = view_open(choice, interval, &view);
    if (opened != STATUS_OK)
        return (int)opened;
    do {
        struct pollfd keys = {.fd = view_key_fd(view), .events = POLLIN};
        view_show(view, &status);
        poll(&keys, 1, POLL_MS);
        status.seconds += 1e-3 * POLL_MS;
        status.frames = (uint64_t)(status.seconds * status.rate);
        status.recorded = status.recording ? status.seconds : 0;
    } while (handle_keys(view) && !should_stop(view) && status.seconds < seconds);
    view_show(view, &status);
    view_close(view);
    puts("view_demo is done");
    return 0;
}
