#include "bench/kernel_bench_report.h"

#include "base/json_text.h"
#include "base/printable.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void kernel_bench_report_destroy(struct kernel_bench_report *report)
{
    if (!report)
        return;
    free(report->rows);
    free(report);
}

static void print_head(const struct kernel_bench_report *report)
{
    const struct kernel_bench_kind *kind = report->settings->kind;
    const struct kernel_bench_device *device = report->device;
    if (report->form == BENCH_CSV) {
        printf("# device,%s\n# flops_peak,%.9g\n", printable(device->name), device->flops_peak);
        kind->print_head(report->settings, true);
        bench_print_csv_head(kind->columns);
    } else if (report->form == BENCH_TABLE) {
        printf("%s, %d multiprocessors, %.0f MHz, float32 peak %.1f TFLOP/s; CUDA %d.%d, driver "
               "for %d.%d\n",
               printable(device->name), device->multiprocessors, 1e-6 * device->clock,
               1e-12 * device->flops_peak, device->runtime / 1000, device->runtime % 1000 / 10,
               device->driver / 1000, device->driver % 1000 / 10);
        kind->print_head(report->settings, false);
        printf("| kernel | %s | GB/s | of copy | TFLOP/s | of peak | error dB |\n"
               "|---|---|---|---|---|---|---|---|---|---|---|\n",
               kind->table_head);
    }
}

enum status kernel_bench_report_create(const struct kernel_bench_settings *settings,
                                       const struct kernel_bench_device *device,
                                       enum bench_form form, struct kernel_bench_report **result)
{
    *result = NULL;
    struct kernel_bench_report *report = calloc(1, sizeof *report);
    if (!report)
        return fail_memory("a report");
    *report = (struct kernel_bench_report){.settings = settings, .device = device, .form = form};
    print_head(report);
    *result = report;
    return STATUS_OK;
}

/* ---- printing ---- */

static void print_table_row(const struct kernel_bench_kind *kind,
                            const struct kernel_bench_row *row)
{
    char error[24] = "exact";
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.0f", row->error_db);
    printf("| %s | ", row->kernel);
    kind->print_cells(row);
    printf(" | %.0f | %.1f %% | %.2f | %.1f %% | %s |\n", 1e-9 * row->bytes_rate,
           100 * row->copy_share, 1e-12 * row->flops, 100 * row->peak_share, error);
}

enum status kernel_bench_report_add(struct kernel_bench_report *report,
                                    const struct kernel_bench_row *row)
{
    if (report->count == report->capacity) {
        size_t capacity = report->capacity ? 2 * report->capacity : 64;
        struct kernel_bench_row *rows = realloc(report->rows, capacity * sizeof *rows);
        if (!rows)
            return fail_memory("a report");
        report->rows = rows;
        report->capacity = capacity;
    }
    report->rows[report->count++] = *row;
    if (report->form == BENCH_TABLE)
        print_table_row(report->settings->kind, row);
    if (report->form == BENCH_CSV)
        bench_print_csv_row(report->settings->kind->columns, row);
    fflush(stdout);
    return STATUS_OK;
}

static enum status print_json(const struct kernel_bench_report *report)
{
    const struct kernel_bench_settings *settings = report->settings;
    const struct kernel_bench_device *device = report->device;
    json_t *rows = json_array(), *described = settings->kind->describe(settings);
    json_t *object = json_pack("{s:s, s:i, s:f, s:f, s:i, s:i}", "device", device->name,
                               "multiprocessors", device->multiprocessors, "clock_hz",
                               device->clock, "flops_peak", device->flops_peak, "cuda_runtime",
                               device->runtime, "cuda_driver", device->driver);
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(rows, bench_json_row(settings->kind->columns, &report->rows[i]));
    json_object_update(object, described);
    json_object_set_new(object, "repeats", json_integer((json_int_t)settings->repeats));
    json_object_set_new(object, "rows", rows);
    json_decref(described);
    return json_print(object, JSON_REAL_PRECISION(9), "the report");
}

static bool is_same(struct size2d a, struct size2d b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

static size_t cells_of(struct size2d size)
{
    return size.rows * size.columns;
}

const struct kernel_bench_row *kernel_bench_copy_of(const struct kernel_bench_report *report,
                                                    const struct kernel_bench_row *row)
{
    for (size_t i = 0; i < report->count; i++)
        if (cells_of(report->rows[i].mask) == 0 && report->rows[i].pitched == row->pitched &&
            is_same(report->rows[i].size, row->size))
            return &report->rows[i];
    return &report->rows[0];
}

enum status kernel_bench_report_finish(struct kernel_bench_report *report)
{
    if (report->form == BENCH_TABLE)
        report->settings->kind->print_tiles(report);
    return report->form == BENCH_JSON ? print_json(report) : STATUS_OK;
}
