#include "bench/bench_columns.h"

#include "base/json_text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

static json_t *value_of(const struct bench_column *column, const void *row)
{
    const void *field = (const char *)row + column->offset;
    double number;
    switch (column->field) {
    case COLUMN_COUNT:
        return *(const size_t *)field == SIZE_MAX
                   ? json_null()
                   : json_integer((json_int_t) * (const size_t *)field);
    case COLUMN_RATE:
        return json_integer(*(const uint32_t *)field);
    case COLUMN_FLAG:
        return json_boolean(*(const bool *)field);
    case COLUMN_TEXT:
        field = *(const char *const *)field;
        return field ? json_string(field) : json_null();
    case COLUMN_CHARS:
    case COLUMN_QUOTED:
        return json_string(field);
    default:
        number = *(const double *)field * (column->field == COLUMN_MICROSECONDS ? 1e6 : 1);
        return isfinite(number) ? json_real(number) : json_null();
    }
}

static void print_csv_value(const struct bench_column *column, const void *row)
{
    json_t *value = value_of(column, row);
    if (json_is_string(value))
        printf(column->field == COLUMN_QUOTED ? "\"%s\"" : "%s", json_string_value(value));
    else if (json_is_real(value) && column->field == COLUMN_DECIBELS)
        printf("%.1f", json_real_value(value));
    else if (json_is_real(value))
        printf("%.*g", column->field > 0 ? column->field : 9, json_real_value(value));
    else if (json_is_boolean(value))
        printf("%d", json_is_true(value));
    else if (json_is_integer(value))
        printf("%lld", (long long)json_integer_value(value));
    json_decref(value);
}

void bench_print_csv_head(const struct bench_column *columns)
{
    for (const struct bench_column *c = columns; c->name; c++)
        if (c->output & IN_CSV)
            printf("%s%s", c > columns ? "," : "", c->name);
    putchar('\n');
}

void bench_print_csv_row(const struct bench_column *columns, const void *row)
{
    for (const struct bench_column *c = columns; c->name; c++)
        if (c->output & IN_CSV) {
            fputs(c > columns ? "," : "", stdout);
            print_csv_value(c, row);
        }
    putchar('\n');
}

json_t *bench_json_row(const struct bench_column *columns, const void *row)
{
    json_t *object = json_object();
    for (const struct bench_column *c = columns; c->name; c++)
        if (c->output & IN_JSON)
            json_object_set_new(object, c->name, value_of(c, row));
    return object;
}

enum status bench_rows_add(struct bench_rows *rows, const struct bench_column *columns,
                           const void *row)
{
    if (rows->form == BENCH_CSV && rows->count == 0)
        bench_print_csv_head(columns);
    if (rows->form == BENCH_CSV)
        bench_print_csv_row(columns, row);
    if (rows->form == BENCH_JSON && !rows->cells)
        rows->cells = json_array();
    if (rows->form == BENCH_JSON &&
        json_array_append_new(rows->cells, bench_json_row(columns, row)) != 0)
        return fail_memory("a report");
    rows->count++;
    fflush(stdout);
    return STATUS_OK;
}

enum status bench_rows_finish(const struct bench_rows *rows)
{
    if (rows->form != BENCH_JSON)
        return STATUS_OK;
    return json_print(json_pack("{s:O}", "cells", rows->cells), JSON_REAL_PRECISION(9),
                      "the report");
}
