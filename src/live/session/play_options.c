#include "live/session/play_options.h"

#include "base/atomic_file.h"
#include "base/plural.h"

#include <string.h>

enum { BLOCK_LEAST = 32, BLOCK_MOST = 4096 }; /* frames */
enum { RATE_LEAST = 1000, RATE_MOST = 1000000 };

#define LATENCY_MOST 5.0 /* seconds */

enum status play_options_parse_stage(void *context, const struct option_row *row, const char *value)
{
    struct play_options *options = context;
    const struct stage_ops *ops = stage_ops_named(row->name);
    if (options->or_waits && !ops->has_choices)
        return fail(CAUSE_USAGE, "--or is followed by --mask, not by --%s", row->name);
    if (options->or_waits && options->other_count + 1 == LIVE_CHOICES_MOST)
        return fail(CAUSE_USAGE, "there can be at most %d masks to choose from", LIVE_CHOICES_MOST);
    if (options->or_waits) {
        options->or_waits = false;
        options->others[options->other_count++] = value;
        return STATUS_OK;
    }
    if (ops->has_choices && options->choosing == SIZE_MAX)
        options->choosing = options->chain.stages.count;
    return stage_list_add(&options->chain.stages, ops, value, NULL);
}

static enum status parse_or(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    struct play_options *options = context;
    const struct stage_list *stages = &options->chain.stages;
    size_t last = stages->count - 1;
    if (stages->count == 0 && options->takes_sounds) {
        options->sound_ors++;
        return STATUS_OK;
    }
    if (stages->count == 0 || !stages->stages[last].ops->has_choices)
        return fail(CAUSE_USAGE, "--or follows a --mask");
    if (options->other_count > 0 && options->choosing != last)
        return fail(CAUSE_USAGE, "only one stage can have masks to choose from");
    options->choosing = last;
    options->or_waits = true;
    return STATUS_OK;
}

static enum status parse_device(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct play_options *options = context;
    options->device.input = options->device.output = value;
    return STATUS_OK;
}

static enum status parse_latency(void *context, const struct option_row *row, const char *value)
{
    struct device_request *device = &((struct play_options *)context)->device;
    double milliseconds;
    device->latency = DEVICE_LATENCY_SECONDS;
    if (strcmp(value, "low") == 0) {
        device->latency = DEVICE_LATENCY_LOW;
    } else if (strcmp(value, "high") == 0) {
        device->latency = DEVICE_LATENCY_HIGH;
    } else if (value[strspn(value, "0123456789.")] == '\0') { /* no unit: milliseconds */
        TRY(options_parse_seconds(row->name, value, 0, 1e3 * LATENCY_MOST, &milliseconds));
        device->latency_seconds = 1e-3 * milliseconds;
    } else if (!strchr("0123456789.", value[0])) {
        return fail(CAUSE_USAGE, "--%s is low, high or milliseconds, not '%s'", row->name, value);
    } else {
        return options_parse_seconds(row->name, value, 0, LATENCY_MOST, &device->latency_seconds);
    }
    return STATUS_OK;
}

/* ---- rows ---- */

static const char *const latency_names[] = {"low", "high", NULL}; /* --latency also takes a time */

const struct option_row play_options_or[] = {
    OPT_PARSE("or", NULL, parse_or, "before --mask: an alternative to the previous mask"),
    {0},
};

