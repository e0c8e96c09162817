#include "listen/level_match.h"

#include "base/stop.h"
#include "base/workers.h"
#include "convolve/convolver.h"
#include "mask/mask_delay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- measuring ---- */

/* Loudness and peak of a region through each of several masks, in one pass.
 *
 * Masks are routed, and have the sound's rate and the same inputs, outputs and origin. Their delays
 * must be matched before; otherwise the meters would measure different parts of the sound.
 * - A region that loops: whole passes of at least LOOPED_SECONDS are measured, after the tail of
 *   the longest mask has sounded. So the loudness meter's blocks lie anywhere in the loop.
 * - A part that is played once: only this part is measured, with silence before it. */
enum { LOOPED_SECONDS = 30 };

struct mask_level {
    struct loudness *meter;
    double peak; /* linear */
};

enum { BLOCK_MOST = 1 << 20, CHAIN_BLOCK = 1024 };
/* seconds until a loop sounds the same in each pass, through a chain that states no tail */
enum { CHAIN_SETTLED = 2 };

/* A mask to measure through. */
struct ear {
    /* own: a convolver with the mask alone; NULL if `filter` belongs to a chain */
    struct filter *filter, *own;
    struct mask_level *level;
};

struct measuring {
    const struct mask_levels_sound *sound;
    uint64_t at; /* next frame of sound->block */
    uint32_t rate;
    uint64_t before, end; /* frames: begin and end of the measured part */

    size_t count;
    struct ear *ears;
    struct workers *workers;
    struct block in, out;
};

static void measuring_free(struct measuring *measuring)
{
    for (size_t i = 0; measuring->ears && i < measuring->count; i++)
        filter_destroy(measuring->ears[i].own);
    free(measuring->ears);
    workers_destroy(measuring->workers);
    block_free(&measuring->in);
    block_free(&measuring->out);
}

static const struct mask *longest(const struct mask *const *masks, size_t count)
{
    const struct mask *most = masks[0];
    for (size_t i = 1; i < count; i++)
        most = masks[i]->taps > most->taps ? masks[i] : most;
    return most;
}

static size_t preferred_block(const struct measuring *measuring, const struct mask *mask)
{
    const struct convolver_settings settings = {
        .backend = "cpu", .rate = measuring->rate, .workers = measuring->workers};
    size_t most = 1 << 14;
    while (most < measuring->end && most < BLOCK_MOST)
        most *= 2;
    return measuring->sound->chain.make ? CHAIN_BLOCK
                                        : convolver_preferred_block(&settings, mask, most);
}

static enum status make_ear(struct measuring *measuring, size_t choice, const struct mask *mask,
                            size_t block)
{
    const struct mask_levels_chain *chain = &measuring->sound->chain;
    const struct convolver_settings settings = {
        .backend = "cpu", .rate = measuring->rate, .workers = measuring->workers, .block = block};
    struct ear *ear = &measuring->ears[choice];
    if (chain->make)
        return chain->make(chain->context, choice, mask, block, &ear->filter);
    enum status status = convolver_create(&settings, mask, &ear->own);
    ear->filter = ear->own;
    return status;
}

static enum status measuring_init(struct measuring *measuring, const struct mask *const *masks,
                                  size_t count, struct mask_level *levels)
{
    measuring->count = count;
    measuring->ears = calloc(count, sizeof *measuring->ears);
    if (!measuring->ears)
        return fail_memory("measuring masks");
    TRY(workers_create(0, &measuring->workers));
    size_t block = preferred_block(measuring, longest(masks, count));
    for (size_t i = 0; i < count; i++) {
        TRY(make_ear(measuring, i, masks[i], block));
        measuring->ears[i].level = &levels[i];
        TRY(loudness_create(measuring->rate, measuring->ears[i].filter->outputs, &levels[i].meter));
    }
    const struct filter *first = measuring->ears[0].filter;
    TRY(block_init(&measuring->in, first->inputs, block, "measuring masks"));
    return block_init(&measuring->out, first->outputs, block, "measuring masks");
}

