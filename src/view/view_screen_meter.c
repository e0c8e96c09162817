#include "signal/audio.h"
#include "view/view_screen.h"

#include <math.h>
#include <stdio.h>

enum {
    SCALE_DB = 60,     /* the bars' range below full scale */
    STEP_DB = 12,      /* between two numbers of the scale */
    NARROW = 80,       /* columns; below, a meter shows two numbers, not four */
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

void screen_draw_scale(struct pen *pen)
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

void screen_draw_meter(struct pen *pen, const char *name, size_t channel,
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

void screen_draw_load(struct pen *pen, const struct live_status *status)
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
