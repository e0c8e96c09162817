#include "render_options.h"

#include "convolver.h"
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STAGES_MOST = 8, THREADS_MOST = 1024, BLOCK_MOST = 1 << 24 };

static const char *const edge_names[] = {"zero", "replicate", "reflect", "wrap", NULL};

static enum status take_stage(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    return stage_list_add(&options->stages, stage_kind_named(row->name), value);
}

static enum status take_edge(void *context, const struct option_row *row, const char *value)
{
    size_t choice = EDGE_ZERO;
    enum status status = options_choose(row->name, value, edge_names, &choice);
    ((struct render_options *)context)->edge = (enum edge)choice;
    return status;
}

static enum status take_align(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"causal", "centre", NULL};
    size_t choice = MASK_ALIGN_CAUSAL;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render_options *)context)->stage_settings.align = (enum mask_align)choice;
    return status;
}

static enum status take_tail(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    enum status status = STATUS_OK;
    double db = 0;
    options->tail_given = true;
    if (strcmp(value, "full") == 0) {
        options->tail = TAIL_FULL;
    } else if (strcmp(value, "none") == 0) {
        options->tail = TAIL_NONE;
    } else if (strncmp(value, "until:", 6) == 0) {
        status = specs_parse_db(value + 6, "the level of --tail until:", &db);
        options->tail = TAIL_UNTIL;
        options->until = audio_from_db(db);
    } else {
        status = fail(STATUS_USAGE,
                      "--%s is full, none or until:LEVEL such as until:-80dB, "
                      "not '%s'",
                      row->name, value);
    }
    return status;
}

static enum status take_format(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->wish.samples = value;
    return STATUS_OK;
}

static enum status take_container(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->wish.container = value;
    return STATUS_OK;
}

static enum status take_peak(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct render_options *options = context;
    double db = 0;
    enum status status = specs_parse_db(value, "--normalize", &db);
    options->normalize = true;
    options->peak = audio_from_db(db);
    return status;
}

static enum status take_dither(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"tpdf", "none", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render_options *)context)->dither = choice == 0;
    return status;
}

static enum status take_truncated(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->stage_settings.allow_truncated = true;
    return STATUS_OK;
}

static enum status take_backend(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->stage_settings.convolver.backend = value;
    if (convolver_backend_exists(value))
        return STATUS_OK;
    char list[64] = "auto";
    for (size_t i = 0; convolver_backend_name(i); i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), ", %s",
                 convolver_backend_name(i));
    return fail(STATUS_USAGE, "--backend is one of %s, not '%s'", list, value);
}

static enum status take_kernel(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"auto",   "basic",    "constant", "tiled",
                                        "cached", "register", "fft",      NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render_options *)context)->stage_settings.convolver.gpu.kernel =
        choice ? names[choice] : NULL;
    return status;
}

static enum status take_gpu_mode(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"auto", "resident", "graph", NULL};
    size_t choice = GPU_MODE_AUTO;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render_options *)context)->stage_settings.convolver.gpu.mode = (enum gpu_mode)choice;
    return status;
}

static enum status take_devices(void *context, const struct option_row *row, const char *value)
{
    uint64_t *devices = &((struct render_options *)context)->stage_settings.convolver.gpu.devices;
    *devices = strcmp(value, "all") == 0 ? UINT64_MAX : 0;
    for (const char *at = value; *devices != UINT64_MAX;) {
        char *end;
        unsigned long device = strtoul(at, &end, 10);
        if (end == at || *at == '-' || device >= 64 || (*end && *end != ','))
            return fail(STATUS_USAGE, "--%s is all, or numbers of GPUs such as 0,2, not '%s'",
                        row->name, value);
        *devices |= UINT64_C(1) << device;
        if (!*end)
            break;
        at = end + 1;
    }
    return STATUS_OK;
}

static enum status take_block(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, BLOCK_MOST,
                                &((struct render_options *)context)->block);
}

static enum status take_threads(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, THREADS_MOST,
                                &((struct render_options *)context)->threads);
}

static enum status take_force(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->force = true;
    return STATUS_OK;
}

static enum status take_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->json = true;
    return STATUS_OK;
}

static enum status take_quiet(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->verbosity = VERBOSITY_QUIET;
    return STATUS_OK;
}

static enum status take_verbose(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->verbosity = VERBOSITY_VERBOSE;
    return STATUS_OK;
}

static enum status take_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->help = true;
    return STATUS_OK;
}

static enum status take_position(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct render_options *options = context;
    if (!options->input)
        options->input = value;
    else if (!options->output)
        options->output = value;
    else
        return fail(STATUS_USAGE,
                    "one IN and one OUT, not also '%s'; halo render --help tells "
                    "more",
                    value);
    return STATUS_OK;
}

