#include "plugin/vst3/plugin_vst3.h"

#include "base/realtime.h"
#include "plugin/plugin_values.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- scales ---- */

/* Plugins of some frameworks (JUCE) have plain values from 0 to 1 for all parameters, and only
 * texts show decibels or hertz. The scale of such a parameter has the numbers of its texts. */

enum { NODES = 258 };

struct number_text {
    double number;        /* NaN: the text does not begin with a number */
    double step;          /* the last digit's place: 0.01 for "1.25" */
    char unit[VST3_UNIT]; /* text after the number; "Hz" for "kHz" */
    double exact; /* normalized value of which the plugin says that the text stands for it */
};

static void split_text(const char *text, struct number_text *found)
{
    char *end;
    found->number = strtod(text, &end);
    if (end == text)
        found->number = (double)NAN;
    const char *point = memchr(text, '.', (size_t)(end - text));
    found->step = point ? pow(10, (double)(point + 1 - end)) : 1;
    while (isspace((unsigned char)*end))
        end++;
    bool is_kilo = strcmp(end, "kHz") == 0;
    found->number *= is_kilo ? 1000 : 1;
    found->step *= is_kilo ? 1000 : 1;
    snprintf(found->unit, sizeof found->unit, "%s", end + is_kilo);
}

static void ask_number(struct vst3_edit_controller *controller, uint32_t id, double normal,
                       struct number_text *found)
{
    uint16_t text[VST3_TEXT] = {0}, again[VST3_TEXT] = {0};
    char utf8[VST3_UTF8] = "";
    double exact = normal;
    if (controller->calls->get_param_string_by_value(controller, id, normal, text) == VST3_OK)
        vst3_utf8(text, utf8);
    split_text(utf8, found);
    bool knows =
        controller->calls->get_param_value_by_string(controller, id, text, &exact) == VST3_OK &&
        exact >= 0 && exact <= 1 &&
        controller->calls->get_param_string_by_value(controller, id, exact, again) == VST3_OK &&
        memcmp(text, again, sizeof text) == 0;
    found->exact = knows ? exact : normal;
}

static void set_linear(struct vst3_scale *scale, double minimum, double maximum)
{
    scale->minimum = minimum;
    scale->maximum = maximum;
    scale->count = 0;
}

/* Add a pair if its value is above the last. False: it is below. */
static bool add_pair(struct vst3_scale *scale, double value, double normal)
{
    size_t last = scale->count - 1;
    bool is_first = scale->count == 0, is_below = !is_first && value < scale->values[last];
    if (is_first || (value > scale->values[last] && normal > scale->normals[last])) {
        scale->values[scale->count] = value;
        scale->normals[scale->count++] = normal;
    }
    return !is_below;
}

/* Complete a scale of pairs. A scale that is linear up to `error` in its values needs none. */
static void end_pairs(struct vst3_scale *scale, double error)
{
    size_t last = scale->count - 1;
    double from = scale->values[0], range = scale->values[last] - from, worst = 0;
    for (size_t i = 0; i <= last; i++)
        worst = fmax(worst, fabs(from + range * scale->normals[i] - scale->values[i]));
    scale->minimum = from;
    scale->maximum = scale->values[last];
    if (worst <= error && scale->normals[0] == 0 && scale->normals[last] == 1)
        scale->count = 0;
}

/* The normalized value of a node: evenly from 0 to 1, and the default in its place. */
static double node_at(int node, const struct vst3_parameter_info *about)
{
    double initial = fmax(0, fmin(1, about->default_normalized_value));
    double even = (double)node / (NODES - 2), before = (double)(node - 1) / (NODES - 2);
    return even <= initial ? even : before < initial ? initial : before;
}

static bool find_plain(struct vst3_scale *scale, struct vst3_edit_controller *controller,
                       const struct vst3_parameter_info *about)
{
    for (int i = 0; i < NODES; i++) {
        double normal = node_at(i, about);
        double plain = controller->calls->normalized_param_to_plain(controller, about->id, normal);
        if (!isfinite((float)plain) || !add_pair(scale, plain, normal))
            return false;
    }
    if (scale->count < 3)
        return false;
    end_pairs(scale, 1e-7 * (scale->values[scale->count - 1] - scale->values[0]));
    return scale->minimum != 0 || scale->maximum != 1 || scale->count > 0;
}

