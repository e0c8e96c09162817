/* A processor at work: everything here is real-time. */
#include "processor.h"

#include "signal/fir.h"

#include <string.h>

_Static_assert((int)FIR_TILE >= (int)PROCESSOR_BLOCK, "a block is summed up as one tile");

static bool is_silent(const struct processor *processor, const float *const *block)
{
    for (size_t c = 0; c < processor->channels; c++)
        if (audio_peak(block[c], PROCESSOR_BLOCK) != 0)
            return false;
    return true;
}

void processor_feed(struct processor *processor, const float *const *block)
{
    processor->heard++;
    if (!processor->tail)
        return;
    bool silent = is_silent(processor, block);
    if (silent && processor->silent >= processor->taps) { /* nothing is left of what came before */
        block_silence(&processor->ready, 0, PROCESSOR_BLOCK);
        return;
    }
    processor->silent = silent ? processor->silent + PROCESSOR_BLOCK : 0;
    filter_process(processor->tail, block, processor->ready.data);
}

void processor_write(const struct processor *processor, const float *const *now, size_t at, size_t frames,
                 float *const *out)
{
    for (size_t o = 0; o < processor->channels; o++) {
        float sum[FIR_TILE] = {0};
        memcpy(sum, processor->ready.data[o] + at, frames * sizeof *sum);
        for (size_t p = processor->paths.first[o]; p < processor->paths.first[o + 1]; p++)
            fir_add_float(sum, now[processor->paths.paths[p].input], frames,
                          processor->heads + processor->paths.paths[p].column * processor->head, processor->head);
        memcpy(out[o], sum, frames * sizeof *sum);
    }
}
