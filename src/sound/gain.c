/* Compiled for each precision. */
#include "sound/gain.h"

#include "base/realtime.h"
#include "signal/ramp.h"

#include <stdlib.h>
#include <string.h>

struct gain {
    struct filter filter;
    real factor; /* factor before any change */
    struct ramp ramp;
    struct automation_cursor cursor;
    size_t smooth; /* least length of a change, in frames */
};

HALO_REALTIME static void gain_process(struct filter *filter, const real *const *in,
                                       real *const *out)
{
    const struct gain *gain = (const struct gain *)filter;
    for (size_t c = 0; c < filter->inputs; c++)
        for (size_t i = 0; i < filter->block; i++)
            out[c][i] = in[c][i] * gain->factor;
}

HALO_REALTIME static void automated_process(struct filter *filter, const real *const *in,
                                            real *const *out)
{
    struct gain *gain = (struct gain *)filter;
    real *here[filter->outputs];
    for (size_t c = 0; c < filter->inputs; c++)
        memcpy(out[c], in[c], filter->block * sizeof **out);
    for (size_t at = 0, frames; at < filter->block; at += frames) {
        for (const struct automation_point *point; (point = automation_due(&gain->cursor));)
            ramp_set(&gain->ramp, (real)point->value,
                     point->over > gain->smooth ? (size_t)point->over : gain->smooth);
        frames = automation_advance(&gain->cursor, filter->block - at);
        for (size_t c = 0; c < filter->outputs; c++)
            here[c] = out[c] + at;
        ramp_process(&gain->ramp, filter->outputs, here, frames);
    }
}

static void gain_reset(struct filter *filter)
{
    struct gain *gain = (struct gain *)filter;
    ramp_init(&gain->ramp, gain->factor);
    gain->cursor.position = 0;
    gain->cursor.next = 0;
}

static void gain_destroy(struct filter *filter)
{
    free(filter);
}

static const struct filter_kind gain_kind = {
    .name = "gain", .REAL(process) = gain_process, .reset = gain_reset, .destroy = gain_destroy};

static const struct filter_kind automated_kind = {.name = "automated gain",
                                                  .REAL(process) = automated_process,
                                                  .reset = gain_reset,
                                                  .destroy = gain_destroy};

enum status REAL(gain_create)(size_t channels, size_t block, double factor, struct filter **result)
{
    struct gain *gain = calloc(1, sizeof *gain);
    if (!gain)
        return fail_memory("a gain");
    gain->filter = (struct filter){
        .kind = &gain_kind, .inputs = channels, .outputs = channels, .block = block};
    gain->factor = (real)factor;
    gain_reset(&gain->filter);
    *result = &gain->filter;
    return STATUS_OK;
}

enum status REAL(gain_create_automated)(size_t channels, size_t block,
                                        const struct gain_settings *settings,
                                        struct filter **result)
{
    TRY(REAL(gain_create)(channels, block, settings->factor, result));
    if (settings->automation->count == 0)
        return STATUS_OK;
    struct gain *gain = (struct gain *)*result;
    gain->filter.kind = &automated_kind;
    gain->cursor.automation = settings->automation;
    gain->cursor.before = settings->before;
    gain->smooth = (size_t)(AUTOMATION_SMOOTH * settings->rate);
    return STATUS_OK;
}
