#include "base/gnuplot.h"

#include "base/colour_map.h"
#include "base/stop.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INCH = 100 /* pixels */ };

static const struct gnuplot_kind {
    const char *suffix;
    const char *terminal;
    double unit; /* of its sizes, in pixels */
} kinds[] = {
    {".svg", "svg noenhanced font 'Helvetica,13' background rgb 'white' size %g,%g", 1},
    {".png", "pngcairo noenhanced font 'Sans,10' size %g,%g", 1},
    {".pdf", "pdfcairo noenhanced font 'Sans,9' size %gin,%gin", INCH},
};

static const struct gnuplot_kind *kind_of(const char *file)
{
    size_t length = strlen(file);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (length > 4 && strcmp(file + length - 4, kinds[i].suffix) == 0)
            return &kinds[i];
    return NULL;
}

enum status gnuplot_check_file(const char *file)
{
    return kind_of(file)
               ? STATUS_OK
               : fail(STATUS_USAGE, "a plot must be a .svg, .png or .pdf file, not %s", file);
}

enum status gnuplot_check_here(void)
{
    return system("command -v gnuplot >/dev/null 2>&1") == 0
               ? STATUS_OK
               : fail(STATUS_FAILED, "plots are drawn by gnuplot; install it (gnuplot-nox)");
}

void gnuplot_send_quoted(FILE *commands, const char *text)
{
    fputc('\'', commands);
    for (; *text; text++)
        if (*text == '\'')
            fputs("''", commands);
        else
            fputc((unsigned char)*text < 0x20 ? '?' : *text, commands);
    fputc('\'', commands);
}

void gnuplot_send_palette(FILE *commands)
{
    fputs("set palette defined (", commands);
    for (size_t i = 0; i < COLOUR_MAP_STOPS; i++) {
        double share = (double)i / (COLOUR_MAP_STOPS - 1);
        struct colour colour = colour_map_at(share);
        fprintf(commands, "%s%g '#%02x%02x%02x'", i ? ", " : "", share, colour.red, colour.green,
                colour.blue);
    }
    fputs(")\n", commands);
}

static void send_terminal(const struct gnuplot *gnuplot, const struct gnuplot_settings *settings)
{
    if (!settings->file) {
        fprintf(gnuplot->commands, "set terminal dumb noenhanced size %g,%g\n", settings->width,
                settings->height);
        return;
    }
    const struct gnuplot_kind *kind = kind_of(settings->file);
    fputs("set terminal ", gnuplot->commands);
    fprintf(gnuplot->commands, kind->terminal, settings->width / kind->unit,
            settings->height / kind->unit);
    fputs("\nset output ", gnuplot->commands);
    gnuplot_send_quoted(gnuplot->commands, gnuplot->file.temporary);
    fputs("\n", gnuplot->commands);
}

enum status gnuplot_open(const struct gnuplot_settings *settings, struct gnuplot *gnuplot)
{
    *gnuplot = (struct gnuplot){.name = settings->file, .file.fd = -1};
    TRY(gnuplot_check_here());
    fflush(stdout);
    if (settings->file) {
        TRY(atomic_file_open(&gnuplot->file, settings->file, settings->force));
        close(gnuplot->file.fd); /* gnuplot opens it again */
    }
    gnuplot->before = signal(SIGPIPE, SIG_IGN);
    gnuplot->commands = popen("gnuplot", "w");
    if (!gnuplot->commands)
        return fail(STATUS_FAILED, "cannot run gnuplot");
    send_terminal(gnuplot, settings);
    return STATUS_OK;
}

/* A signal from the keyboard also ends gnuplot, which is not an error of gnuplot. */
static enum status end(const struct gnuplot *gnuplot, enum status status)
{
    fputs("unset output\n", gnuplot->commands);
    int result = pclose(gnuplot->commands);
    if (status != STATUS_OK || result == 0)
        return status;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    return fail(STATUS_FAILED, "gnuplot could not draw %s", gnuplot->name ? gnuplot->name : "text");
}

enum status gnuplot_close(struct gnuplot *gnuplot, enum status status)
{
    if (gnuplot->commands) {
        status = end(gnuplot, status);
        signal(SIGPIPE, gnuplot->before);
    }
    int error = status == STATUS_OK && gnuplot->name ? atomic_file_keep(&gnuplot->file) : 0;
    if (error)
        status = fail(STATUS_FAILED, "cannot write %s: %s", gnuplot->name, strerror(error));
    atomic_file_discard(&gnuplot->file);
    return status;
}
