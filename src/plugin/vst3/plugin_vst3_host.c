#include "plugin/vst3/plugin_vst3.h"

#include "base/realtime.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- texts ---- */

/* Read one character of a text and move *at behind it. A surrogate without its pair is U+FFFD. */
static uint32_t next_character(const uint16_t text[VST3_TEXT], size_t *at)
{
    uint32_t unit = text[(*at)++], low = *at < VST3_TEXT ? text[*at] : 0;
    if (unit < 0xD800 || unit > 0xDFFF)
        return unit;
    if (unit > 0xDBFF || low < 0xDC00 || low > 0xDFFF)
        return 0xFFFD;
    ++*at;
    return 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
}

static size_t put_character(uint32_t c, char *utf8)
{
    size_t more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const unsigned marks[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = more; i > 0; i--, c >>= 6)
        utf8[i] = (char)(0x80 | (c & 0x3F));
    utf8[0] = (char)(marks[more] | c);
    return more + 1;
}

void vst3_utf8(const uint16_t text[VST3_TEXT], char utf8[VST3_UTF8])
{
    size_t length = 0;
    for (size_t at = 0; at < VST3_TEXT - 1 && text[at];) {
        uint32_t c = next_character(text, &at);
        length += put_character(c < ' ' ? ' ' : c, utf8 + length);
    }
    utf8[length] = '\0';
}

/* ---- objects that live as long as their owner ---- */

static bool is_id(const struct vst3_id *a, const struct vst3_id *b)
{
    return memcmp(a, b, sizeof *a) == 0;
}

/* The object itself if it has the interface. */
static int32_t answer(void *self, bool has, void **object)
{
    *object = has ? self : NULL;
    return has ? VST3_OK : VST3_NO_INTERFACE;
}

HALO_REALTIME static uint32_t keep_alive(void *self)
{
    (void)self;
    return 1;
}

#define FIXED_QUERY(name, interface_iid)                                                           \
    static int32_t name(void *self, const struct vst3_id *iid, void **object)                      \
    {                                                                                              \
        return answer(self, is_id(iid, &(interface_iid)) || is_id(iid, &vst3_unknown_iid),         \
                      object);                                                                     \
    }

FIXED_QUERY(query_handler, vst3_component_handler_iid)
FIXED_QUERY(query_stream, vst3_bstream_iid)
FIXED_QUERY(query_queue, vst3_param_value_queue_iid)
FIXED_QUERY(query_changes, vst3_parameter_changes_iid)

/* ---- the component's handler ---- */

static _Thread_local bool is_ours;
static _Thread_local const void *instance_now;

HALO_REALTIME void vst3_thread_enter(const void *instance)
{
    is_ours = true;
    instance_now = instance;
}

const void *vst3_thread_instance(void)
{
    return instance_now;
}

static struct vst3_side *side_of_handler(void *self)
{
    return (struct vst3_side *)(void *)((char *)self - offsetof(struct vst3_side, handler));
}

static int32_t note_edit(void *self, uint32_t id)
{
    (void)self, (void)id;
    return VST3_OK;
}

static int32_t perform_edit(void *self, uint32_t id, double normalized)
{
    (void)id, (void)normalized;
    atomic_fetch_or(&side_of_handler(self)->common.asked, VST3_ASKED_VALUES);
    return VST3_OK;
}

static int32_t restart_component(void *self, int32_t flags)
{
    struct plugin_side *side = &side_of_handler(self)->common;
    unsigned asked = 0;
    if (flags & VST3_LATENCY_CHANGED)
        asked |= is_ours ? PLUGIN_ASKED_RESTART : VST3_ASKED_LATENCY;
    if (flags & VST3_RELOAD_COMPONENT) {
        atomic_store(&side_of_handler(self)->reloads, true);
        asked |= PLUGIN_ASKED_RESTART;
    }
    if (flags & VST3_PARAM_VALUES_CHANGED)
        asked |= VST3_ASKED_VALUES;
    if (flags & VST3_IO_CHANGED && !side->loads)
        plugin_side_complain(side, "it changes its buses: the first ones are kept");
    /* A plugin that is not active takes its changes with the next activation. */
    if (!atomic_load(&side->is_active))
        asked &= VST3_ASKED_VALUES;
    atomic_fetch_or(&side->asked, asked);
    return VST3_OK;
}

void vst3_side_init(struct vst3_side *side, const char *name)
{
    static const struct vst3_component_handler_calls calls = {
        query_handler, keep_alive, keep_alive,       note_edit,
        perform_edit,  note_edit,  restart_component};
    *side = (struct vst3_side){.common = {.name = name, .loads = true}, .handler = {&calls}};
}

