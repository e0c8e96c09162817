/* Tables of numbers as spreadsheets and other programs write them. The fields of a line are
 * separated by blanks, tabs, semicolons or commas, with or without quotes. Also finds out what the
 * first column holds. Threads: any. */
#ifndef HALO_NUMBER_TABLE_H
#define HALO_NUMBER_TABLE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum comma_role { COMMA_UNKNOWN, COMMA_SEPARATES, COMMA_IS_DECIMAL };

/* Whether a line has only characters of numbers and their separators. */
bool number_line_is(const char *line);

/* Whether a line, after blanks, begins as a remark of Matlab, C or an assembler (% // ;), or is
 * Excel's sep= line, which names the separator. After numbers, these signs begin no remark, since
 * the meaning of 50% is not known. */
bool number_line_is_remark(const char *line);

/* Replaces all that can only separate by blanks: quotes, semicolons, and commas beside a blank. If
 * one comma is beside a quote, all commas outside quotes are replaced. */
void number_line_blank(char *line);

/* Which cells between semicolons, or separating commas, are empty, before the last cell that is
 * not. One bit a cell, again from bit 0 after 64. Call before number_line_blank closes gaps. */
uint64_t number_line_gaps(const char *line, enum comma_role role);

/* The number of fields that blanks separate. */
size_t number_line_fields(const char *line);

/* Replaces the commas by decimal points or blanks, as `role` says. With COMMA_UNKNOWN they stay. */
void number_line_settle(char *line, enum comma_role role);

/* The most columns whose names are read. */
enum { NUMBER_LINE_NAMES_MOST = 256 };

/* The name of a column, counted from 1, in a line that names columns. *length: its bytes. NULL:
 * none. Names are texts between semicolons, tabs or commas; without these, they are words. */
const char *number_line_name(const char *line, size_t column, size_t *length);
size_t number_line_names(const char *line); /* how many names the line has */

/* The number of columns that a line names. The first name may be empty, as that of an index. 0: the
 * line names no columns, but is a number, a setting (fs=48000) or something else. */
size_t number_line_header(const char *line);

/* What the lines of a file show about their commas. All zero at first. */
struct comma_evidence {
    bool separates, is_decimal;
};

/* Looks at a line after number_line_blank. A comma separates if its field also has a point, an
 * exponent or a sign. It is a decimal mark if blanks separate fields. */
void comma_evidence_add(struct comma_evidence *evidence, const char *line);

/* ---- the first of several columns ----
 *
 * Programs write times, counts or frequencies there. As taps these would be noise. */
enum first_column_kind {
    FIRST_COLUMN_TAPS,
    FIRST_COLUMN_COUNTS,      /* 0 1 2 ... or 1 2 3 ... */
    FIRST_COLUMN_TIMES,       /* rising evenly */
    FIRST_COLUMN_FREQUENCIES, /* in any order */
};

struct first_column {
    enum first_column_kind kind;
    uint32_t rate; /* rate that the times have, in Hz; 0: no usual rate */
};

/* Looks at rows of `width` finite numbers, without the first `left_out` columns. Errors: memory. */
MUST_CHECK enum status first_column_find(const double *values, size_t rows, size_t width,
                                         size_t left_out, struct first_column *found);

/* The usual sampling rate that differs from `rate` by at most a thousandth; 0: none. */
uint32_t usual_rate(double rate);

#endif
