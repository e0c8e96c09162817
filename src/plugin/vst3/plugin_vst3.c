#include "plugin/vst3/plugin_vst3.h"

#include "base/monotonic.h"
#include "base/realtime.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vst3_parameter {
    size_t port;
    uint32_t id;
    struct vst3_scale scale;
    float sent;   /* value that the component has; NaN: the value must be sent */
    float told;   /* value whose normalized value comes from the plugin; NaN: none */
    double exact; /* normalized value of `told` */
    double seen;  /* the controller's normalized value when halo last asked; main thread */
};

struct vst3_buses { /* the buses of one direction */
    int32_t count;
    struct vst3_audio_bus_buffers *buffers; /* buffers by bus */
    struct plugin_channels channels;        /* channels of all buses */
};

struct vst3_instance {
    struct plugin plugin;
    struct vst3_module *module;
    struct vst3_class about;
    struct vst3_side side;
    struct vst3_handle handle;
    uint32_t rate, block;
    bool live, has_side_chain;
    char *preset;
    size_t parameter_count;
    struct vst3_parameter *parameters;
    size_t latency_port;
    atomic_uint reported_latency;
    struct vst3_buses in, out;
    struct vst3_changes changes, reports;
    struct vst3_changes told;  /* reports that the main thread gives to the controller */
    atomic_bool is_telling;    /* `told` belongs to the main thread */
    struct plugin_edits edits; /* normalized values by parameter */
    atomic_llong sent_at;      /* monotonic_ns() when a value was last sent */
    bool has_edits;            /* the controller may have changed values; main thread */
    struct plugin_tempo tempo;
    struct vst3_process_context context;
    int64_t time;                   /* frames since the last reset */
    struct plugin_service *service; /* live only; NULL: the processing thread makes main calls */
};

/* ---- values ---- */

HALO_REALTIME static double normal_of(const struct vst3_parameter *parameter, float value)
{
    return value == parameter->told ? parameter->exact
                                    : vst3_scale_normal(&parameter->scale, (double)value);
}

static const double SAME = 1e-6;          /* distance of normalized values that are one */
static const int64_t SETTLES = 300000000; /* ns */

/* The controller changed values by itself: the step gets them as edits. A separate controller does
 * not know the values of automation, so its values count only if they change. Returns whether there
 * was room. */
static bool find_edits(struct vst3_instance *instance)
{
    struct vst3_edit_controller *controller = instance->handle.controller;
    for (size_t i = 0; controller && i < instance->parameter_count; i++) {
        struct vst3_parameter *parameter = &instance->parameters[i];
        double normal = controller->calls->get_param_normalized(controller, parameter->id);
        if (!isfinite(normal) || fabs(normal - parameter->seen) < SAME)
            continue;
        if (!plugin_edits_add(&instance->edits, i, normal))
            return false;
        parameter->seen = normal;
    }
    return true;
}

/* Many controllers report the values that the host has set, too, rounded to float, and live some
 * time later. So edits are looked for when no value has been sent for a while. */
static void find_edits_later(struct vst3_instance *instance)
{
    bool settles = instance->service && monotonic_ns() - atomic_load(&instance->sent_at) < SETTLES;
    instance->has_edits = settles || !find_edits(instance);
}

HALO_REALTIME static void take_edits(struct vst3_instance *instance)
{
    double normal;
    for (size_t i; plugin_edits_take(&instance->edits, &i, &normal);) {
        struct vst3_parameter *parameter = &instance->parameters[i];
        float *control = &instance->plugin.controls[parameter->port];
        if (fabs(normal - normal_of(parameter, *control)) < SAME)
            continue;
        *control = parameter->told = (float)vst3_scale_value(&parameter->scale, normal);
        parameter->exact = normal;
        parameter->sent = (float)NAN;
    }
}

/* Queue the values that were set and not sent yet. Many plugins ignore the values of a block
 * without frames, so the next block gets them again. */