/* Texts such as "-inf dB" have no place in the scale. */
static bool find_texts(struct vst3_scale *scale, struct vst3_edit_controller *controller,
                       const struct vst3_parameter_info *about)
{
    struct number_text first, found;
    ask_number(controller, about->id, 1, &first);
    for (int i = 0; i < NODES; i++) {
        ask_number(controller, about->id, node_at(i, about), &found);
        if (isnan(found.number) || strcmp(found.unit, first.unit) != 0)
            return false;
        if (isfinite((float)found.number) && !add_pair(scale, found.number, found.exact))
            return false;
    }
    if (scale->count < 3)
        return false;
    memcpy(scale->unit, first.unit, sizeof scale->unit);
    scale->has_texts = true;
    end_pairs(scale, fmax(0.51 * first.step, 1e-5 * fabs(first.number)));
    return true;
}

/* The values of steps: plain values or numbers of texts if their distance is 1, else 0, 1, ... */
static void find_steps(struct vst3_scale *scale, struct vst3_edit_controller *controller,
                       const struct vst3_parameter_info *about)
{
    double steps = scale->steps = about->step_count;
    double from = controller->calls->normalized_param_to_plain(controller, about->id, 0);
    double to = controller->calls->normalized_param_to_plain(controller, about->id, 1);
    struct number_text first, last;
    ask_number(controller, about->id, 0, &first);
    ask_number(controller, about->id, 1, &last);
    if (to - from == steps && floor(from) == from && fabs(from) < 1e6)
        set_linear(scale, from, to);
    else if (last.number - first.number == steps && floor(first.number) == first.number &&
             fabs(first.number) < 1e6)
        set_linear(scale, first.number, last.number);
    else
        set_linear(scale, 0, steps);
}

enum status vst3_scale_init(struct vst3_scale *scale, struct vst3_edit_controller *controller,
                            const struct vst3_parameter_info *about)
{
    *scale = (struct vst3_scale){0};
    if (about->step_count > 0) {
        find_steps(scale, controller, about);
        return STATUS_OK;
    }
    scale->values = calloc(2 * (size_t)NODES, sizeof *scale->values);
    if (!scale->values)
        return fail_memory("a plugin");
    scale->normals = scale->values + NODES;
    if (find_plain(scale, controller, about))
        return STATUS_OK;
    scale->count = 0;
    if (!find_texts(scale, controller, about))
        set_linear(scale, 0, 1);
    return STATUS_OK;
}

void vst3_scale_free(struct vst3_scale *scale)
{
    free(scale->values);
}

