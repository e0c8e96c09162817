/* The screen's layout: when rows are scarce, the most important parts get them first. */
#include "view/view_screen.h"

#include "view/distinct_name.h"
#include "view/ncurses_library.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WIDEST = 100, NARROWEST = 60, CELL_LEAST = 16, KEY_ROWS_MOST = 3, CHOICE_ROWS_MOST = 10 };

/* Rows of each part. */
struct layout {
    int width;
    int questions, inputs, outputs, choices, lines, messages, keys;
    int state, control, preset, load, latency, counts;
    int scale;
    int gap_top, gap_questions, gap_choices, gap_state, gap_lines, gap_keys;
};

int screen_width(void)
{
    return COLS < WIDEST ? COLS : WIDEST;
}

int screen_height(void)
{
    return LINES;
}

static struct pen pen_at(const struct layout *layout, int row)
{
    return (struct pen){.row = row, .right = layout->width};
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Raise a part to `want` rows, as far as rows are left. */
static void grant(int *left, int *rows, int want)
{
    int more = least(want - *rows, *left);
    if (more > 0) {
        *rows += more;
        *left -= more;
    }
}

/* What plays comes first: the milliseconds, then rate and block give way to it. */
static void put_title(const struct layout *layout, const struct live_status *status)
{
    struct pen pen = pen_at(layout, 0);
    pen.over = STYLE_BAR;
    char left[512], right[96], ms[32] = "", format[64];
    unsigned seconds = (unsigned)fmax(status->seconds, 0);
    if (status->rate)
        snprintf(ms, sizeof ms, " (%.2f ms)", 1e3 * (double)status->block / status->rate);
    snprintf(format, sizeof format, "  %u Hz  %zu frames", status->rate, status->block);
    snprintf(left, sizeof left, " %s  %s%s%s", status->command ? status->command : "halo",
             status->place ? status->place : "", status->place && status->device ? " on " : "",
             status->device ? status->device : "");
    int begin = 0;
    for (int part = 0; part < 3; part++) {
        snprintf(right, sizeof right, "%s%s  %02u:%02u:%02u ", part < 2 ? format : "",
                 part < 1 ? ms : "", seconds / 3600, seconds / 60 % 60, seconds % 60);
        begin = layout->width - screen_columns(right);
        if (screen_columns(left) <= begin)
            break;
    }
    pen.right = begin;
    pen_print(&pen, STYLE_BAR, "%s", left);
    pen_repeat(&pen, STYLE_BAR, " ", begin - pen.column);
    pen.right = layout->width;
    pen_print(&pen, STYLE_BAR, "%s", right);
}

/* If there are more channels than rows, the last row combines the rest. */
static int put_meters(const struct layout *layout, int row, int rows, const char *name,
                      const struct meter_reading *readings, size_t channels)
{
    for (int i = 0; i < rows; i++) {
        size_t channel = (size_t)i;
        bool last_of_many = i == rows - 1 && channels > (size_t)rows;
        struct meter_reading reading = readings[channel];
        for (size_t c = channel + 1; last_of_many && c < channels; c++) {
            reading.peak = fmaxf(reading.peak, readings[c].peak);
            reading.rms = fmaxf(reading.rms, readings[c].rms);
            reading.hold = fmaxf(reading.hold, readings[c].hold);
            reading.clips += readings[c].clips;
        }
        struct pen pen = pen_at(layout, row + i);
        screen_draw_meter(&pen, last_of_many ? "max" : name, channel + 1, &reading);
        if (last_of_many) {
            pen.column = 1;
            pen_print(&pen, STYLE_PLAIN, "%-4s%2zu+ ", name, channel + 1);
        }
    }
    return row + rows;
}

static void put_choice(struct pen *pen, const struct live_status *status, size_t number)
{
    const struct screen_glyphs *glyphs = screen_glyphs();
    bool chosen = !status->hidden && number == status->chosen;
    const char *mark = status->hidden      ? "?"
                       : !chosen           ? " "
                       : status->switching ? glyphs->coming
                                           : glyphs->chosen;
    enum screen_style style = chosen ? STYLE_CHOSEN : STYLE_PLAIN;
    pen_print(pen, style, " %s ", mark);
    pen_print(pen, STYLE_BOLD, "%*zu", status->choices < 10 ? 1 : 2, number);
    char name[DISTINCT_NAME_BYTES] = "dry";
    if (number > 0)
        distinct_name(status->names, status->choices, number - 1, pen->right - pen->column - 2,
                      name);
    pen_print(pen, style, "  %s", name);
    if (chosen && status->switching)
        pen_print(pen, STYLE_DIM, " %s", glyphs->more);
}

static size_t listed_choices(const struct live_status *status)
{
    if (status->choices == 0)
        return 0;
    return status->choices + (status->without_dry ? 0 : 1);
}

/* In one column if they fit, else in several, scrolled to the chosen one. */
static int put_choices(const struct layout *layout, int row, const struct live_status *status)
{
    int listed = (int)listed_choices(status), rows = layout->choices;
    if (rows == 0)
        return row;
    int columns_most = layout->width / CELL_LEAST;
    int columns = least((listed + rows - 1) / rows, columns_most > 0 ? columns_most : 1);
    int capacity = rows * columns;
    int first = 0;
    int chosen = (int)status->chosen - (status->without_dry ? 1 : 0);
    if (listed > capacity && chosen >= capacity)
        first = least(chosen - capacity + 1, listed - capacity);
    int cell = layout->width / columns;
    for (int i = 0; i < least(listed - first, capacity); i++) {
        struct pen pen = {.row = row + i % rows, .column = i / rows * cell};
        bool last_of_many = listed > capacity && i == capacity - 1;
        pen.right = pen.column + cell - (last_of_many ? 5 : columns > 1 ? 1 : 0);
        put_choice(&pen, status, (size_t)(first + i) + (status->without_dry ? 1 : 0));
        if (last_of_many) {
            pen.right = layout->width;
            pen.column = layout->width - 5;
            pen_print(&pen, STYLE_DIM, " (%d)", listed);
        }
    }
    return row + rows;
}

static void put_state(const struct layout *layout, int row, const struct live_status *status)
{
    struct pen pen = pen_at(layout, row);
    if (status->muted || status->feedback_seen)
        pen.over = STYLE_ALARM;
    if (status->feedback_seen)
        pen_print(&pen, STYLE_ALARM, " FEEDBACK: MUTED ");
    else if (status->muted)
        pen_print(&pen, STYLE_ALARM, " MUTED           ");
    pen_print(&pen, STYLE_PLAIN, " %-*s", SCREEN_LABEL - 1, "gain");
    pen_print(&pen, STYLE_BOLD, "%+.1f dB", status->gain_db);
    pen_print(&pen, STYLE_PLAIN, "   limiter ");
    if (isnan(status->reduction_db))
        pen_print(&pen, STYLE_DIM, "hidden");
    else
        pen_print(&pen, status->reduction_db < -0.05 ? STYLE_WARN : STYLE_PLAIN, "%.1f dB",
                  status->reduction_db < -0.05 ? status->reduction_db : 0.0);
    if (layout->width >= NARROWEST)
        pen_print(&pen, STYLE_PLAIN, " (ceiling %.1f)", status->ceiling_db);
    pen_repeat(&pen, STYLE_PLAIN, " ", layout->width - pen.column);
}

static void put_preset(const struct layout *layout, int row, const struct live_status *status)
{
    struct pen pen = pen_at(layout, row);
    pen_print(&pen, STYLE_PLAIN, " %-*s", SCREEN_LABEL - 1, "preset");
    pen_print(&pen, STYLE_BOLD, "%s", status->preset ? status->preset : "none");
    if (status->coming_preset)
        pen_print(&pen, STYLE_DIM, "  %s %s %s", screen_glyphs()->coming, status->coming_preset,
                  screen_glyphs()->more);
}

static void put_control(const struct layout *layout, int row,
                        const struct live_status_control *control)
{
    struct pen pen = pen_at(layout, row);
    pen_print(&pen, STYLE_PLAIN, " %-*s", SCREEN_LABEL - 1, "control");
    pen_print(&pen,
              control->failed     ? STYLE_BAD
              : control->bypassed ? STYLE_WARN
                                  : STYLE_BOLD,
              "%s", control->text);
}

static void put_latency(const struct layout *layout, int row, const struct live_status *status)
{
    static const char *const forms[] = {
        "%.2f ms, %zu frames: input %zu  mask %zu  plugins %zu  output %zu",
        "%.2f ms, %zu: in %zu mask %zu plug %zu out %zu",
    };
    size_t frames = live_status_latency(status);
    double ms = status->rate ? 1e3 * (double)frames / status->rate : 0;
    char text[160], more[80] = "", adapter[32] = "";
    if (status->latency_adapter)
        snprintf(adapter, sizeof adapter, "  adapter %zu", status->latency_adapter);
    if (status->has_bridge)
        snprintf(more, sizeof more, "%s  bridge %zu (%+.1f ppm)", adapter, status->latency_bridge,
                 status->ratio_ppm);
    else
        snprintf(more, sizeof more, "%s", adapter);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        snprintf(text, sizeof text, forms[i], ms, frames, status->latency_input,
                 status->latency_mask, status->latency_plugins, status->latency_output);
        if (SCREEN_LABEL + screen_columns(text) + screen_columns(more) <= layout->width)
            break;
    }
    struct pen pen = pen_at(layout, row);
    pen_print(&pen, STYLE_PLAIN, " %-*s%s%s", SCREEN_LABEL - 1, "latency", text, more);
}

