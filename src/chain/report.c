#include "chain/report.h"

#include "base/json_text.h"
#include "base/plural.h"
#include "chain/stage_draw.h"
#include "signal/audio.h"
#include "sound/metadata/metadata_json.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* ---- the proof ---- */

static bool can_be_proven(const struct stage *stage)
{
    return stage->ops->prove;
}

enum status proof_begin(const struct proof_options *options, struct stage_list *stages,
                        int64_t frames)
{
    size_t count = 0;
    for (size_t i = 0; options->wanted && i < stages->count; i++) {
        stages->stages[i].settings.convolver.proof =
            (struct proof_request){.wanted = true, .frames = frames};
        count += can_be_proven(&stages->stages[i]);
    }
    if (options->wanted && count == 0)
        return fail(CAUSE_USAGE, "--prove has nothing to prove: the chain has no mask");
    return STATUS_OK;
}

/* Include a stage in the result. `since`: frame of the sound that was the stage's first. */
static void include(struct proof_result *result, const struct stage *stage, uint64_t since)
{
    const struct proof *proof = &stage->proof;
    struct proof *all = &result->proof;
    bool is_first = !result->is_there;
    if (is_first || proof->frames < all->frames)
        all->frames = proof->frames;
    all->to_peak = is_first ? proof->to_peak : fmax(all->to_peak, proof->to_peak);
    result->is_there = true;
    if (!is_first && proof->to_bound <= all->to_bound)
        return;
    all->to_bound = proof->to_bound;
    snprintf(result->worst, sizeof result->worst, "--%s %s", stage->ops->option, stage->text);
    result->worst_seconds =
        ((double)(since + proof->worst_at) - (double)stage->filter->latency) / result->rate;
}

/* Add the result of a chain that ran after the chains in `all`. */
static void add(struct proof_result *all, const struct proof_result *chain)
{
    const struct proof_result before = *all;
    if (!before.is_there || chain->proof.to_bound > before.proof.to_bound)
        *all = *chain;
    if (!before.is_there)
        return;
    all->frames = before.frames + chain->frames;
    all->proof.frames = before.proof.frames + chain->proof.frames;
    all->proof.to_peak = fmax(before.proof.to_peak, chain->proof.to_peak);
}

void proof_end(const struct proof_options *options, struct stage_list *stages, uint64_t since,
               uint64_t until, uint32_t rate, struct proof_result *result)
{
    struct proof_result chain = {
        .frames = until - since, .rate = rate, .bound_db = options->bound_db};
    for (size_t i = 0; options->wanted && i < stages->count; i++) {
        struct stage *stage = &stages->stages[i];
        if (!can_be_proven(stage))
            continue;
        stage->ops->prove(stage->filter, &stage->proof);
        stage->is_proven = true;
        include(&chain, stage, since);
    }
    if (chain.proof.frames > chain.frames) /* further frames filled a block or were not kept */
        chain.proof.frames = chain.frames;
    if (chain.is_there)
        add(result, &chain);
}

/* Tenths, rounded down so that the share is never overstated. */
static double tenths(double value)
{
    return floor(10 * value) / 10;
}

static double share(const struct proof_result *result)
{
    return result->frames > 0 ? (double)result->proof.frames / (double)result->frames : 1;
}

void proof_print(const struct proof_result *result)
{
    const struct proof *proof = &result->proof;
    char error[96] = "no error at all";
    if (!result->is_there)
        return;
    if (proof->to_bound > 0)
        snprintf(error, sizeof error, "error at most %.1f dB of max|x| sum|h|, %.1f dB of the peak",
                 audio_to_db(proof->to_bound), audio_to_db(proof->to_peak));
    note("proven: %.1f s of %.1f s (%.1f %%), %s (bound %g dB)",
         tenths((double)proof->frames / result->rate), (double)result->frames / result->rate,
         tenths(100 * share(result)), error, result->bound_db);
}

/* A ratio in dB as JSON; null if there is no error or it cannot be measured. */
static json_t *db_or_null(double ratio)
{
    return ratio > 0 && isfinite(ratio) ? json_real(audio_to_db(ratio)) : json_null();
}

static json_t *proof_stage_json(const struct proof *proof)
{
    return json_pack("{s:I, s:b, s:o, s:o}", "frames", (json_int_t)proof->frames, "finite",
                     isfinite(proof->to_bound), "error_db", db_or_null(proof->to_bound),
                     "peak_error_db", db_or_null(proof->to_peak));
}

json_t *proof_json(const struct proof_result *result)
{
    if (!result->is_there)
        return NULL;
    json_t *object = proof_stage_json(&result->proof);
    json_t *more =
        json_pack("{s:f, s:f, s:f, s:b}", "seconds", (double)result->proof.frames / result->rate,
                  "share", share(result), "bound_db", result->bound_db, "holds",
                  result->proof.to_bound <= audio_from_db(result->bound_db));
    json_object_update(object, more);
    json_decref(more);
    return object;
}

