/* Runs programs in a terminal, types keys and reads the screen: tmux, with a private server. */
#ifndef HALO_TESTS_TMUX_H
#define HALO_TESTS_TMUX_H

#include <stdbool.h>

/* Whether tmux is installed and the screen is built in. Prints a message without tmux. */
bool tmux_there(void);

/* Run a shell command (printf format) in a terminal of that size, in command_folder(), with the
 * variables of command_run. One at a time: an earlier one is ended. The terminal stays open
 * after the command. */
void tmux_open(int columns, int rows, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void tmux_close(void);

/* Keys by their tmux names, separated by blanks: "2 m C-c Left". */
void tmux_type(const char *keys);

void tmux_resize(int columns, int rows);

/* The contents of the screen, UTF-8, one line per row. Valid until the next call. */
const char *tmux_screen(void);

/* Wait until the screen contains `expected` (or no longer does) and return it; the test fails if
 * that takes longer than COMMAND_PATIENCE. */
const char *tmux_wait(const char *expected);
const char *tmux_wait_gone(const char *expected);

/* The row of a screen that contains `expected`; the test fails if there is none. Valid until the
 * next call. */
const char *tmux_row(const char *text, const char *expected);

#endif
