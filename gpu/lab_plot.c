#include "lab_plot.h"

#include "base/gnuplot.h"

enum { WIDTH = 1200, HEIGHT = 500 };

enum status lab_plot_check(const char *file)
{
    if (!file)
        return STATUS_OK;
    enum status status = gnuplot_check_file(file);
    return status == STATUS_OK ? gnuplot_check_here() : status;
}

static void send_subplot(const struct lab_plot *plot, FILE *commands, int column, const char *title)
{
    fprintf(commands, "set title '%s'\nplot ", title);
    for (size_t k = 0; k < plot->kernel_count; k++)
        fprintf(commands,
                "$k%zu using 1:%d smooth unique with linespoints lw 2 pt 7 ps 0.6 title '%s', ", k,
                column, plot->kernels[k]);
    if (column == 2)
        fprintf(commands, "$copy using 1:2 smooth unique with lines lw 2 dt 2 lc 'black' "
                          "title 'copy'\n");
    else
        fprintf(commands, "%g with lines lw 2 dt 2 lc 'black' title 'FMA limit'\n",
                1e-12 * plot->device->flops_peak);
}

enum status lab_plot_draw(const struct lab_plot *plot)
{
    const struct gnuplot_settings settings = {
        .file = plot->file, .force = true, .width = WIDTH, .height = HEIGHT};
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    if (status != STATUS_OK)
        return gnuplot_close(&gnuplot, status);
    FILE *commands = gnuplot.commands;
    plot->send(plot->context, commands);
    fputs("set multiplot layout 1,2 title ", commands);
    gnuplot_send_quoted(commands, plot->device->name);
    /* gnuplot's fifth is a pale yellow. */
    fprintf(commands,
            "\nset linetype 5 lc rgb '#c0392b'\nset linetype 6 lc rgb '#1f4e79'\n"
            "set logscale xy\nset grid\nset key bottom %s\nset xlabel '%s'\n"
            "set ylabel 'GB/s'\n",
            plot->falls ? "left" : "right", plot->against);
    send_subplot(plot, commands, 2, "bytes read and written once, a second");
    /* Room for the key below the lines. */
    fprintf(commands, "set key bottom right\nset ylabel 'TFLOP/s'\n");
    if (plot->flops_least > 0)
        fprintf(commands, "set yrange [%g:*]\n", plot->flops_least);
    send_subplot(plot, commands, 3, plot->arithmetic);
    fprintf(commands, "unset multiplot\n");
    return gnuplot_close(&gnuplot, STATUS_OK);
}
