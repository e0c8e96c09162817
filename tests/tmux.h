/* A terminal to run programs in, type at and look at: tmux, with a server of its own. */
#ifndef HALO_TESTS_TMUX_H
#define HALO_TESTS_TMUX_H

#include <stdbool.h>

/* Is tmux installed, and a screen built in? Prints that tmux is not. */
bool tmux_there(void);

/* Run a shell command (printf format) in a terminal of that size, in command_folder(), with
 * the variables of command_run. One at a time: an earlier one is ended. The terminal stays
 * when the command is done. */
void tmux_open(int columns, int rows, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tmux_close(void);

/* Keys as tmux names them, "2 m C-c Left": a blank between two. */
void tmux_type(const char *keys);

void tmux_resize(int columns, int rows);

/* What is on the screen, UTF-8, a line a row. Valid until the next call. */
const char *tmux_screen(void);

/* Wait until it has `words` (or has them no more) and return it; the test fails if that
 * takes more than 20 seconds. */
const char *tmux_wait(const char *spec);
const char *tmux_wait_gone(const char *spec);

#endif
