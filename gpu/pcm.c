#include "gpu/pcm.h"

#include <stdint.h>
#include <string.h>

enum { RUN = 512 }; /* samples converted between tests for exactness */

/* Scaling by a power of two is exact. A NaN counts as inexact, since it is unequal to itself. */
static bool to_16(const float *in, size_t frames, unsigned char *out)
{
    int16_t whole[RUN];
    int exact = 1;
    for (size_t i = 0; i < frames; i++) {
        float scaled = in[i] * 0x1p15f;
        float held = !(scaled > -32768.0f) ? -32768.0f : scaled > 32767.0f ? 32767.0f : scaled;
        int32_t integer = (int32_t)held;
        exact &= (float)integer == scaled;
        whole[i] = (int16_t)integer;
    }
    memcpy(out, whole, frames * sizeof *whole);
    return exact;
}

static bool to_24(const float *in, size_t frames, unsigned char *out)
{
    int exact = 1;
    for (size_t i = 0; i < frames; i++) {
        float scaled = in[i] * 0x1p23f;
        float held = !(scaled > -0x1p23f) ? -0x1p23f : scaled > 8388607.0f ? 8388607.0f : scaled;
        int32_t integer = (int32_t)held;
        exact &= (float)integer == scaled;
        out[3 * i] = (unsigned char)integer;
        out[3 * i + 1] = (unsigned char)(integer >> 8);
        out[3 * i + 2] = (unsigned char)(integer >> 16);
    }
    return exact;
}

bool pcm_pack(enum pcm pcm, const float *in, size_t frames, unsigned char *out)
{
    if (pcm == PCM_FLOAT) {
        memcpy(out, in, frames * sizeof *in);
        return true;
    }
    for (size_t at = 0; at < frames; at += RUN) {
        size_t count = frames - at < RUN ? frames - at : RUN;
        unsigned char *to = out + at * pcm_bytes(pcm);
        if (!(pcm == PCM_16 ? to_16 : to_24)(in + at, count, to))
            return false;
    }
    return true;
}
