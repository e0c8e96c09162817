/* A frequency response as text: calibrations of microphones (.cal, UMIK), .frd, exports of REW and
 * others. A line holds a frequency in Hz, a level in dB and perhaps a phase, which is not read.
 * Frequencies rise.
 *
 * Columns are separated by blanks, semicolons or commas. A comma is a decimal mark where something
 * else separates: `20,5 -3,0`, `20,5;-3,0`, `20,5, -3,0`. Lines that begin otherwise than with two
 * numbers are remarks until the first line of numbers, and after it where they begin with * # " ; %
 * or /. A frequency of 0 Hz is left out.
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_RESPONSE_FILE_H
#define HALO_RESPONSE_FILE_H

#include "mask/level_curve.h"

#include <stdio.h>

struct response_file {
    struct level_curve curve;
    size_t columns; /* of numbers */
};

/* Read a whole file. Errors, with the file and line: no such file, not text, no line of numbers,
 * frequencies that do not rise, commas that may be either, memory. */
MUST_CHECK enum status response_file_load(const char *file, struct response_file *response);
void response_file_free(struct response_file *response);

/* The same from a stream; `file` is for messages. */
MUST_CHECK enum status response_file_read(const char *file, FILE *stream,
                                          struct response_file *response);

#endif
