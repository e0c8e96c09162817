#include "plugin/ladspa/plugin_ladspa.h"

#include "base/realtime.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "base/text_stream.h"

#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* ---- libraries ---- */

struct plugin_ladspa_library {
    void *handle;
    LADSPA_Descriptor_Function descriptor;
    char *path;
};

enum { LABELS_MOST = 10000 };

static const char suffix[] = ".so";

static const char *places(void)
{
    const char *own = getenv("LADSPA_PATH");
    return own && own[0] ? own : HALO_LADSPA_PLACES;
}

static bool is_file(const char *path)
{
    struct stat entry;
    return stat(path, &entry) == 0 && S_ISREG(entry.st_mode);
}

static bool ends_in_suffix(const char *name)
{
    size_t length = strlen(name);
    return length >= sizeof suffix && strcmp(name + length + 1 - sizeof suffix, suffix) == 0;
}

/* The path of the first library with this name, which the caller frees. NULL: none. */
static char *look_for(const char *name)
{
    char *path = NULL;
    const char *list = places();
    for (char *place; !path && (place = plugin_places_next(&list)) != NULL; free(place)) {
        if (asprintf(&path, "%s/%s%s", place, name, ends_in_suffix(name) ? "" : suffix) < 0)
            path = NULL;
        if (path && !is_file(path)) {
            free(path);
            path = NULL;
        }
    }
    return path;
}

/* A library that an earlier folder hides is left out. */
static enum status list_one(void *context, const char *path)
{
    const struct plugin_found *found = context;
    if (!ends_in_suffix(path))
        return STATUS_OK;
    char *first = look_for(strrchr(path, '/') + 1);
    if (first && strcmp(first, path) == 0)
        found->take(found->context, path);
    free(first);
    return STATUS_OK;
}

static enum status plugin_ladspa_libraries(const struct plugin_found *found)
{
    enum status status = STATUS_OK;
    const char *list = places();
    for (char *place; status == STATUS_OK && (place = plugin_places_next(&list)) != NULL;
         free(place))
        status = plugin_places_each(place, list_one, (void *)found);
    return status;
}

/* The name of a library without folder and suffix. NULL: memory. */
static char *bare_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    return strndup(base, strlen(base) - (ends_in_suffix(base) ? sizeof suffix - 1 : 0));
}

static void offer(void *context, const char *path)
{
    char *name = bare_name(path);
    if (name)
        suggest_offer(context, name);
    free(name);
}

static enum status refuse(const char *name)
{
    struct suggest near;
    suggest_init(&near, name);
    enum status status = plugin_ladspa_libraries(&(struct plugin_found){offer, &near});
    if (status == STATUS_OK)
        status = fail(CAUSE_MISSING, "there is no LADSPA library %s in %s%s", name, places(),
                      suggest_text(&near));
    suggest_free(&near);
    return status;
}

/* The path of the library with this name or path, which the caller frees. NULL: there is none. */
static char *path_of(const char *name)
{
    char *path;
    if (!strchr(name, '/'))
        return look_for(name);
    if (is_file(name) || ends_in_suffix(name))
        path = strdup(name);
    else if (asprintf(&path, "%s%s", name, suffix) < 0)
        path = NULL;
    if (path && is_file(path))
        return path;
    free(path);
    return NULL;
}

/* Find the library "amp_1181", "amp_1181.so", or a path (with a "/"). */
static enum status plugin_ladspa_library_find(const char *name, char **path)
{
    *path = path_of(name);
    if (*path)
        return STATUS_OK;
    return strchr(name, '/') ? fail(CAUSE_MISSING, "there is no LADSPA library %s", name)
                             : refuse(name);
}

/* The shortest name that finds the path: without folder and ".so", or the path itself. */
static enum status plugin_ladspa_library_name(const char *path, char **name)
{
    *name = bare_name(path);
    char *found = *name ? look_for(*name) : NULL;
    struct stat here, there;
    bool is_same = found && stat(path, &here) == 0 && stat(found, &there) == 0 &&
                   here.st_dev == there.st_dev && here.st_ino == there.st_ino;
    free(found);
    if (is_same)
        return STATUS_OK;
    free(*name);
    *name = strdup(path);
    return *name ? STATUS_OK : fail_memory("a plugin");
}

/* ---- ids ---- */

/* The first colon from `at` on that has no backslash before it, or the end. */
static const char *colon_in(const char *at)
{
    while (*at && *at != ':')
        at += at[0] == '\\' && at[1] == ':' ? 2 : 1;
    return at;
}