/* ---- messages between component and controller ---- */

enum { ATTRIBUTES_MOST = 1 << 24 /* bytes of an attribute */ };

struct vst3_attribute {
    struct vst3_attribute *next;
    char *id;
    char kind;      /* 'i', 'f', 's' or 'b' */
    uint32_t bytes; /* length of the value */
    _Alignas(16) unsigned char value[];
};

/* A list of attributes, and a message that may have it. */
struct vst3_letter {
    struct vst3_message message;
    struct vst3_attribute_list list;
    atomic_uint uses;
    char *id;
    struct vst3_attribute *attributes;
};

static struct vst3_letter *letter_of_list(void *self)
{
    return (struct vst3_letter *)(void *)((char *)self - offsetof(struct vst3_letter, list));
}

static void drop_attribute(struct vst3_attribute **at)
{
    struct vst3_attribute *attribute = *at;
    *at = attribute->next;
    free(attribute->id);
    free(attribute);
}

static uint32_t keep_message(void *self)
{
    return atomic_fetch_add(&((struct vst3_letter *)self)->uses, 1) + 1;
}

static uint32_t release_message(void *self)
{
    struct vst3_letter *letter = self;
    uint32_t uses = atomic_fetch_sub(&letter->uses, 1) - 1;
    if (uses > 0)
        return uses;
    while (letter->attributes)
        drop_attribute(&letter->attributes);
    free(letter->id);
    free(letter);
    return 0;
}

static uint32_t keep_list(void *self)
{
    return keep_message(letter_of_list(self));
}

static uint32_t release_list(void *self)
{
    return release_message(letter_of_list(self));
}

static int32_t query_message(void *self, const struct vst3_id *iid, void **object)
{
    bool has = is_id(iid, &vst3_message_iid) || is_id(iid, &vst3_unknown_iid);
    if (has)
        keep_message(self);
    return answer(self, has, object);
}

static int32_t query_list(void *self, const struct vst3_id *iid, void **object)
{
    bool has = is_id(iid, &vst3_attribute_list_iid) || is_id(iid, &vst3_unknown_iid);
    if (has)
        keep_list(self);
    return answer(self, has, object);
}

static const char *message_id(void *self)
{
    return ((struct vst3_letter *)self)->id;
}

static void set_message_id(void *self, const char *id)
{
    struct vst3_letter *letter = self;
    free(letter->id);
    letter->id = id ? strdup(id) : NULL;
}

/* The list lives as long as its message; the caller does not own it. */
static void *message_list(void *self)
{
    return &((struct vst3_letter *)self)->list;
}

static struct vst3_attribute **find_attribute(void *list, const char *id)
{
    struct vst3_attribute **at = &letter_of_list(list)->attributes;
    while (*at && strcmp((*at)->id, id) != 0)
        at = &(*at)->next;
    return at;
}

static int32_t set_attribute(void *self, const char *id, char kind, const void *value,
                             uint32_t bytes)
{
    if (!id || (!value && bytes > 0) || bytes > ATTRIBUTES_MOST)
        return VST3_INVALID_ARGUMENT;
    struct vst3_attribute **at = find_attribute(self, id);
    struct vst3_attribute *attribute = calloc(1, sizeof *attribute + bytes);
    char *copy = strdup(id);
    if (!attribute || !copy) {
        free(attribute);
        free(copy);
        return VST3_OUT_OF_MEMORY;
    }
    if (*at)
        drop_attribute(at);
    attribute->next = *at;
    attribute->id = copy;
    attribute->kind = kind;
    attribute->bytes = bytes;
    if (bytes > 0)
        memcpy(attribute->value, value, bytes);
    *at = attribute;
    return VST3_OK;
}

static const struct vst3_attribute *get_attribute(void *self, const char *id, char kind)
{
    const struct vst3_attribute *attribute = id ? *find_attribute(self, id) : NULL;
    return attribute && attribute->kind == kind ? attribute : NULL;
}

static int32_t set_int(void *self, const char *id, int64_t value)
{
    return set_attribute(self, id, 'i', &value, sizeof value);
}

static int32_t get_int(void *self, const char *id, int64_t *value)
{
    const struct vst3_attribute *attribute = get_attribute(self, id, 'i');
    if (attribute)
        memcpy(value, attribute->value, sizeof *value);
    return attribute ? VST3_OK : VST3_FALSE;
}

static int32_t set_float(void *self, const char *id, double value)
{
    return set_attribute(self, id, 'f', &value, sizeof value);
}

