/* halo bench kernels: the options of both kinds, sound and pictures. */
#include "bench/cmd_bench.h"
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

static const size_t SAMPLES_MOST = (size_t)1 << 33; /* of sound, or cells of a picture */

struct kernel_bench_options {
    struct bench_common common; /* first: the words' takers know nothing else */
    const char *plot;
    const char *read; /* a file to take the measurements from */
    struct kernel_bench_settings settings;
};

static struct kernel_bench_settings *settings_of(void *context)
{
    return &((struct kernel_bench_options *)context)->settings;
}

/* ---- options of both ---- */

/* Calls add for each word of a list separated by commas. */
static enum status parse_list(struct kernel_bench_settings *settings, const char *value,
                              enum status (*add)(struct kernel_bench_settings *settings,
                                                 const char *word))
{
    enum status status = STATUS_OK;
    do {
        char word[64];
        size_t length = strcspn(value, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, value);
        status = add(settings, word);
        value += length;
    } while (status == STATUS_OK && *value++ == ',');
    return status;
}

static enum status add_kernel(struct kernel_bench_settings *settings, const char *word)
{
    const struct kernel_bench_kind *kind = settings->kind;
    struct number_list *kernels = &settings->kernels;
    size_t k = 0;
    while (kind->kernel_name(k) && strcmp(kind->kernel_name(k), word) != 0)
        k++;
    if (!kind->kernel_name(k) || kernels->count == OPTIONS_LIST_MOST)
        return fail(STATUS_USAGE, "there is no kernel '%s'; there are %s", word, kind->kernels);
    kernels->values[kernels->count++] = k;
    return STATUS_OK;
}

static enum status parse_kernel(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    settings_of(context)->kernels.count = 0;
    return parse_list(settings_of(context), value, add_kernel);
}

static enum status parse_repeats(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, REPEATS_MOST, &settings_of(context)->repeats);
}

/* Which kind it is was decided before (wants_pictures). */
static enum status parse_dimensions(void *context, const struct option_row *row, const char *value)
{
    size_t dimensions, least = settings_of(context)->kind == &kernel_bench_2d ? 2 : 1;
    return options_parse_number(row->name, value, least, 2, &dimensions);
}

static enum status parse_plot(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct kernel_bench_options *)context)->plot = value;
    return STATUS_OK;
}

static enum status parse_read(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct kernel_bench_options *)context)->read = value;
    return STATUS_OK;
}

/* The last rows of both tables. */
#define SHARED_ROWS                                                                                \
    {"repeats", 0, "N", "runs the median is taken of; 11 by default", parse_repeats},              \
        {"csv", 0, NULL, "print comma-separated values", bench_parse_csv},                          \
        {"json", 0, NULL, "print one JSON object", bench_parse_json},                               \
        {"plot", 0, "FILE", "draw a .svg, .png or .pdf, through gnuplot", parse_plot},             \
        {"read", 0, "FILE", "plot what --csv printed on another machine", parse_read},             \
        {"help", 'h', NULL, "print this", bench_parse_help}, {0}

/* ---- options of sound ---- */

/* Numbers, as sizes of one row. */
static enum status parse_lengths(const struct option_row *row, const char *value, size_t least,
                                 size_t most, struct size2d_list *list)
{
    struct number_list numbers;
    enum status status = options_parse_list(row->name, value, least, most, &numbers);
    for (list->count = 0; status == STATUS_OK && list->count < numbers.count; list->count++)
        list->values[list->count] = (struct size2d){1, numbers.values[list->count]};
    return status;
}

static enum status parse_taps(void *context, const struct option_row *row, const char *value)
{
    return parse_lengths(row, value, 1, TAPS_MOST, &settings_of(context)->masks);
}

static enum status parse_samples(void *context, const struct option_row *row, const char *value)
{
    return parse_lengths(row, value, 1, SAMPLES_MOST, &settings_of(context)->sizes);
}

static enum status parse_threads(void *context, const struct option_row *row, const char *value)
{
    struct size2d_list *list = &settings_of(context)->blocks;
    enum status status = parse_lengths(row, value, 0, THREADS_MOST, list);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++)
        if (list->values[i].columns % 32 != 0)
            status = fail(STATUS_USAGE,
                          "--threads takes multiples of 32, or 0 for each kernel's "
                          "own choice, not %zu",
                          list->values[i].columns);
    return status;
}

