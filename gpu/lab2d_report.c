#include "lab2d_report.h"

#include "lab_plot.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lab2d_report {
    const struct lab2d_settings *settings;
    const struct lab_device *device;
    enum bench_form form;
    const char *plot;
    size_t count;
    size_t capacity;
    struct lab2d_row *rows;
};

static const char *const cells_names[] = {[KERNEL2D_FLOAT] = "float", [KERNEL2D_BYTE] = "byte"};
static const char *const boundary_names[] = {
    [KERNEL2D_ZERO] = "zero", [KERNEL2D_REPLICATE] = "replicate", [KERNEL2D_REFLECT] = "reflect"};

void lab2d_report_destroy(struct lab2d_report *report)
{
    if (!report)
        return;
    free(report->rows);
    free(report);
}

static void print_head(const struct lab2d_report *report)
{
    const struct lab_device *device = report->device;
    const struct lab2d_settings *settings = report->settings;
    if (report->form == BENCH_CSV) {
        lab_device_print_csv(device);
        printf("# cells,%s\n# channels,%zu\n", cells_names[settings->cells], settings->channels);
        puts("kernel,rows,columns,pitched,mask_rows,mask_columns,block_columns,block_rows,"
             "tile_columns,tile_rows,seconds,bytes_per_second,copy_share,flops,peak_share,"
             "error_db");
        return;
    }
    if (report->form != BENCH_TABLE)
        return;
    lab_device_print(device);
    printf("random %ss, %zu channel%s, edge %s, median of %zu runs\n\n",
           cells_names[settings->cells], settings->channels, settings->channels == 1 ? "" : "s",
           boundary_names[settings->boundary], settings->repeats);
    puts("| kernel | picture | rows | mask | block | ms | GB/s | of copy | TFLOP/s | of peak | "
         "error dB |\n|---|---|---|---|---|---|---|---|---|---|---|");
}

enum status lab2d_report_create(const struct lab2d_settings *settings,
                                const struct lab_device *device, enum bench_form form,
                                const char *plot, struct lab2d_report **result)
{
    *result = NULL;
    enum status status = lab_plot_check(plot);
    if (status != STATUS_OK)
        return status;
    struct lab2d_report *report = calloc(1, sizeof *report);
    if (!report)
        return fail_memory("a report");
    *report =
        (struct lab2d_report){.settings = settings, .device = device, .form = form, .plot = plot};
    print_head(report);
    *result = report;
    return STATUS_OK;
}

/* ---- reading what was measured elsewhere ---- */

static bool is_same(struct size2d a, struct size2d b)
{
    return a.rows == b.rows && a.columns == b.columns;
}

static void add_size(struct size2d_list *list, struct size2d size)
{
    for (size_t i = 0; i < list->count; i++)
        if (is_same(list->values[i], size))
            return;
    if (list->count < OPTIONS_LIST_MOST)
        list->values[list->count++] = size;
}

static void add_kernel(struct lab2d_settings *settings, const struct kernel2d *kernel)
{
    for (size_t i = 0; i < settings->kernel_count; i++)
        if (settings->kernels[i] == kernel)
            return;
    settings->kernels[settings->kernel_count++] = kernel;
}

/* One line of --csv; false if it is not one. */
static bool parse_row(const char *line, struct lab2d_row *row)
{
    char name[32];
    int pitched;
    *row = (struct lab2d_row){.error_db = -INFINITY};
    int fields = sscanf(line, "%31[^,],%zu,%zu,%d,%zu,%zu,%zu,%zu,%zu,%zu,%lf,%lf,%lf,%lf,%lf,%lf",
                        name, &row->size.rows, &row->size.columns, &pitched, &row->mask.rows,
                        &row->mask.columns, &row->block.columns, &row->block.rows,
                        &row->tile.columns, &row->tile.rows, &row->seconds, &row->bytes_rate,
                        &row->copy_share, &row->flops, &row->peak_share, &row->error_db);
    const struct kernel2d *kernel = kernel2d_named(name);
    row->kernel = kernel ? kernel->name : "copy";
    row->pitched = fields >= 4 && pitched;
    return fields >= 15 && (kernel || strcmp(name, "copy") == 0);
}

static enum status parse_line(struct lab2d_report *report, struct lab2d_settings *settings,
                             struct lab_device *device, const char *line)
{
    struct lab2d_row row;
    if (lab_device_parse_csv(device, line) || line[0] == '#' || strncmp(line, "kernel,", 7) == 0)
        return STATUS_OK;
    if (!parse_row(line, &row))
        return fail(STATUS_FAILED,
                    "this is not a line that halo bench kernels --dim 2 --csv prints: %.*s",
                    (int)strcspn(line, "\n"), line);
    add_size(&settings->sizes, row.size);
    if (row.mask.rows > 0) {
        add_size(&settings->masks, row.mask);
        add_size(&settings->blocks, row.block);
        add_kernel(settings, kernel2d_named(row.kernel));
    }
    return lab2d_report_take(report, &row);
}

