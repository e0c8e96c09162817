#include "measure/take.h"

#include "base/json_text.h"
#include "sound/port.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char begin[] = "halo take ";

/* ---- the plan as JSON; channels count from 1, and 0 is TAKE_NONE ---- */

static json_int_t number_of(size_t channel)
{
    return channel == TAKE_NONE ? 0 : (json_int_t)channel + 1;
}

static json_t *channels_json(const size_t *channels, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer((json_int_t)channels[i]));
    return list;
}

static json_t *plan_json(const struct take_plan *plan)
{
    return json_pack(
        "{s:I, s:I, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:s, s:o, "
        "s:o, s:o}",
        "rate", (json_int_t)plan->sweep.rate, "rate_in", (json_int_t)plan->rate_in, "from",
        plan->sweep.from, "to", plan->sweep.to, "seconds", plan->sweep.seconds, "level",
        plan->level, "repeats", (json_int_t)plan->repeats, "pause", (json_int_t)plan->pause, "mark",
        number_of(plan->mark), "reference", number_of(plan->reference), "reference_output",
        number_of(plan->reference_output), "latency", (json_int_t)plan->latency, "two_clocks",
        plan->two_clocks, "checked", plan->checked, "date", plan->date, "device",
        json_text(plan->device), "outputs", channels_json(plan->output_of, plan->outputs), "inputs",
        channels_json(plan->input_of, plan->inputs));
}

static bool read_channels(const json_t *list, size_t *channels, size_t *count)
{
    *count = json_array_size(list);
    if (*count == 0 || *count > DEVICE_CHANNELS_MOST)
        return false;
    bool is_right = true;
    for (size_t i = 0; i < *count; i++) {
        json_int_t channel = json_integer_value(json_array_get(list, i));
        is_right = is_right && channel >= 1 && channel <= DEVICE_CHANNELS_MOST;
        channels[i] = (size_t)channel;
    }
    return is_right;
}

static bool read_channel(json_int_t number, size_t count, size_t *channel)
{
    *channel = number == 0 ? TAKE_NONE : (size_t)number - 1;
    return number >= 0 && number <= (json_int_t)count;
}

/* Whether the numbers of a plan are in their ranges, so that none overflows. */
static bool is_sound(const struct take_plan *plan)
{
    enum { REPEATS_MOST = 1000 };
    const double seconds_most = 3600, rate_most = 1e6, ratio_most = 16, level_most = 300;
    double rate = plan->sweep.rate, most = seconds_most * rate, ratio = plan->rate_in / rate;
    return rate > 0 && rate <= rate_most && ratio <= ratio_most && ratio >= 1 / ratio_most &&
           plan->repeats > 0 && plan->repeats <= REPEATS_MOST && plan->pause > 0 &&
           (double)plan->pause <= most && (double)plan->latency <= most &&
           plan->sweep.seconds <= seconds_most && fabs(plan->level) <= level_most &&
           (plan->reference == TAKE_NONE || plan->inputs > 1) &&
           (plan->reference_output == TAKE_NONE || plan->outputs > 1);
}

/* Fails without a message: the caller knows the file. */
static bool parse_plan(json_t *json, struct take_plan *plan)
{
    json_int_t rate, rate_in, repeats, pause, mark, reference, reference_output, latency;
    const json_t *outputs, *inputs;
    const char *date, *device;
    double from, to, seconds;
    int two_clocks, checked;
    if (json_unpack(
            json,
            "{s:I, s:I, s:F, s:F, s:F, s:F, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:s, s:s, "
            "s:o, s:o}",
            "rate", &rate, "rate_in", &rate_in, "from", &from, "to", &to, "seconds", &seconds,
            "level", &plan->level, "repeats", &repeats, "pause", &pause, "mark", &mark, "reference",
            &reference, "reference_output", &reference_output, "latency", &latency, "two_clocks",
            &two_clocks, "checked", &checked, "date", &date, "device", &device, "outputs", &outputs,
            "inputs", &inputs) != 0)
        return false;
    plan->sweep = (struct sweep){.rate = (uint32_t)rate, .seconds = seconds};
    plan->rate_in = (uint32_t)rate_in;
    plan->repeats = (size_t)repeats;
    plan->pause = (size_t)pause;
    plan->latency = (size_t)latency;
    plan->two_clocks = two_clocks;
    plan->checked = checked;
    snprintf(plan->date, sizeof plan->date, "%s", date);
    snprintf(plan->device, sizeof plan->device, "%s", device);
    return rate > 0 && rate <= UINT32_MAX && rate_in > 0 && rate_in <= UINT32_MAX && pause > 0 &&
           latency >= 0 && read_channels(outputs, plan->output_of, &plan->outputs) &&
           read_channels(inputs, plan->input_of, &plan->inputs) &&
           read_channel(mark, plan->outputs, &plan->mark) &&
           read_channel(reference, plan->inputs, &plan->reference) &&
           read_channel(reference_output, plan->outputs, &plan->reference_output) &&
           is_sound(plan) &&
           sweep_init(&plan->sweep, seconds, from, to, plan->sweep.rate) == STATUS_OK;
}

