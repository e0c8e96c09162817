/* Plots drawn by gnuplot, which runs as a child and reads commands from a pipe. Files are complete
 * or absent. Threads: one. Not real-time. */
#ifndef HALO_GNUPLOT_H
#define HALO_GNUPLOT_H

#include "base/atomic_file.h"
#include "base/status.h"

#include <stdio.h>

struct gnuplot_settings {
    const char *file;     /* .svg, .png or .pdf; NULL: text, on standard output */
    bool force;           /* replace an existing file */
    double width, height; /* pixels; of text: characters */
};

struct gnuplot {
    FILE *commands;   /* the pipe to gnuplot */
    const char *name; /* of the file; NULL: text */
    struct atomic_file file;
    void (*before)(int); /* the handler of SIGPIPE, which is ignored meanwhile */
};

/* Errors (usage): not a name of a .svg, .png or .pdf file. */
MUST_CHECK enum status gnuplot_check_file(const char *file);

/* Errors: gnuplot is not installed. */
MUST_CHECK enum status gnuplot_check_here(void);

/* Start gnuplot with its terminal and output set; call gnuplot_close afterwards, also on failure.
 * Errors: no gnuplot, the file exists or cannot be written, memory. */
MUST_CHECK enum status gnuplot_open(const struct gnuplot_settings *settings,
                                    struct gnuplot *gnuplot);

/* End gnuplot and keep the file if `status` is STATUS_OK and gnuplot succeeded, else remove it.
 * Returns `status` or a new error. */
MUST_CHECK enum status gnuplot_close(struct gnuplot *gnuplot, enum status status);

/* Send text in single quotes. */
void gnuplot_send_quoted(FILE *commands, const char *text);

/* `set palette` with the colours of colour_map.h. */
void gnuplot_send_palette(FILE *commands);

#endif
