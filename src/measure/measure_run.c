#include "base/atomic_file.h"
#include "base/json_text.h"
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/progress.h"
#include "base/stop.h"
#include "import/mask_write.h"
#include "measure/measure_options.h"
#include "measure/take_response.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const int64_t POLL_NS = 50000000;
enum { EARS = 2, HESUVI_COLUMNS = 14 };

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

/* HeSuVi's channels are those of seven loudspeakers, with an eighth that is left out, at two ears. */
static enum status check_hesuvi(const struct measure_options *options, const struct take_plan *plan)
{
    size_t list[DEVICE_CHANNELS_MOST], columns = EARS * take_measured_outputs(plan, list);
    bool fits = columns == HESUVI_COLUMNS || columns == HESUVI_COLUMNS + EARS;
    if (!options->hesuvi || (fits && take_measured_inputs(plan, list) == EARS))
        return STATUS_OK;
    return fail(CAUSE_USAGE,
                "--hesuvi needs two inputs (the left and the right ear) and seven outputs (FL FR "
                "FC BL BR SL SR), or eight with LFE: name them with --input-map and "
                "--output-map");
}

static enum status make_plan(const struct measure_options *options, const struct device_info *info,
                             const struct number_list *inputs, const struct number_list *outputs,
                             struct take_plan *plan)
{
    double to = options->to_hz ? (double)options->to_hz : sweep_usual_end(info->rate);
    time_t now = time(NULL);
    struct tm utc;
    *plan = (struct take_plan){
        .level = options->level,
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
    put_channels(plan->output_of, outputs, plan->outputs);
    put_channels(plan->input_of, inputs, plan->inputs);
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
    return check_hesuvi(options, plan);
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

static enum status record_take(struct view *view, struct device *device, struct take *take)
{
    if (take->plan.two_clocks)
        device_run_sides(device, take_record_step, take_play_step, take);
    else
        device_run(device, take_step, take);
    if (view)
        TRY(measure_set_up(view, device, take));
    atomic_store(&take->phase, TAKE_SWEEPS);
    return watch_take(view, device, take);
}

static enum status make_take(const struct measure_options *options, struct view *view,
                             struct device *device, const struct number_list *inputs,
                             const struct number_list *outputs, struct take **take)
{
    struct device_info info;
    struct take_plan plan;
    device_info(device, &info);
    device_report_grants(&info);
    TRY(make_plan(options, &info, inputs, outputs, &plan));
    plan.checked = view != NULL;
    TRY(take_create(&plan, take));
    note("%s: a sweep of %.3f s from %.0f to %.0f Hz, %zu time%s on each of %zu output%s",
         plan.device, plan.sweep.seconds, plan.sweep.from, plan.sweep.to, plan.repeats,
         plural_s(plan.repeats), plan.outputs, plural_s(plan.outputs));
    enum status status = record_take(view, device, *take);
    if (device_stop(device))
        return status;
    *take = NULL; /* leaked: a step that hangs still uses it */
    return status == STATUS_OK ? fail(CAUSE_DEVICE, "the device hangs; nothing was written")
                               : status;
}

/* Opens a screen if there is a terminal for it. */
static enum status open_screen(const struct measure_options *options, struct view **view)
{
    if (play_options_view(&options->play) != VIEW_AUTO)
        return STATUS_OK;
    TRY(view_open(VIEW_AUTO, 0, view));
    if (view_columns(*view) == INT_MAX) {
        view_close(*view);
        *view = NULL;
    }
    return STATUS_OK;
}

static enum status measure(const struct measure_options *options, struct take **take)
{
    struct device_request request = options->play.device;
    struct number_list inputs, outputs;
    struct device *device;
    struct view *view = NULL;
    TRY(complete_maps(options, &inputs, &outputs));
    request.wants_input = true;
    request.input_map = inputs.values;
    request.input_map_count = inputs.count;
    request.channels_in = 0;
    request.output_map = outputs.values;
    request.output_map_count = outputs.count;
    TRY(device_open(&request, &device));
    enum status status = open_screen(options, &view);
    if (status == STATUS_OK)
        status = make_take(options, view, device, &inputs, &outputs, take);
    view_close(view);
    enum status closed = device_close(device);
    return status == STATUS_OK ? closed : status;
}

/* ---- results ---- */

/* Puts the columns of seven or eight loudspeakers into HeSuVi's order. */
static enum status order_for_hesuvi(struct mask **mask, struct measurement *measurement)
{
    /* Columns 0 to 6: FL to both ears, SL, BL, FC to the left one. 7 to 13: the mirror of them. */
    enum { FL, FR, FC, BL, BR, SL, SR };
    static const size_t order[HESUVI_COLUMNS][EARS] = {
        {FL, 0}, {FL, 1}, {SL, 0}, {SL, 1}, {BL, 0}, {BL, 1}, {FC, 0},
        {FR, 1}, {FR, 0}, {SR, 1}, {SR, 0}, {BR, 1}, {BR, 0}, {FC, 1},
    };
    enum { LFE = 3 };
    struct mask *old = *mask, *ordered;
    bool has_lfe = old->columns == HESUVI_COLUMNS + EARS;
    struct measured_path *paths = calloc(HESUVI_COLUMNS, sizeof *paths);
    if (!paths)
        return fail_memory("a mask");
    enum status status = mask_create(old->name, HESUVI_COLUMNS, old->taps, &ordered);
    if (status != STATUS_OK) {
        free(paths);
        return status;
    }
    ordered->rate = old->rate;
    for (size_t c = 0; c < HESUVI_COLUMNS; c++) {
        size_t speaker = order[c][0] + (has_lfe && order[c][0] >= LFE);
        size_t column = speaker * EARS + order[c][1];
        memcpy(mask_column(ordered, c), mask_column(old, column),
               old->taps * sizeof *old->coefficients);
        paths[c] = measurement->paths[column];
    }
    free(measurement->paths);
    measurement->paths = paths;
    measurement->path_count = HESUVI_COLUMNS;
    mask_destroy(old);
    *mask = ordered;
    return STATUS_OK;
}

static char *take_path(const char *output)
{
    char *path = NULL;
    return asprintf(&path, "%.*s-take.wav", (int)(strlen(output) - strlen(".wav")), output) < 0
               ? NULL
               : path;
}

/* `full_scale`: dB SPL of full scale; NAN: unknown. */
static void print_path(const struct measured_path *path, double full_scale)
{
    enum { THIRD_1K = 17 };
    double thd = measured_thd(path, THIRD_1K), loudest = NAN;
    if (!isfinite(path->snr_all)) {
        printf("output %zu to input %zu: nothing\n", path->output, path->input);
        return;
    }
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        loudest = fmax(loudest, path->level[t]); /* fmax() skips NAN */
    printf("output %zu to input %zu: %.2f ms, %.1f dB over the noise", path->output, path->input,
           rint(1e5 * path->delay) / 100 + 0.0, path->snr_all); /* + 0.0 avoids -0.00 */
    if (isfinite(thd))
        printf(", distortion at 1 kHz %.3g %%", 100 * pow(10, thd / 20));
    if (isfinite(full_scale + loudest))
        printf(", up to %.1f dB SPL", loudest + full_scale);
    puts("");
}

static enum status print_results(const struct measure_options *options, const char *recording,
                                 size_t zero, const struct measurement *measurement)
{
    if (options->play.json)
        return json_print(json_pack("{s:o, s:o, s:I, s:o}", "mask", json_text(options->output),
                                    "recording", json_text(recording), "zero_tap", (json_int_t)zero,
                                    "measurement", measurement_object(measurement)),
                          JSON_REAL_PRECISION(9), "the measurement");
    for (size_t p = 0; p < measurement->path_count; p++)
        print_path(&measurement->paths[p], measurement->full_scale + measurement->level);
    if (measurement->drift != 0)
        printf("the input's clock is faster by %.2f ppm, which was taken out\n",
               measurement->drift);
    printf("%s: time zero (%s) is at tap %zu; halo mask show and plot say more\n", options->output,
           measurement->timing, zero);
    return STATUS_OK;
}

static enum status write_results(const struct measure_options *options, const struct take *take,
                                 const char *recording, struct mask *mask)
{
    const struct mask_write_settings settings = {.force = options->play.force};
    if (!options->take)
        TRY(take_write(take, recording, options->play.force));
    enum status status = mask_write_wav(mask, options->output, &settings);
    if (status != STATUS_OK && !options->take)
        note("the recording is in %s: halo measure FILE.wav --take %s uses it", recording,
             recording);
    return status;
}

static enum status finish(const struct measure_options *options, const struct take *take,
                          const char *recording)
{
    const struct take_settings settings = {
        .calibrations = options->calibrations,
        .calibration_count = options->calibration_count,
        .full_scale = options->has_full_scale ? options->full_scale : NAN,
    };
    struct mask *mask;
    struct measurement *measurement;
    size_t zero;
    TRY(check_hesuvi(options, &take->plan));
    TRY(take_responses(take, &settings, &mask, &zero, &measurement));
    enum status status = options->hesuvi ? order_for_hesuvi(&mask, measurement) : STATUS_OK;
    if (status == STATUS_OK)
        mask->measured = measurement_text(measurement);
    if (status == STATUS_OK && !mask->measured)
        status = fail_memory("a measurement");
    if (status == STATUS_OK)
        status = write_results(options, take, recording, mask);
    if (status == STATUS_OK)
        status = print_results(options, recording, zero, measurement);
    mask_destroy(mask);
    measurement_destroy(measurement);
    return status;
}

static enum status check_file(const char *path, bool force)
{
    struct atomic_file file;
    enum status status = atomic_file_open(&file, path, force);
    if (status == STATUS_OK)
        close(file.fd);
    atomic_file_discard(&file);
    return status;
}

/* Fails before anything is played if a file could not be read or written. */
static enum status check_files(const struct measure_options *options, const char *recording)
{
    enum { ANY_RATE = 48000 };
    for (size_t i = 0; i < options->calibration_count; i++) {
        struct mask *mask;
        TRY(take_calibration_load(options->calibrations[i], ANY_RATE, &mask));
        mask_destroy(mask);
    }
    TRY(check_file(options->output, options->play.force));
    return options->take ? STATUS_OK : check_file(recording, options->play.force);
}

enum status measure_run(const struct measure_options *options)
{
    char *path = take_path(options->output);
    const char *recording = options->take ? options->take : path;
    struct take *take = NULL;
    if (!path)
        return fail_memory("a measurement");
    enum status status = check_files(options, recording);
    if (status == STATUS_OK)
        status = options->take ? take_read(options->take, &take) : measure(options, &take);
    if (status == STATUS_OK)
        status = finish(options, take, recording);
    take_destroy(take);
    free(path);
    return status;
}
