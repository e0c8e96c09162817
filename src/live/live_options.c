#include "base/stop.h"
#include "live/live_session.h"

#include <string.h>

static const struct option_row rows[] = {
    OPT_FLAG("reconnect", struct live_options, reconnect,
             "wait for a device that was lost and continue"),
    OPT_FLAG("mute", struct live_options, muted, "start muted"),
    OPT_VALUE("no-feedback-guard", struct live_options, guard, false,
              "do not stop feedback: for intended loops and test tones",
              .former_name = "no-howl-guard"),
    OPT_FLAG("watch", struct live_options, watch, "fade in a mask file when it changes on disk"),
    OPT_FILE("record", "OUT", struct live_options, record,
             "record the output, with a log of switches in OUT.log"),
    OPT_FILE("record-dry", "FILE", struct live_options, record_dry, "record the input"),
    OPT_INTEGER("osc", "PORT", struct live_options, osc_port, 0, 65535,
                "accept OSC over UDP from this machine",
                .given = OPT_GIVEN(struct live_options, osc)),
    OPT_PROVE(struct live_options, proof),
    {0},
};

static const struct option_group groups[] = {
    PLAY_STAGES(offsetof(struct live_options, play)),
    PLAY_DEVICE(offsetof(struct live_options, play)),
    {.heading = "options", .rows = rows},
    PLAY_OTHERS(NULL, offsetof(struct live_options, play)),
    {0},
};

static enum status run(void *context)
{
    struct live_options *options = context;
    if (options->record && options->record_dry && strcmp(options->record, options->record_dry) == 0)
        return fail(STATUS_USAGE, "--record and --record-dry need different files");
    TRY(play_options_check(&options->play));
    options->play.device.wants_input = true;
    note_verbosity(options->play.verbosity);
    stop_watch();
    return live_session_run(options);
}

static void free_options(void *options)
{
    play_options_free(&((struct live_options *)options)->play);
}

const struct command command_live = {
    .name = "halo live",
    .summary = "filter live sound",
    .usage =
        "usage: halo live [stages and options]\n\n"
        "Filter the input of a sound device and play it on its output, without added delay.\n"
        "On a terminal a screen shows levels and load. Keys: 1-9 select a mask, space the dry\n"
        "signal, [ ] change the gain, m mutes, c and C select a plugin's control, + and -\n"
        "change it, b bypasses the plugin, r reloads the mask, w writes the recording to disk,\n"
        "q leaves.\n\n"
        "OSC: /halo/control STAGE SYMBOL VALUE, /halo/mix STAGE VALUE, /halo/bypass STAGE 0|1,\n"
        "/halo/choose N, /halo/dry, /halo/gain DB, /halo/mute 0|1, /halo/load N PATH,\n"
        "/halo/reload, /halo/quit, /halo/subscribe and\n"
        "/halo/unsubscribe [PORT].",
    .ending = "example: halo live --mask small-room.wav --or --mask hall.wav,gain=-6 --gain -3",
    .groups = groups,
    .surplus = "a mask is named with --mask",
    .size = sizeof(struct live_options),
    .defaults = &(const struct live_options){.play = PLAY_OPTIONS_DEFAULTS,
                                             .guard = true,
                                             .proof = PROOF_OPTIONS_DEFAULTS},
    .run = run,
    .free = free_options,
};