HALO_REALTIME static void collect_values(struct vst3_instance *instance, size_t frames)
{
    take_edits(instance);
    for (size_t i = 0; i < instance->parameter_count; i++) {
        struct vst3_parameter *parameter = &instance->parameters[i];
        float value = instance->plugin.controls[parameter->port];
        if (value == parameter->sent || !instance->plugin.info->ports[parameter->port].is_input)
            continue;
        if (vst3_changes_add(&instance->changes, parameter->id, normal_of(parameter, value)) &&
            frames > 0) {
            parameter->sent = value;
            if (value != parameter->told) /* the controller does not know it */
                atomic_store(&instance->sent_at, monotonic_ns());
        }
    }
}

/* Pass reports on to the main thread if the earlier ones have arrived there. */
HALO_REALTIME static void pass_reports(struct vst3_instance *instance)
{
    struct vst3_changes reports = instance->reports;
    if (reports.count == 0 || atomic_load(&instance->is_telling))
        return;
    instance->reports = instance->told;
    instance->told = reports;
    instance->reports.count = 0;
    atomic_store(&instance->is_telling, true);
    atomic_fetch_or(&instance->side.common.asked, VST3_ASKED_TELL);
}

/* Take the values that the plugin reported in a block. */
HALO_REALTIME static void take_reports(struct vst3_instance *instance)
{
    for (int32_t r = 0; r < instance->reports.count; r++) {
        struct vst3_queue *report = &instance->reports.queues[r];
        for (size_t i = 0; report->is_new && i < instance->parameter_count; i++) {
            struct vst3_parameter *parameter = &instance->parameters[i];
            if (parameter->id != report->id || !isfinite(report->value))
                continue;
            parameter->sent = (float)vst3_scale_value(&parameter->scale, report->value);
            instance->plugin.controls[parameter->port] = parameter->sent;
            break;
        }
        report->is_new = false;
    }
    pass_reports(instance);
}

static void tell_report(struct vst3_instance *instance, const struct vst3_queue *report)
{
    struct vst3_edit_controller *controller = instance->handle.controller;
    controller->calls->set_param_normalized(controller, report->id, report->value);
    for (size_t i = 0; i < instance->parameter_count; i++)
        if (instance->parameters[i].id == report->id)
            instance->parameters[i].seen =
                controller->calls->get_param_normalized(controller, report->id);
}

/* Give the reports to the controller, which may act on them: DPF's reports its latency then. */
static void tell_reports(struct vst3_instance *instance)
{
    for (int32_t r = 0; instance->handle.controller && r < instance->told.count; r++)
        tell_report(instance, &instance->told.queues[r]);
    atomic_store(&instance->is_telling, false);
}

/* Read the values that the controller has. If `adopted`, the controls get these values. */
static void read_values(struct vst3_instance *instance, bool adopted)
{
    struct vst3_edit_controller *controller = instance->handle.controller;
    for (size_t i = 0; controller && i < instance->parameter_count; i++) {
        struct vst3_parameter *parameter = &instance->parameters[i];
        double normal = controller->calls->get_param_normalized(controller, parameter->id);
        float value = (float)vst3_scale_value(&parameter->scale, normal);
        bool is_known = isfinite(normal);
        parameter->sent = parameter->told = is_known ? value : (float)NAN;
        parameter->exact = parameter->seen = normal;
        if (is_known && (adopted || !instance->plugin.info->ports[parameter->port].is_input))
            instance->plugin.controls[parameter->port] = value;
    }
}

/* Tell the controller the values of the controls that the component has or gets. If `is_apart`, the
 * step may run meanwhile, and keeps its own conversions. */
