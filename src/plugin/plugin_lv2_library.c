#include "plugin/plugin_lv2_library.h"

#include <dlfcn.h>
#include <lv2/core/lv2.h>
#include <stdlib.h>
#include <string.h>

enum { DESCRIPTORS_MOST = 10000 };

static bool has_plugin(LV2_Descriptor_Function descriptor, const char *uri)
{
    const LV2_Descriptor *one;
    for (uint32_t i = 0; i < DESCRIPTORS_MOST && (one = descriptor(i)) != NULL; i++)
        if (one->URI && strcmp(one->URI, uri) == 0)
            return true;
    return false;
}

/* A library of the newer form, which is given its bundle and the host's features, is left to lilv
 * when an instance is made. */
static enum status look_into(void *handle, const char *path, const char *uri)
{
    if (dlsym(handle, "lv2_lib_descriptor"))
        return STATUS_OK;
    void *symbol = dlsym(handle, "lv2_descriptor");
    if (!symbol)
        return fail(STATUS_FAILED, "%s is no LV2 library: it has no lv2_descriptor", path);
    LV2_Descriptor_Function descriptor;
    memcpy(&descriptor, &symbol, sizeof symbol);
    return has_plugin(descriptor, uri)
               ? STATUS_OK
               : fail(STATUS_FAILED, "its library %s does not have it", path);
}

enum status lv2_library_try(const LilvPlugin *plugin)
{
    const LilvNode *library = lilv_plugin_get_library_uri(plugin);
    char *path = library ? lilv_node_get_path(library, NULL) : NULL;
    if (!path)
        return fail(STATUS_FAILED, "its bundle names no library");
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    enum status status;
    if (handle) {
        status = look_into(handle, path, lilv_node_as_uri(lilv_plugin_get_uri(plugin)));
        dlclose(handle);
    } else {
        const char *reason = dlerror();
        status = fail(STATUS_FAILED, "cannot load its library: %s", reason ? reason : path);
    }
    lilv_free(path);
    return status;
}
