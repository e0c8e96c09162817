#include "base/gnuplot.h"

#include "base/colour_map.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/thread.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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
static const struct gnuplot_kind text_kind = {"", "dumb noenhanced size %g,%g", 1};

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

/* In double quotes, with all but letters, digits and the like as octal escapes: single quotes
 * cannot begin with an apostrophe, and within double ones `this` would be executed. */
void gnuplot_send_quoted(FILE *commands, const char *text)
{
    fputc('"', commands);
    for (const char *at = printable(text); *at; at++)
        if (*at & 0x80 || isalnum((unsigned char)*at) || strchr(" .,:;/_-+()", *at))
            fputc(*at, commands);
        else
            fprintf(commands, "\\%03o", (unsigned)(unsigned char)*at);
    fputc('"', commands);
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
    const struct gnuplot_kind *kind = settings->file ? kind_of(settings->file) : &text_kind;
    fputs("set terminal ", gnuplot->commands);
    fprintf(gnuplot->commands, kind->terminal, settings->width / kind->unit,
            settings->height / kind->unit);
    fputs("\n", gnuplot->commands);
}

/* ---- the process ---- */

/* Gnuplot gets the usual handling of the signals that stop_watch ignores. Returns an errno. */
static int spawn(struct gnuplot *gnuplot, int input, int output)
{
    static char *const arguments[] = {"gnuplot", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int error = posix_spawnp(&gnuplot->process, "gnuplot", &files, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

/* Returns an errno; on success there is a process, to be ended by end(). */
static int start(struct gnuplot *gnuplot)
{
    int input[2] = {-1, -1}, output[2] = {-1, -1};
    int error = pipe2(input, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0 ? 0 : errno;
    FILE *commands = error ? NULL : fdopen(input[1], "w");
    if (!error)
        error = commands ? spawn(gnuplot, input[0], output[1]) : errno;
    close(input[0]);
    close(output[1]);
    if (!error) {
        gnuplot->commands = commands;
        gnuplot->drawing = output[0];
        return 0;
    }
    close(output[0]);
    if (commands)
        fclose(commands);
    else
        close(input[1]);
    return error;
}

/* ---- the drawing ---- */

/* Returns an errno. */
static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(fd, bytes, count); /* no signal comes to this thread */
        if (done < 0)
            return errno;
        bytes += done;
        count -= (size_t)done;
    }
    return 0;
}

/* Reads on after an error: gnuplot would wait for its reader. */
static void *write_drawing(void *argument)
{
    struct gnuplot *gnuplot = argument;
    char bytes[1 << 14];
    int fd = gnuplot->name ? gnuplot->file.fd : STDOUT_FILENO;
    for (ssize_t got; (got = read(gnuplot->drawing, bytes, sizeof bytes)) > 0;) {
        if (!gnuplot->error)
            gnuplot->error = write_all(fd, bytes, (size_t)got);
        gnuplot->drawn = true;
    }
    return NULL;
}

enum status gnuplot_open(const struct gnuplot_settings *settings, struct gnuplot *gnuplot)
{
    *gnuplot = (struct gnuplot){.name = settings->file, .file.fd = -1, .drawing = -1};
    TRY(gnuplot_check_here());
    fflush(stdout);
    stop_watch(); /* failed writes are errors then, and signals leave no half file */
    if (settings->file)
        TRY(atomic_file_open(&gnuplot->file, settings->file, settings->force));
    int error = start(gnuplot);
    if (!error)
        error =
            thread_start(&gnuplot->writer, "halo plot", THREAD_AS_CALLER, write_drawing, gnuplot);
    gnuplot->writing = !error;
    if (error)
        return fail(STATUS_FAILED, "cannot run gnuplot: %s", strerror(error));
    send_terminal(gnuplot, settings);
    return STATUS_OK;
}

/* A signal from the keyboard also ends gnuplot, which is not an error of gnuplot. */
static enum status end(struct gnuplot *gnuplot, enum status status)
{
    int result = -1;
    bool sent = !ferror(gnuplot->commands);
    sent = fclose(gnuplot->commands) == 0 && sent;
    if (gnuplot->writing)
        pthread_join(gnuplot->writer, NULL);
    close(gnuplot->drawing);
    while (waitpid(gnuplot->process, &result, 0) < 0 && errno == EINTR)
        continue;
    if (status != STATUS_OK)
        return status;
    if (sent && result == 0 && gnuplot->drawn)
        return STATUS_OK;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    return fail(STATUS_FAILED, "gnuplot could not draw %s", gnuplot->name ? gnuplot->name : "text");
}

/* Close the file, and keep it if all was written. */
static enum status finish(struct gnuplot *gnuplot, enum status status)
{
    int error = gnuplot->error;
    if (gnuplot->file.fd >= 0 && close(gnuplot->file.fd) != 0 && !error)
        error = errno;
    if (status == STATUS_OK && !error && gnuplot->name)
        error = atomic_file_keep(&gnuplot->file);
    atomic_file_discard(&gnuplot->file);
    if (status != STATUS_OK || !error)
        return status;
    return fail(STATUS_FAILED, "cannot write %s: %s",
                gnuplot->name ? gnuplot->name : "standard output", strerror(error));
}

enum status gnuplot_close(struct gnuplot *gnuplot, enum status status)
{
    if (gnuplot->commands)
        status = end(gnuplot, status);
    return finish(gnuplot, status);
}
