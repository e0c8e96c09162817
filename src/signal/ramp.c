/* Compiled for each precision. */
#include "signal/ramp.h"

#include "base/realtime.h"
#include "base/simd.h"

#include <string.h>

/* One name for each precision. For clones, clang makes resolvers that the linker sees. */
#define scale_sloped REAL(scale_sloped)
#define scale_evenly REAL(scale_evenly)

HALO_REALTIME void ramp_init(struct ramp *ramp, real gain)
{
    *ramp = (struct ramp){.from = gain, .to = gain};
}

HALO_REALTIME static real gain_at(const struct ramp *ramp, size_t at)
{
    return ramp->from + (ramp->to - ramp->from) * ((real)at / (real)ramp->frames);
}

HALO_REALTIME real ramp_gain(const struct ramp *ramp)
{
    return ramp->at < ramp->frames ? gain_at(ramp, ramp->at) : ramp->to;
}

HALO_REALTIME void ramp_set(struct ramp *ramp, real target, size_t frames)
{
    if (target == ramp->to)
        return;
    *ramp = (struct ramp){.from = ramp_gain(ramp), .to = target, .frames = frames};
}

SIMD_CLONES
HALO_REALTIME static void scale_sloped(const struct ramp *ramp, real *samples, size_t frames)
{
    real from = ramp->from, change = ramp->to - ramp->from, length = (real)ramp->frames;
    int at = (int)ramp->at; /* int, since conversion from int to float vectorises */
    for (int i = 0; i < (int)frames; i++)
        samples[i] *= from + change * ((real)(at + i) / length);
}

SIMD_CLONES
HALO_REALTIME static void scale_evenly(real gain, real *samples, size_t frames)
{
    for (size_t i = 0; i < frames; i++)
        samples[i] *= gain;
}

HALO_REALTIME static void at_rest(real gain, real *samples, size_t frames)
{
    if (gain == 0)
        memset(samples, 0, frames * sizeof *samples);
    else if (gain != 1)
        scale_evenly(gain, samples, frames);
}

HALO_REALTIME void ramp_process(struct ramp *ramp, size_t channels, real *const *planar,
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
