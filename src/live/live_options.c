#include "live/live_options.h"

#include <string.h>

static const struct option_row rows[] = {
    OPT_FLAG("reconnect", struct live_options, reconnect,
             "wait for a device that was lost, and go on"),
    OPT_FLAG("mute", struct live_options, muted, "begin muted"),
    OPT_VALUE("no-howl-guard", struct live_options, guard, false,
              "let feedback howl: for loops that are meant, test tones"),
    OPT_FLAG("watch", struct live_options, watch, "a mask file that changes on disk fades in"),
    OPT_FILE("record", "OUT", struct live_options, record,
             "write what is heard, with a log of switches: OUT.log"),
    OPT_FILE("record-dry", "FILE", struct live_options, record_dry, "write what comes in"),
    OPT_INTEGER("osc", "PORT", struct live_options, osc_port, 0, 65535,
                "be controlled from this machine, by OSC over UDP",
                .given = OPT_GIVEN(struct live_options, osc)),
    {0},
};

static const struct option_group groups[] = {
    PLAY_STAGES(offsetof(struct live_options, play)),
    PLAY_DEVICE(offsetof(struct live_options, play)),
    {.heading = "options", .rows = rows},
    PLAY_OTHERS(NULL, offsetof(struct live_options, play)),
    {0},
};

enum status live_options_check(struct live_options *options)
{
    if (options->record && options->record_dry && strcmp(options->record, options->record_dry) == 0)
        return fail(STATUS_USAGE, "--record and --record-dry need a file each");
    return play_options_check(&options->play);
}

static void free_options(void *options)
{
    play_options_free(&((struct live_options *)options)->play);
}

const struct command command_live = {
    .name = "halo live",
    .summary = "filter a microphone",
    .usage =
        "usage: halo live [stages and options]\n\n"
        "Filter what a sound device records, and play it on one, with no delay added.\n"
        "A screen shows levels and load where there is a terminal. Keys: 1-9 choose a mask,\n"
        "space the dry signal, [ ] gain, m mute, c and C choose a plugin's control, + and -\n"
        "change it, b bypasses the plugin, r read the mask again, w write the recording to\n"
        "disk, q leave.\n\n"
        "OSC: /halo/control STAGE SYMBOL VALUE, /halo/mix STAGE VALUE, /halo/bypass STAGE 0|1,\n"
        "/halo/choose N, /halo/dry, /halo/gain DB, /halo/mute 0|1, /halo/load N PATH,\n"
        "/halo/reload, /halo/quit, /halo/subscribe and\n"
        "/halo/unsubscribe [PORT].",
    .ending = "example: halo live --mask small-room.wav --or --mask hall.wav,gain=-6 --gain -3",
    .groups = groups,
    .surplus = "a mask is named with --mask",
    .size = sizeof(struct live_options),
    .defaults = &(const struct live_options){.play = PLAY_OPTIONS_DEFAULTS, .guard = true},
    .run = live_run,
    .free = free_options,
};
