#include "bench/stream_report.h"

#include "base/plural.h"
#include "bench/bench_columns.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const stream_pace_names[] = {"paced", "spun", "back-to-back", NULL};
const char *const stream_paths_names[] = {"separate", "matrix", NULL};
const char *const stream_mode_names[] = {"auto", "resident", "graph", NULL};

struct stream_report {
    struct bench_rows rows;
    bool disturbed; /* a paced row did not get real-time priority */
};

#define ROW(field) offsetof(struct stream_row, field)

static const struct bench_column columns[] = {
    {"backend", ROW(cell.backend), COLUMN_TEXT, IN_BOTH},
    {"gpu_mode", ROW(mode_name), COLUMN_TEXT, IN_BOTH},
    {"algorithm", ROW(algorithm), COLUMN_QUOTED, IN_BOTH},
    {"pace", ROW(pace_name), COLUMN_TEXT, IN_BOTH},
    {"block", ROW(cell.block), COLUMN_COUNT, IN_BOTH},
    {"channels", ROW(cell.channels), COLUMN_COUNT, IN_BOTH},
    {"paths", ROW(paths_name), COLUMN_TEXT, IN_BOTH},
    {"taps", ROW(cell.taps), COLUMN_COUNT, IN_BOTH},
    {"rate", ROW(cell.rate), COLUMN_RATE, IN_BOTH},
    {"threads", ROW(cell.threads), COLUMN_COUNT, IN_BOTH},
    {"blocks", ROW(blocks), COLUMN_COUNT, IN_BOTH},
    {"deadline_us", ROW(period), COLUMN_MICROSECONDS, IN_BOTH},
    {"p50_us", ROW(p50), COLUMN_MICROSECONDS, IN_BOTH},
    {"p99_us", ROW(p99), COLUMN_MICROSECONDS, IN_BOTH},
    {"p999_us", ROW(p999), COLUMN_MICROSECONDS, IN_BOTH},
    {"p9999_us", ROW(p9999), COLUMN_MICROSECONDS, IN_BOTH},
    {"max_us", ROW(most), COLUMN_MICROSECONDS, IN_BOTH},
    {"share", ROW(share), 6, IN_BOTH},
    {"missed", ROW(missed), COLUMN_COUNT, IN_BOTH},
    {"late", ROW(late), COLUMN_COUNT, IN_BOTH},
    {"worker_late", ROW(worker_late), COLUMN_COUNT, IN_BOTH},
    {"blocks_per_second", ROW(blocks_per_second), 9, IN_BOTH},
    {"times_real_time", ROW(times_real_time), 9, IN_BOTH},
    {"cpu_per_second", ROW(cpu_per_second), 9, IN_BOTH},
    {"error_db", ROW(error_db), COLUMN_DECIBELS, IN_BOTH},
    {"realtime", ROW(realtime), COLUMN_FLAG, IN_BOTH},
    {"locked", ROW(locked), COLUMN_FLAG, IN_BOTH},
    {0},
};

enum status stream_report_create(enum bench_form form, struct stream_report **result)
{
    *result = calloc(1, sizeof **result);
    if (!*result)
        return fail_memory("a report");
    (*result)->rows.form = form;
    return STATUS_OK;
}

void stream_report_destroy(struct stream_report *report)
{
    if (!report)
        return;
    json_decref(report->rows.cells);
    free(report);
}

static void print_table_row(const struct stream_row *row, bool first)
{
    const struct stream_cell *cell = &row->cell;
    char backend[32], channels[48], late[24] = "", speed[48] = " | ", error[24] = "exact";
    if (first)
        printf("%u Hz, %zu thread%s; times in microseconds\n\n"
               "| backend | pace | block | channels | taps | algorithm | blocks | deadline | p50 | "
               "p99 | p99.9 | p99.99 | max | p50 of deadline | missed | late | x real time | "
               "cpu s per s | error dB |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
               cell->rate, cell->threads, plural_s(cell->threads));
    snprintf(backend, sizeof backend, "%s%s%s", cell->backend, cell->gpu_mode ? " " : "",
             cell->gpu_mode ? stream_mode_names[cell->gpu_mode] : "");
    snprintf(channels, sizeof channels, cell->matrix ? "%zux%zu" : "%zu", cell->channels,
             cell->channels);
    if (row->late != SIZE_MAX)
        snprintf(late, sizeof late, "%zu", row->late);
    else
        snprintf(speed, sizeof speed, "%.1f | %.5f", row->times_real_time, row->cpu_per_second);
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.0f", row->error_db);
    printf("| %s | %s | %zu | %s | %zu | %s | %zu | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f | "
           "%.2f %% | %zu | %s | %s | %s |\n",
           backend, row->pace_name, cell->block, channels, cell->taps, row->algorithm, row->blocks,
           1e6 * row->period, 1e6 * row->p50, 1e6 * row->p99, 1e6 * row->p999, 1e6 * row->p9999,
           1e6 * row->most, 100 * row->share, row->missed, late, speed, error);
}

enum status stream_report_take(struct stream_report *report, const struct stream_row *measured)
{
    struct stream_row named = *measured, *row = &named;
    const struct stream_cell *cell = &row->cell;
    bool gpu = strcmp(cell->backend, "cuda") == 0;
    row->pace_name = stream_pace_names[cell->pace];
    row->paths_name = stream_paths_names[cell->matrix];
    row->mode_name = gpu ? stream_mode_names[cell->gpu_mode] : NULL;
    report->disturbed |= cell->pace == STREAM_PACED && !row->realtime;
    if (report->rows.form == BENCH_TABLE)
        print_table_row(row, report->rows.count == 0);
    return bench_rows_add(&report->rows, columns, row);
}

enum status stream_report_finish(struct stream_report *report)
{
    if (report->rows.form == BENCH_TABLE && report->disturbed)
        puts("\nThe system granted no real-time priority (ulimit -r): other programs may have "
             "delayed the blocks.");
    return bench_rows_finish(&report->rows);
}
