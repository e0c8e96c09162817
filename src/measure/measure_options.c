#include "measure/measure_options.h"

#include "base/atomic_file.h"
#include "base/stop.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MOST 120.0
#define LEVEL_MOST (-1.0) /* the ceiling of live sound */
enum { HZ_MOST = 100000, BLOCK = 1024, REPEATS_MOST = 100 };

static enum status parse_calibration(void *context, const struct option_row *row, const char *value)
{
    struct measure_options *options = context;
    if (options->calibration_count == MEASURE_CALIBRATIONS)
        return fail(CAUSE_USAGE, "--%s: at most %d files", row->name, MEASURE_CALIBRATIONS);
    options->calibrations[options->calibration_count++] = value;
    return STATUS_OK;
}

/* IN or IN:OUT */
static enum status parse_reference(void *context, const struct option_row *row, const char *value)
{
    struct measure_options *options = context;
    char number[16];
    size_t length = strcspn(value, ":");
    snprintf(number, sizeof number, "%.*s", (int)length, value);
    TRY(options_parse_number(row->name, number, 1, DEVICE_CHANNELS_MOST, &options->reference));
    options->reference_output = 0;
    if (!value[length])
        return STATUS_OK;
    return options_parse_number(row->name, value + length + 1, 1, DEVICE_CHANNELS_MOST,
                                &options->reference_output);
}

#define SWEEP_GIVEN .given = OPT_GIVEN(struct measure_options, has_sweep)

const struct option_row measure_rows_sweep[] = {
    OPT_SECONDS("length", "TIME", struct measure_options, seconds, 0.1, SECONDS_MOST,
                "length of a sweep (default 8s); twice as long, 3 dB less noise", SWEEP_GIVEN),
    OPT_INTEGER("repeats", "N", struct measure_options, repeats, 1, REPEATS_MOST,
                "sweeps per output, which are averaged (default 1; 2 if input and\n"
                "output have two clocks)",
                SWEEP_GIVEN),
    OPT_SECONDS("pause", "TIME", struct measure_options, pause, 0.02, 30,
                "silence after a sweep (default 1s): longer than the room\n"
                "reverberates; the length of the responses",
                SWEEP_GIVEN),
    OPT_DB("level", struct measure_options, level, -100, LEVEL_MOST,
           "peak of the sweeps (default -12)", SWEEP_GIVEN),
    OPT_INTEGER("from", "HZ", struct measure_options, from_hz, 1, HZ_MOST,
                "where a sweep begins (default 20)", SWEEP_GIVEN),
    OPT_INTEGER("to", "HZ", struct measure_options, to_hz, 1, HZ_MOST,
                "where it ends (default: 0.9 of half the rate, at most 22000)", SWEEP_GIVEN),
    OPT_PARSE("reference", "IN[:OUT]", parse_reference,
              "input IN records what is played, by a cable: it is time zero, and\n"
              "the response of the card is divided out. OUT: the output at the\n"
              "other end of the cable, which plays each sweep too and is not\n"
              "measured"),
    OPT_PARSE("calibration", "FILE", parse_calibration,
              "the response of the microphone or the card, which is taken out; may\n"
              "be given again",
              .is_file = true),
    OPT_DB("full-scale", struct measure_options, full_scale, 0, 200,
           "dB SPL of full scale at the microphone, for levels in dB SPL",
           .given = OPT_GIVEN(struct measure_options, has_full_scale)),
    {0},
};

static const struct option_row own_rows[] = {
    OPT_STRING("mask", "MASK", struct measure_options, filter,
               "the sweeps pass this mask, with a channel for each output: what a\n"
               "correction does is in the responses"),
    OPT_INTEGER("mark", "OUT", struct measure_options, mark, 1, DEVICE_CHANNELS_MOST,
                "time zero is when a short sound of output OUT arrives"),
    OPT_DB("spl", struct measure_options, calibrator, 40, 140,
           "find --full-scale, and nothing else: the microphone of the first\n"
           "input is in a calibrator of DB",
           .given = OPT_GIVEN(struct measure_options, has_calibrator)),
    OPT_FILE("take", "FILE", struct measure_options, take,
             "use a recording of halo measure again, without a device; only\n"
             "--calibration, --full-scale and --hesuvi change what comes out"),
    OPT_FLAG("hesuvi", struct measure_options, hesuvi,
             "write HeSuVi's 14 channels: seven loudspeakers FL FR FC BL BR SL SR\n"
             "(or eight, with LFE fourth) at two ears"),
    {0},
};

