#include "chain/stage_controls.h"

#include "base/realtime.h"

#include <math.h>
#include <string.h>

static struct stage_control own_control(const struct stage *stage, size_t index)
{
    const struct plugin_port *port = &stage->ops->controls(stage)->ports[index];
    return (struct stage_control){.kind = STAGE_CONTROL_OWN,
                                  .port = port,
                                  .port_index = index,
                                  .range = plugin_port_range(port, stage->rate),
                                  .value = stage->ops->control_value(stage, index)};
}

static struct stage_control mix_control(const struct stage *stage, enum stage_control_kind kind)
{
    return (struct stage_control){.kind = kind,
                                  .port = &stage_mix_ports[kind],
                                  .range = plugin_port_range(&stage_mix_ports[kind], stage->rate),
                                  .value = stage_mix_value(stage->mixed, kind)};
}

/* Control *index of one stage; false: *index is reduced by the number of its controls. */
static bool control_of(const struct stage *stage, size_t *index, struct stage_control *control)
{
    const struct plugin_info *info = stage->ops->controls ? stage->ops->controls(stage) : NULL;
    for (size_t i = 0; info && i < info->port_count; i++) {
        if (info->ports[i].type != PLUGIN_CONTROL || !info->ports[i].is_input || (*index)-- > 0)
            continue;
        *control = own_control(stage, i);
        return true;
    }
    for (enum stage_control_kind kind = STAGE_CONTROL_MIX;
         stage->mixed && kind <= STAGE_CONTROL_BYPASS; kind++) {
        if (!stage_mix_has(stage->mixed, kind) || (*index)-- > 0)
            continue;
        *control = mix_control(stage, kind);
        return true;
    }
    return false;
}

bool stage_controls_at(const struct stage_list *list, size_t index, struct stage_control *control)
{
    for (size_t s = 0; s < list->count; s++) {
        if (!control_of(&list->stages[s], &index, control))
            continue;
        control->stage = s;
        return true;
    }
    return false;
}

enum status stage_controls_find(const struct stage_list *list, size_t index, const char *name,
                                struct stage_control *control)
{
    if (index >= list->count)
        return fail(CAUSE_USAGE, "there is no stage %zu: the chain has %zu", index + 1,
                    list->count);
    const struct stage *stage = &list->stages[index];
    size_t port = 0;
    if (*name == '@') {
        enum stage_control_kind kind = STAGE_CONTROL_MIX;
        while (kind < STAGE_CONTROL_OWN && strcmp(name, stage_mix_ports[kind].symbol) != 0)
            kind++;
        if (!stage->mixed || kind == STAGE_CONTROL_OWN || !stage_mix_has(stage->mixed, kind))
            return fail(CAUSE_USAGE, "stage %zu has no control '%s'; %s%s", index + 1, name,
                        stage->has_mixes ? "each of its masks has its own @mix="
                        : stage->mixed   ? "there are @bypass and "
                                         : "give it @mix=1 at the start",
                        !stage->mixed                                    ? ""
                        : stage_mix_has(stage->mixed, STAGE_CONTROL_WET) ? "@wet"
                                                                         : "@mix");
        *control = mix_control(stage, kind);
    } else if (stage->ops->controls) {
        TRY(plugin_spec_port(stage->ops->controls(stage), name, &port));
        *control = own_control(stage, port);
    } else {
        return fail(CAUSE_USAGE, "stage %zu has no control '%s': it is not a plugin", index + 1,
                    name);
    }
    control->stage = index;
    return STATUS_OK;
}

enum status stage_controls_parse(const struct stage_list *list, const struct stage_control *control,
                                 const char *text, float *value)
{
    const struct stage *stage = &list->stages[control->stage];
    if (control->kind == STAGE_CONTROL_OWN)
        return plugin_spec_value(stage->ops->controls(stage), control->port_index, stage->rate,
                                 text, value);
    double parsed;
    TRY(stage_mix_parse(control->kind, text, &parsed));
    *value = (float)parsed;
    return STATUS_OK;
}

float stage_controls_fit(const struct stage_control *control, double value)
{
    return (float)fmax(control->range.minimum, fmin(control->range.maximum, value));
}

HALO_REALTIME void stage_controls_set(const struct stage_list *list,
                                      const struct stage_control *control, float value)
{
    const struct stage *stage = &list->stages[control->stage];
    if (control->kind == STAGE_CONTROL_OWN)
        stage->ops->control_set(stage, control->port_index, value);
    else
        stage_mix_set(stage->mixed, control->kind, value);
}
