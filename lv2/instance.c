/* The plugins, creation and end of an instance: not real-time. */
#include "instance.h"

#include <lv2/atom/atom.h>
#include <lv2/patch/patch.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RATE_MOST = 10000000 };

static const double SMOOTHING = 0.02; /* seconds, of gains and the pre-delay */
static const double FADE = 0.05;      /* seconds, from mask to mask */

static void cleanup(LV2_Handle handle)
{
    struct instance *instance = handle;
    while (instance->processors)
        instance_free_processor(instance, instance->processors);
    block_free(&instance->history.frames);
    block_free(&instance->pre_delay.ring);
    block_free(&instance->now);
    block_free(&instance->dry);
    block_free(&instance->wet);
    block_free(&instance->other);
    pthread_mutex_destroy(&instance->lock);
    free(instance);
}

static void connect_port(LV2_Handle handle, uint32_t port, void *data)
{
    struct instance *instance = handle;
    size_t channels = instance->variant->channels;
    if (port == PORT_CONTROL)
        instance->control = data;
    else if (port == PORT_NOTIFY)
        instance->notify = data;
    else if (port == PORT_LATENCY)
        instance->latency = data;
    else if (port < PORT_AUDIO)
        instance->values[port] = data;
    else if (port < PORT_AUDIO + channels)
        instance->in[port - PORT_AUDIO] = data;
    else if (port < PORT_AUDIO + 2 * channels)
        instance->out[port - PORT_AUDIO - channels] = data;
}

static void silence_processor(const struct instance *instance, struct processor *processor)
{
    if (!processor)
        return;
    processor_reset(processor);
    processor->fed = atomic_load(&instance->history.end);
}

static void activate(LV2_Handle handle)
{
    struct instance *instance = handle;
    input_history_reset(&instance->history);
    pre_delay_reset(&instance->pre_delay);
    block_silence(&instance->now, 0, 2 * PROCESSOR_BLOCK);
    silence_processor(instance, instance->processor);
    silence_processor(instance, instance->coming);
    instance->held = 0;
    instance->fading = false;
    instance->fresh = true;
}

static void map_urids(const LV2_URID_Map *map, struct urids *urids)
{
    const struct {
        LV2_URID *urid;
        const char *uri;
    } wanted[] = {
        {&urids->atom_float, LV2_ATOM__Float}, {&urids->atom_object, LV2_ATOM__Object},
        {&urids->atom_path, LV2_ATOM__Path},   {&urids->atom_string, LV2_ATOM__String},
        {&urids->atom_urid, LV2_ATOM__URID},   {&urids->log_error, LV2_LOG__Error},
        {&urids->log_note, LV2_LOG__Note},     {&urids->mask, HALO_LV2_MASK},
        {&urids->patch_get, LV2_PATCH__Get},   {&urids->patch_property, LV2_PATCH__property},
        {&urids->patch_set, LV2_PATCH__Set},   {&urids->patch_value, LV2_PATCH__value},
        {&urids->trim, HALO_LV2_TRIM},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        *wanted[i].urid = map->map(map->handle, wanted[i].uri);
}

static void read_features(struct instance *instance, const LV2_Feature *const *features)
{
    for (; features && *features; features++) {
        const char *uri = (*features)->URI;
        if (strcmp(uri, LV2_URID__map) == 0)
            instance->map = (*features)->data;
        else if (strcmp(uri, LV2_WORKER__schedule) == 0)
            instance->schedule = (*features)->data;
        else if (strcmp(uri, LV2_LOG__log) == 0)
            instance->log = (*features)->data;
    }
    if (!instance->map) {
        instance->log = NULL; /* the types of log lines are URIDs */
        return;
    }
    map_urids(instance->map, &instance->urids);
    lv2_atom_forge_init(&instance->forge, (LV2_URID_Map *)instance->map);
}

static enum status make_buffers(struct instance *instance)
{
    size_t channels = instance->variant->channels;
    TRY(input_history_init(&instance->history, channels, instance->rate));
    TRY(pre_delay_init(&instance->pre_delay, channels, instance->rate, instance->smoothing));
    TRY(block_init(&instance->now, channels, 2 * PROCESSOR_BLOCK, "a plugin"));
    TRY(block_init(&instance->dry, channels, PROCESSOR_BLOCK, "a plugin"));
    TRY(block_init(&instance->wet, channels, PROCESSOR_BLOCK, "a plugin"));
    return block_init(&instance->other, channels, PROCESSOR_BLOCK, "a plugin");
}

/* A bundle may include a mask, for hosts without messages and state. */
static void load_bundle_mask(struct instance *instance, const char *bundle)
{
    char file[FILE_MOST];
    int length = snprintf(file, sizeof file, "%s/" HALO_LV2_BUNDLE_MASK, bundle);
    if (length > 0 && (size_t)length < sizeof file && access(file, R_OK) == 0)
        (void)instance_load(instance, file, 0); /* a failure is in the log */
}

static LV2_Handle instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                              const LV2_Feature *const *features)
{
    struct instance *instance = calloc(1, sizeof *instance);
    if (!instance || !(rate >= 1 && rate <= RATE_MOST)) {
        free(instance);
        return NULL;
    }
    note_verbosity(VERBOSITY_QUIET); /* the terminal belongs to the host */
    pthread_mutex_init(&instance->lock, NULL);
    instance->variant = (const struct variant *)descriptor;
    instance->rate = (uint32_t)lrint(rate);
    instance->smoothing = 1 + (size_t)(SMOOTHING * rate);
    instance->fade = 1 + (size_t)(FADE * rate);
    read_features(instance, features);
    char cause[256] = "";
    log_capture(cause, sizeof cause);
    enum status status = make_buffers(instance);
    log_capture(NULL, 0);
    if (status != STATUS_OK) {
        instance_log(instance, instance->urids.log_error, cause);
        cleanup(instance);
        return NULL;
    }
    load_bundle_mask(instance, bundle);
    activate(instance);
    return instance;
}

static const void *extension_data(const char *uri)
{
    if (strcmp(uri, LV2_WORKER__interface) == 0)
        return &instance_worker;
    if (strcmp(uri, LV2_STATE__interface) == 0)
        return &instance_state;
    return NULL;
}

#define DESCRIPTOR(uri)                                                                            \
    {uri, instantiate, connect_port, activate, instance_run, NULL, cleanup, extension_data}

static const struct variant variants[] = {
    {DESCRIPTOR(HALO_LV2_MONO), .channels = 1},
    {DESCRIPTOR(HALO_LV2_STEREO), .channels = 2},
    {DESCRIPTOR(HALO_LV2_TRUE_STEREO), .channels = 2, .may_cross = true},
};

LV2_SYMBOL_EXPORT const LV2_Descriptor *lv2_descriptor(uint32_t index)
{
    return index < sizeof variants / sizeof *variants ? &variants[index].descriptor : NULL;
}
