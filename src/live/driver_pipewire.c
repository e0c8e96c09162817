/* Devices through PipeWire: nodes of halo's own in the server's graph (driver_pipewire_filter.c, or
 * driver_pipewire_sink.c), linked with the devices (driver_pipewire_links.c), all on the graph's
 * clock.
 *
 * A device has its description as its name and that of its node as the other; the monitor of a sink
 * is a device, too, named as PulseAudio does. */
#include "live/device_driver.h"
#include "live/driver_pipewire_channels.h"
#include "live/driver_pipewire_filter.h"
#include "live/driver_pipewire_links.h"
#include "live/driver_pipewire_metadata.h"
#include "live/driver_pipewire_registry.h"
#include "live/driver_pipewire_server.h"
#include "live/driver_pipewire_sink.h"

#include "base/monotonic.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_MS = 3000 };
enum { RATE_USUAL = 48000, BLOCK_USUAL = 256 };
static const int64_t ABSENT_NS = 2000000000; /* a device's profile changes in less */
static const char monitor_suffix[] = ".monitor";
static const char no_devices[] =
    "PipeWire runs, but has no sound device: plug one in, and see whether wireplumber runs";
static const char refused_notice[] =
    "the input is now the monitor of the device that halo plays to: it is not connected";

/* The period is the shortest that any program in the graph asks for, and changes with them: blocks
 * that divide it go on without delay. */
static struct {
    struct pipewire_registry graph;
    struct pipewire_links links;
    struct pipewire_cycle cycle;
    struct pipewire_filter filter; /* one of the two is open */
    struct pipewire_sink sink;
    const char *sink_description;                /* NULL: none */
    uint32_t asked_rate;                         /* Hz; 0: any, as it changes */
    size_t block;                                /* frames; asked for, or BLOCK_USUAL */
    int64_t seen_at;                             /* both devices */
    struct channel_layout layout_in, layout_out; /* as requested */
    struct device_stream *stream;
} pipewire;

/* ---- devices ---- */

static size_t count_ports(const struct pipewire_registry_node *node, bool is_input, bool is_monitor)
{
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST];
    return pipewire_registry_ports(&pipewire.graph, node->id, is_input, is_monitor, ports,
                                   DEVICE_CHANNELS_MOST);
}

/* As much of it as there is room for. */
static void put_name(const char *description, bool is_monitor, char *text, size_t size)
{
    static const char before[] = "Monitor of ";
    int room = (int)(size - sizeof before);
    snprintf(text, size, "%s%.*s", is_monitor ? before : "", room, description);
}

static enum status add_row(struct device_list *list, const struct pipewire_registry_node *node,
                           bool is_monitor, struct device_row **row)
{
    char name[PIPEWIRE_NAME];
    put_name(node->description, is_monitor, name, sizeof name);
    TRY(device_list_add(list, list->host_count - 1, name, row));
    snprintf((*row)->alias, sizeof(*row)->alias, "%.*s%s",
             (int)(sizeof(*row)->alias - sizeof monitor_suffix), node->name,
             is_monitor ? monitor_suffix : "");
    uint32_t forced = pipewire.graph.forced_rate;
    (*row)->rate = forced ? forced : pipewire.graph.rate;
    return STATUS_OK;
}

static enum status add_rows(struct device_list *list, const struct pipewire_registry_node *node)
{
    const struct pipewire_registry *graph = &pipewire.graph;
    bool is_source = strcmp(node->name, graph->default_source) == 0;
    bool is_sink = strcmp(node->name, graph->default_sink) == 0;
    struct device_row *row;
    TRY(add_row(list, node, false, &row));
    row->channels_in = node->is_source ? count_ports(node, false, false) : 0;
    row->channels_out = node->is_sink ? count_ports(node, true, false) : 0;
    row->default_in = is_source && node->is_source;
    row->default_out = is_sink && node->is_sink;
    if (!node->is_sink)
        return STATUS_OK;
    TRY(add_row(list, node, true, &row));
    row->channels_in = count_ports(node, false, true);
    row->default_in = is_source && !node->is_source;
    row->default_loopback = is_sink;
    return STATUS_OK;
}

