/* Plots drawn by gnuplot, which runs as a child, reads commands from a pipe and writes the drawing
 * to another: gnuplot does not tell of failed writes, so halo writes what it draws. It runs once
 * all commands are there. Files are complete or absent. Threads: the caller's, and one that writes.
 * Not real-time. */
#ifndef HALO_GNUPLOT_H
#define HALO_GNUPLOT_H

#include "base/atomic_file.h"
#include "base/status.h"

#include <stdio.h>
#include <sys/types.h>

struct gnuplot_settings {
    const char *file;     /* .svg, .png or .pdf; NULL: text, on standard output */
    const char *title;    /* of an .svg, kept until gnuplot_close; NULL: the name of the file */
    bool force;           /* replace an existing file */
    double width, height; /* pixels; of text: characters */
};

struct gnuplot {
    FILE *commands;   /* for gnuplot, kept in `text` */
    const char *name; /* of the file; NULL: text */
    const char *title;
    struct atomic_file file;
    char *text;
    size_t size;
    pid_t process;
    int drawing; /* the pipe from gnuplot; the writer's, as are the next two */
    bool drawn;  /* something */
    int error;   /* errno of the first call that failed */
};

/* Errors (usage): not a name of a .svg, .png or .pdf file. */
MUST_CHECK enum status gnuplot_check_file(const char *file);

/* Errors: gnuplot is not installed. */
MUST_CHECK enum status gnuplot_check_here(void);

/* Begin a plot: set the terminal, and watch for signals (stop.h); call gnuplot_close afterwards,
 * also on failure. Errors: no gnuplot, the file exists or cannot be written, memory. */
MUST_CHECK enum status gnuplot_open(const struct gnuplot_settings *settings,
                                    struct gnuplot *gnuplot);

/* If `status` is STATUS_OK run gnuplot, and keep the file if it succeeded and all it drew was
 * written; else remove it. Returns `status` or a new error. */
MUST_CHECK enum status gnuplot_close(struct gnuplot *gnuplot, enum status status);

/* Send any text as a string: whatever is the user's goes this way. Nothing in it is executed or
 * expanded, and the terminals take no markup; what is not printable becomes so (printable.h). */
void gnuplot_send_quoted(FILE *commands, const char *text);

/* `set palette` with the colours of colour_map.h. */
void gnuplot_send_palette(FILE *commands);

#endif
