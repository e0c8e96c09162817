/* Tables of numbers as spreadsheets and other programs write them: their lines, separated by
 * blanks, tabs, semicolons or commas, in quotes or not; and what their first column holds. Threads:
 * any. */
#ifndef HALO_NUMBER_TABLE_H
#define HALO_NUMBER_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum comma_role { COMMA_UNKNOWN, COMMA_SEPARATES, COMMA_IS_DECIMAL };

/* Whether a line holds nothing but what numbers and their separators are written with. */
bool number_line_is(const char *line);

/* Whether a line, behind blanks, is a remark of Matlab, C or an assembler (% // ;), or Excel's
 * sep=; that says what separates. Such a remark ends no line of numbers: what 50% means is not
 * known. */
bool number_line_is_remark(const char *line);

/* Blanks instead of all that can only separate: quotes, semicolons, commas beside a blank or, where
 * one is beside a quote, all that are in none. */
void number_line_blank(char *line);

/* Which cells between semicolons, or commas that separate, are empty before the last that is not: a
 * bit each, again from the first after 64. Look before number_line_blank, which closes gaps. */
uint64_t number_line_gaps(const char *line, enum comma_role role);

/* How many fields blanks separate. */
size_t number_line_fields(const char *line);

/* Replace the commas by what they are; unknown ones stay. */
void number_line_settle(char *line, enum comma_role role);

enum { NUMBER_LINE_NAMES_MOST = 256 };

/* A line that names columns: the name of one, counted from 1, of *length bytes, or NULL. Names are
 * texts between semicolons, tabs or commas, or else words; those beyond the most are none. */
const char *number_line_name(const char *line, size_t column, size_t *length);
size_t number_line_names(const char *line); /* how many */

/* How many columns a line names, the first perhaps by nothing, as that of an index; 0: it names
 * none, but is a number, a setting (fs=48000) or something else. */
size_t number_line_header(const char *line);

/* What the lines of a file say about their commas; initially zero. */
struct comma_evidence {
    bool separates, is_decimal;
};

/* Look at a line behind number_line_blank. A comma with a point, an exponent or a sign separates
 * in its field; it is a decimal mark where blanks separate fields. */
void comma_evidence_add(struct comma_evidence *evidence, const char *line);

/* ---- the first of several columns ----
 *
 * Programs write times, counts or frequencies there, and as taps those would be noise. */
enum first_column_kind {
    FIRST_COLUMN_TAPS,
    FIRST_COLUMN_COUNTS,      /* 0 1 2 ... or 1 2 3 ... */
    FIRST_COLUMN_TIMES,       /* rises evenly */
    FIRST_COLUMN_FREQUENCIES, /* in any order */
};

struct first_column {
    enum first_column_kind kind;
    uint32_t rate; /* of times, in Hz; 0: none that is usual */
};

/* Look at a table of finite numbers, row after row of `width`. Its first `left_out` columns do not
 * count. Errors: memory. */
MUST_CHECK enum status first_column_find(const double *values, size_t rows, size_t width,
                                         size_t left_out, struct first_column *found);

/* The usual sampling rate that differs by a thousandth at most; 0: none. */
uint32_t usual_rate(double rate);

#endif