/* The value at `at` of a function through pairs. */
HALO_REALTIME static double through_pairs(const double *from, const double *to, size_t count,
                                          double at)
{
    size_t low = 0, high = count - 1;
    if (at <= from[low])
        return to[low];
    if (at >= from[high])
        return to[high];
    while (high - low > 1) {
        size_t middle = (low + high) / 2;
        if (from[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return to[low] + (to[high] - to[low]) * (at - from[low]) / (from[high] - from[low]);
}

HALO_REALTIME double vst3_scale_normal(const struct vst3_scale *scale, double value)
{
    double range = scale->maximum - scale->minimum;
    if (scale->count > 0)
        return through_pairs(scale->values, scale->normals, scale->count, value);
    return range > 0 ? fmax(0, fmin(1, (value - scale->minimum) / range)) : 0;
}

HALO_REALTIME double vst3_scale_value(const struct vst3_scale *scale, double normal)
{
    double range = scale->maximum - scale->minimum, part = fmax(0, fmin(1, normal));
    if (scale->count > 0)
        return through_pairs(scale->normals, scale->values, scale->count, normal);
    if (scale->steps > 0) /* VST3 has a rule for steps */
        part = fmin(scale->steps, floor(part * (scale->steps + 1))) / scale->steps;
    return scale->minimum + part * range;
}

double vst3_scale_exact(const struct vst3_scale *scale, struct vst3_edit_controller *controller,
                        uint32_t id, double value)
{
    double near = vst3_scale_normal(scale, value), exact = near;
    char text[VST3_TEXT];
    uint16_t wide[VST3_TEXT] = {0};
    if (scale->count == 0)
        return near;
    int length = snprintf(text, sizeof text, "%.9g %s", value, scale->unit);
    for (int i = 0; i < length && i < VST3_TEXT - 1; i++)
        wide[i] = (unsigned char)text[i];
    if (!scale->has_texts)
        exact = controller->calls->plain_param_to_normalized(controller, id, value);
    else if (controller->calls->get_param_value_by_string(controller, id, wide, &exact) != VST3_OK)
        return near;
    return fabs(exact - near) < 1.0 / NODES ? fmax(0, fmin(1, exact)) : near;
}

/* ---- parameters ---- */

static int32_t parameter_count(struct vst3_edit_controller *controller)
{
    int32_t count = controller ? controller->calls->get_parameter_count(controller) : 0;
    return count < VST3_PARAMETERS_MOST ? count : VST3_PARAMETERS_MOST;
}

/* JUCE's plugins with an input for MIDI have a parameter for each of 16 x 130 controllers: "MIDI CC
 * 0|7". halo sends no MIDI. */
static bool is_of_midi(const struct vst3_parameter_info *about)
{
    char title[VST3_UTF8];
    vst3_utf8(about->title, title);
    return strncmp(title, "MIDI CC ", 8) == 0 && strchr(title, '|');
}

bool vst3_parameter_next(struct vst3_edit_controller *controller, int32_t *next,
                         struct vst3_parameter_info *about)
{
    int32_t count = parameter_count(controller);
    while (*next < count) {
        *about = (struct vst3_parameter_info){0};
        if (controller->calls->get_parameter_info(controller, (*next)++, about) == VST3_OK &&
            !(about->flags & (VST3_IS_HIDDEN | VST3_IS_PROGRAM_CHANGE)) && !is_of_midi(about))
            return true;
    }
    return false;
}

bool vst3_program_parameter(struct vst3_edit_controller *controller,
                            struct vst3_parameter_info *about)
{
    int32_t count = parameter_count(controller);
    for (int32_t i = 0; i < count; i++) {
        *about = (struct vst3_parameter_info){0};
        if (controller->calls->get_parameter_info(controller, i, about) == VST3_OK &&
            about->flags & VST3_IS_PROGRAM_CHANGE && about->step_count > 0)
            return true;
    }
    return false;
}

struct vst3_question {
    struct vst3_edit_controller *controller;
    const struct vst3_scale *scale;
    uint32_t id;
};

static bool text_of_value(const void *context, double value, char *text, uint32_t size)
{
    const struct vst3_question *ask = context;
    uint16_t wide[VST3_TEXT] = {0};
    char utf8[VST3_UTF8];
    double normal = vst3_scale_normal(ask->scale, value);
    if (ask->controller->calls->get_param_string_by_value(ask->controller, ask->id, normal, wide) !=
        VST3_OK)
        return false;
    vst3_utf8(wide, utf8);
    snprintf(text, size, "%s", utf8);
    return true;
}

enum { UNITS_DEEP = 8 /* most units within one another */ };

/* Find a unit by its id. False: it is the root, or not there. */
static bool find_unit(struct vst3_units *units, int32_t id, struct vst3_unit_info *unit)
{
    int32_t count = id == 0 ? 0 : units->calls->get_unit_count(units);
    for (int32_t i = 0; i < count && i < VST3_PARAMETERS_MOST; i++) {
        *unit = (struct vst3_unit_info){0};
        if (units->calls->get_unit_info(units, i, unit) == VST3_OK && unit->id == id)
            return true;
    }
    return false;
}

/* The group of a parameter: the names of its units, from the outermost on. */
static enum status name_group(struct vst3_units *units, int32_t id, char **group)
{
    struct vst3_unit_info unit;
    char name[VST3_UTF8];
    for (int depth = 0; depth < UNITS_DEEP && find_unit(units, id, &unit); depth++) {
        char *inner = *group;
        vst3_utf8(unit.name, name);
        int made = asprintf(group, "%s%s%s", name, inner ? "/" : "", inner ? inner : "");
        free(inner);
        if (made < 0) {
            *group = NULL;
            return fail_memory("a plugin");
        }
        id = unit.parent_unit_id;
    }
    return STATUS_OK;
}

/* Complete a port by its scale and texts. */
static enum status describe_values(struct vst3_edit_controller *controller,
                                   const struct vst3_parameter_info *about,
                                   struct plugin_port *port)
{
    struct vst3_scale scale;
    char units[VST3_UTF8];
    TRY(vst3_scale_init(&scale, controller, about));
    const struct vst3_question question = {controller, &scale, about->id};
    const struct plugin_value_texts texts = {text_of_value, &question};
    vst3_utf8(about->units, units);
    port->minimum = (float)scale.minimum;
    port->maximum = (float)scale.maximum;
    /* The value that the plugin begins with may differ from its default. */
    port->initial = (float)vst3_scale_value(
        &scale, controller->calls->get_param_normalized(controller, about->id));
    bool is_normal = about->step_count == 0 && scale.count == 0 && !scale.has_texts &&
                     scale.minimum == 0 && scale.maximum == 1;
    const char *unit = scale.unit[0] ? scale.unit : is_normal ? NULL : units;
    enum status status = plugin_text(unit, &port->unit)
                             ? plugin_values_describe(&texts, about->step_count > 0, port)
                             : fail_memory("a plugin");
    vst3_scale_free(&scale);
    return status;
}

static enum status add_parameter(struct vst3_edit_controller *controller, struct vst3_units *units,
                                 const struct vst3_parameter_info *about, struct plugin_info *info)
{
    char name[VST3_UTF8];
    vst3_utf8(about->title, name);
    if (!isfinite(about->default_normalized_value) || about->step_count < 0)
        return plugin_info_refuse(info, "its parameter '%s' has %d steps, and the default %g", name,
                                  about->step_count, about->default_normalized_value);
    const struct plugin_port port = {
        .type = PLUGIN_CONTROL, .is_input = !(about->flags & VST3_IS_READ_ONLY), .name = name};
    TRY(plugin_info_add_port(info, &port));
    struct plugin_port *added = &info->ports[info->port_count - 1];
    if (units)
        TRY(name_group(units, about->unit_id, &added->group));
    return describe_values(controller, about, added);
}

static enum status add_parameters(struct vst3_edit_controller *controller, struct plugin_info *info)
{
    struct vst3_parameter_info about;
    struct vst3_units *units = NULL;
    enum status status = STATUS_OK;
    if (!controller)
        return STATUS_OK;
    int32_t count = controller->calls->get_parameter_count(controller);
    if (count > VST3_PARAMETERS_MOST)
        return plugin_info_refuse(info, "it has %d parameters, more than %d", count,
                                  VST3_PARAMETERS_MOST);
    if (controller->calls->query_interface(controller, &vst3_units_iid, (void **)&units) != VST3_OK)
        units = NULL;
    for (int32_t next = 0;
         status == STATUS_OK && !info->refusal && vst3_parameter_next(controller, &next, &about);)
        status = add_parameter(controller, units, &about, info);
    if (units)
        units->calls->release(units);
    return status;
}

/* ---- buses ---- */

static enum status add_bus(struct plugin_info *info, const struct vst3_bus_info *bus, int32_t index,
                           bool is_input)
{
    char name[VST3_UTF8], text[VST3_UTF8 + 16];
    bool is_beside = bus->bus_type != VST3_MAIN || bus->flags & VST3_IS_CONTROL_VOLTAGE;
    const struct plugin_port channel = {.type = PLUGIN_AUDIO,
                                        .is_input = is_input,
                                        .is_side_chain = is_input && index > 0 && is_beside,
                                        .name = text,
                                        .minimum = -INFINITY,
                                        .maximum = INFINITY};
    vst3_utf8(bus->name, name);
    for (int32_t i = 0; i < bus->channel_count; i++) {
        plugin_channel_name(name, sizeof name, (uint32_t)bus->channel_count, (uint32_t)i, text,
                            sizeof text);
        TRY(plugin_info_add_port(info, &channel));
    }
    return STATUS_OK;
}

static enum status add_buses(struct vst3_component *component, struct plugin_info *info,
                             bool is_input)
{
    int32_t direction = is_input ? VST3_INPUT : VST3_OUTPUT;
    int32_t count = component->calls->get_bus_count(component, VST3_AUDIO, direction);
    if (count < 0 || count > VST3_BUSES_MOST)
        return plugin_info_refuse(info, "it has %d buses, more than %d", count, VST3_BUSES_MOST);
    for (int32_t i = 0; i < count; i++) {
        struct vst3_bus_info bus = {.media_type = VST3_AUDIO};
        if (component->calls->get_bus_info(component, VST3_AUDIO, direction, i, &bus) != VST3_OK)
            return plugin_info_refuse(info, "it does not describe its bus %d", i + 1);
        if (bus.channel_count < 0 || bus.channel_count > VST3_CHANNELS_MOST)
            return plugin_info_refuse(info, "its bus %d has %d channels, more than %d", i + 1,
                                      bus.channel_count, VST3_CHANNELS_MOST);
        TRY(add_bus(info, &bus, i, is_input));
    }
    return STATUS_OK;
}

/* Refuse a plugin that takes notes and no sound: halo sends no notes. */
static enum status refuse_instrument(struct vst3_component *component, struct plugin_info *info)
{
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].type == PLUGIN_AUDIO && info->ports[i].is_input)
            return STATUS_OK;
    return component->calls->get_bus_count(component, VST3_EVENT, VST3_INPUT) > 0
               ? plugin_info_refuse(info, "it has an input for notes and none for sound, and halo "
                                          "sends no notes")
               : STATUS_OK;
}

/* Fill the ports of an info: the channels of the buses, inputs first, then the parameters, then the
 * latency. Sets info->refusal if they break a rule. */
static enum status describe_ports(const struct vst3_handle *handle, struct plugin_info *info)
{
    static const struct plugin_port latency = {
        .type = PLUGIN_CONTROL, .name = "Latency", .is_latency = true, .maximum = INFINITY};
    TRY(add_buses(handle->component, info, true));
    if (!info->refusal)
        TRY(refuse_instrument(handle->component, info));
    if (!info->refusal)
        TRY(add_buses(handle->component, info, false));
    if (!info->refusal)
        TRY(add_parameters(handle->controller, info));
    if (!info->refusal)
        TRY(plugin_info_add_port(info, &latency));
    return plugin_port_symbols(info);
}

/* ---- presets: programs of the plugin, and files in the folders for presets ---- */

enum { PRESETS_MOST = 16384 };

static enum status add_preset(struct plugin_info *info, char *uri, const char *name, size_t length)
{
    struct plugin_preset *more =
        info->preset_count < PRESETS_MOST && uri
            ? realloc(info->presets, (info->preset_count + 1) * sizeof *more)
            : NULL;
    if (!more) {
        free(uri);
        return info->preset_count < PRESETS_MOST ? fail_memory("a plugin") : STATUS_OK;
    }
    info->presets = more;
    more[info->preset_count] = (struct plugin_preset){.uri = uri, .name = strndup(name, length)};
    return more[info->preset_count++].name ? STATUS_OK : fail_memory("a plugin");
}

static enum status add_programs(struct vst3_edit_controller *controller, struct plugin_info *info)
{
    struct vst3_parameter_info about;
    if (!vst3_program_parameter(controller, &about))
        return STATUS_OK;
    for (int32_t i = 0; i <= about.step_count && i < PRESETS_MOST; i++) {
        uint16_t wide[VST3_TEXT] = {0};
        char name[VST3_UTF8], *uri;
        controller->calls->get_param_string_by_value(controller, about.id,
                                                     (double)i / about.step_count, wide);
        vst3_utf8(wide, name);
        if (asprintf(&uri, "plugin:%d", i) < 0)
            uri = NULL;
        TRY(add_preset(info, uri, name, strlen(name)));
    }
    return STATUS_OK;
}

static enum status add_preset_file(void *context, const char *path)
{
    static const char ending[] = ".vstpreset";
    const char *name = strrchr(path, '/') + 1;
    size_t length = strlen(name);
    char *uri;
    if (length < sizeof ending || strcmp(name + length + 1 - sizeof ending, ending) != 0)
        return STATUS_OK;
    if (asprintf(&uri, "file:%s", path) < 0)
        uri = NULL;
    return add_preset(context, uri, name, length + 1 - sizeof ending);
}

static enum status add_preset_files(const struct vst3_class *about, struct plugin_info *info)
{
    const char *list = "~/.vst3/presets:/usr/local/share/vst3/presets:/usr/share/vst3/presets";
    enum status status = STATUS_OK;
    for (char *place; status == STATUS_OK && (place = plugin_places_next(&list)); free(place)) {
        char *folder;
        if (asprintf(&folder, "%s/%s/%s", place, about->vendor, about->name) < 0) {
            status = fail_memory("a plugin");
            continue;
        }
        status = plugin_places_each(folder, add_preset_file, info);
        free(folder);
    }
    return status;
}

/* ---- the plugin ---- */

/* The category of "Fx|Reverb|Stereo" is "Reverb". */
static bool name_category(const char *categories, char **category)
{
    if (strncmp(categories, "Fx|", 3) == 0)
        categories += 3;
    char word[sizeof((struct vst3_class *)0)->category];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(categories, "|"), categories);
    return plugin_text(word, category);
}

