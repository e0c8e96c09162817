#include "correct/correct_options.h"

#include "base/atomic_file.h"
#include "base/stop.h"

#include <string.h>

static enum status parse_measured(void *context, const struct option_row *row, const char *value)
{
    struct correct_options *options = context;
    if (options->measured_count == CORRECT_POSITIONS)
        return fail(CAUSE_USAGE, "--%s: at most %d files", row->name, CORRECT_POSITIONS);
    options->measured[options->measured_count++] = value;
    return STATUS_OK;
}

static const struct option_row correct_rows[] = {
    OPT_INTEGER("positions", "N", struct correct_options, positions, 1, CORRECT_POSITIONS,
                "places of the microphone to measure, 20 to 50 cm apart (default 3)"),
    OPT_PARSE("measured", "FILE", parse_measured,
              "responses of one place, instead of measuring; may be given again", .is_file = true),
    OPT_STRING("with", "OPTIONS", struct correct_options, with,
               "options of correct: (halo mask make --help), such as\n"
               "target=house,phase=mixed"),
    OPT_FLAG("no-check", struct correct_options, no_check, "do not measure through the correction"),
    {0},
};

static const struct option_row other_rows[] = {
    OPT_FLAG("force", struct correct_options, measure.play.force,
             "replace files and the preset if they exist", .letter = 'f'),
    OPT_NO_SYNC,
    OPT_FLAG("json", struct correct_options, measure.play.json, "print one JSON object"),
    OPT_FLAG("plain", struct correct_options, measure.play.plain,
             "no screen: wait for Enter before each further place"),
    OPT_VALUE("quiet", struct correct_options, measure.play.verbosity, VERBOSITY_QUIET,
              "print only errors and warnings", .letter = 'q'),
    {0},
};

static const struct option_group groups[] = {
    {.heading = "the correction", .rows = correct_rows},
    {.heading = "what is measured",
     .rows = measure_rows_sweep,
     .offset = offsetof(struct correct_options, measure)},
    PLAY_DEVICE(offsetof(struct correct_options, measure.play)),
    {.heading = "options", .rows = other_rows},
    {0},
};

/* With --measured there is no device: options for one would have no effect. */
static enum status check(const struct correct_options *options)
{
    const struct measure_options *measure = &options->measure;
    const struct device_request *device = &measure->play.device;
    bool has_device = device->driver || device->input || device->output || device->rate ||
                      measure->play.input_map.count > 0 || measure->play.output_map.count > 0;
    const char *unused = options->positions > 0           ? "--positions"
                         : options->no_check              ? "--no-check"
                         : measure->calibration_count > 0 ? "--calibration"
                         : measure->reference             ? "--reference"
                         : measure->has_full_scale        ? "--full-scale"
                         : measure->has_sweep             ? "the sweep"
                         : has_device                     ? "the device"
                                                          : NULL;
    if (options->measured_count > 0 && unused)
        return fail(CAUSE_USAGE,
                    "%s is for measuring: --measured uses responses that were measured", unused);
    if (measure->reference && !measure->reference_output && !options->no_check)
        return fail(CAUSE_USAGE, "--reference needs IN:OUT, or --no-check: the check's cable is on "
                                 "an output that plays the sweeps without the correction");
    return STATUS_OK;
}

static enum status run(void *context)
{
    struct correct_options *options = context;
    TRY(check(options));
    TRY(measure_options_check(&options->measure));
    stop_watch();
    return correct_run(options);
}

static void free_options(void *options)
{
    play_options_free(&((struct correct_options *)options)->measure.play);
}

const struct command command_correct = {
    .name = "halo correct",
    .summary = "correct loudspeakers in a room",
    .usage =
        "usage: halo correct NAME [options]\n\n"
        "Measure the loudspeakers at several places, correct them, and measure again through the\n"
        "correction. On a terminal, a screen leads from step to step and draws what was measured,\n"
        "the target, the correction, and what it will do.",
    .ending = "\nfiles:\n"
              "  NAME-1.wav, NAME-2.wav ...  responses, and NAME-1-take.wav ... the recordings\n"
              "  NAME-correction.wav         a mask with a channel for each loudspeaker\n"
              "  preset NAME                 that mask with headroom\n"
              "\nexamples:\n"
              "  halo correct room --output-map 1,2\n"
              "  halo live --sink Corrected --preset room\n"
              "  halo correct desk --positions 5 --calibration mic.txt --with target=house\n"
              "  halo correct desk --measured seat1.wav --measured seat2.wav\n"
              "\nWho leaves the preset hears the loudspeakers as they are.\n",
    .arguments = OPTION_ARGUMENTS(OPT_ARGUMENT("NAME", struct correct_options, name, 1)),
    .groups = groups,
    .size = sizeof(struct correct_options),
    .defaults = &(const struct correct_options){.measure = MEASURE_DEFAULTS("halo correct")},
    .run = run,
    .free = free_options,
};
