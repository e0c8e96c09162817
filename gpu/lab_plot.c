#include "lab_plot.h"

#include <stdlib.h>
#include <string.h>

static const char *terminal_for(const char *file)
{
    static const char *const kinds[][2] = {
        {".svg", "svg size 1200,500 dynamic background rgb 'white'"},
        {".png", "pngcairo size 1200,500"},
        {".pdf", "pdfcairo size 12in,5in"},
    };
    const char *dot = strrchr(file, '.');
    for (size_t i = 0; dot && i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(dot, kinds[i][0]) == 0)
            return kinds[i][1];
    return NULL;
}

enum status lab_plot_terminal(const char *file, const char **terminal)
{
    *terminal = file ? terminal_for(file) : NULL;
    if (file && !*terminal)
        return fail(STATUS_USAGE, "--plot draws .svg, .png or .pdf files, not %s", file);
    if (file && system("command -v gnuplot >/dev/null 2>&1") != 0)
        return fail(STATUS_FAILED, "--plot needs gnuplot; install it");
    return STATUS_OK;
}
