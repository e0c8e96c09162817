#include "base/stop.h"
#include "listen/collect.h"
#include "listen/listen_session.h"
#include "listen/panel/serve.h"
#include "listen/preference.h"
#include "live/session/live_log.h"
#include "signal/binomial.h"
#include "sound/file/sound_format.h"

#include <stdio.h>
#include <string.h>

#define SECONDS_MOST 1e9

static const char *const match_names[] = {
    [LEVEL_MATCH_NONE] = "none", [LEVEL_MATCH_RMS] = "rms", [LEVEL_MATCH_R128] = "r128", NULL};

static const struct option_row region_rows[] = {
    OPT_FLAG("live-input", struct listen_options, live_input,
             "use the device's input instead of a sound file"),
    OPT_SECONDS("from", "TIME", struct listen_options, from, 0, SECONDS_MOST,
                "start of the region to play, such as 12s"),
    OPT_SECONDS("to", "TIME", struct listen_options, to, 1e-6, SECONDS_MOST,
                "end of the region, which repeats"),
    OPT_CHOICE("match", "HOW", struct listen_options, by, match_names,
               "how masks are made equally loud: r128 (EBU R128 loudness,\n"
               "default), rms or none"),
    OPT_VALUE("no-align", struct listen_options, align, false,
              "do not align the delays of the masks"),
    OPT_CHOICE("switch", "HOW", struct listen_options, play.way.shape, live_log_shapes,
               "fade (crossfade, default), duck (down, then up) or gap\n"
               "(with silence between); a test always has out, pause, in",
               .given = OPT_GIVEN(struct listen_options, play.way_given)),
    {0},
};

static const struct option_row test_rows[] = {
    OPT_INTEGER("abx", "N", struct listen_options, abx, 1, BINOMIAL_TRIALS_MOST,
                "ABX test of N trials with two masks: is X A or B?"),
    OPT_INTEGER("blind", "N", struct listen_options, blind, 1, BINOMIAL_TRIALS_MOST,
                "N blind trials: rate up to 9 shuffled masks from 1 to 5"),
    OPT_INTEGER("prefer", "N", struct listen_options, prefer, 1, BINOMIAL_TRIALS_MOST,
                "N blind trials of each pair of masks: which is better?"),
    OPT_FLAG("feedback", struct listen_options, feedback,
             "report after each trial whether it was right"),
    OPT_FILE("log", "FILE", struct listen_options, log, "write a log of the test as JSON"),
    OPT_FILE("resume", "LOG", struct listen_options, resume,
             "go on with the test of a log that was cut off"),
    OPT_STRING("listener", "NAME", struct listen_options, listener, "who listens, for the log"),
    OPT_FLAG("verify", struct listen_options, verify, "check the logs of tests; play nothing"),
    OPT_FLAG("collect", struct listen_options, collect,
             "report the logs or answers of several listeners together"),
    OPT_FILE("csv", "FILE", struct listen_options, csv,
             "write the trials that --collect reads as a table"),
    OPT_FILE("plot", "FILE", struct listen_options, collect_plot,
             "draw the ratings that --collect reads: .svg, .png or .pdf"),
    {0},
};

static const struct option_row web_rows[] = {
    OPT_FILE("export", "FOLDER", struct listen_options, page_folder,
             "write a test file as a page for a browser"),
    OPT_FLAG("serve", struct listen_options, serve,
             "serve the page of a test, and save the answers"),
    OPT_STRING("web", "ADDRESS:PORT", struct listen_options, web,
               "where to serve it (default " SERVE_ADDRESS ", any free port)"),
    OPT_FILE("tls-certificate", "FILE", struct listen_options, tls_certificate,
             "serve by HTTPS, with this certificate"),
    OPT_FILE("tls-key", "FILE", struct listen_options, tls_key, "key of the certificate"),
    OPT_FLAG("web-insecure", struct listen_options, web_insecure,
             "serve other machines without HTTPS"),
    {0},
};

static const struct option_row file_rows[] = {
    OPT_FILE("to-file", "OUT", struct listen_options, to_file,
             "write to a sound file; play nothing"),
    OPT_STRING("script", "SCRIPT", struct listen_options, script,
               "times to switch masks: \"0:A 5s:B 8s:dry\""),
    {0},
};