enum status lab2d_report_read(const char *file, struct lab2d_settings *settings,
                              struct lab_device *device, const char *plot,
                              struct lab2d_report **result)
{
    char line[512];
    *settings = (struct lab2d_settings){0};
    *device = (struct lab_device){0};
    *result = NULL;
    FILE *stream = fopen(file, "r");
    if (!stream)
        return fail(STATUS_FAILED, "cannot open %s: %s", file, strerror(errno));
    enum status status = lab2d_report_create(settings, device, BENCH_NOTHING, plot, result);
    while (status == STATUS_OK && fgets(line, sizeof line, stream))
        status = parse_line(*result, settings, device, line);
    fclose(stream);
    if (status == STATUS_OK && settings->kernel_count == 0)
        status = fail(STATUS_FAILED, "%s holds no measurement", file);
    return status;
}

/* ---- printing ---- */

static void print_table_row(const struct lab2d_row *row)
{
    char mask[48] = "", block[48] = "", error[24] = "exact";
    if (row->mask.rows)
        snprintf(mask, sizeof mask, "%zux%zu", row->mask.rows, row->mask.columns);
    if (row->mask.rows)
        snprintf(block, sizeof block, "%ux%u", row->tile.block.columns, row->tile.block.rows);
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.0f", row->error_db);
    printf("| %s | %zux%zu | %s | %s | %s | %.4f | %.0f | %.1f %% | %.2f | %.1f %% | %s |\n",
           row->kernel, row->size.rows, row->size.columns, row->pitched ? "pitched" : "packed",
           mask, block, 1e3 * row->seconds, 1e-9 * row->bytes_rate, 100 * row->copy_share,
           1e-12 * row->flops, 100 * row->peak_share, error);
}

static void print_csv_row(const struct lab2d_row *row)
{
    printf("%s,%zu,%zu,%d,%zu,%zu,%zu,%zu,%zu,%zu,%.9g,%.9g,%.6g,%.9g,%.6g,", row->kernel,
           row->size.rows, row->size.columns, (int)row->pitched, row->mask.rows, row->mask.columns,
           row->block.columns, row->block.rows, row->tile.columns, row->tile.rows, row->seconds,
           row->bytes_rate, row->copy_share, row->flops, row->peak_share);
    if (isfinite(row->error_db))
        printf("%.1f", row->error_db);
    putchar('\n');
}

enum status lab2d_report_take(void *context, const struct lab2d_row *row)
{
    struct lab2d_report *report = context;
    if (report->count == report->capacity) {
        size_t capacity = report->capacity ? 2 * report->capacity : 64;
        struct lab2d_row *rows = realloc(report->rows, capacity * sizeof *rows);
        if (!rows)
            return fail_memory("a report");
        report->rows = rows;
        report->capacity = capacity;
    }
    report->rows[report->count++] = *row;
    if (report->form == BENCH_TABLE)
        print_table_row(row);
    if (report->form == BENCH_CSV)
        print_csv_row(row);
    fflush(stdout);
    return STATUS_OK;
}

/* The copy of the same picture as `row`. */
static const struct lab2d_row *copy_of(const struct lab2d_report *report,
                                       const struct lab2d_row *row)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].mask.rows == 0 && report->rows[i].pitched == row->pitched &&
            is_same(report->rows[i].size, row->size))
            return &report->rows[i];
    return &report->rows[0];
}

static void print_tile_row(const struct lab2d_report *report, const struct lab2d_row *row)
{
    const struct tile2d *tile = &row->tile;
    size_t bytes = kernel2d_cell_bytes(report->settings->cells);
    double loads =
        tile2d_operations_per_byte(tile, row->mask.rows, row->mask.columns, bytes, false);
    double both = tile2d_operations_per_byte(tile, row->mask.rows, row->mask.columns, bytes, true);
    double copy = copy_of(report, row)->bytes_rate, peak = report->device->flops_peak;
    double bound = both * copy < peak ? both * copy : peak;
    printf("| %s | %zux%zu | %zux%zu | %zux%zu | %.2f | %.2f | %.2f | %s | %.2f | %.0f %% |\n",
           row->kernel, row->mask.rows, row->mask.columns, tile->columns, tile->rows,
           tile->loaded_columns, tile->loaded_rows, loads, both, 1e-12 * bound,
           both * copy < peak ? "memory" : "arithmetic", 1e-12 * row->flops,
           100 * row->flops / bound);
}

/* The textbook's arithmetic of a tile: what is loaded once serves how often, and which limit
 * follows if no cache helps. */
