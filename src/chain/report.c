#include "chain/report.h"

#include "base/json_text.h"
#include "chain/stage_plugin.h"
#include "chain/stage_spectral.h"
#include "convolve/convolver.h"
#include "plugin/plugin_filter.h"
#include "signal/audio.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

/* Taps of all masks in a row: the mask they come to. */
static size_t taps_in_all(const struct stage_list *list)
{
    size_t taps = 1;
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].mask)
            taps += list->stages[i].mask->taps - 1;
    return taps;
}

static double times_real_time(const struct report *report)
{
    return (double)report->totals.frames_out / report->rate / fmax(report->seconds, 1e-9);
}

/* The gain, in whole tenths of a dB, that would have kept every sample in range. */
static double saving_gain(const struct report *report)
{
    unsigned bits = sound_format_bits(report->sound_format);
    double most = 1 - ldexp(1, -(int)(bits ? bits - 1 : 24));
    return floor(-10 * audio_to_db(report->totals.peak / most)) / 10;
}

static bool tail_was_unknown(const struct report *report)
{
    return report->chain->tail_unknown && report->tail != TAIL_NONE;
}

void report_print_stages(const struct stage_list *stages)
{
    for (size_t i = 0; i < stages->count; i++) {
        const struct stage *stage = &stages->stages[i];
        if (!stage->plugin)
            continue;
        struct plugin_filter_info stats = plugin_filter_info(stage->filter);
        const char *id = stage->plugin->info->id;
        if (stats.bad > 0)
            note("%s made %llu sample%s that are no numbers: they are silenced", id,
                 (unsigned long long)stats.bad, stats.bad == 1 ? "" : "s");
        if (stats.missed > 0)
            note("%s was not done in time with %llu block%s: the dry sound was heard", id,
                 (unsigned long long)stats.missed, stats.missed == 1 ? "" : "s");
    }
}

static void print_tail(const struct report *report)
{
    const struct engine_totals *totals = &report->totals;
    if (tail_was_unknown(report) && totals->tail > 0)
        note("plugins tell no tail: %.2f s were kept, %s %s", (double)totals->tail / report->rate,
             totals->tail_cut ? "and were cut off still above" : "until it stayed below",
             report->tail == TAIL_FULL ? "-80 dBFS" : "the level of --tail");
}

void report_print(const struct report *report)
{
    char true_peak[48] = "";
    if (report->true_peak && report->totals.peak > 0)
        snprintf(true_peak, sizeof true_peak, " (true peak %.2f dBTP)",
                 audio_to_db(report->totals.true_peak));
    char peak[32] = "silent";
    if (report->totals.peak > 0)
        snprintf(peak, sizeof peak, "peak %.2f dBFS", audio_to_db(report->totals.peak));
    note("%s: %llu frames (%.2f s), %zu channel%s, %u Hz, %s; %s%s; %.0fx real time",
         strcmp(report->output, "-") == 0 ? "standard output" : report->output,
         (unsigned long long)report->totals.frames_out,
         (double)report->totals.frames_out / report->rate, report->channels,
         report->channels == 1 ? "" : "s", report->rate, sound_format_name(report->sound_format),
         peak, true_peak, times_real_time(report));
    if (report->clipped > 0)
        note("%llu sample%s clipped; %s--gain %.1f would have avoided it",
             (unsigned long long)report->clipped, report->clipped == 1 ? "" : "s",
             report->stages->count ? "a further " : "", saving_gain(report));
    report_print_stages(report->stages);
    print_tail(report);
}

static json_t *db_or_null(double amplitude)
{
    return amplitude > 0 ? json_real(audio_to_db(amplitude)) : json_null();
}

static void add_plugin(json_t *object, const struct stage *stage)
{
    struct plugin_filter_info stats = plugin_filter_info(stage->filter);
    json_object_set_new(object, "name", json_text(stage->plugin->info->name));
    json_object_set_new(object, "instances", json_integer((json_int_t)stats.instances));
    json_object_set_new(object, "block", json_integer((json_int_t)stats.block));
    json_object_set_new(object, "isolated", json_boolean(stats.isolated));
    json_object_set_new(object, "late", json_integer((json_int_t)stage->filter->late));
    json_object_set_new(object, "bad_samples", json_integer((json_int_t)stats.bad));
    json_object_set_new(object, "missed_blocks", json_integer((json_int_t)stats.missed));
    json_object_set_new(object, "failure",
                        stage->filter->failure ? json_text(stage->filter->failure) : json_null());
}

