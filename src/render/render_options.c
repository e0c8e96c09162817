#include "render/render_options.h"

#include "base/atomic_file.h"
#include "base/decimal.h"
#include "base/program.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

enum { BLOCK_MOST = 1 << 24, /* frames */ SECONDS_MOST = 1 << 30 };

static const char *const boundary_names[] = {"zero", "replicate", "reflect", "wrap", NULL};
static const char *const tail_names[] = {"full", "none", "until:-80dB", "3s",
                                         NULL}; /* examples: levels and times are free */

static enum status parse_tail(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    double db = 0;
    options->tail_given = true;
    options->tail = strcmp(value, "none") == 0 ? TAIL_NONE : TAIL_FULL;
    if (options->tail == TAIL_NONE || strcmp(value, "full") == 0)
        return STATUS_OK;
    if (isdigit((unsigned char)*value) || *value == '.') {
        options->tail = TAIL_TIME;
        return options_parse_seconds(row->name, value, 0, SECONDS_MOST, &options->until);
    }
    if (strncmp(value, "until:", 6) != 0)
        return fail(
            CAUSE_USAGE,
            "--%s is full, none, a time such as 3s, or until:LEVEL such as until:-80dB, not "
            "'%s'",
            row->name, value);
    TRY(options_parse_db("the level of --tail until:", value + 6, -OPTIONS_DB_MOST, OPTIONS_DB_MOST,
                         &db));
    options->tail = TAIL_UNTIL;
    options->until = audio_from_db(db);
    return STATUS_OK;
}

/* Parse -1, -1dB or -16LUFS. */
static enum status parse_normalize(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    char *end;
    options->to_loudness = strcasestr(value, "LUFS") || strcasestr(value, "dBTP");
    if (!options->to_loudness)
        return options_parse_db("--normalize", value, -OPTIONS_DB_MOST, OPTIONS_DB_MOST,
                                &options->level);
    bool is_number = decimal_read(value, &end, &options->level);
    end += *end == ' ';
    if (!is_number || strcasecmp(end, "LUFS") != 0 ||
        !(options->level >= -70 && options->level <= 0))
        return fail(CAUSE_USAGE,
                    "--%s takes LUFS from -70 to 0, such as -16LUFS, not '%s'; true peaks are then "
                    "at most -1 dBTP, which is fixed",
                    row->name, value);
    return STATUS_OK;
}

/* Parse --channel. stated_layout_apply() resolves names of channels later, in IN's layout. */
static enum status parse_channel(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    size_t count = 1;
    for (const char *at = value; (at = strchr(at, ',')); at++)
        count++;
    options->channel = value;
    if (!*value || value[strspn(value, ",")] != *value || strstr(value, ",,") ||
        value[strlen(value) - 1] == ',' || count > OPTIONS_LIST_MOST)
        return fail(CAUSE_USAGE, "--%s takes up to %d channels, separated by commas, not '%s'",
                    row->name, OPTIONS_LIST_MOST, value);
    return STATUS_OK;
}

static enum status parse_container(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    (void)row;
    options->request.container = value;
    return sound_format_check_container(value);
}

static enum status parse_layout(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    struct channel_layout layout;
    size_t named;
    (void)row;
    options->layout = value;
    return channel_layout_parse(value, &layout, &named);
}

static enum status parse_quality(void *context, const struct option_row *row, const char *value)
{
    struct render_options *options = context;
    double quality;
    if (!decimal_parse(value, &quality) || !(quality >= 0 && quality <= 10))
        return fail(CAUSE_USAGE, "--%s is a number from 0 to 10, not '%s'", row->name, value);
    options->quality = 1 + quality;
    return STATUS_OK;
}