static void put_count(struct pen *pen, const char *name, uint64_t count)
{
    pen_print(pen, STYLE_PLAIN, "%s ", name);
    pen_print(pen, count ? STYLE_BAD : STYLE_PLAIN, "%llu", (unsigned long long)count);
}

static void put_counts(const struct layout *layout, int row, const struct live_status *status)
{
    struct pen pen = pen_at(layout, row);
    pen_print(&pen, STYLE_PLAIN, " %-*s", SCREEN_LABEL - 1, "blocks");
    if (status->hidden)
        pen_print(&pen, STYLE_DIM, "hidden");
    if (!status->hidden)
        put_count(&pen, "late", status->late);
    if (!status->hidden)
        put_count(&pen, "  lost", status->lost);
    if (status->backend)
        pen_print(&pen, STYLE_PLAIN, "   on %s", status->backend);
    if (status->recording) {
        unsigned seconds = (unsigned)fmax(status->recorded, 0);
        pen_print(&pen, STYLE_BAD, "   REC %02u:%02u", seconds / 60, seconds % 60);
        pen_print(&pen, STYLE_PLAIN, " %s", status->recording);
    }
    if (status->osc_refused)
        pen_print(&pen, STYLE_WARN, "   OSC refused %llu", (unsigned long long)status->osc_refused);
}

