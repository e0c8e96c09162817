/* One block of an LV2 plugin. Real-time, once it has been reset. */
#include "plugin/plugin_lv2_instance.h"

static void connect(struct lv2_instance *instance, uint32_t port, float *samples)
{
    if (instance->connected[port] == samples)
        return;
    instance->connected[port] = samples;
    lilv_instance_connect_port(instance->instance, port, samples);
}

bool lv2_instance_run(struct lv2_instance *instance)
{
    lv2_events_prepare(instance->events);
    lv2_logbook_hold(instance->log, true);
    lilv_instance_run(instance->instance, instance->block);
    bool worked = lv2_worker_respond(instance->worker);
    lv2_logbook_hold(instance->log, false);
    return worked;
}

void lv2_instance_process(struct plugin *plugin, const float *const *in, float *const *out)
{
    struct lv2_instance *instance = (struct lv2_instance *)plugin;
    if (!instance->is_active)
        lv2_instance_reset(plugin);
    for (size_t i = 0; i < plugin->inputs; i++)
        connect(instance, instance->in_ports[i], (float *)in[i]); /* LV2 has no const ports */
    for (size_t i = 0; i < plugin->outputs; i++)
        connect(instance, instance->out_ports[i], out[i]);
    lv2_instance_run(instance);
    if (!instance->complained) {
        plugin->complaint = lv2_logbook_complaint(instance->log);
        instance->complained = plugin->complaint != NULL;
    }
}
