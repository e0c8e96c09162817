/* halo bench kernels: the options for sound and for pictures. */
#include "bench/bench.h"
#include "bench/kernel_bench.h"
#include "bench/kernel_bench_report.h"
#include "gpu/fft_plan.h"

#include <string.h>

enum {
    TAPS_MOST = FFT_MOST / 2,
    THREADS_MOST = 1024,
    CHANNELS_MOST = 1024,
    REPEATS_MOST = 100000,
};

#define SAMPLES_MOST 0x1p33 /* largest sound in samples, or picture in cells */

struct kernel_bench_options {
    enum bench_form form;
    size_t dimensions;
    struct number_list taps, samples, threads, fft; /* sizes and settings for sound */
    struct kernel_bench_settings settings;
};

/* ---- sizes ---- */

/* Adds a size such as "3x5", or "3" for a square. */
static enum status add_size(const struct option_row *row, const char *word,
                            struct size2d_list *list)
{
    char first[64];
    const char *x = strchr(word, 'x');
    struct size2d size = {0};
    size_t least = (size_t)row->least, most = (size_t)row->most;
    if (list->count == OPTIONS_LIST_MOST)
        return fail(CAUSE_USAGE, "--%s takes up to %d sizes", row->name, OPTIONS_LIST_MOST);
    snprintf(first, sizeof first, "%.*s", x ? (int)(x - word) : (int)strlen(word), word);
    TRY(options_parse_number(row->name, first, least, most, &size.rows));
    size.columns = size.rows;
    if (x)
        TRY(options_parse_number(row->name, x + 1, least, most, &size.columns));
    list->values[list->count++] = size;
    return STATUS_OK;
}

static enum status parse_sizes(void *options, const struct option_row *row, const char *value)
{
    struct size2d_list *list = (struct size2d_list *)(void *)((char *)options + row->offset);
    list->count = 0;
    do {
        char word[64];
        size_t length = strcspn(value, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, value);
        TRY(add_size(row, word, list));
        value += length;
    } while (*value++ == ',');
    return STATUS_OK;
}

#define OPT_SIZES(NAME, FIELD, LEAST, MOST, ...)                                                   \
    OPT_PARSE(NAME, "LIST", parse_sizes, __VA_ARGS__,                                              \
              .offset = offsetof(struct kernel_bench_options, settings.FIELD), .least = LEAST,     \
              .most = MOST)

/* Converts numbers to sizes of one row. */
static void use_lengths(const struct number_list *numbers, struct size2d_list *list)
{
    for (list->count = 0; list->count < numbers->count; list->count++)
        list->values[list->count] = (struct size2d){1, numbers->values[list->count]};
}

static enum status use_sound(struct kernel_bench_options *options)
{
    const struct number_list *threads = &options->threads, *fft = &options->fft;
    for (size_t i = 0; i < threads->count; i++)
        if (threads->values[i] % 32 != 0)
            return fail(CAUSE_USAGE,
                        "--threads takes multiples of 32, or 0 for each kernel's own choice, "
                        "not %zu",
                        threads->values[i]);
    for (size_t i = 0; i < fft->count; i++) {
        size_t length = fft->values[i];
        if (length != 0 && (length < FFT_FUSED_LEAST || (length & (length - 1)) != 0))
            return fail(CAUSE_USAGE,
                        "--fft takes powers of two from %d to %d, or 0 for the cheapest, not %zu",
                        FFT_FUSED_LEAST, FFT_MOST, length);
    }
    use_lengths(&options->taps, &options->settings.masks);
    use_lengths(&options->samples, &options->settings.sizes);
    use_lengths(threads, &options->settings.blocks);
    use_lengths(fft, &options->settings.transforms);
    return STATUS_OK;
}