/* A question comes before all, then the keys to answer it, what the answer brings, and the plot
 * that was asked for. */
static void grant_question(int *left, struct layout *layout, const struct live_status *status,
                           int keys, int lines)
{
    if (status->question_lines == 0)
        return;
    grant(left, &layout->questions, screen_draw_questions(status, -1, LINES, layout->width));
    grant(left, &layout->keys, least(keys, 2));
    grant(left, &layout->messages, 1);
    grant(left, &layout->lines, lines > 1 ? lines : 0);
    grant(left, &layout->keys, least(keys, KEY_ROWS_MOST));
}

static struct layout plan(const struct live_status *status)
{
    struct layout layout = {.width = screen_width()};
    int left = LINES - 1; /* title */
    int inputs = (int)status->inputs, outputs = status->hidden ? 1 : (int)status->outputs;
    int choices = (int)listed_choices(status);
    int lines = (int)(status->line_count - status->question_lines);
    int keys = status->keys ? screen_draw_keys(status->keys, -1, layout.width) : 0;
    grant_question(&left, &layout, status, keys, lines);
    grant(&left, &layout.state, 1);
    grant(&left, &layout.control, status->control.text ? 1 : 0);
    grant(&left, &layout.keys, least(keys, 1));
    grant(&left, &layout.lines, least(lines, 1));
    grant(&left, &layout.choices, least(choices, 1));
    grant(&left, &layout.inputs, least(inputs, 1));
    grant(&left, &layout.outputs, least(outputs, 1));
    grant(&left, &layout.preset, status->preset || status->coming_preset ? 1 : 0);
    grant(&left, &layout.messages, 1);
    grant(&left, &layout.lines, lines > 1 ? lines : 0); /* a plot, whole */
    grant(&left, &layout.counts, 1);
    grant(&left, &layout.keys, least(keys, KEY_ROWS_MOST));
    grant(&left, &layout.load, 1);
    grant(&left, &layout.latency, 1);
    grant(&left, &layout.lines, lines);
    grant(&left, &layout.inputs, least(inputs, 2));
    grant(&left, &layout.outputs, least(outputs, 2));
    grant(&left, &layout.choices, least(choices, 4));
    grant(&left, &layout.messages, 2);
    grant(&left, &layout.choices, least(choices, CHOICE_ROWS_MOST));
    grant(&left, &layout.scale, 1);
    grant(&left, &layout.messages, 3);
    grant(&left, &layout.inputs, inputs);
    grant(&left, &layout.outputs, outputs);
    grant(&left, &layout.gap_choices, least(choices, 1));
    grant(&left, &layout.gap_questions, least(layout.questions, 1));
    grant(&left, &layout.gap_state, 1);
    grant(&left, &layout.gap_lines, least(lines, 1));
    grant(&left, &layout.gap_keys, 1);
    grant(&left, &layout.gap_top, 1);
    grant(&left, &layout.messages, 8);
    return layout;
}

