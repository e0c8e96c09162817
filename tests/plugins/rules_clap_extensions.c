/* The extensions of the plugins of rules_clap.c, and their presets. */
#include "rules_clap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rules *rules_of(const struct clap_plugin *plugin)
{
    return plugin->plugin_data;
}

/* ---- parameters: the ids are 100 and up ---- */

static uint32_t count_parameters(const struct clap_plugin *plugin)
{
    rules_on(rules_of(plugin), true);
    return rules_of(plugin)->deed == RULES_MANY_PARAMETERS ? UINT32_MAX : RULES_VALUES;
}

static const struct {
    const char *name, *module;
    uint32_t flags;
    double minimum, maximum, initial;
} about[RULES_VALUES] = {
    [RULES_GAIN] = {"Gain", "Output/Level", CLAP_PARAM_IS_AUTOMATABLE, -60, 20, 0},
    [RULES_MODE] = {"Mode", "", CLAP_PARAM_IS_STEPPED | CLAP_PARAM_IS_ENUM, 0, 2, 0},
    [RULES_DELAY] = {"Delay", "", CLAP_PARAM_IS_STEPPED, 0, 1000, 0},
    [RULES_FREQUENCY] = {"Frequency", "", 0, 20, 20000, 1000},
    [RULES_PEAK] = {"Peak", "", CLAP_PARAM_IS_READONLY, 0, 100, 0},
};

static bool describe_parameter(const struct clap_plugin *plugin, uint32_t index,
                               struct clap_param_info *info)
{
    struct rules *rules = rules_of(plugin);
    rules_on(rules, true);
    rules_check(index < RULES_VALUES, "get_info() within count()");
    *info = (struct clap_param_info){.id = 100 + index,
                                     .flags = about[index].flags,
                                     .cookie = &rules->values[index],
                                     .min_value = about[index].minimum,
                                     .max_value = about[index].maximum,
                                     .default_value = about[index].initial};
    snprintf(info->name, sizeof info->name, "%s", about[index].name);
    snprintf(info->module, sizeof info->module, "%s", about[index].module);
    if (rules->deed == RULES_LONG_NAMES) {
        memset(info->name, 'n', sizeof info->name);
        memset(info->module, 'm', sizeof info->module);
    }
    if (rules->deed == RULES_NO_RANGE)
        info->min_value = NAN;
    if (rules->deed == RULES_REVERSED_RANGE)
        info->min_value = about[index].maximum + 1;
    if (rules->deed == RULES_FAR_DEFAULT && index == RULES_GAIN)
        info->default_value = 1e9;
    return true;
}

static bool get_value(const struct clap_plugin *plugin, uint32_t id, double *value)
{
    rules_on(rules_of(plugin), true);
    rules_check(id >= 100 && id < 100 + RULES_VALUES, "the id of a parameter");
    *value = rules_of(plugin)->values[id - 100];
    return true;
}

static bool value_to_text(const struct clap_plugin *plugin, uint32_t id, double value, char *text,
                          uint32_t size)
{
    static const char *const modes[] = {"Soft", "Hard", "Wire, bare"};
    rules_on(rules_of(plugin), true);
    if (rules_of(plugin)->deed == RULES_LONG_NAMES)
        memset(text, 't', size);
    else if (id == 100 + RULES_MODE)
        snprintf(text, size, "%s", modes[(int)value]);
    else if (id == 100 + RULES_FREQUENCY)
        snprintf(text, size, value < 1000 ? "%.0f Hz" : "%.1f kHz",
                 value < 1000 ? value : value / 1000);
    else
        snprintf(text, size, "%.2f %s", value, id == 100 + RULES_DELAY ? "samples" : "dB");
    return true;
}

static bool text_to_value(const struct clap_plugin *plugin, uint32_t id, const char *text,
                          double *value)
{
    (void)plugin, (void)id;
    *value = atof(text);
    return true;
}

/* Those from the index `first` up to a frame; returns the index of the next one. */
uint32_t rules_take_events(struct rules *rules, const struct clap_input_events *events,
                           uint32_t first, uint32_t frame)
{
    uint32_t count = events->size(events), time = 0, i = first;
    for (; i < count; i++) {
        const struct clap_event_header *header = events->get(events, i);
        rules_check(header->time >= time && header->time < rules->most, "events sorted by time");
        time = header->time;
        if (time > frame)
            break;
        if (header->type != CLAP_EVENT_PARAM_VALUE)
            continue;
        const struct clap_event_param_value *event = (const struct clap_event_param_value *)header;
        uint32_t index = event->param_id - 100;
        rules_check(index < RULES_VALUES && event->cookie == &rules->values[index], "cookies");
        rules_check(event->value >= about[index].minimum && event->value <= about[index].maximum,
                    "values within the range");
        rules->values[index] = event->value;
    }
    return i;
}

