#include "live/device_join.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <stdlib.h>

HALO_REALTIME static int64_t time_of(const struct device_stream *stream)
{
    return stream->simulated_ns ? stream->simulated_ns : monotonic_ns();
}

HALO_REALTIME static void input_step(void *context, const float *const *in, float *const *out,
                                     size_t frames, bool lost)
{
    struct device_join *join = context;
    (void)out;
    bridge_write(&join->bridge, in, frames, time_of(join->input), lost);
}

HALO_REALTIME static void output_step(void *context, const float *const *in, float *const *out,
                                      size_t frames, bool lost)
{
    struct device_join *join = context;
    const float *sound[DEVICE_CHANNELS_MOST];
    (void)in;
    lost = bridge_read(&join->bridge, sound, frames, time_of(join->output), lost);
    join->slot.step(join->slot.context, sound, out, frames, lost);
}

void device_join_destroy(struct device_join *join)
{
    if (!join)
        return;
    bridge_free(&join->bridge);
    free(join);
}

enum status device_join_create(struct device_stream *input, uint32_t rate_in,
                               struct device_stream *output, uint32_t rate_out,
                               struct device_join **result)
{
    struct device_join *join = calloc(1, sizeof *join);
    if (!join)
        return fail_memory("a device");
    join->input = input;
    join->output = output;
    enum status status = bridge_init(&join->bridge, input->in.count, rate_in, rate_out);
    if (status == STATUS_OK)
        *result = join;
    else
        device_join_destroy(join);
    return status;
}

void device_join_run(struct device_join *join, device_step *step, void *context)
{
    struct device_stream *input = join->input, *output = join->output;
    bridge_start(&join->bridge, atomic_load(&input->period), atomic_load(&output->period));
    join->slot = (struct device_slot){step, context};
    input->slot = (struct device_slot){input_step, join};
    output->slot = (struct device_slot){output_step, join};
    atomic_store(&output->current, &output->slot);
    atomic_store(&input->current, &input->slot);
}
