#include "base/monotonic.h"
#include "base/terminal.h"
#include "signal/audio.h"
#include "view/distinct_name.h"
#include "view/ncurses_library.h"
#include "view/view_screen.h"

#include <langinfo.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>
#include <wctype.h>

/* ---- the pen: where text goes ---- */

enum { SCREEN_LABEL = 9 };

enum screen_style {
    STYLE_PLAIN,
    STYLE_DIM,
    STYLE_BOLD,
    STYLE_GOOD,
    STYLE_WARN,
    STYLE_BAD,
    STYLE_CHOSEN,
    STYLE_BAR, /* the title bar */
    STYLE_ALARM,
    STYLES,
};

/* The next text starts at (row, column) and ends before column `right`. */
struct pen {
    int row, column, right;
    enum screen_style over; /* style of the whole row; STYLE_PLAIN: none */
};

/* Characters for bars and marks, in Unicode or ASCII; the locale decides. */
struct screen_glyphs {
    const char *full, *until_peak, *empty, *hold, *mark, *chosen, *coming, *more;
};

enum { TEXT_MOST = SCREEN_MESSAGE_MOST }; /* bytes of a text that is printed at once */
enum { PAIR_GOOD = 1, PAIR_WARN, PAIR_BAD, PAIR_BAR, PAIR_ALARM };

static attr_t attributes[STYLES];
static short pairs[STYLES];

static const struct screen_glyphs unicode = {"█", "▒", "·", "┃", "│", "▶", "▷", "…"};
static const struct screen_glyphs ascii = {"#", "=", ".", "|", ":", ">", "~", ".."};

static const struct screen_glyphs *screen_glyphs(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? &unicode : &ascii;
}

/* Sets up the colours. They are optional: without them, every state can still be read. */
void screen_prepare_styles(void)
{
    attributes[STYLE_DIM] = A_DIM;
    attributes[STYLE_BOLD] = attributes[STYLE_CHOSEN] = A_BOLD;
    attributes[STYLE_BAD] = A_BOLD;
    attributes[STYLE_BAR] = attributes[STYLE_ALARM] = A_REVERSE | A_BOLD;
    if (terminal_refuses_colours() || !has_colors() || start_color() == ERR)
        return;
    short ground = use_default_colors() == OK ? -1 : COLOR_BLACK;
    init_pair(PAIR_GOOD, COLOR_GREEN, ground);
    init_pair(PAIR_WARN, COLOR_YELLOW, ground);
    init_pair(PAIR_BAD, COLOR_RED, ground);
    init_pair(PAIR_BAR, COLOR_WHITE, COLOR_BLUE);
    init_pair(PAIR_ALARM, COLOR_WHITE, COLOR_RED);
    pairs[STYLE_GOOD] = pairs[STYLE_CHOSEN] = PAIR_GOOD;
    pairs[STYLE_WARN] = PAIR_WARN;
    pairs[STYLE_BAD] = PAIR_BAD;
    pairs[STYLE_BAR] = PAIR_BAR;
    pairs[STYLE_ALARM] = PAIR_ALARM;
    attributes[STYLE_BAR] = attributes[STYLE_ALARM] = A_BOLD;
}

static void to_wide(const char *text, wchar_t *wide, size_t size, int *columns)
{
    mbstate_t state = {0};
    size_t count = 0;
    *columns = 0;
    for (int width; *text && count + 1 < size; *columns += width)
        text += next_column(text, &state, &wide[count++], &width);
    wide[count] = L'\0';
}

static int screen_columns(const char *text)
{
    wchar_t wide[TEXT_MOST];
    int columns;
    to_wide(text, wide, TEXT_MOST, &columns);
    return columns;
}

static size_t screen_fitting(const char *text, int columns)
{
    mbstate_t state = {0};
    size_t at = 0, blank = 0;
    int used = 0;
    while (text[at]) {
        wchar_t character;
        int width;
        size_t bytes = next_column(text + at, &state, &character, &width);
        used += width;
        if (used > columns)
            return blank > 0 ? blank : at > 0 ? at : bytes;
        if (text[at] == ' ')
            blank = at;
        at += bytes;
    }
    return at;
}

static int fitting(const wchar_t *wide, int capacity, int *columns)
{
    int count = 0;
    *columns = 0;
    while (wide[count] && *columns + wcwidth(wide[count]) <= capacity)
        *columns += wcwidth(wide[count++]);
    return count;
}