const struct option_row render_options_sound_rows[] = {
    OPT_SECONDS("start", "TIME", struct render_options, part.start, 0, SECONDS_MOST,
                "take IN from there on, in seconds, to the nearest frame;\n"
                "what is before it is not read"),
    OPT_SECONDS("duration", "TIME", struct render_options, part.duration, 0, SECONDS_MOST,
                "take that much of IN", .given = OPT_GIVEN(struct render_options, duration_given)),
    OPT_SECONDS("end", "TIME", struct render_options, part.end, 0, SECONDS_MOST,
                "take IN up to there", .given = OPT_GIVEN(struct render_options, end_given)),
    OPT_PARSE("channel", "LIST", parse_channel,
              "take these channels of IN, as if it had no others: 2, or 1,3;\n"
              "or by the names of its layout: FL, or FL,LFE"),
    OPT_INTEGER("rate", "HZ", struct render_options, rate, 1, INT32_MAX,
                "resample IN to this rate first: OUT has it, and stages,\n"
                "levels and tails are those of the new sound"),
    OPT_CHOICE("edge", "EDGE", struct render_options, boundary, boundary_names,
               "samples beyond the ends of the sound: zero (default), or\n"
               "replicate, reflect or wrap, which imply --tail none"),
    OPT_PARSE("tail", "TAIL", parse_tail,
              "full (default): frames + taps - 1; none: the input's\n"
              "frames; until:-80dB: until it stays below that level; 3s:\n"
              "the input and 3 s, with silence where the tail is shorter.\n"
              "Plugins report no tail: with them full is until:-80dB,\n"
              "at most 30 s, or until 5 s were quiet",
              .names = tail_names),
    OPT_WORD("format", "FORMAT", struct render_options, request.samples,
             "pcm16, pcm24, pcm32, float or double; default: that of IN",
             .names = sound_format_names),
    OPT_PARSE("container", "NAME", parse_container,
              "wav, flac, aiff, au, caf, ...; default: by OUT's suffix",
              .name_at = sound_format_extension),
    OPT_PARSE("quality", "0..10", parse_quality,
              "of mp3, ogg and opus: 0 is the smallest file, 10 the best"),
    OPT_PARSE("layout", "LAYOUT", parse_layout,
              "what the channels of IN are, where its file does not tell\n"
              "or is wrong: 5.1, 5.1(side), FL+FR+LFE, ambisonic 1, none"),
    OPT_PARSE("normalize", "LEVEL", parse_normalize,
              "scale the peak to dBFS, such as -1; or the loudness to LUFS\n"
              "(EBU R 128), such as -16LUFS, or less: up to -1 dBTP",
              .given = OPT_GIVEN(struct render_options, normalize)),
    OPT_CHOICE("dither", "DITHER", struct render_options, dither, dither_names,
               "of integers, where bits are lost: none, tpdf, shaped (to where\n"
               "the ear is dull), or auto (default): tpdf up to 16 bits, else none"),
    OPT_STRING("metadata", "WHAT", struct render_options, metadata,
               "keep (default) tags, pictures, markers and chunks; none; or\n"
               "FILE.json: keep them, with the tags that FILE says"),
    OPT_FRAMES("block", struct render_options, block, 1, BLOCK_MOST,
               "frames filtered at a time; on the CPU masks choose their own"),
    OPT_PROVE(struct render_options, proof),
    {0},
};

