#include "bench/kernel_bench_report.h"

#include "base/gnuplot.h"
#include "base/json_text.h"
#include "base/printable.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1200, HEIGHT = 500 }; /* of a plot, in pixels */

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
                                       enum bench_form form, const char *plot,
                                       struct kernel_bench_report **result)
{
    *result = NULL;
    if (plot) {
        TRY(gnuplot_check_file(plot));
        TRY(gnuplot_check_here());
    }
    struct kernel_bench_report *report = calloc(1, sizeof *report);
    if (!report)
        return fail_memory("a report");
    *report = (struct kernel_bench_report){
        .settings = settings, .device = device, .form = form, .plot = plot};
    print_head(report);
    *result = report;
    return STATUS_OK;
}

/* ---- reading --csv ---- */

static bool parse_device(struct kernel_bench_device *device, const char *line)
{
    return sscanf(line, "# device,%255[^\n]", device->name) == 1 ||
           sscanf(line, "# flops_peak,%lf", &device->flops_peak) == 1;
}

static const char *kernel_of(const struct kernel_bench_kind *kind, const char *line, size_t length)
{
    for (size_t k = 0; kind->kernel_name(k); k++) {
        const char *name = kind->kernel_name(k);
        if (strlen(name) == length && strncmp(name, line, length) == 0)
            return name;
    }
    return length == strlen("copy") && strncmp("copy", line, length) == 0 ? "copy" : NULL;
}

/* False if the line is invalid. */
static bool parse_row(const struct kernel_bench_kind *kind, const char *line,
                      struct kernel_bench_row *row)
{
    char *end;
    const char *at = line + strcspn(line, ",");
    *row = (struct kernel_bench_row){.kernel = kernel_of(kind, line, (size_t)(at - line)),
                                     .size.rows = 1,
                                     .mask.rows = 1,
                                     .error_db = -INFINITY};
    for (const struct bench_column *c = kind->columns; c->name; c++) {
        void *field = (char *)row + c->offset;
        if (!(c->output & IN_CSV) || c->field == COLUMN_TEXT || c->field == COLUMN_DECIBELS)
            continue;
        if (*at++ != ',')
            return false;
        if (c->field > 0)
            *(double *)field = strtod(at, &end);
        else if (c->field == COLUMN_FLAG)
            *(bool *)field = strtoull(at, &end, 10) != 0;
        else
            *(size_t *)field = strtoull(at, &end, 10);
        if (end == at)
            return false;
        at = end;
    }
    if (sscanf(at, ",%lf", &row->error_db) != 1)
        row->error_db = -INFINITY;
    return row->kernel;
}

