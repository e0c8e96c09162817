/* Reads lines of numbers, with a limit on length. Removes line ends (LF or CRLF) and the byte order
 * mark of Windows editors; the minus signs and blanks of typography become those of ASCII. */
#ifndef HALO_TEXT_LINES_H
#define HALO_TEXT_LINES_H

#include "base/status.h"

#include <stdio.h>

struct text_lines {
    const char *file; /* for messages */
    FILE *stream;
    size_t number; /* of the line, from 1; 0 before the first */
    char *line;
};

/* Errors: memory. `file` and `stream` stay the caller's. */
MUST_CHECK enum status text_lines_init(struct text_lines *lines, const char *file, FILE *stream);
void text_lines_free(struct text_lines *lines);

/* The next line, writable and valid until the next call; NULL at the end.
 * Errors: a line that is too long or holds a zero byte, reading. */
MUST_CHECK enum status text_lines_next(struct text_lines *lines, char **line);

/* Go back to the first line. */
void text_lines_restart(struct text_lines *lines);

/* Replace those signs and blanks, in place. */
void text_lines_plain(char *line);

/* fail(), with the file and line number first. */
MUST_CHECK enum status text_lines_refuse(const struct text_lines *lines, const char *format, ...)
    PRINTF_LIKE(2, 3);

/* A number; a decimal comma is accepted where it cannot separate two numbers: of a word that is
 * known to be a single one, or before many digits. False: not a number, or not finite as a float.
 */
bool text_number(const char *word, bool is_single, double *value);

#endif
