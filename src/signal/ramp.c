#include "signal/ramp.h"

#include "base/realtime.h"
#include "base/simd.h"

#include <string.h>

HALO_REALTIME void ramp_init(struct ramp *ramp, float gain)
{
    *ramp = (struct ramp){.from = gain, .to = gain};
}

HALO_REALTIME static float gain_at(const struct ramp *ramp, size_t at)
{
    return ramp->from + (ramp->to - ramp->from) * ((float)at / (float)ramp->frames);
}

HALO_REALTIME float ramp_gain(const struct ramp *ramp)
{
    return ramp->at < ramp->frames ? gain_at(ramp, ramp->at) : ramp->to;
}

HALO_REALTIME void ramp_set(struct ramp *ramp, float target, size_t frames)
{
    if (target == ramp->to)
        return;
    *ramp = (struct ramp){.from = ramp_gain(ramp), .to = target, .frames = frames};
}

SIMD_CLONES
HALO_REALTIME static void scale_sloped(const struct ramp *ramp, float *samples, size_t frames)
{
    float from = ramp->from, change = ramp->to - ramp->from, length = (float)ramp->frames;
    int at = (int)ramp->at; /* int to float conversion vectorises */
    for (int i = 0; i < (int)frames; i++)
        samples[i] *= from + change * ((float)(at + i) / length);
}

SIMD_CLONES
HALO_REALTIME static void scale_evenly(float gain, float *samples, size_t frames)
{
    for (size_t i = 0; i < frames; i++)
        samples[i] *= gain;
}

HALO_REALTIME static void at_rest(float gain, float *samples, size_t frames)
{
    if (gain == 0.0f)
        memset(samples, 0, frames * sizeof *samples);
    else if (gain != 1.0f)
        scale_evenly(gain, samples, frames);
}

HALO_REALTIME void ramp_process(struct ramp *ramp, size_t channels, float *const *planar,
                                size_t frames)
{
    size_t left = ramp->frames - ramp->at;
    size_t sloped = frames < left ? frames : left;
    for (size_t c = 0; c < channels; c++) {
        if (sloped)
            scale_sloped(ramp, planar[c], sloped);
        at_rest(ramp->to, planar[c] + sloped, frames - sloped);
    }
    ramp->at += sloped;
}