/* `length` characters of an id without their backslashes; NULL: memory. */
static char *plain_name(const char *id, size_t length)
{
    char *name = malloc(length + 1), *to = name;
    for (size_t i = 0; name && i < length; i++)
        if (id[i] != '\\' || i + 1 == length || id[i + 1] != ':')
            *to++ = id[i];
    if (name)
        *to = '\0';
    return name;
}

static bool is_there(const char *name)
{
    char *path = path_of(name);
    free(path);
    return path != NULL;
}

static enum status cut(const char *id, const char *end, char **library, const char **label)
{
    free(*library);
    *library = plain_name(id, (size_t)(end - id));
    *label = *end ? end + 1 : end;
    return *library ? STATUS_OK : fail_memory("a plugin");
}

static enum status plugin_ladspa_id_split(const char *id, char **library, const char **label)
{
    const char *first = colon_in(id), *end = first;
    *library = NULL;
    TRY(cut(id, end, library, label));
    while (*end && !is_there(*library)) {
        end = colon_in(end + 1);
        TRY(cut(id, end, library, label));
    }
    return is_there(*library) ? STATUS_OK : cut(id, first, library, label);
}

/* Make an id. Colons in the library's name get a backslash, as a plain colon ends the name. */
static enum status plugin_ladspa_id_make(const char *path, const char *label, char **id)
{
    char *name, *text = NULL;
    size_t size = 0;
    TRY(plugin_ladspa_library_name(path, &name));
    FILE *stream = text_stream_open(&text, &size);
    for (const char *at = name; stream && *at; at++)
        fprintf(stream, "%s%c", *at == ':' ? "\\" : "", *at);
    if (stream)
        fprintf(stream, ":%s", label);
    bool written = text_stream_finish(stream) == 0;
    free(name);
    if (!written)
        free(text);
    *id = written ? text : NULL;
    return written ? STATUS_OK : fail_memory("a plugin");
}

/* The label in an id that plugin_ladspa_id_make() made. */
static const char *plugin_ladspa_id_label(const char *id)
{
    const char *end = colon_in(id);
    return *end ? end + 1 : end;
}

/* Load a library, which runs its code. */
static enum status plugin_ladspa_library_open(const char *path,
                                              struct plugin_ladspa_library *library)
{
    *library = (struct plugin_ladspa_library){.path = strdup(path)};
    if (!library->path)
        return fail_memory("a plugin");
    /* A name without a slash would be searched in the system's library folders. */
    char *place = realpath(path, NULL);
    library->handle = dlopen(place ? place : path, RTLD_NOW | RTLD_LOCAL);
    free(place);
    if (!library->handle) {
        const char *reason = dlerror();
        return fail(CAUSE_DAMAGED, "cannot load a LADSPA library: %s", reason ? reason : path);
    }
    void *symbol = dlsym(library->handle, "ladspa_descriptor");
    if (!symbol)
        return fail(CAUSE_DAMAGED, "%s is not a LADSPA library: it has no ladspa_descriptor", path);
    memcpy(&library->descriptor, &symbol, sizeof symbol);
    return STATUS_OK;
}

/* A zeroed struct is allowed. */
static void plugin_ladspa_library_close(struct plugin_ladspa_library *library)
{
    if (library->handle)
        dlclose(library->handle);
    free(library->path);
}

/* The descriptor with this index; NULL past the last. */
static const LADSPA_Descriptor *
plugin_ladspa_library_at(const struct plugin_ladspa_library *library, unsigned long index)
{
    return index < LABELS_MOST ? library->descriptor(index) : NULL;
}

static enum status refuse_label(const struct plugin_ladspa_library *library, const char *label)
{
    struct suggest near;
    suggest_init(&near, label);
    struct short_list all = {0};
    const LADSPA_Descriptor *descriptor;
    for (unsigned long i = 0; (descriptor = plugin_ladspa_library_at(library, i)) != NULL; i++)
        if (descriptor->Label) {
            suggest_offer(&near, descriptor->Label);
            short_list_add(&all, descriptor->Label);
        }
    const char *why = suggest_text(&near);
    enum status status;
    if (!label[0])
        status = fail(CAUSE_OTHER, "choose a plugin of %s as LIBRARY:LABEL; it has %s",
                      library->path, short_list_text(&all, ""));
    else if (why[0])
        status = fail(CAUSE_MISSING, "there is no plugin '%s' in %s%s", label, library->path, why);
    else
        status = fail(CAUSE_MISSING, "there is no plugin '%s' in %s; it has %s", label,
                      library->path, short_list_text(&all, ""));
    suggest_free(&near);
    return status;
}

