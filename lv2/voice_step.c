/* A voice at work: everything here is real-time. */
#include "voice.h"

#include "signal/fir.h"

#include <string.h>

_Static_assert((int)FIR_TILE >= (int)VOICE_BLOCK, "a block is summed up as one tile");

static bool is_silent(const struct voice *voice, const float *const *block)
{
    for (size_t c = 0; c < voice->channels; c++)
        if (audio_peak(block[c], VOICE_BLOCK) != 0)
            return false;
    return true;
}

void voice_hear(struct voice *voice, const float *const *block)
{
    voice->heard++;
    if (!voice->tail)
        return;
    bool silent = is_silent(voice, block);
    if (silent && voice->silent >= voice->taps) { /* nothing is left of what came before */
        block_silence(&voice->ready, 0, VOICE_BLOCK);
        return;
    }
    voice->silent = silent ? voice->silent + VOICE_BLOCK : 0;
    filter_process(voice->tail, block, voice->ready.data);
}

void voice_write(const struct voice *voice, const float *const *now, size_t at, size_t frames,
                 float *const *out)
{
    for (size_t o = 0; o < voice->channels; o++) {
        float sum[FIR_TILE] = {0};
        memcpy(sum, voice->ready.data[o] + at, frames * sizeof *sum);
        for (size_t p = voice->paths.first[o]; p < voice->paths.first[o + 1]; p++)
            fir_add_float(sum, now[voice->paths.paths[p].input], frames,
                          voice->heads + voice->paths.paths[p].column * voice->head, voice->head);
        memcpy(out[o], sum, frames * sizeof *sum);
    }
}