static json_t *stage_object(const struct stage *stage)
{
    json_t *object = json_object();
    json_object_set_new(object, stage->kind->option, json_text(stage->text));
    json_object_set_new(object, "latency", json_integer((json_int_t)stage->filter->latency));
    if (stage->plugin)
        add_plugin(object, stage);
    if (stage->spectral)
        stage_spectral_json(stage, object);
    if (!stage->mask)
        return object;
    json_object_set_new(object, "taps", json_integer((json_int_t)stage->mask->taps));
    json_object_set_new(object, "origin", json_integer((json_int_t)stage->mask->origin));
    json_object_set_new(object, "paths", json_integer((json_int_t)stage->mask->path_count));
    json_object_set_new(object, "backend", json_string(convolver_backend(stage->filter)));
    json_object_set_new(object, "algorithm", json_string(convolver_algorithm(stage->filter)));
    json_object_set_new(object, "gpu_failures",
                        json_integer((json_int_t)convolver_failures(stage->filter)));
    return object;
}

static json_int_t gpu_failures(const struct stage_list *list)
{
    json_int_t failures = 0;
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].mask)
            failures += (json_int_t)convolver_failures(list->stages[i].filter);
    return failures;
}

json_t *report_stages(const struct stage_list *list)
{
    json_t *stages = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(stages, stage_object(&list->stages[i]));
    return stages;
}

/* The words of all masks; a list for scripts is under "stages". */
static json_t *masks_in_spec(const struct stage_list *list)
{
    json_t *spec = NULL;
    for (size_t i = 0; i < list->count; i++) {
        const struct stage *stage = &list->stages[i];
        if (!stage->mask)
            continue;
        json_t *text = json_text(stage->text);
        json_t *longer =
            spec ? json_sprintf("%s + %s", json_string_value(spec), json_string_value(text))
                  : json_incref(text);
        json_decref(text);
        json_decref(spec);
        spec = longer;
    }
    return spec ? spec : json_null();
}

static const struct stage *first_mask(const struct stage_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->stages[i].mask)
            return &list->stages[i];
    return NULL;
}

enum status report_print_json(const struct report *report, FILE *stream)
{
    const struct engine_totals *totals = &report->totals;
    const struct stage *mask = first_mask(report->stages);
    json_t *root = json_object();
    json_object_set_new(root, "input", json_text(report->input));
    json_object_set_new(root, "output", json_text(report->output));
    json_object_set_new(root, "frames_in", json_integer((json_int_t)totals->frames_in));
    json_object_set_new(root, "frames_out", json_integer((json_int_t)totals->frames_out));
    json_object_set_new(root, "rate", json_integer(report->rate));
    json_object_set_new(root, "channels", json_integer((json_int_t)report->channels));
    json_object_set_new(root, "channels_in", json_integer((json_int_t)report->channels_in));
    json_object_set_new(root, "format", json_string(sound_format_name(report->sound_format)));
    json_object_set_new(root, "mask", masks_in_spec(report->stages));
    json_object_set_new(root, "taps", json_integer((json_int_t)taps_in_all(report->stages)));
    json_object_set_new(root, "backend",
                        mask ? json_string(convolver_backend(mask->filter)) : json_null());
    json_object_set_new(root, "algorithm",
                        mask ? json_string(convolver_algorithm(mask->filter)) : json_null());
    json_object_set_new(root, "gpu_failures", json_integer(gpu_failures(report->stages)));
    json_object_set_new(root, "stages", report_stages(report->stages));
    json_object_set_new(root, "block", json_integer((json_int_t)report->chain->block));
    json_object_set_new(root, "threads", json_integer((json_int_t)report->threads));
    json_object_set_new(root, "latency", json_integer((json_int_t)report->chain->latency));
    if (tail_was_unknown(report)) {
        json_object_set_new(root, "tail_frames", json_integer((json_int_t)totals->tail));
        json_object_set_new(root, "tail_cut", json_boolean(totals->tail_cut));
    }
    json_object_set_new(root, "peak", json_real(totals->peak));
    json_object_set_new(root, "peak_db", db_or_null(totals->peak));
    if (report->true_peak)
        json_object_set_new(root, "true_peak_db", db_or_null(totals->true_peak));
    json_object_set_new(root, "normalize_db",
                        report->scale == 1 ? json_null() : db_or_null(report->scale));
    json_object_set_new(root, "clipped", json_integer((json_int_t)report->clipped));
    json_object_set_new(root, "seconds", json_real(report->seconds));
    json_object_set_new(root, "times_real_time", json_real(times_real_time(report)));
    int failed = json_dumpf(root, stream, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
    failed |= putc('\n', stream) == EOF || fflush(stream) != 0;
    json_decref(root);
    return failed ? fail(STATUS_FAILED, "cannot write the report") : STATUS_OK;
}