static enum status plugin_ladspa_library_label(const struct plugin_ladspa_library *library,
                                               const char *label,
                                               const LADSPA_Descriptor **descriptor)
{
    for (unsigned long i = 0; (*descriptor = plugin_ladspa_library_at(library, i)) != NULL; i++)
        if ((*descriptor)->Label && strcmp((*descriptor)->Label, label) == 0)
            return STATUS_OK;
    return refuse_label(library, label);
}

/* ---- ports ---- */

/* Get the unit of a port's name: "dB" of "Gain [dB]". *unit NULL: no known unit. */
static enum status name_unit(const char *name, char **unit)
{
    struct name_span inner;
    const char *found = NULL;
    while (!found && name_next_brackets(&name, &inner))
        found = name_unit_in(inner);
    *unit = found ? strdup(found) : NULL;
    return found && !*unit ? fail_memory("a plugin") : STATUS_OK;
}

/* Parse an item of a list in brackets, such as "1 = sine". */
static bool read_point(struct name_span item, float *value, struct name_span *label)
{
    char *end;
    *value = strtof(item.text, &end);
    while (end > item.text && isspace((unsigned char)*end))
        end++;
    if (end == item.text || *end != '=' || end >= item.text + item.length)
        return false;
    *label = name_trimmed((struct name_span){end + 1, (size_t)(item.text + item.length - end - 1)});
    return label->length > 0;
}

static enum status add_point(struct plugin_port *port, float value, struct name_span label)
{
    struct plugin_point *points =
        realloc(port->points, (port->point_count + 1) * sizeof *port->points);
    if (!points)
        return fail_memory("a plugin");
    port->points = points;
    char *copy = strndup(label.text, label.length);
    if (!copy)
        return fail_memory("a plugin");
    port->points[port->point_count++] = (struct plugin_point){copy, value};
    return STATUS_OK;
}

/* Take the points of a list such as "0 = sine, 1 = square" that are in the range of the port. */
static enum status parse_points(struct plugin_port *port, struct name_span list)
{
    for (const char *at = list.text, *end = at + list.length; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct name_span item = {at, (size_t)((comma ? comma : end) - at)}, label;
        float value;
        if (read_point(item, &value, &label) && value >= port->minimum && value <= port->maximum)
            TRY(add_point(port, value, label));
        at += item.length + 1;
    }
    return STATUS_OK;
}

static void set_bounds(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->minimum = -INFINITY;
    port->maximum = INFINITY;
    if ((hints & LADSPA_HINT_BOUNDED_BELOW) && isfinite(hint->LowerBound))
        port->minimum = hint->LowerBound;
    if ((hints & LADSPA_HINT_BOUNDED_ABOVE) && isfinite(hint->UpperBound))
        port->maximum = hint->UpperBound;
    if (port->minimum > port->maximum) { /* invalid: treated as unbounded */
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
    }
    /* Bounds of integers may lie slightly beyond the integer. Multiples of the rate are not
     * rounded, as the rate is unknown here. */
    if (port->is_integer && !port->counts_in_rate &&
        ceilf(port->minimum) <= floorf(port->maximum)) {
        port->minimum = ceilf(port->minimum);
        port->maximum = floorf(port->maximum);
    }
}

/* The value at `share` of the range. If a bound is infinite: the other bound; if both are: 0. */
static float between(const struct plugin_port *port, float share)
{
    float low = port->minimum, high = port->maximum;
    if (!isfinite(low) || !isfinite(high))
        return isfinite(low) ? low : isfinite(high) ? high : 0;
    if (port->is_logarithmic && low > 0)
        return expf(logf(low) * (1 - share) + logf(high) * share);
    return low * (1 - share) + high * share;
}

