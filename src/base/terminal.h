/* The terminal's settings: kept before they are changed, and put back however the program
 * ends: by terminal_restore, by exit(), and by any signal that ends it.
 *
 * One program, one terminal: that of standard input and output.
 * Threads: the control thread's; terminal_restore also in signal handlers.
 */
#ifndef HALO_TERMINAL_H
#define HALO_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

/* Are we, and not the shell, at standard input's terminal? Whoever changes a terminal from
 * the background is stopped. */
bool terminal_is_ours(void);

/* Keep how the terminal is now. `farewell` is written when it is restored, to leave what a
 * screen had switched on; NULL: nothing. It is copied. */
void terminal_keep(const char *farewell);

/* Keys come one by one and are not echoed; signals from keys stay, Ctrl-S does not. After
 * terminal_keep. */
void terminal_take_keys(void);

/* Ctrl-S no longer stops what is written, which would stop whoever writes. */
void terminal_let_run(void);

/* What libraries write to standard error comes out of the returned descriptor instead,
 * which never waits, until the terminal is restored; then what was not read is written where
 * it was meant to go. -1: standard error is no terminal, or there are no descriptors. */
int terminal_take_errors(void);

/* Without effect when nothing is kept. */
void terminal_restore(void);

/* ---- what the terminal at standard output can show, where there is one; any thread ---- */

/* In characters; 80 x 24 where it is no terminal or does not tell. */
void terminal_output_size(size_t *columns, size_t *rows);

enum terminal_colours { TERMINAL_COLOURS_NONE, TERMINAL_COLOURS_256, TERMINAL_COLOURS_ALL };

/* None where standard output is no terminal, where TERM names one without (or with a few), or
 * where the user wants none: NO_COLOR is set (no-color.org). All: 24 bits, as COLORTERM tells. */
enum terminal_colours terminal_output_colours(void);

#endif
