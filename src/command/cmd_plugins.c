/* halo plugins list and info. */
#include "base/json_text.h"
#include "base/printable.h"
#include "base/short_list.h"
#include "base/stop.h"
#include "command/commands.h"
#include "plugin/isolation/plugin_sandbox.h"
#include "plugin/scan/plugin_catalog.h"
#include "plugin/scan/plugin_info_json.h"
#include "plugin/scan/plugin_memory.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

/* ---- halo plugins list ---- */

enum { ID_WIDTH_MOST = 64, TEXT_MOST = 1024 };

struct plugins_list_settings {
    const char *kind; /* NULL: all kinds */
    struct string_list args;
    bool json;
    /* compare words without their endings, since nothing matches the whole words */
    bool is_shortened;
};

/* Removes blanks and hyphens, so that "de-esser" matches "DeEsser". */
static void squeeze(const char *text, char squeezed[TEXT_MOST])
{
    size_t length = 0;
    for (; *text && length < TEXT_MOST - 1; text++)
        if (!strchr(" -_", *text))
            squeezed[length++] = *text;
    squeezed[length] = '\0';
}

/* Removes the ending of a word, so that "de-esser" and "compressors" match "De-ess" and
 * "Compress". */
static void cut_ending(char word[TEXT_MOST])
{
    static const char *const endings[] = {"ers", "ors", "er", "or", "s"};
    enum { LEAST = 3 };
    size_t length = strlen(word), i = 0, cut = 0;
    while (cut == 0 && i < sizeof endings / sizeof *endings) {
        size_t size = strlen(endings[i]);
        if (length >= LEAST + size && strcasecmp(word + length - size, endings[i]) == 0)
            cut = size;
        i++;
    }
    word[length - cut] = '\0';
}

/* Whether each word of the arguments is in one of the texts. A text may be NULL. */
static bool matches(const struct plugins_list_settings *settings, const char *const texts[],
                    size_t count)
{
    char all[TEXT_MOST], part[TEXT_MOST];
    for (size_t i = 0; i < settings->args.count; i++) {
        bool found = false;
        squeeze(settings->args.values[i], part);
        if (settings->is_shortened)
            cut_ending(part);
        for (size_t t = 0; t < count && !found; t++) {
            squeeze(texts[t] ? texts[t] : "", all);
            found = texts[t] && strcasestr(all, part);
        }
        if (!found)
            return false;
    }
    return true;
}

static bool is_wanted(const struct plugins_list_settings *settings, const struct plugin_row *row)
{
    const char *const texts[] = {row->id, row->name, row->maker, row->category};
    return matches(settings, texts, sizeof texts / sizeof *texts);
}

static size_t count_wanted(const struct plugins_list_settings *settings,
                           const struct plugin_scan *scan)
{
    size_t count = 0;
    for (size_t i = 0; i < scan->count; i++)
        count += is_wanted(settings, &scan->rows[i]);
    return count;
}

static void print_row(const struct plugin_row *row, int width)
{
    printf("%-6s  %-*s  %3zu > %-3zu  %s", row->kind->name, width, printable(row->id), row->inputs,
           row->outputs, printable(row->name));
    if (row->maker)
        printf(" (%s)", printable(row->maker));
    if (row->refusal)
        printf(", cannot run: %s", printable(row->refusal));
    puts("");
}

static void print_table(const struct plugins_list_settings *settings,
                        const struct plugin_scan *scan)
{
    size_t width = 0;
    for (size_t i = 0; i < scan->count; i++)
        if (is_wanted(settings, &scan->rows[i])) {
            size_t length = strlen(scan->rows[i].id);
            width = length > width ? length : width;
        }
    width = width < ID_WIDTH_MOST ? width : ID_WIDTH_MOST;
    for (size_t i = 0; i < scan->count; i++)
        if (is_wanted(settings, &scan->rows[i]))
            print_row(&scan->rows[i], (int)width);
    if (scan->count == 0)
        note("no plugins found; packages such as x42-plugins and swh-plugins contain some");
    else if (count_wanted(settings, scan) == 0)
        note("none of the %zu plugins matches", scan->count);
}

static const char *skip_name(const struct plugin_skip *skip)
{
    const char *slash = strrchr(skip->holder, '/');
    return slash && slash[1] ? slash + 1 : skip->holder;
}

/* Prints a line about libraries that were skipped and match; for a single one, with the reason. The
 * plugins of a skipped library are not known. So if no plugin and no library name matches, the line
 * names all. */
static void report_skips(const struct plugins_list_settings *settings,
                         const struct plugin_scan *scan)
{
    struct short_list list = {0};
    bool is_remembered = false, is_any = count_wanted(settings, scan) == 0;
    const struct plugin_skip *only = NULL;
    size_t count = 0;
    for (size_t i = 0; i < scan->skip_count; i++) {
        const char *name = skip_name(&scan->skips[i]);
        is_any = is_any && !matches(settings, &name, 1);
    }
    for (size_t i = 0; i < scan->skip_count; i++) {
        const char *name = skip_name(&scan->skips[i]);
        if (!is_any && !matches(settings, &name, 1))
            continue;
        short_list_add(&list, name);
        is_remembered |= scan->skips[i].is_remembered;
        only = &scan->skips[i];
        count++;
    }
    if (count > 0)
        note("skipped %s: %s%s%s%s", short_list_text(&list, ""),
             count == 1 ? only->reason : "they cannot be used; --json says why",
             is_remembered ? ", in an earlier scan" : "",
             is_remembered ? "; to scan again, remove " : "",
             is_remembered ? plugin_memory_place() : "");
}