static void flush(const struct clap_plugin *plugin, const struct clap_input_events *in,
                  const struct clap_output_events *out)
{
    struct rules *rules = rules_of(plugin);
    (void)out;
    rules_on(rules, !rules->is_active);
    rules->most += rules->is_active ? 0 : 1;
    rules_take_events(rules, in, 0, UINT32_MAX);
}

/* ---- ports, latency, tail ---- */

static uint32_t count_ports(const struct clap_plugin *plugin, bool is_input)
{
    enum rules_deed deed = rules_of(plugin)->deed;
    rules_on(rules_of(plugin), true);
    if (deed == RULES_MANY_PORTS)
        return UINT32_MAX;
    if (deed == RULES_INSTRUMENT && is_input)
        return 0;
    return (deed == RULES_SIDE_CHAIN && is_input) || (deed == RULES_TWO_OUTPUTS && !is_input) ? 2
                                                                                              : 1;
}

static bool describe_port(const struct clap_plugin *plugin, uint32_t index, bool is_input,
                          struct clap_audio_port_info *info)
{
    rules_on(rules_of(plugin), true);
    rules_check(index < count_ports(plugin, is_input), "get() within count()");
    bool is_mono = index == 1 && is_input;
    *info = (struct clap_audio_port_info){.id = index,
                                          .flags = index ? 0 : CLAP_AUDIO_PORT_IS_MAIN,
                                          .channel_count = is_mono ? 1 : RULES_CHANNELS,
                                          .port_type = is_mono ? CLAP_PORT_MONO : CLAP_PORT_STEREO,
                                          .in_place_pair = CLAP_INVALID_ID};
    snprintf(info->name, sizeof info->name, "%s", index ? "Beside" : "Main");
    if (rules_of(plugin)->deed == RULES_DOUBLE)
        info->flags |= CLAP_AUDIO_PORT_SUPPORTS_64BITS | CLAP_AUDIO_PORT_PREFERS_64BITS |
                       CLAP_AUDIO_PORT_REQUIRES_COMMON_SAMPLE_SIZE;
    return true;
}

static uint32_t count_note_ports(const struct clap_plugin *plugin, bool is_input)
{
    rules_on(rules_of(plugin), true);
    return is_input;
}

static bool describe_note_port(const struct clap_plugin *plugin, uint32_t index, bool is_input,
                               struct clap_note_port_info *info)
{
    rules_on(rules_of(plugin), true);
    *info = (struct clap_note_port_info){.supported_dialects = CLAP_NOTE_DIALECT_MIDI,
                                         .preferred_dialect = CLAP_NOTE_DIALECT_MIDI};
    return is_input && index == 0;
}

static uint32_t get_latency(const struct clap_plugin *plugin)
{
    rules_on(rules_of(plugin), true);
    return rules_of(plugin)->latency;
}

static uint32_t get_tail(const struct clap_plugin *plugin)
{
    return rules_of(plugin)->deed == RULES_ENDLESS ? (uint32_t)INT32_MAX : RULES_ECHO;
}

/* ---- state: in pieces of 3 bytes ---- */

static bool save_state(const struct clap_plugin *plugin, const struct clap_ostream *stream)
{
    struct rules *rules = rules_of(plugin);
    const char *bytes = (const char *)rules->values;
    rules_on(rules, true);
    if (rules->deed == RULES_STATE_FALSE)
        return false;
    for (size_t at = 0; at < sizeof rules->values;) {
        size_t left = sizeof rules->values - at;
        int64_t some = stream->write(stream, bytes + at, left < 3 ? left : 3);
        if (some <= 0)
            return false;
        at += (size_t)some;
    }
    return true;
}

static bool load_state(const struct clap_plugin *plugin, const struct clap_istream *stream)
{
    struct rules *rules = rules_of(plugin);
    double values[RULES_VALUES];
    rules_on(rules, true);
    size_t at = 0;
    for (int64_t some = 1; some > 0 && at < sizeof values; at += some > 0 ? (size_t)some : 0)
        some = stream->read(stream, (char *)values + at, sizeof values - at < 3 ? 1 : 3);
    if (at != sizeof values || !isfinite(values[RULES_GAIN])) {
        const struct clap_host_log *log = rules->host->get_extension(rules->host, CLAP_EXT_LOG);
        log->log(rules->host, CLAP_LOG_ERROR, "the state has no gain");
        return false;
    }
    memcpy(rules->values, values, sizeof values);
    return true;
}

/* ---- presets ---- */

static bool load_preset(const struct clap_plugin *plugin, uint32_t kind, const char *location,
                        const char *key)
{
    struct rules *rules = rules_of(plugin);
    const struct clap_host_preset_load *host =
        rules->host->get_extension(rules->host, CLAP_EXT_PRESET_LOAD);
    rules_on(rules, true);
    double gain = 0;
    FILE *file = kind == CLAP_PRESET_DISCOVERY_LOCATION_FILE ? fopen(location, "r") : NULL;
    bool loaded = file ? fscanf(file, "%lf", &gain) == 1 : key && strcmp(key, "half") == 0;
    if (file)
        fclose(file);
    else
        gain = -6;
    if (!loaded) {
        host->on_error(rules->host, kind, location, key, 0, "the preset is broken");
        return false;
    }
    rules->values[RULES_GAIN] = gain;
    host->loaded(rules->host, kind, location, key);
    return true;
}