static int32_t get_float(void *self, const char *id, double *value)
{
    const struct vst3_attribute *attribute = get_attribute(self, id, 'f');
    if (attribute)
        memcpy(value, attribute->value, sizeof *value);
    return attribute ? VST3_OK : VST3_FALSE;
}

static int32_t set_string(void *self, const char *id, const uint16_t *string)
{
    uint32_t units = 0;
    while (string && units < ATTRIBUTES_MOST / 2 && string[units])
        units++;
    return set_attribute(self, id, 's', string, (uint32_t)(units * sizeof *string));
}

static int32_t get_string(void *self, const char *id, uint16_t *string, uint32_t bytes)
{
    const struct vst3_attribute *attribute = get_attribute(self, id, 's');
    size_t room = bytes / sizeof *string;
    if (!attribute || room == 0)
        return VST3_FALSE;
    size_t units = attribute->bytes / sizeof *string;
    units = units < room ? units : room - 1;
    memcpy(string, attribute->value, units * sizeof *string);
    string[units] = 0;
    return VST3_OK;
}

static int32_t set_binary(void *self, const char *id, const void *data, uint32_t bytes)
{
    return set_attribute(self, id, 'b', data, bytes);
}

static int32_t get_binary(void *self, const char *id, const void **data, uint32_t *bytes)
{
    const struct vst3_attribute *attribute = get_attribute(self, id, 'b');
    *data = attribute ? attribute->value : NULL;
    *bytes = attribute ? attribute->bytes : 0;
    return attribute ? VST3_OK : VST3_FALSE;
}

static struct vst3_letter *make_letter(void)
{
    static const struct vst3_message_calls message = {
        query_message, keep_message, release_message, message_id, set_message_id, message_list};
    static const struct vst3_attribute_list_calls list = {
        query_list, keep_list,  release_list, set_int,    get_int,   set_float,
        get_float,  set_string, get_string,   set_binary, get_binary};
    struct vst3_letter *letter = calloc(1, sizeof *letter);
    if (letter)
        *letter = (struct vst3_letter){.message = {&message}, .list = {&list}, .uses = 1};
    return letter;
}

int32_t vst3_letter_make(const struct vst3_id *cid, const struct vst3_id *iid, void **object)
{
    *object = NULL;
    bool is_message = is_id(cid, &vst3_message_iid), is_list = is_id(cid, &vst3_attribute_list_iid);
    if ((!is_message && !is_list) || !is_id(iid, cid))
        return VST3_NO_INTERFACE;
    struct vst3_letter *letter = make_letter();
    if (letter)
        *object = is_message ? (void *)&letter->message : &letter->list;
    return letter ? VST3_OK : VST3_OUT_OF_MEMORY;
}

/* ---- streams ---- */

static int32_t stream_read(void *self, void *buffer, int32_t size, int32_t *done)
{
    struct vst3_stream *stream = self;
    int64_t count = size > 0 ? plugin_bytes_read(&stream->bytes, buffer, (uint64_t)size) : 0;
    if (done)
        *done = (int32_t)count;
    return size < 0 ? VST3_INVALID_ARGUMENT : VST3_OK;
}

static int32_t stream_write(void *self, void *buffer, int32_t size, int32_t *done)
{
    struct vst3_stream *stream = self;
    if (stream->is_fixed)
        return VST3_NOT_IMPLEMENTED;
    int64_t count = size >= 0 ? plugin_bytes_write(&stream->bytes, buffer, (uint64_t)size) : -1;
    if (done)
        *done = count > 0 ? (int32_t)count : 0;
    return count >= 0 ? VST3_OK : VST3_FALSE;
}

static int32_t stream_seek(void *self, int64_t position, int32_t mode, int64_t *result)
{
    struct plugin_bytes *bytes = &((struct vst3_stream *)self)->bytes;
    int64_t base = mode == VST3_SEEK_CUR   ? (int64_t)bytes->at
                   : mode == VST3_SEEK_END ? (int64_t)bytes->size
                                           : 0;
    if (position < -base || position > (int64_t)bytes->size - base)
        return VST3_FALSE;
    bytes->at = (size_t)(base + position);
    if (result)
        *result = base + position;
    return VST3_OK;
}

static int32_t stream_tell(void *self, int64_t *position)
{
    *position = (int64_t)((struct vst3_stream *)self)->bytes.at;
    return VST3_OK;
}

struct vst3_stream vst3_stream(struct plugin_bytes bytes)
{
    static const struct vst3_bstream_calls calls = {
        query_stream, keep_alive, keep_alive, stream_read, stream_write, stream_seek, stream_tell};
    return (struct vst3_stream){.object = {&calls}, .bytes = bytes, .is_fixed = bytes.data != NULL};
}