static const struct option_row other_rows[] = {
    OPT_FLAG("force", struct measure_options, play.force, "replace files that exist",
             .letter = 'f'),
    OPT_NO_SYNC,
    OPT_FLAG("json", struct measure_options, play.json, "print one JSON object"),
    OPT_FLAG("plain", struct measure_options, play.plain,
             "no screen to set levels first: a check of each output"),
    OPT_VALUE("quiet", struct measure_options, play.verbosity, VERBOSITY_QUIET,
              "print only errors and warnings", .letter = 'q'),
    {0},
};

static const struct option_group groups[] = {
    {.heading = "what is measured", .rows = measure_rows_sweep},
    {.rows = own_rows},
    PLAY_DEVICE(offsetof(struct measure_options, play)),
    {.heading = "options", .rows = other_rows},
    {0},
};

enum status measure_options_check(struct measure_options *options)
{
    if (options->play.layout)
        return fail(CAUSE_USAGE, "measurements have no --layout: --input-map and --output-map name "
                                 "channels");
    if (options->filter && options->reference && !options->reference_output)
        return fail(CAUSE_USAGE, "--reference with --mask needs IN:OUT: the cable is on an output "
                                 "that plays the sweeps without the mask");
    if (options->reference && options->mark)
        return fail(CAUSE_USAGE, "--reference and --mark exclude each other: both are time zero");
    if (!options->play.block_given)
        options->play.device.block = BLOCK;
    TRY(play_options_check(&options->play));
    note_verbosity(options->play.verbosity);
    return STATUS_OK;
}

static enum status check(const struct measure_options *options)
{
    bool has_recorded =
        options->has_sweep || options->mark || options->reference || options->filter;
    if (options->has_calibrator)
        return options->output || has_recorded || options->take || options->hesuvi ||
                       options->calibration_count || options->has_full_scale
                   ? fail(CAUSE_USAGE, "--spl plays and measures nothing: it takes no file and "
                                       "only options of the input")
                   : STATUS_OK;
    if (!options->output)
        return fail(CAUSE_USAGE, "which file? halo measure room.wav writes the responses to it");
    const char *ending = strrchr(options->output, '.');
    if (!ending || strcmp(ending, ".wav") != 0)
        return fail(CAUSE_USAGE, "%s must end with .wav", options->output);
    if (options->take && has_recorded)
        return fail(CAUSE_USAGE,
                    "--take uses the sweeps, the reference, the mark and the mask that "
                    "were recorded");
    return STATUS_OK;
}

static enum status run(void *context)
{
    struct measure_options *options = context;
    TRY(check(options));
    TRY(measure_options_check(options));
    stop_watch();
    return options->has_calibrator ? measure_spl(options) : measure_run(options);
}

static void free_options(void *options)
{
    play_options_free(&((struct measure_options *)options)->play);
}

const struct command command_measure = {
    .name = "halo measure",
    .summary = "measure rooms, loudspeakers and gear",
    .usage =
        "usage: halo measure FILE.wav [options]\n\n"
        "Measure impulse responses with sweeps: each output plays them in turn, while the inputs\n"
        "record. FILE.wav becomes a mask with a channel for each pair, all inputs of the first\n"
        "output first (map=matrix); halo mask show and plot tell its noise, distortion and\n"
        "acoustics. FILE-take.wav keeps the recording.\n"
        "On a terminal, levels are set first, with noise that rises from silence.",
    .ending = "\nexamples:\n"
              "  halo measure room.wav --output-map 1\n"
              "  halo measure ears.wav --input-map 1,2 --calibration left.txt\n"
              "  halo measure amplifier.wav --reference 2:2\n"
              "\nGear that is recorded elsewhere: sweep: and deconvolve: of halo mask make.\n",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("FILE.wav", struct measure_options, output, 0, .is_file = true)),
    .groups = groups,
    .size = sizeof(struct measure_options),
    .defaults = &(const struct measure_options)MEASURE_DEFAULTS("halo measure"),
    .run = run,
    .free = free_options,
};