static enum status read_region(struct region *region, struct block *block)
{
    size_t got = 0;
    float *at[block->channels];
    for (size_t done = 0; done < block->frames; done += got) {
        for (size_t c = 0; c < block->channels; c++)
            at[c] = block->data[c] + done;
        TRY(region_read(region, at, block->frames - done, &got));
        if (got == block->frames - done)
            continue;
        if (got == 0 && region->position == region->from)
            return fail(CAUSE_DAMAGED, "cannot play %s: it ends before frame %llu", region->name,
                        (unsigned long long)region->from);
        TRY(region_seek(region, region->from));
    }
    return STATUS_OK;
}

static enum status read_block(struct measuring *measuring)
{
    struct block *block = &measuring->in;
    if (measuring->sound->region)
        return read_region(measuring->sound->region, block);
    uint64_t left = measuring->end - measuring->at;
    size_t frames = left < block->frames ? (size_t)left : block->frames;
    for (size_t c = 0; c < block->channels; c++)
        memcpy(block->data[c], measuring->sound->block->data[c] + measuring->at,
               frames * sizeof(float));
    block_silence(block, frames, block->frames - frames);
    measuring->at += frames;
    return STATUS_OK;
}

/* Filters a block and measures its frames from `from` to before `end`. */
static enum status listen(struct measuring *measuring, struct ear *ear, size_t from, size_t end)
{
    const struct block *out = &measuring->out;
    const float *rows[out->channels];
    filter_process(ear->filter, (const float *const *)measuring->in.data, out->data);
    if (ear->filter->failure)
        return fail(CAUSE_OTHER, "%s", ear->filter->failure);
    if (stop_requested())
        return STATUS_INTERRUPTED;
    for (size_t c = 0; c < out->channels; c++) {
        rows[c] = out->data[c] + from;
        float peak = audio_peak(rows[c], end - from);
        if (!isfinite(peak))
            return fail(CAUSE_OTHER, "the filtered sound is too loud even for floating point");
        ear->level->peak = fmax(ear->level->peak, (double)peak);
    }
    return loudness_add(ear->level->meter, rows, end - from);
}

static size_t within(uint64_t frame, uint64_t start, size_t block)
{
    return frame <= start ? 0 : frame - start < block ? (size_t)(frame - start) : block;
}

static enum status measuring_run(struct measuring *measuring, struct mask_levels_progress progress)
{
    size_t block = measuring->in.frames;
    for (uint64_t start = 0; start < measuring->end; start += block) {
        size_t from = within(measuring->before, start, block);
        size_t end = within(measuring->end, start, block);
        TRY(read_block(measuring));
        for (size_t i = 0; i < measuring->count; i++) {
            TRY(listen(measuring, &measuring->ears[i], from, end));
            if (progress.call)
                progress.call(progress.context, start * measuring->count + end * (i + 1),
                              (int64_t)(measuring->end * measuring->count));
        }
    }
    return STATUS_OK;
}

static uint64_t frames_of(const struct measuring *measuring)
{
    const struct mask_levels_sound *sound = measuring->sound;
    uint64_t least = LOOPED_SECONDS * (uint64_t)measuring->rate;
    if (!sound->region)
        return sound->block->frames;
    uint64_t length = sound->region->to - sound->region->from;
    return sound->frames ? sound->frames : (least + length - 1) / length * length;
}

/* Seeks a region so that the measured part begins at its start. Outputs are late by the latency. A
 * loop is steady when the longest tail has sounded. */