static void tell_controller(struct vst3_instance *instance, bool is_apart)
{
    struct vst3_edit_controller *controller = instance->handle.controller;
    for (size_t i = 0; i < instance->parameter_count; i++) {
        struct vst3_parameter *parameter = &instance->parameters[i];
        if (!instance->plugin.info->ports[parameter->port].is_input)
            continue;
        float value = instance->plugin.controls[parameter->port];
        double exact = value == parameter->told ? parameter->exact
                                                : vst3_scale_exact(&parameter->scale, controller,
                                                                   parameter->id, (double)value);
        controller->calls->set_param_normalized(controller, parameter->id, exact);
        parameter->seen = controller->calls->get_param_normalized(controller, parameter->id);
        if (is_apart)
            continue;
        parameter->told = value;
        parameter->exact = exact;
    }
}

/* The place of a block. VST3 counts quarter notes, halo counts beats of the tempo's unit. */
HALO_REALTIME static struct vst3_process_context *context_at(struct vst3_instance *instance)
{
    const struct plugin_tempo *tempo = &instance->tempo;
    int64_t frame = instance->plugin.position > 0 ? instance->plugin.position : 0;
    struct vst3_process_context *context = &instance->context;
    *context = (struct vst3_process_context){
        .state = VST3_CONT_TIME_VALID | (instance->plugin.position >= 0 ? VST3_PLAYING : 0),
        .sample_rate = instance->rate,
        .project_time_samples = frame,
        .continous_time_samples = instance->time,
        .tempo = 120,
        .time_sig_numerator = 4,
        .time_sig_denominator = 4};
    if (tempo->bpm == 0)
        return context;
    double beats = (double)frame / instance->rate * tempo->bpm / 60, quarter = 4.0 / tempo->unit;
    context->state |= VST3_TEMPO_VALID | VST3_TIME_SIG_VALID | VST3_PROJECT_TIME_MUSIC_VALID |
                      VST3_BAR_POSITION_VALID;
    context->tempo = tempo->bpm * quarter;
    context->project_time_music = beats * quarter;
    context->bar_position_music = floor(beats / tempo->bar) * tempo->bar * quarter;
    context->time_sig_numerator = (int32_t)tempo->bar;
    context->time_sig_denominator = (int32_t)tempo->unit;
    return context;
}

/* ---- the main thread ---- */

/* Activate and deactivate the plugin. On the main thread, while no block is processed. */
static bool activate(struct vst3_instance *instance)
{
    struct plugin_side *side = &instance->side.common;
    struct vst3_audio_processor *processor = instance->handle.processor;
    struct vst3_component *component = instance->handle.component;
    struct vst3_process_setup setup = {
        .process_mode = instance->live ? VST3_REALTIME : VST3_OFFLINE,
        .symbolic_sample_size = instance->in.channels.is_double ? VST3_SAMPLE64 : VST3_SAMPLE32,
        .max_samples_per_block = (int32_t)instance->block,
        .sample_rate = instance->rate};
    int32_t result = processor->calls->setup_processing(processor, &setup);
    if (result == VST3_OK || result == VST3_NOT_IMPLEMENTED)
        result = component->calls->set_active(component, true);
    bool is_active = result == VST3_OK || result == VST3_NOT_IMPLEMENTED;
    if (is_active)
        atomic_store(&instance->reported_latency, processor->calls->get_latency_samples(processor));
    atomic_fetch_and(&side->asked, ~(unsigned)PLUGIN_ASKED_RESTART);
    return plugin_side_activated(side, is_active, instance->plugin.info->id, instance->rate);
}

static void deactivate(struct vst3_instance *instance)
{
    struct vst3_component *component = instance->handle.component;
    if (atomic_exchange(&instance->side.common.is_active, false))
        component->calls->set_active(component, false);
}

HALO_REALTIME static void stop_processing(struct vst3_instance *instance)
{
    struct vst3_audio_processor *processor = instance->handle.processor;
    if (instance->side.common.is_processing)
        processor->calls->set_processing(processor, false);
    instance->side.common.is_processing = false;
}