/* ---- values of a block: real-time ---- */

HALO_REALTIME static uint32_t queue_parameter(void *self)
{
    return ((struct vst3_queue *)self)->id;
}

HALO_REALTIME static int32_t queue_count(void *self)
{
    (void)self;
    return 1;
}

HALO_REALTIME static int32_t queue_point(void *self, int32_t index, int32_t *offset, double *value)
{
    *offset = 0;
    *value = ((struct vst3_queue *)self)->value;
    return index == 0 ? VST3_OK : VST3_FALSE;
}

/* Of the values that a plugin reports in a block, the last counts. */
HALO_REALTIME static int32_t queue_add(void *self, int32_t offset, double value, int32_t *index)
{
    (void)offset;
    struct vst3_queue *queue = self;
    queue->value = value;
    queue->is_new = true;
    *index = 0;
    return VST3_OK;
}

HALO_REALTIME static int32_t changes_count(void *self)
{
    return ((struct vst3_changes *)self)->count;
}

HALO_REALTIME static void *changes_queue(void *self, int32_t index)
{
    struct vst3_changes *changes = self;
    return index >= 0 && index < changes->count ? &changes->queues[index] : NULL;
}

HALO_REALTIME static void *changes_make(void *self, const uint32_t *id, int32_t *index)
{
    struct vst3_changes *changes = self;
    int32_t at = 0;
    while (at < changes->count && changes->queues[at].id != *id)
        at++;
    if (at == changes->size)
        at--; /* a plugin that reports unknown parameters: some of its values are lost */
    else if (at == changes->count)
        changes->count++;
    changes->queues[at].id = *id;
    *index = at;
    return &changes->queues[at];
}

HALO_REALTIME bool vst3_changes_add(struct vst3_changes *changes, uint32_t id, double value)
{
    if (changes->count == changes->size)
        return false;
    changes->queues[changes->count].id = id;
    changes->queues[changes->count++].value = value;
    return true;
}

enum status vst3_changes_init(struct vst3_changes *changes, size_t size)
{
    static const struct vst3_param_value_queue_calls queue = {
        query_queue, keep_alive, keep_alive, queue_parameter, queue_count, queue_point, queue_add};
    static const struct vst3_parameter_changes_calls calls = {
        query_changes, keep_alive, keep_alive, changes_count, changes_queue, changes_make};
    *changes = (struct vst3_changes){.object = {&calls}, .size = (int32_t)size + 1};
    changes->queues = calloc(size + 1, sizeof *changes->queues);
    for (size_t i = 0; changes->queues && i <= size; i++)
        changes->queues[i].object.calls = &queue;
    return changes->queues ? STATUS_OK : fail_memory("a plugin");
}

void vst3_changes_free(struct vst3_changes *changes)
{
    free(changes->queues);
}

/* ---- a component with its controller ---- */

/* An interface of an object that the caller releases, or NULL. */
static void *interface_of(void *object, const struct vst3_id *iid)
{
    struct vst3_unknown *unknown = object;
    void *found = NULL;
    return object && unknown->calls->query_interface(unknown, iid, &found) == VST3_OK ? found
                                                                                      : NULL;
}

static void release_object(void *object)
{
    if (object)
        ((struct vst3_unknown *)object)->calls->release(object);
}

static const char *make_controller(const struct vst3_module *module, struct vst3_handle *handle)
{
    struct vst3_id cid = {{0}};
    struct vst3_edit_controller *controller =
        interface_of(handle->component, &vst3_edit_controller_iid);
    handle->controller = controller;
    if (controller ||
        handle->component->calls->get_controller_class_id(handle->component, &cid) != VST3_OK)
        return NULL;
    controller = vst3_module_make(module, &cid, &vst3_edit_controller_iid);
    if (!controller)
        return "its library does not create its controller";
    if (controller->calls->initialize(controller, vst3_host()) != VST3_OK) {
        controller->calls->release(controller);
        return "its controller's initialize() failed";
    }
    handle->controller = controller;
    handle->is_apart = true;
    return NULL;
}

static void connect_ends(struct vst3_handle *handle)
{
    struct vst3_connection_point *a = interface_of(handle->component, &vst3_connection_point_iid);
    struct vst3_connection_point *b = interface_of(handle->controller, &vst3_connection_point_iid);
    if (a && b && a != b) {
        handle->ends[0] = a;
        handle->ends[1] = b;
        a->calls->connect(a, b);
        b->calls->connect(b, a);
        return;
    }
    release_object(a);
    release_object(b);
}

