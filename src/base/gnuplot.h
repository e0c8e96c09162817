/* Plots drawn by gnuplot. It runs when all commands are there, reads them from a pipe and writes
 * the drawing to another. halo writes the file, which is complete or absent, since gnuplot does not
 * report failed writes. Threads: the caller's, and one that writes. Not real-time. */
#ifndef HALO_GNUPLOT_H
#define HALO_GNUPLOT_H

#include "base/atomic_file.h"
#include "base/status.h"

#include <stdio.h>
#include <sys/types.h>

struct gnuplot_settings {
    const char *file;     /* .svg, .png or .pdf; NULL: a plot in characters, on standard output */
    const char *title;    /* title of an .svg, which must outlive the plot; NULL: the file's */
    bool force;           /* replace an existing file */
    double width, height; /* pixels; for a plot in characters: characters */
};

struct gnuplot {
    FILE *commands;   /* commands for gnuplot; they are collected in `text` */
    const char *name; /* name of the file; NULL: standard output */
    const char *title;
    struct atomic_file file;
    char *text;
    size_t size;
    pid_t process;
    int drawing; /* pipe from gnuplot; used by the writing thread */
    bool drawn;  /* gnuplot has drawn something; used by the writing thread */
    int error;   /* errno of the first call that failed; used by the writing thread */
};

/* Errors (usage): the file's name does not end with .svg, .png or .pdf. */
MUST_CHECK enum status gnuplot_check_file(const char *file);

/* Errors: gnuplot is not installed. */
MUST_CHECK enum status gnuplot_check_here(void);

/* Begins a plot: sets gnuplot's terminal and watches for signals (stop.h). Call gnuplot_close, even
 * after a failure. Errors: no gnuplot, the file exists or cannot be written, memory. */
MUST_CHECK enum status gnuplot_open(const struct gnuplot_settings *settings,
                                    struct gnuplot *gnuplot);

/* Ends a plot. If `status` is STATUS_OK, runs gnuplot. Keeps the file if gnuplot succeeded and its
 * whole drawing was written, otherwise removes it. Returns `status` or a new error. */
MUST_CHECK enum status gnuplot_close(struct gnuplot *gnuplot, enum status status);

/* Sends a text as a string: nothing in it is executed, expanded or taken as markup. For all texts
 * from the user. Unprintable characters are replaced (printable.h). */
void gnuplot_send_quoted(FILE *commands, const char *text);

/* Sends `set palette` with the colours of colour_map.h. */
void gnuplot_send_palette(FILE *commands);

#endif
