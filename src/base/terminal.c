#include "base/terminal.h"

#include "base/stop.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

static struct termios kept;
static struct termios taken;
static char farewell[256];
static volatile sig_atomic_t is_kept = 0;
static volatile sig_atomic_t has_keys = 0;

static volatile sig_atomic_t errors_from = -1; /* read end of the pipe in place of standard error */
static volatile sig_atomic_t errors_to = -1;   /* the original standard error */

bool terminal_is_ours(void)
{
    return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void give_errors_back(void)
{
    if (errors_to < 0)
        return;
    dup2(errors_to, STDERR_FILENO);
    close(errors_to);
    errors_to = -1;
    char bytes[512];
    for (ssize_t got; (got = read(errors_from, bytes, sizeof bytes)) > 0;)
        if (write(STDERR_FILENO, bytes, (size_t)got) < 0)
            break;
    close(errors_from);
    errors_from = -1;
}

int terminal_take_errors(void)
{
    int ends[2];
    if (!is_kept || !isatty(STDERR_FILENO) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return -1;
    int before = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    if (before >= 0 && dup2(ends[1], STDERR_FILENO) >= 0) {
        errors_to = before;
        errors_from = ends[0];
    } else {
        close(ends[0]);
    }
    close(ends[1]);
    return errors_from;
}

void terminal_restore(void)
{
    if (!is_kept)
        return;
    is_kept = has_keys = 0;
    size_t length = strlen(farewell); /* strlen is async-signal-safe */
    if (length > 0 && write(STDOUT_FILENO, farewell, length) < 0)
        farewell[0] = '\0'; /* the terminal is gone */
    give_errors_back();
    /* In the background tcsetattr would stop halo. The shell has restored the terminal then. */
    if (terminal_is_ours())
        tcsetattr(STDIN_FILENO, TCSANOW, &kept);
}

static void die_tidily(int number)
{
    terminal_restore();
    signal(number, SIG_DFL);
    raise(number);
}

/* Sets the terminal again, since the shell changes it while halo is stopped. */
static void come_back(int number)
{
    (void)number;
    if (has_keys && terminal_is_ours())
        tcsetattr(STDIN_FILENO, TCSANOW, &taken);
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    struct sigaction before;
    sigemptyset(&action.sa_mask);
    /* Another handler restores the terminal itself; see stop.h. */
    if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        sigaction(number, &action, NULL);
}

void terminal_keep(const char *text)
{
    static bool prepared = false;
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &kept) != 0)
        return;
    snprintf(farewell, sizeof farewell, "%s", text ? text : "");
    if (!prepared) {
        const int ends[] = {SIGINT,  SIGTERM, SIGHUP, SIGQUIT, SIGABRT,
                            SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGALRM};
        for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
            handle(ends[i], die_tidily);
        handle(SIGCONT, come_back);
        stop_before_end(terminal_restore);
        atexit(terminal_restore);
        prepared = true;
    }
    is_kept = 1;
}

void terminal_take_keys(void)
{
    if (!is_kept)
        return;
    taken = kept;
    taken.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    taken.c_iflag &= ~(tcflag_t)IXON;
    taken.c_cc[VMIN] = 1;
    taken.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &taken) == 0)
        has_keys = 1;
}

void terminal_let_run(void)
{
    struct termios now;
    if (tcgetattr(STDIN_FILENO, &now) != 0)
        return;
    now.c_iflag &= ~(tcflag_t)IXON;
    tcsetattr(STDIN_FILENO, TCSANOW, &now);
}

enum { COLUMNS_USUAL = 80, ROWS_USUAL = 24 };

void terminal_output_size(size_t *columns, size_t *rows)
{
    struct winsize size = {0};
    bool reported =
        ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0;
    *columns = reported ? size.ws_col : COLUMNS_USUAL;
    *rows = reported ? size.ws_row : ROWS_USUAL;
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

bool terminal_refuses_colours(void)
{
    return *variable("NO_COLOR") != '\0' || strcmp(variable("CLICOLOR"), "0") == 0;
}

/* Whether the user wants colours in a pipe to a pager or in a log. */
static bool wants_colours(void)
{
    const char *forced = variable("FORCE_COLOR"), *also = variable("CLICOLOR_FORCE");
    return (*forced && strcmp(forced, "0") != 0) || (*also && strcmp(also, "0") != 0);
}

enum terminal_colours terminal_output_colours(void)
{
    const char *term = variable("TERM"), *colours = variable("COLORTERM");
    bool is_terminal = isatty(STDOUT_FILENO) && *term && strcmp(term, "dumb") != 0;
    if (terminal_refuses_colours() || !(is_terminal || wants_colours()))
        return TERMINAL_COLOURS_NONE;
    if (strcmp(colours, "truecolor") == 0 || strcmp(colours, "24bit") == 0 ||
        strstr(term, "-direct"))
        return TERMINAL_COLOURS_ALL;
    return strstr(term, "256color") || wants_colours() ? TERMINAL_COLOURS_256
                                                       : TERMINAL_COLOURS_NONE;
}