static const struct option_row own_options[] = {
    {"edge", 0, "EDGE",
     "what lies beyond the sound's ends: zero (default),\n"
     "replicate, reflect or wrap; goes with --tail none",
     take_edge},
    {"align", 0, "ALIGN",
     "causal (default), or centre: time zero at the mask's\n"
     "middle tap, as textbook kernels index",
     take_align},
    {"tail", 0, "TAIL",
     "full (default): frames + taps - 1; none: the input's\n"
     "frames; until:-80dB: until it stays below that level",
     take_tail},
    {"format", 0, "FORMAT",
     "pcm16, pcm24, pcm32, float or double; the input's\n"
     "otherwise",
     take_format},
    {"container", 0, "NAME", "wav, flac, aiff, au, caf, ...; by OUT's name otherwise",
     take_container},
    {"normalize", 0, "DB", "bring the peak to DB dBFS, such as -1", take_peak},
    {"dither", 0, "DITHER", "tpdf (default) or none, where bits are lost", take_dither},
    {"allow-truncated", 0, NULL, "take a file that is shorter than its header says",
     take_truncated},
    {"backend", 0, "NAME",
     "auto (default), cpu, cuda, or direct: slow, and the truth\n"
     "the others are tested against",
     take_backend},
    {"kernel", 0, "NAME",
     "the GPU's: auto (default), basic, constant, tiled,\n"
     "cached, register (masks of up to 16384 taps) or fft;\n"
     "this and the next two imply --backend cuda",
     take_kernel},
    {"gpu-mode", 0, "MODE",
     "auto (default): long blocks; resident or graph: block by\n"
     "block, as a live stream would be",
     take_gpu_mode},
    {"devices", 0, "LIST", "GPUs that share out the channels: 0 (default), 0,2 or all",
     take_devices},
    {"block", 0, "FRAMES", "frames filtered at a time; as suits the masks by default", take_block},
    {"threads", 0, "N", "processors to use; all by default", take_threads},
    {"force", 'f', NULL, "replace OUT if it exists", take_force},
    {"json", 0, NULL, "print a report for scripts on standard output", take_json},
    {"quiet", 'q', NULL, "print errors only", take_quiet},
    {"verbose", 'v', NULL, "say more: paths, algorithm, true peak", take_verbose},
    {"help", 'h', NULL, "print this", take_help},
    {.take = take_position},
};

enum { ROWS_MOST = STAGES_MOST + sizeof own_options / sizeof *own_options };

/* The stages' options first, then our own. Returns how many stages there are. */
static size_t collect_options(struct option_row rows[ROWS_MOST])
{
    size_t stages = 0;
    for (const struct stage_kind *kind; (kind = stage_kind_at(stages)); stages++)
        rows[stages] = (struct option_row){kind->option, 0, kind->argument, kind->help, take_stage};
    memcpy(rows + stages, own_options, sizeof own_options);
    return stages;
}

void render_options_print_help(void)
{
    struct option_row rows[ROWS_MOST];
    size_t stages = collect_options(rows);
    puts("usage: halo render IN OUT [stages and options]\n\n"
         "Filter a sound file. IN and OUT may be - for standard input and output.\n"
         "OUT keeps IN's rate, sample format and tags; its name's ending is its container.\n\n"
         "stages, in the order given:");
    options_print(stdout, rows, stages);
    puts("\noptions:");
    options_print(stdout, rows + stages, ROWS_MOST);
    puts("\nexample: halo render voice.wav out.wav --mask hall.wav,gain=-6 --gain 3");
}

/* What one says of a GPU must be meant for one, and go together. */
static enum status check_gpu_words(const struct render_options *options)
{
    const struct convolver_settings *convolver = &options->stage_settings.convolver;
    const struct gpu_settings *gpu = &convolver->gpu;
    bool named = gpu->kernel || gpu->mode != GPU_MODE_AUTO || gpu->devices != 0;
    bool other = strcmp(convolver->backend, "auto") != 0 && strcmp(convolver->backend, "cuda") != 0;
    if (named && other)
        return fail(STATUS_USAGE,
                    "--kernel, --gpu-mode and --devices are a GPU's: they do not go with "
                    "--backend %s",
                    convolver->backend);
    if (gpu->mode == GPU_MODE_AUTO)
        return STATUS_OK;
    if (gpu->kernel)
        return fail(STATUS_USAGE, "--kernel is for long blocks: it does not go with --gpu-mode "
                                  "resident or graph, which have a kernel of their own");
    if (gpu->devices & (gpu->devices - 1))
        return fail(STATUS_USAGE, "--gpu-mode resident and graph take one GPU; name one with "
                                  "--devices");
    if (options->block > GPU_LIVE_BLOCK_MOST)
        return fail(STATUS_USAGE,
                    "--gpu-mode resident and graph take blocks of up to %d frames, not %zu",
                    GPU_LIVE_BLOCK_MOST, options->block);
    return STATUS_OK;
}

static enum status check_words(struct render_options *options)
{
    if (!options->input || !options->output)
        return fail(STATUS_USAGE, "IN and OUT are needed; halo render --help tells more");
    if (options->edge != EDGE_ZERO) {
        if (options->tail_given && options->tail != TAIL_NONE)
            return fail(STATUS_USAGE,
                        "--edge %s goes with --tail none: a sound that goes on has "
                        "no tail",
                        edge_names[options->edge]);
        options->tail = TAIL_NONE;
    }
    enum status status = check_gpu_words(options);
    if (status != STATUS_OK)
        return status;
    if (strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
        return fail(STATUS_USAGE, "standard output is a terminal; send the sound to a file or a "
                                  "pipe");
    return STATUS_OK;
}

enum status render_options_parse(struct render_options *options, int argc, char **argv)
{
    struct option_row rows[ROWS_MOST];
    collect_options(rows);
    *options = (struct render_options){
        .stage_settings = {.convolver = {.backend = "auto"}},
        .dither = true,
        .verbosity = VERBOSITY_NORMAL,
    };
    enum status status = options_parse(argc, argv, "halo render", rows, options);
    if (status != STATUS_OK || options->help)
        return status;
    return check_words(options);
}

void render_options_free(struct render_options *options)
{
    stage_list_free(&options->stages);
}