static void set_initial(LADSPA_PortRangeHintDescriptor hints, struct plugin_port *port)
{
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float share;
    } shares[] = {
        {LADSPA_HINT_DEFAULT_MINIMUM, 0},   {LADSPA_HINT_DEFAULT_LOW, 0.25F},
        {LADSPA_HINT_DEFAULT_MIDDLE, 0.5F}, {LADSPA_HINT_DEFAULT_HIGH, 0.75F},
        {LADSPA_HINT_DEFAULT_MAXIMUM, 1},
    };
    static const struct {
        LADSPA_PortRangeHintDescriptor hint;
        float value;
    } values[] = {
        {LADSPA_HINT_DEFAULT_0, 0},
        {LADSPA_HINT_DEFAULT_1, 1},
        {LADSPA_HINT_DEFAULT_100, 100},
        {LADSPA_HINT_DEFAULT_440, 440},
    };
    LADSPA_PortRangeHintDescriptor reported = hints & LADSPA_HINT_DEFAULT_MASK;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (reported == values[i].hint) {
            port->initial = values[i].value;
            return;
        }
    /* No hint: the middle of the range, or the value nearest 0 if a bound is infinite. */
    port->initial = isfinite(port->minimum) && isfinite(port->maximum)
                        ? between(port, 0.5F)
                        : fmaxf(port->minimum, fminf(port->maximum, 0));
    port->initial_counts_in_rate = port->counts_in_rate;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        if (reported == shares[i].hint)
            port->initial = between(port, shares[i].share);
}

static void set_range(const LADSPA_PortRangeHint *hint, struct plugin_port *port)
{
    LADSPA_PortRangeHintDescriptor hints = hint->HintDescriptor;
    port->is_toggle = (hints & LADSPA_HINT_TOGGLED);
    port->is_integer = (hints & LADSPA_HINT_INTEGER) && !port->is_toggle;
    port->is_logarithmic = (hints & LADSPA_HINT_LOGARITHMIC) && !port->is_toggle;
    port->counts_in_rate = (hints & LADSPA_HINT_SAMPLE_RATE) && !port->is_toggle;
    set_bounds(hint, port);
    bool has_default = (hints & LADSPA_HINT_DEFAULT_MASK);
    if (port->is_toggle) {
        port->minimum = 0;
        port->maximum = 1;
    }
    set_initial(hints, port);
    if (port->is_toggle)
        port->initial = has_default && port->initial > 0 ? 1 : 0;
    else if (port->is_integer && !port->counts_in_rate)
        port->initial = roundf(port->initial);
    if (!port->initial_counts_in_rate && !port->counts_in_rate)
        port->initial = fmaxf(port->minimum, fminf(port->maximum, port->initial));
}

static bool reports_latency(const struct plugin_port *port)
{
    const char *name = port->name + (port->name[0] == '_');
    return port->type == PLUGIN_CONTROL && !port->is_input && strcasecmp(name, "latency") == 0;
}

static bool is_side_chain(const struct plugin_port *port)
{
    static const char *const names[] = {"sidechain", "side chain", "side-chain"};
    bool has_word = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        has_word |= strcasestr(port->name, names[i]) != NULL;
    return port->type == PLUGIN_AUDIO && port->is_input && has_word;
}

static enum status describe_port(const LADSPA_Descriptor *descriptor, size_t index,
                                 struct plugin_port *port)
{
    static const LADSPA_PortRangeHint nothing;
    LADSPA_PortDescriptor kind = descriptor->PortDescriptors[index];
    const char *name = descriptor->PortNames ? descriptor->PortNames[index] : NULL;
    port->type = LADSPA_IS_PORT_AUDIO(kind) ? PLUGIN_AUDIO : PLUGIN_CONTROL;
    port->is_input = LADSPA_IS_PORT_INPUT(kind);
    port->name = strdup(name ? name : "");
    if (!port->name)
        return fail_memory("a plugin");
    port->is_latency = reports_latency(port);
    port->is_side_chain = is_side_chain(port);
    if (port->type == PLUGIN_AUDIO) {
        port->minimum = -INFINITY;
        port->maximum = INFINITY;
        return STATUS_OK;
    }
    set_range(descriptor->PortRangeHints ? &descriptor->PortRangeHints[index] : &nothing, port);
    TRY(name_unit(port->name, &port->unit));
    struct name_span inner;
    for (const char *at = port->name; port->is_input && name_next_brackets(&at, &inner);)
        TRY(parse_points(port, inner));
    return STATUS_OK;
}

enum status plugin_ladspa_ports(const LADSPA_Descriptor *descriptor, struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        TRY(describe_port(descriptor, i, &info->ports[i]));
    return plugin_port_symbols(info);
}

/* ---- descriptions ---- */