static int put_channels(const struct layout *layout, int row, const struct live_status *status)
{
    if (layout->scale) {
        struct pen pen = pen_at(layout, row++);
        screen_draw_scale(&pen);
    }
    row = put_meters(layout, row, layout->inputs, "in", status->in, status->inputs);
    if (!status->hidden || layout->outputs == 0)
        return put_meters(layout, row, layout->outputs, "out", status->out, status->outputs);
    struct pen pen = pen_at(layout, row);
    pen_print(&pen, STYLE_PLAIN, " %-*s", SCREEN_LABEL - 1, "out");
    pen_print(&pen, STYLE_DIM, "hidden");
    return row + layout->outputs;
}

static int put_figures(const struct layout *layout, int row, const struct live_status *status)
{
    if (layout->state)
        put_state(layout, row++, status);
    if (layout->control)
        put_control(layout, row++, &status->control);
    if (layout->preset)
        put_preset(layout, row++, status);
    if (layout->load)
        screen_draw_load(&(struct pen){.row = row++, .right = layout->width}, status);
    if (layout->latency)
        put_latency(layout, row++, status);
    if (layout->counts)
        put_counts(layout, row++, status);
    return row;
}

void screen_draw(struct screen *screen, const struct live_status *status)
{
    struct layout layout = plan(status);
    int bottom = LINES - layout.keys;
    erase();
    put_title(&layout, status);
    int row = 1 + layout.gap_top;
    row +=
        screen_draw_questions(status, row, layout.questions, layout.width) + layout.gap_questions;
    row = put_channels(&layout, row, status);
    row = put_choices(&layout, row + layout.gap_choices, status) + layout.gap_state;
    row = put_figures(&layout, row, status) + layout.gap_lines;
    for (int i = 0; i < layout.lines; i++) {
        struct pen pen = pen_at(&layout, row + i);
        pen_print(&pen, STYLE_PLAIN, " %s", status->lines[status->question_lines + (size_t)i]);
    }
    screen_draw_messages(screen, bottom - layout.gap_keys - layout.messages, layout.messages,
                         layout.width);
    if (layout.keys)
        screen_draw_keys(status->keys, bottom, layout.width);
    refresh();
}
