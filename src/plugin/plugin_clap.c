#include "plugin/plugin_clap.h"

#include <stdlib.h>

/* The holder is a library file. */
static enum status clap_open(const char *holder, void (*found)(void *context, const char *id),
                             void *context)
{
    struct clap_library library;
    enum status status = clap_library_open(holder, &library);
    uint32_t count = status == STATUS_OK ? clap_library_count(&library) : 0;
    for (uint32_t i = 0; status == STATUS_OK && i < count; i++) {
        const struct clap_plugin_descriptor *descriptor = clap_library_at(&library, i);
        char *id = NULL;
        if (!descriptor)
            continue;
        status = clap_library_id(holder, descriptor->id, &id);
        if (status == STATUS_OK)
            found(context, id);
        free(id);
    }
    clap_library_close(&library);
    return status;
}

const struct plugin_kind plugin_clap = {
    .name = "clap",
    .argument = "ID",
    .path_variable = "CLAP_PATH",
    .describe = clap_describe,
    .list = clap_libraries,
    .open = clap_open,
    .create = clap_instance_create,
    .process = clap_instance_process,
    .reset = clap_instance_reset,
    .tail = clap_instance_tail,
    .save = clap_instance_save,
    .destroy = clap_instance_destroy,
};