static enum status seek_region(struct measuring *measuring, struct region *region)
{
    uint64_t length = region->to - region->from, settled = 0;
    uint64_t latency = measuring->ears[0].filter->latency;
    for (size_t i = 0; i < measuring->count; i++)
        settled =
            measuring->ears[i].filter->tail > settled ? measuring->ears[i].filter->tail : settled;
    if (measuring->sound->chain.make)
        settled += CHAIN_SETTLED * (uint64_t)measuring->rate;
    if (measuring->sound->frames)
        settled = 0;
    measuring->before = latency + settled;
    measuring->end += measuring->before;
    return region_seek(region, region->from + (length - settled % length) % length);
}

static enum status mask_levels_measure(const struct mask_levels_sound *sound,
                                       const struct mask *const *masks, size_t count,
                                       struct mask_levels_progress progress,
                                       struct mask_level *levels)
{
    struct measuring measuring = {.sound = sound,
                                  .rate = sound->region ? sound->region->format.rate : sound->rate,
                                  .before = sound->before};
    measuring.end = frames_of(&measuring);
    for (size_t i = 0; i < count; i++)
        levels[i] = (struct mask_level){.meter = NULL};
    enum status status = measuring_init(&measuring, masks, count, levels);
    if (status == STATUS_OK && sound->region)
        status = seek_region(&measuring, sound->region);
    if (status == STATUS_OK)
        status = measuring_run(&measuring, progress);
    measuring_free(&measuring);
    return status;
}

static void mask_levels_free(struct mask_level *levels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        loudness_destroy(levels[i].meter);
}

static const double similar = 0.5;      /* least correlation of similar masks */
static const double near_enough = 1e-4; /* dB: exact enough, for the gains of masks alone */
static const double below_gate = 30;    /* LU below the standard's gate that still count as sound */

enum { ROUNDS = 20, CHAIN_ROUNDS = 10 };
/* dB: exact enough, for gains through a chain; most dB of loudness per dB of gain */
static const double chain_enough = 0.01, steepest = 8;

static double energy_of(const struct mask *mask)
{
    double energy = 0;
    for (size_t p = 0; p < mask->path_count; p++)
        for (size_t k = 0; k < mask->taps; k++)
            energy += pow(mask_column(mask, mask->paths[p].column)[k], 2);
    return energy;
}

/* Normalised correlation of two masks, 0 to 1, if `b` is `later` frames later. */
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

static enum status find_delay(const struct mask *first, const struct mask *mask, bool are_sounds,
                              int64_t *later)
{
    enum status status = mask_delay_between(first, mask, later);
    if (status != STATUS_OK || correlation(first, mask, *later) >= similar)
        return status;
    if (are_sounds) {
        note("%s differs too much from %s to be aligned with it", mask->name, first->name);
        *later = 0;
        return STATUS_OK;
    }
    int64_t own = 0, firsts = 0;
    TRY(mask_delay(first, MASK_DELAY_AUTO, &firsts));
    TRY(mask_delay(mask, MASK_DELAY_AUTO, &own));
    *later = own - firsts;
    return STATUS_OK;
}

static enum status find_delays(const struct mask *const *masks, size_t count, bool are_sounds,
                               struct level_match *matches)
{
    const struct mask *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (energy_of(masks[i]) <= 0)
            continue;
        if (first)
            TRY(find_delay(first, masks[i], are_sounds, &matches[i].later));
        else
            first = masks[i];
    }
    return STATUS_OK;
}

/* Sets shifts and zeros so that all masks have one origin, as early as possible. */
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
    /* remove the delay that all have in common */
    for (size_t i = 0; i < count; i++) {
        matches[i].zeros -= spare;
        matches[i].origin = origin - (size_t)spare;
    }
}

/* ---- gains ---- */

/* The loudness with an additional gain. A sound that is completely below the gate also gets a
 * loudness, since a click in silence is heard. */
static double loudness_with(const struct level_match_settings *settings,
                            const struct mask_level *level, double gain_db)
{
    if (settings->by == LEVEL_MATCH_RMS)
        return loudness_rms(level->meter) + gain_db;
    double loudness = loudness_integrated_with(level->meter, gain_db);
    return isfinite(loudness)
               ? loudness
               : loudness_integrated_with(level->meter, gain_db + below_gate) - below_gate;
}

