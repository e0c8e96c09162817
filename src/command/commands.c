#include "command/commands.h"

#include "base/build_info.h"
#include "base/commit.h"
#include "batch/batch_options.h"
#include "bench/bench.h"
#include "correct/correct_options.h"
#include "listen/listen_options.h"
#include "live/session/live_options.h"
#include "measure/measure_options.h"
#include "plugin/isolation/plugin_isolated.h"
#include "plugin/scan/plugin_scanner.h"
#include "render/render_options.h"
#include "spectrogram/spectrogram_options.h"

#include <jansson.h>

static const struct command command_mask = {
    .name = "halo mask",
    .summary = "show, make, plot and convert masks",
    .commands = (const struct command *const[]){&command_mask_show, &command_mask_make,
                                                &command_mask_plot, &command_mask_convert, NULL},
};

static const struct command command_plugins = {
    .name = "halo plugins",
    .summary = "list and describe audio plugins",
    .commands = (const struct command *const[]){&command_plugins_list, &command_plugins_info, NULL},
};

static const struct command command_chain = {
    .name = "halo chain",
    .summary = "check a chain of stages stored in a file, and collect its files",
    .commands = (const struct command *const[]){&command_chain_check, &command_chain_collect, NULL},
};

static const struct command command_service = {
    .name = "halo service",
    .summary = "run halo live from each login on",
    .commands = (const struct command *const[]){&command_service_install, &command_service_status,
                                                &command_service_remove, NULL},
};

#ifdef HALO_NO_CUDA
static enum status refuse_kernels(int argc, char **argv)
{
    (void)argc, (void)argv;
    return fail(CAUSE_UNSUPPORTED,
                "halo bench kernels needs CUDA, which this build lacks; see halo "
                "--version");
}

const struct command bench_kernels = {
    .name = "halo bench kernels",
    .summary = "time the GPU's convolution kernels against a plain copy",
    .main = refuse_kernels,
};
#endif

/* Refuses halo bench calibrate, a removed command that scripts may still use. */
static enum status refuse_calibrate(int argc, char **argv)
{
    (void)argc, (void)argv;
    return fail(CAUSE_USAGE, "halo bench calibrate is gone: --backend auto estimates without "
                             "measuring; remove the call");
}

static const struct command bench_calibrate = {
    .name = "halo bench calibrate",
    .main = refuse_calibrate,
};

static const struct command command_bench = {
    .name = "halo bench",
    .summary = "measure parts of the program on this machine",
    .commands =
        (const struct command *const[]){&bench_calibrate, &bench_kernels, &bench_stream, NULL},
};

static const struct command command_plugin_instances = {
    .name = "halo plugin-instances",
    .main = plugin_instances_serve,
};

static const struct command command_plugin_scanner = {
    .name = "halo plugin-scanner",
    .main = cmd_plugin_scanner,
};

struct halo_settings {
    bool version;
};

static enum status run(void *options)
{
    if (!((const struct halo_settings *)options)->version)
        return fail(CAUSE_USAGE, "which command? halo --help lists them");
    printf("halo %s%s\n"
           "cuda: %s\n"
           "pipewire: %s\n"
           "portaudio: %s\n"
           "jack: %s\n"
           "lv2: %s\n"
           "ladspa: %s\n"
           "lv2_plugin: %s\n"
           "clap_plugin: %s\n"
           "screen: %s\n"
           "osc: %s\n"
           "web: %s\n"
           "sofa: %s\n"
           "taglib: %s\n"
           "with libsndfile %s, libsoxr %s, jansson %s\n",
           HALO_VERSION, HALO_COMMIT, HALO_CUDA_TEXT, HALO_PIPEWIRE_TEXT, HALO_PORTAUDIO_TEXT,
           HALO_JACK_TEXT, HALO_LV2_TEXT, HALO_LADSPA_TEXT, HALO_LV2_PLUGIN_TEXT,
           HALO_CLAP_PLUGIN_TEXT, HALO_SCREEN_TEXT, HALO_OSC_TEXT, HALO_WEB_TEXT, HALO_SOFA_TEXT,
           HALO_TAGLIB_TEXT, HALO_SNDFILE_TEXT, HALO_SOXR_TEXT, JANSSON_VERSION);
    return STATUS_OK;
}

static const struct option_row rows[] = {
    OPT_FLAG("version", struct halo_settings, version, "print the version and what is built in",
             .letter = 'V'),
    {0},
};

const struct command command_halo = {
    .name = "halo",
    .usage = "usage: halo COMMAND [arguments]\n\n"
             "Convolve sound with filter masks (impulse responses).\n\n"
             "commands:",
    .ending = "halo COMMAND --help describes a command; man halo is the manual.",
    .groups = OPTION_GROUP(rows),
    .surplus = "to filter a file: halo render IN OUT",
    .commands =
        (const struct command *const[]){
            &command_render, &command_batch, &command_live, &command_listen, &command_measure,
            &command_correct, &command_devices, &command_service, &command_mask,
            &command_spectrogram, &command_plugins, &command_chain, &command_preset, &command_bench,
            &command_list_options, &command_plugin_instances, &command_plugin_scanner, NULL},
    .size = sizeof(struct halo_settings),
    .run = run,
};
