/* Creation, activation and end of a plugin, its ports, latency and tail: on the main thread, except
 * where it is said. */
#include "clap_effect.h"

#include "base/realtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIRST_RATE = 48000, /* Hz, until a host says which */
    WORK_QUEUED = 8,
};

/* ---- what the effect asks of the host ---- */

HALO_REALTIME static bool send_work(void *handle, const struct effect_work *work, size_t size)
{
    struct clap_effect *clap = handle;
    struct clap_effect_work item = {.size = size};
    memcpy(item.bytes, work, size);
    bool sent = ring_write(clap->work, &item, 1) == 1;
    clap->host->request_callback(clap->host);
    return sent;
}

static void on_main_thread(const struct clap_plugin *plugin)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    struct clap_effect_work item;
    while (ring_read(clap->work, &item, 1) == 1)
        effect_work(clap->effect, item.bytes, item.size);
}

static void log_line(void *handle, bool is_error, const char *line)
{
    struct clap_effect *clap = handle;
    if (is_error)
        snprintf(clap->cause, sizeof clap->cause, "%s", line);
    if (clap->log)
        clap->log->log(clap->host, is_error ? CLAP_LOG_ERROR : CLAP_LOG_INFO, line);
}

/* ---- creation, activation and end ---- */

static bool create_effect(struct clap_effect *clap, uint32_t rate)
{
    const struct effect_host host = {.handle = clap, .send = send_work, .log = log_line};
    char cause[256] = "";
    const struct log_keeper before = log_keep_in(cause, sizeof cause);
    enum status status = effect_create(clap->kind, rate, &host, &clap->effect);
    log_keep_again(&before);
    if (status != STATUS_OK)
        log_line(clap, true, cause);
    else
        clap->rate = rate;
    return status == STATUS_OK;
}

static bool init(const struct clap_plugin *plugin)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    const struct clap_host *host = clap->host;
    clap->log = host->get_extension(host, CLAP_EXT_LOG);
    clap->params = host->get_extension(host, CLAP_EXT_PARAMS);
    clap->preset_load = host->get_extension(host, CLAP_EXT_PRESET_LOAD);
    if (!clap->preset_load)
        clap->preset_load = host->get_extension(host, CLAP_EXT_PRESET_LOAD_COMPAT);
    clap->state = host->get_extension(host, CLAP_EXT_STATE);
    clap->tail = host->get_extension(host, CLAP_EXT_TAIL);
    return create_effect(clap, FIRST_RATE);
}

static void destroy(const struct clap_plugin *plugin)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    effect_destroy(clap->effect);
    ring_destroy(clap->work);
    free(clap);
}

bool clap_effect_load(struct clap_effect *clap, const char *file, enum effect_loading loading)
{
    struct effect_mask mask = {.trim = clap_effect_control(clap, EFFECT_TRIM),
                               .gpu = clap_effect_control(clap, EFFECT_PROCESSOR) > 0.5f};
    size_t length = strlen(file);
    if (length >= sizeof mask.file) {
        log_line(clap, true, "the path of the mask is too long");
        return false;
    }
    memcpy(mask.file, file, length);
    bool loaded = effect_load(clap->effect, &mask, loading, !clap->active);
    if (clap->active)
        clap->host->request_process(clap->host); /* it may sleep */
    return loaded;
}

/* Another rate needs other masks, and buffers of other lengths. */
static bool change_rate(struct clap_effect *clap, uint32_t rate)
{
    struct effect *before = clap->effect;
    if (!create_effect(clap, rate))
        return false;
    char file[EFFECT_FILE_MOST];
    float trim;
    effect_save(before, file, &trim);
    effect_destroy(before);
    if (*file)
        (void)clap_effect_load(clap, file, EFFECT_RESTORE); /* or the log says why */
    return true;
}

/* With the values of the parameters and what has been asked for, from the first frame on. */
static bool activate(const struct clap_plugin *plugin, double rate, uint32_t least, uint32_t most)
{
    struct clap_effect *clap = clap_effect_of(plugin);
    (void)least, (void)most;
    if (!(rate >= 1 && rate <= EFFECT_RATE_MOST))
        return false;
    on_main_thread(plugin);
    if ((uint32_t)lrint(rate) != clap->rate && !change_rate(clap, (uint32_t)lrint(rate)))
        return false;
    char file[EFFECT_FILE_MOST];
    float trim;
    effect_save(clap->effect, file, &trim);
    if (*file && trim != clap_effect_control(clap, EFFECT_TRIM))
        (void)clap_effect_load(clap, file, EFFECT_RESTORE);
    for (enum effect_control c = 0; c < EFFECT_CONTROLS; c++)
        effect_set(clap->effect, c, clap_effect_control(clap, c));
    effect_activate(clap->effect);
    clap->tail_reported = effect_tail(clap->effect);
    clap->active = true;
    return true;
}

