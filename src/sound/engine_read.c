#include "sound/engine_job.h"

#include "base/laps.h"

#include <math.h>
#include <stdio.h>

static enum status check_finite(const struct engine_job *run, const struct real_block *block,
                                size_t frames)
{
    for (size_t c = 0; c < block->channels; c++) {
        size_t bad = audio_find_nonfinite(block->data[c], frames);
        if (bad == frames)
            continue;
        char where[32] = "a frame"; /* in the lead: which one depends on the boundary */
        uint64_t at = run->read - frames + bad, lead = run->settings->lead;
        if (at >= lead)
            snprintf(where, sizeof where, "frame %llu", (unsigned long long)(at - lead + 1));
        return fail(CAUSE_DAMAGED, "cannot filter %s: %s of channel %zu is %s", run->source->name,
                    where, c + 1, isnan(block->data[c][bad]) ? "not a number" : "infinite");
    }
    return STATUS_OK;
}

static enum status read_block(struct engine_job *run, struct real_block *block)
{
    size_t got = 0;
    if (!run->ended) {
        TRY(REAL(source_read)(run->source, block->data, block->frames, &got));
        run->read += got;
        run->ended = got < block->frames;
        TRY(check_finite(run, block, got));
        if (run->settings->whole)
            run->totals->power.in +=
                engine_energy(block->channels, (const real *const *)block->data, 0, got);
    }
    block_silence(block, got, block->frames - got);
    return STATUS_OK;
}

void engine_read_input(void *context, size_t slot)
{
    struct engine_job *run = context;
    struct engine_input *input = &run->inputs[slot];
    if (run->broken)
        return;
    struct log_keeper before = log_keep_failure(&input->problem);
    int64_t lap = lap_begin();
    input->status = read_block(run, &input->block);
    lap_end(LAP_READ, lap);
    log_keep_again(&before);
    input->read = run->read;
    input->ended = run->ended;
    run->broken = input->status != STATUS_OK;
}
