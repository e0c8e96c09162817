#include "convolve/arrays.h"

#include <stdint.h>
#include <string.h>

static double half_of(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x7fff) << 13;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (half & 0x8000 ? -1 : 1) * (double)value * 0x1p112;
}

static double bfloat_of(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static double take(enum arrays_sample sample, const void *from, ptrdiff_t at)
{
    if (sample == ARRAYS_FLOAT32)
        return ((const float *)from)[at];
    if (sample == ARRAYS_FLOAT64)
        return ((const double *)from)[at];
    uint16_t half = ((const uint16_t *)from)[at];
    return sample == ARRAYS_FLOAT16 ? half_of(half) : bfloat_of(half);
}

static void put(enum arrays_sample sample, double value, void *to, ptrdiff_t at)
{
    if (sample == ARRAYS_FLOAT64) {
        ((double *)to)[at] = value;
        return;
    }
    float single = (float)value;
    uint32_t bits;
    if (sample == ARRAYS_FLOAT32) {
        ((float *)to)[at] = single;
        return;
    }
    if (sample == ARRAYS_BFLOAT16) {
        memcpy(&bits, &single, sizeof bits);
        ((uint16_t *)to)[at] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
        return;
    }
    single *= 0x1p-112f;
    memcpy(&bits, &single, sizeof bits);
    uint32_t rest = bits & 0x7fffffff;
    ((uint16_t *)to)[at] =
        (uint16_t)((bits >> 16 & 0x8000) | ((rest + 0xfff + (rest >> 13 & 1)) >> 13));
}

static void convolve(const struct arrays_job *job, const struct arrays_group *group, size_t j)
{
    ptrdiff_t x0 = (ptrdiff_t)j * group->x_step, h0 = (ptrdiff_t)j * group->h_step;
    ptrdiff_t y0 = (ptrdiff_t)j * group->y_step;
    for (size_t i = 0; i < group->out_frames; i++) {
        double sum = 0;
        size_t n = group->first + i;
        size_t from = n >= group->frames ? n - group->frames + 1 : 0;
        for (size_t k = group->frames ? from : group->taps; k < group->taps && k <= n; k++)
            sum += take(job->sample, group->x, x0 + (ptrdiff_t)(n - k)) *
                   take(job->sample, group->h,
                        h0 + (ptrdiff_t)(job->correlate ? group->taps - 1 - k : k));
        put(job->sample, sum, group->y, y0 + (ptrdiff_t)i);
    }
}

enum status arrays_convolve_host(const struct arrays_job *job, size_t threads)
{
    (void)threads;
    for (size_t g = 0; g < job->group_count; g++)
        for (size_t j = 0; j < job->groups[g].count; j++)
            convolve(job, &job->groups[g], j);
    return STATUS_OK;
}