static const struct option_row rows[] = {
    OPT_FILE("output", "OUT", struct render_options, output,
             "where to write, instead of as an argument", .letter = 'o',
             .given = OPT_GIVEN(struct render_options, output_given)),
    OPT_FLAG("reproducible", struct render_options, chain.reproducible,
             "on the CPU, with the same bytes from a pipe as from a file"),
    OPT_OUT_DIR(struct render_options, out_dir,
                "render all arguments as inputs, a file on each thread, into\n"
                "this folder, which is made; of a folder all sound files, with\n"
                "its sub-folders; --json then prints a line a file"),
    OPT_OUT_NAME(struct render_options, name,
                 "with -O: what outputs are called: {name} (default) is that\n"
                 "of the input, {stem} and {ext} its parts, {dir} its folder,\n"
                 "{index} its number: '{stem}-hall.wav'"),
    OPT_SEED(struct render_options, seed,
             "for what stages draw at random, such as --gain -6..0 and\n"
             "where --noise begins; default: 0"),
    OPT_FILE("replay", "LOG", struct render_options, replay,
             "render IN, recorded by halo live --record-dry, as it was\n"
             "heard; LOG is the log of that recording"),
    OPT_FILE("save-chain", "FILE", struct render_options, save_chain,
             "save the stages and their options as text for --chain FILE"),
    OPT_FLAG("collect", struct render_options, collect,
             "with --save-chain: copy masks and the other files that the\n"
             "chain names into FILE.files, so that it can be moved"),
    OPT_FLAG("force", struct render_options, force, "replace OUT (and FILE) if it exists",
             .letter = 'f'),
    OPT_NO_SYNC,
    OPT_FLAG("json", struct render_options, json, "print a report as JSON on standard output"),
    OPT_VALUE("quiet", struct render_options, verbosity, VERBOSITY_QUIET,
              "print only errors and what spoils the sound", .letter = 'q'),
    OPT_VALUE("verbose", struct render_options, verbosity, VERBOSITY_VERBOSE,
              "print more: paths, algorithm, true peak", .letter = 'v'),
    {0},
};

static const struct option_group groups[] = {
    {.heading = "stages, in the order given",
     .make_rows = chain_options_stages,
     .parse = chain_options_parse_stage,
     .offset = offsetof(struct render_options, chain)},
    {.heading = "options",
     .rows = chain_options_rows,
     .offset = offsetof(struct render_options, chain)},
    {.rows = render_options_sound_rows},
    {.rows = rows},
    {0},
};

static enum status check_arguments(const struct render_options *options)
{
    if (!options->out_dir && !options->output)
        return fail(CAUSE_USAGE, "halo render needs IN and OUT; see halo render --help");
    if (!options->out_dir && options->more.count > 0)
        return fail(CAUSE_USAGE,
                    "halo render takes IN and OUT, not also '%s'; -O DIR renders many inputs",
                    options->more.values[0]);
    if (!options->out_dir && options->name)
        return fail(CAUSE_USAGE, "--name needs -O DIR");
    if (options->out_dir && options->output_given)
        return fail(CAUSE_USAGE, "-O cannot be used with -o; --name sets the names of outputs");
    if (options->out_dir && (options->replay || options->save_chain))
        return fail(CAUSE_USAGE, "-O cannot be used with --replay or --save-chain");
    return STATUS_OK;
}

enum status render_options_check_job(struct render_options *options)
{
    if (options->duration_given && options->part.duration == 0)
        return fail(CAUSE_USAGE, "--duration must be more than 0");
    if (options->duration_given && options->end_given)
        return fail(CAUSE_USAGE, "--duration and --end exclude each other");
    if (options->end_given && !(options->part.end > options->part.start))
        return fail(CAUSE_USAGE, "--end must be after --start");
    if (options->boundary != BOUNDARY_ZERO) {
        if (options->tail_given && options->tail != TAIL_NONE)
            return fail(CAUSE_USAGE, "--edge %s needs --tail none: an extended sound has no tail",
                        boundary_names[options->boundary]);
        options->tail = TAIL_NONE;
    }
    return chain_options_check(&options->chain, options->block);
}

