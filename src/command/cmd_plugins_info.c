#include "command/cmd_plugins.h"

#include "base/json_text.h"
#include "base/options.h"
#include "base/stop.h"
#include "plugin/plugin_summary.h"
#include "plugin/plugin_info_json.h"
#include "plugin/plugin_scanner.h"

#include <stdio.h>
#include <string.h>

struct settings {
    const char *id;
    bool json;
    bool help;
};

/* ---- words ---- */

static enum status parse_id(void *context, const struct option_row *row, const char *value)
{
    (void)row;
    struct settings *settings = context;
    if (settings->id)
        return fail(STATUS_USAGE, "one plugin at a time: %s or %s", settings->id, value);
    settings->id = value;
    return STATUS_OK;
}

static enum status parse_json(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->json = true;
    return STATUS_OK;
}

static enum status parse_help(void *context, const struct option_row *row, const char *value)
{
    (void)row, (void)value;
    ((struct settings *)context)->help = true;
    return STATUS_OK;
}

static const struct option_row rows[] = {
    {"json", 0, NULL, "print one JSON object", parse_json},
    {"help", 'h', NULL, "print this", parse_help},
    {NULL, 0, NULL, NULL, parse_id},
};

static void print_help(void)
{
    puts("usage: halo plugins info URI|LIBRARY:LABEL [options]\n\n"
         "Describe a plugin: its controls with symbols, ranges, defaults and units, and a\n"
         "command line that uses it. Its latency is what it reports after running for a while at\n"
         "48 kHz; it runs in a process of its own.\n\n"
         "options:");
    options_print(stdout, rows, sizeof rows / sizeof *rows);
}

/* ---- work ---- */

/* An LV2 plugin is named by a URI, and those have one of few beginnings. */
static const struct plugin_kind *kind_of(const char *id)
{
    static const char *const beginnings[] = {"urn:", "tag:", "file:"};
    bool is_uri = strstr(id, "://") != NULL;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        is_uri |= strncmp(id, beginnings[i], strlen(beginnings[i])) == 0;
    return plugin_kind_named(is_uri ? "lv2" : "ladspa");
}

/* Where it dies when it runs, without that. */
static enum status ask(const char *id, json_t **answer, char death[PLUGIN_TROUBLE])
{
    struct plugin_scanner scanner;
    plugin_scanner_init(&scanner);
    death[0] = '\0';
    enum status status = plugin_scanner_describe(&scanner, kind_of(id), id, true, answer);
    if (status == STATUS_OK && !*answer) {
        memcpy(death, scanner.trouble, PLUGIN_TROUBLE);
        status = plugin_scanner_describe(&scanner, kind_of(id), id, false, answer);
        if (status == STATUS_OK && !*answer)
            status = fail(STATUS_FAILED, "cannot load %s: it %s", id, scanner.trouble);
    }
    plugin_scanner_free(&scanner);
    return status;
}

static enum status report(const struct settings *settings, const json_t *answer, const char *death)
{
    const char *error = json_string_value(json_object_get(answer, "error"));
    if (error)
        return fail(STATUS_FAILED, "%s", error);
    struct plugin_info *info;
    enum status status = plugin_info_of_object(json_object_get(answer, "plugin"), &info);
    if (status != STATUS_OK)
        return status;
    const char *failure = json_string_value(json_object_get(answer, "failure"));
    const struct plugin_summary summary = {.info = info,
                                     .latency = json_object_get(answer, "latency"),
                                     .failure = death[0] ? death : failure};
    if (settings->json)
        status = json_print(plugin_summary_object(&summary), PLUGIN_INFO_DIGITS, "the plugin");
    else
        plugin_summary_print(&summary);
    plugin_info_destroy(info);
    return status;
}

static enum status show(const struct settings *settings)
{
    json_t *answer;
    char death[PLUGIN_TROUBLE];
    stop_watch();
    enum status status = ask(settings->id, &answer, death);
    if (status == STATUS_OK)
        status = report(settings, answer, death);
    json_decref(answer);
    return status;
}

enum status cmd_plugins_info(int argc, char **argv)
{
    struct settings settings = {0};
    enum status status = options_parse(argc, argv, "halo plugins info", rows, &settings);
    if (status == STATUS_OK && settings.help)
        print_help();
    else if (status == STATUS_OK && !settings.id)
        status = fail(STATUS_USAGE, "which plugin? halo plugins list lists them");
    else if (status == STATUS_OK)
        status = show(&settings);
    return status;
}