/* Carry out the requests in `asked`, except a restart. On the main thread. */
static void attend(struct vst3_instance *instance, unsigned asked)
{
    struct vst3_audio_processor *processor = instance->handle.processor;
    if (asked & VST3_ASKED_TELL)
        tell_reports(instance);
    if (asked & VST3_ASKED_LATENCY)
        atomic_store(&instance->reported_latency, processor->calls->get_latency_samples(processor));
    if (asked & VST3_ASKED_VALUES || instance->has_edits)
        find_edits_later(instance);
}

static void activate_buses(struct vst3_instance *instance, int32_t direction, int32_t count)
{
    struct vst3_component *component = instance->handle.component;
    for (int32_t i = 0; i < count; i++) {
        struct vst3_bus_info bus = {.media_type = VST3_AUDIO};
        component->calls->get_bus_info(component, VST3_AUDIO, direction, i, &bus);
        bool is_used = direction == VST3_OUTPUT || i == 0 || bus.bus_type == VST3_MAIN ||
                       bus.flags & VST3_DEFAULT_ACTIVE || instance->has_side_chain;
        component->calls->activate_bus(component, VST3_AUDIO, direction, i, is_used);
    }
}

static enum status find_parameters(struct vst3_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    struct vst3_parameter_info about;
    size_t i = 0;
    for (int32_t next = 0; vst3_parameter_next(instance->handle.controller, &next, &about); i++) {
        struct vst3_parameter *parameter = &instance->parameters[i];
        if (i == instance->parameter_count)
            return fail(CAUSE_OTHER, "cannot run %s: its parameters have changed", info->id);
        parameter->id = about.id;
        parameter->sent = parameter->told = (float)NAN;
        if (!parameter->scale.values && parameter->scale.maximum == 0)
            TRY(vst3_scale_init(&parameter->scale, instance->handle.controller, &about));
    }
    return i == instance->parameter_count
               ? STATUS_OK
               : fail(CAUSE_OTHER, "cannot run %s: its parameters have changed", info->id);
}

static enum status make_handle(struct vst3_instance *instance)
{
    TRY(vst3_handle_make(instance->module, &instance->about, &instance->side, &instance->handle));
    struct vst3_audio_processor *processor = instance->handle.processor;
    instance->in.channels.is_double = instance->out.channels.is_double =
        processor->calls->can_process_sample_size(processor, VST3_SAMPLE32) != VST3_OK &&
        processor->calls->can_process_sample_size(processor, VST3_SAMPLE64) == VST3_OK;
    activate_buses(instance, VST3_INPUT, instance->in.count);
    activate_buses(instance, VST3_OUTPUT, instance->out.count);
    return find_parameters(instance);
}

/* Deactivation may leave sound: a new instance takes over the old one's state and values. */
static void renew(struct vst3_instance *instance)
{
    struct plugin_bytes state = {0};
    const struct vst3_id *cid = &instance->about.cid;
    bool has_state = vst3_preset_take(&instance->handle, cid, &state);
    vst3_handle_end(&instance->side, &instance->handle);
    atomic_store(&instance->side.common.asked, 0);
    atomic_store(&instance->side.reloads, false);
    atomic_store(&instance->is_telling, false);
    if (make_handle(instance) != STATUS_OK)
        vst3_handle_end(&instance->side, &instance->handle);
    else if (has_state)
        (void)vst3_preset_give(&instance->handle, cid, &state);
    free(state.data);
    read_values(instance, false);
}

/* Activate the plugin again, or a new instance of it if the plugin asks to be loaded anew. */
static void restart(struct vst3_instance *instance)
{
    deactivate(instance);
    if (atomic_exchange(&instance->side.reloads, false))
        renew(instance);
    if (instance->handle.component)
        activate(instance);
    else
        plugin_side_complain(&instance->side.common, "it cannot be loaded anew: it is silent");
}

/* In files, after a block: carry out the plugin's requests. Returns whether it was restarted. */
static bool attend_between_blocks(struct vst3_instance *instance)
{
    vst3_host_turn(instance);
    attend(instance, plugin_side_take(&instance->side.common));
    if (!(atomic_load(&instance->side.common.asked) & PLUGIN_ASKED_RESTART))
        return false;
    stop_processing(instance);
    restart(instance);
    return true;
}

