#include "bench/render_table.h"

#include "bench/bench_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct render_table {
    struct bench_rows rows;
};

#define ROW(field) offsetof(struct render_row, field)

static const struct bench_column columns[] = {
    {"channels", ROW(cell.channels), COLUMN_COUNT, IN_BOTH},
    {"taps", ROW(cell.taps), COLUMN_COUNT, IN_BOTH},
    {"rate", ROW(cell.rate), COLUMN_RATE, IN_BOTH},
    {"seconds", ROW(cell.seconds), 9, IN_BOTH},
    {"rounds", ROW(cell.rounds), COLUMN_COUNT, IN_BOTH},
    {"threads", ROW(threads), COLUMN_COUNT, IN_BOTH},
    {"backend", ROW(backend), COLUMN_CHARS, IN_BOTH},
    {"algorithm", ROW(algorithm), COLUMN_QUOTED, IN_BOTH},
    {"block", ROW(block), COLUMN_COUNT, IN_BOTH},
    {"wall_s", ROW(wall), 9, IN_BOTH},
    {"wall_least_s", ROW(wall_least), 9, IN_BOTH},
    {"wall_most_s", ROW(wall_most), 9, IN_BOTH},
    {"user_s", ROW(user), 9, IN_BOTH},
    {"system_s", ROW(system), 9, IN_BOTH},
    {"times_real_time", ROW(speed), 9, IN_BOTH},
    {"peak_bytes", ROW(peak_bytes), 9, IN_BOTH},
    {"copy_s", ROW(copy), 9, IN_BOTH},
    {"transforms_s", ROW(transforms), 9, IN_BOTH},
    {"transform_pairs", ROW(transform_pairs), COLUMN_COUNT, IN_BOTH},
    {"distance", ROW(distance), 9, IN_BOTH},
    {0},
};

enum status render_table_create(enum bench_form form, struct render_table **result)
{
    *result = calloc(1, sizeof **result);
    if (!*result)
        return fail_memory("a report");
    (*result)->rows.form = form;
    return STATUS_OK;
}

void render_table_destroy(struct render_table *table)
{
    if (!table)
        return;
    json_decref(table->rows.cells);
    free(table);
}

enum { NUMBER_CAPACITY = 32 };

/* Empty where it is not known. */
static const char *fixed_text(char *text, int decimals, double value)
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, NUMBER_CAPACITY, "%.*f", decimals, value);
    return text;
}

static void print_table_row(const struct render_row *row, bool first)
{
    const struct render_cell *cell = &row->cell;
    char peak[NUMBER_CAPACITY], transforms[NUMBER_CAPACITY], distance[NUMBER_CAPACITY];
    if (first)
        printf("%g s of %u Hz float WAV, %zu thread%s, %zu round%s; seconds are medians\n\n"
               "| channels | taps | backend | algorithm | block | wall s | spread | user s | "
               "system s | x real time | peak MB | copy s | transforms s | "
               "wall / (copy + transforms) |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
               cell->seconds, cell->rate, row->threads, row->threads == 1 ? "" : "s", cell->rounds,
               cell->rounds == 1 ? "" : "s");
    printf("| %zu | %zu | %s | %s | %zu | %.3f | %.3f..%.3f | %.3f | %.3f | %.0f | %s | %.3f | %s "
           "| %s |\n",
           cell->channels, cell->taps, row->backend, row->algorithm, row->block, row->wall,
           row->wall_least, row->wall_most, row->user, row->system, row->speed,
           fixed_text(peak, 1, row->peak_bytes / 1e6), row->copy,
           fixed_text(transforms, 3, row->transforms), fixed_text(distance, 2, row->distance));
}

enum status render_table_take(struct render_table *table, const struct render_row *row)
{
    if (table->rows.form == BENCH_TABLE)
        print_table_row(row, table->rows.count == 0);
    return bench_rows_add(&table->rows, columns, row);
}

enum status render_table_finish(struct render_table *table)
{
    return bench_rows_finish(&table->rows);
}
