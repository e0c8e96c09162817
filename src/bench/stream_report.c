#include "bench/stream_report.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const stream_pace_names[] = {"paced", "spun", "back-to-back", NULL};
const char *const stream_mode_names[] = {"auto", "resident", "graph", NULL};

struct stream_report {
    enum bench_form form;
    size_t count;
    bool disturbed; /* a paced row without the priority */
    json_t *cells;
};

enum status stream_report_create(enum bench_form form, struct stream_report **result)
{
    *result = NULL;
    struct stream_report *report = calloc(1, sizeof *report);
    if (!report)
        return fail_memory("a report");
    report->form = form;
    report->cells = json_array();
    *result = report;
    return STATUS_OK;
}

void stream_report_destroy(struct stream_report *report)
{
    if (!report)
        return;
    json_decref(report->cells);
    free(report);
}

static double times_real_time(const struct stream_row *row)
{
    return (double)row->blocks * row->period / row->sum;
}

/* Paced and spun cells have none: what they spend waiting is in theirs. */
static double cpu_per_second(const struct stream_row *row)
{
    return row->cpu / ((double)row->blocks * row->period);
}

static void print_table_row(const struct stream_row *row, bool first)
{
    const struct stream_cell *cell = &row->cell;
    char backend[32], late[24] = "", speed[48] = " | ", error[24] = "exact";
    bool paced = cell->pace != STREAM_BACK_TO_BACK;
    if (first)
        printf("%u Hz, %zu thread%s; times in microseconds\n\n"
               "| backend | pace | block | channels | taps | algorithm | blocks | deadline | p50 | "
               "p99 | p99.9 | p99.99 | max | p50 of deadline | missed | late | x real time | "
               "cpu s per s | error dB |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
               cell->rate, cell->threads, cell->threads == 1 ? "" : "s");
    snprintf(backend, sizeof backend, "%s%s%s", cell->backend, cell->gpu_mode ? " " : "",
             cell->gpu_mode ? stream_mode_names[cell->gpu_mode] : "");
    if (paced)
        snprintf(late, sizeof late, "%zu", row->late);
    else
        snprintf(speed, sizeof speed, "%.1f | %.5f", times_real_time(row), cpu_per_second(row));
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.0f", row->error_db);
    printf("| %s | %s | %zu | %zu | %zu | %s | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | "
           "%.2f %% | %zu | %s | %s | %s |\n",
           backend, stream_pace_names[cell->pace], cell->block, cell->channels, cell->taps,
           row->algorithm, row->blocks, 1e6 * row->period, 1e6 * row->p50, 1e6 * row->p99,
           1e6 * row->p999, 1e6 * row->p9999, 1e6 * row->most, 100 * row->p50 / row->period,
           row->missed, late, speed, error);
}

/* An empty field: it does not apply. */
static void print_csv_row(const struct stream_row *row, bool first)
{
    const struct stream_cell *cell = &row->cell;
    bool paced = cell->pace != STREAM_BACK_TO_BACK;
    if (first)
        puts("backend,gpu_mode,algorithm,pace,block,channels,taps,rate,threads,blocks,deadline_us,"
             "p50_us,p99_us,p999_us,p9999_us,max_us,share,missed,late,blocks_per_second,"
             "times_real_time,cpu_per_second,error_db,realtime,locked");
    printf(
        "%s,%s,\"%s\",%s,%zu,%zu,%zu,%u,%zu,%zu,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.6g,%zu,",
        cell->backend, strcmp(cell->backend, "cuda") == 0 ? stream_mode_names[cell->gpu_mode] : "",
        row->algorithm, stream_pace_names[cell->pace], cell->block, cell->channels, cell->taps,
        cell->rate, cell->threads, row->blocks, 1e6 * row->period, 1e6 * row->p50, 1e6 * row->p99,
        1e6 * row->p999, 1e6 * row->p9999, 1e6 * row->most, row->p50 / row->period, row->missed);
    if (paced)
        printf("%zu,,,,", row->late);
    else
        printf(",%.9g,%.9g,%.9g,", (double)row->blocks / row->sum, times_real_time(row),
               cpu_per_second(row));
    if (isfinite(row->error_db))
        printf("%.1f", row->error_db);
    printf(",%d,%d\n", row->realtime, row->locked);
}

static json_t *cell_object(const struct stream_row *row)
{
    const struct stream_cell *cell = &row->cell;
    bool paced = cell->pace != STREAM_BACK_TO_BACK, gpu = strcmp(cell->backend, "cuda") == 0;
    json_t *numbers = json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I}", "blocks", (json_int_t)row->blocks,
        "deadline_us", 1e6 * row->period, "p50_us", 1e6 * row->p50, "p99_us", 1e6 * row->p99,
        "p999_us", 1e6 * row->p999, "p9999_us", 1e6 * row->p9999, "max_us", 1e6 * row->most,
        "share", row->p50 / row->period, "missed", (json_int_t)row->missed);
    json_t *object = json_pack(
        "{s:s, s:o, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:o, s:o, s:o, s:o, s:o}",
        "backend", cell->backend, "gpu_mode",
        gpu ? json_string(stream_mode_names[cell->gpu_mode]) : json_null(), "algorithm",
        row->algorithm, "pace", stream_pace_names[cell->pace], "block", (json_int_t)cell->block,
        "channels", (json_int_t)cell->channels, "taps", (json_int_t)cell->taps, "rate",
        (json_int_t)cell->rate, "threads", (json_int_t)cell->threads, "realtime", row->realtime,
        "locked", row->locked, "late", paced ? json_integer((json_int_t)row->late) : json_null(),
        "blocks_per_second", paced ? json_null() : json_real((double)row->blocks / row->sum),
        "times_real_time", paced ? json_null() : json_real(times_real_time(row)), "cpu_per_second",
        paced ? json_null() : json_real(cpu_per_second(row)), "error_db",
        isfinite(row->error_db) ? json_real(row->error_db) : json_null());
    json_object_update(object, numbers);
    json_decref(numbers);
    return object;
}

enum status stream_report_take(struct stream_report *report, const struct stream_row *row)
{
    bool first = report->count++ == 0;
    report->disturbed |= row->cell.pace == STREAM_PACED && !row->realtime;
    if (report->form == BENCH_TABLE)
        print_table_row(row, first);
    else if (report->form == BENCH_CSV)
        print_csv_row(row, first);
    else if (json_array_append_new(report->cells, cell_object(row)) != 0)
        return fail_memory("a report");
    fflush(stdout);
    return STATUS_OK;
}

enum status stream_report_finish(struct stream_report *report)
{
    if (report->form == BENCH_TABLE && report->disturbed)
        puts("\nThe system granted no real-time priority (ulimit -r): what else ran here counts.");
    if (report->form != BENCH_JSON)
        return STATUS_OK;
    json_t *root = json_pack("{s:O}", "cells", report->cells);
    int failed = json_dumpf(root, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    putchar('\n');
    json_decref(root);
    return failed ? fail(STATUS_FAILED, "cannot write the report") : STATUS_OK;
}