static enum status parse_fft(void *context, const struct option_row *row, const char *value)
{
    struct size2d_list *list = &settings_of(context)->transforms;
    enum status status = parse_lengths(row, value, 0, FFT_MOST, list);
    for (size_t i = 0; status == STATUS_OK && i < list->count; i++) {
        size_t fft = list->values[i].columns;
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
    settings_of(context)->boundary = (enum kernel_boundary)choice;
    return status;
}

static const struct option_row rows_1d[] = {
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
    SHARED_ROWS,
};

/* ---- options of pictures ---- */

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

static enum status add_mask(struct kernel_bench_settings *settings, const char *word)
{
    struct size2d_list *masks = &settings->masks;
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

static enum status add_picture(struct kernel_bench_settings *settings, const char *word)
{
    struct size2d_list *sizes = &settings->sizes;
    enum status status = add_size("sizes", word, 1, KERNEL2D_SIDE_MOST, sizes);
    if (status != STATUS_OK)
        return status;
    struct size2d size = sizes->values[sizes->count - 1];
    if (size.rows * size.columns > SAMPLES_MOST)
        return fail(STATUS_USAGE, "--sizes takes up to 2^33 cells, and %s has more", word);
    return STATUS_OK;
}

/* Threads across and down: columns first, as CUDA has them. */
static enum status add_block(struct kernel_bench_settings *settings, const char *word)
{
    struct size2d_list *blocks = &settings->blocks;
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
    settings_of(context)->masks.count = 0;
    return parse_list(settings_of(context), value, add_mask);
}

static enum status parse_sizes(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    settings_of(context)->sizes.count = 0;
    return parse_list(settings_of(context), value, add_picture);
}

static enum status parse_blocks(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    settings_of(context)->blocks.count = 0;
    return parse_list(settings_of(context), value, add_block);
}

static enum status parse_rows(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"packed", "pitched", NULL};
    return options_choose_list(row->name, value, names, &settings_of(context)->pitched);
}

static enum status parse_cells(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"float", "byte", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    settings_of(context)->cells = (enum kernel2d_cells)choice;
    return status;
}

static enum status parse_boundary2d(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"zero", "replicate", "reflect", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    settings_of(context)->boundary = (enum kernel_boundary)choice;
    return status;
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, CHANNELS_MOST,
                                &settings_of(context)->channels);
}

static const struct option_row rows_2d[] = {
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
    {"edge", 0, "POLICY", "zero (default), replicate or reflect", parse_boundary2d},
    SHARED_ROWS,
};

/* ---- the command ---- */

static void set_defaults(struct kernel_bench_settings *settings, bool pictures)
{
    *settings = (struct kernel_bench_settings){
        .kind = pictures ? &kernel_bench_2d : &kernel_bench_1d,
        .masks = {6, {{1, 5}, {1, 17}, {1, 65}, {1, 257}, {1, 1025}, {1, 4097}}},
        .sizes = {1, {{1, (size_t)1 << 28}}},
        .blocks = {1, {{0, 0}}},
        .transforms = {1, {{0, 0}}},
        .pitched = {1, {pictures}},
        .channels = 1,
        .repeats = 11,
    };
    if (pictures) {
        settings->masks =
            (struct size2d_list){6, {{3, 3}, {5, 5}, {7, 7}, {9, 9}, {15, 15}, {31, 31}}};
        settings->sizes = (struct size2d_list){1, {{8192, 8192}}};
    }
    while (settings->kind->kernel_name(settings->kernels.count)) {
        settings->kernels.values[settings->kernels.count] = settings->kernels.count;
        settings->kernels.count++;
    }
}

static void print_help(bool pictures)
{
    puts(pictures
             ? "usage: halo bench kernels --dim 2 [options]\n\n"
               "Time the GPU's convolution kernels of two dimensions on random pictures beside\n"
               "a plain copy, each checked against double precision first.\n\noptions:"
             : "usage: halo bench kernels [options]\n\n"
               "Time the GPU's convolution kernels on random data beside a plain copy,\n"
               "each checked against double precision first.\n\noptions:");
    options_print(stdout, pictures ? rows_2d : rows_1d, SIZE_MAX);
    puts(pictures
             ? "\nexample: halo bench kernels --dim 2 --kernel register,tiled-out --masks 3x3,15x15"
             : "\nexample: halo bench kernels --kernel register,tiled --taps 5,65,257 --plot "
               "kernels.svg");
}

static enum status measure(const struct kernel_bench_options *options)
{
    struct kernel_bench_device device = {0};
    struct kernel_bench_report *report = NULL;
    enum bench_form form = options->read ? BENCH_NOTHING : options->common.form;
    enum status status = options->read ? STATUS_OK : kernel_bench_device_open(&device);
    if (status != STATUS_OK)
        return status;
    if ((status =
             kernel_bench_report_create(&options->settings, &device, form, options->plot, &report)))
        return status;
    status = options->read ? kernel_bench_report_read(report, options->read, &device)
                           : kernel_bench_run(&options->settings, &device, report);
    if (status == STATUS_OK)
        status = kernel_bench_report_finish(report);
    kernel_bench_report_destroy(report);
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
    struct kernel_bench_options options = {0};
    bool pictures = wants_pictures(argc, argv);
    set_defaults(&options.settings, pictures);
    enum status status = options_parse(argc, argv, options.settings.kind->command,
                                       pictures ? rows_2d : rows_1d, &options);
    if (status != STATUS_OK)
        return status;
    if (options.common.help) {
        print_help(pictures);
        return STATUS_OK;
    }
    if (options.read && !options.plot)
        return fail(STATUS_USAGE, "--read goes with --plot FILE");
    return measure(&options);
}