static void deactivate(const struct clap_plugin *plugin)
{
    clap_effect_of(plugin)->active = false;
}

/* Audio thread, as the next two. */
static bool start_processing(const struct clap_plugin *plugin)
{
    (void)plugin;
    return true;
}

static void stop_processing(const struct clap_plugin *plugin)
{
    (void)plugin;
}

static void reset(const struct clap_plugin *plugin)
{
    effect_reset(clap_effect_of(plugin)->effect);
}

/* ---- ports, latency and tail ---- */

static uint32_t port_count(const struct clap_plugin *plugin, bool is_input)
{
    (void)plugin, (void)is_input;
    return 1;
}

static bool port_info(const struct clap_plugin *plugin, uint32_t index, bool is_input,
                      struct clap_audio_port_info *info)
{
    if (index > 0)
        return false;
    size_t channels = clap_effect_of(plugin)->kind->channels;
    *info = (struct clap_audio_port_info){
        .flags = CLAP_AUDIO_PORT_IS_MAIN,
        .channel_count = (uint32_t)channels,
        .port_type = channels == 1 ? CLAP_PORT_MONO : CLAP_PORT_STEREO,
        .in_place_pair = 0,
    };
    snprintf(info->name, sizeof info->name, "%s", is_input ? "In" : "Out");
    return true;
}

static uint32_t latency_frames(const struct clap_plugin *plugin)
{
    (void)plugin;
    return 0;
}

static uint32_t tail_frames(const struct clap_plugin *plugin)
{
    return effect_tail(clap_effect_of(plugin)->effect);
}

static const struct clap_plugin_audio_ports ports = {port_count, port_info};
static const struct clap_plugin_latency latency = {latency_frames};
static const struct clap_plugin_tail tail = {tail_frames};

/* Any thread. */
static const void *get_extension(const struct clap_plugin *plugin, const char *id)
{
    static const struct {
        const char *id;
        const void *extension;
    } extensions[] = {
        {CLAP_EXT_AUDIO_PORTS, &ports},
        {CLAP_EXT_LATENCY, &latency},
        {CLAP_EXT_TAIL, &tail},
        {CLAP_EXT_PARAMS, &clap_effect_params},
        {CLAP_EXT_STATE, &clap_effect_state},
        {CLAP_EXT_PRESET_LOAD, &clap_effect_preset_load},
        {CLAP_EXT_PRESET_LOAD_COMPAT, &clap_effect_preset_load},
    };
    (void)plugin;
    for (size_t e = 0; e < sizeof extensions / sizeof *extensions; e++)
        if (strcmp(extensions[e].id, id) == 0)
            return extensions[e].extension;
    return NULL;
}

const struct clap_plugin *clap_effect_create(enum effect_variant variant,
                                             const struct clap_host *host)
{
    struct clap_effect *clap = calloc(1, sizeof *clap);
    if (!clap)
        return NULL;
    char cause[256];
    const struct log_keeper before =
        log_keep_in(cause, sizeof cause); /* the host may be called from init on */
    enum status status =
        ring_create(sizeof(struct clap_effect_work), WORK_QUEUED, "a plugin", &clap->work);
    log_keep_again(&before);
    if (status != STATUS_OK) {
        free(clap);
        return NULL;
    }
    clap->kind = &effect_kinds[variant];
    clap->host = host;
    for (size_t c = 0; c < EFFECT_CONTROLS; c++)
        atomic_init(&clap->values[c], clap_effect_param_initial(c));
    clap->plugin = (struct clap_plugin){
        .desc = &clap_effect_descriptors[variant],
        .plugin_data = clap,
        .init = init,
        .destroy = destroy,
        .activate = activate,
        .deactivate = deactivate,
        .start_processing = start_processing,
        .stop_processing = stop_processing,
        .reset = reset,
        .process = clap_effect_process,
        .get_extension = get_extension,
        .on_main_thread = on_main_thread,
    };
    return &clap->plugin;
}
