#include "chain/proof_report.h"

#include "signal/audio.h"

#include <math.h>

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

/* `since`: the frame of the sound that was the stage's first. */
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

/* A chain that came after those of `all`. */
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
        stage->ops->prove(stage, &stage->proof);
        stage->is_proven = true;
        include(&chain, stage, since);
    }
    if (chain.proof.frames > chain.frames) /* the rest filled a block, or was not kept */
        chain.proof.frames = chain.frames;
    if (chain.is_there)
        add(result, &chain);
}

/* Never more than is true. */
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

/* No error and one without measure are null. */
static json_t *db_or_null(double ratio)
{
    return ratio > 0 && isfinite(ratio) ? json_real(audio_to_db(ratio)) : json_null();
}

json_t *proof_stage_json(const struct proof *proof)
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
