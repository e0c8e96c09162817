#include "base/gnuplot.h"
#include "mask/mask_drawing.h"

#include <math.h>
#include <string.h>

/* Pixels. A subplot's margins hold its title, labels, and scale of colours. */
enum {
    SUBPLOT_WIDE = 720,
    SUBPLOT_HIGH = 360,
    ALONE_WIDE = 1000,
    ALONE_HIGH = 560,
    LEFT = 72,
    RIGHT = 24,
    RIGHT_OF_SCALE = 84,
    ABOVE = 34,
    BELOW = 54,
    SCALE_GAP = 12,
    SCALE_WIDE = 14,
    LINE = 20, /* of the legend */
    STROKE = 36,
    ENTRY_GAP = 24,
    LETTER = 8, /* at the widest */
    HEAD_GAP = 12,
    LEAST_WIDE = 280, /* of a subplot */
    LEAST_HIGH = 200,
    DECADE = 110, /* of frequencies, with three labels */
};

/* Okabe and Ito's palette for colour blindness, without the yellow. */
static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000", "#7f7f7f"};
enum { COLOURS = sizeof colours / sizeof *colours };
static const char *const dashes[] = {"solid", "(12,6)", "(3,4)", "(14,5,3,5)"};

void mask_layout_send_colour(FILE *gnuplot, size_t curve)
{
    fprintf(gnuplot, " lc rgb '%s' dt %s", colours[curve % COLOURS],
            dashes[curve / COLOURS % (sizeof dashes / sizeof *dashes)]);
}

void mask_layout_send_pale(FILE *gnuplot, size_t curve)
{
    fprintf(gnuplot, " lc rgb '#c0%s'", colours[curve % COLOURS] + 1);
}

/* Pixels inside of a subplot's margins. */
static double inner_width(const struct plot_layout *layout)
{
    return layout->width / (double)layout->columns - LEFT -
           (layout->has_scale ? RIGHT_OF_SCALE : RIGHT);
}

/* Where decades are narrow, their beginnings alone. */
void mask_layout_send_hertz(const struct mask_drawing *drawing)
{
    bool is_narrow = drawing->plot->file &&
                     inner_width(&drawing->layout) < DECADE * log10(drawing->high / drawing->low);
    fputs(is_narrow ? "set xtics ('20' 20, '100' 100, '1k' 1e3, '10k' 10e3)\n"
                    : "set xtics ('20' 20, '50' 50, '100' 100, '200' 200, '500' 500, '1k' 1e3, "
                      "'2k' 2e3, '5k' 5e3, '10k' 10e3, '20k' 20e3, '50k' 50e3)\n",
          drawing->gnuplot);
}

static double entry_width(const struct mask_plot *plot)
{
    size_t longest = 0;
    for (size_t i = 0; i < plot->count; i++)
        longest = strlen(plot->curves[i].name) > longest ? strlen(plot->curves[i].name) : longest;
    return STROKE + ENTRY_GAP + LETTER * (double)longest;
}

enum status mask_layout_init(struct plot_layout *layout, const struct mask_plot *plot, size_t count,
                             bool has_scale)
{
    size_t columns = count > 1 ? 2 : 1, rows = (count + columns - 1) / columns;
    double wide = count > 1 ? (double)(SUBPLOT_WIDE * columns) : ALONE_WIDE;
    double high = count > 1 ? (double)(SUBPLOT_HIGH * rows) : ALONE_HIGH;
    wide = plot->width > 0 ? (double)plot->width : wide;
    size_t entries = (size_t)fmax(1, (wide - LEFT) / entry_width(plot));
    size_t lines = (plot->count + entries - 1) / entries;
    double head = (double)(LINE * lines + HEAD_GAP);
    *layout = (struct plot_layout){
        .width = wide,
        .height = plot->height > 0 ? (double)plot->height : head + high,
        .head = head,
        .columns = columns,
        .rows = rows,
        .has_scale = has_scale,
        .entries = entries,
    };
    double least_wide = (double)(LEAST_WIDE * columns);
    double least_high = head + (double)(LEAST_HIGH * rows);
    if (layout->width < least_wide || layout->height < least_high)
        return fail(CAUSE_USAGE,
                    "this plot needs --width %g and --height %g at least, or fewer of --what",
                    least_wide, least_high);
    return STATUS_OK;
}

void mask_layout_send_head(const struct mask_drawing *drawing)
{
    const struct mask_plot *plot = drawing->plot;
    const struct plot_layout *layout = &drawing->layout;
    if (plot->count == 1) {
        fputs("set label ", drawing->gnuplot);
        gnuplot_send_quoted(drawing->gnuplot, plot->curves[0].name);
        fprintf(drawing->gnuplot, " at screen 0.5,%.6f center\n", 1 - HEAD_GAP / layout->height);
        return;
    }
    for (size_t i = 0; i < plot->count; i++) {
        double x = LEFT + entry_width(plot) * (double)(i % layout->entries);
        double y = HEAD_GAP + LINE * (double)(i / layout->entries);
        y = 1 - y / layout->height;
        fprintf(drawing->gnuplot, "set arrow from screen %.6f,%.6f to screen %.6f,%.6f nohead lw 2",
                x / layout->width, y, (x + STROKE) / layout->width, y);
        mask_layout_send_colour(drawing->gnuplot, i);
        fputs("\nset label ", drawing->gnuplot);
        gnuplot_send_quoted(drawing->gnuplot, plot->curves[i].name);
        fprintf(drawing->gnuplot, " at screen %.6f,%.6f left\n",
                (x + STROKE + ENTRY_GAP / 3.0) / layout->width, y);
    }
}

void mask_layout_send_place(struct mask_drawing *drawing, double inset)
{
    const struct plot_layout *layout = &drawing->layout;
    double wide = layout->width / (double)layout->columns;
    double high = (layout->height - layout->head) / (double)layout->rows;
    double left = wide * (double)(drawing->subplot % layout->columns) + LEFT;
    double right = left + inner_width(layout);
    double top = layout->head + high * (double)(drawing->subplot / layout->columns) + ABOVE;
    double bottom = top - ABOVE + high - BELOW;
    if (drawing->subplot++ == 1)
        fputs("unset arrow\nunset label\n", drawing->gnuplot);
    fprintf(drawing->gnuplot,
            "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
            "set tmargin at screen %.6f\nset bmargin at screen %.6f\n"
            "set colorbox user origin screen %.6f,%.6f size screen %.6f,%.6f\n",
            (left + inset) / layout->width, (right - inset) / layout->width,
            1 - top / layout->height, 1 - bottom / layout->height,
            (right + SCALE_GAP) / layout->width, 1 - bottom / layout->height,
            SCALE_WIDE / layout->width, (bottom - top) / layout->height);
}
