#include "rules_clap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[RULES_DEEDS] = {
    [RULES_KEEP] = "keep",
    [RULES_TAIL] = "tail",
    [RULES_ENDLESS] = "endless",
    [RULES_SIDE_CHAIN] = "side-chain",
    [RULES_TWO_OUTPUTS] = "two-outputs",
    [RULES_INIT_FALSE] = "init-false",
    [RULES_INIT_CRASH] = "init-crash",
    [RULES_CREATE_NULL] = "create-null",
    [RULES_INCOMPLETE] = "incomplete",
    [RULES_ACTIVATE_FALSE] = "activate-false",
    [RULES_START_FALSE] = "start-false",
    [RULES_ERROR] = "error",
    [RULES_NAN] = "nan",
    [RULES_WRONG_THREAD] = "wrong-thread",
    [RULES_CALLBACK] = "callback",
    [RULES_RESCAN] = "rescan",
    [RULES_MANY_PARAMETERS] = "many-parameters",
    [RULES_MANY_PORTS] = "many-ports",
    [RULES_NO_RANGE] = "no-range",
    [RULES_REVERSED_RANGE] = "reversed-range",
    [RULES_FAR_DEFAULT] = "far-default",
    [RULES_LONG_NAMES] = "long-names",
    [RULES_STATE_FALSE] = "state-false",
    [RULES_NOTES] = "notes",
    [RULES_INSTRUMENT] = "instrument",
    [RULES_TIMER] = "timer",
    [RULES_EARLY] = "early",
    [RULES_DOUBLE] = "double",
};

const char *rules_name(enum rules_deed deed)
{
    return names[deed];
}

void rules_check(bool kept, const char *rule)
{
    if (kept)
        return;
    fprintf(stderr, "the host breaks a rule: %s\n", rule);
    abort();
}

void rules_on(const struct rules *rules, bool on_main)
{
    bool is_main = rules->threads->is_main_thread(rules->host);
    bool is_audio = rules->threads->is_audio_thread(rules->host);
    rules_check(is_main == on_main && is_audio == !on_main, "main thread and audio thread");
}

static struct rules *rules_of(const struct clap_plugin *plugin)
{
    return plugin->plugin_data;
}

/* ---- a life ---- */

static bool init(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    rules_check(rules->host->clap_version.major >= 1, "the version of the host");
    rules->threads = rules->host->get_extension(rules->host, CLAP_EXT_THREAD_CHECK);
    rules_check(rules->threads != NULL, "thread-check");
    rules_on(rules, true);
    rules_check(!rules->is_initialised, "init() once");
    if (rules->deed == RULES_INIT_CRASH)
        *(volatile int *)(uintptr_t)(rules->most + 64) = 1; /* aligned, for sanitizers */
    if (rules->deed == RULES_TIMER) {
        rules_check(!rules->host->get_extension(rules->host, "clap.timer-support"), "no timers");
        rules_check(!rules->host->get_extension(rules->host, "clap.posix-fd-support"), "no files");
    }
    rules->is_initialised = rules->deed != RULES_INIT_FALSE;
    return rules->is_initialised;
}

static void destroy(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    rules_check(!rules->is_active, "deactivate() before destroy()");
    if (rules->is_initialised)
        rules_on(rules, true);
    free(rules);
}

static bool activate(const struct clap_plugin *plugin, double rate, uint32_t least, uint32_t most)
{
    struct rules *rules = rules_of(plugin);
    rules_on(rules, true);
    rules_check(!rules->is_active && rate > 0 && least >= 1 && most >= least, "activate()");
    if (rules->deed == RULES_ACTIVATE_FALSE)
        return false;
    rules->is_active = true;
    rules->most = most;
    rules->rate = rate;
    rules->song_next = 0;
    rules->latency = (uint32_t)rules->values[RULES_DELAY];
    memset(rules->rings, 0, sizeof rules->rings);
    return true;
}

static void deactivate(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    rules_on(rules, true);
    rules_check(rules->is_active && !rules->is_processing, "deactivate()");
    rules->is_active = false;
}

static bool start_processing(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    rules_on(rules, false);
    rules_check(rules->is_active && !rules->is_processing, "start_processing()");
    rules->is_processing = rules->deed != RULES_START_FALSE;
    return rules->is_processing;
}

static void stop_processing(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    rules_on(rules, false);
    rules_check(rules->is_processing, "stop_processing()");
    rules->is_processing = false;
}

static void reset(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    rules_on(rules, false);
    rules_check(rules->is_active, "reset()");
    memset(rules->rings, 0, sizeof rules->rings);
}

static void on_main_thread(const struct clap_plugin *plugin)
{
    struct rules *rules = rules_of(plugin);
    const struct clap_host_params *params =
        rules->host->get_extension(rules->host, CLAP_EXT_PARAMS);
    rules_on(rules, true);
    rules_check(params != NULL, "the host has parameters");
    if (rules->deed == RULES_CALLBACK) {
        rules->values[RULES_GAIN] = -20;
        params->rescan(rules->host, CLAP_PARAM_RESCAN_VALUES);
    } else if (rules->deed == RULES_RESCAN) {
        params->rescan(rules->host, CLAP_PARAM_RESCAN_ALL);
    }
}