static void put(struct pen *pen, enum screen_style style, const char *text)
{
    wchar_t wide[TEXT_MOST];
    int columns;
    if (pen->row < 0 || pen->row >= LINES || pen->column >= pen->right)
        return;
    if (pen->over != STYLE_PLAIN)
        style = pen->over;
    to_wide(text, wide, TEXT_MOST, &columns);
    int count = fitting(wide, pen->right - pen->column, &columns);
    attr_set(attributes[style], pairs[style], NULL);
    mvaddnwstr(pen->row, pen->column, wide, count);
    attr_set(A_NORMAL, 0, NULL);
    pen->column += columns;
}

/* Draws what fits and moves the pen. Control characters and invalid text become '?'. */
static void pen_print(struct pen *pen, enum screen_style style, const char *format, ...)
    PRINTF_LIKE(3, 4);
static void pen_print(struct pen *pen, enum screen_style style, const char *format, ...)
{
    char text[TEXT_MOST];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(pen, style, text);
}

static void pen_repeat(struct pen *pen, enum screen_style style, const char *glyph, int times)
{
    for (int i = 0; i < times; i++)
        put(pen, style, glyph);
}

/* ---- text that is broken into rows ---- */

enum { STAMPED = 60 /* columns; on narrower screens messages have no time */ };

/* Draws text, broken at blanks, from the pen's column to its `right`. If the pen's row is -1, only
 * counts. Returns the number of rows, at most `most`. */
static int draw_wrapped(const char *text, struct pen pen, enum screen_style style, int most)
{
    const int row = pen.row, column = pen.column;
    int rows = 0;
    for (; *text && rows < most; rows++) {
        size_t length = screen_fitting(text, pen.right - column);
        pen.row = row < 0 ? -1 : row + rows;
        pen.column = column;
        pen_print(&pen, style, "%.*s", (int)length, text);
        text += length;
        text += strspn(text, " ");
    }
    return rows;
}

/* Draws a question's lines from `row` on; if `row` is -1, only counts. Returns their rows. */
static int screen_draw_questions(const struct live_status *status, int row, int most, int width)
{
    int rows = 0;
    for (size_t i = 0; i < status->question_lines && rows < most; i++) {
        struct pen pen = {.row = row < 0 ? -1 : row + rows, .column = 1, .right = width};
        rows += draw_wrapped(status->lines[i], pen, STYLE_BOLD, most - rows);
    }
    return rows;
}

/* Draws a message, or only counts if `row` is -1. Returns the number of rows. */
static int draw_message(const struct screen_message *message, enum screen_style style, int row,
                        int most, int width)
{
    struct pen pen = {.row = row, .right = width};
    char stamp[sizeof message->stamp + 3] = " ";
    if (width >= STAMPED)
        snprintf(stamp, sizeof stamp, " %s  ", message->stamp);
    pen_print(&pen, STYLE_DIM, "%s", stamp);
    pen.column = screen_columns(stamp);
    return draw_wrapped(message->text, pen, style, most);
}

static void screen_draw_messages(struct screen *screen, int row, int rows, int width)
{
    double now = monotonic_seconds();
    pthread_mutex_lock(&screen->lock);
    size_t count = screen->message_count, first = count;
    size_t oldest = count > SCREEN_MESSAGES ? count - SCREEN_MESSAGES : 0;
    int used = 0;
    while (first > oldest) {
        int more = draw_message(&screen->messages[(first - 1) % SCREEN_MESSAGES], STYLE_PLAIN, -1,
                                rows, width);
        if (used + more > rows)
            break;
        used += more;
        first--;
    }
    row += rows - used;
    for (size_t i = first; i < count; i++) {
        struct screen_message *message = &screen->messages[i % SCREEN_MESSAGES];
        enum screen_style style = i + 1 == count ? STYLE_BOLD : STYLE_PLAIN;
        row += draw_message(message, style, row, rows, width);
        if (message->drawn == 0)
            message->drawn = now;
    }
    pthread_mutex_unlock(&screen->lock);
}

/* Draws a help line such as "1-9 choose  space dry". Two blanks separate items; the first word of
 * an item is the key. Returns the number of rows. */
static int screen_draw_keys(const char *keys, int row, int width)
{
    int rows = 1, column = 1;
    while (*keys) {
        size_t length = strcspn(keys, " ");
        const char *end = strstr(keys, "  ");
        size_t whole = end ? (size_t)(end - keys) : strlen(keys);
        if (column > 1 && column + (int)whole > width) {
            rows++;
            column = 1;
        }
        struct pen pen = {.row = row < 0 ? -1 : row + rows - 1, .column = column, .right = width};
        pen_print(&pen, STYLE_BOLD, "%.*s", (int)length, keys);
        pen_print(&pen, STYLE_PLAIN, "%.*s", (int)(whole - length), keys + length);
        column += (int)whole + 2;
        keys += whole;
        keys += strspn(keys, " ");
    }
    return rows;
}