static const struct option_group groups[] = {
    PLAY_STAGES(offsetof(struct listen_options, play)),
    {.heading = "what plays", .rows = region_rows},
    {.heading = "blind tests", .rows = test_rows},
    {.heading = "tests in a browser", .rows = web_rows},
    {.heading = "without a device", .rows = file_rows},
    PLAY_DEVICE(offsetof(struct listen_options, play)),
    PLAY_OTHERS("options", offsetof(struct listen_options, play)),
    {0},
};

/* ---- checks ---- */

size_t listen_options_choices(const struct listen_options *options)
{
    return options->sound_count > 0             ? options->sound_count
           : options->play.choosing == SIZE_MAX ? 0
                                                : options->play.other_count + 1;
}

size_t listen_options_trials(const struct listen_options *options)
{
    return options->abx     ? options->abx
           : options->blind ? options->blind
                            : options->prefer * preference_pairs(listen_options_choices(options));
}

enum status listen_options_open_region(const struct listen_options *options, uint32_t rate,
                                       struct region **region)
{
    const struct region_settings settings = {
        .path = options->sound,
        .others = options->arguments.values + 1,
        .other_count = options->sound_count > 0 ? options->sound_count - 1 : 0,
        .allow_truncated = options->play.chain.settings.allow_truncated,
        .rate = rate,
        .from = options->from,
        .to = options->to,
    };
    TRY(region_open(&settings, region));
    return stated_layout_apply(options->play.layout, options->sound, &(*region)->format);
}

/* Several sounds become the choices of a mask stage before all others. */
static enum status take_sounds(struct listen_options *options)
{
    const struct string_list *sounds = &options->arguments;
    size_t ors = options->play.sound_ors;
    options->sound = sounds->count > 0 ? sounds->values[0] : NULL;
    if (ors > 0 && sounds->count != ors + 1)
        return fail(CAUSE_USAGE, "--or stands between two sounds (halo listen a.wav --or b.wav) or "
                                 "between two masks (--mask A --or --mask B)");
    if (ors == 0 && sounds->count > 1)
        return fail(CAUSE_USAGE,
                    "halo listen takes SOUND, not also '%s'; a mask is named with --mask, another "
                    "sound to compare with --or",
                    sounds->values[1]);
    if (ors == 0)
        return STATUS_OK;
    if (options->play.other_count > 0)
        return fail(CAUSE_USAGE, "--or stands between sounds or between masks, not both");
    if (options->play.layout)
        return fail(CAUSE_USAGE, "--layout needs a single sound");
    for (size_t i = 0; i < sounds->count; i++)
        if (strcmp(sounds->values[i], "-") == 0)
            return fail(CAUSE_USAGE, "sounds that are compared must be files, not -");
    options->sound_count = sounds->count;
    options->play.choosing = 0;
    return stage_list_insert(&options->play.chain.stages, 0, stage_ops_named("mask"), "delay:0");
}

static enum status check_source(const struct listen_options *options)
{
    if (options->live_input && options->sound)
        return fail(CAUSE_USAGE, "use either %s or --live-input, not both", options->sound);
    if (!options->live_input && !options->sound)
        return fail(CAUSE_USAGE, "which sound? halo listen SOUND --mask A --or --mask B");
    if (options->live_input && (options->from > 0 || options->to > 0))
        return fail(CAUSE_USAGE, "--from and --to need a sound file, not --live-input");
    if (options->to > 0 && options->to <= options->from)
        return fail(CAUSE_USAGE, "--to %g s is not after --from %g s", options->to, options->from);
    const struct device_request *device = &options->play.device;
    if (!options->live_input && (device->channels_in || device->input_map_count))
        return fail(CAUSE_USAGE, "--channels and --input-map need --live-input");
    return STATUS_OK;
}

