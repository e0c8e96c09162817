/* What a process that reads plugins answers, and what is remembered of it: descriptions, rows and
 * contents. */
#include "fuzz.h"
#include "plugin/scan/plugin_info_json.h"

#include <math.h>

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static void check(const struct plugin_info *info)
{
    if (!info->kind || !info->id || !info->file || info->port_count > PLUGIN_PORTS_MOST)
        abort();
    for (size_t i = 0; i < info->port_count; i++) {
        const struct plugin_port *port = &info->ports[i];
        if (!(port->minimum <= port->maximum) || !isfinite(port->initial) ||
            strpbrk(port->symbol, ",=\\\n") || port->type > PLUGIN_ATOM)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    json_t *object = json_loadb((const char *)data, size, JSON_DISABLE_EOF_CHECK, NULL);
    struct plugin_info *info = NULL;
    struct plugin_row row;
    struct plugin_contents contents;
    fuzz_begin();
    enum status status = plugin_info_of_object(object, &info);
    fuzz_end(status);
    if (status == STATUS_OK)
        check(info);
    plugin_info_destroy(info);
    if (plugin_row_of_object(object, &row) && row.inputs > PLUGIN_PORTS_MOST)
        abort();
    plugin_row_free(&row);
    if (plugin_contents_of_object(object, &contents) && contents.count > 0 && !contents.ids[0])
        abort();
    plugin_contents_free(&contents);
    json_decref(object);
    return 0;
}
