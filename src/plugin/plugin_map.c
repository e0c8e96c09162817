#include "plugin/plugin_map.h"

#include "plugin/plugin_instances.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS_MOST = 1024, SUGGESTED_MOST = 16 };

static enum status make(struct plugin_map *map, size_t instances, size_t count, size_t outputs)
{
    *map =
        (struct plugin_map){.instances = instances, .outputs = instances * outputs, .count = count};
    map->inputs = calloc(count + 1, sizeof *map->inputs);
    return map->inputs ? STATUS_OK : fail_memory("a plugin");
}

/* "1:2:0:0": every channel once, and silence for the other inputs. */
static void suggest(char *text, size_t size, size_t inputs, size_t channels)
{
    text[0] = '\0';
    size_t count = inputs * ((channels + inputs - 1) / inputs);
    for (size_t i = 0; i < count && i < SUGGESTED_MOST; i++) {
        size_t length = strlen(text);
        snprintf(text + length, size - length, "%s%zu", i ? ":" : "", i < channels ? i + 1 : 0);
    }
    if (count > SUGGESTED_MOST)
        snprintf(text + strlen(text), size - strlen(text), ":...");
}

static enum status fail_counts(const struct plugin_info *info, size_t channels)
{
    size_t inputs = plugin_instances_inputs(info), outputs = plugin_instances_outputs(info);
    char list[6 * SUGGESTED_MOST];
    suggest(list, sizeof list, inputs, channels);
    return fail(
        STATUS_FAILED,
        "%s has %zu input%s and %zu output%s, the sound %zu channel%s: choose channels for its "
        "inputs, such as @map=%s (0: silence)%s",
        info->id, inputs, inputs == 1 ? "" : "s", outputs, outputs == 1 ? "" : "s", channels,
        channels == 1 ? "" : "s", list, channels % inputs ? "" : ", or @map=each");
}

static enum status lay_list(struct plugin_map *map, const struct plugin_info *info, size_t channels,
                            const char *text)
{
    size_t width = plugin_instances_inputs(info), count = 1;
    for (const char *at = text; *at; at++)
        count += *at == ':';
    if (width == 0 || count % width || count > INPUTS_MOST)
        return fail(STATUS_USAGE,
                    "@map=%s names %zu channels: %s has %zu inputs, and each needs one", text,
                    count, info->id, width);
    TRY(make(map, count / width, count, plugin_instances_outputs(info)));
    const char *at = text;
    for (size_t i = 0; i < count; i++) {
        char *end;
        unsigned long channel = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || (*end && *end != ':') || channel > channels)
            return fail(STATUS_USAGE,
                        "@map= is each, or channels from 1 to %zu for the plugin's inputs, 0 for "
                        "silence, such as 1:2, not '%s'",
                        channels, text);
        map->inputs[i] = channel ? channel - 1 : PLUGIN_MAP_SILENCE;
        at = end + 1;
    }
    return STATUS_OK;
}

static enum status lay_by_width(struct plugin_map *map, const struct plugin_info *info,
                                size_t channels, bool each)
{
    size_t inputs = plugin_instances_inputs(info), outputs = plugin_instances_outputs(info);
    size_t instances = 1, count = inputs;
    if (inputs > 0 && inputs != channels && !(inputs == 2 && channels == 1 && !each)) {
        if (channels % inputs || (!each && (inputs != 1 || outputs != 1)))
            return fail_counts(info, channels);
        instances = channels / inputs;
        count = channels;
    }
    TRY(make(map, instances, count, outputs));
    for (size_t i = 0; i < count; i++)
        map->inputs[i] = i % channels;
    return STATUS_OK;
}

/* For a plugin without outputs. */
static enum status lay_beside(struct plugin_map *map, const struct plugin_info *info,
                              size_t channels)
{
    TRY(make(map, 1, plugin_instances_inputs(info), 0));
    for (size_t i = 0; i < map->count; i++)
        map->inputs[i] = i < channels ? i : PLUGIN_MAP_SILENCE;
    return STATUS_OK;
}

enum status plugin_map_init(struct plugin_map *map, const struct plugin_info *info, size_t channels,
                            const char *text)
{
    *map = (struct plugin_map){0};
    bool each = text && strcmp(text, "each") == 0, beside = plugin_instances_outputs(info) == 0;
    TRY(text && !each ? lay_list(map, info, channels, text)
        : beside      ? lay_beside(map, info, channels)
                      : lay_by_width(map, info, channels, each));
    if (beside) {
        map->is_beside = true;
        map->outputs = channels;
    }
    return STATUS_OK;
}

void plugin_map_free(struct plugin_map *map)
{
    free(map->inputs);
    *map = (struct plugin_map){0};
}