static enum status check_test(const struct listen_options *options)
{
    size_t choices = listen_options_choices(options);
    bool test = listen_options_test(options);
    const char *what = options->sound_count > 0 ? "sounds" : "masks";
    if (choices > LISTEN_CHOICES_MOST)
        return fail(CAUSE_USAGE, "at most %d %s can be compared, not %zu", LISTEN_CHOICES_MOST,
                    what, choices);
    if ((options->abx > 0) + (options->blind > 0) + (options->prefer > 0) > 1)
        return fail(CAUSE_USAGE, "use one of --abx, --blind and --prefer");
    if (options->abx && choices != 2)
        return fail(CAUSE_USAGE,
                    "--abx compares two masks (--mask A --or --mask B) or two sounds, not %zu",
                    choices);
    if (options->blind && choices < 2)
        return fail(CAUSE_USAGE,
                    "--blind compares 2 to %d masks (--mask A --or --mask B) or sounds, not %zu",
                    LISTEN_CHOICES_MOST, choices);
    if (options->prefer && choices < 2)
        return fail(CAUSE_USAGE,
                    "--prefer compares 2 to %d masks (--mask A --or --mask B) or sounds, not %zu",
                    LISTEN_CHOICES_MOST, choices);
    if (options->prefer && listen_options_trials(options) > BINOMIAL_TRIALS_MOST)
        return fail(CAUSE_USAGE, "--prefer %zu takes %zu trials, more than the %d of a test",
                    options->prefer, listen_options_trials(options), BINOMIAL_TRIALS_MOST);
    if (test && options->sound && strcmp(options->sound, "-") == 0)
        return fail(CAUSE_USAGE,
                    "a test reads answers from standard input: the sound must be a file");
    if (test && options->play.way_given)
        return fail(CAUSE_USAGE, "--switch has no effect in a test, where the sound fades out, "
                                 "pauses and fades in; leave it out");
    if (options->feedback && !options->abx)
        return fail(CAUSE_USAGE, "--feedback needs --abx");
    if ((options->log || options->resume || options->listener) && !test)
        return fail(CAUSE_USAGE, "--log, --resume and --listener need --abx, --blind or --prefer, "
                                 "and the sound and masks of the test");
    if (options->log && options->resume)
        return fail(CAUSE_USAGE, "use either --log or --resume, which goes on with that log");
    if (options->to_file && (test || options->live_input))
        return fail(CAUSE_USAGE, "--to-file cannot be used with a test or --live-input");
    if (options->script && !options->to_file)
        return fail(CAUSE_USAGE, "--script needs --to-file");
    return STATUS_OK;
}

/* Checks all logs, even after one is found to be changed. */
static enum status verify(const struct string_list *logs, bool json)
{
    enum status status = STATUS_OK;
    if (logs->count == 0)
        return fail(CAUSE_USAGE, "which log? halo listen --verify LOG...");
    for (size_t i = 0; i < logs->count; i++) {
        enum status one = trial_replay_verify(logs->values[i], json);
        status = status == STATUS_OK ? one : status;
    }
    return status;
}

static enum status collect(const struct listen_options *options)
{
    const struct string_list *logs = &options->arguments;
    if (logs->count == 0)
        return fail(CAUSE_USAGE, "which logs? halo listen --collect FILE...");
    return collect_report(&(struct collect_settings){.paths = (const char *const *)logs->values,
                                                     .count = logs->count,
                                                     .json = options->play.json,
                                                     .csv = options->csv,
                                                     .plot = options->collect_plot,
                                                     .force = options->play.force});
}

static enum status run(void *context)
{
    struct listen_options *options = context;
    if (listen_panel_is_asked(options))
        return listen_panel_run(options);
    if (options->collect && options->verify)
        return fail(CAUSE_USAGE, "use either --collect, which also checks the logs, or --verify");
    if ((options->csv || options->collect_plot) && !options->collect)
        return fail(CAUSE_USAGE, "%s needs --collect", options->csv ? "--csv" : "--plot");
    if (options->verify)
        return verify(&options->arguments, options->play.json);
    if (options->collect)
        return collect(options);
    TRY(take_sounds(options));
    options->play.device.wants_input = options->live_input;
    TRY(play_options_check(&options->play));
    TRY(check_source(options));
    TRY(check_test(options));
    note_verbosity(options->play.verbosity);
    stop_watch();
    return options->to_file ? listen_to_file(options) : listen_session_run(options);
}

static void free_options(void *options)
{
    play_options_free(&((struct listen_options *)options)->play);
}