const void *rules_extension(const struct clap_plugin *plugin, const char *id)
{
    static const struct clap_plugin_params params = {
        count_parameters, describe_parameter, get_value, value_to_text, text_to_value, flush};
    static const struct clap_plugin_audio_ports ports = {count_ports, describe_port};
    static const struct clap_plugin_latency latency = {get_latency};
    static const struct clap_plugin_tail tail = {get_tail};
    static const struct clap_plugin_state state = {save_state, load_state};
    static const struct clap_plugin_preset_load presets = {load_preset};
    enum rules_deed deed = rules_of(plugin)->deed;
    static const struct clap_plugin_note_ports notes = {count_note_ports, describe_note_port};
    if (strcmp(id, CLAP_EXT_NOTE_PORTS) == 0)
        return deed == RULES_NOTES || deed == RULES_INSTRUMENT ? &notes : NULL;
    bool has_tail = deed == RULES_TAIL || deed == RULES_ENDLESS;
    if (strcmp(id, CLAP_EXT_TAIL) == 0)
        return has_tail ? &tail : NULL;
    return strcmp(id, CLAP_EXT_PARAMS) == 0        ? &params
           : strcmp(id, CLAP_EXT_AUDIO_PORTS) == 0 ? &ports
           : strcmp(id, CLAP_EXT_LATENCY) == 0     ? &latency
           : strcmp(id, CLAP_EXT_STATE) == 0       ? &state
           : strcmp(id, CLAP_EXT_PRESET_LOAD) == 0 ? (const void *)&presets
                                                   : NULL;
}

static const struct clap_preset_discovery_indexer *indexer;

static bool init_provider(const struct clap_preset_discovery_provider *provider)
{
    (void)provider;
    const struct clap_preset_discovery_filetype type = {.name = "rules", .file_extension = "rules"};
    const struct clap_preset_discovery_location inside = {
        .name = "built in", .kind = CLAP_PRESET_DISCOVERY_LOCATION_PLUGIN};
    const char *folder = getenv("RULES_PRESETS");
    const struct clap_preset_discovery_location files = {
        .name = "files", .kind = CLAP_PRESET_DISCOVERY_LOCATION_FILE, .location = folder};
    return indexer->declare_filetype(indexer, &type) &&
           indexer->declare_location(indexer, &inside) &&
           (!folder || indexer->declare_location(indexer, &files));
}

static void destroy_provider(const struct clap_preset_discovery_provider *provider)
{
    (void)provider;
}

static bool get_metadata(const struct clap_preset_discovery_provider *provider, uint32_t kind,
                         const char *location,
                         const struct clap_preset_discovery_metadata_receiver *receiver)
{
    static const struct clap_universal_plugin_id keep = {"clap", "org.halo.test.keep"};
    static const struct clap_universal_plugin_id other = {"clap", "org.halo.test.other"};
    static const char *const inside[] = {"half", "broken", "foreign"};
    (void)provider, (void)location;
    if (kind == CLAP_PRESET_DISCOVERY_LOCATION_FILE) {
        receiver->begin_preset(receiver, NULL, NULL);
        receiver->add_plugin_id(receiver, &keep);
        return true;
    }
    for (size_t i = 0; i < 3; i++) {
        receiver->begin_preset(receiver, inside[i], inside[i]);
        receiver->add_plugin_id(receiver, i == 2 ? &other : &keep);
    }
    return true;
}

static const void *no_extension(const struct clap_preset_discovery_provider *provider,
                                const char *id)
{
    (void)provider, (void)id;
    return NULL;
}

static const struct clap_preset_discovery_provider_descriptor provider_about = {
    CLAP_VERSION_INIT, "org.halo.test.presets", "presets", NULL};

static uint32_t count_providers(const struct clap_preset_discovery_factory *factory)
{
    (void)factory;
    return 1;
}

static const struct clap_preset_discovery_provider_descriptor *
describe_provider(const struct clap_preset_discovery_factory *factory, uint32_t index)
{
    (void)factory;
    return index == 0 ? &provider_about : NULL;
}

static const struct clap_preset_discovery_provider *
create_provider(const struct clap_preset_discovery_factory *factory,
                const struct clap_preset_discovery_indexer *to, const char *id)
{
    static const struct clap_preset_discovery_provider provider = {
        &provider_about, NULL, init_provider, destroy_provider, get_metadata, no_extension};
    (void)factory, (void)id;
    indexer = to;
    return &provider;
}

const void *rules_presets(void)
{
    static const struct clap_preset_discovery_factory factory = {count_providers, describe_provider,
                                                                 create_provider};
    return &factory;
}
