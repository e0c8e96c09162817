/* Runs isolated instances in file mode until they end or a signal arrives; for
 * test_plugin_isolated.
 *
 *   instances_demo KIND ID
 *
 * Prints "open", "piece" after the first piece, and the reason for the end.
 */
#include "base/status.h"
#include "base/stop.h"
#include "plugin/plugin_instances.h"
#include "plugin/scan/plugin_catalog.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 256 };

static void report(const char *line)
{
    puts(line);
    fflush(stdout);
}

static void run(struct plugin_instances *instances)
{
    float sound[2][BLOCK] = {{0}};
    const float *const in[] = {sound[0]};
    float *const out[] = {sound[1]};
    for (size_t pieces = 0; !instances->failure && !stop_requested(); pieces++) {
        instances->kind->process(instances, in, out, BLOCK, NULL, 0);
        if (pieces == 0)
            report("piece");
    }
}

int main(int argc, char **argv)
{
    struct plugin_info *info;
    struct plugin_instances *instances;
    if (argc != 3)
        return STATUS_USAGE;
    stop_watch();
    const struct plugin_instances_settings settings = {
        .plugin = {.rate = 48000, .block = BLOCK}, .instances = 1, .most = BLOCK, .patience = 20};
    if (plugin_describe_isolated(plugin_kind_named(argv[1]), argv[2], &info) != STATUS_OK ||
        plugin_instances_open_isolated(info, NULL, 0, &settings, &instances) != STATUS_OK)
        return STATUS_FAILED;
    report("open");
    run(instances);
    report(instances->failure ? instances->failure : "stopped");
    plugin_instances_close(instances);
    plugin_info_destroy(info);
    return STATUS_OK;
}
