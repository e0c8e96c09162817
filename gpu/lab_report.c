#include "lab_report.h"

#include "lab_plot.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lab_report {
    const struct lab_settings *settings;
    const struct lab_device *device;
    enum bench_form form;
    const char *plot;
    size_t count;
    size_t capacity;
    struct lab_row *rows;
};

void lab_report_destroy(struct lab_report *report)
{
    if (!report)
        return;
    free(report->rows);
    free(report);
}

static void print_head(const struct lab_report *report)
{
    const struct lab_device *device = report->device;
    if (report->form == BENCH_CSV) {
        lab_device_print_csv(device);
        puts("kernel,taps,samples,setting,seconds,samples_per_second,bytes_per_second,"
             "copy_share,flops,peak_share,error_db");
        return;
    }
    if (report->form != BENCH_TABLE)
        return;
    lab_device_print(device);
    printf("random float32 data, %s boundary, median of %zu runs\n\n",
           report->settings->boundary == KERNEL_ZERO ? "zero" : "replicate",
           report->settings->repeats);
    puts("| kernel | taps | samples | setting | ms | Gsamples/s | GB/s | of copy | TFLOP/s | of "
         "peak | error dB |\n|---|---|---|---|---|---|---|---|---|---|---|");
}

enum status lab_report_create(const struct lab_settings *settings, const struct lab_device *device,
                              enum bench_form form, const char *plot, struct lab_report **result)
{
    *result = NULL;
    enum status status = lab_plot_check(plot);
    if (status != STATUS_OK)
        return status;
    struct lab_report *report = calloc(1, sizeof *report);
    if (!report)
        return fail_memory("a report");
    *report =
        (struct lab_report){.settings = settings, .device = device, .form = form, .plot = plot};
    print_head(report);
    *result = report;
    return STATUS_OK;
}

/* ---- reading what was measured elsewhere ---- */

static void add_value(struct number_list *axis, size_t value)
{
    for (size_t i = 0; i < axis->count; i++)
        if (axis->values[i] == value)
            return;
    if (axis->count < OPTIONS_LIST_MOST)
        axis->values[axis->count++] = value;
}

static void add_kernel(struct lab_settings *settings, const struct kernel *kernel)
{
    for (size_t i = 0; i < settings->kernel_count; i++)
        if (settings->kernels[i] == kernel)
            return;
    settings->kernels[settings->kernel_count++] = kernel;
}

/* One line of --csv; false if it is not one. */
static bool parse_row(const char *line, struct lab_row *row)
{
    char name[32];
    *row = (struct lab_row){.error_db = -INFINITY};
    int fields =
        sscanf(line, "%31[^,],%zu,%zu,%zu,%lf,%lf,%lf,%lf,%lf,%lf,%lf", name, &row->taps,
               &row->samples, &row->setting, &row->seconds, &row->samples_rate, &row->bytes_rate,
               &row->copy_share, &row->flops, &row->peak_share, &row->error_db);
    const struct kernel *kernel = kernel_named(name);
    row->kernel = kernel ? kernel->name : "copy";
    return fields >= 10 && (kernel || strcmp(name, "copy") == 0);
}

static enum status parse_line(struct lab_report *report, struct lab_settings *settings,
                             struct lab_device *device, const char *line)
{
    struct lab_row row;
    if (lab_device_parse_csv(device, line) || strncmp(line, "kernel,", 7) == 0)
        return STATUS_OK;
    if (!parse_row(line, &row))
        return fail(STATUS_FAILED, "this is not a line that halo bench kernels --csv prints: %.*s",
                    (int)strcspn(line, "\n"), line);
    add_value(&settings->samples, row.samples);
    if (row.taps > 0) {
        add_value(&settings->taps, row.taps);
        const struct kernel *kernel = kernel_named(row.kernel);
        add_value(kernel->transforms ? &settings->fft : &settings->threads, row.setting);
        add_kernel(settings, kernel);
    }
    return lab_report_take(report, &row);
}

