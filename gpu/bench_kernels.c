/* halo bench kernels: the laboratory's options. */
#include "bench/bench.h"
#include "bench_kernels2d.h"
#include "fft_plan.h"
#include "lab.h"
#include "lab_report.h"

#include <stdlib.h>
#include <string.h>

enum {
    TAPS_MOST = FFT_MOST / 2,
    THREADS_MOST = 1024,
    REPEATS_MOST = 100000,
};

#define SAMPLES_MOST 0x1p33

struct bench_options {
    enum bench_form form;
    const char *plot;
    const char *read;           /* a file to take the measurements from */
    struct number_list kernels; /* indices, as kernel_at has them; none: all */
    struct lab_settings lab;
    size_t dimensions;
};

static enum status check(const struct bench_options *options)
{
    const struct number_list *threads = &options->lab.threads, *fft = &options->lab.fft;
    for (size_t i = 0; i < threads->count; i++)
        if (threads->values[i] % 32 != 0)
            return fail(STATUS_USAGE,
                        "--threads takes multiples of 32, or 0 for each kernel's own choice, "
                        "not %zu",
                        threads->values[i]);
    for (size_t i = 0; i < fft->count; i++) {
        size_t length = fft->values[i];
        if (length != 0 && (length < FFT_FUSED_LEAST || (length & (length - 1)) != 0))
            return fail(STATUS_USAGE,
                        "--fft takes powers of two from %d to %d, or 0 for the cheapest, not %zu",
                        FFT_FUSED_LEAST, FFT_MOST, length);
    }
    return STATUS_OK;
}

static void choose_kernels(struct bench_options *options)
{
    struct lab_settings *lab = &options->lab;
    const struct kernel *kernel;
    for (size_t i = 0; i < options->kernels.count; i++)
        lab->kernels[lab->kernel_count++] = kernel_at(options->kernels.values[i]);
    while (options->kernels.count == 0 && (kernel = kernel_at(lab->kernel_count)))
        lab->kernels[lab->kernel_count++] = kernel;
}

static enum status plot_file(struct bench_options *options)
{
    struct lab_device device;
    struct lab_report *report;
    if (!options->plot)
        return fail(STATUS_USAGE, "--read goes with --plot FILE");
    enum status status =
        lab_report_read(options->read, &options->lab, &device, options->plot, &report);
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
    status = lab_report_create(&options->lab, &device, options->form, options->plot, &report);
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

static enum status run(void *context)
{
    struct bench_options *options = context;
    enum status status = check(options);
    if (status != STATUS_OK)
        return status;
    choose_kernels(options);
    return options->read ? plot_file(options) : measure(options);
}

static const char *kernel_name(size_t index)
{
    const struct kernel *kernel = kernel_at(index);
    return kernel ? kernel->name : NULL;
}

static const char *const boundary_names[] = {"zero", "replicate", NULL};

static const struct option_row rows[] = {
    OPT_INTEGER("dim", "N", struct bench_options, dimensions, 1, 2,
                "2: pictures instead of sound, with options of their own,\nsee --dim 2 --help"),
    OPT_CHOICES("kernel", "LIST", struct bench_options, kernels,
                "basic, constant, tiled, cached, register, fft; all by\ndefault",
                .name_at = kernel_name),
    OPT_INTEGERS("taps", "LIST", struct bench_options, lab.taps, 1, TAPS_MOST,
                 "mask lengths; 5,17,65,257,1025,4097 by default; beyond\n"
                 "16384, what constant memory holds, fft only"),
    OPT_INTEGERS("samples", "LIST", struct bench_options, lab.samples, 1, SAMPLES_MOST,
                 "array sizes; 2^28 by default"),
    OPT_INTEGERS("threads", "LIST", struct bench_options, lab.threads, 0, THREADS_MOST,
                 "threads a block; 0, each kernel's own choice, by default"),
    OPT_INTEGERS("fft", "LIST", struct bench_options, lab.fft, 0, FFT_MOST,
                 "transform lengths of fft; 0, the cheapest, by default"),
    OPT_CHOICE("boundary", "POLICY", struct bench_options, lab.boundary, boundary_names,
               "zero (default) or replicate"),
    OPT_INTEGER("repeats", "N", struct bench_options, lab.repeats, 1, REPEATS_MOST,
                "runs the median is taken of; 11 by default"),
    BENCH_FORMS(struct bench_options, form),
    OPT_FILE("plot", "FILE", struct bench_options, plot,
             "draw a .svg, .png or .pdf, through gnuplot"),
    OPT_FILE("read", "FILE", struct bench_options, read,
             "plot what --csv printed on another machine"),
    {0},
};

static const struct option_group groups[] = {{.heading = "options", .rows = rows}, {0}};

#define DESCRIPTION                                                                                \
    .name = "halo bench kernels",                                                                  \
    .summary = "times the GPU's convolution kernels beside a plain copy", .groups = groups

static const struct command of_sound = {
    DESCRIPTION,
    .usage = "usage: halo bench kernels [options]\n\n"
             "Time the GPU's convolution kernels on random data beside a plain copy,\n"
             "each checked against double precision first.",
    .ending = "example: halo bench kernels --kernel register,tiled --taps 5,65,257 --plot "
              "kernels.svg",
    .size = sizeof(struct bench_options),
    .defaults = &(const struct bench_options){.lab =
                                                  {
                                                      .taps = {6, {5, 17, 65, 257, 1025, 4097}},
                                                      .samples = {1, {(size_t)1 << 28}},
                                                      .threads = {1, {0}},
                                                      .fft = {1, {0}},
                                                      .repeats = 11,
                                                  }},
    .run = run,
};

static enum status run_either(int argc, char **argv)
{
    return program_run(wants_pictures(argc, argv) ? &bench_kernels2d : &of_sound, argc, argv);
}

const struct command bench_kernels = {DESCRIPTION, .main = run_either};