enum status render_options_check(struct render_options *options)
{
    TRY(check_arguments(options));
    TRY(gpu_devices_check_one(&options->chain.settings.convolver.gpu.devices));
    if (options->replay &&
        (options->chain.stages.count > 0 || options->save_chain || options->normalize ||
         options->tail_given || options->boundary != BOUNDARY_ZERO || options->block ||
         options->part.start > 0 || options->duration_given || options->end_given ||
         options->json || options->channel || options->rate || options->quality > 0 ||
         options->chain.reproducible))
        return fail(
            CAUSE_USAGE,
            "--replay takes everything from its log: no stages, --save-chain, --normalize, "
            "--start, --duration, --end, --channel, --rate, --quality, --tail, --edge, --block, --reproducible or --json");
    if (options->collect && !options->save_chain)
        return fail(CAUSE_USAGE, "--collect needs --save-chain FILE");
    if (options->save_chain && options->output &&
        atomic_file_is_same(options->output, options->save_chain))
        return fail(CAUSE_USAGE, "OUT and --save-chain are the same file, %s; choose two names",
                    options->save_chain);
    TRY(render_options_check_job(options));
    if (!options->out_dir && strcmp(options->output, "-") == 0 && isatty(STDOUT_FILENO))
        return fail(CAUSE_USAGE, "standard output is a terminal; write to a file or a pipe");
    return STATUS_OK;
}

enum status render_options_copy(const struct render_options *options, struct render_options *copy)
{
    *copy = *options;
    copy->more = (struct string_list){0};
    return stage_list_copy(&options->chain.stages, &copy->chain.stages);
}

void render_options_free(struct render_options *options)
{
    chain_options_free(&options->chain);
}

static void free_options(void *options)
{
    render_options_free(options);
}

const struct command command_render = {
    .name = "halo render",
    .summary = "filter a sound file",
    .brief = "usage: halo render IN OUT [stages and options]\n"
             "       halo render -O DIR IN... [stages and options]\n"
             "\n"
             "Filter a sound file. IN and OUT may be - for standard input and output.\n"
             "OUT keeps IN's rate, sample format and tags; its suffix selects the container.\n"
             "\n"
             "stages, in the order given:\n"
             "  -m, --mask MASK            an impulse response: a sound file, text, another\n"
             "                             program's configuration, or lowpass:1000\n"
             "      --gain DB              amplify\n"
             "      --lv2, --ladspa, --clap, --vst3 PLUGIN\n"
             "                             an audio plugin; halo plugins list names them\n"
             "      --spectral MASK2D      a mask for the spectrogram\n"
             "\n"
             "options most used:\n"
             "      --start, --end TIME    filter that part of IN\n"
             "      --tail TAIL            full (default), none (as long as IN), or 3s\n"
             "      --normalize LEVEL      the peak (-1), or the loudness (-16LUFS)\n"
             "      --rate HZ              resample IN first\n"
             "      --format FORMAT        pcm16, pcm24, pcm32, float or double\n"
             "      --quality 0..10        of MP3, Ogg and Opus\n"
             "      --chain FILE           stages that --save-chain FILE stored\n"
             "  -O, --out-dir DIR          write many files, or all of a folder, into DIR\n"
             "  -f, --force                replace OUT if it exists\n"
             "      --json                 print a report as JSON\n"
             "\n"
             "examples:\n"
             "  halo render voice.wav hall.wav --mask hall.wav\n"
             "  halo render voice.wav room.mp3 --mask room.wav,@wet=-12dB --normalize -16LUFS\n"
             "  halo render in.wav out.flac --mask highpass:80 --align centre --tail none\n"
             "  halo render -O out --mask hall.wav FOLDER\n"
             "\n"
             "halo render --help all lists all options, man halo describes them.",
    .usage = "usage: halo render IN OUT [stages and options]\n"
             "       halo render IN -o OUT [stages and options]\n"
             "       halo render -O DIR IN... [stages and options]\n\n"
             "Filter a sound file. IN and OUT may be - for standard input and output.\n"
             "OUT keeps IN's rate, sample format and tags; its suffix selects the container.",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENT("IN", struct render_options, input, 1, .is_file = true),
                         OPT_ARGUMENT("OUT", struct render_options, output, 0, .is_file = true),
                         OPT_ARGUMENTS("IN", struct render_options, more, 0, .is_file = true)),
    .groups = groups,
    .size = sizeof(struct render_options),
    .defaults = &(const struct render_options)RENDER_OPTIONS_DEFAULTS,
    .run = render_run,
    .free = free_options,
};
