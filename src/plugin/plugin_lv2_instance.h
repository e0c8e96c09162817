/* An LV2 plugin at work: struct plugin_kind's calls for one. */
#ifndef HALO_PLUGIN_LV2_INSTANCE_H
#define HALO_PLUGIN_LV2_INSTANCE_H

#include "plugin/plugin.h"
#include "plugin/plugin_lv2_events.h"
#include "plugin/plugin_lv2_features.h"
#include "plugin/plugin_lv2_log.h"
#include "plugin/plugin_lv2_worker.h"

#include <lilv/lilv.h>

struct lv2_instance {
    struct plugin plugin; /* first */
    const LilvPlugin *bundle;
    LilvInstance *instance;
    bool is_active;  /* from the first reset on */
    bool complained; /* of an error that it logged while it ran: once */
    uint32_t block;
    struct lv2_features features;
    struct lv2_paths paths;
    struct lv2_logbook *log;
    struct lv2_worker *worker;
    struct lv2_events *events;
    uint32_t *in_ports; /* of sound: the plugin's indices */
    uint32_t *out_ports;
    float *buffers;    /* silence or scratch for each port of samples: CV's, and sound's until
                          the first block comes */
    float **connected; /* where each port of samples is now, by index */
};

MUST_CHECK enum status lv2_instance_create(const struct plugin_info *info,
                                           const struct plugin_settings *settings,
                                           struct plugin **plugin);
void lv2_instance_reset(struct plugin *plugin);
enum status lv2_instance_save(struct plugin *plugin, const char *folder);
void lv2_instance_destroy(struct plugin *plugin);

/* Real-time, as far as the plugin is. */
void lv2_instance_process(struct plugin *plugin, const float *const *in, float *const *out);

#endif
