/* A frequency response as text: calibrations of microphones (.cal, UMIK), .frd, exports of REW,
 * AutoEq's tables and others. A line holds a frequency in Hz, a level in dB and perhaps more: a
 * phase, or other levels, of which one is chosen.
 *
 * Columns are separated by blanks, semicolons or commas. A comma is a decimal mark where something
 * else separates: `20,5 -3,0`, `20,5;-3,0`, `20,5, -3,0`. Numbers may have units (`20Hz -3 dB`,
 * `1 kHz`). Lines that begin otherwise than with two numbers are remarks until the first line of
 * numbers, the last of which may name the columns; after it remarks begin with * # " ; % or /. A
 * frequency of 0 Hz is left out. Frequencies may be in any order, and in kHz where that line says
 * so and none is above 100.
 *
 * Threads: any. Not real-time.
 */
#ifndef HALO_RESPONSE_FILE_H
#define HALO_RESPONSE_FILE_H

#include "import/mask_reader.h"
#include <stdio.h>

/* ---- a level over frequency ----
 *
 * Linear between its points on a logarithmic axis of frequency, constant beyond the first and the
 * last. Levels are in dB, frequencies in Hz. */

enum { LEVEL_CURVE_MOST = 300 /* dB: no level is beyond it, either way */ };

/* All zero: no points. */
struct level_curve {
    struct mask_values octaves; /* log2 of Hz, rising */
    struct mask_values levels;  /* dB */
};

/* Add a point above the last one, or anywhere, to be sorted later. Errors: memory. */
MUST_CHECK enum status level_curve_add(struct level_curve *curve, double hertz, double level);
MUST_CHECK enum status level_curve_sort(struct level_curve *curve);
void level_curve_scale(struct level_curve *curve, double factor); /* all frequencies */
void level_curve_free(struct level_curve *curve);

/* The level at a frequency; the curve has a point. */
double level_curve_at(const struct level_curve *curve, double hertz);

/* The mean over the logarithm of frequency, from the first point to the last. */
double level_curve_mean(const struct level_curve *curve);

/* The gains of taps at the curve's frequencies, linear; NAN from half the rate on. Errors: memory.
 */
MUST_CHECK enum status level_curve_measure(const struct level_curve *curve, double rate,
                                           const double *taps, size_t count, double *gains);

/* How far a gain is from the wanted one, in dB; below `least` less counts, as it is heard. */
double level_curve_error(double gain, double wanted, double least);

size_t level_curve_count(const struct level_curve *curve);
double level_curve_hertz(const struct level_curve *curve, size_t point);

/* ---- a file of it ---- */

struct response_file {
    struct level_curve curve;
    size_t columns; /* of numbers */
    size_t chosen;  /* that holds the levels, from 1 */
    bool is_sorted; /* its lines were in another order */
    bool is_khz;    /* so were its frequencies, before they were read */
    char *names;    /* of the columns, as the file has them; NULL: it has none */
};

/* Read a whole file. `column` is the name of the one with the levels, or its number from 1; NULL:
 * the second. Errors, with the file and line: no such file, not text, no line of numbers, less than
 * two frequencies, one of them twice, commas that may be either, no such column, memory. */
MUST_CHECK enum status response_file_load(const char *file, const char *column,
                                          struct response_file *response);
void response_file_free(struct response_file *response);

/* Read a response from a stream; `file` is for messages. */
MUST_CHECK enum status response_file_read(const char *file, FILE *stream, const char *column,
                                          struct response_file *response);

/* The name of a column, from 1, in `name`; empty: it has none. */
enum { RESPONSE_NAME_MOST = 40 };
void response_file_name(const struct response_file *response, size_t column,
                        char name[RESPONSE_NAME_MOST + 1]);

/* fail(), since a mask file holds a response. */
MUST_CHECK enum status response_file_refuse_as_taps(const char *file);

#endif