static void print_tiles(const struct lab2d_report *report)
{
    puts("\nOperations for each byte that a tile (of basic and constant: a thread) loads, and for "
         "each that it\nloads or stores; the bound that this sets where no cache helps, at the "
         "copy's bandwidth; and what was\nmeasured, which passes the bound where caches do "
         "help:\n\n"
         "| kernel | mask | puts out | loads | op/B loaded | op/B | bound, TFLOP/s | by | "
         "measured | of bound |\n|---|---|---|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].mask.rows > 0)
            print_tile_row(report, &report->rows[i]);
}

static json_t *json_row(const struct lab2d_row *row)
{
    return json_pack("{s:s, s:I, s:I, s:b, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:o}",
                     "kernel", row->kernel, "rows", (json_int_t)row->size.rows, "columns",
                     (json_int_t)row->size.columns, "pitched", (int)row->pitched, "mask_rows",
                     (json_int_t)row->mask.rows, "mask_columns", (json_int_t)row->mask.columns,
                     "block_columns", (json_int_t)row->tile.block.columns, "block_rows",
                     (json_int_t)row->tile.block.rows, "seconds", row->seconds, "bytes_per_second",
                     row->bytes_rate, "copy_share", row->copy_share, "flops", row->flops,
                     "peak_share", row->peak_share, "error_db",
                     isfinite(row->error_db) ? json_real(row->error_db) : json_null());
}

static enum status print_json(const struct lab2d_report *report)
{
    const struct lab2d_settings *settings = report->settings;
    json_t *rows = json_array();
    for (size_t i = 0; i < report->count; i++)
        json_array_append_new(rows, json_row(&report->rows[i]));
    return lab_device_print_json(
        report->device,
        json_pack("{s:s, s:s, s:I, s:I, s:o}", "cells", cells_names[settings->cells], "edge",
                  boundary_names[settings->boundary], "channels", (json_int_t)settings->channels, "repeats",
                  (json_int_t)settings->repeats, "rows", rows));
}

/* ---- plots ---- */

static size_t cells_of(struct size2d size)
{
    return size.rows * size.columns;
}

/* One panel's lines: a kernel each, against the mask's coefficients or the picture's cells. */
static void send_lines(const struct lab2d_report *report, FILE *gnuplot, bool against_masks)
{
    const struct lab2d_settings *settings = report->settings;
    struct size2d last = settings->sizes.values[settings->sizes.count - 1];
    struct size2d mask = settings->masks.values[0], block = settings->blocks.values[0];
    for (size_t k = 0; k < settings->kernel_count; k++) {
        fprintf(gnuplot, "$k%zu << EOD\n", k);
        for (size_t i = 0; i < report->count; i++) {
            const struct lab2d_row *row = &report->rows[i];
            if (strcmp(row->kernel, settings->kernels[k]->name) == 0 &&
                is_same(row->block, block) && row->pitched == report->rows[0].pitched &&
                (against_masks ? is_same(row->size, last) : is_same(row->mask, mask)))
                fprintf(gnuplot, "%zu %g %g\n", cells_of(against_masks ? row->mask : row->size),
                        1e-9 * row->bytes_rate, 1e-12 * row->flops);
        }
        fprintf(gnuplot, "EOD\n");
    }
    fprintf(gnuplot, "$copy << EOD\n");
    for (size_t i = 0; i < report->count; i++) {
        const struct lab2d_row *row = &report->rows[i];
        if (row->pitched != report->rows[0].pitched)
            continue;
        if (against_masks ? row->mask.rows > 0 && is_same(row->size, last) : row->mask.rows == 0)
            fprintf(gnuplot, "%zu %g\n", cells_of(against_masks ? row->mask : row->size),
                    1e-9 * copy_of(report, row)->bytes_rate);
    }
    fprintf(gnuplot, "EOD\n");
}

/* Along the lengths of masks; else along the sizes of what they filter. */
static bool is_against_masks(const struct lab2d_settings *settings)
{
    return settings->masks.count > 1 || settings->sizes.count == 1;
}

static void send(const void *context, FILE *commands)
{
    const struct lab2d_report *report = context;
    send_lines(report, commands, is_against_masks(report->settings));
}

static enum status draw(const struct lab2d_report *report)
{
    bool falls = is_against_masks(report->settings);
    struct lab_plot plot = {
        .file = report->plot,
        .device = report->device,
        .kernel_count = report->settings->kernel_count,
        .against = falls ? "coefficients of the mask" : "cells of the picture",
        .arithmetic = "arithmetic, two operations a coefficient",
        .falls = falls,
        .send = send,
        .context = report,
    };
    for (size_t k = 0; k < plot.kernel_count; k++)
        plot.kernels[k] = report->settings->kernels[k]->name;
    return lab_plot_draw(&plot);
}

enum status lab2d_report_finish(struct lab2d_report *report)
{
    enum status status = STATUS_OK;
    if (report->form == BENCH_TABLE)
        print_tiles(report);
    if (report->form == BENCH_JSON)
        status = print_json(report);
    if (status == STATUS_OK && report->plot)
        status = draw(report);
    return status;
}
