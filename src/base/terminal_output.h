/* What the terminal at standard output can show, where there is one. Threads: any. */
#ifndef HALO_TERMINAL_OUTPUT_H
#define HALO_TERMINAL_OUTPUT_H

#include <stddef.h>

/* In characters; 80 x 24 where it is no terminal or does not tell. */
void terminal_output_size(size_t *columns, size_t *rows);

enum terminal_colours { TERMINAL_COLOURS_NONE, TERMINAL_COLOURS_256, TERMINAL_COLOURS_ALL };

/* None where standard output is no terminal, where TERM names one without (or with a few), or
 * where the user wants none: NO_COLOR is set (no-color.org). All: 24 bits, as COLORTERM tells. */
enum terminal_colours terminal_output_colours(void);

#endif
