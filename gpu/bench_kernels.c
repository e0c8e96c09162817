/* halo bench kernels: the laboratory's words, tables and plots. */
#include "bench/cmd_bench.h"
#include "bench_kernels2d.h"
#include "fft_plan.h"
#include "lab.h"
#include "lab_report.h"
#include "lab_words.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAPS_MOST = FFT_MOST / 2,
    THREADS_MOST = 1024,
    REPEATS_MOST = 100000,
};

static const size_t SAMPLES_MOST = (size_t)1 << 33;

struct bench_options {
    struct lab_common common; /* first: the words' takers know nothing else */
    struct lab_settings lab;
};

static enum status parse_kernel(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct bench_options *options = context;
    options->lab.kernel_count = 0;
    while (*value) {
        char name[32];
        size_t length = strcspn(value, ",");
        snprintf(name, sizeof name, "%.*s", (int)length, value);
        const struct kernel *kernel = kernel_named(name);
        if (!kernel || options->lab.kernel_count == OPTIONS_LIST_MOST)
            return fail(STATUS_USAGE,
                        "there is no kernel '%s'; there are basic, constant, tiled, "
                        "cached, register and fft",
                        name);
        options->lab.kernels[options->lab.kernel_count++] = kernel;
        value += length + (value[length] == ',');
    }
    return STATUS_OK;
}

static enum status parse_taps(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, TAPS_MOST,
                              &((struct bench_options *)context)->lab.taps);
}

static enum status parse_samples(void *context, const struct option_row *row, const char *value)
{
    return options_parse_list(row->name, value, 1, SAMPLES_MOST,
                              &((struct bench_options *)context)->lab.samples);
}

static enum status parse_threads(void *context, const struct option_row *row, const char *value)
{
    struct number_list *axis = &((struct bench_options *)context)->lab.threads;
    enum status status = options_parse_list(row->name, value, 0, THREADS_MOST, axis);
    for (size_t i = 0; status == STATUS_OK && i < axis->count; i++)
        if (axis->values[i] % 32 != 0)
            status = fail(STATUS_USAGE,
                          "--threads takes multiples of 32, or 0 for each kernel's "
                          "own choice, not %zu",
                          axis->values[i]);
    return status;
}

static enum status parse_fft(void *context, const struct option_row *row, const char *value)
{
    struct number_list *axis = &((struct bench_options *)context)->lab.fft;
    enum status status = options_parse_list(row->name, value, 0, FFT_MOST, axis);
    for (size_t i = 0; status == STATUS_OK && i < axis->count; i++) {
        size_t fft = axis->values[i];
        if (fft != 0 && (fft < FFT_FUSED_LEAST || (fft & (fft - 1)) != 0))
            status = fail(STATUS_USAGE,
                          "--fft takes powers of two from %d to %d, or 0 for the cheapest, not "
                          "%zu",
                          FFT_FUSED_LEAST, FFT_MOST, fft);
    }
    return status;
}

static enum status parse_boundary(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"zero", "replicate", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct bench_options *)context)->lab.boundary = (enum kernel_boundary)choice;
    return status;
}

static enum status parse_repeats(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, REPEATS_MOST,
                                &((struct bench_options *)context)->lab.repeats);
}

static enum status parse_dimensions(void *context, const struct option_row *row, const char *value)
{
    size_t dimensions;
    (void)context;
    return options_parse_number(row->name, value, 1, 2, &dimensions);
}

static const struct option_row rows[] = {
    {"dim", 0, "N", "2: pictures instead of sound, with options of their own,\nsee --dim 2 --help",
     parse_dimensions},
    {"kernel", 0, "LIST", "basic, constant, tiled, cached, register, fft; all by\ndefault",
     parse_kernel},
    {"taps", 0, "LIST",
     "mask lengths; 5,17,65,257,1025,4097 by default; beyond\n"
     "16384, what constant memory holds, fft only",
     parse_taps},
    {"samples", 0, "LIST", "array sizes; 2^28 by default", parse_samples},
    {"threads", 0, "LIST", "threads a block; 0, each kernel's own choice, by default",
     parse_threads},
    {"fft", 0, "LIST", "transform lengths of fft; 0, the cheapest, by default", parse_fft},
    {"boundary", 0, "POLICY", "zero (default) or replicate", parse_boundary},
    {"repeats", 0, "N", "runs the median is taken of; 11 by default", parse_repeats},
    {"csv", 0, NULL, "print comma-separated values", bench_parse_csv},
    {"json", 0, NULL, "print one JSON object", bench_parse_json},
    {"plot", 0, "FILE", "draw a .svg, .png or .pdf, through gnuplot", lab_parse_plot},
    {"read", 0, "FILE", "plot what --csv printed on another machine", lab_parse_read},
    {"help", 'h', NULL, "print this", bench_parse_help},
    {0},
};

static void set_defaults(struct bench_options *options)
{
    struct lab_settings *lab = &options->lab;
    while (kernel_at(lab->kernel_count)) {
        lab->kernels[lab->kernel_count] = kernel_at(lab->kernel_count);
        lab->kernel_count++;
    }
    lab->taps = (struct number_list){6, {5, 17, 65, 257, 1025, 4097}};
    lab->samples = (struct number_list){1, {(size_t)1 << 28}};
    lab->threads = (struct number_list){1, {0}};
    lab->fft = (struct number_list){1, {0}};
    lab->repeats = 11;
}

static enum status plot_file(struct bench_options *options)
{
    struct lab_device device;
    struct lab_report *report;
    if (!options->common.plot)
        return fail(STATUS_USAGE, "--read goes with --plot FILE");
    enum status status =
        lab_report_read(options->common.read, &options->lab, &device, options->common.plot, &report);
    if (status == STATUS_OK)
        status = lab_report_finish(report);
    lab_report_destroy(report);
    return status;
}

static enum status measure(const struct bench_options *options)
{
    struct lab_device device;
    struct lab_report *report;
    enum status status = lab_device_open(&device);
    if (status != STATUS_OK)
        return status;
    status = lab_report_create(&options->lab, &device, options->common.common.form,
                               options->common.plot, &report);
    if (status == STATUS_OK)
        status = lab_run(&options->lab, &device, lab_report_take, report);
    if (status == STATUS_OK)
        status = lab_report_finish(report);
    lab_report_destroy(report);
    return status;
}

/* It decides which options there are, so it is looked for before they are parsed. */
static bool wants_pictures(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--dim=2") == 0 ||
            (strcmp(argv[i], "--dim") == 0 && i + 1 < argc && strcmp(argv[i + 1], "2") == 0))
            return true;
    return false;
}

enum status bench_kernels(int argc, char **argv)
{
    if (wants_pictures(argc, argv))
        return bench_kernels2d(argc, argv);
    struct bench_options options = {0};
    set_defaults(&options);
    enum status status = options_parse(argc, argv, "halo bench kernels", rows, &options);
    if (status != STATUS_OK)
        return status;
    if (!options.common.common.help)
        return options.common.read ? plot_file(&options) : measure(&options);
    puts("usage: halo bench kernels [options]\n\n"
         "Time the GPU's convolution kernels on random data beside a plain copy,\n"
         "each checked against double precision first.\n\noptions:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
    puts(
        "\nexample: halo bench kernels --kernel register,tiled --taps 5,65,257 --plot kernels.svg");
    return STATUS_OK;
}
