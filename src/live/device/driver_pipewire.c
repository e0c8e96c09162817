/* Devices through PipeWire: halo adds nodes of its own to the server's graph
 * (driver_pipewire_node.c), and links them with the devices (driver_pipewire_links.c). All run on
 * the graph's clock.
 *
 * A device's name is the description of its node; its alias is the name of its node. The monitor of
 * a sink is a device, too, and is named as in PulseAudio.
 *
 * halo numbers a device's channels in the order of halo's layouts, and links ports by the names of
 * their channels. If the user maps channels, halo's ports are named like the device's. */
#include "live/device/driver_pipewire.h"

#include "base/monotonic.h"

#include <limits.h>
#include <math.h>
#include <spa/debug/types.h>
#include <spa/param/audio/type-info.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- whether a server may run: the library would take milliseconds to find out ---- */

static const char *text_of(const char *variable, const char *otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? text : otherwise;
}

static bool has_socket(const char *folder, const char *name)
{
    char path[PATH_MAX];
    struct stat file;
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length < (int)sizeof path && stat(path, &file) == 0 && S_ISSOCK(file.st_mode);
}

/* Whether a socket is where programs look, or PIPEWIRE_REMOTE is no plain name. No allocation. */
static bool server_may_run(void)
{
    const char *name = text_of("PIPEWIRE_REMOTE", "pipewire-0");
    const char *user = text_of("PIPEWIRE_RUNTIME_DIR", text_of("XDG_RUNTIME_DIR", NULL));
    bool is_plain = name[0] != '/' && name[0] != '[' && name[0] != '{' && name[0] != '@';
    return !is_plain || (user && has_socket(user, name)) || has_socket("/run/pipewire", name);
}

enum { LINKS_MS = 3000 };
enum { RATE_USUAL = 48000, BLOCK_USUAL = 256 };
static const int64_t ABSENT_NS = 2000000000; /* devices may be missing while a profile changes */
static const char monitor_suffix[] = ".monitor";
static const char no_devices[] =
    "PipeWire runs, but has no sound device: plug one in, and see whether wireplumber runs";
static const char refused_notice[] =
    "the input is now the monitor of the device that halo plays to: it is not connected";

/* The period of the graph is the shortest one that any program asks for. It changes when programs
 * come and go. If `block` divides the new period, processing goes on without additional delay. */
static struct {
    struct pipewire_registry graph;
    struct pipewire_links links;
    struct pipewire_own_node node;
    uint32_t asked_rate; /* rate that was requested, in Hz; 0: none, so the rate may change */
    size_t block;        /* frames: the requested block, or BLOCK_USUAL */
    int64_t seen_at;     /* monotonic ns: when both devices were last there */
    struct channel_layout layout_in, layout_out; /* layouts that were requested */
    struct device_stream *stream;
} pipewire;

/* ---- channels ---- */

static const char *const names[CHANNEL_POSITIONS] = {
    [CHANNEL_FL] = "FL",   [CHANNEL_FR] = "FR",     [CHANNEL_FC] = "FC",   [CHANNEL_LFE] = "LFE",
    [CHANNEL_BL] = "RL",   [CHANNEL_BR] = "RR",     [CHANNEL_FLC] = "FLC", [CHANNEL_FRC] = "FRC",
    [CHANNEL_BC] = "RC",   [CHANNEL_SL] = "SL",     [CHANNEL_SR] = "SR",   [CHANNEL_TC] = "TC",
    [CHANNEL_TFL] = "TFL", [CHANNEL_TFC] = "TFC",   [CHANNEL_TFR] = "TFR", [CHANNEL_TBL] = "TRL",
    [CHANNEL_TBC] = "TRC", [CHANNEL_TBR] = "TRR",   [CHANNEL_WL] = "FLW",  [CHANNEL_WR] = "FRW",
    [CHANNEL_TSL] = "TSL", [CHANNEL_LFE2] = "LFE2", [CHANNEL_TSR] = "TSR", [CHANNEL_BFC] = "BC",
    [CHANNEL_BFL] = "BLC", [CHANNEL_BFR] = "BRC",
};

/* The position of the layout's channel number `channel`. */
static enum channel_position position_at(struct channel_layout layout, size_t channel)
{
    for (enum channel_position at = 0; at < CHANNEL_POSITIONS; at++)
        if (layout.speakers & UINT32_C(1) << at && channel-- == 0)
            return at;
    return CHANNEL_OTHER;
}

/* The name of a channel in PipeWire: its position, or AUX... if the position is unknown. */
static const char *name_in(struct channel_layout layout, size_t channels, size_t channel)
{
    enum channel_position position = position_at(layout, channel);
    if (channels == 1 && position == CHANNEL_FC)
        return "MONO";
    if (position < CHANNEL_OTHER && names[position])
        return names[position];
    return spa_debug_type_find_short_name(spa_type_audio_channel,
                                          SPA_AUDIO_CHANNEL_AUX0 + (uint32_t)channel);
}

static enum channel_position position_named(const char *name)
{
    enum channel_position at = 0;
    if (strcmp(name, "MONO") == 0)
        return CHANNEL_FC;
    while (at < CHANNEL_POSITIONS && (!names[at] || strcmp(names[at], name) != 0))
        at++;
    return at;
}

