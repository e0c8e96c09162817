/* The kinds of plugins that this build leaves out. */
#include "plugin/plugin_ladspa.h"
#include "plugin/plugin_lv2.h"

#if defined HALO_NO_LV2 || defined HALO_NO_LADSPA

static enum status refuse(void)
{
    return fail(STATUS_FAILED,
                "this halo was built without that kind of plugin: install lilv (liblilv-dev) for "
                "LV2, ladspa.h (ladspa-sdk) for LADSPA, then build it again");
}

static enum status describe(const char *id, struct plugin_info **info)
{
    (void)id, (void)info;
    return refuse();
}

static enum status list(void (*found)(void *context, const char *holder, const char *file),
                        void *context)
{
    (void)found, (void)context;
    return STATUS_OK;
}

static enum status open(const char *holder, void (*found)(void *context, const char *id),
                        void *context)
{
    (void)holder, (void)found, (void)context;
    return refuse();
}

#endif

#ifdef HALO_NO_LV2
const struct plugin_kind plugin_lv2 = {
    .name = "lv2", .argument = "URI", .describe = describe, .list = list, .open = open};
#endif

#ifdef HALO_NO_LADSPA
const struct plugin_kind plugin_ladspa = {.name = "ladspa",
                                          .argument = "LIBRARY:LABEL",
                                          .describe = describe,
                                          .list = list,
                                          .open = open};
#endif
