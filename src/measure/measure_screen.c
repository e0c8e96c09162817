#include "base/monotonic.h"
#include "base/stop.h"
#include "live/web/spectrum.h"
#include "measure/measure_options.h"
#include "measure/take.h"

#include <langinfo.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

/* The analyser: columns of thirds of an octave. */
enum {
    ROWS = 8,
    TWELFTHS = 4, /* bands of the spectrum in a third */
    THIRDS = SPECTRUM_BANDS / TWELFTHS,
    COLUMN = 2, /* characters */
    LINE = 4 * COLUMN * THIRDS + 16,
    LINES = ROWS + 3,
    POLL_MS = 50,
};
static const double ROW_DB = 9, STEP_DB = 3, LEVEL_LEAST = -80, LEVEL_MOST = -1;

struct set_up {
    struct view *view;
    struct device *device;
    struct take *take;
    struct spectrum *spectrum;
    bool begins, leaves;
    char text[LINES][LINE];
    const char *lines[LINES];
};

static void fill_status(const struct take *take, struct meter_reading *in,
                        struct live_status *status)
{
    meter_read(take->meter, in);
    *status = (struct live_status){
        .command = take->command,
        .device = take->plan.device,
        .rate = take->plan.rate_in,
        .inputs = take->plan.inputs,
        .in = in,
        .only_meters = true,
    };
}

void measure_show(struct view *view, const struct take *take, const char *line)
{
    struct meter_reading in[DEVICE_CHANNELS_MOST];
    struct live_status status;
    const char *lines[] = {line};
    if (!view_is_due(view))
        return;
    fill_status(take, in, &status);
    status.lines = lines;
    status.line_count = 1;
    status.seconds = (double)atomic_load(&take->frames) / take->plan.rate_in;
    status.keys = "Ctrl-C stops";
    view_show(view, &status);
}

/* Draws the spectrum of all inputs: a column for each third, 9 dB in a row, from -72 dB on. */
static void draw_spectrum(struct set_up *set_up)
{
    const char *full = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? "█" : "#";
    float db[SPECTRUM_BANDS];
    if (!spectrum_read(set_up->spectrum, &set_up->take->heard, db))
        return;
    for (size_t row = 0; row < ROWS; row++) {
        char *to = set_up->text[row];
        double bottom = -ROW_DB * (double)(row + 1);
        to += sprintf(to, "%4.0f ", bottom);
        for (size_t third = 0; third < THIRDS; third++) {
            double power = 0;
            for (size_t i = 0; i < TWELFTHS; i++)
                power += pow(10, (double)db[third * TWELFTHS + i] / 10);
            to += sprintf(to, "%s ", 10 * log10(power) > bottom ? full : " ");
        }
    }
    snprintf(set_up->text[ROWS], LINE,
             "  Hz 20      50    100   200     500   1k    2k      5k    10k   20k");
}

static void show_set_up(struct set_up *set_up)
{
    const struct take *take = set_up->take;
    struct meter_reading in[DEVICE_CHANNELS_MOST];
    struct live_status status;
    if (!view_is_due(set_up->view))
        return;
    fill_status(take, in, &status);
    draw_spectrum(set_up);
    size_t output = take->plan.output_of[atomic_load(&take->noise_output)];
    size_t clipped = atomic_load(&take->clipped);
    bool plays = atomic_load(&take->phase) == TAKE_NOISE;
    if (clipped)
        snprintf(set_up->text[ROWS + 2], LINE,
                 "input %zu reached full scale: lower its gain or the level, then n",
                 take->plan.input_of[clipped - 1]);
    else
        snprintf(set_up->text[ROWS + 2], LINE, "%s on output %zu, level %.0f dB",
                 plays ? "noise" : "silence", output, atomic_load(&take->level));
    status.lines = set_up->lines;
    status.line_count = LINES;
    status.keys = "n noise  o next output  + - level  space begin  q leave";
    view_show(set_up->view, &status);
}

static void obey(struct set_up *set_up, int key)
{
    struct take *take = set_up->take;
    double level = atomic_load(&take->level);
    if (key == '+')
        atomic_store(&take->level, fmin(level + STEP_DB, LEVEL_MOST - take->headroom));
    else if (key == '-')
        atomic_store(&take->level, fmax(level - STEP_DB, LEVEL_LEAST));
    else if (key == 'o')
        atomic_store(&take->noise_output,
                     (atomic_load(&take->noise_output) + 1) % take->plan.outputs);
    else if (key == 'n') {
        bool plays = atomic_load(&take->phase) == TAKE_NOISE && !atomic_load(&take->clipped);
        atomic_store(&take->clipped, 0);
        atomic_store(&take->noise_fresh, true);
        atomic_store(&take->phase, plays ? TAKE_SILENT : TAKE_NOISE);
    } else if (key == ' ')
        set_up->begins = true;
    else if (key == 'q')
        set_up->leaves = true;
}

static enum status run_set_up(struct set_up *set_up)
{
    while (!set_up->begins) {
        struct pollfd keys = {.fd = view_key_fd(set_up->view), .events = POLLIN};
        int key;
        if (stop_requested() || set_up->leaves)
            return fail(CAUSE_INTERRUPTED, "stopped; nothing was measured");
        if (device_state(set_up->device) != DEVICE_RUNNING)
            return fail(CAUSE_DEVICE, "the device was lost; nothing was measured");
        (void)poll(&keys, 1, POLL_MS);
        while ((key = view_key(set_up->view)) != VIEW_KEY_NONE)
            obey(set_up, key);
        show_set_up(set_up);
    }
    return STATUS_OK;
}

enum status measure_set_up(struct view *view, struct device *device, struct take *take)
{
    struct set_up set_up = {.view = view, .device = device, .take = take};
    for (size_t i = 0; i < LINES; i++)
        set_up.lines[i] = set_up.text[i];
    TRY(spectrum_create(take->plan.inputs, take->plan.rate_in, &set_up.spectrum));
    enum status status = run_set_up(&set_up);
    spectrum_destroy(set_up.spectrum);
    atomic_store(&take->phase, TAKE_SILENT);
    atomic_store(&take->clipped, 0);
    take->plan.level = atomic_load(&take->level);
    return status;
}