static void serve_requests(void *context, unsigned asked)
{
    vst3_thread_enter(context);
    attend(context, asked);
    vst3_host_turn(context);
}

static void serve_restart(void *context)
{
    restart(context);
}

HALO_REALTIME static void stop_for_restart(void *context)
{
    stop_processing(context);
}

static const struct plugin_service_calls service_calls = {
    .attend = serve_requests, .restart = serve_restart, .stop = stop_for_restart};

/* ---- a block: real-time ---- */

HALO_REALTIME static bool start_processing(struct vst3_instance *instance)
{
    struct vst3_audio_processor *processor = instance->handle.processor;
    if (!instance->side.common.is_processing && atomic_load(&instance->side.common.is_active)) {
        processor->calls->set_processing(processor, true); /* many plugins return an error */
        instance->side.common.is_processing = true;
    }
    return instance->side.common.is_processing;
}

HALO_REALTIME static void silence(const struct vst3_instance *instance, float *const *out,
                                  size_t frames)
{
    for (size_t i = 0; i < instance->plugin.outputs; i++)
        memset(out[i], 0, frames * sizeof(float));
}

/* Process `frames` frames of the buffers in the buses; 0 frames only exchange values. */
HALO_REALTIME static int32_t call_process(struct vst3_instance *instance, size_t frames)
{
    struct vst3_audio_processor *processor = instance->handle.processor;
    collect_values(instance, frames);
    struct vst3_process_data data = {
        .process_mode = instance->live ? VST3_REALTIME : VST3_OFFLINE,
        .symbolic_sample_size = instance->in.channels.is_double ? VST3_SAMPLE64 : VST3_SAMPLE32,
        .num_samples = (int32_t)frames,
        .num_inputs = instance->in.count,
        .num_outputs = instance->out.count,
        .inputs = instance->in.buffers,
        .outputs = instance->out.buffers,
        .input_parameter_changes = &instance->changes,
        .output_parameter_changes = &instance->reports,
        .process_context = context_at(instance)};
    for (int32_t i = 0; i < instance->out.count; i++)
        instance->out.buffers[i].silence_flags = 0;
    int32_t result = processor->calls->process(processor, &data);
    instance->changes.count = 0;
    take_reports(instance);
    return result;
}

HALO_REALTIME static void show_latency(struct vst3_instance *instance)
{
    if (instance->latency_port < instance->plugin.info->port_count)
        instance->plugin.controls[instance->latency_port] =
            (float)atomic_load(&instance->reported_latency);
}

/* JUCE's plugins change their latency while they run, and report it from a thread of their own, at
 * any time. So halo asks for it after each block of a file. Live it asks after the first block,
 * which may have the first values. */
HALO_REALTIME static void read_latency(struct vst3_instance *instance)
{
    struct vst3_audio_processor *processor = instance->handle.processor;
    if (instance->service && instance->time > 0)
        return;
    atomic_store(&instance->reported_latency, processor->calls->get_latency_samples(processor));
    show_latency(instance);
}

HALO_REALTIME static void run_block(struct vst3_instance *instance, float *const *out,
                                    size_t frames)
{
    bool failed = call_process(instance, frames) != VST3_OK;
    plugin_channels_get(&instance->out.channels, out, frames);
    if (failed) {
        plugin_side_complain(&instance->side.common,
                             "it failed to process a block: silence is heard");
        silence(instance, out, frames);
    }
    read_latency(instance);
    instance->time += (int64_t)frames;
}

HALO_REALTIME static void run_or_silence(struct vst3_instance *instance, float *const *out,
                                         size_t frames)
{
    bool is_admitted = !instance->service || plugin_service_admits(instance->service);
    show_latency(instance);
    if (is_admitted && start_processing(instance))
        run_block(instance, out, frames);
    else
        silence(instance, out, frames);
}

