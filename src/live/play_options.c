#include "live/play_options.h"

#include <string.h>

enum { BLOCK_LEAST = 32, BLOCK_MOST = 4096, BLOCK_DEFAULT = 64 }; /* frames */
enum { RATE_LEAST = 1000, RATE_MOST = 1000000 };

static const double FADE_DEFAULT = 0.02, FADE_MOST = 10, LATENCY_MOST = 5; /* seconds */
static const double SECONDS_MOST = 1e9, CEILING_DEFAULT_DB = -1;

#define OPTIONS(context) ((struct play_options *)(context))

static enum status parse_stage(void *context, const struct option_row *row, const char *value)
{
    struct play_options *options = context;
    const struct stage_ops *ops = stage_ops_named(row->name);
    if (options->or_waits && !ops->has_choices)
        return fail(STATUS_USAGE, "--or is followed by --mask, not by --%s", row->name);
    if (options->or_waits && options->other_count + 1 == LIVE_CHOICES_MOST)
        return fail(STATUS_USAGE, "there may be %d masks to choose from", LIVE_CHOICES_MOST);
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
    if (stages->count == 0 || !stages->stages[last].ops->has_choices)
        return fail(STATUS_USAGE, "--or follows a --mask");
    if (options->other_count > 0 && options->choosing != last)
        return fail(STATUS_USAGE, "only one stage can have masks to choose from");
    options->choosing = last;
    options->or_waits = true;
    return STATUS_OK;
}

/* A device that does both. */
static enum status parse_device(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->device.input = value;
    OPTIONS(context)->device.output = value;
    return STATUS_OK;
}

static enum status parse_output(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->device.output = value;
    return STATUS_OK;
}

static enum status parse_host_api(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->device.host_api = value;
    return STATUS_OK;
}

static enum status parse_rate(void *context, const struct option_row *row, const char *value)
{
    size_t rate = 0;
    enum status status = options_parse_number(row->name, value, RATE_LEAST, RATE_MOST, &rate);
    OPTIONS(context)->device.rate = (uint32_t)rate;
    return status;
}

static enum status parse_block(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, BLOCK_LEAST, BLOCK_MOST,
                                &OPTIONS(context)->device.block);
}

/* A list of a device's channels, counted from 1. */
static enum status parse_map(const char *option, const char *text,
                            size_t channels[OPTIONS_LIST_MOST], size_t *count)
{
    struct number_list list;
    enum status status = options_parse_list(option, text, 1, DEVICE_CHANNELS_MOST, &list);
    if (status != STATUS_OK)
        return status;
    memcpy(channels, list.values, list.count * sizeof *channels);
    *count = list.count;
    return STATUS_OK;
}

static enum status parse_output_map(void *context, const struct option_row *row, const char *value)
{
    struct play_options *options = context;
    options->device.output_map = options->output_map;
    return parse_map(row->name, value, options->output_map, &options->device.output_map_count);
}

static enum status parse_input(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    OPTIONS(context)->device.input = value;
    return STATUS_OK;
}

static enum status parse_channels(void *context, const struct option_row *row, const char *value)
{
    return options_parse_number(row->name, value, 1, DEVICE_CHANNELS_MOST,
                                &OPTIONS(context)->device.channels_in);
}

static enum status parse_input_map(void *context, const struct option_row *row, const char *value)
{
    struct play_options *options = context;
    options->device.input_map = options->input_map;
    return parse_map(row->name, value, options->input_map, &options->device.input_map_count);
}

static enum status parse_latency(void *context, const struct option_row *row, const char *value)
{
    struct device_request *device = &OPTIONS(context)->device;
    double seconds = 0;
    enum status status = STATUS_OK;
    device->latency = DEVICE_LATENCY_SECONDS;
    if (strcmp(value, "low") == 0)
        device->latency = DEVICE_LATENCY_LOW;
    else if (strcmp(value, "high") == 0)
        device->latency = DEVICE_LATENCY_HIGH;
    else if (value[strspn(value, "0123456789.")] == '\0') /* milliseconds, where no unit is said */
        status = options_parse_seconds(row->name, value, 0, 1e3 * LATENCY_MOST, &seconds);
    else if (!strchr("0123456789.", value[0]))
        status =
            fail(STATUS_USAGE, "--%s is low, high or milliseconds, not '%s'", row->name, value);
    else
        status = options_parse_seconds(row->name, value, 0, LATENCY_MOST, &device->latency_seconds);
    if (seconds > 0)
        device->latency_seconds = 1e-3 * seconds;
    return status;
}

static enum status parse_fade(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0, FADE_MOST, &OPTIONS(context)->fade);
}

static enum status parse_ceiling(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    double *ceiling = &OPTIONS(context)->ceiling_db;
    enum status status = options_parse_db(value, "--ceiling", ceiling);
    if (status == STATUS_OK && (*ceiling > 0 || *ceiling < -60))
        return fail(STATUS_USAGE, "--ceiling is from -60 to 0 dB, not '%s'", value);
    return status;
}