/* ---- a block ---- */

static void call_from_wrong_thread(const struct rules *rules)
{
    const struct clap_host *host = rules->host;
    const struct clap_host_params *params = host->get_extension(host, CLAP_EXT_PARAMS);
    const struct clap_host_state *state = host->get_extension(host, CLAP_EXT_STATE);
    params->rescan(host, CLAP_PARAM_RESCAN_ALL);
    state->mark_dirty(host);
}

static float run_frame(struct rules *rules, uint32_t channel, uint32_t frame, float sample)
{
    float *ring = rules->rings[channel];
    uint32_t now = (rules->at + frame) % RULES_RING;
    ring[now] = sample;
    float delayed = ring[(now + RULES_RING - rules->latency) % RULES_RING];
    if (rules->deed == RULES_TAIL)
        delayed += 0.5F * ring[(now + RULES_RING - RULES_ECHO) % RULES_RING];
    return rules->deed == RULES_NAN ? NAN
                                    : delayed * (float)pow(10, rules->values[RULES_GAIN] / 20);
}

static void report_peak(struct rules *rules, const struct clap_output_events *out)
{
    const struct clap_event_param_value event = {
        .header = {.size = sizeof event, .type = CLAP_EVENT_PARAM_VALUE},
        .param_id = 100 + RULES_PEAK,
        .value = rules->values[RULES_PEAK],
    };
    out->try_push(out, &event.header);
}

static void run_channel(struct rules *rules, const struct clap_process *process, uint32_t channel,
                        uint32_t i)
{
    const struct clap_audio_buffer *in = &process->audio_inputs[0], *out = process->audio_outputs;
    bool is_double = rules->deed == RULES_DOUBLE;
    rules_check(!in->data64 == !is_double && !in->data32 == is_double &&
                    !out->data64 == !is_double && !out->data32 == is_double,
                "64 bits for all ports that prefer them");
    if (is_double) {
        out->data64[channel][i] = in->data64[channel][i] * pow(10, rules->values[RULES_GAIN] / 20);
        return;
    }
    float sample = run_frame(rules, channel, i, in->data32[channel][i]);
    if (rules->deed == RULES_SIDE_CHAIN)
        sample += process->audio_inputs[1].data32[0][i];
    out->data32[channel][i] = sample;
    rules->values[RULES_PEAK] = fmax(rules->values[RULES_PEAK], fabs((double)sample));
}

/* RULES_TEMPO says what the transport should have: quarter notes a minute, beats and unit of a bar;
 * without it there is none. The position goes on from block to block. */
static void check_transport(struct rules *rules, const struct clap_process *process)
{
    const struct clap_event_transport *transport = process->transport;
    const char *wanted = getenv("RULES_TEMPO");
    double tempo, seconds, beats, bar;
    unsigned number, unit;
    rules_check(!transport == !wanted, "a transport where there is a tempo");
    if (!wanted || sscanf(wanted, "%lf,%u/%u", &tempo, &number, &unit) != 3)
        return;
    seconds = (double)transport->song_pos_seconds / 0x1p31;
    beats = (double)transport->song_pos_beats / 0x1p31;
    bar = (double)transport->bar_start / 0x1p31;
    rules_check(transport->tempo == tempo && transport->tsig_num == number &&
                    transport->tsig_denom == unit,
                "tempo and time signature");
    rules_check(fabs(beats - seconds * tempo / 60) < 1e-6, "beats by the tempo");
    rules_check(bar <= beats + 1e-6 && beats < bar + 4.0 * number / unit + 1e-6, "the bar");
    rules_check(rules->song_next == 0 ||
                    fabs((double)(transport->song_pos_seconds - rules->song_next)) < 64,
                "a position that goes on");
    if (transport->flags & CLAP_TRANSPORT_IS_PLAYING)
        rules->song_next =
            transport->song_pos_seconds + llrint(process->frames_count / rules->rate * 0x1p31);
}

