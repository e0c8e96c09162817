#include "measure/measure_rig.h"

#include "base/monotonic.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop.h"
#include "chain/mask_options.h"
#include "chain/spec.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int64_t POLL_NS = 50000000;

/* ---- the plan ---- */

static size_t find_channel(const size_t *list, size_t count, size_t channel)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == channel)
            return i;
    return TAKE_NONE;
}

/* Adds the channel of the device to a map, unless it is there or 0. */
static enum status add_channel(struct number_list *map, size_t channel)
{
    if (channel == 0 || find_channel(map->values, map->count, channel) != TAKE_NONE)
        return STATUS_OK;
    if (map->count == OPTIONS_LIST_MOST)
        return fail(CAUSE_USAGE, "more than %d channels", OPTIONS_LIST_MOST);
    map->values[map->count++] = channel;
    return STATUS_OK;
}

/* The channels that are opened: input 1, unless others are named, and those of the reference. */
static enum status complete_maps(const struct measure_options *options, struct number_list *inputs,
                                 struct number_list *outputs)
{
    *inputs = options->play.input_map;
    *outputs = options->play.output_map;
    for (size_t c = 0; c < options->play.device.channels_in && inputs->count == c; c++)
        TRY(add_channel(inputs, c + 1));
    if (inputs->count == 0)
        TRY(add_channel(inputs, 1));
    if (options->reference && inputs->count == 1 && inputs->values[0] == options->reference)
        return fail(CAUSE_USAGE,
                    "input %zu is the reference: name the microphone's with "
                    "--input-map",
                    options->reference);
    TRY(add_channel(inputs, options->reference));
    return outputs->count > 0 ? add_channel(outputs, options->reference_output) : STATUS_OK;
}

/* Puts an option's output channel into the plan. */
static enum status find_output(const struct take_plan *plan, const char *option, size_t channel,
                               size_t *place)
{
    *place = channel ? find_channel(plan->output_of, plan->outputs, channel) : TAKE_NONE;
    if (channel && *place == TAKE_NONE)
        return fail(CAUSE_USAGE, "%s: output %zu is not opened; add it to --output-map", option,
                    channel);
    return STATUS_OK;
}

static void put_channels(size_t *channels, const struct number_list *map, size_t count)
{
    for (size_t c = 0; c < count; c++)
        channels[c] = c < map->count ? map->values[c] : c + 1;
}

enum status measure_check_hesuvi(const struct measure_options *options,
                                 const struct take_plan *plan)
{
    size_t list[DEVICE_CHANNELS_MOST], columns = MEASURE_EARS * take_measured_outputs(plan, list);
    bool fits = columns == MEASURE_HESUVI || columns == MEASURE_HESUVI + MEASURE_EARS;
    if (!options->hesuvi || (fits && take_measured_inputs(plan, list) == MEASURE_EARS))
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "--hesuvi needs two inputs (the left and the right ear) and seven outputs (FL FR "
                "FC BL BR SL SR), or eight with LFE: name them with --input-map and "
                "--output-map");
}