/* A plugin may ask for a restart in its first block, for a new latency: it gets the block again. */
HALO_REALTIME static void vst3_instance_process(struct plugin *plugin, const float *const *in,
                                                float *const *out, size_t frames)
{
    struct vst3_instance *instance = (struct vst3_instance *)plugin;
    bool is_first = instance->time == 0;
    vst3_thread_enter(instance);
    plugin_channels_read(&instance->in.channels, in, frames);
    plugin_channels_write(&instance->out.channels, out);
    run_or_silence(instance, out, frames);
    if (!instance->service && attend_between_blocks(instance) && is_first)
        run_or_silence(instance, out, frames);
    plugin->complaint = atomic_exchange(&instance->side.common.complaint, NULL);
}

/* ---- reset ---- */

/* Process silence, so that values reach a component that ignores them in blocks of 0 frames. The
 * component stays active: renew it before there is sound. */
static void deliver_values(struct vst3_instance *instance)
{
    if (!atomic_load(&instance->side.common.is_active) && !activate(instance))
        return;
    plugin_channels_mute(&instance->in.channels);
    plugin_channels_mute(&instance->out.channels);
    start_processing(instance);
    call_process(instance, instance->block);
    stop_processing(instance);
}

static bool has_unsent(const struct vst3_instance *instance)
{
    for (size_t i = 0; i < instance->parameter_count; i++) {
        size_t port = instance->parameters[i].port;
        if (instance->plugin.info->ports[port].is_input &&
            instance->plugin.controls[port] != instance->parameters[i].sent)
            return true;
    }
    return false;
}

/* Load the program of "plugin:NUMBER". The component gets it as a value. A controller that is apart
 * (DPF's) may load the program alone: then the component gets the controller's values. */
static enum status load_program(struct vst3_instance *instance, const char *number)
{
    struct vst3_edit_controller *controller = instance->handle.controller;
    struct vst3_parameter_info about;
    char *end;
    long program = strtol(number, &end, 10);
    if (!vst3_program_parameter(controller, &about) || end == number || *end || program < 0 ||
        program > about.step_count)
        return fail(CAUSE_USAGE, "%s has no preset plugin:%s", instance->plugin.info->id, number);
    double normal = (double)program / about.step_count;
    read_values(instance, true); /* the component gets the program alone */
    controller->calls->set_param_normalized(controller, about.id, normal);
    (void)find_edits(instance);
    take_edits(instance);
    bool knows = has_unsent(instance);
    vst3_changes_add(&instance->changes, about.id, normal);
    deliver_values(instance);
    if (!knows)
        vst3_handle_sync(&instance->handle);
    if (!instance->plugin.info->keeps_state)
        deactivate(instance);
    else
        renew(instance);
    return instance->handle.component ? STATUS_OK : STATUS_FAILED;
}

static enum status load_preset(struct vst3_instance *instance)
{
    static const char in_plugin[] = "plugin:", in_file[] = "file:";
    const char *uri = instance->preset;
    if (strncmp(uri, in_plugin, sizeof in_plugin - 1) == 0)
        return load_program(instance, uri + sizeof in_plugin - 1);
    return vst3_state_load_file(&instance->handle, &instance->about.cid, uri + sizeof in_file - 1);
}

static void vst3_instance_reset(struct plugin *plugin)
{
    struct vst3_instance *instance = (struct vst3_instance *)plugin;
    struct plugin_side *side = &instance->side.common;
    vst3_thread_enter(instance);
    plugin_service_pause(instance->service);
    stop_processing(instance);
    if (atomic_load(&side->is_active))
        renew(instance);
    if (instance->handle.component) {
        if (has_unsent(instance))
            tell_controller(instance, false);
        attend(instance, plugin_side_take(side));
        activate(instance);
        attend(instance, plugin_side_take(side));
        start_processing(instance);
        show_latency(instance);
    }
    instance->time = 0;
    side->loads = false;
    plugin->trouble = side->trouble[0] ? side->trouble : NULL;
    plugin_service_resume(instance->service);
}

