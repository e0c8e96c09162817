/* Pictures through gnuplot, which runs as a child and reads commands and data from us.
 *
 * A file is there whole or not at all. Threads: one. Not real-time.
 */
#ifndef HALO_GNUPLOT_H
#define HALO_GNUPLOT_H

#include "base/atomic_file.h"
#include "base/status.h"

#include <stdio.h>

struct gnuplot_settings {
    const char *file;     /* .svg, .png or .pdf; NULL: text, on standard output */
    bool force;           /* replace a file that stands there */
    double width, height; /* pixels; of text: characters */
};

struct gnuplot {
    FILE *commands;   /* what is written there, gnuplot reads */
    const char *name; /* of the file; NULL: text */
    struct atomic_file file;
    void (*before)(int); /* what became of SIGPIPE: where gnuplot ends early, we tell */
};

/* Usage error where a file of that name is none that can be drawn. */
MUST_CHECK enum status gnuplot_check_file(const char *file);

/* Fails where gnuplot is not installed. */
MUST_CHECK enum status gnuplot_check_here(void);

/* Starts it, with its terminal and output set. After that gnuplot_close in any case, also after an
 * error. Errors: there is no gnuplot, the file stands there or cannot be written, memory. */
MUST_CHECK enum status gnuplot_open(const struct gnuplot_settings *settings,
                                    struct gnuplot *gnuplot);

/* Ends it. Where `status` is STATUS_OK and gnuplot could draw the file is kept, else it is gone.
 * Returns `status`, or what failed now. */
MUST_CHECK enum status gnuplot_close(struct gnuplot *gnuplot, enum status status);

/* A text of the user's within single quotes. */
void gnuplot_send_quoted(FILE *commands, const char *text);

/* `set palette` with the colours of colour_map.h. */
void gnuplot_send_palette(FILE *commands);

#endif
