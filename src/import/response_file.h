/* A frequency response as text: calibrations of microphones (.cal, UMIK), .frd, exports of REW,
 * AutoEq's tables and others. A line holds a frequency in Hz, a level in dB and perhaps more: a
 * phase, or other levels, of which one column is chosen.
 *
 * Columns are separated by blanks, semicolons or commas. A comma is a decimal mark if something
 * else separates: `20,5 -3,0`, `20,5;-3,0`, `20,5, -3,0`. Numbers may have units (`20Hz -3 dB`, `1
 * kHz`). Before the first line of numbers, lines that do not begin with two numbers are remarks.
 * The last of these may name the columns. After the first line of numbers, remarks begin with * # "
 * ; % or /. A frequency of 0 Hz is left out. Frequencies may be in any order. They are in kHz if
 * the line with the names says so and none is above 100.
 *
 * Threads: any. Not real-time. */
#ifndef HALO_RESPONSE_FILE_H
#define HALO_RESPONSE_FILE_H

#include "import/mask_reader.h"
#include <stdio.h>

/* ---- a level over frequency ----
 *
 * Linear between its points on a logarithmic axis of frequency. Constant below the first point and
 * above the last. Levels are in dB, frequencies in Hz. */

enum { LEVEL_CURVE_MOST = 300 /* dB; levels are from -300 to 300 */ };

/* All zero: no points. */
struct level_curve {
    struct mask_values octaves; /* log2 of Hz, rising */
    struct mask_values levels;  /* dB */
};

/* _add: adds a point above the last, or anywhere if level_curve_sort follows. Errors: memory. */
MUST_CHECK enum status level_curve_add(struct level_curve *curve, double hertz, double level);
MUST_CHECK enum status level_curve_sort(struct level_curve *curve);
void level_curve_scale(struct level_curve *curve, double factor); /* multiplies all frequencies */
void level_curve_free(struct level_curve *curve);

/* The level at a frequency. The curve must have a point. */
double level_curve_at(const struct level_curve *curve, double hertz);

/* The mean level over the logarithm of frequency, from the first point to the last. */
double level_curve_mean(const struct level_curve *curve);

/* The linear gains of taps at a curve's frequencies; NAN from half the rate. Errors: memory. */
MUST_CHECK enum status level_curve_measure(const struct level_curve *curve, double rate,
                                           const double *taps, size_t count, double *gains);

/* The error of a gain, in dB. Counts less if `wanted` is below `least`, and so less audible. */
double level_curve_error(double gain, double wanted, double least);

size_t level_curve_count(const struct level_curve *curve);
double level_curve_hertz(const struct level_curve *curve, size_t point);

/* ---- a file with a level over frequency ---- */

struct response_file {
    struct level_curve curve;
    size_t columns; /* columns of numbers */
    size_t chosen;  /* number of the column that holds the levels, from 1 */
    bool is_sorted; /* the lines were not in order of frequency */
    bool is_khz;    /* the file has frequencies in kHz; `curve` has Hz */
    char *names;    /* the line of the file that names the columns; NULL: none */
};

/* Reads a whole file. `column` is the name of the column with the levels, or its number from 1;
 * NULL: the second. Errors, with the file and line: no such file, not text, no line of numbers,
 * less than two frequencies, a frequency twice, ambiguous commas, no such column, memory. */
MUST_CHECK enum status response_file_load(const char *file, const char *column,
                                          struct response_file *response);
void response_file_free(struct response_file *response);

/* Reads a response from a stream. `file` is its name for messages. */
MUST_CHECK enum status response_file_read(const char *file, FILE *stream, const char *column,
                                          struct response_file *response);

/* Copies the name of column `column`, counted from 1, into `name`. "": it has none. */
enum { RESPONSE_NAME_MOST = 40 };
void response_file_name(const struct response_file *response, size_t column,
                        char name[RESPONSE_NAME_MOST + 1]);

/* Fails, with the message that a mask file holds a frequency response. */
MUST_CHECK enum status response_file_refuse_as_taps(const char *file);

#endif