static enum status fill_texts(const struct vst3_module *module, const struct vst3_class *about,
                              struct plugin_info *info)
{
    info->kind = &plugin_vst3;
    info->file = strdup(vst3_module_path(module));
    info->name = strdup(about->name);
    if (!info->file || !info->name || !plugin_text(about->vendor, &info->maker) ||
        !name_category(about->category, &info->category))
        return fail_memory("a plugin");
    return vst3_module_id(module, about, &info->id);
}

static enum status fill_from_plugin(const struct vst3_handle *handle,
                                    const struct vst3_class *about, struct plugin_info *info)
{
    struct plugin_bytes state = {0};
    info->keeps_state = vst3_preset_take(handle, &about->cid, &state);
    free(state.data);
    info->loads_presets = info->keeps_state;
    TRY(describe_ports(handle, info));
    TRY(add_programs(handle->controller, info));
    return add_preset_files(about, info);
}

static enum status fill(const struct vst3_module *module, struct vst3_class *about,
                        struct plugin_info *info)
{
    struct vst3_side side;
    struct vst3_handle handle;
    vst3_side_init(&side, about->name);
    enum status status = vst3_handle_make(module, about, &side, &handle);
    if (status == STATUS_OK)
        status = fill_texts(module, about, info);
    if (status == STATUS_OK)
        status = fill_from_plugin(&handle, about, info);
    vst3_handle_end(&side, &handle);
    return status;
}

enum status vst3_describe(const char *id, struct plugin_info **result)
{
    struct vst3_module *module = NULL;
    struct vst3_class about;
    struct plugin_info *info = calloc(1, sizeof *info);
    vst3_thread_enter(NULL);
    enum status status = info ? vst3_module_find(id, &module, &about) : fail_memory("a plugin");
    if (status == STATUS_OK)
        status = fill(module, &about, info);
    vst3_module_close(module);
    if (status == STATUS_OK)
        *result = info;
    else
        plugin_info_destroy(info);
    return status;
}