static enum status make_plan(const struct measure_rig *rig, const struct device_info *info,
                             struct take_plan *plan)
{
    const struct measure_options *options = rig->options;
    double to = options->to_hz ? (double)options->to_hz : sweep_usual_end(info->rate);
    time_t now = time(NULL);
    struct tm utc;
    *plan = (struct take_plan){
        .level = rig->level,
        .repeats = options->repeats   ? options->repeats
                   : info->has_bridge ? 2
                                      : 1,
        .pause = (size_t)(options->pause * info->rate),
        .outputs = info->channels_out,
        .inputs = info->channels_in,
        .latency = (size_t)(info->input_latency + info->output_latency),
        .rate_in = info->rate_in,
        .two_clocks = info->has_bridge,
    };
    if (plan->two_clocks && plan->repeats < 2)
        return fail(CAUSE_USAGE, "input and output have two clocks, which two sweeps compare: "
                                 "--repeats is at least 2");
    TRY(sweep_init(&plan->sweep, options->seconds, (double)options->from_hz, to, info->rate));
    put_channels(plan->output_of, &rig->outputs, plan->outputs);
    put_channels(plan->input_of, &rig->inputs, plan->inputs);
    plan->reference = options->reference
                          ? find_channel(plan->input_of, plan->inputs, options->reference)
                          : TAKE_NONE;
    TRY(find_output(plan, "--reference", options->reference_output, &plan->reference_output));
    TRY(find_output(plan, "--mark", options->mark, &plan->mark));
    if (plan->reference_output != TAKE_NONE && plan->outputs == 1)
        return fail(CAUSE_USAGE, "--reference leaves no output to measure: name more with "
                                 "--output-map");
    device_describe(info, plan->device, sizeof plan->device);
    strftime(plan->date, sizeof plan->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return measure_check_hesuvi(options, plan);
}

/* ---- the take ---- */

/* Why a take cannot be used, or STATUS_OK. */
static enum status check_take(struct device *device, const struct take *take)
{
    size_t clipped = atomic_load(&take->clipped);
    double at = (double)atomic_load(&take->frames) / take->plan.rate_in;
    struct device_info info;
    device_info(device, &info);
    if (stop_requested())
        return fail(CAUSE_INTERRUPTED, "stopped; nothing was written");
    if (clipped)
        return fail(CAUSE_OTHER,
                    "input %zu reached full scale after %.1f s: turn down its gain or "
                    "--level; nothing was written",
                    take->plan.input_of[clipped - 1], at);
    if (atomic_load(&take->lost))
        return fail(CAUSE_DEVICE,
                    "the device lost sound after %.1f s: measure again, perhaps with a longer "
                    "--block or --latency high; nothing was written",
                    at);
    if (device_state(device) != DEVICE_RUNNING)
        return fail(CAUSE_DEVICE, "the device was lost after %.1f s; nothing was written", at);
    if (info.rate != take->plan.sweep.rate || info.rate_in != take->plan.rate_in)
        return fail(CAUSE_DEVICE, "the device changed its rate after %.1f s; nothing was written",
                    at);
    return STATUS_OK;
}

/* Writes such as "output 1 of 2, sweep 1 of 3". */
static void tell_place(const struct take *take, char *text, size_t size)
{
    const struct take_plan *plan = &take->plan;
    size_t list[DEVICE_CHANNELS_MOST], count = take_measured_outputs(plan, list);
    size_t at = atomic_load(&take->played), first = take_sweep_at(plan, 0, 0);
    size_t slot = at < first ? 0 : (at - first) / take_slot_frames(plan);
    if (at < first)
        snprintf(text, size, "the levels and the noise");
    else if (slot < count * plan->repeats)
        snprintf(text, size, "output %zu, sweep %zu of %zu",
                 plan->output_of[list[slot / plan->repeats]], slot % plan->repeats + 1,
                 plan->repeats);
    else
        snprintf(text, size, "the end");
}

static enum status watch_take(struct view *view, struct device *device, struct take *take)
{
    struct progress progress;
    char place[64];
    progress_begin(&progress, take->plan.rate_in, !view);
    while (!take_is_complete(take)) {
        TRY(check_take(device, take));
        tell_place(take, place, sizeof place);
        if (view)
            measure_show(view, take, place);
        progress_update(&progress, atomic_load(&take->frames), (int64_t)take->recorded.frames);
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    }
    return check_take(device, take);
}

static enum status record_take(struct measure_rig *rig, struct take *take)
{
    struct device *device = rig->device;
    if (take->plan.two_clocks)
        device_run_sides(device, take_record_step, take_play_step, take);
    else
        device_run(device, take_step, take);
    if (rig->view && !rig->has_levels)
        TRY(measure_set_up(rig->view, device, take));
    atomic_store(&take->phase, TAKE_SWEEPS);
    return watch_take(rig->view, device, take);
}

/* Each output is filtered by itself, so the filter's paths join equal channels. */
static enum status load_filter(char **words, struct mask_options *options, struct mask **filter)
{
    size_t outputs = options->load.sound.channels;
    TRY(mask_spec_load(words, options, filter));
    TRY(mask_options_apply(options, &options->load.sound, MASK_ALIGN_OWN, *filter));
    for (size_t p = 0; p < (*filter)->path_count; p++)
        if ((*filter)->paths[p].input != (*filter)->paths[p].output)
            return fail(CAUSE_USAGE,
                        "mask %s mixes channels: --mask takes one with a channel for each of the "
                        "%zu outputs",
                        (*filter)->name, outputs);
    return STATUS_OK;
}

enum status measure_load_filter(const struct measure_rig *rig, const char *spec,
                                struct mask **filter)
{
    struct device_info info;
    struct mask_options options = {0};
    char **words = spec_split(spec);
    if (!words)
        return fail_memory("a mask");
    device_info(rig->device, &info);
    options.load.sound.rate = info.rate;
    options.load.sound.channels = info.channels_out - (rig->options->reference_output != 0);
    enum status status = load_filter(words, &options, filter);
    free(words);
    if (status != STATUS_OK) {
        mask_destroy(*filter);
        *filter = NULL;
    }
    return status;
}

enum status measure_take(struct measure_rig *rig, const struct mask *filter, struct take **take)
{
    struct device_info info;
    struct take_plan plan;
    *take = NULL;
    device_info(rig->device, &info);
    TRY(make_plan(rig, &info, &plan));
    plan.checked = rig->view || rig->has_levels;
    TRY(take_create(&plan, filter, take));
    (*take)->command = rig->options->command;
    note("%s: a sweep of %.3f s from %.0f to %.0f Hz, %zu time%s on each of %zu output%s",
         plan.device, plan.sweep.seconds, plan.sweep.from, plan.sweep.to, plan.repeats,
         plural_s(plan.repeats), plan.outputs, plural_s(plan.outputs));
    enum status status = record_take(rig, *take);
    if (!device_stop(rig->device)) {
        *take = NULL; /* leaked: a step that hangs still uses it */
        return status == STATUS_OK ? fail(CAUSE_DEVICE, "the device hangs; nothing was written")
                                   : status;
    }
    rig->has_levels = atomic_load(&(*take)->clipped) == 0;
    rig->level = (*take)->plan.level + (*take)->headroom;
    return status;
}

enum status measure_open(const struct measure_options *options, struct view *view,
                         struct measure_rig *rig)
{
    struct device_request request = options->play.device;
    struct device_info info;
    *rig = (struct measure_rig){.options = options, .view = view, .level = options->level};
    TRY(complete_maps(options, &rig->inputs, &rig->outputs));
    request.wants_input = true;
    request.input_map = rig->inputs.values;
    request.input_map_count = rig->inputs.count;
    request.channels_in = 0;
    request.output_map = rig->outputs.values;
    request.output_map_count = rig->outputs.count;
    TRY(device_open(&request, &rig->device));
    device_info(rig->device, &info);
    device_report_grants(&info);
    return STATUS_OK;
}

enum status measure_close(struct measure_rig *rig)
{
    enum status status = device_close(rig->device);
    rig->device = NULL;
    return status;
}

enum status measure_screen_open(const struct play_options *play, struct view **view)
{
    *view = NULL;
    if (play_options_view(play) != VIEW_AUTO)
        return STATUS_OK;
    TRY(view_open(VIEW_AUTO, 0, view));
    if (view_columns(*view) == INT_MAX) {
        view_close(*view);
        *view = NULL;
    }
    return STATUS_OK;
}
