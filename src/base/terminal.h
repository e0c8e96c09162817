/* The settings of the terminal at standard input and output: saved before a change, and restored by
 * terminal_restore, exit() and any signal that ends the program.
 * Threads: the control thread's; terminal_restore also in signal handlers.
 */
#ifndef HALO_TERMINAL_H
#define HALO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether halo is in the foreground of the terminal; a background process that changes it is
 * stopped. */
bool terminal_is_ours(void);

/* Save the settings. `farewell` is copied, and written when they are restored; NULL: nothing. */
void terminal_keep(const char *farewell);

/* Read single keys without echo; keys for signals still work, Ctrl-S does not. After terminal_keep.
 */
void terminal_take_keys(void);

/* Disable Ctrl-S, which would block writers. */
void terminal_let_run(void);

/* Redirect standard error to the returned non-blocking descriptor until the terminal is restored;
 * unread text is then written to standard error. -1: not a terminal, or no descriptors. */
int terminal_take_errors(void);

/* No effect if nothing was saved. */
void terminal_restore(void);

/* ---- output; any thread ---- */

/* In characters; 80 x 24 if unknown. */
void terminal_output_size(size_t *columns, size_t *rows);

enum terminal_colours { TERMINAL_COLOURS_NONE, TERMINAL_COLOURS_256, TERMINAL_COLOURS_ALL };

/* Whether NO_COLOR is set, or CLICOLOR is 0. */
bool terminal_refuses_colours(void);

/* None if standard output is not a terminal or TERM names one with few colours, unless FORCE_COLOR
 * or CLICOLOR_FORCE is set and not 0; and none if terminal_refuses_colours (no-color.org,
 * bixense.com/clicolors). All: 24 bits, by COLORTERM. */
enum terminal_colours terminal_output_colours(void);

#endif
