#include "bench/render_table.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct render_table {
    enum bench_form form;
    size_t count;
    json_t *cells;
};

enum status render_table_create(enum bench_form form, struct render_table **result)
{
    *result = NULL;
    struct render_table *table = calloc(1, sizeof *table);
    if (!table)
        return fail_memory("a report");
    table->form = form;
    table->cells = json_array();
    *result = table;
    return STATUS_OK;
}

void render_table_destroy(struct render_table *table)
{
    if (!table)
        return;
    json_decref(table->cells);
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

static const char *exact_text(char *text, double value)
{
    text[0] = '\0';
    if (isfinite(value))
        snprintf(text, NUMBER_CAPACITY, "%.9g", value);
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
           row->wall_least, row->wall_most, row->user, row->system, render_row_speed(row),
           fixed_text(peak, 1, row->peak_bytes / 1e6), row->copy,
           fixed_text(transforms, 3, row->transforms),
           fixed_text(distance, 2, render_row_distance(row)));
}

/* An empty field: not known, or not the CPU's. */
static void print_csv_row(const struct render_row *row, bool first)
{
    const struct render_cell *cell = &row->cell;
    char peak[NUMBER_CAPACITY], transforms[NUMBER_CAPACITY], distance[NUMBER_CAPACITY];
    if (first)
        puts("channels,taps,rate,seconds,rounds,threads,backend,algorithm,block,wall_s,"
             "wall_least_s,wall_most_s,user_s,system_s,times_real_time,peak_bytes,copy_s,"
             "transforms_s,transform_pairs,distance");
    printf("%zu,%zu,%u,%.9g,%zu,%zu,%s,\"%s\",%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%s,%.9g,%s,%llu,"
           "%s\n",
           cell->channels, cell->taps, cell->rate, cell->seconds, cell->rounds, row->threads,
           row->backend, row->algorithm, row->block, row->wall, row->wall_least, row->wall_most,
           row->user, row->system, render_row_speed(row), exact_text(peak, row->peak_bytes),
           row->copy, exact_text(transforms, row->transforms),
           (unsigned long long)row->transform_pairs,
           exact_text(distance, render_row_distance(row)));
}

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *cell_object(const struct render_row *row)
{
    const struct render_cell *cell = &row->cell;
    json_t *object = json_pack(
        "{s:I, s:I, s:I, s:f, s:I, s:I, s:s, s:s, s:I}", "channels", (json_int_t)cell->channels,
        "taps", (json_int_t)cell->taps, "rate", (json_int_t)cell->rate, "seconds", cell->seconds,
        "rounds", (json_int_t)cell->rounds, "threads", (json_int_t)row->threads, "backend",
        row->backend, "algorithm", row->algorithm, "block", (json_int_t)row->block);
    json_t *numbers = json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:I, s:o}", "wall_s", row->wall,
        "wall_least_s", row->wall_least, "wall_most_s", row->wall_most, "user_s", row->user,
        "system_s", row->system, "times_real_time", render_row_speed(row), "peak_bytes",
        number_or_null(row->peak_bytes), "copy_s", row->copy, "transforms_s",
        number_or_null(row->transforms), "transform_pairs", (json_int_t)row->transform_pairs,
        "distance", number_or_null(render_row_distance(row)));
    json_object_update(object, numbers);
    json_decref(numbers);
    return object;
}

enum status render_table_take(struct render_table *table, const struct render_row *row)
{
    bool first = table->count++ == 0;
    if (table->form == BENCH_TABLE)
        print_table_row(row, first);
    else if (table->form == BENCH_CSV)
        print_csv_row(row, first);
    else if (json_array_append_new(table->cells, cell_object(row)) != 0)
        return fail_memory("a report");
    fflush(stdout);
    return STATUS_OK;
}

enum status render_table_finish(struct render_table *table)
{
    if (table->form != BENCH_JSON)
        return STATUS_OK;
    json_t *root = json_pack("{s:O}", "cells", table->cells);
    int failed = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
    return failed ? fail(STATUS_FAILED, "cannot write the report") : STATUS_OK;
}
