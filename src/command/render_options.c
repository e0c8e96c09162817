#include "command/render_options.h"

#include "base/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_MOST = 1 << 24 }; /* frames */

static const char *const boundary_names[] = {"zero", "replicate", "reflect", "wrap", NULL};

static enum status parse_boundary(void *context, const struct option_row *row, const char *value)
{
    size_t choice = BOUNDARY_ZERO;
    enum status status = options_choose(row->name, value, boundary_names, &choice);
    ((struct render_options *)context)->boundary = (enum boundary)choice;
    return status;
}

static enum status parse_tail(void *context, const struct option_row *row, const char *value)
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
        status = options_parse_db(value + 6, "the level of --tail until:", &db);
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

static enum status parse_format(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->request.samples = value;
    return STATUS_OK;
}

static enum status parse_container(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->request.container = value;
    return STATUS_OK;
}

static enum status parse_peak(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct render_options *options = context;
    double db = 0;
    enum status status = options_parse_db(value, "--normalize", &db);
    options->normalize = true;
    options->peak = audio_from_db(db);
    return status;
}

static enum status parse_dither(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {"tpdf", "none", NULL};
    size_t choice = 0;
    enum status status = options_choose(row->name, value, names, &choice);
    ((struct render_options *)context)->dither = choice == 0;
    return status;
}

static enum status parse_block(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, BLOCK_MOST,
                                &((struct render_options *)context)->block);
}

static enum status parse_save_chain(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->save_chain = value;
    return STATUS_OK;
}

static enum status parse_replay(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    ((struct render_options *)context)->replay = value;
    return STATUS_OK;
}

static enum status parse_force(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->force = true;
    return STATUS_OK;
}

static enum status parse_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->json = true;
    return STATUS_OK;
}

static enum status parse_quiet(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->verbosity = VERBOSITY_QUIET;
    return STATUS_OK;
}

static enum status parse_verbose(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->verbosity = VERBOSITY_VERBOSE;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct render_options *)context)->help = true;
    return STATUS_OK;
}

static enum status parse_position(void *context, const struct option_row *row, const char *value)
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
     parse_boundary},
    {"tail", 0, "TAIL",
     "full (default): frames + taps - 1; none: the input's\n"
     "frames; until:-80dB: until it stays below that level.\n"
     "Plugins tell no tail: full is until:-80dB then, 30 s at\n"
     "most, or until 5 s were quiet",
     parse_tail},
    {"format", 0, "FORMAT",
     "pcm16, pcm24, pcm32, float or double; the input's\n"
     "otherwise",
     parse_format},
    {"container", 0, "NAME", "wav, flac, aiff, au, caf, ...; by OUT's name otherwise",
     parse_container},
    {"normalize", 0, "DB", "bring the peak to DB dBFS, such as -1", parse_peak},
    {"dither", 0, "DITHER", "tpdf (default) or none, where bits are lost", parse_dither},
    {"block", 0, "FRAMES", "frames filtered at a time; as suits the masks by default", parse_block},
    {"replay", 0, "LOG",
     "IN is what halo live recorded with --record-dry: render it\n"
     "as it was heard, by the log beside the recording",
     parse_replay},
    {"save-chain", 0, "FILE",
     "keep the stages and their options in FILE, as text, for\n"
     "--chain FILE",
     parse_save_chain},
    {"force", 'f', NULL, "replace OUT (and FILE) if it exists", parse_force},
    {"json", 0, NULL, "print a report for scripts on standard output", parse_json},
    {"quiet", 'q', NULL, "print errors only", parse_quiet},
    {"verbose", 'v', NULL, "say more: paths, algorithm, true peak", parse_verbose},
    {"help", 'h', NULL, "print this", parse_help},
    {.take = parse_position},
};

enum { ROWS_MOST = CHAIN_OPTIONS_MOST + sizeof own_options / sizeof *own_options };

/* The stages' options first, our own last. Returns how many stages there are. */
static size_t collect_options(struct option_row rows[ROWS_MOST])
{
    size_t stages = chain_options_stages(rows);
    size_t count = stages + chain_options_rest(rows + stages);
    memcpy(rows + count, own_options, sizeof own_options);
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

static enum status check_args(struct render_options *options)
{
    if (!options->input || !options->output)
        return fail(STATUS_USAGE, "IN and OUT are needed; halo render --help tells more");
    if (options->replay &&
        (options->chain.stages.count > 0 || options->save_chain || options->normalize ||
         options->tail_given || options->boundary != BOUNDARY_ZERO || options->block || options->json))
        return fail(STATUS_USAGE,
                    "--replay goes by its log alone: no stages, --save-chain, --normalize, --tail, "
                    "--edge, --block or --json");
    if (options->boundary != BOUNDARY_ZERO) {
        if (options->tail_given && options->tail != TAIL_NONE)
            return fail(STATUS_USAGE,
                        "--edge %s goes with --tail none: a sound that goes on has "
                        "no tail",
                        boundary_names[options->boundary]);
        options->tail = TAIL_NONE;
    }
    enum status status = chain_options_check(&options->chain, options->block);
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
        .dither = true,
        .verbosity = VERBOSITY_NORMAL,
    };
    chain_options_init(&options->chain);
    enum status status = options_parse(argc, argv, "halo render", rows, options);
    if (status != STATUS_OK || options->help)
        return status;
    return check_args(options);
}

void render_options_free(struct render_options *options)
{
    chain_options_free(&options->chain);
}