enum status lab_report_read(const char *file, struct lab_settings *settings,
                            struct lab_device *device, const char *plot, struct lab_report **result)
{
    char line[512];
    *settings = (struct lab_settings){0};
    *device = (struct lab_device){0};
    *result = NULL;
    FILE *stream = fopen(file, "r");
    if (!stream)
        return fail(STATUS_FAILED, "cannot open %s: %s", file, strerror(errno));
    enum status status = lab_report_create(settings, device, BENCH_NOTHING, plot, result);
    while (status == STATUS_OK && fgets(line, sizeof line, stream))
        status = parse_line(*result, settings, device, line);
    fclose(stream);
    if (status == STATUS_OK && settings->kernel_count == 0)
        status = fail(STATUS_FAILED, "%s holds no measurement", file);
    return status;
}

/* ---- printing ---- */

static void print_table_row(const struct lab_row *row)
{
    char setting[24] = "", error[24] = "exact";
    if (row->setting)
        snprintf(setting, sizeof setting, "%zu", row->setting);
    if (isfinite(row->error_db))
        snprintf(error, sizeof error, "%.0f", row->error_db);
    printf("| %s | %zu | %zu | %s | %.4f | %.2f | %.0f | %.1f %% | %.2f | %.1f %% | %s |\n",
           row->kernel, row->taps, row->samples, setting, 1e3 * row->seconds,
           1e-9 * row->samples_rate, 1e-9 * row->bytes_rate, 100 * row->copy_share,
           1e-12 * row->flops, 100 * row->peak_share, error);
}

static void print_csv_row(const struct lab_row *row)
{
    printf("%s,%zu,%zu,%zu,%.9g,%.9g,%.9g,%.6g,%.9g,%.6g,", row->kernel, row->taps, row->samples,
           row->setting, row->seconds, row->samples_rate, row->bytes_rate, row->copy_share,
           row->flops, row->peak_share);
    if (isfinite(row->error_db))
        printf("%.1f", row->error_db);
    putchar('\n');
}

enum status lab_report_take(void *context, const struct lab_row *row)
{
    struct lab_report *report = context;
    if (report->count == report->capacity) {
        size_t capacity = report->capacity ? 2 * report->capacity : 64;
        struct lab_row *rows = realloc(report->rows, capacity * sizeof *rows);
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

/* The copy of as many samples as `row`. */
static const struct lab_row *copy_of(const struct lab_report *report, size_t samples)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->rows[i].taps == 0 && report->rows[i].samples == samples)
            return &report->rows[i];
    return &report->rows[0];
}

/* The textbook's arithmetic of a tile: what is loaded once serves how often, and
 * which limit follows. */
static void print_tiling(const struct lab_report *report)
{
    static const size_t tiles[] = {256, 4096};
    double copy = copy_of(report, report->settings->samples.values[0])->bytes_rate;
    double peak = report->device->flops_peak;
    puts("\n| tile | taps | frames loaded a tile | uses of each | operations a byte | bound, "
         "TFLOP/s | by |\n|---|---|---|---|---|---|---|");
    for (size_t i = 0; i < sizeof tiles / sizeof *tiles; i++)
        for (size_t t = 0; t < report->settings->taps.count; t++) {
            double tile = (double)tiles[i], taps = (double)report->settings->taps.values[t];
            double loaded = tile + taps - 1;
            double intensity = 2 * tile * taps / (sizeof(float) * (loaded + tile));
            bool memory = intensity * copy < peak;
            printf("| %zu | %zu | %.0f | %.1f | %.1f | %.2f | %s |\n", tiles[i],
                   report->settings->taps.values[t], loaded, tile * taps / loaded, intensity,
                   1e-12 * (memory ? intensity * copy : peak), memory ? "memory" : "arithmetic");
        }
}