void vst3_handle_sync(const struct vst3_handle *handle)
{
    struct vst3_stream state = vst3_stream((struct plugin_bytes){0});
    if (handle->controller &&
        handle->component->calls->get_state(handle->component, &state) == VST3_OK &&
        state.bytes.size > 0) {
        state.bytes.at = 0;
        state.is_fixed = true;
        handle->controller->calls->set_component_state(handle->controller, &state);
    }
    free(state.bytes.data);
}

/* The speakers of a bus: those of mono, stereo, 3.0, 4.0, 5.0, 5.1, 7.0, 7.1, else the first ones.
 * */
static uint64_t speakers_of(int32_t channels)
{
    static const uint64_t known[] = {0, 1U << 19, 0x3, 0x7, 0x33, 0x37, 0x3F, 0x637, 0x63F};
    return channels < (int32_t)(sizeof known / sizeof *known) ? known[channels]
                                                              : (UINT64_C(1) << channels) - 1;
}

/* Get the arrangements of the buses of one direction, with `width` channels in the main one. */
static int32_t arrange(const struct vst3_handle *handle, int32_t direction, int32_t width,
                       uint64_t arrangements[VST3_BUSES_MOST])
{
    struct vst3_component *component = handle->component;
    int32_t count = component->calls->get_bus_count(component, VST3_AUDIO, direction);
    for (int32_t i = 1; i < count && i < VST3_BUSES_MOST; i++)
        handle->processor->calls->get_bus_arrangement(handle->processor, direction, i,
                                                      &arrangements[i]);
    arrangements[0] = speakers_of(width);
    return count > VST3_BUSES_MOST ? 0 : count;
}

/* Ask for a number of channels. Returns whether the plugin takes so many. */
static bool widen(const struct vst3_handle *handle, int32_t width)
{
    uint64_t in[VST3_BUSES_MOST] = {0}, out[VST3_BUSES_MOST] = {0};
    struct vst3_bus_info bus = {.media_type = VST3_AUDIO};
    int32_t ins = arrange(handle, VST3_INPUT, width, in);
    int32_t outs = arrange(handle, VST3_OUTPUT, width, out);
    if (ins < 1 || outs < 1)
        return false;
    handle->processor->calls->set_bus_arrangements(handle->processor, in, ins, out, outs);
    handle->component->calls->get_bus_info(handle->component, VST3_AUDIO, VST3_INPUT, 0, &bus);
    return bus.channel_count == width;
}

static const char *fill_handle(const struct vst3_module *module, struct vst3_class *about,
                               struct vst3_side *side, struct vst3_handle *handle)
{
    struct vst3_component *component = vst3_module_make(module, &about->cid, &vst3_component_iid);
    if (!component)
        return "its library does not create it";
    if (component->calls->initialize(component, vst3_host()) != VST3_OK) {
        component->calls->release(component);
        return "its initialize() failed";
    }
    handle->component = component;
    handle->processor = interface_of(component, &vst3_audio_processor_iid);
    if (!handle->processor)
        return "it has no audio processor";
    if (about->width > 0 && !widen(handle, about->width))
        about->width = 0;
    const char *why = make_controller(module, handle);
    if (why || !handle->controller)
        return why;
    handle->controller->calls->set_component_handler(handle->controller, &side->handler);
    if (handle->is_apart)
        connect_ends(handle);
    vst3_handle_sync(handle);
    return NULL;
}

enum status vst3_handle_make(const struct vst3_module *module, struct vst3_class *about,
                             struct vst3_side *side, struct vst3_handle *handle)
{
    *handle = (struct vst3_handle){0};
    const char *why = fill_handle(module, about, side, handle);
    return why ? fail(CAUSE_OTHER, "cannot run %s: %s", about->name, why) : STATUS_OK;
}

void vst3_handle_end(struct vst3_side *side, struct vst3_handle *handle)
{
    struct vst3_connection_point *a = handle->ends[0], *b = handle->ends[1];
    struct vst3_edit_controller *controller = handle->controller;
    if (atomic_exchange(&side->common.is_active, false))
        handle->component->calls->set_active(handle->component, false);
    if (a) {
        a->calls->disconnect(a, b);
        b->calls->disconnect(b, a);
    }
    release_object(a);
    release_object(b);
    if (controller) {
        controller->calls->set_component_handler(controller, NULL);
        if (handle->is_apart)
            controller->calls->terminate(controller);
    }
    if (handle->component)
        handle->component->calls->terminate(handle->component);
    release_object(controller);
    release_object(handle->processor);
    release_object(handle->component);
    *handle = (struct vst3_handle){0};
}
