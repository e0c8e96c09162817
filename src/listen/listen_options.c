#include "listen/listen_options.h"

#include "live/live_log.h"
#include "signal/binomial.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS(context) ((struct listen_options *)(context))

static const double SECONDS_MOST = 1e9;

static enum status take_live_input(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->live_input = true;
    return STATUS_OK;
}

static enum status parse_from(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0, SECONDS_MOST, &OPTIONS(context)->from);
}

static enum status parse_to(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 1e-6, SECONDS_MOST, &OPTIONS(context)->to);
}

static enum status parse_match(void *context, const struct option_row *row, const char *value)
{
    static const char *const names[] = {
        [LEVEL_MATCH_NONE] = "none", [LEVEL_MATCH_RMS] = "rms", [LEVEL_MATCH_R128] = "r128", NULL};
    size_t choice = LEVEL_MATCH_R128;
    enum status status = options_choose(row->name, value, names, &choice);
    OPTIONS(context)->by = (enum level_match_by)choice;
    return status;
}

static enum status parse_no_align(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->align = false;
    return STATUS_OK;
}

static enum status take_switch(void *context, const struct option_row *row, const char *value)
{
    size_t choice = SWITCH_FADE;
    enum status status = options_choose(row->name, value, live_log_shapes, &choice);
    OPTIONS(context)->play.way.shape = (enum switch_shape)choice;
    return status;
}

static enum status parse_abx(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, BINOMIAL_TRIALS_MOST, &OPTIONS(context)->abx);
}

static enum status parse_blind(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, BINOMIAL_TRIALS_MOST,
                                &OPTIONS(context)->blind);
}

static enum status parse_feedback(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->feedback = true;
    return STATUS_OK;
}

static enum status parse_log(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->log = value;
    return STATUS_OK;
}

static enum status parse_verify(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->verify = value;
    return STATUS_OK;
}

static enum status parse_to_file(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->to_file = value;
    return STATUS_OK;
}

static enum status parse_script(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->script = value;
    return STATUS_OK;
}

static enum status parse_sound(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct listen_options *options = context;
    if (options->sound)
        return fail(STATUS_USAGE,
                    "halo listen plays one sound, not %s and %s; a mask is named "
                    "with --mask",
                    options->sound, value);
    options->sound = value;
    return STATUS_OK;
}

static const struct option_row region_rows[] = {
    {"live-input", 0, NULL, "listen to the device's input instead of a sound", take_live_input},
    {"from", 0, "TIME", "play the sound from there on, such as 12s", parse_from},
    {"to", 0, "TIME", "up to there; then it begins again", parse_to},
    {"match", 0, "HOW",
     "make the masks equally loud: r128 (the loudness of\n"
     "EBU R128, by default), rms or none",
     parse_match},
    {"no-align", 0, NULL, "leave the masks as late as they are", parse_no_align},
    {"switch", 0, "HOW",
     "fade (a crossfade, by default), duck (down, then up)\n"
     "or gap (with a silence between)",
     take_switch},
};

static const struct option_row test_rows[] = {
    {"abx", 0, "N", "a blind test of N trials with two masks: is X A or B?", parse_abx},
    {"blind", 0, "N", "N blind trials: rate up to 9 shuffled masks, 1 to 5", parse_blind},
    {"feedback", 0, NULL, "tell after each answer whether it was right", parse_feedback},
    {"log", 0, "FILE", "write what happened in the test, as JSON", parse_log},
    {"verify", 0, "LOG", "check the log of a test, and play nothing", parse_verify},
};

static const struct option_row file_rows[] = {
    {"to-file", 0, "OUT", "write to a sound file and play nothing", parse_to_file},
    {"script", 0, "SCRIPT", "what to switch to when: \"0:A 5s:B\"", parse_script},
};

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const struct {
    const char *title;
    const struct option_row *rows; /* before them, what all that plays has */
    size_t count;
    size_t (*shared)(struct option_row *rows);
} parts[] = {
    {"stages, in the order given", NULL, 0, play_options_stages},
    {"what plays", region_rows, COUNT(region_rows), NULL},
    {"blind tests", test_rows, COUNT(test_rows), NULL},
    {"without a device", file_rows, COUNT(file_rows), NULL},
    {"the device", NULL, 0, play_options_device},
    {"options", NULL, 0, play_options_rest},
};

enum { ROWS_MOST = PLAY_OPTIONS_MOST + 24, PARTS = COUNT(parts) };

static void collect(struct option_row rows[ROWS_MOST], size_t counts[PARTS])
{
    struct option_row *at = rows;
    for (size_t i = 0; i < PARTS; i++) {
        counts[i] = parts[i].shared ? parts[i].shared(at) : 0;
        if (parts[i].count > 0)
            memcpy(at + counts[i], parts[i].rows, parts[i].count * sizeof *at);
        counts[i] += parts[i].count;
        at += counts[i];
    }
    *at = (struct option_row){.take = parse_sound};
}

void listen_options_print_help(void)
{
    struct option_row rows[ROWS_MOST], *at = rows;
    size_t counts[PARTS];
    collect(rows, counts);
    puts("usage: halo listen SOUND [stages and options]\n"
         "       halo listen --live-input [stages and options]\n"
         "       halo listen --verify LOG\n\n"
         "Play a sound over and over, and switch between masks that are made equally loud and\n"
         "equally late. The first --mask is A, the one after the first --or is B, and so on.\n"
         "Keys: 1-9 choose, space the dry signal, arrows seek (up and down 10 s), home the\n"
         "start, [ ] gain, m mute, p a picture of the masks, c and C choose a plugin's control,\n"
         "+ and - change it, b bypasses the plugin, q leave. In a test with --abx:\n"
         "a b x listen, A or B says which of them X is. With --blind: a b c... listen, 1-5 rate\n"
         "what is heard, Enter ends the trial. q ends a test before its time.");
    for (size_t i = 0; i < PARTS; at += counts[i], i++) {
        printf("\n%s:\n", parts[i].title);
        options_print(stdout, at, counts[i]);
    }
    puts("\nexample: halo listen voice.wav --mask small-room.wav --or --mask hall.wav --abx 16");
}

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

enum status listen_options_parse(struct listen_options *options, int argc, char **argv)
{
    struct option_row rows[ROWS_MOST];
    size_t counts[PARTS];
    collect(rows, counts);
    *options = (struct listen_options){.by = LEVEL_MATCH_R128, .align = true};
    play_options_init(&options->play);
    enum status status = options_parse(argc, argv, "halo listen", rows, options);
    if (status != STATUS_OK || options->play.help || options->verify)
        return status;
    options->play.device.wants_input = options->live_input;
    status = play_options_check(&options->play);
    if (status == STATUS_OK)
        status = check_source(options);
    if (status == STATUS_OK)
        status = check_masks(options);
    return status == STATUS_OK ? check_test(options) : status;
}

void listen_options_free(struct listen_options *options)
{
    play_options_free(&options->play);
}
