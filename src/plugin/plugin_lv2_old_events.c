/* The event extension of LV2, which atoms have replaced: its buffers and features. Events that halo
 * has for a plugin are atoms; it sends none that the old extension knows, so these buffers are
 * empty at each run, and what a plugin writes is dropped, as it is from ports for atoms. */
#include "plugin/plugin_lv2.h"

#include "base/realtime.h"

#include <lv2/core/attributes.h>
#include <lv2/event/event.h>
#include <lv2/uri-map/uri-map.h>
#include <stdlib.h>
#include <string.h>

LV2_DISABLE_DEPRECATION_WARNINGS

/* The types of events have 16 bits. */
static uint32_t map(LV2_URI_Map_Callback_Data data, const char *kind, const char *uri)
{
    (void)data;
    LV2_URID number = uri ? lv2_urid(uri) : 0;
    return kind && strcmp(kind, LV2_EVENT_URI) == 0 && number > UINT16_MAX ? 0 : number;
}

/* Of an event that is an object in memory: there are none. */
static uint32_t count(LV2_Event_Callback_Data data, LV2_Event *event)
{
    (void)data, (void)event;
    return 0;
}

void *lv2_old_map(void)
{
    static LV2_URI_Map_Feature feature = {.uri_to_id = map};
    return &feature;
}

void *lv2_old_events(void)
{
    static LV2_Event_Feature feature = {.lv2_event_ref = count, .lv2_event_unref = count};
    return &feature;
}

void *lv2_old_buffer_create(uint32_t bytes)
{
    LV2_Event_Buffer *buffer = calloc(1, sizeof *buffer + bytes);
    if (!buffer)
        return NULL;
    buffer->data = (uint8_t *)(buffer + 1);
    buffer->capacity = bytes;
    lv2_old_buffer_clear(buffer);
    return buffer;
}

/* A plugin may have changed the header of an output. */
HALO_REALTIME void lv2_old_buffer_clear(void *made)
{
    LV2_Event_Buffer *buffer = made;
    buffer->header_size = sizeof *buffer;
    buffer->stamp_type = LV2_EVENT_AUDIO_STAMP;
    buffer->event_count = 0;
    buffer->size = 0;
}

LV2_RESTORE_WARNINGS