/* ---- making one ---- */

/* Make the buses of one direction. Their channels are in one array, bus after bus. */
static enum status make_buses(struct vst3_instance *instance, int32_t direction,
                              struct vst3_buses *buses, size_t channels)
{
    struct vst3_component *component = instance->handle.component;
    int32_t count = component->calls->get_bus_count(component, VST3_AUDIO, direction);
    size_t found = 0;
    buses->count = count > 0 && count <= VST3_BUSES_MOST ? count : 0;
    buses->buffers = calloc((size_t)buses->count + 1, sizeof *buses->buffers);
    TRY(plugin_channels_init(&buses->channels, channels, instance->block));
    if (!buses->buffers)
        return fail_memory("a plugin");
    for (int32_t i = 0; i < buses->count && found <= channels; i++) {
        struct vst3_bus_info bus = {.media_type = VST3_AUDIO};
        component->calls->get_bus_info(component, VST3_AUDIO, direction, i, &bus);
        buses->buffers[i] = (struct vst3_audio_bus_buffers){
            .num_channels = bus.channel_count, .channel_buffers = buses->channels.buffers + found};
        found += (size_t)bus.channel_count;
    }
    activate_buses(instance, direction, buses->count);
    return found == channels ? STATUS_OK
                             : fail(CAUSE_OTHER, "cannot run %s: its buses have changed",
                                    instance->plugin.info->id);
}

/* List the parameters: the ports after the audio ports, except the latency. */
static enum status list_parameters(struct vst3_instance *instance)
{
    const struct plugin_info *info = instance->plugin.info;
    instance->parameters = calloc(info->port_count + 1, sizeof *instance->parameters);
    if (!instance->parameters)
        return fail_memory("a plugin");
    instance->latency_port = info->port_count;
    for (size_t i = 0; i < info->port_count; i++)
        if (info->ports[i].is_latency)
            instance->latency_port = i;
        else if (info->ports[i].type == PLUGIN_CONTROL)
            instance->parameters[instance->parameter_count++].port = i;
    TRY(plugin_edits_init(&instance->edits, instance->parameter_count));
    return vst3_changes_init(&instance->changes, instance->parameter_count);
}

static enum status build(struct vst3_instance *instance, const struct plugin_settings *settings)
{
    struct plugin *plugin = &instance->plugin;
    vst3_side_init(&instance->side, plugin->info->name);
    TRY(plugin_ports_init(plugin, settings->rate));
    TRY(list_parameters(instance));
    if (settings->preset && !(instance->preset = strdup(settings->preset)))
        return fail_memory("a plugin");
    TRY(vst3_module_find(plugin->info->id, &instance->module, &instance->about));
    vst3_thread_enter(instance);
    TRY(make_handle(instance));
    struct vst3_edit_controller *controller = instance->handle.controller;
    size_t count = controller ? (size_t)controller->calls->get_parameter_count(controller) : 0;
    TRY(vst3_changes_init(&instance->told, count));
    TRY(vst3_changes_init(&instance->reports, count));
    TRY(make_buses(instance, VST3_INPUT, &instance->in, plugin->inputs));
    TRY(make_buses(instance, VST3_OUTPUT, &instance->out, plugin->outputs));
    if (instance->preset)
        TRY(load_preset(instance));
    if (settings->state)
        TRY(vst3_state_load(&instance->handle, &instance->about.cid, settings->state));
    /* Controls take the values of a preset or state; else the plugin gets the initial values. */
    read_values(instance, settings->preset || settings->state);
    return settings->live ? plugin_service_create(&service_calls, instance, &instance->side.common,
                                                  &instance->service)
                          : STATUS_OK;
}

static void free_buses(struct vst3_buses *buses)
{
    free(buses->buffers);
    plugin_channels_free(&buses->channels);
}

