#include "live/stream_slot.h"

#include "base/realtime.h"
#include "live/live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By the gains among the stages, as they are mixed now. */
HALO_REALTIME static float level_of_dry(const struct stream_slot *slot)
{
    double level = 1;
    for (size_t i = 0; i < slot->stages.count; i++) {
        const struct filter *mixed = slot->stages.stages[i].mixed;
        struct stage_mix_gains gains = {.wet = 1};
        if (isnan(slot->levels[i]))
            continue;
        if (mixed)
            gains = stage_mix_gains_now(mixed);
        level *= gains.wet * slot->levels[i] + gains.dry;
    }
    return (float)level;
}

enum status stream_slot_init(struct stream_slot *slot, const struct stream_slot_settings *settings)
{
    const struct filter *chain = settings->chain;
    *slot = (struct stream_slot){.chain = settings->chain, .number = settings->number};
    if (settings->stages)
        slot->stages = *settings->stages;
    slot->left_out = calloc(slot->stages.count + 1, sizeof *slot->left_out);
    slot->absent = calloc(slot->stages.count + 1, sizeof *slot->absent);
    slot->levels = calloc(slot->stages.count + 1, sizeof *slot->levels);
    if (!slot->left_out || !slot->absent || !slot->levels)
        return fail_memory("live sound");
    for (size_t i = 0; i < slot->stages.count; i++)
        slot->levels[i] = stage_describe(&slot->stages.stages[i]).gain;
    ramp_init(&slot->level, level_of_dry(slot));
    ramp_init(&slot->gain, (float)settings->gain);
    ramp_init(&slot->wet, settings->dry ? 0 : 1);
    TRY(history_init(&slot->history, chain->inputs, (size_t)chain->latency, chain->block));
    return block_init(&slot->dry, chain->outputs, chain->block, "live sound");
}

void stream_slot_free(struct stream_slot *slot)
{
    history_free(&slot->history);
    block_free(&slot->dry);
    free(slot->left_out);
    free(slot->absent);
    free(slot->levels);
    *slot = (struct stream_slot){0};
}

/* Output o gets input o modulo the number of inputs. */
HALO_REALTIME static void mix_dry(struct stream_slot *slot, const float *const *in,
                                  float *const *out)
{
    const struct filter *chain = slot->chain;
    history_advance(&slot->history, in);
    if (slot->wet.at == slot->wet.frames && slot->wet.to == 1)
        return;
    for (size_t o = 0; o < chain->outputs; o++)
        memcpy(slot->dry.data[o],
               history_now(&slot->history, o % chain->inputs) - slot->history.keep,
               chain->block * sizeof(float));
    struct ramp dry = {.from = 1 - slot->wet.from,
                       .to = 1 - slot->wet.to,
                       .at = slot->wet.at,
                       .frames = slot->wet.frames};
    ramp_set(&slot->level, level_of_dry(slot), chain->block);
    ramp_process(&slot->level, chain->outputs, slot->dry.data, chain->block);
    ramp_process(&slot->wet, chain->outputs, out, chain->block);
    ramp_process(&dry, chain->outputs, slot->dry.data, chain->block);
    for (size_t o = 0; o < chain->outputs; o++)
        for (size_t i = 0; i < chain->block; i++)
            out[o][i] += slot->dry.data[o][i];
}

HALO_REALTIME void stream_slot_process(struct stream_slot *slot, const float *const *in,
                                       float *const *out)
{
    filter_process(slot->chain, in, out);
    mix_dry(slot, in, out);
    ramp_process(&slot->gain, slot->chain->outputs, out, slot->chain->block);
}

HALO_REALTIME static void apply_to_stage(struct stream_slot *slot, const struct live_event *event)
{
    const struct stage_list *stages = &slot->stages;
    const struct stage_control control = {
        .kind = event->kind, .stage = event->stage, .port_index = event->port};
    if (event->what == LIVE_STAGE_CONTROL)
        stage_controls_set(stages, &control, (float)event->value);
    else if (event->what == LIVE_STAGE_ABSENT)
        stage_mix_make_absent(stages->stages[event->stage].mixed, event->value != 0);
    else
        stage_mix_leave_out(stages->stages[event->stage].mixed);
}

HALO_REALTIME bool stream_slot_has(const struct live_event *event)
{
    return event->what == LIVE_GAIN || event->what == LIVE_DRY || event->what >= LIVE_STAGE_CONTROL;
}

HALO_REALTIME void stream_slot_apply(struct stream_slot *slot, const struct live_event *event,
                                     size_t smooth)
{
    if (event->what == LIVE_GAIN)
        ramp_set(&slot->gain, (float)event->value, smooth);
    else if (event->what == LIVE_DRY)
        ramp_set(&slot->wet, event->value != 0 ? 0 : 1, smooth);
    else
        apply_to_stage(slot, event);
}

HALO_REALTIME static bool has_noticed(struct stream_slot *slot, size_t stage,
                                      struct live_event *event)
{
    const struct filter *mixed = slot->stages.stages[stage].mixed;
    if (!mixed)
        return false;
    if (stage_mix_is_absent(mixed) != slot->absent[stage]) {
        slot->absent[stage] = !slot->absent[stage];
        *event = (struct live_event){
            .what = LIVE_STAGE_ABSENT, .value = slot->absent[stage], .stage = stage};
        return true;
    }
    if (stage_mix_is_left_out(mixed) && !slot->left_out[stage]) {
        slot->left_out[stage] = true;
        *event = (struct live_event){.what = LIVE_STAGE_FAILED, .stage = stage};
        return true;
    }
    return false;
}

HALO_REALTIME bool stream_slot_noticed(struct stream_slot *slot, struct live_event *event)
{
    for (size_t i = 0; i < slot->stages.count; i++)
        if (has_noticed(slot, i, event))
            return true;
    return false;
}
