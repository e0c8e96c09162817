#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/stop.h"
#include "chain/report.h"
#include "live/session/live_session.h"
#include "sound/file/sound_format.h"

#include <string.h>

enum { CHECK_RATE = 48000, CHECK_CHANNELS = 2 }; /* used if the user names none */

static const struct option_row rows[] = {
    OPT_FLAG("reconnect", struct live_options, reconnect,
             "wait for a device that was lost and continue"),
    OPT_STRING("sink", "NAME", struct live_options, play.device.sink,
               "make a sink of that name, which programs play to, and filter\n"
               "what they play; needs PipeWire"),
    OPT_FLAG("loopback", struct live_options, play.device.loopback,
             "filter what is played to the default device; needs PipeWire\n"
             "and another --output"),
    OPT_PARSE("for-device", "NAME=WHAT", live_for_device_parse,
              "when playing to the device NAME, or a part of its name, change to\n"
              "WHAT: mask N (0: dry), preset:PRESET or chain:FILE; may be given\n"
              "again"),
    OPT_FLAG("check", struct live_options, check,
             "load masks and plugins, and end without a device"),
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
    OPT_STRING("web", "ADDRESS:PORT", struct live_options, web.address,
               "show and steer the stream in a browser of this machine, by a link\n"
               "that is printed; with 0.0.0.0:4256 from other machines too",
               .optional = true, .given = OPT_GIVEN(struct live_options, web.wanted)),
    OPT_FILE("tls-certificate", "FILE", struct live_options, web.certificate,
             "certificate of the web server, in PEM"),
    OPT_FILE("tls-key", "FILE", struct live_options, web.key, "key of the certificate"),
    OPT_FLAG("web-insecure", struct live_options, web.insecure,
             "let other machines reach the web server without TLS"),
    OPT_STRING("send", "COMMAND", struct live_options, send,
               "send a command of OSC, such as 'choose 2' or 'control 1 gain -6',\n"
               "to the halo live or service that runs, and end; with --osc PORT\n"
               "to the one on that port"),
    OPT_STRING("to", "NAME", struct live_options, to,
               "where --send sends if several run: the process id or the name\n"
               "of the service"),
    OPT_PROVE(struct live_options, proof),
    OPT_STRING("preset", "NAME", struct live_options, preset,
               "begin with a preset, in place of stages (see halo preset --help)"),
    OPT_FLAG("resume", struct live_options, resume, "begin with the preset last used"),
    OPT_STRING("save-preset", "NAME", struct live_options, save_preset,
               "save what it begins with as a preset"),
    {0},
};

static const struct option_group groups[] = {
    PLAY_STAGES(offsetof(struct live_options, play)),
    PLAY_DEVICE(offsetof(struct live_options, play)),
    {.heading = "options", .rows = rows},
    PLAY_OTHERS(NULL, offsetof(struct live_options, play)),
    {0},
};

/* A virtual sink gets the period of the programs that play to it, unless the user names a block. */
static enum status check_sink(struct live_options *options)
{
    struct device_request *device = &options->play.device;
    if (!device->sink && !device->loopback)
        return STATUS_OK;
    if (device->sink && !*device->sink)
        return fail(CAUSE_USAGE, "--sink needs a name, which programs show");
    if (device->input || (device->sink && device->loopback))
        return fail(CAUSE_USAGE,
                    "--sink, --loopback and --input are three inputs: choose one, and the "
                    "device to play to with --output");
    if (!options->play.block_given && device->latency == DEVICE_LATENCY_LOW)
        device->latency = DEVICE_LATENCY_HIGH;
    return STATUS_OK;
}

static enum status print_check(const struct stream_session *stream)
{
    const struct live_chain *chain = &stream->chain;
    return json_print(
        json_pack("{s:I, s:I, s:I, s:I, s:I, s:o}", "rate", (json_int_t)stream->info.rate, "block",
                  (json_int_t)chain->filter->block, "inputs", (json_int_t)chain->filter->inputs,
                  "outputs", (json_int_t)chain->filter->outputs, "latency",
                  (json_int_t)chain->filter->latency, "stages", report_stages(&chain->stages)),
        0, "what was checked");
}

/* Loads the chain, and the chains of --for-device rules, for the requested rate and channels. */
static enum status check(const struct live_options *options)
{
    const struct device_request *device = &options->play.device;
    size_t channels = play_options_channels(&options->play);
    struct live_session session = {
        .stream = {.options = &options->play,
                   .info = {.rate = device->rate ? device->rate : CHECK_RATE,
                            .period = device->block,
                            .block = device->block,
                            .follows_default = true}},
        .options = options,
    };
    TRY(live_preset_begin(&session));
    channels = channels ? channels : CHECK_CHANNELS;
    struct stream_format format = {.channels = channels, .layout = channel_layout_usual(channels)};
    TRY(stated_layout_apply(options->play.layout, "the device", &format));
    session.stream.layout = format.layout;
    const struct live_chain_request request = live_session_chain_request(&session, channels);
    enum status status = live_chain_init(&session.stream.chain, &request);
    if (status == STATUS_OK)
        status = live_for_device_check(&session);
    if (status == STATUS_OK && options->play.json)
        status = print_check(&session.stream);
    live_chain_free(&session.stream.chain);
    preset_destroy(session.presets.preset);
    return status;
}

