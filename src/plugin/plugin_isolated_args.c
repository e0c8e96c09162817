#include "plugin/plugin_isolated_args.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By the place that main gives them. */
enum { PARENT = 1, VERBOSITY, KIND, ID, RATE, BLOCK, LIVE, INSTANCES, MOST, PRESET, STATE, FIRST };

__attribute__((format(printf, 2, 3))) static void put(char **word, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (vasprintf(word, format, arguments) < 0)
        *word = NULL;
    va_end(arguments);
}

static void put_text(char **word, const char *text)
{
    put(word, "%s%s", text ? "=" : "-", text ? text : "");
}

enum status isolated_args_make(const struct plugin_info *info,
                             const struct plugin_instances_settings *settings, char ***result)
{
    const struct plugin_settings *plugin = &settings->plugin;
    size_t count = 1 + FIRST + 2 * plugin->setting_count;
    char **args = calloc(count + 1, sizeof *args);
    if (!args)
        return fail_memory("a plugin's process");
    put(&args[0], "halo");
    char **at = args + 1;
    put(&at[0], "plugin-instances");
    put(&at[PARENT], "%ld", (long)getpid());
    put(&at[VERBOSITY], "%d", (int)note_verbosity_now());
    put(&at[KIND], "%s", info->kind->name);
    put(&at[ID], "%s", info->id);
    put(&at[RATE], "%" PRIu32, plugin->rate);
    put(&at[BLOCK], "%zu", plugin->block);
    put(&at[LIVE], "%d", plugin->live);
    put(&at[INSTANCES], "%zu", settings->instances);
    put(&at[MOST], "%zu", settings->most);
    put_text(&at[PRESET], plugin->preset);
    put_text(&at[STATE], plugin->state);
    for (size_t i = 0; i < plugin->setting_count; i++) {
        put(&at[FIRST + 2 * i], "%s", plugin->settings[i].uri);
        put(&at[FIRST + 2 * i + 1], "%s", plugin->settings[i].value);
    }
    *result = args;
    for (size_t i = 0; i < count; i++)
        if (!args[i]) {
            isolated_args_free(args);
            return fail_memory("a plugin's process");
        }
    return STATUS_OK;
}

void isolated_args_free(char **args)
{
    for (size_t i = 0; args && args[i]; i++)
        free(args[i]);
    free(args);
}

static size_t number(const char *word)
{
    return (size_t)strtoull(word, NULL, 10);
}

static const char *text(const char *word)
{
    return *word == '=' ? word + 1 : NULL;
}

enum status isolated_args_read(int argc, char **argv, struct isolated_request *request)
{
    size_t count = argc >= FIRST ? ((size_t)argc - FIRST) / 2 : 0;
    struct plugin_setting *settings = calloc(count + 1, sizeof *settings);
    if (!settings)
        return fail_memory("a plugin's process");
    for (size_t i = 0; i < count; i++)
        settings[i] =
            (struct plugin_setting){.uri = argv[FIRST + 2 * i], .value = argv[FIRST + 2 * i + 1]};
    *request = (struct isolated_request){.settings.plugin.settings = settings,
                                      .settings.plugin.setting_count = count};
    if (argc < FIRST || !plugin_kind_named(argv[KIND]))
        return fail(STATUS_USAGE, "halo runs plugin-instances itself, for plugins in a process apart");
    struct plugin_settings *plugin = &request->settings.plugin;
    request->parent = (pid_t)number(argv[PARENT]);
    request->verbosity = (enum verbosity)number(argv[VERBOSITY]);
    request->kind = plugin_kind_named(argv[KIND]);
    request->id = argv[ID];
    plugin->rate = (uint32_t)number(argv[RATE]);
    plugin->block = number(argv[BLOCK]);
    plugin->live = number(argv[LIVE]) != 0;
    plugin->preset = text(argv[PRESET]);
    plugin->state = text(argv[STATE]);
    request->settings.instances = number(argv[INSTANCES]);
    request->settings.most = number(argv[MOST]);
    return STATUS_OK;
}