/* The layout of ports according to their names. Unknown if a port has no position, or two have
 * the same. *is_sorted: they are in the layout's order. */
static struct channel_layout layout_of(const struct pipewire_registry_port *const *ports,
                                       size_t count, bool *is_sorted)
{
    struct channel_layout layout = {0};
    enum channel_position last = 0;
    *is_sorted = true;
    for (size_t i = 0; i < count; i++) {
        enum channel_position position = position_named(ports[i]->channel);
        uint32_t bit = position < CHANNEL_OTHER ? UINT32_C(1) << position : 0;
        if (bit == 0 || layout.speakers & bit)
            return (struct channel_layout){0};
        *is_sorted = *is_sorted && position >= last;
        layout.speakers |= bit;
        last = position;
    }
    return layout;
}

static const struct pipewire_end *end_of(bool is_input)
{
    return &pipewire.links.ends[is_input ? PIPEWIRE_INPUT : PIPEWIRE_OUTPUT];
}

static bool is_own_sink(bool is_input)
{
    return is_input && pipewire.node.sink_description;
}

/* Finds the ports of the device that halo's ports are linked with. A virtual sink has none. */
static size_t find_ports(bool is_input, const struct pipewire_registry_port **ports)
{
    const struct pipewire_registry *graph = &pipewire.graph;
    const struct pipewire_end *end = end_of(is_input);
    const struct pipewire_registry_node *node =
        is_own_sink(is_input) ? NULL : pipewire_registry_named(graph, end->target);
    return node ? pipewire_registry_ports(graph, node->id, !is_input, is_input && end->is_monitor,
                                          ports, DEVICE_CHANNELS_MOST)
                : 0;
}

static const struct device_channels *channels_of(bool is_input)
{
    return is_input ? &pipewire.stream->in : &pipewire.stream->out;
}

/* The requested layout if it has as many channels as the stream; else unknown. */
static struct channel_layout stated_layout(bool is_input)
{
    struct channel_layout asked = is_input ? pipewire.layout_in : pipewire.layout_out;
    bool fits = asked.ambisonic || channel_layout_count(asked) == channels_of(is_input)->count;
    return fits ? asked : (struct channel_layout){0};
}

/* The layout of the device's used channels. Unknown if only one of several channels is used. */
static struct channel_layout device_layout(bool is_input)
{
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST], *used[DEVICE_CHANNELS_MOST];
    const struct device_channels *channels = channels_of(is_input);
    size_t there = find_ports(is_input, ports), count = channels->count;
    struct channel_layout layout = stated_layout(is_input);
    bool is_sorted;
    if (is_own_sink(is_input))
        return channel_layout_is_known(layout) ? layout : channel_layout_usual(count);
    if (channels->opened > there || (count == 1 && there > 1))
        return (struct channel_layout){0};
    for (size_t c = 0; c < count; c++)
        used[c] = ports[channels->map[c]];
    layout = layout_of(used, count, &is_sorted);
    return is_sorted || device_channels_are_first(channels) ? layout : (struct channel_layout){0};
}

/* The name of a port of halo: FL, RL, AUX2. Valid until the graph changes. */
static const char *port_name(bool is_input, size_t port)
{
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST];
    const struct device_channels *channels = channels_of(is_input);
    size_t there = find_ports(is_input, ports), count = channels->opened;
    struct channel_layout layout = stated_layout(is_input);
    if (!channel_layout_is_known(layout))
        layout = device_layout(is_input);
    if (channel_layout_is_known(layout) && device_channels_are_first(channels))
        return name_in(layout, count, port);
    if (port < there && ports[port]->channel[0])
        return ports[port]->channel;
    return name_in(channel_layout_usual(count), count, port);
}

/* ---- devices ---- */

static size_t count_ports(const struct pipewire_registry_node *node, bool is_input, bool is_monitor)
{
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST];
    return pipewire_registry_ports(&pipewire.graph, node->id, is_input, is_monitor, ports,
                                   DEVICE_CHANNELS_MOST);
}

/* Cuts the description if there is too little room. */
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

/* If no server runs, lists nothing, and another driver is tried. The same holds for a server
 * without sound devices: a desktop may run it only for the screen. */
static enum status pipewire_enumerate(const char *spec, struct device_list *list)
{
    bool found;
    size_t hosts = list->host_count;
    (void)spec;
    if (!server_may_run())
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

/* Sets the node name, without the suffix ".monitor", and whether the device is a monitor. */
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
    if (request->sink)
        pipewire_sink_name(request->sink, pipewire.links.own_sink);
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
        .channel = port_name,
        .rate = request->rate,
        .block = block,
        .rate_of_block = rate,
    };
}

static void graph_changed(void *context)
{
    (void)context;
    struct pipewire_links *links = &pipewire.links;
    for (size_t i = 0; i < 2; i++)
        links->nodes[i] = pipewire_own_node_id(&pipewire.node, i == PIPEWIRE_INPUT);
    size_t moves = links->moves;
    pipewire_links_update(links);
    if (links->moves != moves)
        pipewire.node.cycle.moves = true;
    atomic_store(&pipewire.stream->notice, links->refused[0] ? refused_notice : NULL);
}