static bool is_device(const struct pipewire_registry_node *node)
{
    return node->is_sink || node->is_source;
}

static enum status list_nodes(struct device_list *list)
{
    struct device_host *host = NULL;
    for (size_t i = 0; i < pipewire.graph.node_count; i++) {
        const struct pipewire_registry_node *node = &pipewire.graph.nodes[i];
        if (!is_device(node))
            continue;
        if (!host)
            TRY(device_list_add_host(list, "PipeWire", &host));
        host->is_default = host->one_clock = true;
        TRY(add_rows(list, node));
    }
    return STATUS_OK;
}

/* No server, or one without sound devices, which a desktop may run for its screen alone, is no
 * error: another driver may have some. */
static enum status pipewire_enumerate(const char *spec, struct device_list *list)
{
    bool found;
    size_t hosts = list->host_count;
    (void)spec;
    if (!pipewire_server_may_run())
        return STATUS_OK;
    TRY(pipewire_registry_open(&pipewire.graph, &found));
    if (!found && pipewire.graph.core && !pipewire.graph.gone)
        list->silent = "PipeWire is there and does not answer; continue it or start it again, or "
                       "name another driver with --driver";
    if (!found)
        return STATUS_OK;
    pw_thread_loop_lock(pipewire.graph.loop);
    enum status status = list_nodes(list);
    list->empty = list->host_count == hosts ? no_devices : list->empty;
    pw_thread_loop_unlock(pipewire.graph.loop);
    return status;
}

/* ---- opening ---- */

/* The name of the node, without the suffix of a monitor. */
static void set_end(struct pipewire_end *end, const struct device_row *row, bool is_named)
{
    size_t length = strlen(row->alias), suffix = strlen(monitor_suffix);
    end->is_wanted = true;
    end->is_monitor = length > suffix &&
                      strcmp(row->alias + length - suffix, monitor_suffix) == 0 &&
                      !pipewire_registry_named(&pipewire.graph, row->alias);
    snprintf(end->target, sizeof end->target, "%.*s",
             (int)(end->is_monitor ? length - suffix : length), row->alias);
    if (is_named)
        snprintf(end->named, sizeof end->named, "%s", end->target);
}

static void set_ends(const struct device_target *target)
{
    const struct device_request *request = target->request;
    struct pipewire_end *ends = pipewire.links.ends;
    if (target->output)
        set_end(&ends[PIPEWIRE_OUTPUT], target->output, request->output != NULL);
    if (target->input)
        set_end(&ends[PIPEWIRE_INPUT], target->input, request->input && !request->loopback);
    ends[PIPEWIRE_INPUT].is_default_sink = request->loopback;
    if (!pipewire.sink_description)
        return;
    pipewire_sink_name(pipewire.sink_description, pipewire.links.own_sink,
                       sizeof pipewire.links.own_sink);
}

static struct pipewire_channels channels_of(const struct device_stream *stream, bool is_input)
{
    return (struct pipewire_channels){
        .graph = &pipewire.graph,
        .end = &pipewire.links.ends[is_input ? PIPEWIRE_INPUT : PIPEWIRE_OUTPUT],
        .channels = is_input ? &stream->in : &stream->out,
        .asked = is_input ? pipewire.layout_in : pipewire.layout_out,
        .is_input = is_input,
        .is_sink = is_input && pipewire.sink_description,
    };
}

/* Of a port of halo's; context: struct device_stream. */
static const char *channel_name(void *context, bool is_input, size_t channel)
{
    const struct pipewire_channels channels = channels_of(context, is_input);
    return pipewire_port_name(&channels, channel);
}

static struct pipewire_request node_request(const struct device_request *request,
                                            struct device_stream *stream)
{
    uint32_t rate = request->rate ? request->rate : pipewire.graph.rate;
    rate = rate ? rate : RATE_USUAL;
    size_t block = request->latency == DEVICE_LATENCY_HIGH ? 0
                   : request->latency == DEVICE_LATENCY_SECONDS
                       ? (size_t)lround(request->latency_seconds * (double)rate)
                       : request->block;
    return (struct pipewire_request){
        .stream = stream,
        .channel = channel_name,
        .context = stream,
        .rate = request->rate,
        .block = block,
        .rate_of_block = rate,
    };
}