static enum status print_json(const struct plugins_list_settings *settings,
                              const struct plugin_scan *scan)
{
    json_t *plugins = json_array(), *skipped = json_array();
    for (size_t i = 0; i < scan->count; i++)
        if (is_wanted(settings, &scan->rows[i]))
            json_array_append_new(plugins, plugin_row_object(&scan->rows[i]));
    for (size_t i = 0; i < scan->skip_count; i++) {
        const struct plugin_skip *skip = &scan->skips[i];
        json_array_append_new(skipped,
                              json_pack("{s:s, s:o, s:o, s:b}", "kind", skip->kind->name, "holder",
                                        json_text(skip->holder), "reason", json_text(skip->reason),
                                        "remembered", skip->is_remembered));
    }
    return json_print(json_pack("{s:o, s:o}", "plugins", plugins, "skipped", skipped), 0,
                      "the plugins");
}

static enum status list(void *options)
{
    struct plugins_list_settings *settings = options;
    struct plugin_scan scan;
    stop_watch();
    enum status status =
        plugin_scan_init(&scan, settings->kind ? plugin_kind_named(settings->kind) : NULL, 0);
    settings->is_shortened = status == STATUS_OK && count_wanted(settings, &scan) == 0;
    if (status == STATUS_OK && settings->json)
        status = print_json(settings, &scan);
    else if (status == STATUS_OK)
        print_table(settings, &scan);
    fflush(stdout);
    if (status == STATUS_OK)
        report_skips(settings, &scan);
    plugin_scan_free(&scan);
    return status;
}

static const char *const kind_names[] = {"lv2", "ladspa", "clap", "vst3", NULL};

static const struct option_row list_rows[] = {
    OPT_WORD("kind", "KIND", struct plugins_list_settings, kind,
             "only plugins of this kind: lv2, ladspa, clap or vst3", .names = kind_names),
    PLUGIN_SANDBOX_ROWS,
    OPT_FLAG("json", struct plugins_list_settings, json, "print one JSON object"),
    {0},
};

const struct command command_plugins_list = {
    .name = "halo plugins list",
    .summary = "list the plugins of this machine",
    .usage =
        "usage: halo plugins list [WORDS] [options]\n\n"
        "List the LV2, LADSPA, CLAP and VST3 plugins of this machine: kind, the value for --lv2,\n"
        "--ladspa, --clap or --vst3, input and output channels, name and maker. With WORDS, list\n"
        "those whose id, name, maker or category contains each word, blanks and hyphens aside; if\n"
        "none does, each word without its ending (er, or, s). LV2_PATH, LADSPA_PATH, CLAP_PATH and\n"
        "VST3_PATH are searched, and the system's folders (of LV2 and LADSPA only without these).\n"
        "A plugin that crashes or hangs is skipped, and in later scans until it is upgraded.",
    .arguments = OPTION_ARGUMENTS(OPT_ARGUMENTS("WORDS", struct plugins_list_settings, args, 0)),
    .groups = OPTION_GROUP(list_rows),
    .size = sizeof(struct plugins_list_settings),
    .run = list,
};

/* ---- halo plugins info ---- */

struct plugins_info_settings {
    const char *id;
    bool json;
};

/* Whether an id is LIBRARY.clap:ID or a CLAP id such as "org.example.gain". */
static bool is_clap(const char *id)
{
    const char *end = strrchr(id, '.');
    if (strstr(id, ".clap:"))
        return true;
    return end && !strpbrk(id, ":/") && strcmp(end, ".so") != 0;
}

/* The kind of a plugin, by its id. LV2 plugins are named by URIs. */
static const struct plugin_kind *kind_of(const char *id)
{
    static const char *const prefixes[] = {"urn:", "tag:", "file:"};
    bool is_uri = strstr(id, "://") != NULL;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        is_uri |= strncmp(id, prefixes[i], strlen(prefixes[i])) == 0;
    return plugin_kind_named(strstr(id, ".vst3") ? "vst3"
                             : is_uri            ? "lv2"
                             : is_clap(id)       ? "clap"
                                                 : "ladspa");
}

/* Describes a plugin. If running it crashes, describes it again without running it. */
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

static const struct option_row info_rows[] = {
    PLUGIN_SANDBOX_ROWS,
    OPT_FLAG("json", struct plugins_info_settings, json, "print one JSON object"),
    {0},
};

const struct command command_plugins_info = {
    .name = "halo plugins info",
    .summary = "describe a plugin and how to use it",
    .usage =
        "usage: halo plugins info URI|LIBRARY:LABEL|ID|NAME.vst3 [options]\n\n"
        "Describe a plugin: its controls with symbols, ranges, defaults and units, and a\n"
        "command line that uses it. The latency is measured by running the plugin at 48 kHz in\n"
        "a separate process.",
    .arguments = OPTION_ARGUMENTS(
        OPT_ARGUMENT("URI|LIBRARY:LABEL|ID|NAME.vst3", struct plugins_info_settings, id, 1)),
    .groups = OPTION_GROUP(info_rows),
    .size = sizeof(struct plugins_info_settings),
    .run = show,
};