static enum status use_pictures(struct kernel_bench_options *options)
{
    struct kernel_bench_settings *settings = &options->settings;
    for (size_t i = 0; i < settings->masks.count; i++) {
        struct size2d mask = settings->masks.values[i];
        if (mask.rows * mask.columns > KERNEL_TAPS_CONSTANT)
            return fail(CAUSE_USAGE,
                        "--masks takes up to %d coefficients, the 64 KB of constant memory, and "
                        "%zux%zu has %zu",
                        KERNEL_TAPS_CONSTANT, mask.rows, mask.columns, mask.rows * mask.columns);
    }
    for (size_t i = 0; i < settings->sizes.count; i++) {
        struct size2d size = settings->sizes.values[i];
        if ((double)size.rows * (double)size.columns > SAMPLES_MOST)
            return fail(CAUSE_USAGE, "--sizes takes up to 2^33 cells, and %zux%zu has more",
                        size.rows, size.columns);
    }
    for (size_t i = 0; i < settings->blocks.count; i++) {
        struct size2d block = settings->blocks.values[i];
        if ((block.rows == 0) != (block.columns == 0))
            return fail(CAUSE_USAGE,
                        "--blocks takes threads across and down such as 32x8, or 0 for each "
                        "kernel's own choice, not %zux%zu",
                        block.rows, block.columns);
        /* CUDA puts columns first */
        settings->blocks.values[i] = (struct size2d){.rows = block.columns, .columns = block.rows};
    }
    return STATUS_OK;
}

/* ---- the command ---- */

static enum status measure(const struct kernel_bench_options *options)
{
    struct kernel_bench_device device = {0};
    struct kernel_bench_report *report = NULL;
    TRY(kernel_bench_device_open(&device));
    TRY(kernel_bench_report_create(&options->settings, &device, options->form, &report));
    enum status status = kernel_bench_run(&options->settings, &device, report);
    if (status == STATUS_OK)
        status = kernel_bench_report_finish(report);
    kernel_bench_report_destroy(report);
    return status;
}

static enum status run(struct kernel_bench_options *options, const struct kernel_bench_kind *kind)
{
    struct kernel_bench_settings *settings = &options->settings;
    settings->kind = kind;
    if (settings->kernels.count == 0)
        for (; kind->kernel_name(settings->kernels.count); settings->kernels.count++)
            settings->kernels.values[settings->kernels.count] = settings->kernels.count;
    return measure(options);
}

static enum status run_1d(void *options)
{
    TRY(use_sound(options));
    return run(options, &kernel_bench_1d);
}

static enum status run_2d(void *options)
{
    TRY(use_pictures(options));
    return run(options, &kernel_bench_2d);
}

/* Whether --dim asks for pictures. Read before parsing, since it selects the table of options. */
static bool wants_pictures(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--dim=2") == 0 ||
            (strcmp(argv[i], "--dim") == 0 && i + 1 < argc && strcmp(argv[i + 1], "2") == 0))
            return true;
    return false;
}

static const char *kernel_name_1d(size_t index)
{
    return kernel_bench_1d.kernel_name(index);
}

static const char *kernel_name_2d(size_t index)
{
    return kernel_bench_2d.kernel_name(index);
}

static const char *const row_names[] = {"packed", "pitched", NULL};
static const char *const boundary_names_1d[] = {"zero", "replicate", NULL};
static const char *const boundary_names_2d[] = {"zero", "replicate", "reflect", NULL};

static const struct option_row rows_1d[] = {
    OPT_INTEGER("dim", "N", struct kernel_bench_options, dimensions, 1, 2,
                "2: pictures instead of sound, with other options; see\n--dim 2 --help"),
    OPT_CHOICES("kernel", "LIST", struct kernel_bench_options, settings.kernels,
                "basic, constant, tiled, cached, register, tensor, fft;\ndefault: all",
                .name_at = kernel_name_1d),
    OPT_INTEGERS("taps", "LIST", struct kernel_bench_options, taps, 1, TAPS_MOST,
                 "mask lengths; default 5,17,65,257,1025,4097; above 16384,\n"
                 "the limit of constant memory, fft only"),
    OPT_INTEGERS("samples", "LIST", struct kernel_bench_options, samples, 1, SAMPLES_MOST,
                 "array sizes; default 2^28"),
    OPT_INTEGERS("threads", "LIST", struct kernel_bench_options, threads, 0, THREADS_MOST,
                 "threads per block; default 0: chosen by each kernel"),
    OPT_INTEGERS("fft", "LIST", struct kernel_bench_options, fft, 0, FFT_MOST,
                 "transform lengths of fft; default 0: the cheapest"),
    OPT_CHOICE("boundary", "POLICY", struct kernel_bench_options, settings.boundary,
               boundary_names_1d, "zero (default) or replicate"),
    {0},
};

