/* An instance of a LADSPA plugin; the functions are those of plugin_ladspa (plugin.h). */
#ifndef HALO_PLUGIN_LADSPA_INSTANCE_H
#define HALO_PLUGIN_LADSPA_INSTANCE_H

#include "plugin/plugin.h"

MUST_CHECK enum status plugin_ladspa_create(const struct plugin_info *info,
                                            const struct plugin_settings *settings,
                                            struct plugin **plugin);

/* Real-time, but for the first time: a plugin is activated as late as that, or by reset, since
 * some size their buffers by what their controls say then. */
void plugin_ladspa_process(struct plugin *plugin, const float *const *in, float *const *out);

void plugin_ladspa_reset(struct plugin *plugin);
void plugin_ladspa_destroy(struct plugin *plugin);

#endif