/* ---- levels and load ---- */

enum {
    SCALE_DB = 60,     /* range of the bars below full scale, in dB */
    STEP_DB = 12,      /* dB between two numbers of the scale */
    NARROW = 80,       /* columns; on narrower screens a meter shows two numbers, not four */
    FIGURES_WIDE = 29, /* columns */
    FIGURES_NARROW = 15,
    LOAD_FIGURES = 37,
};

static bool is_narrow(const struct pen *pen)
{
    return pen->right < NARROW;
}

static int bar_width(const struct pen *pen)
{
    return pen->right - SCREEN_LABEL - (is_narrow(pen) ? FIGURES_NARROW : FIGURES_WIDE);
}

static int cells_of(double db, int width)
{
    if (!(db > -SCALE_DB))
        return 0;
    return (int)fmin(round((db + SCALE_DB) / SCALE_DB * width), width);
}

static enum screen_style style_at(int cell, int width)
{
    double db = (cell + 0.5) * SCALE_DB / width - SCALE_DB;
    return db < -STEP_DB ? STYLE_GOOD : db < -3 ? STYLE_WARN : STYLE_BAD;
}

/* Draws the scale of the bars, -60 to 0 dBFS. The pen is at the left of the row. */
static void screen_draw_scale(struct pen *pen)
{
    int width = bar_width(pen);
    pen_print(pen, STYLE_DIM, " dBFS");
    for (int db = -SCALE_DB; db < 0; db += STEP_DB) {
        pen->column = SCREEN_LABEL + cells_of(db, width);
        pen_print(pen, STYLE_DIM, "%d", db);
    }
    pen->column = SCREEN_LABEL + width - 1;
    pen_print(pen, STYLE_DIM, "0");
    pen_print(pen, STYLE_DIM, is_narrow(pen) ? "   peak  clips" : "   peak    rms   hold  clips");
}

static void draw_bar(struct pen *pen, const struct meter_reading *reading)
{
    const struct screen_glyphs *glyphs = screen_glyphs();
    int width = bar_width(pen);
    int rms = cells_of(audio_to_db(reading->rms), width);
    int peak = cells_of(audio_to_db(reading->peak), width);
    int hold = cells_of(audio_to_db(reading->hold), width);
    for (int i = 0; i < width; i++) {
        enum screen_style style = style_at(i, width);
        if (hold > 0 && i == hold - 1 && hold > rms)
            pen_print(pen, style, "%s", glyphs->hold);
        else if (i < rms)
            pen_print(pen, style, "%s", glyphs->full);
        else if (i < peak)
            pen_print(pen, style, "%s", glyphs->until_peak);
        else
            pen_print(pen, STYLE_DIM, "%s", glyphs->empty);
    }
}

static void print_level(struct pen *pen, double amplitude)
{
    if (amplitude > 0)
        pen_print(pen, STYLE_PLAIN, " %6.1f", fmax(audio_to_db(amplitude), -199.9));
    else
        pen_print(pen, STYLE_DIM, " %6s", "-inf");
}

static void screen_draw_meter(struct pen *pen, const char *name, size_t channel,
                              const struct meter_reading *reading)
{
    pen_print(pen, STYLE_PLAIN, " %-4s%3zu ", name, channel);
    draw_bar(pen, reading);
    print_level(pen, reading->peak);
    if (!is_narrow(pen)) {
        print_level(pen, reading->rms);
        print_level(pen, reading->hold);
    }
    enum screen_style style = reading->clips ? STYLE_ALARM : STYLE_DIM;
    char clips[24];
    int digits = snprintf(clips, sizeof clips, "%llu", (unsigned long long)reading->clips);
    pen_print(pen, STYLE_PLAIN, "%*s", digits < 7 ? 7 - digits : 1, "");
    pen_print(pen, style, "%s", clips);
}

static enum screen_style style_of_load(double load)
{
    return load < 0.5 ? STYLE_GOOD : load < 0.8 ? STYLE_WARN : STYLE_BAD;
}

static int load_cells(double load, int width)
{
    return (int)fmin(ceil(fmax(load, 0) * width), width);
}

