#include "listen/mask_levels.h"

#include "base/stop.h"
#include "base/workers.h"
#include "convolve/convolver.h"
#include "signal/loudness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_MOST = 1 << 20 };

struct ear {
    struct filter *filter;
    struct loudness *meter;
    double peak;
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
    for (size_t i = 0; measuring->ears && i < measuring->count; i++) {
        filter_destroy(measuring->ears[i].filter);
        loudness_destroy(measuring->ears[i].meter);
    }
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

static enum status measuring_init(struct measuring *measuring, const struct mask *const *masks,
                                  size_t count)
{
    size_t most = 1 << 14;
    while (most < measuring->end && most < BLOCK_MOST)
        most *= 2;
    measuring->count = count;
    measuring->ears = calloc(count, sizeof *measuring->ears);
    if (!measuring->ears)
        return fail_memory("measuring masks");
    TRY(workers_create(0, &measuring->workers));
    struct convolver_settings settings = {
        .backend = "cpu", .rate = measuring->rate, .workers = measuring->workers};
    settings.block = convolver_preferred_block(&settings, longest(masks, count), most);
    TRY(block_init(&measuring->in, masks[0]->inputs, settings.block, "measuring masks"));
    TRY(block_init(&measuring->out, masks[0]->outputs, settings.block, "measuring masks"));
    for (size_t i = 0; i < count; i++) {
        struct ear *ear = &measuring->ears[i];
        TRY(convolver_create(&settings, masks[i], &ear->filter));
        TRY(loudness_create(settings.rate, masks[i]->outputs, &ear->meter));
    }
    return STATUS_OK;
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
            return fail(STATUS_FAILED, "cannot play %s: it ends before frame %llu", region->name,
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
    if (stop_requested())
        return STATUS_INTERRUPTED;
    for (size_t c = 0; c < out->channels; c++) {
        rows[c] = out->data[c] + from;
        float peak = audio_peak(rows[c], end - from);
        if (!isfinite(peak))
            return fail(STATUS_FAILED, "the filtered sound is too loud even for floating point");
        ear->peak = fmax(ear->peak, (double)peak);
    }
    return loudness_add(ear->meter, rows, end - from);
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

enum status mask_levels_measure(const struct mask_levels_sound *sound,
                                const struct mask *const *masks, size_t count,
                                struct mask_levels_progress progress, struct mask_level *levels)
{
    struct region *region = sound->region;
    struct measuring measuring = {.sound = sound};
    measuring.rate = region ? region->format.rate : sound->rate;
    measuring.before = region ? longest(masks, count)->taps - 1 : sound->before;
    measuring.end = region ? measuring.before + region->to - region->from : sound->block->frames;
    enum status status = measuring_init(&measuring, masks, count);
    if (status == STATUS_OK && region) { /* the region begins after `before` frames of its loop */
        uint64_t length = region->to - region->from;
        status = region_seek(region, region->from + (length - measuring.before % length) % length);
    }
    if (status != STATUS_OK || (status = measuring_run(&measuring, progress)))
        goto end;
    for (size_t i = 0; i < count; i++)
        levels[i] = (struct mask_level){
            .integrated = loudness_integrated(measuring.ears[i].meter),
            .rms = loudness_rms(measuring.ears[i].meter),
            .peak = measuring.ears[i].peak,
        };
end:
    measuring_free(&measuring);
    return status;
}
