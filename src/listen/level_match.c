#include "listen/level_match.h"

#include "mask/mask_delay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double similar = 0.5; /* least correlation of similar masks */

static void set_gains(const struct level_match_settings *settings, struct level_match *matches,
                      size_t count)
{
    double quietest = INFINITY, peak = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(matches[i].loudness))
            quietest = fmin(quietest, matches[i].loudness);
    for (size_t i = 0; i < count; i++) {
        if (isfinite(matches[i].loudness))
            matches[i].gain_db = quietest - matches[i].loudness;
        peak = fmax(peak, matches[i].peak * audio_from_db(matches[i].gain_db));
    }
    for (size_t i = 0; i < count && settings->ceiling > 0 && peak > settings->ceiling; i++)
        matches[i].gain_db -= audio_to_db(peak / settings->ceiling);
}

static double energy_of(const struct mask *mask)
{
    double energy = 0;
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t k = 0; k < mask->taps; k++)
            energy += pow(mask_column(mask, mask->paths[p].column)[k], 2);
    return energy;
}

/* Normalised correlation, 0 to 1, with `b` later by `later` frames. */
static double correlation(const struct mask *a, const struct mask *b, int64_t later)
{
    int64_t lag = later + (int64_t)b->origin - (int64_t)a->origin;
    double sum = 0;
    for (size_t p = 0; p < a->path_count; p++) {
        const double *mine = mask_column(a, a->paths[p].column);
        const double *theirs = mask_path_column(b, a->paths[p]);
        for (int64_t k = lag < 0 ? -lag : 0;
             theirs && k < (int64_t)a->taps && k + lag < (int64_t)b->taps; k++)
            sum += (double)mine[k] * (double)theirs[k + lag];
    }
    double energy = sqrt(energy_of(a) * energy_of(b));
    return energy > 0 ? fabs(sum) / energy : 0;
}

static enum status find_delay(const struct mask *first, const struct mask *mask, int64_t *later)
{
    enum status status = mask_delay_between(first, mask, later);
    if (status != STATUS_OK || correlation(first, mask, *later) >= similar)
        return status;
    int64_t own = 0, firsts = 0;
    TRY(mask_delay(first, MASK_DELAY_AUTO, &firsts));
    TRY(mask_delay(mask, MASK_DELAY_AUTO, &own));
    *later = own - firsts;
    return STATUS_OK;
}

static enum status find_delays(const struct mask *const *masks, size_t count,
                               struct level_match *matches)
{
    const struct mask *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (energy_of(masks[i]) <= 0)
            continue;
        if (first)
            TRY(find_delay(first, masks[i], &matches[i].later));
        else
            first = masks[i];
    }
    return STATUS_OK;
}

/* One origin for all, as early as possible. */
static void set_shifts(bool align, const struct mask *const *masks, size_t count,
                       struct level_match *matches)
{
    int64_t latest = 0;
    size_t origin = 0;
    uint64_t spare = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        latest = matches[i].later > latest ? matches[i].later : latest;
        origin = masks[i]->origin > origin ? masks[i]->origin : origin;
    }
    for (size_t i = 0; i < count; i++) {
        matches[i].shift = align ? (uint64_t)(latest - matches[i].later) : 0;
        matches[i].zeros = origin - masks[i]->origin + matches[i].shift;
        spare = matches[i].zeros < spare ? matches[i].zeros : spare;
    }
    /* Remove the delay that all have in common. */
    for (size_t i = 0; i < count; i++) {
        matches[i].zeros -= spare;
        matches[i].origin = origin - (size_t)spare;
    }
}

static enum status measure_levels(const struct level_match_settings *settings,
                                  const struct mask_levels_sound *sound,
                                  const struct mask *const *masks, size_t count,
                                  struct level_match *matches)
{
    struct mask_level *levels = calloc(count, sizeof *levels);
    if (!levels)
        return fail_memory("matching");
    enum status status = mask_levels_measure(sound, masks, count, settings->progress, levels);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        matches[i].peak = levels[i].peak;
        if (settings->by != LEVEL_MATCH_NONE)
            matches[i].loudness =
                settings->by == LEVEL_MATCH_RMS ? levels[i].rms : levels[i].integrated;
    }
    free(levels);
    return status;
}

enum status level_match_measure(const struct level_match_settings *settings,
                                const struct mask_levels_sound *sound,
                                const struct mask *const *masks, size_t count,
                                struct level_match *matches)
{
    for (size_t i = 0; i < count; i++)
        matches[i] = (struct level_match){.loudness = NAN, .peak = NAN};
    if (settings->by != LEVEL_MATCH_NONE || settings->ceiling > 0)
        TRY(measure_levels(settings, sound, masks, count, matches));
    TRY(find_delays(masks, count, matches));
    set_gains(settings, matches, count);
    set_shifts(settings->align, masks, count, matches);
    return STATUS_OK;
}

enum status level_match_apply(const struct mask *mask, const struct level_match *match,
                              struct mask **result)
{
    struct mask *copy;
    TRY(mask_create(mask->name, mask->columns, match->zeros + mask->taps, &copy));
    copy->paths = calloc(mask->path_count + 1, sizeof *copy->paths);
    if (!copy->paths) {
        mask_destroy(copy);
        return fail_memory("a mask");
    }
    memcpy(copy->paths, mask->paths, mask->path_count * sizeof *copy->paths);
    copy->path_count = mask->path_count;
    copy->inputs = mask->inputs;
    copy->outputs = mask->outputs;
    copy->rate = mask->rate;
    copy->origin = match->origin;
    for (size_t c = 0; c < mask->columns; c++)
        memcpy(mask_column(copy, c) + match->zeros, mask_column(mask, c),
               mask->taps * sizeof(double));
    mask_scale(copy, audio_from_db(match->gain_db));
    *result = copy;
    return STATUS_OK;
}

void level_match_describe(const struct level_match *match, const char *label, uint32_t rate,
                          bool aligned, char *text, size_t size)
{
    char level[48] = "silent here, level unchanged", delay[48] = "";
    double ms = 1000 * fabs((double)match->later) / rate;
    if (!isinf(match->loudness)) /* 0.0, not -0.0 */
        snprintf(level, sizeof level, "%.1f dB", fabs(match->gain_db) < 0.05 ? 0 : match->gain_db);
    if (match->later != 0)
        snprintf(delay, sizeof delay, ", %.*f ms %s, %s", ms < 1 ? 2 : 1, ms,
                 match->later > 0 ? "later" : "earlier", aligned ? "aligned" : "not aligned");
    snprintf(text, size, "%s: %s%s", label, level, delay);
}
