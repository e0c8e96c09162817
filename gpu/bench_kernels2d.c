/* halo bench kernels --dim 2: the options of the laboratory of two dimensions. */
#include "bench_kernels2d.h"

#include "lab2d.h"
#include "lab2d_report.h"

#include <string.h>

enum {
    CHANNELS_MOST = 1024,
    REPEATS_MOST = 100000,
};

static const size_t PICTURE_SIDE_MOST = KERNEL2D_SIDE_MOST;
static const size_t PICTURE_CELLS_MOST = (size_t)1 << 33;

struct bench_options {
    enum bench_form form;
    const char *plot;
    const char *read;           /* a file to take the measurements from */
    struct number_list kernels; /* indices, as kernel2d_at has them; none: all */
    size_t dimensions;
    struct lab2d_settings lab;
};

/* Calls parse for each word of a list separated by commas. */
static enum status parse_args(const char *value,
                               enum status (*parse)(struct bench_options *options,
                                                    const char *word),
                               struct bench_options *options)
{
    enum status status = STATUS_OK;
    do {
        char word[64];
        size_t length = strcspn(value, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, value);
        status = parse(options, word);
        value += length;
    } while (status == STATUS_OK && *value++ == ',');
    return status;
}

/* "3x5", or "3" for a square. */
static enum status add_size(const char *option, const char *word, size_t least, size_t most,
                            struct size2d_list *list)
{
    char first[64];
    const char *x = strchr(word, 'x');
    struct size2d size = {0};
    if (list->count == OPTIONS_LIST_MOST)
        return fail(STATUS_USAGE, "--%s takes up to %d sizes", option, OPTIONS_LIST_MOST);
    snprintf(first, sizeof first, "%.*s", x ? (int)(x - word) : (int)strlen(word), word);
    enum status status = options_parse_number(option, first, least, most, &size.rows);
    size.columns = size.rows;
    if (status == STATUS_OK && x)
        status = options_parse_number(option, x + 1, least, most, &size.columns);
    list->values[list->count++] = size;
    return status;
}

static enum status add_mask(struct bench_options *options, const char *word)
{
    struct size2d_list *masks = &options->lab.masks;
    enum status status = add_size("masks", word, 1, KERNEL_TAPS_CONSTANT, masks);
    if (status != STATUS_OK)
        return status;
    struct size2d mask = masks->values[masks->count - 1];
    if (mask.rows * mask.columns > KERNEL_TAPS_CONSTANT)
        return fail(STATUS_USAGE,
                    "--masks takes up to %d coefficients, the 64 KB of constant memory, and "
                    "%s has %zu",
                    KERNEL_TAPS_CONSTANT, word, mask.rows * mask.columns);
    return STATUS_OK;
}

static enum status add_picture(struct bench_options *options, const char *word)
{
    struct size2d_list *sizes = &options->lab.sizes;
    enum status status = add_size("sizes", word, 1, PICTURE_SIDE_MOST, sizes);
    if (status != STATUS_OK)
        return status;
    struct size2d size = sizes->values[sizes->count - 1];
    if (size.rows * size.columns > PICTURE_CELLS_MOST)
        return fail(STATUS_USAGE, "--sizes takes up to 2^33 cells, and %s has more", word);
    return STATUS_OK;
}

/* Threads across and down: columns first, as CUDA has them. */
static enum status add_block(struct bench_options *options, const char *word)
{
    struct size2d_list *blocks = &options->lab.blocks;
    enum status status = add_size("blocks", word, 0, TILE2D_THREADS_MOST, blocks);
    if (status != STATUS_OK)
        return status;
    struct size2d *block = &blocks->values[blocks->count - 1];
    *block = (struct size2d){.rows = block->columns, .columns = block->rows};
    if ((block->rows == 0) != (block->columns == 0))
        return fail(STATUS_USAGE,
                    "--blocks takes threads across and down such as 32x8, or 0 for each kernel's "
                    "own choice, not %s",
                    word);
    return STATUS_OK;
}

static enum status parse_masks(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.masks.count = 0;
    return parse_args(value, add_mask, context);
}

static enum status parse_sizes(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.sizes.count = 0;
    return parse_args(value, add_picture, context);
}

static enum status parse_blocks(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.blocks.count = 0;
    return parse_args(value, add_block, context);
}