static bool is_linked(void *context)
{
    (void)context;
    return pipewire.node.cycle.failed || pipewire.links.refused[0] ||
           (pipewire_links_are_there(&pipewire.links) && pipewire.node.cycle.rate);
}

static enum status refuse_loop(const struct device_target *target)
{
    const char *sink = pipewire.links.refused;
    if (target->request->loopback)
        return fail(
            CAUSE_USAGE,
            "--loopback records the sound that is played to %s, so halo cannot play to this "
            "device, too: "
            "name another device with --output, or make a sink with --sink NAME",
            sink);
    return fail(
        CAUSE_USAGE,
        "the input is the monitor of %s, to which halo would play. That would be feedback; name "
        "another --input or --output, or filter what programs play with --sink NAME",
        sink);
}

static enum status judge(const struct device_target *target)
{
    uint32_t asked = target->request->rate, rate = pipewire.node.cycle.rate;
    if (pipewire.links.refused[0])
        return refuse_loop(target);
    if (pipewire.graph.gone || pipewire.node.cycle.failed || rate == 0)
        return fail(CAUSE_DEVICE, "PipeWire gave %s no sound", target->label);
    if (asked && asked != rate)
        return fail(CAUSE_DEVICE,
                    "PipeWire runs at %u Hz, not at %u Hz; leave --rate out, or allow that rate in "
                    "default.clock.allowed-rates of pipewire.conf",
                    rate, asked);
    pipewire.asked_rate = asked;
    pipewire.seen_at = monotonic_ns();
    pipewire.node.cycle.is_ready = true;
    return STATUS_OK;
}

static enum status open_nodes(const struct device_target *target, struct device_stream *stream)
{
    struct pipewire_registry *graph = &pipewire.graph;
    const struct pipewire_request request = node_request(target->request, stream);
    pipewire.stream = stream;
    pipewire.layout_in = target->request->layout_in;
    pipewire.layout_out = target->request->layout_out;
    if (!target->request->returns)
        pipewire_links_forget();
    pipewire.block = request.block ? request.block : BLOCK_USUAL;
    pipewire.links = (struct pipewire_links){.graph = graph};
    set_ends(target);
    for (size_t i = 0; i < 2; i++)
        pipewire.links.ends[i].is_stated =
            channel_layout_is_known(stated_layout(i == PIPEWIRE_INPUT));
    TRY(pipewire_own_node_open(graph, target->request->sink, &request, &pipewire.node));
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

/* Whether the device exists. The links are not enough: while a session manager hangs, they stay. */
static bool is_there(const struct pipewire_end *end)
{
    return end->is_there && pipewire_registry_named(&pipewire.graph, end->target);
}

/* Whether the wanted devices are there. A refused input is not missing: a notice tells the user. */
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
    bool runs = !pipewire.graph.gone && !pipewire.node.cycle.failed &&
                now - pipewire.seen_at < ABSENT_NS &&
                (!pipewire.asked_rate || pipewire.asked_rate == pipewire.node.cycle.rate);
    pw_thread_loop_unlock(pipewire.graph.loop);
    return runs;
}

/* The name of the device. If it is gone, the name of the last one. */
static void put_target(const struct pipewire_end *end, char *text, size_t size)
{
    if (end->is_wanted && end->description[0])
        put_name(end->description, end->is_monitor, text, size);
}

static void pipewire_describe(void *opened, struct device_info *info)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    info->rate = pipewire.node.cycle.rate;
    info->layout_in = device_layout(true);
    if (info->period % pipewire.block == 0)
        info->block = pipewire.block;
    info->input_latency = pipewire_cycle_latency(&pipewire.node.cycle, SPA_DIRECTION_OUTPUT);
    info->output_latency = pipewire_cycle_latency(&pipewire.node.cycle, SPA_DIRECTION_INPUT);
    info->is_deaf =
        pipewire.node.sink_description || pipewire.links.ends[PIPEWIRE_INPUT].is_monitor;
    info->follows_default = !*pipewire.links.ends[PIPEWIRE_OUTPUT].named;
    put_target(&pipewire.links.ends[PIPEWIRE_OUTPUT], info->output, sizeof info->output);
    if (pipewire.links.refused[0])
        snprintf(info->input, sizeof info->input, "nothing");
    else if (!pipewire.node.sink_description)
        put_target(&pipewire.links.ends[PIPEWIRE_INPUT], info->input, sizeof info->input);
    pw_thread_loop_unlock(pipewire.graph.loop);
}

static void pipewire_set_latency(void *opened, uint64_t frames)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    pipewire_own_node_set_latency(&pipewire.node, frames);
    pw_thread_loop_unlock(pipewire.graph.loop);
}

static enum status pipewire_close(void *opened)
{
    (void)opened;
    pw_thread_loop_lock(pipewire.graph.loop);
    pipewire.graph.changed = NULL;
    pipewire_links_free(&pipewire.links);
    pipewire_own_node_close(&pipewire.node);
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
