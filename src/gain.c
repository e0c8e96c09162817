#include "gain.h"

#include <stdlib.h>

struct gain {
    struct filter filter;
    float factor;
};

static void gain_process(struct filter *filter, const float *const *in, float *const *out)
{
    const struct gain *gain = (const struct gain *)filter;
    for (size_t c = 0; c < filter->inputs; c++)
        for (size_t i = 0; i < filter->block; i++)
            out[c][i] = in[c][i] * gain->factor;
}

static void gain_reset(struct filter *filter)
{
    (void)filter;
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

enum status gain_create(size_t channels, size_t block, double factor, struct filter **result)
{
    struct gain *gain = calloc(1, sizeof *gain);
    if (!gain)
        return fail_memory("a gain");
    gain->filter = (struct filter){
        .kind = &gain_kind, .inputs = channels, .outputs = channels, .block = block};
    gain->factor = (float)factor;
    *result = &gain->filter;
    return STATUS_OK;
}