int32_t rules_process(const struct clap_plugin *plugin, const struct clap_process *process)
{
    struct rules *rules = rules_of(plugin);
    uint32_t before = (uint32_t)rules->values[RULES_DELAY];
    uint32_t inputs = rules->deed == RULES_SIDE_CHAIN ? 2 : 1;
    rules_on(rules, false);
    rules_check(rules->is_processing, "process() after start_processing()");
    rules_check(process->frames_count >= 1 && process->frames_count <= rules->most, "frames");
    rules_check(process->audio_inputs_count == inputs, "audio ports");
    check_transport(rules, process);
    if (rules->deed == RULES_WRONG_THREAD)
        call_from_wrong_thread(rules);
    uint32_t next = 0;
    for (uint32_t i = 0; i < process->frames_count; i++) {
        next = rules_take_events(rules, process->in_events, next,
                                 rules->deed == RULES_EARLY ? UINT32_MAX : i);
        for (uint32_t c = 0; c < RULES_CHANNELS; c++)
            run_channel(rules, process, c, i);
    }
    rules_check(next == process->in_events->size(process->in_events), "events within the block");
    for (uint32_t c = 0; rules->deed == RULES_TWO_OUTPUTS && c < RULES_CHANNELS; c++)
        memset(process->audio_outputs[1].data32[c], 0, process->frames_count * sizeof(float));
    rules->at += process->frames_count;
    report_peak(rules, process->out_events);
    if ((uint32_t)rules->values[RULES_DELAY] != before)
        rules->host->request_restart(rules->host);
    if (rules->deed == RULES_CALLBACK || rules->deed == RULES_RESCAN)
        rules->host->request_callback(rules->host);
    return rules->deed == RULES_ERROR ? CLAP_PROCESS_ERROR : CLAP_PROCESS_CONTINUE;
}

/* ---- the library ---- */

static struct clap_plugin_descriptor descriptors[RULES_DEEDS];
static char ids[RULES_DEEDS][64];
static size_t initialised;

/* One that crashes while it is described would take the others with it: it has its own library. */
static uint32_t count_plugins(const struct clap_plugin_factory *factory)
{
    (void)factory;
    return RULES_CRASHES ? 1 : RULES_DEEDS - 1;
}

static const struct clap_plugin_descriptor *
describe_plugin(const struct clap_plugin_factory *factory, uint32_t index)
{
    static const char *const features[] = {"audio-effect", "stereo", "utility", NULL};
    (void)factory;
    if (RULES_CRASHES)
        index = RULES_INIT_CRASH;
    if (index >= RULES_DEEDS)
        return NULL;
    snprintf(ids[index], sizeof ids[index], "org.halo.test.%s", names[index]);
    descriptors[index] = (struct clap_plugin_descriptor){.clap_version = CLAP_VERSION_INIT,
                                                         .id = ids[index],
                                                         .name = names[index],
                                                         .vendor = "halo's tests",
                                                         .features = features};
    return &descriptors[index];
}

static const struct clap_plugin *create_plugin(const struct clap_plugin_factory *factory,
                                               const struct clap_host *host, const char *id)
{
    for (uint32_t i = 0; i < RULES_DEEDS; i++) {
        const struct clap_plugin_descriptor *descriptor = describe_plugin(factory, i);
        if (strcmp(descriptor->id, id) != 0 || i == RULES_CREATE_NULL)
            continue;
        struct rules *rules = calloc(1, sizeof *rules);
        rules->host = host;
        rules->deed = RULES_CRASHES ? RULES_INIT_CRASH : (enum rules_deed)i;
        rules->values[RULES_FREQUENCY] = 1000;
        rules->plugin = (struct clap_plugin){
            .desc = descriptor,
            .plugin_data = rules,
            .init = init,
            .destroy = destroy,
            .activate = activate,
            .deactivate = deactivate,
            .start_processing = start_processing,
            .stop_processing = stop_processing,
            .reset = reset,
            .process = i == RULES_INCOMPLETE ? NULL : rules_process,
            .get_extension = rules_extension,
            .on_main_thread = on_main_thread,
        };
        return &rules->plugin;
    }
    return NULL;
}

/* The texts of the ids: halo loads only libraries that contain them. */
__attribute__((used)) static const char texts[] =
    "org.halo.test.keep org.halo.test.tail org.halo.test.endless "
    "org.halo.test.side-chain org.halo.test.two-outputs "
    "org.halo.test.init-false org.halo.test.init-crash "
    "org.halo.test.create-null org.halo.test.incomplete "
    "org.halo.test.activate-false org.halo.test.start-false "
    "org.halo.test.error org.halo.test.nan org.halo.test.wrong-thread "
    "org.halo.test.callback org.halo.test.rescan "
    "org.halo.test.many-parameters org.halo.test.many-ports "
    "org.halo.test.no-range org.halo.test.reversed-range "
    "org.halo.test.far-default org.halo.test.state-false "
    "org.halo.test.notes org.halo.test.instrument org.halo.test.timer org.halo.test.double "
    "org.halo.test.early";

static bool entry_init(const char *path)
{
    initialised++;
    return path && *path;
}

static void entry_deinit(void)
{
    rules_check(initialised-- > 0, "init() before deinit()");
}

static const void *get_factory(const char *id)
{
    static const struct clap_plugin_factory factory = {count_plugins, describe_plugin,
                                                       create_plugin};
    rules_check(initialised > 0, "init() before get_factory()");
    if (strcmp(id, CLAP_PRESET_DISCOVERY_FACTORY_ID) == 0)
        return rules_presets();
    return strcmp(id, CLAP_PLUGIN_FACTORY_ID) == 0 ? &factory : NULL;
}

extern const struct clap_plugin_entry clap_entry;
__attribute__((visibility("default"))) const struct clap_plugin_entry clap_entry = {
    CLAP_VERSION_INIT, entry_init, entry_deinit, get_factory};