/* ---- writing ---- */

static enum status describe(const struct take_plan *plan, struct sound_metadata *metadata)
{
    json_t *json = plan_json(plan);
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL, *comment = NULL;
    json_decref(json);
    if (text && asprintf(&comment, "%s%s", begin, text) < 0)
        comment = NULL;
    free(text);
    if (!comment)
        return fail_memory("a recording");
    enum status status =
        metadata_add_text(metadata, "COMMENT", strlen("COMMENT"), comment, strlen(comment));
    free(comment);
    return status;
}

static enum status write_take(const struct take *take, struct sound_metadata *metadata,
                              struct sink *sink)
{
    TRY(describe(&take->plan, metadata));
    TRY(sink_write(sink, (const float *const *)take->recorded.data, take->recorded.frames));
    TRY(sink_put_metadata(sink, metadata));
    return sink_commit(sink);
}

enum status take_write(const struct take *take, const char *path, bool force)
{
    struct sound_metadata *metadata;
    struct sink *sink;
    const struct sink_settings settings = {
        .path = path,
        .format = {.rate = take->plan.rate_in, .channels = take->plan.inputs},
        .sound_format = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
        .frames = (int64_t)take->recorded.frames,
        .force = force,
    };
    TRY(metadata_create(&metadata));
    enum status status = sink_open_sound(&settings, &sink);
    if (status == STATUS_OK) {
        status = write_take(take, metadata, sink);
        sink_close(sink);
    }
    metadata_destroy(metadata);
    return status;
}

/* ---- reading ---- */

static const char *comment_of(const struct sound_metadata *metadata)
{
    for (size_t i = 0; metadata && i < metadata->text_count; i++)
        if (strcmp(metadata->texts[i].name, "COMMENT") == 0 &&
            strncmp(metadata->texts[i].value, begin, strlen(begin)) == 0)
            return metadata->texts[i].value + strlen(begin);
    return NULL;
}

static enum status read_plan(struct source *source, struct take_plan *plan)
{
    char reason[300];
    TRY(source_read_metadata(source));
    const char *text = comment_of(source->traits.metadata);
    if (!text)
        return fail(CAUSE_UNSUPPORTED,
                    "%s is no recording of halo measure, which writes them as NAME-take.wav; for "
                    "other recordings see deconvolve: in halo mask make --help",
                    source->name);
    json_t *json = json_loads(text, 0, NULL);
    const struct log_keeper before = log_keep_in(reason, sizeof reason);
    bool is_right = json && parse_plan(json, plan);
    log_keep_again(&before);
    json_decref(json);
    if (!is_right || plan->inputs != source->format.channels ||
        plan->rate_in != source->format.rate)
        return fail(CAUSE_DAMAGED, "%s: the description of its sweeps is damaged", source->name);
    return STATUS_OK;
}

static enum status read_take(struct source *source, struct take **result)
{
    struct take_plan plan = {0};
    size_t got;
    TRY(read_plan(source, &plan));
    size_t frames = take_recorded_frames(&plan);
    if (source->frames < 0 || (uint64_t)source->frames < frames)
        return fail(CAUSE_DAMAGED, "%s is cut off: it has %lld of %zu frames", source->name,
                    (long long)source->frames, frames);
    TRY(take_create(&plan, NULL, result));
    struct take *take = *result;
    TRY(source_read(source, take->recorded.data, frames, &got));
    for (size_t c = 0; c < plan.inputs; c++)
        if (got < frames || audio_find_nonfinite(take->recorded.data[c], frames) < frames)
            return fail(CAUSE_DAMAGED, "%s is damaged: a sample is missing or not a number",
                        source->name);
    return STATUS_OK;
}

enum status take_read(const char *path, struct take **take)
{
    struct source *source;
    *take = NULL;
    TRY(source_open_sound(path, false, &source));
    enum status status = read_take(source, take);
    source_close(source);
    if (status != STATUS_OK) {
        take_destroy(*take);
        *take = NULL;
    }
    return status;
}
