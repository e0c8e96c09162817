/* Reads lines of numbers, with a limit on their length. Removes line ends (LF or CRLF) and the byte
 * order mark of Windows editors. Replaces typographic minus signs and blanks by ASCII. */
#ifndef HALO_TEXT_LINES_H
#define HALO_TEXT_LINES_H

#include "base/status.h"

#include <stdio.h>

struct text_lines {
    const char *file; /* for messages */
    FILE *stream;
    size_t number; /* number of the line, from 1; 0 before the first line */
    char *line;
};

/* Errors: memory. `file` and `stream` still belong to the caller. */
MUST_CHECK enum status text_lines_init(struct text_lines *lines, const char *file, FILE *stream);
void text_lines_free(struct text_lines *lines);

/* The next line, which is writable and valid until the next call. NULL: the end. Errors: a line
 * that is too long or has a zero byte, reading. */
MUST_CHECK enum status text_lines_next(struct text_lines *lines, char **line);

/* Goes back to the first line. */
void text_lines_restart(struct text_lines *lines);

/* Replaces typographic minus signs and blanks by ASCII, in place. */
void text_lines_plain(char *line);

/* fail() with the file and line number before the message. */
MUST_CHECK enum status text_lines_refuse(const struct text_lines *lines, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* Parses a number. A decimal comma is accepted if it cannot separate numbers: `is_single` (the word
 * is one number), or many digits follow. False: not a number, or not finite as a float. */
bool text_number(const char *word, bool is_single, double *value);

#endif