const struct option_row play_options_device[] = {
    OPT_PARSE("device", "NAME", parse_device,
              "for input and output: a name, a part of one, or an index\n"
              "(see halo devices); default: the system's"),
    OPT_STRING("output", "NAME", struct play_options, device.output, "the device to play to"),
    OPT_STRING("driver", "NAME", struct play_options, device.driver,
               "use the devices of JACK, ALSA, ...; default: the sound server that\n"
               "runs, or those of the system",
               .former_name = "host-api"),
    OPT_INTEGER("rate", "HZ", struct play_options, device.rate, RATE_LEAST, RATE_MOST,
                "frames per second; default: the device's"),
    OPT_FRAMES("block", struct play_options, device.block, BLOCK_LEAST, BLOCK_MOST,
               "period to request from the device, 32 to 4096 (default 64, halo\n"
               "measure 1024); the one that it uses is reported",
               .given = OPT_GIVEN(struct play_options, block_given)),
    OPT_INTEGERS("output-map", "LIST", struct play_options, output_map, 1, DEVICE_CHANNELS_MOST,
                 "the device's channels to play to, such as 3,4"),
    OPT_PARSE("latency", "LATENCY", parse_latency,
              "latency of the device: low (default), high or milliseconds", .names = latency_names),
    OPT_STRING("input", "NAME", struct play_options, device.input, "the device to record from"),
    OPT_INTEGER("channels", "N", struct play_options, device.channels_in, 1, DEVICE_CHANNELS_MOST,
                "input channels; default: the device's, at most 2"),
    OPT_STRING("layout", "LAYOUT", struct play_options, layout,
               "what the input's channels are, where it does not tell or is\n"
               "wrong: 5.1, 5.1(side), FL+FR+LFE, ambisonic 1, none"),
    OPT_INTEGERS("input-map", "LIST", struct play_options, input_map, 1, DEVICE_CHANNELS_MOST,
                 "the device's channels to record from, such as 1,2"),
    {0},
};

const struct option_row play_options_others[] = {
    OPT_SECONDS("fade", "TIME", struct play_options, fade, 0, 10,
                "duration of a switch of masks; default 20ms"),
    OPT_DB("ceiling", struct play_options, ceiling_db, -60, 0,
           "limit the output to that level; default -1"),
    OPT_SECONDS("seconds", "S", struct play_options, seconds, 0.001, 1e9, "stop after that time"),
    OPT_FLAG("force", struct play_options, force, "replace files that exist", .letter = 'f'),
    OPT_NO_SYNC,
    OPT_FLAG("json", struct play_options, json, "print JSON lines and a JSON report"),
    OPT_SECONDS("meter-interval", "S", struct play_options, interval, 0.01, 3600,
                "seconds between lines without a screen"),
    OPT_FLAG("plain", struct play_options, plain, "print lines instead of a screen"),
    OPT_VALUE("quiet", struct play_options, verbosity, VERBOSITY_QUIET,
              "print only errors and what spoils the sound", .letter = 'q'),
    OPT_VALUE("verbose", struct play_options, verbosity, VERBOSITY_VERBOSE, "print more",
              .letter = 'v'),
    {0},
};

void play_options_free(struct play_options *options)
{
    chain_options_free(&options->chain);
}

enum status play_options_check(struct play_options *options)
{
    if (options->or_waits)
        return fail(CAUSE_USAGE, "--or is followed by --mask");
    struct device_request *device = &options->device;
    device->input_map = options->input_map.values;
    device->input_map_count = options->input_map.count;
    device->output_map = options->output_map.values;
    device->output_map_count = options->output_map.count;
    if (device->input_map_count && device->channels_in &&
        device->input_map_count != device->channels_in)
        return fail(CAUSE_USAGE, "--input-map names %zu channel%s, --channels %zu",
                    device->input_map_count, plural_s(device->input_map_count),
                    device->channels_in);
    if (options->layout)
        TRY(channel_layout_parse(options->layout, &device->layout_in, &options->layout_channels));
    TRY(gpu_devices_check_one(&options->chain.settings.convolver.gpu.devices));
    return chain_options_check(&options->chain, 0);
}

size_t play_options_channels(const struct play_options *options)
{
    const struct device_request *device = &options->device;
    return device->input_map_count ? device->input_map_count
           : device->channels_in   ? device->channels_in
                                   : options->layout_channels;
}

enum view_choice play_options_view(const struct play_options *options)
{
    if (options->json)
        return VIEW_JSON;
    return options->plain || options->verbosity == VERBOSITY_QUIET ? VIEW_PLAIN : VIEW_AUTO;
}
