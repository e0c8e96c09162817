#include "listen/listen_options.h"

#include "live/live_log.h"
#include "signal/binomial.h"

#include <string.h>

#define SECONDS_MOST 1e9

static const char *const match_names[] = {
    [LEVEL_MATCH_NONE] = "none", [LEVEL_MATCH_RMS] = "rms", [LEVEL_MATCH_R128] = "r128", NULL};

static const struct option_row region_rows[] = {
    OPT_FLAG("live-input", struct listen_options, live_input,
             "listen to the device's input instead of a sound"),
    OPT_SECONDS("from", "TIME", struct listen_options, from, 0, SECONDS_MOST,
                "play the sound from there on, such as 12s"),
    OPT_SECONDS("to", "TIME", struct listen_options, to, 1e-6, SECONDS_MOST,
                "up to there; then it begins again"),
    OPT_CHOICE("match", "HOW", struct listen_options, by, match_names,
               "make the masks equally loud: r128 (the loudness of\n"
               "EBU R128, by default), rms or none"),
    OPT_VALUE("no-align", struct listen_options, align, false,
              "leave the masks as late as they are"),
    OPT_CHOICE("switch", "HOW", struct listen_options, play.way.shape, live_log_shapes,
               "fade (a crossfade, by default), duck (down, then up)\n"
               "or gap (with a silence between)"),
    {0},
};

static const struct option_row test_rows[] = {
    OPT_INTEGER("abx", "N", struct listen_options, abx, 1, BINOMIAL_TRIALS_MOST,
                "a blind test of N trials with two masks: is X A or B?"),
    OPT_INTEGER("blind", "N", struct listen_options, blind, 1, BINOMIAL_TRIALS_MOST,
                "N blind trials: rate up to 9 shuffled masks, 1 to 5"),
    OPT_FLAG("feedback", struct listen_options, feedback,
             "tell after each answer whether it was right"),
    OPT_FILE("log", "FILE", struct listen_options, log, "write what happened in the test, as JSON"),
    OPT_FILE("verify", "LOG", struct listen_options, verify,
             "check the log of a test, and play nothing"),
    {0},
};

static const struct option_row file_rows[] = {
    OPT_FILE("to-file", "OUT", struct listen_options, to_file,
             "write to a sound file and play nothing"),
    OPT_STRING("script", "SCRIPT", struct listen_options, script,
               "what to switch to when: \"0:A 5s:B\""),
    {0},
};

static const struct option_group groups[] = {
    PLAY_STAGES(offsetof(struct listen_options, play)),
    {.heading = "what plays", .rows = region_rows},
    {.heading = "blind tests", .rows = test_rows},
    {.heading = "without a device", .rows = file_rows},
    PLAY_DEVICE(offsetof(struct listen_options, play)),
    PLAY_OTHERS("options", offsetof(struct listen_options, play)),
    {0},
};

static const struct option_row arguments[] = {
    OPT_ARGUMENT("SOUND", struct listen_options, sound, 0, .is_file = true),
    {0},
};

/* ---- what goes together ---- */

size_t listen_options_choices(const struct listen_options *options)
{
    return options->play.choosing == SIZE_MAX ? 0 : options->play.other_count + 1;
}

static size_t count_masks(const struct stage_list *stages)
{
    size_t masks = 0;
    for (size_t i = 0; i < stages->count; i++)
        masks += stages->stages[i].ops->has_choices;
    return masks;
}

static enum status check_source(const struct listen_options *options)
{
    if (options->live_input && options->sound)
        return fail(STATUS_USAGE, "play %s or listen to the device's input: not both",
                    options->sound);
    if (!options->live_input && !options->sound)
        return fail(STATUS_USAGE, "which sound? halo listen SOUND --mask A --or --mask B");
    if (options->live_input && (options->from > 0 || options->to > 0))
        return fail(STATUS_USAGE, "--from and --to are of a sound, not of a device's input");
    if (options->to > 0 && options->to <= options->from)
        return fail(STATUS_USAGE, "--to %g s comes before --from %g s", options->to, options->from);
    const struct device_request *device = &options->play.device;
    if (!options->live_input && (device->channels_in || device->input_map_count))
        return fail(STATUS_USAGE, "--channels and --input-map need --live-input");
    return STATUS_OK;
}

