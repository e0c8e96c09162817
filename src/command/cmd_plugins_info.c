#include "base/json_text.h"
#include "base/stop.h"
#include "command/commands.h"
#include "plugin/plugin_catalog.h"
#include "plugin/plugin_info_json.h"
#include "plugin/plugin_sandbox.h"

#include <stdio.h>
#include <string.h>

struct plugins_info_settings {
    const char *id;
    bool json;
};

/* LIBRARY.clap:ID, or an id such as "org.example.gain" */
static bool is_clap(const char *id)
{
    const char *end = strrchr(id, '.');
    if (strstr(id, ".clap:"))
        return true;
    return end && !strpbrk(id, ":/") && strcmp(end, ".so") != 0;
}

/* An LV2 plugin is named by a URI. */
static const struct plugin_kind *kind_of(const char *id)
{
    static const char *const prefixes[] = {"urn:", "tag:", "file:"};
    bool is_uri = strstr(id, "://") != NULL;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        is_uri |= strncmp(id, prefixes[i], strlen(prefixes[i])) == 0;
    return plugin_kind_named(is_uri ? "lv2" : is_clap(id) ? "clap" : "ladspa");
}

/* Where running it crashes, again without running it. */
static enum status ask_of(struct plugin_scanner *scanner, const struct plugin_kind *kind,
                          const char *id, const json_t *holders, json_t **answer,
                          char death[PLUGIN_TROUBLE])
{
    TRY(plugin_scanner_describe(scanner, kind, id, holders, true, answer));
    if (*answer)
        return STATUS_OK;
    memcpy(death, scanner->trouble, PLUGIN_TROUBLE);
    TRY(plugin_scanner_describe(scanner, kind, id, holders, false, answer));
    return *answer ? STATUS_OK : fail(CAUSE_OTHER, "cannot load %s: it %s", id, scanner->trouble);
}

static enum status ask(const char *id, json_t **answer, char death[PLUGIN_TROUBLE])
{
    const struct plugin_kind *kind = kind_of(id);
    struct plugin_catalog catalog;
    json_t *holders = NULL;
    death[0] = '\0';
    *answer = NULL;
    enum status status = plugin_catalog_open(&catalog, kind, 0);
    if (status == STATUS_OK)
        status = plugin_catalog_needed(&catalog, kind, id, &holders);
    if (status == STATUS_OK)
        status = ask_of(&catalog.scanner, kind, id, holders, answer, death);
    if (json_object_get(*answer, "error"))
        status = plugin_catalog_fail(&catalog, NULL, id, *answer);
    json_decref(holders);
    plugin_catalog_close(&catalog);
    return status;
}

static enum status report(const struct plugins_info_settings *settings, const json_t *answer,
                          const char *death)
{
    struct plugin_info *info;
    TRY(plugin_info_of_object(json_object_get(answer, "plugin"), &info));
    const char *failure = json_string_value(json_object_get(answer, "failure"));
    const struct plugin_summary summary = {.info = info,
                                           .latency = json_object_get(answer, "latency"),
                                           .failure = death[0] ? death : failure};
    enum status status = STATUS_OK;
    if (settings->json)
        status = json_print(plugin_summary_object(&summary), PLUGIN_INFO_DIGITS, "the plugin");
    else
        plugin_summary_print(&summary);
    plugin_info_destroy(info);
    return status;
}

static enum status show(void *options)
{
    const struct plugins_info_settings *settings = options;
    json_t *answer;
    char death[PLUGIN_TROUBLE];
    stop_watch();
    enum status status = ask(settings->id, &answer, death);
    if (status == STATUS_OK)
        status = report(settings, answer, death);
    json_decref(answer);
    return status;
}

static const struct option_row rows[] = {
    PLUGIN_SANDBOX_ROWS,
    OPT_FLAG("json", struct plugins_info_settings, json, "print one JSON object"),
    {0},
};

const struct command command_plugins_info = {
    .name = "halo plugins info",
    .summary = "describe a plugin and how to use it",
    .usage =
        "usage: halo plugins info URI|LIBRARY:LABEL|ID [options]\n\n"
        "Describe a plugin: its controls with symbols, ranges, defaults and units, and a\n"
        "command line that uses it. The latency is measured by running the plugin at 48 kHz in\n"
        "a separate process.",
    .arguments =
        OPTION_ARGUMENTS(OPT_ARGUMENT("URI|LIBRARY:LABEL|ID", struct plugins_info_settings, id, 1)),
    .groups = OPTION_GROUP(rows),
    .size = sizeof(struct plugins_info_settings),
    .run = show,
};