static void graph_changed(void *context)
{
    (void)context;
    struct pipewire_links *links = &pipewire.links;
    uint32_t filter = pipewire_filter_id(&pipewire.filter);
    bool has_sink = pipewire.sink_description != NULL;
    links->nodes[PIPEWIRE_INPUT] = has_sink ? pipewire_sink_id(&pipewire.sink) : filter;
    links->nodes[PIPEWIRE_OUTPUT] = has_sink ? pipewire_sink_playing_id(&pipewire.sink) : filter;
    size_t moves = links->moves;
    pipewire_links_update(links);
    if (links->moves != moves)
        pipewire.cycle.moves = true;
    atomic_store(&pipewire.stream->notice, links->refused[0] ? refused_notice : NULL);
}

static bool is_linked(void *context)
{
    (void)context;
    return pipewire.cycle.failed || pipewire.links.refused[0] ||
           (pipewire_links_are_there(&pipewire.links) && pipewire.cycle.rate);
}

static enum status refuse_loop(const struct device_target *target)
{
    const char *sink = pipewire.links.refused;
    if (target->request->loopback)
        return fail(CAUSE_USAGE,
                    "--loopback records what is played to %s, so halo cannot play to it as well: "
                    "name another device with --output, or make a sink with --sink NAME",
                    sink);
    return fail(CAUSE_USAGE,
                "the input is the monitor of %s, which halo would play to: that is feedback; name "
                "another --input or --output, or filter what programs play with --sink NAME",
                sink);
}

static enum status judge(const struct device_target *target)
{
    uint32_t asked = target->request->rate, rate = pipewire.cycle.rate;
    if (pipewire.links.refused[0])
        return refuse_loop(target);
    if (pipewire.graph.gone || pipewire.cycle.failed || rate == 0)
        return fail(CAUSE_DEVICE, "PipeWire gave %s no sound", target->label);
    if (asked && asked != rate)
        return fail(CAUSE_DEVICE,
                    "PipeWire runs at %u Hz, not at %u Hz; leave --rate out, or allow that rate in "
                    "default.clock.allowed-rates of pipewire.conf",
                    rate, asked);
    pipewire.asked_rate = asked;
    pipewire.seen_at = monotonic_ns();
    pipewire.cycle.is_ready = true;
    return STATUS_OK;
}

static enum status open_own(const struct pipewire_request *request)
{
    struct pw_core *core = pipewire.graph.core;
    TRY(pipewire_cycle_init(request->stream, &pipewire.cycle));
    if (pipewire.sink_description) {
        TRY(pipewire_sink_check(&pipewire.graph, pipewire.sink_description));
        return pipewire_sink_open(core, pipewire.sink_description, request, &pipewire.cycle,
                                  &pipewire.sink);
    }
    return pipewire_filter_open(core, request, &pipewire.cycle, &pipewire.filter);
}

static enum status open_nodes(const struct device_target *target, struct device_stream *stream)
{
    struct pipewire_registry *graph = &pipewire.graph;
    const struct pipewire_request request = node_request(target->request, stream);
    pipewire.sink_description = target->request->sink;
    pipewire.stream = stream;
    pipewire.layout_in = target->request->layout_in;
    pipewire.layout_out = target->request->layout_out;
    if (!target->request->returns)
        pipewire_links_forget();
    pipewire.block = request.block ? request.block : BLOCK_USUAL;
    pipewire.links = (struct pipewire_links){.graph = graph};
    set_ends(target);
    for (size_t i = 0; i < 2; i++) {
        const struct pipewire_channels channels = channels_of(stream, i == PIPEWIRE_INPUT);
        pipewire.links.ends[i].is_stated =
            channel_layout_is_known(pipewire_stated_layout(&channels));
    }
    TRY(open_own(&request));
    graph->changed = graph_changed;
    graph_changed(NULL);
    pipewire_registry_wait(graph, is_linked, NULL, LINKS_MS);
    return judge(target);
}

static enum status pipewire_open(const struct device_target *target, struct device_stream *stream,
                                 void **opened)
{
    *opened = &pipewire;
    pw_thread_loop_lock(pipewire.graph.loop);
    enum status status = open_nodes(target, stream);
    pw_thread_loop_unlock(pipewire.graph.loop);
    return status;
}