static void screen_draw_load(struct pen *pen, const struct live_status *status)
{
    pen_print(pen, STYLE_PLAIN, " %-*s", SCREEN_LABEL - 1, "load");
    if (isnan(status->load_now)) {
        pen_print(pen, STYLE_DIM, "hidden");
        return;
    }
    const struct screen_glyphs *glyphs = screen_glyphs();
    int width = pen->right - SCREEN_LABEL - LOAD_FIGURES;
    int now = load_cells(status->load_now, width);
    int p99 = load_cells(status->load_p99, width);
    int worst = load_cells(status->load_worst, width);
    for (int i = 0; i < width; i++) {
        enum screen_style style = style_of_load((i + 0.5) / width);
        const char *glyph = i < now          ? glyphs->full
                            : i == worst - 1 ? glyphs->hold
                            : i == p99 - 1   ? glyphs->mark
                                             : NULL;
        pen_print(pen, glyph ? style : STYLE_DIM, "%s", glyph ? glyph : glyphs->empty);
    }
    const double loads[] = {status->load_now, status->load_p99, status->load_worst};
    static const char *const names[] = {"now", "p99", "worst"};
    for (size_t i = 0; i < sizeof loads / sizeof *loads; i++) {
        if (i == 1 && pen->right < SCREEN_LABEL + LOAD_FIGURES)
            continue;
        pen_print(pen, STYLE_PLAIN, "  %s", names[i]);
        pen_print(pen, style_of_load(loads[i]), "%4.0f %%", 100 * loads[i]);
    }
}

/* ---- the layout ---- */

enum { WIDEST = 100, NARROWEST = 60, CELL_LEAST = 16, KEY_ROWS_MOST = 3, CHOICE_ROWS_MOST = 10 };

/* Number of rows of each part; 0: the part is left out. */
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

/* Gives a part up to `want` rows, as far as rows are left. */
static void grant(int *left, int *rows, int want)
{
    int more = least(want - *rows, *left);
    if (more > 0) {
        *rows += more;
        *left -= more;
    }
}

/* Draws the title. If room is short, leaves out the milliseconds, then rate and block. */
static void put_title(const struct layout *layout, const struct live_status *status)
{
    struct pen pen = pen_at(layout, 0);
    pen.over = STYLE_BAR;
    char left[512], right[128], ms[32] = "", format[64] = "";
    unsigned seconds = (unsigned)fmax(status->seconds, 0);
    if (status->rate && status->block)
        snprintf(ms, sizeof ms, " (%.2f ms)", 1e3 * (double)status->block / status->rate);
    if (status->rate)
        snprintf(format, sizeof format, "  %u Hz", status->rate);
    if (status->block)
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

/* Draws meters. If there are more channels than rows, the last row combines the rest. */
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

/* Draws the choices in one column, else in several columns, scrolled to the chosen one. */
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

/* Gives rows to a question first, then to the keys for the answer, to a message, and to a plot. */
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
    int left = LINES - 1; /* one row for the title */
    int inputs = (int)status->inputs, outputs = status->hidden ? 1 : (int)status->outputs;
    int choices = (int)listed_choices(status);
    int lines = (int)(status->line_count - status->question_lines);
    int keys = status->keys ? screen_draw_keys(status->keys, -1, layout.width) : 0;
    int figures = status->only_meters ? 0 : 1;
    grant_question(&left, &layout, status, keys, lines);
    grant(&left, &layout.state, figures);
    grant(&left, &layout.control, status->control.text ? 1 : 0);
    grant(&left, &layout.keys, least(keys, 1));
    grant(&left, &layout.lines, least(lines, 1));
    grant(&left, &layout.choices, least(choices, 1));
    grant(&left, &layout.inputs, least(inputs, 1));
    grant(&left, &layout.outputs, least(outputs, 1));
    grant(&left, &layout.preset, status->preset || status->coming_preset ? 1 : 0);
    grant(&left, &layout.messages, 1);
    grant(&left, &layout.lines, lines > 1 ? lines : 0); /* a plot needs all its lines */
    grant(&left, &layout.counts, figures);
    grant(&left, &layout.keys, least(keys, KEY_ROWS_MOST));
    grant(&left, &layout.load, figures);
    grant(&left, &layout.latency, figures);
    grant(&left, &layout.lines, lines);
    grant(&left, &layout.inputs, least(inputs, 2));
    grant(&left, &layout.outputs, least(outputs, 2));
    grant(&left, &layout.choices, least(choices, 4));
    grant(&left, &layout.messages, 2);
    grant(&left, &layout.choices, least(choices, CHOICE_ROWS_MOST));
    grant(&left, &layout.scale, inputs + outputs > 0);
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