static const char *flaw_of(const LADSPA_Descriptor *descriptor)
{
    if (descriptor->PortCount > PLUGIN_PORTS_MOST)
        return "it has too many ports";
    if (!descriptor->instantiate || !descriptor->connect_port || !descriptor->run)
        return "it lacks a function that ladspa.h demands";
    if (descriptor->PortCount > 0 && !descriptor->PortDescriptors)
        return "it does not describe its ports";
    for (unsigned long i = 0; i < descriptor->PortCount; i++) {
        LADSPA_PortDescriptor port = descriptor->PortDescriptors[i];
        if (!LADSPA_IS_PORT_INPUT(port) == !LADSPA_IS_PORT_OUTPUT(port))
            return "it has a port that is neither input nor output";
        if (!LADSPA_IS_PORT_AUDIO(port) == !LADSPA_IS_PORT_CONTROL(port))
            return "it has a port that is neither sound nor a control";
    }
    return NULL;
}

static enum status fill(const LADSPA_Descriptor *descriptor, struct plugin_info *info)
{
    const char *flaw = flaw_of(descriptor), *name = descriptor->Name, *maker = descriptor->Maker;
    info->name = strdup(name && name[0] ? name : descriptor->Label);
    info->maker = maker && maker[0] ? strdup(maker) : NULL;
    info->refusal = flaw ? strdup(flaw) : NULL;
    if (!info->name || (flaw && !info->refusal))
        return fail_memory("a plugin");
    if (flaw)
        return STATUS_OK;
    info->ports = calloc(descriptor->PortCount + 1, sizeof *info->ports);
    if (!info->ports)
        return fail_memory("a plugin");
    info->port_count = descriptor->PortCount;
    return plugin_ladspa_ports(descriptor, info);
}

static enum status describe_in(const struct plugin_ladspa_library *library, const char *label,
                               struct plugin_info *info)
{
    const LADSPA_Descriptor *descriptor;
    TRY(plugin_ladspa_library_label(library, label, &descriptor));
    info->file = strdup(library->path);
    if (!info->file)
        return fail_memory("a plugin");
    TRY(plugin_ladspa_id_make(library->path, label, &info->id));
    return fill(descriptor, info);
}

/* Describe a plugin. If the id has no label, the error lists the labels of the library. */
static enum status describe(const char *id, struct plugin_info **result)
{
    const char *label = "";
    char *path = NULL, *name = NULL;
    struct plugin_ladspa_library library = {0};
    struct plugin_info *info = calloc(1, sizeof *info);
    enum status status = info ? plugin_ladspa_id_split(id, &name, &label) : fail_memory("a plugin");
    if (status == STATUS_OK)
        status = plugin_ladspa_library_find(name, &path);
    if (status == STATUS_OK)
        status = plugin_ladspa_library_open(path, &library);
    if (status == STATUS_OK) {
        info->kind = &plugin_ladspa;
        status = describe_in(&library, label, info);
    }
    plugin_ladspa_library_close(&library);
    free(name);
    free(path);
    if (status == STATUS_OK)
        *result = info;
    else
        plugin_info_destroy(info);
    return status;
}

static enum status open(const char *holder, const struct plugin_found *found)
{
    struct plugin_ladspa_library library;
    enum status status = plugin_ladspa_library_open(holder, &library);
    const LADSPA_Descriptor *descriptor;
    for (unsigned long i = 0;
         status == STATUS_OK && (descriptor = plugin_ladspa_library_at(&library, i)) != NULL; i++) {
        char *id = NULL;
        if (descriptor->Label)
            status = plugin_ladspa_id_make(holder, descriptor->Label, &id);
        if (id)
            found->take(found->context, id);
        free(id);
    }
    plugin_ladspa_library_close(&library);
    return status;
}

/* ---- an instance ---- */

struct ladspa_instance {
    struct plugin plugin;
    struct plugin_ladspa_library library;
    const LADSPA_Descriptor *descriptor;
    LADSPA_Handle handle;
    bool is_active;
    uint32_t rate;
    const float **in_data; /* buffer that each input is connected to; NULL: none yet */
    float **out_data;
};

HALO_REALTIME static void connect_sound(struct ladspa_instance *instance, const float *const *in,
                                        float *const *out)
{
    void (*connect)(LADSPA_Handle, unsigned long, LADSPA_Data *) =
        instance->descriptor->connect_port;
    for (size_t i = 0; i < instance->plugin.inputs; i++)
        if (instance->in_data[i] != in[i]) {
            connect(instance->handle, instance->plugin.in_ports[i], (LADSPA_Data *)in[i]);
            instance->in_data[i] = in[i];
        }
    for (size_t i = 0; i < instance->plugin.outputs; i++)
        if (instance->out_data[i] != out[i]) {
            connect(instance->handle, instance->plugin.out_ports[i], out[i]);
            instance->out_data[i] = out[i];
        }
}

