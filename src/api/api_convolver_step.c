/* The real-time step of libhalo's convolver. */
#include "api/api_convolver.h"

#include "base/realtime.h"
#include "convolve/switch_weights.h"

#include <string.h>

/* As soon as the filter has begun: it is one block ahead. */
HALO_REALTIME static bool has_begun(struct halo_convolver *convolver)
{
    struct convolver_switch *change = &convolver->change;
    uint64_t at;
    if (!convolver->filter) {
        change->at = change->at > convolver->position ? change->at : convolver->position;
        return true;
    }
    if (!convolver_has_begun(convolver->filter, convolver->number, &at))
        return false;
    change->at = at + SPLIT_BLOCK;
    return true;
}

/* At the end of a block, when the next one's output of the filter is known. */
HALO_REALTIME static void look_for_switch(struct halo_convolver *convolver)
{
    if (!convolver->begun && atomic_load(&convolver->switching))
        convolver->begun = has_begun(convolver);
}

HALO_REALTIME static void end_switch(struct halo_convolver *convolver)
{
    const struct convolver_switch *change = &convolver->change;
    if (!convolver->begun || convolver->position < change->at ||
        convolver->position - change->at < change->frames)
        return;
    convolver->slot = 1 - convolver->slot;
    convolver->begun = false;
    atomic_store(&convolver->switching, false);
}

/* Both heads, of `frames` frames in part_rows; what the filter adds is faded by itself. */
HALO_REALTIME static void write_both(const struct halo_convolver *convolver, size_t frames)
{
    float *const *out = convolver->part_rows;
    split_head_write(&convolver->heads[convolver->slot], convolver->now_rows, NULL, 0, frames, out);
    split_head_write(&convolver->heads[1 - convolver->slot], convolver->now_rows, NULL, 0, frames,
                     convolver->coming.data);
    for (size_t i = 0; i < frames; i++) {
        struct switch_weights weights =
            switch_weights_at(&convolver->change, convolver->position + i);
        for (size_t c = 0; c < convolver->outputs; c++)
            out[c][i] = weights.old * out[c][i] + weights.new * convolver->coming.data[c][i] +
                        convolver->ready.data[c][convolver->at + i];
    }
}

HALO_REALTIME static void feed(struct halo_convolver *convolver)
{
    for (size_t c = 0; c < convolver->inputs; c++)
        convolver->in_rows[c] = convolver->in.data[c] + convolver->split;
    if (convolver->filter)
        filter_process(convolver->filter, convolver->in_rows, convolver->ready.data);
}

HALO_REALTIME static void end_block(struct halo_convolver *convolver)
{
    feed(convolver);
    for (size_t c = 0; c < convolver->inputs; c++)
        memcpy(convolver->in.data[c], convolver->in.data[c] + SPLIT_BLOCK,
               SPLIT_BLOCK * sizeof(float));
    convolver->at = 0;
    look_for_switch(convolver);
}

/* Frames `done` and following of the call, within the current block. */
HALO_REALTIME static void run_part(struct halo_convolver *convolver, const float *const *in,
                                   float *const *out, size_t done, size_t frames)
{
    size_t now = convolver->split + convolver->at;
    for (size_t c = 0; c < convolver->inputs; c++) {
        memcpy(convolver->in.data[c] + now, in[c] + done, frames * sizeof(float));
        convolver->now_rows[c] = convolver->in.data[c] + now;
    }
    for (size_t c = 0; c < convolver->outputs; c++)
        convolver->part_rows[c] = out[c] + done;
    if (!convolver->filter)
        look_for_switch(convolver);
    if (convolver->begun)
        write_both(convolver, frames);
    else
        split_head_write(&convolver->heads[convolver->slot], convolver->now_rows,
                         (const float *const *)convolver->ready.data, convolver->at, frames,
                         convolver->part_rows);
    convolver->at += frames;
    convolver->position += frames;
    end_switch(convolver);
    if (convolver->at == SPLIT_BLOCK)
        end_block(convolver);
}

HALO_REALTIME static void run_split(struct halo_convolver *convolver, const float *const *in,
                                    float *const *out, size_t frames)
{
    for (size_t done = 0; done < frames;) {
        size_t left = SPLIT_BLOCK - convolver->at, part = frames - done;
        part = part < left ? part : left;
        run_part(convolver, in, out, done, part);
        done += part;
    }
}

HALO_REALTIME static void run_whole(struct halo_convolver *convolver, const float *const *in,
                                    float *const *out, size_t frames)
{
    size_t bytes = convolver->block * sizeof(float);
    for (size_t done = 0; done < frames; done += convolver->block) {
        for (size_t c = 0; c < convolver->inputs; c++)
            memcpy(convolver->in.data[c], in[c] + done, bytes);
        feed(convolver);
        for (size_t c = 0; c < convolver->outputs; c++)
            memcpy(out[c] + done, convolver->ready.data[c], bytes);
    }
}

HALO_REALTIME enum halo_status halo_convolver_process_channels(struct halo_convolver *convolver,
                                                               const float *const *in,
                                                               float *const *out, size_t frames)
{
    if (!convolver->split && frames % convolver->block != 0)
        return HALO_USAGE;
    struct realtime_floats before = realtime_floats_begin();
    (convolver->split ? run_split : run_whole)(convolver, in, out, frames);
    realtime_floats_end(before);
    return HALO_OK;
}

HALO_REALTIME enum halo_status halo_convolver_process(struct halo_convolver *convolver,
                                                      const float *in, size_t in_stride, float *out,
                                                      size_t out_stride, size_t frames)
{
    for (size_t c = 0; c < convolver->inputs; c++)
        convolver->call_in[c] = in + c * in_stride;
    for (size_t c = 0; c < convolver->outputs; c++)
        convolver->call_out[c] = out + c * out_stride;
    return halo_convolver_process_channels(convolver, convolver->call_in, convolver->call_out,
                                           frames);
}