static void vst3_instance_destroy(struct plugin *plugin)
{
    struct vst3_instance *instance = (struct vst3_instance *)plugin;
    plugin_service_destroy(instance->service);
    vst3_thread_enter(instance);
    stop_processing(instance);
    vst3_handle_end(&instance->side, &instance->handle);
    vst3_host_forget(instance);
    vst3_thread_enter(NULL);
    vst3_module_close(instance->module);
    vst3_changes_free(&instance->changes);
    vst3_changes_free(&instance->reports);
    vst3_changes_free(&instance->told);
    plugin_edits_free(&instance->edits);
    plugin_ports_free(plugin);
    free_buses(&instance->in);
    free_buses(&instance->out);
    for (size_t i = 0; i < instance->parameter_count; i++)
        vst3_scale_free(&instance->parameters[i].scale);
    free(instance->parameters);
    free(instance->preset);
    free(instance);
}

static enum status vst3_instance_create(const struct plugin_info *info,
                                        const struct plugin_settings *settings,
                                        struct plugin **plugin)
{
    if (settings->setting_count > 0)
        return fail(CAUSE_USAGE, "%s has no param:%s: VST3 has controls only", info->id,
                    settings->settings[0].uri);
    struct vst3_instance *instance = calloc(1, sizeof *instance);
    if (!instance)
        return fail_memory("a plugin");
    instance->plugin = (struct plugin){.kind = info->kind, .info = info};
    instance->rate = settings->rate;
    instance->block = (uint32_t)settings->block;
    instance->live = settings->live;
    instance->has_side_chain = settings->has_side_chain;
    instance->tempo = settings->tempo;
    vst3_thread_enter(NULL);
    enum status status = build(instance, settings);
    if (status == STATUS_OK)
        *plugin = &instance->plugin;
    else
        vst3_instance_destroy(&instance->plugin);
    return status;
}

/* Before the first block a plugin may lack values: it gets them in a block that is not heard. */
static enum status vst3_instance_save(struct plugin *plugin, const char *folder)
{
    struct vst3_instance *instance = (struct vst3_instance *)plugin;
    if (!plugin->info->keeps_state || !instance->handle.component)
        return STATUS_OK;
    vst3_thread_enter(instance);
    plugin_service_pause(instance->service);
    bool lacks = !instance->service && has_unsent(instance);
    if (lacks)
        deliver_values(instance);
    tell_controller(instance, instance->service);
    enum status status =
        vst3_state_save(&instance->handle, &instance->about.cid, plugin->info->id, folder);
    plugin_service_resume(instance->service);
    if (lacks)
        vst3_instance_reset(plugin);
    return status;
}

static uint64_t vst3_instance_tail(struct plugin *plugin)
{
    struct vst3_audio_processor *processor = ((struct vst3_instance *)plugin)->handle.processor;
    uint32_t frames = processor ? processor->calls->get_tail_samples(processor) : 0;
    return processor && frames < VST3_INFINITE_TAIL ? frames : PLUGIN_TAIL_UNKNOWN;
}

/* The holder is a bundle. */
static enum status vst3_open(const char *holder, const struct plugin_found *found)
{
    struct vst3_module *module;
    struct vst3_class about;
    enum status status = vst3_module_open(holder, &module);
    if (status != STATUS_OK)
        return status;
    for (int32_t next = 0; status == STATUS_OK && vst3_module_next(module, &next, &about);) {
        char *id = NULL;
        status = vst3_module_id(module, &about, &id);
        if (status == STATUS_OK)
            found->take(found->context, id);
        free(id);
    }
    vst3_module_close(module);
    return status;
}

const struct plugin_kind plugin_vst3 = {
    .name = "vst3",
    .argument = "NAME",
    .path_variable = "VST3_PATH",
    .adapts = true,
    .describe = vst3_describe,
    .list = vst3_bundles,
    .open = vst3_open,
    .create = vst3_instance_create,
    .process = vst3_instance_process,
    .reset = vst3_instance_reset,
    .tail = vst3_instance_tail,
    .save = vst3_instance_save,
    .destroy = vst3_instance_destroy,
};