static enum status check_preset(const struct live_options *options)
{
    const struct play_options *play = &options->play;
    const char *option = options->preset ? "--preset" : "--resume";
    if (options->preset && options->resume)
        return fail(CAUSE_USAGE, "--preset and --resume exclude each other");
    if ((options->preset || options->resume) && (play->chain.stages.count > 0 || play->or_waits))
        return fail(CAUSE_USAGE, "%s has stages of its own: remove --%s", option,
                    play->or_waits ? "or" : play->chain.stages.stages[0].ops->option);
    return options->save_preset ? preset_check_name(options->save_preset) : STATUS_OK;
}

static enum status run(void *context)
{
    struct live_options *options = context;
    if (options->record && options->record_dry &&
        atomic_file_is_same(options->record, options->record_dry))
        return fail(CAUSE_USAGE, "--record and --record-dry need different files");
    if (options->to && (!options->send || options->osc))
        return fail(CAUSE_USAGE, "--to NAME needs --send, and no --osc");
    if (options->send)
        return osc_send(options->osc_port ? (int)options->osc_port : OSC_NO_PORT, options->to,
                        options->send, options->play.json);
    TRY(check_preset(options));
    if (!options->web.wanted &&
        (options->web.certificate || options->web.key || options->web.insecure))
        return fail(CAUSE_USAGE, "--tls-certificate, --tls-key and --web-insecure need --web");
    TRY(play_options_check(&options->play));
    TRY(check_sink(options));
    options->play.device.wants_input = true;
    note_verbosity(options->play.verbosity);
    stop_watch();
    return options->check ? check(options) : live_session_run(options);
}

static void free_options(void *options)
{
    play_options_free(&((struct live_options *)options)->play);
}

const struct command command_live = {
    .name = "halo live",
    .summary = "filter live sound",
    .brief = "usage: halo live [stages and options]\n"
             "\n"
             "Filter the input of a sound device and play it on its output, without added\n"
             "delay. On a terminal a screen shows levels, load and keys.\n"
             "\n"
             "stages, in the order given:\n"
             "  -m, --mask MASK            an impulse response: a sound file, text, another\n"
             "                             program's configuration, or lowpass:1000\n"
             "      --or                   before --mask: an alternative, chosen by a key\n"
             "      --gain DB              amplify\n"
             "      --lv2, --ladspa, --clap, --vst3 PLUGIN\n"
             "                             an audio plugin; halo plugins list names them\n"
             "\n"
             "options most used:\n"
             "      --device NAME          for input and output; halo devices lists them\n"
             "      --input, --output NAME the device of each side\n"
             "      --sink NAME            filter what programs play to this sink (PipeWire)\n"
             "      --loopback             filter what is played to the default device\n"
             "      --block FRAMES         period of the device: less delay, or less load\n"
             "      --watch                fade a mask in when its file changes\n"
             "      --record OUT           record the output\n"
             "      --preset NAME          begin with a preset that --save-preset NAME saved\n"
             "      --send COMMAND         steer the halo live that runs: 'choose 2'\n"
             "      --web                  show and steer it in a browser\n"
             "      --check                load masks and plugins, and end\n"
             "\n"
             "keys: 1-9 masks, space dry, [ ] gain, m mute, c C + - a control or band,\n"
             "      b bypass, p P presets, s save one, u undo, r reload, w flush the recording,\n"
             "      q quit\n"
             "\n"
             "examples:\n"
             "  halo live --mask room.wav --or --mask hall.wav,gain=-6\n"
             "  halo live --sink Corrected --mask correction.wav\n"
             "  halo live --send 'choose 2'\n"
             "\n"
             "halo live --help all lists all options and commands of --send, man halo\n"
             "describes them. halo service install keeps it running.",
    .usage =
        "usage: halo live [stages and options]\n\n"
        "Filter the input of a sound device and play it on its output, without added delay.\n"
        "On a terminal a screen shows levels and load. Keys: 1-9 select a mask, space the dry\n"
        "signal, [ ] change the gain, m mutes, c and C select a plugin's control or a band, + and -\n"
        "change it, b bypasses the plugin, p and P go to the next and the previous preset, s saves\n"
        "one, u undoes a change, r reloads the mask, w writes the recording to disk, q leaves.\n\n"
        "OSC: /halo/control STAGE SYMBOL VALUE, /halo/mix STAGE VALUE, /halo/bypass STAGE 0|1,\n"
        "/halo/eq STAGE BANDS PREAMP, /halo/choose N, /halo/dry, /halo/gain DB, /halo/ceiling DB,\n"
        "/halo/mute 0|1, /halo/load N PATH, /halo/reload, /halo/preset NAME, /halo/preset/next,\n"
        "/halo/preset/previous, /halo/preset/save NAME, /halo/preset/for-device NAME,\n"
        "/halo/stage/add STAGE OPTION SPEC, /halo/stage/remove STAGE, /halo/stage/move STAGE TO,\n"
        "/halo/undo, /halo/blind/begin, /halo/blind/hear 1|2, /halo/blind/keep 1|2,\n"
        "/halo/blind/end, /halo/quit, /halo/subscribe and /halo/unsubscribe [PORT].\n"
        "What is wrong changes nothing and is answered with\n"
        "/halo/error PATH REASON.",
    .groups = groups,
    .surplus = "a mask is named with --mask",
    .size = sizeof(struct live_options),
    .defaults = &(const struct live_options){.play = PLAY_OPTIONS_DEFAULTS,
                                             .guard = true,
                                             .proof = PROOF_OPTIONS_DEFAULTS},
    .run = run,
    .free = free_options,
};