enum status proof_judge(const struct proof_result *result, const char *consequence)
{
    const struct proof *proof = &result->proof;
    double at = fmax(result->worst_seconds, 0);
    if (!result->is_there)
        return STATUS_OK;
    if (proof->frames == 0 && result->frames > 0)
        return fail(CAUSE_OTHER, "the proof failed: there was no time to compare anything; %s",
                    consequence);
    if (proof->to_bound <= audio_from_db(result->bound_db))
        return STATUS_OK;
    if (!isfinite(proof->to_bound))
        return fail(CAUSE_OTHER,
                    "the proof failed: at %.3f s %s gave infinite samples, or sound out of "
                    "silence; %s",
                    at, result->worst, consequence);
    return fail(
        CAUSE_OTHER,
        "the proof failed: at %.3f s %s has an error of %.1f dB of max|x| sum|h|, above the "
        "bound of %g dB; %s",
        at, result->worst, audio_to_db(proof->to_bound), result->bound_db, consequence);
}

/* ---- the report ---- */

static const char *report_output(const struct report *report)
{
    return strcmp(report->output, "-") == 0 ? "standard output" : report->output;
}

static double times_real_time(const struct report *report)
{
    return (double)report->totals.frames_out / report->rate / fmax(report->seconds, 1e-9);
}

static bool tail_was_unknown(const struct report *report)
{
    return report->chain->tail_unknown && report->tail != TAIL_NONE && report->tail != TAIL_TIME;
}

void report_print_stages(const struct stage_list *stages)
{
    for (size_t i = 0; i < stages->count; i++)
        if (stages->stages[i].ops->report)
            stages->stages[i].ops->report(&stages->stages[i]);
}

static void print_drawn(const struct stage_list *stages)
{
    for (size_t i = 0; i < stages->count; i++)
        if (stages->stages[i].drawn)
            note("drawn: --%s %s", stages->stages[i].ops->option, stages->stages[i].text);
}

static void print_tail(const struct report *report)
{
    const struct engine_totals *totals = &report->totals;
    void (*print)(const char *format, ...) = totals->tail_cut ? warning : note;
    if (tail_was_unknown(report) && totals->tail > 0)
        print("plugins report no tail: %.2f s were kept, %s %s",
              (double)totals->tail / report->rate,
              totals->tail_cut ? "cut off while still above" : "until it stayed below",
              report->tail == TAIL_FULL ? "-80 dBFS" : "the level of --tail");
}

void report_clipping(const char *output, uint64_t clipped)
{
    if (clipped > 0)
        warning("%s: %llu sample%s clipped", output, (unsigned long long)clipped,
                plural_s(clipped));
}

/* The largest gain without clipping, in tenths of a dB. Dither needs two steps below full scale. */
static double gain_without_clipping(const struct report *report)
{
    unsigned bits = sound_format_bits(report->sound_format);
    bool has_dither = bits > 0 && bits <= 16;
    double most = 1 - ldexp(has_dither ? 3 : 1, -(int)(bits ? bits - 1 : 24));
    return fmin(floor(-10 * audio_to_db(report->totals.peak / most)) / 10, -0.1);
}

void report_print(const struct report *report)
{
    char true_peak[64] = "", loudness[32] = "";
    if (!isnan(report->loudness))
        snprintf(loudness, sizeof loudness, "%.2f LUFS, ", report->loudness);
    if (report->true_peak && report->totals.peak > 0)
        snprintf(true_peak, sizeof true_peak, " (%strue peak %.2f dBTP)", loudness,
                 audio_to_db(report->totals.true_peak));
    char peak[32] = "silent";
    if (report->totals.peak > 0)
        snprintf(peak, sizeof peak, "peak %.2f dBFS", audio_to_db(report->totals.peak));
    note("%s: %llu frame%s (%.2f s), %zu channel%s, %u Hz, %s; %s%s; %.0fx real time",
         report_output(report), (unsigned long long)report->totals.frames_out,
         plural_s(report->totals.frames_out), (double)report->totals.frames_out / report->rate,
         report->channels, plural_s(report->channels), report->rate,
         sound_format_name(report->sound_format), peak, true_peak, times_real_time(report));
    if (report->length_is_open)
        source_note_open_length(report->input);
    if (report->clipped > 0)
        warning("%llu sample%s clipped; %s--gain %.1f would have avoided it",
                (unsigned long long)report->clipped, plural_s(report->clipped),
                report->stages->count ? "a further " : "", gain_without_clipping(report));
    if (report->precision_given && stage_list_precision(report->stages) == PRECISION_DOUBLE)
        note("computed in double precision");
    stage_list_warn_of_precision(report->stages);
    if (report->reproducible)
        note("reproducible: on the CPU, in blocks of %zu frame%s", report->chain->block,
             plural_s(report->chain->block));
    print_drawn(report->stages);
    report_print_stages(report->stages);
    print_tail(report);
    if (report->metadata)
        metadata_note_losses(report->metadata, report_output(report));
    proof_print(&report->proof);
}

