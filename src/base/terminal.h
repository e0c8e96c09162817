/* The settings of the terminal at standard input and output. They are saved before a change, and
 * restored by terminal_restore, exit() and any signal that ends the program. Threads: the control
 * thread; terminal_restore also in signal handlers. */
#ifndef HALO_TERMINAL_H
#define HALO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether halo is in the foreground. A background process that changes the terminal is stopped. */
bool terminal_is_ours(void);

/* Saves the settings. Copies `farewell` (or NULL), which is printed when they are restored. */
void terminal_keep(const char *farewell);

/* Makes single keys readable, without echo. Signal keys work, not Ctrl-S. After terminal_keep. */
void terminal_take_keys(void);

/* Disables Ctrl-S, which would block writers. */
void terminal_let_run(void);

/* Redirects standard error to the returned non-blocking descriptor until the terminal is restored.
 * Text that is then unread is written to standard error. -1: not a terminal, or no descriptors. */
int terminal_take_errors(void);

/* Restores the settings. No effect if none were saved. */
void terminal_restore(void);

/* ---- output; any thread ---- */

/* The terminal's size in characters; 80 x 24 if unknown. */
void terminal_output_size(size_t *columns, size_t *rows);

enum terminal_colours { TERMINAL_COLOURS_NONE, TERMINAL_COLOURS_256, TERMINAL_COLOURS_ALL };

/* Whether NO_COLOR is set, or CLICOLOR is 0. */
bool terminal_refuses_colours(void);

/* The colours to use on standard output. None if terminal_refuses_colours. None if standard output
 * is not a terminal or TERM names one with few colours, unless FORCE_COLOR or CLICOLOR_FORCE is set
 * and not 0 (no-color.org, bixense.com/clicolors). All: 24 bits, if COLORTERM says so. */
enum terminal_colours terminal_output_colours(void);

#endif