/* ---- while it runs ---- */

/* Its end arrives also while a session manager that hangs keeps the links as they are. */
static bool is_there(const struct pipewire_end *end)
{
    return end->is_there && pipewire_registry_named(&pipewire.graph, end->target);
}

/* A refused monitor is warned of, and not lost. */
static bool has_devices(void)
{
    const struct pipewire_links *links = &pipewire.links;
    for (size_t i = 0; i < 2; i++)
        if (links->ends[i].is_wanted && !is_there(&links->ends[i]) && !links->refused[0])
            return false;
    return true;
}

static bool pipewire_is_running(void *opened)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    int64_t now = monotonic_ns();
    pipewire_metadata_check(&pipewire.graph);
    if (has_devices())
        pipewire.seen_at = now;
    bool runs = !pipewire.graph.gone && !pipewire.cycle.failed &&
                now - pipewire.seen_at < ABSENT_NS &&
                (!pipewire.asked_rate || pipewire.asked_rate == pipewire.cycle.rate);
    pw_thread_loop_unlock(pipewire.graph.loop);
    return runs;
}

/* Where it is gone, and no other is named yet, it is the last one still. */
static void put_target(const struct pipewire_end *end, char *text, size_t size)
{
    if (end->is_wanted && end->description[0])
        put_name(end->description, end->is_monitor, text, size);
}

static void pipewire_describe(void *opened, struct device_info *info)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    info->rate = pipewire.cycle.rate;
    const struct pipewire_channels channels = channels_of(pipewire.stream, true);
    info->layout_in = pipewire_device_layout(&channels);
    if (info->period % pipewire.block == 0)
        info->block = pipewire.block;
    info->input_latency = pipewire_cycle_latency(&pipewire.cycle, SPA_DIRECTION_OUTPUT);
    info->output_latency = pipewire_cycle_latency(&pipewire.cycle, SPA_DIRECTION_INPUT);
    info->is_deaf = pipewire.sink_description || pipewire.links.ends[PIPEWIRE_INPUT].is_monitor;
    info->follows_default = !*pipewire.links.ends[PIPEWIRE_OUTPUT].named;
    put_target(&pipewire.links.ends[PIPEWIRE_OUTPUT], info->output, sizeof info->output);
    if (pipewire.links.refused[0])
        snprintf(info->input, sizeof info->input, "nothing");
    else if (!pipewire.sink_description)
        put_target(&pipewire.links.ends[PIPEWIRE_INPUT], info->input, sizeof info->input);
    pw_thread_loop_unlock(pipewire.graph.loop);
}

static void pipewire_set_latency(void *opened, uint64_t frames)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    if (pipewire.cycle.own_latency != frames && frames <= INT32_MAX) {
        pipewire.cycle.own_latency = (uint32_t)frames;
        if (pipewire.sink_description)
            pipewire_sink_update_latency(&pipewire.sink);
        else
            pipewire_filter_update_latency(&pipewire.filter);
    }
    pw_thread_loop_unlock(pipewire.graph.loop);
}

static enum status pipewire_close(void *opened)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    pipewire.graph.changed = NULL;
    pipewire_links_free(&pipewire.links);
    pipewire_filter_close(&pipewire.filter);
    pipewire_sink_close(&pipewire.sink);
    pipewire_cycle_free(&pipewire.cycle);
    pw_thread_loop_unlock(pipewire.graph.loop);
    return STATUS_OK;
}

static void pipewire_end(void)
{
    pipewire_registry_close(&pipewire.graph);
}

const struct device_driver driver_pipewire = {
    .name = "pipewire",
    .library = &pipewire_library,
    .absent = "no PipeWire server with sound devices answers; is the service pipewire running?",
    .enumerate = pipewire_enumerate,
    .open = pipewire_open,
    .is_running = pipewire_is_running,
    .describe = pipewire_describe,
    .set_latency = pipewire_set_latency,
    .close = pipewire_close,
    .end = pipewire_end,
    .outlives_stalls = true,
    .mixes_to_mono = true,
    .has_sinks = true,
};
