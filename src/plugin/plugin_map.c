#include "plugin/plugin_map.h"

#include "base/plural.h"
#include "base/realtime.h"
#include "plugin/plugin_instances.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { INPUTS_MOST = 1024, SUGGESTED_MOST = 16 };

/* Channels, from 0, or PLUGIN_MAP_SILENCE. */
struct channel_list {
    size_t count;
    size_t channels[INPUTS_MOST];
};

/* The channels for the inputs of all instances, with and without side chains. */
struct plan {
    const struct plugin_info *info;
    size_t channels; /* channels of the sound */
    size_t instances;
    struct channel_list main, side;
};

/* Suggest a map such as "1:2:0:0": every channel once, and silence for the other inputs. */
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
        CAUSE_UNSUPPORTED,
        "%s has %zu input%s and %zu output%s, the sound %zu channel%s: choose channels for its "
        "inputs, such as @map=%s (0: silence)%s",
        info->id, inputs, plural_s(inputs), outputs, plural_s(outputs), channels,
        plural_s(channels), list, channels % inputs ? "" : ", or @map=each");
}

static enum status read_list(const char *option, const char *text, size_t channels,
                             struct channel_list *list)
{
    for (const char *at = text;; at++) {
        char *end;
        unsigned long channel = strtoul(at, &end, 10);
        if (*at < '0' || *at > '9' || (*end && *end != ':') || channel > channels)
            return fail(
                CAUSE_USAGE, "%s is %schannels from 1 to %zu, 0 for silence, such as 1:2, not '%s'",
                option, strcmp(option, "@map=") == 0 ? "each, or " : "a file, or ", channels, text);
        if (list->count == INPUTS_MOST)
            return fail(CAUSE_USAGE, "%s names more than %d channels", option, INPUTS_MOST);
        list->channels[list->count++] = channel ? channel - 1 : PLUGIN_MAP_SILENCE;
        at = end;
        if (!*at)
            return STATUS_OK;
    }
}

static enum status lay_list(struct plan *plan, const char *text)
{
    size_t width = plugin_instances_inputs(plan->info);
    TRY(read_list("@map=", text, plan->channels, &plan->main));
    const struct channel_list *main = &plan->main;
    char more[6 * SUGGESTED_MOST] = ""; /* the first channels, repeated */
    for (size_t i = 0; width > 0 && (main->count + i) % width > 0 && i < SUGGESTED_MOST; i++) {
        size_t channel = main->channels[i % main->count], length = strlen(more);
        snprintf(more + length, sizeof more - length, ":%zu",
                 channel == PLUGIN_MAP_SILENCE ? 0 : channel + 1);
    }
    if (width == 0 || *more)
        return fail(CAUSE_USAGE,
                    "@map=%s names %zu channel%s: %s has %zu input%s, and each needs one, such as "
                    "@map=%s%s",
                    text, main->count, plural_s(main->count), plan->info->id, width,
                    plural_s(width), text, more);
    plan->instances = plan->main.count / width;
    return STATUS_OK;
}

/* List the channels of the sound that no side chain reads. */
static enum status list_free_channels(const struct plan *plan, struct channel_list *list)
{
    for (size_t c = 0; c < plan->channels; c++) {
        bool is_taken = false;
        for (size_t i = 0; i < plan->side.count; i++)
            is_taken |= plan->side.channels[i] == c;
        if (!is_taken && list->count < INPUTS_MOST)
            list->channels[list->count++] = c;
    }
    if (list->count == 0)
        return fail(CAUSE_USAGE, "@sidechain= names all channels of the sound: choose those of "
                                 "the inputs with @map=");
    return STATUS_OK;
}

static enum status lay_by_width(struct plan *plan, bool each)
{
    struct channel_list sound = {0};
    TRY(list_free_channels(plan, &sound));
    size_t inputs = plugin_instances_inputs(plan->info), channels = sound.count;
    size_t outputs = plugin_instances_outputs(plan->info);
    plan->main.count = inputs;
    if (inputs > 0 && inputs != channels && !(inputs == 2 && channels == 1 && !each)) {
        if (channels % inputs || (!each && (inputs != 1 || outputs != 1)))
            return fail_counts(plan->info, channels);
        plan->instances = channels / inputs;
        plan->main.count = channels;
    }
    for (size_t i = 0; i < plan->main.count && i < INPUTS_MOST; i++)
        plan->main.channels[i] = sound.channels[i % channels];
    return STATUS_OK;
}

