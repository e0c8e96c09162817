#include "base/gnuplot.h"

#include "base/colour_map.h"
#include "base/printable.h"
#include "base/stop.h"
#include "base/text_stream.h"
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
    double unit; /* pixels per unit of gnuplot's sizes */
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
               : fail(CAUSE_USAGE, "a plot must be a .svg, .png or .pdf file, not %s", file);
}

enum status gnuplot_check_here(void)
{
    int found = system("command -v gnuplot >/dev/null 2>&1");
    if (found < 0)
        return fail_errno(errno, "cannot run gnuplot");
    return found == 0 ? STATUS_OK
                      : fail(CAUSE_MISSING, "plots are drawn by gnuplot; install it (gnuplot-nox)");
}

/* Sends the text in double quotes, with octal escapes for all but letters, digits and the like.
 * Single quotes could not begin with an apostrophe; in double quotes, `this` would be executed.
 * Escapes that begin with 0 have four digits. */
void gnuplot_send_quoted(FILE *commands, const char *text)
{
    fputc('"', commands);
    for (const char *at = printable(text); *at; at++)
        if (*at & 0x80 || isalnum((unsigned char)*at) || strchr(" .,:;/_-+()", *at))
            fputc(*at, commands);
        else
            fprintf(commands, "\\0%03o", (unsigned)(unsigned char)*at);
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

/* Starts gnuplot without start-up files. It gets default signal handling. Returns an errno. */
static int spawn(struct gnuplot *gnuplot, int input, int output)
{
    static char *const arguments[] = {"gnuplot", "--default-settings", NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    if ((error = posix_spawnattr_init(&attributes)) == 0) {
        error = posix_spawn_file_actions_adddup2(&files, input, STDIN_FILENO);
        error = error ? error : posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
        posix_spawnattr_setsigdefault(&attributes, &usual);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
        if (!error)
            error =
                posix_spawnp(&gnuplot->process, "gnuplot", &files, &attributes, arguments, environ);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static void close_pipe(const int ends[2])
{
    for (int i = 0; i < 2; i++)
        if (ends[i] >= 0)
            close(ends[i]);
}

/* Starts gnuplot, which reads from *input. Returns an errno, or 0 if there is a process. */
static int start(struct gnuplot *gnuplot, int *input)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int error = pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 ? 0 : errno;
    if (!error)
        error = spawn(gnuplot, in[0], out[1]);
    if (error) {
        close_pipe(in);
        close_pipe(out);
        return error;
    }
    close(in[0]);
    close(out[1]);
    *input = in[1];
    gnuplot->drawing = out[0];
    return 0;
}

/* ---- the drawing ---- */

static bool interrupted(void)
{
    return errno == EINTR && !stop_requested();
}

/* Writes all bytes. Returns an errno. */
static int write_all(int fd, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t done = write(fd, bytes, count);
        if (done < 0 && interrupted())
            continue;
        if (done < 0)
            return errno;
        bytes += done;
        count -= (size_t)done;
    }
    return 0;
}

/* Writes a text escaped for XML. Returns an errno. */
static int write_escaped(int fd, const char *text)
{
    static const struct {
        char character;
        const char *escaped;
    } escapes[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}};
    int error = 0;
    for (const char *at = text; *at && !error; at++) {
        const char *escaped = NULL;
        for (size_t i = 0; i < sizeof escapes / sizeof *escapes; i++)
            escaped = *at == escapes[i].character ? escapes[i].escaped : escaped;
        error = escaped ? write_all(fd, escaped, strlen(escaped)) : write_all(fd, at, 1);
    }
    return error;
}

/* Writes the head of a drawing. In an SVG the plot's title replaces gnuplot's, which can only have
 * letters and digits. Returns an errno. */
static int write_head(const struct gnuplot *gnuplot, int fd, const char *bytes, size_t count)
{
    static const char mark[] = "<title>Gnuplot</title>";
    const char *at = gnuplot->name ? memmem(bytes, count, mark, strlen(mark)) : NULL;
    if (!at)
        return write_all(fd, bytes, count);
    const char *title = at + strlen("<title>"), *end = at + strlen(mark) - strlen("</title>");
    int error = write_all(fd, bytes, (size_t)(title - bytes));
    error = error ? error : write_escaped(fd, printable(gnuplot->title));
    return error ? error : write_all(fd, end, count - (size_t)(end - bytes));
}

/* Reads what is there or, if `whole`, up to `count` bytes. Returns 0 at the end and on errors. */
static size_t read_drawing(struct gnuplot *gnuplot, char *bytes, size_t count, bool whole)
{
    size_t done = 0;
    while (done == 0 || (whole && done < count)) {
        ssize_t got = read(gnuplot->drawing, bytes + done, count - done);
        if (got < 0 && interrupted())
            continue;
        if (got < 0 && !gnuplot->error)
            gnuplot->error = errno;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    return done;
}

/* Writes the drawing to the file. After an error it reads on, since gnuplot waits for a reader. */
static void *write_drawing(void *argument)
{
    struct gnuplot *gnuplot = argument;
    char bytes[1 << 14];
    size_t count;
    int fd = gnuplot->name ? gnuplot->file.fd : STDOUT_FILENO;
    while ((count = read_drawing(gnuplot, bytes, sizeof bytes, !gnuplot->drawn)) > 0) {
        if (!gnuplot->error)
            gnuplot->error = gnuplot->drawn ? write_all(fd, bytes, count)
                                            : write_head(gnuplot, fd, bytes, count);
        gnuplot->drawn = true;
    }
    close(gnuplot->drawing); /* ends gnuplot, if it still writes */
    return NULL;
}

enum status gnuplot_open(const struct gnuplot_settings *settings, struct gnuplot *gnuplot)
{
    *gnuplot = (struct gnuplot){
        .name = settings->file,
        .title = settings->title ? settings->title : settings->file,
        .file.fd = -1,
    };
    TRY(gnuplot_check_here());
    stop_watch(); /* failed writes become errors, and signals leave no incomplete file */
    if (settings->file)
        TRY(atomic_file_open(&gnuplot->file, settings->file, settings->force));
    gnuplot->commands = text_stream_open(&gnuplot->text, &gnuplot->size);
    if (!gnuplot->commands)
        return fail_memory("a plot");
    send_terminal(gnuplot, settings);
    return STATUS_OK;
}

/* Explains a failure. A signal from the keyboard also ends gnuplot, which is not its error. */
static enum status explain(const struct gnuplot *gnuplot, int error, int result)
{
    if (!error && result == 0 && gnuplot->drawn)
        return STATUS_OK;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    const char *name = gnuplot->name ? gnuplot->name : "text";
    return error ? fail_errno(error, "gnuplot could not draw %s", name)
                 : fail(CAUSE_OTHER, "gnuplot could not draw %s", name);
}

/* Sends all commands or none, since gnuplot would draw a part of them. */
static enum status draw(struct gnuplot *gnuplot)
{
    int input, result = -1, error = start(gnuplot, &input);
    pthread_t writer;
    if (error)
        return fail_errno(error, "cannot run gnuplot");
    error = thread_start(&writer, "halo plot", THREAD_AS_CALLER, write_drawing, gnuplot);
    if (error)
        close(gnuplot->drawing);
    bool writing = !error;
    if (!error)
        error = write_all(input, gnuplot->text, gnuplot->size);
    if (error)
        kill(gnuplot->process, SIGKILL);
    close(input);
    if (writing)
        pthread_join(writer, NULL);
    while (waitpid(gnuplot->process, &result, 0) < 0 && errno == EINTR)
        continue;
    return gnuplot->error ? STATUS_OK : explain(gnuplot, error, result);
}

/* Closes the file, and keeps it if it was written completely. */
static enum status finish(struct gnuplot *gnuplot, enum status status)
{
    int error = gnuplot->error;
    const char *name = gnuplot->name ? gnuplot->name : "standard output";
    if (gnuplot->file.fd >= 0 && close(gnuplot->file.fd) != 0 && !error)
        error = errno;
    if (status == STATUS_OK && error)
        status = fail_errno(error, "cannot write %s", name);
    else if (status == STATUS_OK && gnuplot->name)
        status = atomic_file_keep(&gnuplot->file, name);
    atomic_file_discard(&gnuplot->file);
    return status;
}

enum status gnuplot_close(struct gnuplot *gnuplot, enum status status)
{
    bool complete = !gnuplot->commands || text_stream_finish(gnuplot->commands) == 0;
    if (status == STATUS_OK && !complete)
        status = fail_memory("a plot");
    fflush(stdout); /* a plot in characters comes after text that was printed before */
    if (status == STATUS_OK)
        status = draw(gnuplot);
    free(gnuplot->text);
    return finish(gnuplot, status);
}
