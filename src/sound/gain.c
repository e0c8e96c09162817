#include "sound/gain.h"

#include "signal/ramp.h"

#include <stdlib.h>
#include <string.h>

struct gain {
    struct filter filter;
    float factor; /* at first */
    struct ramp ramp;
    const struct automation *automation;
    size_t smooth; /* frames */
    uint64_t before;
    uint64_t position; /* frames that came in */
    size_t next;       /* point of the automation */
};

static void take_points(struct gain *gain, uint64_t frame)
{
    const struct automation *automation = gain->automation;
    for (; gain->next < automation->count && automation->points[gain->next].at <= frame;
         gain->next++) {
        const struct automation_point *point = &automation->points[gain->next];
        ramp_set(&gain->ramp, point->value,
                 point->over > gain->smooth ? (size_t)point->over : gain->smooth);
    }
}

/* Frames from `at` on that have one line. */
static size_t take_span(struct gain *gain, size_t at)
{
    size_t left = gain->filter.block - at;
    uint64_t position = gain->position + at;
    if (position < gain->before)
        return gain->before - position < left ? (size_t)(gain->before - position) : left;
    take_points(gain, position - gain->before);
    return automation_span(gain->automation, gain->next, position - gain->before, left);
}

static void gain_process(struct filter *filter, const float *const *in, float *const *out)
{
    const struct gain *gain = (const struct gain *)filter;
    for (size_t c = 0; c < filter->inputs; c++)
        for (size_t i = 0; i < filter->block; i++)
            out[c][i] = in[c][i] * gain->factor;
}

static void automated_process(struct filter *filter, const float *const *in, float *const *out)
{
    struct gain *gain = (struct gain *)filter;
    float *here[filter->outputs];
    for (size_t c = 0; c < filter->inputs; c++)
        memcpy(out[c], in[c], filter->block * sizeof **out);
    for (size_t at = 0, frames; at < filter->block; at += frames) {
        frames = take_span(gain, at);
        for (size_t c = 0; c < filter->outputs; c++)
            here[c] = out[c] + at;
        ramp_process(&gain->ramp, filter->outputs, here, frames);
    }
    gain->position += filter->block;
}

static void gain_reset(struct filter *filter)
{
    struct gain *gain = (struct gain *)filter;
    ramp_init(&gain->ramp, gain->factor);
    gain->position = 0;
    gain->next = 0;
}

static void gain_destroy(struct filter *filter)
{
    free(filter);
}

static const struct filter_kind gain_kind = {
    .name = "gain",
    .process = gain_process,
    .reset = gain_reset,
    .destroy = gain_destroy,
};

static const struct filter_kind automated_kind = {
    .name = "automated gain",
    .process = automated_process,
    .reset = gain_reset,
    .destroy = gain_destroy,
};

enum status gain_create(size_t channels, size_t block, double factor, struct filter **result)
{
    struct gain *gain = calloc(1, sizeof *gain);
    if (!gain)
        return fail_memory("a gain");
    gain->filter = (struct filter){
        .kind = &gain_kind, .inputs = channels, .outputs = channels, .block = block};
    gain->factor = (float)factor;
    gain_reset(&gain->filter);
    *result = &gain->filter;
    return STATUS_OK;
}

enum status gain_create_automated(size_t channels, size_t block,
                                  const struct gain_settings *settings, struct filter **result)
{
    enum status status = gain_create(channels, block, settings->factor, result);
    if (status != STATUS_OK || settings->automation->count == 0)
        return status;
    struct gain *gain = (struct gain *)*result;
    gain->filter.kind = &automated_kind;
    gain->automation = settings->automation;
    gain->smooth = (size_t)(AUTOMATION_SMOOTH * settings->rate);
    gain->before = settings->before;
    return STATUS_OK;
}