enum status kernel_bench_report_read(struct kernel_bench_report *report, const char *file,
                                     struct kernel_bench_device *device)
{
    char line[512];
    struct kernel_bench_row row;
    const struct kernel_bench_kind *kind = report->settings->kind;
    bool holds_kernel = false;
    enum status status = STATUS_OK;
    FILE *stream = fopen(file, "r");
    if (!stream)
        return fail(STATUS_FAILED, "cannot open %s: %s", file, strerror(errno));
    while (status == STATUS_OK && fgets(line, sizeof line, stream)) {
        if (parse_device(device, line) || line[0] == '#' || strncmp(line, "kernel,", 7) == 0)
            continue;
        if (!parse_row(kind, line, &row))
            status = fail(STATUS_FAILED, "not a line of %s --csv: %.*s", kind->command,
                          (int)strcspn(line, "\n"), line);
        else
            status = kernel_bench_report_add(report, &row);
        holds_kernel = holds_kernel || row.mask.rows * row.mask.columns > 0;
    }
    fclose(stream);
    if (status == STATUS_OK && !holds_kernel)
        status = fail(STATUS_FAILED, "%s has no measurements", file);
    return status;
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

/* ---- plots ---- */

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

/* The lines of a plot, one per kernel, with its first block: their first rows. */
struct kernel_bench_lines {
    size_t count;
    const struct kernel_bench_row *first[OPTIONS_LIST_MOST];
    bool along_masks; /* else along the sizes of the input */
};

static struct kernel_bench_lines find_lines(const struct kernel_bench_report *report)
{
    struct kernel_bench_lines lines = {.along_masks = true};
    bool one_mask = true, one_size = true;
    for (size_t i = 0; i < report->count; i++) {
        const struct kernel_bench_row *row = &report->rows[i];
        size_t k = 0;
        one_size = one_size && is_same(row->size, report->rows[0].size);
        if (cells_of(row->mask) == 0)
            continue;
        while (k < lines.count && strcmp(lines.first[k]->kernel, row->kernel) != 0)
            k++;
        if (k == lines.count && k < OPTIONS_LIST_MOST)
            lines.first[lines.count++] = row;
        one_mask = one_mask && is_same(row->mask, lines.first[0]->mask);
    }
    lines.along_masks = !one_mask || one_size;
    return lines;
}

/* Data blocks $kN for each line (x, GB/s, TFLOP/s) and $copy (x, GB/s). */
static void send_data(const struct kernel_bench_report *report,
                      const struct kernel_bench_lines *lines, FILE *commands)
{
    const struct kernel_bench_row *end = report->rows + report->count;
    struct size2d last = end[-1].size;
    bool along = lines->along_masks;
    for (size_t k = 0; k < lines->count; k++) {
        const struct kernel_bench_row *first = lines->first[k];
        fprintf(commands, "$k%zu << EOD\n", k);
        for (const struct kernel_bench_row *row = first; row < end; row++)
            if (row->kernel == first->kernel && is_same(row->block, first->block) &&
                row->pitched == report->rows[0].pitched &&
                (along ? is_same(row->size, last) : is_same(row->mask, first->mask)))
                fprintf(commands, "%zu %g %g\n", cells_of(along ? row->mask : row->size),
                        1e-9 * row->bytes_rate, 1e-12 * row->flops);
        fprintf(commands, "EOD\n");
    }
    fprintf(commands, "$copy << EOD\n");
    for (const struct kernel_bench_row *row = report->rows; row < end; row++)
        if (row->pitched == report->rows[0].pitched &&
            (along ? cells_of(row->mask) > 0 && is_same(row->size, last)
                   : cells_of(row->mask) == 0))
            fprintf(commands, "%zu %g\n", cells_of(along ? row->mask : row->size),
                    1e-9 * kernel_bench_copy_of(report, row)->bytes_rate);
    fprintf(commands, "EOD\n");
}

static void send_plot(const struct kernel_bench_report *report,
                      const struct kernel_bench_lines *lines, FILE *commands, int column,
                      const char *title)
{
    fprintf(commands, "set title '%s'\nplot ", title);
    for (size_t k = 0; k < lines->count; k++)
        fprintf(commands,
                "$k%zu using 1:%d smooth unique with linespoints lw 2 pt 7 ps 0.6 title '%s', ", k,
                column, lines->first[k]->kernel);
    if (column == 2)
        fprintf(commands, "$copy using 1:2 smooth unique with lines lw 2 dt 2 lc 'black' "
                          "title 'copy'\n");
    else
        fprintf(commands, "%g with lines lw 2 dt 2 lc 'black' title 'FMA limit'\n",
                1e-12 * report->device->flops_peak);
}

static void send_plots(const struct kernel_bench_report *report, FILE *commands)
{
    const struct kernel_bench_kind *kind = report->settings->kind;
    struct kernel_bench_lines lines = find_lines(report);
    send_data(report, &lines, commands);
    fputs("set multiplot layout 1,2 title ", commands);
    gnuplot_send_quoted(commands, report->device->name);
    /* Line type 5 is a pale yellow by default. The key is placed where bandwidth is low. */
    fprintf(commands,
            "\nset linetype 5 lc rgb '#c0392b'\nset linetype 6 lc rgb '#1f4e79'\n"
            "set logscale xy\nset grid\nset key bottom %s\nset xlabel '%s'\n"
            "set ylabel 'GB/s'\n",
            lines.along_masks ? "left" : "right",
            lines.along_masks ? kind->masks_axis : kind->sizes_axis);
    send_plot(report, &lines, commands, 2, "bytes read and written once, a second");
    fprintf(commands, "set key bottom right\nset ylabel 'TFLOP/s'\n");
    if (lines.along_masks && kind->flops_least > 0)
        fprintf(commands, "set yrange [%g:*]\n", kind->flops_least);
    send_plot(report, &lines, commands, 3, kind->arithmetic);
    fprintf(commands, "unset multiplot\n");
}

static enum status draw(const struct kernel_bench_report *report)
{
    const struct gnuplot_settings settings = {
        .file = report->plot, .force = true, .width = WIDTH, .height = HEIGHT};
    struct gnuplot gnuplot;
    enum status status = gnuplot_open(&settings, &gnuplot);
    if (status == STATUS_OK)
        send_plots(report, gnuplot.commands);
    return gnuplot_close(&gnuplot, status);
}

enum status kernel_bench_report_finish(struct kernel_bench_report *report)
{
    enum status status = STATUS_OK;
    if (report->form == BENCH_TABLE)
        report->settings->kind->print_tiles(report);
    if (report->form == BENCH_JSON)
        status = print_json(report);
    if (status == STATUS_OK && report->plot)
        status = draw(report);
    return status;
}