static enum status parse_seconds(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0.001, SECONDS_MOST, &OPTIONS(context)->seconds);
}

static enum status parse_force(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->force = true;
    return STATUS_OK;
}

static enum status parse_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->json = true;
    return STATUS_OK;
}

static enum status parse_interval(void *context, const struct option_row *row, const char *value)
{
    return options_parse_seconds(row->name, value, 0.01, 3600, &OPTIONS(context)->interval);
}

static enum status parse_plain(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->plain = true;
    return STATUS_OK;
}

static enum status parse_quiet(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->verbosity = VERBOSITY_QUIET;
    return STATUS_OK;
}

static enum status parse_verbose(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->verbosity = VERBOSITY_VERBOSE;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    OPTIONS(context)->help = true;
    return STATUS_OK;
}

static const struct option_row or_row = {
    "or", 0, NULL, "before --mask: another choice instead of the mask before", parse_or};

static const struct option_row device_rows[] = {
    {"device", 0, "NAME",
     "for both directions: a name, a part of one, or an index\n"
     "(halo devices lists them); the system's default",
     parse_device},
    {"output", 0, "NAME", "the device to play to", parse_output},
    {"host-api", 0, "NAME", "ALSA, JACK ...: whose devices are meant", parse_host_api},
    {"rate", 0, "HZ", "frames a second; the device's by default", parse_rate},
    {"block", 0, "FRAMES",
     "the device's period to ask for, 32 to 4096, 64 by\n"
     "default; it decides itself, and what came is told",
     parse_block},
    {"output-map", 0, "LIST", "the device's channels to play to, such as 3,4", parse_output_map},
    {"latency", 0, "LATENCY", "of the device: low (default), high or milliseconds", parse_latency},
};

static const struct option_row input_rows[] = {
    {"input", 0, "NAME", "the device to record from", parse_input},
    {"channels", 0, "N", "of the input; the device's, 2 at most, by default", parse_channels},
    {"input-map", 0, "LIST", "the device's channels to record from, such as 1,2", parse_input_map},
};

static const struct option_row rest_rows[] = {
    {"fade", 0, "TIME", "how long a switch of masks takes; 20ms by default", parse_fade},
    {"ceiling", 0, "DB", "no sample leaves louder than that; -1 by default", parse_ceiling},
    {"seconds", 0, "S", "end after that time", parse_seconds},
    {"force", 'f', NULL, "replace files that exist", parse_force},
    {"json", 0, NULL, "show the stream as JSON, a line each interval, and report so", parse_json},
    {"meter-interval", 0, "S", "seconds between lines, where no screen is", parse_interval},
    {"plain", 0, NULL, "lines instead of a screen", parse_plain},
    {"quiet", 'q', NULL, "print errors only", parse_quiet},
    {"verbose", 'v', NULL, "say more", parse_verbose},
    {"help", 'h', NULL, "print this", parse_help},
};

void play_options_init(struct play_options *options)
{
    *options = (struct play_options){
        .choosing = SIZE_MAX,
        .device = {.block = BLOCK_DEFAULT, .wants_output = true},
        .fade = FADE_DEFAULT,
        .ceiling_db = CEILING_DEFAULT_DB,
        .verbosity = VERBOSITY_NORMAL,
    };
    chain_options_init(&options->chain);
}

void play_options_free(struct play_options *options)
{
    chain_options_free(&options->chain);
}

size_t play_options_stages(struct option_row *rows)
{
    size_t stages = chain_options_stages(rows);
    for (size_t i = 0; i < stages; i++)
        rows[i].take = parse_stage;
    rows[stages] = or_row;
    return stages + 1;
}

size_t play_options_device(struct option_row *rows)
{
    size_t count = sizeof device_rows / sizeof *device_rows;
    memcpy(rows, device_rows, sizeof device_rows);
    memcpy(rows + count, input_rows, sizeof input_rows);
    return count + sizeof input_rows / sizeof *input_rows;
}

size_t play_options_rest(struct option_row *rows)
{
    size_t chain = chain_options_rest(rows);
    memcpy(rows + chain, rest_rows, sizeof rest_rows);
    return chain + sizeof rest_rows / sizeof *rest_rows;
}

enum status play_options_check(struct play_options *options)
{
    if (options->or_waits)
        return fail(STATUS_USAGE, "--or is followed by --mask");
    const struct device_request *device = &options->device;
    if (device->input_map_count && device->channels_in &&
        device->input_map_count != device->channels_in)
        return fail(STATUS_USAGE, "--input-map names %zu channels, --channels %zu",
                    device->input_map_count, device->channels_in);
    return chain_options_check(&options->chain, 0);
}

enum view_choice play_options_view(const struct play_options *options)
{
    if (options->json)
        return VIEW_JSON;
    return options->plain || options->verbosity == VERBOSITY_QUIET ? VIEW_PLAIN : VIEW_AUTO;
}
