/* The words of the laboratory of two dimensions. */
#include "bench_kernels2d.h"

#include "lab2d.h"
#include "lab2d_report.h"
#include "lab_words.h"

#include <string.h>

enum {
    CHANNELS_MOST = 1024,
    REPEATS_MOST = 100000,
};

static const size_t PICTURE_SIDE_MOST = KERNEL2D_SIDE_MOST;
static const size_t PICTURE_CELLS_MOST = (size_t)1 << 33;

struct bench_options {
    struct lab_common common; /* first: the words' takers know nothing else */
    struct lab2d_settings lab;
};

/* Calls take for each word of a list separated by commas. */
static enum status parse_words(const char *value,
                              enum status (*take)(struct bench_options *options, const char *word),
                              struct bench_options *options)
{
    enum status status = STATUS_OK;
    do {
        char word[64];
        size_t length = strcspn(value, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, value);
        status = take(options, word);
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

static enum status add_kernel(struct bench_options *options, const char *word)
{
    const struct kernel2d *kernel = kernel2d_named(word);
    if (!kernel || options->lab.kernel_count == OPTIONS_LIST_MOST)
        return fail(STATUS_USAGE,
                    "there is no kernel of two dimensions '%s'; there are basic, constant, "
                    "tiled-in, tiled-out, cached and register",
                    word);
    options->lab.kernels[options->lab.kernel_count++] = kernel;
    return STATUS_OK;
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

static enum status parse_kernel(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.kernel_count = 0;
    return parse_words(value, add_kernel, context);
}

static enum status parse_masks(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.masks.count = 0;
    return parse_words(value, add_mask, context);
}

static enum status parse_sizes(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.sizes.count = 0;
    return parse_words(value, add_picture, context);
}

static enum status parse_blocks(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct bench_options *)context)->lab.blocks.count = 0;
    return parse_words(value, add_block, context);
}

static enum status parse_rows(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"packed", "pitched", NULL};
    return options_choose_list(row->name, value, names,
                               &((struct bench_options *)context)->lab.pitched);
}

static enum status parse_cells(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"float", "byte", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct bench_options *)context)->lab.cells = (enum kernel2d_cells)choice;
    return status;
}

static enum status parse_boundary(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"zero", "replicate", "reflect", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct bench_options *)context)->lab.boundary = (enum kernel2d_boundary)choice;
    return status;
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, CHANNELS_MOST,
                                &((struct bench_options *)context)->lab.channels);
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
    return options_parse_number(row->name, value, 2, 2, &dimensions);
}

static const struct option_row rows[] = {
    {"dim", 0, "2", "pictures instead of sound", parse_dimensions},
    {"kernel", 0, "LIST", "basic, constant, tiled-in, tiled-out, cached, register;\nall by default",
     parse_kernel},
    {"masks", 0, "LIST",
     "rows and columns of masks; 3x3,5x5,7x7,9x9,15x15,31x31 by\n"
     "default",
     parse_masks},
    {"sizes", 0, "LIST", "rows and columns of pictures; 8192x8192 by default", parse_sizes},
    {"blocks", 0, "LIST",
     "threads of a block across and down, of register: threads\n"
     "across and rows of a strip; 0, each kernel's own choice, by\ndefault",
     parse_blocks},
    {"rows", 0, "LIST",
     "pitched (default): rows padded by cudaMallocPitch, or\n"
     "packed",
     parse_rows},
    {"cells", 0, "KIND", "float (default), or byte: rounded and clamped to 0..255", parse_cells},
    {"channels", 0, "N", "planes of a picture; 1 by default", parse_channels},
    {"edge", 0, "POLICY", "zero (default), replicate or reflect", parse_boundary},
    {"repeats", 0, "N", "runs the median is taken of; 11 by default", parse_repeats},
    {"csv", 0, NULL, "print comma-separated values", bench_parse_csv},
    {"json", 0, NULL, "print one JSON object", bench_parse_json},
    {"plot", 0, "FILE", "draw a .svg, .png or .pdf, through gnuplot", lab_parse_plot},
    {"read", 0, "FILE", "plot what --csv printed on another machine", lab_parse_read},
    {"help", 'h', NULL, "print this", bench_parse_help},
    {0},
};

static void set_defaults(struct lab2d_settings *lab)
{
    while (kernel2d_at(lab->kernel_count)) {
        lab->kernels[lab->kernel_count] = kernel2d_at(lab->kernel_count);
        lab->kernel_count++;
    }
    lab->masks = (struct size2d_list){6, {{3, 3}, {5, 5}, {7, 7}, {9, 9}, {15, 15}, {31, 31}}};
    lab->sizes = (struct size2d_list){1, {{8192, 8192}}};
    lab->blocks = (struct size2d_list){1, {{0, 0}}};
    lab->pitched = (struct number_list){1, {1}};
    lab->channels = 1;
    lab->repeats = 11;
}

static enum status plot_file(struct bench_options *options)
{
    struct lab_device device;
    struct lab2d_report *report;
    if (!options->common.plot)
        return fail(STATUS_USAGE, "--read goes with --plot FILE");
    enum status status = lab2d_report_read(options->common.read, &options->lab, &device,
                                           options->common.plot, &report);
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
    status = lab2d_report_create(&options->lab, &device, options->common.common.form,
                                 options->common.plot, &report);
    if (status == STATUS_OK)
        status = lab2d_run(&options->lab, &device, lab2d_report_take, report);
    if (status == STATUS_OK)
        status = lab2d_report_finish(report);
    lab2d_report_destroy(report);
    return status;
}

enum status bench_kernels2d(int argc, char **argv)
{
    struct bench_options options = {0};
    set_defaults(&options.lab);
    enum status status = options_parse(argc, argv, "halo bench kernels --dim 2", rows, &options);
    if (status != STATUS_OK)
        return status;
    if (!options.common.common.help)
        return options.common.read ? plot_file(&options) : measure(&options);
    puts("usage: halo bench kernels --dim 2 [options]\n\n"
         "Time the GPU's convolution kernels of two dimensions on random pictures beside\n"
         "a plain copy, each checked against double precision first.\n\noptions:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
    puts("\nexample: halo bench kernels --dim 2 --kernel register,tiled-out --masks 3x3,15x15");
    return STATUS_OK;
}