/* The gain with which a mask is as loud as `target`, but at most `most`. It is found in steps:
 * blocks that fall below the gate change the loudness of the rest. */
static double gain_to(const struct level_match_settings *settings, const struct mask_level *level,
                      double target, double most)
{
    double gain = most, best = most, least = INFINITY;
    for (int round = 0; round < ROUNDS && least > near_enough; round++) {
        double off = target - loudness_with(settings, level, gain);
        if (!isfinite(off))
            break;
        if (fabs(off) < least) {
            least = fabs(off);
            best = gain;
        }
        gain = fmin(gain + off, most);
    }
    return best;
}

/* Sets gains with which all are equally loud; the quietest gets `most`. Returns the highest
 * peak. */
static double match_at(const struct level_match_settings *settings, const struct mask_level *levels,
                       double most, struct level_match *matches, size_t count)
{
    double quietest = INFINITY, peak = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(matches[i].loudness))
            quietest = fmin(quietest, loudness_with(settings, &levels[i], most));
    for (size_t i = 0; i < count; i++) {
        matches[i].gain_db = isfinite(matches[i].loudness) && isfinite(quietest)
                                 ? gain_to(settings, &levels[i], quietest, most)
                                 : most;
        peak = fmax(peak, matches[i].peak * audio_from_db(matches[i].gain_db));
    }
    return peak;
}

static void set_gains(const struct level_match_settings *settings, const struct mask_level *levels,
                      struct level_match *matches, size_t count)
{
    double most = 0, peak = INFINITY;
    for (size_t i = 0; i < count; i++) {
        matches[i].peak = levels[i].peak;
        if (settings->by != LEVEL_MATCH_NONE)
            matches[i].loudness = loudness_with(settings, &levels[i], 0);
    }
    for (int round = 0; round < ROUNDS; round++) {
        peak = match_at(settings, levels, most, matches, count);
        if (settings->ceiling <= 0 || peak <= settings->ceiling)
            break;
        most -= fmax(near_enough, audio_to_db(peak / settings->ceiling));
    }
}

/* Measures with the present gains. `levels`: room for `count` masks. */
static enum status measure_once(const struct level_match_settings *settings,
                                const struct mask_levels_sound *sound, struct mask **scaled,
                                struct mask_level *levels, const struct mask *const *masks,
                                size_t count, struct level_match *matches)
{
    for (size_t i = 0; i < count; i++)
        TRY(level_match_apply(masks[i], &matches[i], &scaled[i]));
    TRY(mask_levels_measure(sound, (const struct mask *const *)scaled, count, settings->progress,
                            levels));
    set_gains(settings, levels, matches, count);
    return STATUS_OK;
}

/* Measures with the present gains, and replaces each gain_db by the change that is still needed. */
static enum status measure_levels(const struct level_match_settings *settings,
                                  const struct mask_levels_sound *sound,
                                  const struct mask *const *masks, size_t count,
                                  struct level_match *matches)
{
    struct mask **scaled = calloc(count, sizeof(struct mask *));
    struct mask_level *levels = calloc(count, sizeof *levels);
    enum status status = scaled && levels ? STATUS_OK : fail_memory("matching");
    if (status == STATUS_OK)
        status = measure_once(settings, sound, scaled, levels, masks, count, matches);
    for (size_t i = 0; scaled && i < count; i++)
        mask_destroy(scaled[i]);
    if (levels)
        mask_levels_free(levels, count);
    free(scaled);
    free(levels);
    return status;
}

/* dB of loudness per dB of gain, from the last step. It is not 1 if a compressor or a gate follows
 * the masks. */
static double slope_of(double step, double heard)
{
    bool known = fabs(step) > chain_enough && isfinite(heard);
    return known ? fmin(steepest, fmax(1 / steepest, heard / step)) : 1;
}

