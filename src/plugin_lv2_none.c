/* Where halo is built without lilv (package liblilv-dev). */
#include "plugin_lv2.h"

static enum status refuse(void)
{
    return fail(
        STATUS_FAILED,
        "this halo was built without LV2 plugins: install lilv (package liblilv-dev), then build "
        "it again");
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

const struct plugin_kind plugin_lv2 = {
    .name = "lv2",
    .argument = "URI",
    .describe = describe,
    .list = list,
    .open = open,
};