const struct command command_listen = {
    .name = "halo listen",
    .summary = "compare masks by ear, also in blind tests",
    .brief = "usage: halo listen SOUND [--or SOUND...] [stages and options]\n"
             "       halo listen --live-input [stages and options]\n"
             "       halo listen --verify LOG...\n"
             "       halo listen --collect FILE...\n"
             "       halo listen test.yml [--listener NAME | --export FOLDER]\n"
             "       halo listen FOLDER --serve\n"
             "\n"
             "Play a sound in a loop and switch between masks, or play sounds and switch\n"
             "between them. Choices are matched in loudness and delay.\n"
             "\n"
             "stages, in the order given:\n"
             "  -m, --mask MASK            an impulse response: a sound file, text, another\n"
             "                             program's configuration, or lowpass:1000\n"
             "      --or                   before --mask or SOUND: B, then C, and so on\n"
             "      --gain DB              amplify\n"
             "      --lv2, --ladspa, --clap, --vst3 PLUGIN\n"
             "                             an audio plugin; halo plugins list names them\n"
             "\n"
             "options most used:\n"
             "      --abx N                a test of N trials: is X A or B?\n"
             "      --blind N              N trials: rate shuffled masks from 1 to 5\n"
             "      --prefer N             N trials of each pair: which is better?\n"
             "      --log FILE             where a test is written\n"
             "      --resume LOG           go on with a test that was cut off\n"
             "      --from, --to TIME      the part to play\n"
             "      --match HOW            loudness: r128 (default), rms or none\n"
             "      --device NAME          where to play; halo devices lists them\n"
             "      --to-file OUT          write what --script \"0:A 5s:B\" plays; no device\n"
             "\n"
             "keys: 1-9 choices, space dry, arrows seek, [ ] ends of the loop, | all of it,\n"
             "      r restart at switches, < > gain, m mute, p plot, q quit\n"
             "      --abx: a b x play, 1 X is A, 2 X is B, Enter ends the trial\n"
             "      --blind: a b c... play, 1-5 rate, Enter ends the trial\n"
             "      --prefer: a b play, 1 A is better, 2 B is better, 0 neither, Enter\n"
             "\n"
             "examples:\n"
             "  halo listen voice.wav --mask room.wav --or --mask hall.wav\n"
             "  halo listen voice.wav --mask room.wav --or --mask hall.wav --abx 16\n"
             "  halo listen original.wav --or encoded.mp3 --abx 16\n"
             "\n"
             "halo listen --help all lists all options, man halo describes them.",
    .usage =
        "usage: halo listen SOUND [--or SOUND...] [stages and options]\n"
        "       halo listen --live-input [stages and options]\n"
        "       halo listen --verify LOG...\n"
        "       halo listen --collect FILE... [--csv FILE] [--plot FILE]\n"
        "       halo listen test.yml [--listener NAME] [--log FILE]\n"
        "       halo listen test.yml --export FOLDER\n"
        "       halo listen FOLDER --serve [--web ADDRESS:PORT]\n\n"
        "Play a sound in a loop and switch between masks, matched in loudness and delay. The\n"
        "first --mask is A, the one after the first --or is B, and so on. Or switch between\n"
        "several sounds, as far as the shortest goes: SOUND --or SOUND, with stages for all.\n"
        "Keys: 1-9 select a mask, space the dry signal, arrows seek (up and down by 10 s),\n"
        "home goes to the start, [ and ] set the ends of the loop to the present place and |\n"
        "takes all again, r restarts the loop at each switch or goes on, < > change the gain,\n"
        "m mutes, p plots the masks, c and C select a plugin's control, + and - change it, b\n"
        "bypasses the plugin, q leaves.\n"
        "With --abx: a b x play, 1 says that X is A, 2 that X is B. With --blind: a b c... play,\n"
        "1-5 rate the one playing. With --prefer: a b play, 1 and 2 say which is better, 0 that\n"
        "neither is. Enter ends the trial; until then all can be changed. q ends a test early.",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENTS("SOUND", struct listen_options, arguments, 0, .is_file = true)),
    .groups = groups,
    .size = sizeof(struct listen_options),
    .defaults = &(const struct listen_options){.play = PLAY_OPTIONS_DEFAULTS,
                                               .play.takes_sounds = true,
                                               .by = LEVEL_MATCH_R128,
                                               .align = true},
    .run = run,
    .free = free_options,
};
