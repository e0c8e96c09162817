/* The command line as it was typed, for messages that give a line to paste, and its words quoted
 * for a shell. Threads: kept by the main one before any other is started, then any. */
#ifndef HALO_COMMAND_LINE_H
#define HALO_COMMAND_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* `words` must stay: main's argv. */
void command_line_keep(char *const *words);

/* One of the words is the argument of that place, counted from 0: no option, nor another's value.
 */
void command_line_keep_argument(size_t place, const char *word);

/* Word `index`, or the argument of that place; NULL: there is none. */
const char *command_line_word(size_t index);
const char *command_line_argument(size_t index);

/* Whether word `index` is an argument, of any place. */
bool command_line_is_argument(size_t index);

/* A word of any bytes but 0, so that sh reads it again as that word: as it is, in quotes, or by
 * printf where it has bytes that a terminal would not show. */
void command_line_quote(FILE *line, const char *word);

#endif