HALO_REALTIME static void activate(struct ladspa_instance *instance)
{
    if (!instance->is_active && instance->descriptor->activate)
        instance->descriptor->activate(instance->handle);
    instance->is_active = true;
}

/* The first block or reset activates the plugin, since some plugins size their buffers by the
 * values of their controls at activation. */
HALO_REALTIME static void instance_process(struct plugin *plugin, const float *const *in,
                                           float *const *out, size_t frames)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
    connect_sound(instance, in, out);
    activate(instance);
    instance->descriptor->run(instance->handle, frames);
}

static void deactivate(struct ladspa_instance *instance)
{
    if (instance->is_active && instance->descriptor->deactivate)
        instance->descriptor->deactivate(instance->handle);
    instance->is_active = false;
}

static void connect_controls(struct ladspa_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_CONTROL)
            instance->descriptor->connect_port(instance->handle, i, &instance->plugin.controls[i]);
}

static void end(struct ladspa_instance *instance)
{
    deactivate(instance);
    if (instance->handle && instance->descriptor->cleanup)
        instance->descriptor->cleanup(instance->handle);
}

/* A quarter of all plugins keep some sound over a deactivation (states of filters, the phase of a
 * modulation): only a new instance has forgotten all. */
static void instance_reset(struct plugin *plugin)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
    const LADSPA_Descriptor *descriptor = instance->descriptor;
    LADSPA_Handle handle =
        instance->is_active ? descriptor->instantiate(descriptor, instance->rate) : NULL;
    if (handle) {
        end(instance);
        instance->handle = handle;
        connect_controls(instance);
        memset(instance->in_data, 0, plugin->inputs * sizeof *instance->in_data);
        memset(instance->out_data, 0, plugin->outputs * sizeof *instance->out_data);
    }
    deactivate(instance);
    activate(instance);
}

static void instance_destroy(struct plugin *plugin)
{
    struct ladspa_instance *instance = (struct ladspa_instance *)plugin;
    end(instance);
    plugin_ladspa_library_close(&instance->library);
    plugin_ports_free(plugin);
    free(instance->in_data);
    free(instance->out_data);
    free(instance);
}

static enum status build(struct ladspa_instance *instance)
{
    struct plugin *plugin = &instance->plugin;
    const struct plugin_info *info = plugin->info;
    TRY(plugin_ports_init(plugin, instance->rate));
    instance->in_data = calloc(plugin->inputs + 1, sizeof *instance->in_data);
    instance->out_data = calloc(plugin->outputs + 1, sizeof *instance->out_data);
    if (!instance->in_data || !instance->out_data)
        return fail_memory("a plugin");
    TRY(plugin_ladspa_library_open(info->file, &instance->library));
    TRY(plugin_ladspa_library_label(&instance->library, plugin_ladspa_id_label(info->id),
                                    &instance->descriptor));
    /* the library changed since it was described */
    if (instance->descriptor->PortCount != info->port_count)
        return fail(CAUSE_OTHER, "cannot run %s: %s has changed", info->id, info->file);
    instance->handle = instance->descriptor->instantiate(instance->descriptor, instance->rate);
    if (!instance->handle)
        return fail(CAUSE_OTHER, "cannot run %s: instantiation failed at %u Hz", info->id,
                    instance->rate);
    connect_controls(instance);
    return STATUS_OK;
}

static enum status instance_create(const struct plugin_info *info,
                                   const struct plugin_settings *settings, struct plugin **plugin)
{
    if (settings->preset)
        return fail(CAUSE_USAGE, "%s has no preset '%s': LADSPA has none", info->id,
                    settings->preset);
    if (settings->setting_count > 0)
        return fail(CAUSE_USAGE, "%s has no parameter '%s': LADSPA has ports only", info->id,
                    settings->settings[0].uri);
    struct ladspa_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin.kind = info->kind;
    instance->plugin.info = info;
    instance->rate = settings->rate;
    enum status status = build(instance);
    if (status == STATUS_OK)
        *plugin = &instance->plugin;
    else
        instance_destroy(&instance->plugin);
    return status;
}

const struct plugin_kind plugin_ladspa = {
    .name = "ladspa",
    .argument = "LIBRARY:LABEL",
    .path_variable = "LADSPA_PATH",
    .describe = describe,
    .list = plugin_ladspa_libraries,
    .open = open,
    .create = instance_create,
    .process = instance_process,
    .reset = instance_reset,
    .destroy = instance_destroy,
};