static enum status check_masks(const struct listen_options *options)
{
    size_t choices = listen_options_choices(options);
    if (choices > LISTEN_CHOICES_MOST)
        return fail(STATUS_USAGE, "an ear compares %d masks at most, not %zu", LISTEN_CHOICES_MOST,
                    choices);
    if (options->by != LEVEL_MATCH_NONE && count_masks(&options->play.chain.stages) > 1)
        return fail(STATUS_USAGE, "loudness can be matched where one stage alone has masks; with "
                                  "several say --match none");
    return STATUS_OK;
}

static enum status check_test(const struct listen_options *options)
{
    size_t choices = listen_options_choices(options);
    bool test = listen_options_test(options);
    if (options->abx && options->blind)
        return fail(STATUS_USAGE, "one test at a time: --abx or --blind");
    if (options->abx && choices != 2)
        return fail(STATUS_USAGE, "--abx compares two masks (--mask A --or --mask B), not %zu",
                    choices);
    if (options->blind && choices < 2)
        return fail(STATUS_USAGE,
                    "--blind compares 2 to %d masks (--mask A --or --mask B), not %zu",
                    LISTEN_CHOICES_MOST, choices);
    if (test && options->sound && strcmp(options->sound, "-") == 0)
        return fail(STATUS_USAGE, "answers come from standard input, and so cannot the sound");
    if (options->feedback && !options->abx)
        return fail(STATUS_USAGE, "--feedback needs --abx");
    if (options->log && !test)
        return fail(STATUS_USAGE, "--log is of a test: --abx or --blind");
    if (options->to_file && (test || options->live_input))
        return fail(STATUS_USAGE, "--to-file needs no device: it takes a sound and no test");
    if (options->script && !options->to_file)
        return fail(STATUS_USAGE, "--script needs --to-file");
    return STATUS_OK;
}

enum status listen_options_check(struct listen_options *options)
{
    options->play.device.wants_input = options->live_input;
    enum status status = play_options_check(&options->play);
    if (status == STATUS_OK)
        status = check_source(options);
    if (status == STATUS_OK)
        status = check_masks(options);
    return status == STATUS_OK ? check_test(options) : status;
}

static void free_options(void *options)
{
    play_options_free(&((struct listen_options *)options)->play);
}

const struct command command_listen = {
    .name = "halo listen",
    .summary = "play a sound through masks and compare them, blind if you like",
    .usage =
        "usage: halo listen SOUND [stages and options]\n"
        "       halo listen --live-input [stages and options]\n"
        "       halo listen --verify LOG\n\n"
        "Play a sound over and over, and switch between masks that are made equally loud and\n"
        "equally late. The first --mask is A, the one after the first --or is B, and so on.\n"
        "Keys: 1-9 choose, space the dry signal, arrows seek (up and down 10 s), home the\n"
        "start, [ ] gain, m mute, p a picture of the masks, c and C choose a plugin's control,\n"
        "+ and - change it, b bypasses the plugin, q leave. In a test with --abx:\n"
        "a b x listen, A or B says which of them X is. With --blind: a b c... listen, 1-5 rate\n"
        "what is heard, Enter ends the trial. q ends a test before its time.",
    .ending = "example: halo listen voice.wav --mask small-room.wav --or --mask hall.wav --abx 16",
    .arguments = arguments,
    .groups = groups,
    .surplus = "a mask is named with --mask",
    .size = sizeof(struct listen_options),
    .defaults = &(const struct listen_options){.play = PLAY_OPTIONS_DEFAULTS,
                                               .by = LEVEL_MATCH_R128,
                                               .align = true},
    .run = listen_run,
    .free = free_options,
};
