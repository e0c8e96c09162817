/* urn:halo:probe:old: a plugin of the event extension, which counts what is wrong with its buffers,
 * fills the output with events and damages its header. */
#include "probe.h"

#include <lv2/core/attributes.h>
#include <lv2/core/lv2.h>
#include <lv2/event/event.h>
#include <lv2/uri-map/uri-map.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

LV2_DISABLE_DEPRECATION_WARNINGS

enum { IN, OUT, EVENTS, EVENTS_OUT, WRONG, WRITTEN, PORTS };

struct probe_old {
    void *ports[PORTS];
    uint16_t midi;
    float wrong, written;
};

static const void *old_feature(const LV2_Feature *const *features, const char *uri)
{
    while (*features && strcmp((*features)->URI, uri) != 0)
        features++;
    return *features ? (*features)->data : NULL;
}

static LV2_Handle old_instantiate(const LV2_Descriptor *descriptor, double rate, const char *bundle,
                                  const LV2_Feature *const *features)
{
    (void)descriptor, (void)rate, (void)bundle;
    static const char midi[] = "http://lv2plug.in/ns/ext/midi#MidiEvent";
    const LV2_URI_Map_Feature *map = old_feature(features, LV2_URI_MAP_URI);
    const LV2_Event_Feature *events = old_feature(features, LV2_EVENT_URI);
    struct probe_old *probe = calloc(1, sizeof *probe);
    if (!probe || !map || !events || !events->lv2_event_ref || !events->lv2_event_unref) {
        free(probe);
        return NULL;
    }
    uint32_t number = map->uri_to_id(map->callback_data, LV2_EVENT_URI, midi);
    probe->midi = (uint16_t)number;
    probe->wrong = number == 0 || number > UINT16_MAX ||
                   number != map->uri_to_id(map->callback_data, LV2_EVENT_URI, midi);
    return probe;
}

static void old_connect(LV2_Handle instance, uint32_t port, void *data)
{
    ((struct probe_old *)instance)->ports[port] = data;
}

static bool is_empty(const LV2_Event_Buffer *buffer)
{
    return buffer && buffer->data && buffer->header_size == sizeof *buffer &&
           buffer->stamp_type == LV2_EVENT_AUDIO_STAMP && buffer->event_count == 0 &&
           buffer->size == 0 && (uintptr_t)buffer->data % 8 == 0;
}

static void old_run(LV2_Handle instance, uint32_t frames)
{
    struct probe_old *probe = instance;
    LV2_Event_Buffer *out = probe->ports[EVENTS_OUT];
    if (!is_empty(probe->ports[EVENTS]) || !is_empty(out) || out->capacity < 4096)
        probe->wrong++;
    memset(out->data, 0xff, out->capacity);
    probe->written += (float)out->capacity;
    out->event_count = out->size = out->header_size = UINT16_MAX;
    memcpy(probe->ports[OUT], probe->ports[IN], frames * sizeof(float));
    *(float *)probe->ports[WRONG] = probe->wrong;
    *(float *)probe->ports[WRITTEN] = probe->written;
}

const LV2_Descriptor probe_old = {
    "urn:halo:probe:old", old_instantiate, old_connect, NULL, old_run, NULL, free, NULL};

LV2_RESTORE_WARNINGS