static enum status print_json(const struct lab_report *report)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const struct lab_row *row = &report->rows[i];
        json_array_append_new(
            rows, json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o}", "kernel",
                            row->kernel, "taps", (json_int_t)row->taps, "samples",
                            (json_int_t)row->samples, "setting", (json_int_t)row->setting,
                            "seconds", row->seconds, "samples_per_second", row->samples_rate,
                            "bytes_per_second", row->bytes_rate, "copy_share", row->copy_share,
                            "flops", row->flops, "peak_share", row->peak_share, "error_db",
                            isfinite(row->error_db) ? json_real(row->error_db) : json_null()));
    }
    return lab_device_print_json(
        report->device, json_pack("{s:s, s:I, s:o}", "boundary",
                                  report->settings->boundary == KERNEL_ZERO ? "zero" : "replicate",
                                  "repeats", (json_int_t)report->settings->repeats, "rows", rows));
}

/* ---- plots ---- */

static size_t own_setting(const struct lab_settings *settings, const struct kernel *kernel)
{
    return kernel->transforms ? settings->fft.values[0] : settings->threads.values[0];
}

/* One panel's lines: a kernel each, against taps or array size. */
static void send_lines(const struct lab_report *report, FILE *gnuplot, bool against_taps)
{
    const struct lab_settings *settings = report->settings;
    size_t samples = settings->samples.values[settings->samples.count - 1];
    size_t taps = settings->taps.values[0];
    for (size_t k = 0; k < settings->kernel_count; k++) {
        fprintf(gnuplot, "$k%zu << EOD\n", k);
        for (size_t i = 0; i < report->count; i++) {
            const struct lab_row *row = &report->rows[i];
            bool here = strcmp(row->kernel, settings->kernels[k]->name) == 0 &&
                        row->setting == own_setting(settings, settings->kernels[k]) &&
                        (against_taps ? row->samples == samples : row->taps == taps);
            if (here)
                fprintf(gnuplot, "%zu %g %g\n", against_taps ? row->taps : row->samples,
                        1e-9 * row->bytes_rate, 1e-12 * row->flops);
        }
        fprintf(gnuplot, "EOD\n");
    }
    fprintf(gnuplot, "$copy << EOD\n");
    for (size_t i = 0; !against_taps && i < report->count; i++)
        if (report->rows[i].taps == 0)
            fprintf(gnuplot, "%zu %g\n", report->rows[i].samples,
                    1e-9 * report->rows[i].bytes_rate);
    for (size_t t = 0; against_taps && t < settings->taps.count; t++)
        fprintf(gnuplot, "%zu %g\n", settings->taps.values[t],
                1e-9 * copy_of(report, samples)->bytes_rate);
    fprintf(gnuplot, "EOD\n");
}

/* Along the lengths of masks; else along the sizes of what they filter. */
static bool is_against_masks(const struct lab_settings *settings)
{
    return settings->taps.count > 1 || settings->samples.count == 1;
}

static void send(const void *context, FILE *commands)
{
    const struct lab_report *report = context;
    send_lines(report, commands, is_against_masks(report->settings));
}

static enum status draw(const struct lab_report *report)
{
    bool falls = is_against_masks(report->settings);
    struct lab_plot plot = {
        .file = report->plot,
        .device = report->device,
        .kernel_count = report->settings->kernel_count,
        .against = falls ? "taps" : "array size in samples",
        .arithmetic = "arithmetic of the direct form, two operations a tap",
        .falls = falls,
        .flops_least = falls ? 0.01 : 0,
        .send = send,
        .context = report,
    };
    for (size_t k = 0; k < plot.kernel_count; k++)
        plot.kernels[k] = report->settings->kernels[k]->name;
    return lab_plot_draw(&plot);
}

enum status lab_report_finish(struct lab_report *report)
{
    enum status status = STATUS_OK;
    if (report->form == BENCH_TABLE)
        print_tiling(report);
    if (report->form == BENCH_JSON)
        status = print_json(report);
    if (status == STATUS_OK && report->plot)
        status = draw(report);
    return status;
}