static json_t *stage_object(const struct stage *stage)
{
    json_t *object = json_object();
    json_object_set_new(object, stage->ops->option, json_text(stage->text));
    json_object_set_new(object, "precision", json_string(precision_names[stage_precision(stage)]));
    json_object_set_new(object, "latency", json_integer((json_int_t)stage->filter->latency));
    if (stage->level > 0)
        json_object_set_new(object, "level_db", json_real(audio_to_db(stage->level)));
    json_t *members = stage->ops->report_json ? stage->ops->report_json(stage) : NULL;
    json_object_update(object, members);
    json_decref(members);
    if (stage->is_proven)
        json_object_set_new(object, "proof", proof_stage_json(&stage->proof));
    return object;
}

json_t *report_stages(const struct stage_list *list)
{
    json_t *stages = json_array();
    for (size_t i = 0; i < list->count; i++)
        json_array_append_new(stages, stage_object(&list->stages[i]));
    return stages;
}

/* The masks of all stages together. The report also has them separately, in "stages". */
struct report_masks {
    json_t *specs; /* array of their specs; NULL: there is no mask */
    size_t taps;   /* taps of all masks in series */
    struct stage_info first;
    uint64_t gpu_failures;
};

static struct report_masks sum_masks(const struct stage_list *list)
{
    struct report_masks masks = {.taps = 1};
    for (size_t i = 0; i < list->count; i++) {
        struct stage_info info = stage_describe(&list->stages[i]);
        if (info.taps == 0)
            continue;
        if (!masks.specs)
            masks.first = info;
        json_t *before = masks.specs, *text = json_text(list->stages[i].text);
        masks.specs =
            before ? json_sprintf("%s + %s", json_string_value(before), json_string_value(text))
                   : json_incref(text);
        json_decref(text);
        json_decref(before);
        masks.taps += info.taps - 1;
        masks.gpu_failures += info.gpu_failures;
    }
    return masks;
}

static json_t *whole(uint64_t number)
{
    return json_integer((json_int_t)number);
}

json_t *report_layout(struct channel_layout layout, size_t channels)
{
    char text[CHANNEL_LAYOUT_TEXT];
    return channel_layout_is_known(layout)
               ? json_string(channel_layout_name(layout, channels, text))
               : json_null();
}

json_t *report_object(const struct report *report)
{
    const struct engine_totals *totals = &report->totals;
    const struct report_masks masks = sum_masks(report->stages);
    bool has_tail = tail_was_unknown(report);
    json_t *root = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:s, s:o?, s:o, s:s?, s:s?, s:s, s:b, s:o, s:o, s:o, "
        "s:o, s:o, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o, s:o*, s:o*, s:o*}",
        "input", json_text(report->input), "output", json_text(report->output), "frames_in",
        whole(totals->frames_in), "frames_out", whole(totals->frames_out), "rate",
        whole(report->rate), "channels", whole(report->channels), "channels_in",
        whole(report->channels_in), "layout", report_layout(report->layout, report->channels),
        "layout_in", report_layout(report->layout_in, report->channels_in), "format",
        sound_format_name(report->sound_format), "mask", masks.specs, "taps", whole(masks.taps),
        "backend", masks.first.backend, "algorithm", masks.first.algorithm, "precision",
        precision_names[stage_list_precision(report->stages)], "reproducible", report->reproducible,
        "gpu_failures", whole(masks.gpu_failures), "stages", report_stages(report->stages), "block",
        whole(report->chain->block), "threads", whole(report->threads), "latency",
        whole(report->chain->latency), "tail_frames", has_tail ? whole(totals->tail) : NULL,
        "tail_cut", has_tail ? json_boolean(totals->tail_cut) : NULL, "peak",
        json_real(totals->peak), "peak_db", db_or_null(totals->peak), "true_peak_db",
        report->true_peak ? db_or_null(totals->true_peak) : NULL, "normalize_db",
        report->scale == 1 ? json_null() : db_or_null(report->scale), "clipped",
        whole(report->clipped), "seconds", json_real(report->seconds), "times_real_time",
        json_real(times_real_time(report)), "proof", proof_json(&report->proof));
    if (root && report->metadata)
        json_object_set_new(root, "metadata", metadata_report(report->metadata));
    if (root && report->length_is_open)
        json_object_set_new(root, "length_open", json_true());
    if (root && isfinite(report->loudness))
        json_object_set_new(root, "loudness_lufs", json_real(report->loudness));
    json_t *drawn = stage_list_drawn(report->stages);
    if (root && drawn)
        json_object_set(root, "drawn", drawn);
    json_decref(drawn);
    return root;
}

enum status report_print_json(const struct report *report, FILE *stream)
{
    int error = json_write(report_object(report), JSON_INDENT(2) | JSON_REAL_PRECISION(9), stream);
    return error ? fail(cause_of_errno(error),
                        "cannot write the report: %s; the sound is complete in %s", strerror(error),
                        report_output(report))
                 : STATUS_OK;
}