/* The highest gain. Sets *exceeds if a mask exceeds the ceiling. */
static double highest(const struct level_match *matches, size_t count, double ceiling,
                      bool *exceeds)
{
    double most = -INFINITY;
    for (size_t i = 0; i < count; i++) {
        most = fmax(most, matches[i].gain_db);
        *exceeds = *exceeds || (ceiling > 0 && matches[i].peak > ceiling);
    }
    return most;
}

/* Changes all gains by a step. The highest gain stays the same, unless a mask exceeds the ceiling:
 * a step may be too large and have to be undone. *off: the largest change. */
static enum status step_gains(const struct level_match_settings *settings,
                              const struct mask_levels_sound *sound,
                              const struct mask *const *masks, size_t count,
                              struct level_match *matches, double *steps, double *off)
{
    bool exceeds = false;
    double most = highest(matches, count, 0, &exceeds), before[count], heard[count];
    for (size_t i = 0; i < count; i++) {
        before[i] = matches[i].gain_db;
        heard[i] = matches[i].loudness;
    }
    TRY(measure_levels(settings, sound, masks, count, matches));
    for (size_t i = 0; i < count; i++)
        matches[i].gain_db =
            before[i] + matches[i].gain_db / slope_of(steps[i], matches[i].loudness - heard[i]);
    double higher = most - highest(matches, count, settings->ceiling, &exceeds);
    *off = 0;
    for (size_t i = 0; i < count; i++) {
        matches[i].gain_db += exceeds ? 0 : higher;
        steps[i] = matches[i].gain_db - before[i];
        *off = fmax(*off, fabs(steps[i]));
    }
    return STATUS_OK;
}

/* Repeats steps until the gains stay. */
static enum status find_gains(const struct level_match_settings *settings,
                              const struct mask_levels_sound *sound,
                              const struct mask *const *masks, size_t count,
                              struct level_match *matches)
{
    const int rounds = sound->chain.make && sound->region ? CHAIN_ROUNDS : 1;
    double off = INFINITY, steps[count];
    for (size_t i = 0; i < count; i++)
        steps[i] = 0;
    for (int round = 0; round < rounds && off > chain_enough; round++)
        TRY(step_gains(settings, sound, masks, count, matches, steps, &off));
    return STATUS_OK;
}

enum status level_match_measure(const struct level_match_settings *settings,
                                const struct mask_levels_sound *sound,
                                const struct mask *const *masks, size_t count,
                                struct level_match *matches)
{
    bool measured = settings->by != LEVEL_MATCH_NONE || settings->ceiling > 0;
    for (size_t i = 0; i < count; i++)
        matches[i] = (struct level_match){.loudness = NAN, .peak = NAN};
    if (settings->align || !sound->excerpts)
        TRY(find_delays(sound->excerpts ? sound->excerpts : masks, count, sound->excerpts != NULL,
                        matches));
    set_shifts(settings->align, masks, count, matches);
    return measured ? find_gains(settings, sound, masks, count, matches) : STATUS_OK;
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
    mask_scale(copy, audio_from_db(match->gain_db), NULL);
    *result = copy;
    return STATUS_OK;
}

enum status level_match_excerpt(const char *name, uint32_t rate, float *const *planar,
                                size_t channels, size_t frames, struct mask **result)
{
    TRY(mask_create(name, channels, frames, result));
    struct mask *mask = *result;
    mask->paths = calloc(channels, sizeof *mask->paths);
    if (!mask->paths)
        return fail_memory("an excerpt");
    mask->rate = rate;
    mask->inputs = mask->outputs = mask->path_count = channels;
    for (size_t c = 0; c < channels; c++) {
        mask->paths[c] = (struct mask_path){c, c, c};
        for (size_t i = 0; i < frames; i++)
            mask_column(mask, c)[i] = (double)planar[c][i];
    }
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
