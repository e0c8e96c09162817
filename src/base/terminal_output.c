#include "base/terminal_output.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS_USUAL = 80, ROWS_USUAL = 24 };

void terminal_output_size(size_t *columns, size_t *rows)
{
    struct winsize size = {0};
    bool reported = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *columns = reported ? size.ws_col : COLUMNS_USUAL;
    *rows = reported ? size.ws_row : ROWS_USUAL;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

enum terminal_colours terminal_output_colours(void)
{
    const char *term = variable("TERM"), *colours = variable("COLORTERM");
    if (!isatty(STDOUT_FILENO) || *variable("NO_COLOR") || !*term || strcmp(term, "dumb") == 0)
        return TERMINAL_COLOURS_NONE;
    if (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0 ||
        strstr(term, "-direct"))
        return TERMINAL_COLOURS_ALL;
    return strstr(term, "256color") ? TERMINAL_COLOURS_256 : TERMINAL_COLOURS_NONE;
}
