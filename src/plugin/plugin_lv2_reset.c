/* An LV2 plugin forgets all sound.
 *
 * By the letter deactivate() and activate() do that. Of 436 plugins 156 then answered otherwise
 * than new ones do, and some make their buffers anew without releasing those they have: so none
 * is activated twice. The instance is exchanged for a new one, that is given the values and the
 * state of the old one.
 */
#include "plugin/plugin_lv2_instance.h"
#include "plugin/plugin_lv2_state.h"

#include <lv2/state/state.h>

static bool has_state(const struct lv2_instance *instance)
{
    return lilv_instance_get_extension_data(instance->instance, LV2_STATE__interface) != NULL;
}

/* False: no new one is to be had. */
static bool renew(struct lv2_instance *instance)
{
    LilvInstance *made, *old = instance->instance;
    if (lv2_instance_make(instance, &made) != STATUS_OK)
        return false;
    LilvState *state = has_state(instance) ? lv2_state_snapshot(instance) : NULL;
    lilv_instance_deactivate(old);
    instance->is_active = false;
    lv2_worker_forget(instance->worker);
    lv2_instance_take(instance, made);
    if (state)
        lv2_state_give(instance, state);
    else
        lv2_events_repeat(instance->events);
    lilv_instance_free(old);
    return true;
}

void lv2_instance_reset(struct plugin *plugin)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    lv2_worker_pause(instance->worker);
    if (instance->is_active && !renew(instance))
        lilv_instance_deactivate(instance->instance);
    lv2_instance_activate(instance);
    lv2_worker_resume(instance->worker);
    lv2_logbook_load(instance->log, false);
    plugin->trouble = lv2_logbook_trouble(instance->log);
    lv2_logbook_report(instance->log);
}