/* Plan for a plugin without outputs, beside which the sound passes. */
static void lay_beside(struct plan *plan)
{
    plan->main.count = plugin_instances_inputs(plan->info);
    for (size_t i = 0; i < plan->main.count && i < INPUTS_MOST; i++)
        plan->main.channels[i] = i < plan->channels ? i : PLUGIN_MAP_SILENCE;
}

static enum status read_side(struct plan *plan, const struct plugin_map_settings *settings)
{
    if (settings->side_chain)
        return read_list("@sidechain=", settings->side_chain, plan->channels, &plan->side);
    for (size_t c = 0; c < settings->side_channels && c < INPUTS_MOST; c++)
        plan->side.channels[plan->side.count++] = plan->channels + c;
    return STATUS_OK;
}

static enum status check_side(const struct plan *plan)
{
    size_t ports = plugin_instances_side_chains(plan->info) * plan->instances;
    if (plan->side.count == 0)
        return STATUS_OK;
    if (ports == 0)
        return fail(CAUSE_USAGE,
                    "%s declares no side chain for @sidechain=; @map= chooses what "
                    "its inputs hear",
                    plan->info->id);
    if (ports % plan->side.count)
        return fail(CAUSE_USAGE,
                    "@sidechain= has %zu channels, but the side chains of %s have %zu inputs",
                    plan->side.count, plan->info->id, ports);
    return STATUS_OK;
}

/* Fill in the map: inputs in the order of the ports of each instance. */
static enum status make(struct plugin_map *map, const struct plan *plan)
{
    const struct plugin_info *info = plan->info;
    size_t main = 0, side = 0;
    map->instances = plan->instances;
    map->outputs = plan->instances * plugin_instances_outputs(info);
    map->count = plan->main.count + plan->instances * plugin_instances_side_chains(info);
    map->inputs = calloc(map->count + 1, sizeof *map->inputs);
    if (!map->inputs)
        return fail_memory("a plugin");
    for (size_t i = 0, port = 0; i < map->count; port = (port + 1) % info->port_count) {
        const struct plugin_port *one = &info->ports[port];
        if (one->type != PLUGIN_AUDIO || !one->is_input)
            continue;
        if (!one->is_side_chain)
            map->inputs[i++] = plan->main.channels[main++];
        else
            map->inputs[i++] = plan->side.count ? plan->side.channels[side++ % plan->side.count]
                                                : PLUGIN_MAP_SILENCE;
    }
    return STATUS_OK;
}

static enum status lay(struct plan *plan, const struct plugin_map_settings *settings)
{
    bool each = settings->map && strcmp(settings->map, "each") == 0;
    TRY(read_side(plan, settings));
    if (settings->map && !each)
        TRY(lay_list(plan, settings->map));
    else if (plugin_instances_outputs(plan->info) == 0)
        lay_beside(plan);
    else
        TRY(lay_by_width(plan, each));
    if (plan->main.count > INPUTS_MOST)
        return fail(CAUSE_UNSUPPORTED, "%s would have %zu inputs, more than %d", plan->info->id,
                    plan->main.count, INPUTS_MOST);
    return check_side(plan);
}

enum status plugin_map_init(struct plugin_map *map, const struct plugin_info *info, size_t channels,
                            const struct plugin_map_settings *settings)
{
    *map = (struct plugin_map){0};
    struct plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return fail_memory("a plugin");
    *plan = (struct plan){.info = info, .channels = channels, .instances = 1};
    enum status status = lay(plan, settings);
    if (status == STATUS_OK)
        status = make(map, plan);
    free(plan);
    map->has_side_chain = settings->side_chain || settings->side_channels > 0;
    if (status == STATUS_OK && plugin_instances_outputs(info) == 0) {
        map->is_beside = true;
        map->outputs = channels;
    }
    return status;
}

void plugin_map_free(struct plugin_map *map)
{
    free(map->inputs);
    *map = (struct plugin_map){0};
}

/* ---- side chains ---- */

enum { CHUNK = 4096 }; /* frames read at a time */

bool plugin_side_chain_is_list(const char *text)
{
    return text[strspn(text, "0123456789:")] == '\0';
}

