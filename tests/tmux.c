#include "tmux.h"

#include "base/build_info.h"
#include "command.h"
#include "suite.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LOOKS = 20 /* a second */ };

static char screen[65536];
static int opened; /* each has a socket of its own, since a server takes time to end */

bool tmux_there(void)
{
#ifndef HALO_WITH_SCREEN
    return false;
#endif
    if (system("tmux -V >/dev/null 2>&1") == 0)
        return true;
    fputs("tmux is not installed: nothing to show a screen on\n", stderr);
    return false;
}

void tmux_close(void)
{
    char line[128];
    snprintf(line, sizeof line, "tmux -S '%s/.tmux%d' kill-server 2>/dev/null", command_folder(),
             opened);
    if (system(line) != 0)
        return; /* there was none */
}

void tmux_open(int columns, int rows, const char *format, ...)
{
    static bool closed_at_exit = false;
    char path[128], line[512];
    snprintf(path, sizeof path, "%s/.run", command_folder());
    tmux_close();
    opened++;
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    va_list arguments;
    va_start(arguments, format);
    /* curses keeps its terminal tables, which a sanitizer reports as leaks. */
    fputs("export ASAN_OPTIONS=detect_leaks=0\n", file);
    fputs("trap : INT QUIT\n", file); /* these are for the command, not for its shell */
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputs("\nwhile :; do sleep 1000; done\n", file);
    fclose(file);
    snprintf(line, sizeof line,
             "cd '%s' && LC_ALL=C.UTF-8 tmux -u -S .tmux%d -f /dev/null new-session -d "
             "-x %d -y %d 'sh .run'",
             command_folder(), opened, columns, rows);
    ck_assert_int_eq(system(line), 0);
    if (!closed_at_exit)
        atexit(tmux_close);
    closed_at_exit = true;
}

void tmux_type(const char *keys)
{
    char line[512];
    snprintf(line, sizeof line, "tmux -S '%s/.tmux%d' send-keys %s", command_folder(), opened,
             keys);
    ck_assert_int_eq(system(line), 0);
}

void tmux_resize(int columns, int rows)
{
    char line[256];
    snprintf(line, sizeof line, "tmux -S '%s/.tmux%d' resize-window -x %d -y %d", command_folder(),
             opened, columns, rows);
    ck_assert_int_eq(system(line), 0);
}

const char *tmux_screen(void)
{
    char line[128];
    snprintf(line, sizeof line, "tmux -S '%s/.tmux%d' capture-pane -p", command_folder(), opened);
    FILE *pipe = popen(line, "r");
    ck_assert_ptr_nonnull(pipe);
    screen[fread(screen, 1, sizeof screen - 1, pipe)] = '\0';
    ck_assert_msg(pclose(pipe) == 0, "the terminal is gone");
    return screen;
}

static const char *wait_for(const char *expected, bool there)
{
    const struct timespec pause = {.tv_nsec = 1000000000 / LOOKS};
    for (int i = 0; i < COMMAND_PATIENCE * LOOKS; i++) {
        if ((strstr(tmux_screen(), expected) != NULL) == there)
            return screen;
        nanosleep(&pause, NULL);
    }
    ck_abort_msg("\"%s\" %s on the screen:\n%s", expected, there ? "is not" : "is still", screen);
}

const char *tmux_wait(const char *expected)
{
    return wait_for(expected, true);
}

const char *tmux_wait_gone(const char *expected)
{
    return wait_for(expected, false);
}

const char *tmux_row(const char *text, const char *expected)
{
    static char row[1024];
    const char *at = strstr(text, expected);
    ck_assert_msg(at != NULL, "no \"%s\" in\n%s", expected, text);
    while (at > text && at[-1] != '\n')
        at--;
    snprintf(row, sizeof row, "%.*s", (int)strcspn(at, "\n"), at);
    return row;
}