static const struct option_row rows_2d[] = {
    OPT_INTEGER("dim", "2", struct kernel_bench_options, dimensions, 2, 2,
                "pictures instead of sound"),
    OPT_CHOICES("kernel", "LIST", struct kernel_bench_options, settings.kernels,
                "basic, constant, tiled-in, tiled-out, cached, register;\ndefault: all",
                .name_at = kernel_name_2d),
    OPT_SIZES("masks", masks, 1, KERNEL_TAPS_CONSTANT,
              "rows and columns of masks; default\n"
              "3x3,5x5,7x7,9x9,15x15,31x31"),
    OPT_SIZES("sizes", sizes, 1, KERNEL2D_SIDE_MOST,
              "rows and columns of pictures; default 8192x8192"),
    OPT_SIZES("blocks", blocks, 0, TILE2D_THREADS_MOST,
              "threads of a block across and down; of register: threads\n"
              "across and rows of a strip; default 0: chosen by each kernel"),
    OPT_CHOICES("rows", "LIST", struct kernel_bench_options, settings.pitched,
                "pitched (default): rows padded by cudaMallocPitch, or\n"
                "packed",
                .names = row_names),
    OPT_INTEGER("channels", "N", struct kernel_bench_options, settings.channels, 1, CHANNELS_MOST,
                "planes of a picture; default 1"),
    OPT_CHOICE("edge", "POLICY", struct kernel_bench_options, settings.boundary, boundary_names_2d,
               "zero (default), replicate or reflect"),
    {0},
};

static const struct option_row rows_of_both[] = {
    OPT_INTEGER("repeats", "N", struct kernel_bench_options, settings.repeats, 1, REPEATS_MOST,
                "runs for the median; default 11"),
    BENCH_FORMS(struct kernel_bench_options, form),
    {0},
};

static const struct option_group groups_1d[] = {
    {.heading = "options", .rows = rows_1d}, {.rows = rows_of_both}, {0}};
static const struct option_group groups_2d[] = {
    {.heading = "options", .rows = rows_2d}, {.rows = rows_of_both}, {0}};

#define SUMMARY "time the GPU's convolution kernels against a plain copy"

static const struct command command_1d = {
    .name = "halo bench kernels",
    .summary = SUMMARY,
    .usage = "usage: halo bench kernels [options]\n\n"
             "Time the GPU's convolution kernels on random data against a plain copy, after\n"
             "checking each against double precision.",
    .ending = "example: halo bench kernels --kernel register,tiled --taps 5,65,257",
    .groups = groups_1d,
    .size = sizeof(struct kernel_bench_options),
    .defaults =
        &(const struct kernel_bench_options){
            .taps = {6, {5, 17, 65, 257, 1025, 4097}},
            .samples = {1, {(size_t)1 << 28}},
            .threads = {1, {0}},
            .fft = {1, {0}},
            .settings = {.pitched = {1, {0}}, .channels = 1, .repeats = 11},
        },
    .run = run_1d,
};

static const struct command command_2d = {
    .name = "halo bench kernels --dim 2",
    .usage = "usage: halo bench kernels --dim 2 [options]\n\n"
             "Time the GPU's two-dimensional convolution kernels on random pictures against a\n"
             "plain copy, after checking each against double precision.",
    .ending = "example: halo bench kernels --dim 2 --kernel register,tiled-out --masks 3x3,15x15",
    .groups = groups_2d,
    .size = sizeof(struct kernel_bench_options),
    .defaults =
        &(const struct kernel_bench_options){
            .settings = {.masks = {6, {{3, 3}, {5, 5}, {7, 7}, {9, 9}, {15, 15}, {31, 31}}},
                         .sizes = {1, {{8192, 8192}}},
                         .blocks = {1, {{0, 0}}},
                         .transforms = {1, {{0, 0}}},
                         .pitched = {1, {1}},
                         .channels = 1,
                         .repeats = 11},
        },
    .run = run_2d,
};

static enum status run_either(int argc, char **argv)
{
    return program_run(wants_pictures(argc, argv) ? &command_2d : &command_1d, argc, argv);
}

const struct command bench_kernels = {
    .name = "halo bench kernels",
    .summary = SUMMARY,
    .groups = groups_1d,
    .main = run_either,
};