/* The file must be regular, since a render that starts again reads it again. */
static enum status check_regular(const char *path)
{
    struct stat entry;
    if (stat(path, &entry) != 0)
        return fail_errno(errno, "cannot open %s", path);
    if (!S_ISREG(entry.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot open %s: a side chain is a regular file", path);
    return STATUS_OK;
}

static enum status check_samples_of(const struct source *source, float *const *samples,
                                    size_t frames)
{
    for (size_t c = 0; c < source->format.channels; c++)
        if (audio_find_nonfinite(samples[c], frames) < frames)
            return fail(CAUSE_DAMAGED, "cannot use %s as a side chain: a sample is not a number",
                        source->name);
    return STATUS_OK;
}

static void silence_from(const struct plugin_side_chain *side, float *const *to, size_t frame,
                         size_t frames)
{
    for (size_t c = 0; c < side->channels; c++)
        memset(to[c] + frame, 0, (frames - frame) * sizeof(float));
}

static enum status copy(struct source *source, struct sink *sink, const struct block *chunk)
{
    for (size_t got = CHUNK; got == CHUNK;) {
        TRY(source_read(source, chunk->data, CHUNK, &got));
        TRY(check_samples_of(source, chunk->data, got));
        TRY(sink_write(sink, (const float *const *)chunk->data, got));
    }
    return STATUS_OK;
}

static enum status load(struct plugin_side_chain *side, struct source *source)
{
    struct block chunk;
    TRY(block_init(&chunk, side->channels, CHUNK, "a side chain"));
    enum status status = sink_open_memory(side->channels, &side->memory);
    if (status == STATUS_OK)
        status = copy(source, side->memory, &chunk);
    block_free(&chunk);
    if (status == STATUS_OK)
        side->sound = sink_memory(side->memory);
    return status;
}

HALO_REALTIME static void read_memory(struct plugin_side_chain *side, int64_t position,
                                      size_t frames, float *const *to)
{
    const struct block *sound = side->sound;
    int64_t length = (int64_t)sound->frames, end = position + (int64_t)frames;
    int64_t from = position < 0 ? 0 : position, until = end < length ? end : length;
    for (size_t c = 0; c < sound->channels; c++) {
        memset(to[c], 0, frames * sizeof(float));
        if (from < until)
            memcpy(to[c] + (from - position), sound->data[c] + from,
                   (size_t)(until - from) * sizeof(float));
    }
}

static enum status read_on(struct plugin_side_chain *side, uint64_t position, size_t frames,
                           float *const *to, size_t *got)
{
    if (side->next != position)
        TRY(source_seek(side->source, position));
    side->next = position;
    TRY(source_read(side->source, to, frames, got));
    side->next += *got;
    if (*got < frames)
        side->end = side->next;
    return check_samples_of(side->source, to, *got);
}

/* Read from the file. After its end was reached, it is not read any more. */
static void read_source(struct plugin_side_chain *side, int64_t position, size_t frames,
                        float *const *to)
{
    size_t late = position < 0 ? (size_t)-position : 0, got = 0;
    silence_from(side, to, 0, frames);
    uint64_t from = position < 0 ? 0 : (uint64_t)position;
    if (late >= frames || from >= side->end)
        return;
    for (size_t c = 0; c < side->channels; c++)
        side->rest[c] = to[c] + late;
    const struct log_keeper before = log_keep_in(side->failure, sizeof side->failure);
    side->has_failed = read_on(side, from, frames - late, side->rest, &got) != STATUS_OK;
    log_keep_again(&before);
    if (side->has_failed)
        silence_from(side, to, 0, frames);
}

static enum status open_file(struct plugin_side_chain *side, uint32_t rate, bool allow_truncated)
{
    TRY(check_regular(side->text));
    TRY(source_open_sound(side->text, allow_truncated, &side->source));
    side->channels = side->source->format.channels;
    if (side->source->format.rate == rate)
        return STATUS_OK;
    struct source *inner = side->source;
    side->source = NULL; /* now owned by the resampler */
    return source_open_resampled(inner, rate, &side->source);
}

enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text, uint32_t rate,
                                   bool allow_truncated, bool live)
{
    plugin_side_chain_close(side);
    side->text = text;
    if (plugin_side_chain_is_list(text))
        return STATUS_OK;
    TRY(open_file(side, rate, allow_truncated));
    side->read = read_source;
    side->end = UINT64_MAX;
    side->rest = calloc(side->channels, sizeof *side->rest);
    if (!side->rest)
        return fail_memory("a side chain");
    if (!live && side->source->seekable)
        return STATUS_OK;
    side->read = read_memory;
    TRY(load(side, side->source));
    source_close(side->source);
    side->source = NULL;
    return STATUS_OK;
}

void plugin_side_chain_close(struct plugin_side_chain *side)
{
    sink_close(side->memory);
    source_close(side->source);
    free(side->rest);
    *side = (struct plugin_side_chain){0};
}

HALO_REALTIME const char *plugin_side_chain_read(struct plugin_side_chain *side, int64_t position,
                                                 size_t frames, float *const *to)
{
    if (!side->has_failed)
        side->read(side, position, frames, to);
    return side->has_failed ? side->failure : NULL;
}
