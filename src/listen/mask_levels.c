#include "listen/mask_levels.h"

#include "base/stop.h"
#include "base/workers.h"
#include "convolve/convolver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MOST = 1 << 20, CHAIN_BLOCK = 1024 };
enum { CHAIN_SETTLED = 2 }; /* seconds after which a chain that states no tail plays a loop alike */

struct ear {
    struct filter *filter, *own; /* own: a convolver alone, or NULL */
    struct mask_level *level;
};

struct measuring {
    const struct mask_levels_sound *sound;
    uint64_t at; /* next frame of a block */
    uint32_t rate;
    uint64_t before, end; /* first and last frame to measure */

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

/* Measure the frames from `from` up to `end` of the block. */
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

/* Outputs are late by the latency, and a loop is steady once the longest tail is in it. */
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

enum status mask_levels_measure(const struct mask_levels_sound *sound,
                                const struct mask *const *masks, size_t count,
                                struct mask_levels_progress progress, struct mask_level *levels)
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

void mask_levels_free(struct mask_level *levels, size_t count)
{
    for (size_t i = 0; i < count; i++)
        loudness_destroy(levels[i].meter);
}