static void choose_kernels(struct bench_options *options)
{
    struct lab2d_settings *lab = &options->lab;
    const struct kernel2d *kernel;
    for (size_t i = 0; i < options->kernels.count; i++)
        lab->kernels[lab->kernel_count++] = kernel2d_at(options->kernels.values[i]);
    while (options->kernels.count == 0 && (kernel = kernel2d_at(lab->kernel_count)))
        lab->kernels[lab->kernel_count++] = kernel;
}

static enum status plot_file(struct bench_options *options)
{
    struct lab_device device;
    struct lab2d_report *report;
    if (!options->plot)
        return fail(STATUS_USAGE, "--read goes with --plot FILE");
    enum status status =
        lab2d_report_read(options->read, &options->lab, &device, options->plot, &report);
    if (status == STATUS_OK)
        status = lab2d_report_finish(report);
    lab2d_report_destroy(report);
    return status;
}

static enum status measure(const struct bench_options *options)
{
    struct lab_device device;
    struct lab2d_report *report;
    enum status status = lab_device_open(&device);
    if (status != STATUS_OK)
        return status;
    status = lab2d_report_create(&options->lab, &device, options->form, options->plot, &report);
    if (status == STATUS_OK)
        status = lab2d_run(&options->lab, &device, lab2d_report_take, report);
    if (status == STATUS_OK)
        status = lab2d_report_finish(report);
    lab2d_report_destroy(report);
    return status;
}

static enum status run(void *context)
{
    struct bench_options *options = context;
    choose_kernels(options);
    return options->read ? plot_file(options) : measure(options);
}

static const char *kernel_name(size_t index)
{
    const struct kernel2d *kernel = kernel2d_at(index);
    return kernel ? kernel->name : NULL;
}

static const char *const row_names[] = {"packed", "pitched", NULL};
static const char *const cell_names[] = {"float", "byte", NULL};
static const char *const boundary_names[] = {"zero", "replicate", "reflect", NULL};

static const struct option_row rows[] = {
    OPT_INTEGER("dim", "2", struct bench_options, dimensions, 2, 2, "pictures instead of sound"),
    OPT_CHOICES("kernel", "LIST", struct bench_options, kernels,
                "basic, constant, tiled-in, tiled-out, cached, register;\nall by default",
                .name_at = kernel_name),
    OPT_PARSE("masks", "LIST", parse_masks,
              "rows and columns of masks; 3x3,5x5,7x7,9x9,15x15,31x31 by\n"
              "default"),
    OPT_PARSE("sizes", "LIST", parse_sizes, "rows and columns of pictures; 8192x8192 by default"),
    OPT_PARSE("blocks", "LIST", parse_blocks,
              "threads of a block across and down, of register: threads\n"
              "across and rows of a strip; 0, each kernel's own choice, by\ndefault"),
    OPT_CHOICES("rows", "LIST", struct bench_options, lab.pitched,
                "pitched (default): rows padded by cudaMallocPitch, or\n"
                "packed",
                .names = row_names),
    OPT_CHOICE("cells", "KIND", struct bench_options, lab.cells, cell_names,
               "float (default), or byte: rounded and clamped to 0..255"),
    OPT_INTEGER("channels", "N", struct bench_options, lab.channels, 1, CHANNELS_MOST,
                "planes of a picture; 1 by default"),
    OPT_CHOICE("edge", "POLICY", struct bench_options, lab.boundary, boundary_names,
               "zero (default), replicate or reflect"),
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

const struct command bench_kernels2d = {
    .name = "halo bench kernels --dim 2",
    .usage = "usage: halo bench kernels --dim 2 [options]\n\n"
             "Time the GPU's convolution kernels of two dimensions on random pictures beside\n"
             "a plain copy, each checked against double precision first.",
    .ending = "example: halo bench kernels --dim 2 --kernel register,tiled-out --masks 3x3,15x15",
    .groups = groups,
    .size = sizeof(struct bench_options),
    .defaults =
        &(const struct bench_options){
            .lab =
                {
                    .masks = {6, {{3, 3}, {5, 5}, {7, 7}, {9, 9}, {15, 15}, {31, 31}}},
                    .sizes = {1, {{8192, 8192}}},
                    .blocks = {1, {{0, 0}}},
                    .pitched = {1, {1}},
                    .channels = 1,
                    .repeats = 11,
                }},
    .run = run,
};
