/* The stage that is a plugin: from the user's words to its filter. specs.c's rows lead here. */
#ifndef HALO_STAGE_PLUGIN_H
#define HALO_STAGE_PLUGIN_H

#include "chain/specs.h"
#include "plugin/plugin_map.h"
#include "plugin/plugin_spec.h"

struct stage_plugin {
    struct plugin_info *info;
    struct plugin_spec spec;
    struct plugin_map map;
    bool isolated;
};

/* See struct stage_kind. The kind of plugin is named as the stage's option. */
MUST_CHECK enum status stage_plugin_load(struct stage *stage, char **spec,
                                         const struct stream_format *format,
                                         const struct stage_settings *settings);
MUST_CHECK enum status stage_plugin_create(struct stage *stage, size_t block,
                                           struct workers *workers, struct filter **filter);

void stage_plugin_destroy(struct stage_plugin *plugin);

#endif
