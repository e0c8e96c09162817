/* JACK: a client "halo" with a port for each channel of the step.
 *
 * Devices are the server's other clients; "none" is no client: other programs then connect halo's
 * ports. The server's period and rate are used as they are. */
#include "base/monotonic.h"
#include "base/realtime.h"
#include "base/thread.h"
#include "live/device/device_driver.h"
#include "live/device/jack_library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A connection of one of halo's ports with a port of another client. */
struct jack_patch_link {
    char *own;   /* name of halo's port, without the client's name, which the server may change */
    char *other; /* full name of the other port */
    bool there;  /* the other port existed at the last look */
    int undone;  /* number of looks since the connection was undone while the other port existed */
};

struct jack_patch {
    struct jack_patch_link *links;
    size_t count;
};

enum { LOOKS = 8 }; /* looks after a change: a connection may be seen only a period later */
enum { POLL_NS = 1000000, AGAIN_NS = 50000000 };
static const int64_t ANSWER_NS = INT64_C(2000000000); /* time in which a server must answer */

/* The ports of one direction. */
struct jack_ports {
    jack_port_t *ports[DEVICE_CHANNELS_MOST];
    size_t count;
};

static struct {
    jack_client_t *client; /* NULL: no server */
    struct device_stream *stream;
    struct jack_ports in, out;
    atomic_uint_fast64_t latency; /* frames that the step adds */
    atomic_bool gone;             /* the server ended or removed the client */
    atomic_bool xrun;             /* an xrun occurred since the last block */
    atomic_bool changed;          /* ports or connections changed since the last look */
    int looks;                    /* looks that are still to be made */
    struct jack_patch patch;      /* connections; kept for a stream that is opened again */
} jack;

/* ---- connections, remembered by the names of ports
 *
 * If a connection is undone while the other port stays, it is forgotten. If the other port goes
 * away, with its client or with the server, the connection is made again when a port of that name
 * appears. ---- */

/* Number of looks after which an undone connection is forgotten. A port that goes away is
 * disconnected first, and a server that ends may take a while. */
enum { LOOKS_UNDONE = 20 };

static void link_free(struct jack_patch_link *link)
{
    free(link->own);
    free(link->other);
}

static void clear_links(void)
{
    for (size_t i = 0; i < jack.patch.count; i++)
        link_free(&jack.patch.links[i]);
    free(jack.patch.links);
    jack.patch = (struct jack_patch){0};
}

/* The other ports are gone. All connections are made again when their ports appear. */
static void await_links(void)
{
    for (size_t i = 0; i < jack.patch.count; i++)
        jack.patch.links[i].there = false;
}

static struct jack_patch_link *find_link(const char *own, const char *other)
{
    for (size_t i = 0; i < jack.patch.count; i++)
        if (strcmp(jack.patch.links[i].own, own) == 0 &&
            strcmp(jack.patch.links[i].other, other) == 0)
            return &jack.patch.links[i];
    return NULL;
}

static void learn(const char *own, const char *other)
{
    if (find_link(own, other))
        return;
    struct jack_patch_link link = {.own = strdup(own), .other = strdup(other), .there = true};
    struct jack_patch_link *links =
        realloc(jack.patch.links, (jack.patch.count + 1) * sizeof *links);
    if (links)
        jack.patch.links = links;
    if (links && link.own && link.other)
        links[jack.patch.count++] = link;
    else
        link_free(&link);
}

static void learn_port(const jack_port_t *port)
{
    const char **others = jack_port_get_all_connections(jack.client, port);
    for (size_t i = 0; others && others[i]; i++)
        learn(jack_port_short_name(port), others[i]);
    jack_free(others);
}

static jack_port_t *own_port(jack_port_t *const *ports, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(jack_port_short_name(ports[i]), name) == 0)
            return ports[i];
    return NULL;
}

static void make_link(const jack_port_t *port, const char *other)
{
    bool is_input = jack_port_flags(port) & JackPortIsInput;
    const char *own = jack_port_name(port);
    (void)jack_connect(jack.client, is_input ? other : own, is_input ? own : other);
}

/* Returns false if the connection was undone and is to be forgotten. */
static bool follow(struct jack_patch_link *link, jack_port_t *port)
{
    bool was_there = link->there;
    link->there = jack_port_by_name(jack.client, link->other) != NULL;
    bool is_open = port && link->there && !jack_port_connected_to(port, link->other);
    link->undone = is_open && was_there ? link->undone + 1 : 0;
    if (is_open && !was_there)
        make_link(port, link->other);
    return link->undone < LOOKS_UNDONE;
}

/* False: look again soon, since a connection was undone, and its port may be going away too. */
static bool follow_links(jack_port_t *const *ports, size_t count)
{
    size_t kept = 0;
    bool is_settled = true;
    for (size_t i = 0; i < jack.patch.count; i++) {
        struct jack_patch_link *link = &jack.patch.links[i];
        bool keep = follow(link, own_port(ports, count, link->own));
        is_settled = is_settled && link->undone == 0;
        if (keep)
            jack.patch.links[kept++] = *link;
        else
            link_free(link);
    }
    jack.patch.count = kept;
    for (size_t i = 0; i < count; i++)
        learn_port(ports[i]);
    return is_settled;
}

/* ---- clients as devices ---- */

static const char no_client[] = "none"; /* device without a client */

/* Free it with jack_free. NULL: there are no ports. */
static const char **port_names(unsigned long flags)
{
    return jack_get_ports(jack.client, NULL, JACK_DEFAULT_AUDIO_TYPE, flags);
}

static size_t name_length(const char *port)
{
    return strcspn(port, ":");
}

static bool owns(const char *port, const char *client)
{
    size_t length = strlen(client);
    return strncmp(port, client, length) == 0 && port[length] == ':';
}

/* Whether a port is the monitor of a playback device, which sound servers offer as an input. */
static bool is_monitor(const char *port)
{
    return strncmp(port + name_length(port), ":monitor", 8) == 0;
}

static struct device_row *find_row(struct device_list *list, size_t first, const char *port)
{
    for (size_t i = first; i < list->count; i++)
        if (owns(port, list->rows[i].name))
            return &list->rows[i];
    return NULL;
}

static double latency_of(jack_port_t *port, jack_latency_callback_mode_t mode)
{
    jack_latency_range_t range;
    jack_port_get_latency_range(port, mode, &range);
    return (double)range.max / jack_get_sample_rate(jack.client);
}

static bool is_default_port(const char *name, const jack_port_t *port)
{
    return (jack_port_flags(port) & JackPortIsPhysical) && !is_monitor(name);
}

static void add_port(struct device_row *row, const char *name, bool *has_default)
{
    jack_port_t *port = jack_port_by_name(jack.client, name);
    if (!port) /* the port has gone away */
        return;
    bool plays = jack_port_flags(port) & JackPortIsInput;
    bool is_default = !*has_default && is_default_port(name, port);
    *has_default = *has_default || is_default;
    size_t *channels = plays ? &row->channels_out : &row->channels_in;
    if (++*channels == 1 && plays)
        row->low_out = row->high_out = latency_of(port, JackPlaybackLatency);
    else if (*channels == 1)
        row->low_in = row->high_in = latency_of(port, JackCaptureLatency);
    row->default_out |= plays && is_default;
    row->default_in |= !plays && is_default;
}

static enum status add_ports(const char *const *names, struct device_list *list, size_t first,
                             bool *has_default)
{
    for (size_t i = 0; names && names[i]; i++) {
        struct device_row *row = find_row(list, first, names[i]);
        if (!row) {
            char name[sizeof row->name];
            snprintf(name, sizeof name, "%.*s", (int)name_length(names[i]), names[i]);
            TRY(device_list_add(list, list->host_count - 1, name, &row));
            row->rate = jack_get_sample_rate(jack.client);
        }
        add_port(row, names[i], has_default);
    }
    return STATUS_OK;
}

/* Adds the device "none". It is the default in a direction without hardware ports. */
static enum status add_none(struct device_list *list, bool can_record, bool can_play)
{
    struct device_row *row;
    TRY(device_list_add(list, list->host_count - 1, no_client, &row));
    row->channels_in = row->channels_out = DEVICE_CHANNELS_MOST;
    row->rate = jack_get_sample_rate(jack.client);
    row->default_in = !can_record;
    row->default_out = !can_play;
    return STATUS_OK;
}

static enum status list_clients(struct device_list *list)
{
    struct device_host *host;
    size_t first = list->count;
    bool can_record = false, can_play = false;
    TRY(device_list_add_host(list, "JACK", &host));
    host->is_default = host->one_clock = true;
    const char **sources = port_names(JackPortIsOutput);
    const char **sinks = port_names(JackPortIsInput);
    enum status status = add_ports(sources, list, first, &can_record);
    if (status == STATUS_OK)
        status = add_ports(sinks, list, first, &can_play);
    jack_free(sources);
    jack_free(sinks);
    return status == STATUS_OK ? add_none(list, can_record, can_play) : status;
}

/* ---- the server ---- */

static void say_nothing(const char *text)
{
    (void)text;
}

static void server_is_gone(jack_status_t code, const char *reason, void *context)
{
    (void)code, (void)reason, (void)context;
    atomic_store(&jack.gone, true);
}

/* A stopped server makes its new clients wait for ever. So a thread opens the client. If halo stops
 * waiting, the thread goes on. */
enum opening_state { NOT_OPENING, IS_OPENING, HAS_OPENED };

static struct {
    atomic_int state;
    jack_client_t *client; /* NULL: no server */
} client_opening;

static void *open_client(void *unused)
{
    client_opening.client = jack_client_open("halo", JackNoStartServer, NULL);
    atomic_store(&client_opening.state, HAS_OPENED);
    return unused;
}

static jack_client_t *client_within(int64_t limit_ns)
{
    int64_t deadline = monotonic_ns() + limit_ns;
    while (atomic_load(&client_opening.state) == IS_OPENING && monotonic_ns() < deadline)
        monotonic_sleep_until(monotonic_ns() + POLL_NS);
    if (atomic_load(&client_opening.state) != HAS_OPENED)
        return NULL;
    atomic_store(&client_opening.state, NOT_OPENING);
    return client_opening.client;
}

static enum status connect_to_server(void)
{
    pthread_t thread;
    /* an earlier attempt still waits */
    bool is_waiting = atomic_load(&client_opening.state) == IS_OPENING;
    jack_set_error_function(say_nothing);
    jack_set_info_function(say_nothing);
    if (atomic_load(&client_opening.state) == NOT_OPENING) {
        atomic_store(&client_opening.state, IS_OPENING);
        if (thread_start(&thread, "halo open", THREAD_AS_CALLER, open_client, NULL) != 0) {
            atomic_store(&client_opening.state, NOT_OPENING);
            return fail_memory("a thread");
        }
        pthread_detach(thread);
    }
    jack.client = client_within(is_waiting ? AGAIN_NS : ANSWER_NS);
    if (!jack.client)
        return STATUS_OK;
    atomic_store(&jack.gone, false);
    jack_on_info_shutdown(jack.client, server_is_gone, NULL);
    return STATUS_OK;
}

static void jack_end(void)
{
    if (jack.client)
        jack_client_close(jack.client);
    jack.client = NULL;
}

static enum status jack_enumerate(const char *spec, struct device_list *list)
{
    (void)spec;
    TRY(connect_to_server());
    if (atomic_load(&client_opening.state) == IS_OPENING)
        list->silent = "a JACK server is there and does not answer; continue or end it, or name "
                       "another driver with --driver";
    return jack.client ? list_clients(list) : STATUS_OK;
}

/* ---- the stream: what JACK calls ---- */

HALO_REALTIME static int jack_process(jack_nframes_t frames, void *context)
{
    (void)context;
    const float *in[DEVICE_CHANNELS_MOST];
    float *out[DEVICE_CHANNELS_MOST];
    for (size_t c = 0; c < jack.in.count; c++)
        in[c] = jack_port_get_buffer(jack.in.ports[c], frames);
    for (size_t c = 0; c < jack.out.count; c++)
        out[c] = jack_port_get_buffer(jack.out.ports[c], frames);
    bool lost = atomic_exchange(&jack.xrun, false);
    device_process(jack.stream, jack.in.count ? in : NULL, jack.out.count ? out : NULL, frames,
                   lost);
    return 0;
}

static int xrun_happened(void *context)
{
    (void)context;
    atomic_store(&jack.xrun, true);
    return 0;
}

static void port_changed(jack_port_id_t port, int is_registered, void *context)
{
    (void)port, (void)is_registered, (void)context;
    atomic_store(&jack.changed, true);
}

static void connection_changed(jack_port_id_t a, jack_port_id_t b, int is_made, void *context)
{
    (void)a, (void)b, (void)is_made, (void)context;
    atomic_store(&jack.changed, true);
}

static jack_latency_range_t latency_range(const struct jack_ports *ports,
                                          jack_latency_callback_mode_t mode)
{
    jack_latency_range_t all = {0};
    for (size_t c = 0; c < ports->count; c++) {
        jack_latency_range_t range;
        jack_port_get_latency_range(ports->ports[c], mode, &range);
        all.min = c == 0 || range.min < all.min ? range.min : all.min;
        all.max = range.max > all.max ? range.max : all.max;
    }
    return all;
}

/* Passes latencies from inputs to outputs or back. Every output depends on every input. */
static void pass_latency(jack_latency_callback_mode_t mode, void *context)
{
    (void)context;
    bool forwards = mode == JackCaptureLatency;
    const struct jack_ports *from = forwards ? &jack.in : &jack.out;
    const struct jack_ports *to = forwards ? &jack.out : &jack.in;
    jack_latency_range_t range = latency_range(from, mode);
    jack_nframes_t own = (jack_nframes_t)atomic_load(&jack.latency);
    range.min += own;
    range.max += own;
    for (size_t c = 0; c < to->count; c++)
        jack_port_set_latency_range(to->ports[c], mode, &range);
}

/* ---- the stream: ports and connections ---- */

/* Registers a port for each channel that the step uses. */
static enum status register_ports(struct jack_ports *ports, struct device_channels *channels,
                                  const char *direction, unsigned long flags)
{
    for (size_t c = 0; c < channels->count; c++) {
        char name[24];
        snprintf(name, sizeof name, "%s_%zu", direction, c + 1);
        ports->ports[c] = jack_port_register(jack.client, name, JACK_DEFAULT_AUDIO_TYPE, flags, 0);
        if (!ports->ports[c])
            return fail(CAUSE_DEVICE, "the JACK server has no port left for %s:%s",
                        jack_get_client_name(jack.client), name);
        ports->count++;
        channels->map[c] = c;
        channels->mapped[c] = true;
    }
    channels->opened = channels->count;
    return STATUS_OK;
}

static bool connect(bool plays, const char *own, const char *other)
{
    int error = jack_connect(jack.client, plays ? own : other, plays ? other : own);
    return error == 0 || error == EEXIST;
}

/* `map`: the channels of `row` to connect. */
static void connect_ports(const struct jack_ports *ports, const struct device_row *row,
                          const size_t *map, bool plays)
{
    const char **others = row ? port_names(plays ? JackPortIsInput : JackPortIsOutput) : NULL;
    size_t channel = 0;
    bool is_refused = false;
    for (size_t i = 0; others && others[i]; i++) {
        if (!owns(others[i], row->name))
            continue;
        for (size_t c = 0; c < ports->count; c++)
            if (map[c] == channel)
                is_refused |= !connect(plays, jack_port_name(ports->ports[c]), others[i]);
        channel++;
    }
    jack_free(others);
    if (is_refused)
        warning("the JACK server does not let halo connect its ports to %s; connect them by hand",
                row->name);
}

/* Refuses an input that is the monitor of the chosen output: it would be feedback. */
static enum status refuse_own_output(const struct device_target *target)
{
    const struct device_row *input = target->input, *output = target->output;
    bool is_own = false;
    if (!input || !output || strcmp(input->name, output->name) != 0)
        return STATUS_OK;
    const char **sources = port_names(JackPortIsOutput);
    for (size_t i = 0; sources && sources[i]; i++)
        is_own |= owns(sources[i], input->name) && is_monitor(sources[i]);
    jack_free(sources);
    return is_own ? fail(CAUSE_DEVICE,
                         "the input %s is the sound that %s plays, which has halo's own output; "
                         "choose another with --input",
                         input->name, output->name)
                  : STATUS_OK;
}

static enum status refuse_rate(const struct device_target *target)
{
    uint32_t asked = target->request->rate, rate = jack_get_sample_rate(jack.client);
    const struct device_row *row = target->input ? target->input : target->output;
    if (asked == 0 || asked == rate)
        return STATUS_OK;
    return fail(CAUSE_DEVICE, "%s does not run at %u Hz; it supports %u", row->name, asked, rate);
}

static enum status activate(void)
{
    jack_set_process_callback(jack.client, jack_process, NULL);
    jack_set_xrun_callback(jack.client, xrun_happened, NULL);
    jack_set_latency_callback(jack.client, pass_latency, NULL);
    jack_set_port_registration_callback(jack.client, port_changed, NULL);
    jack_set_port_connect_callback(jack.client, connection_changed, NULL);
    if (jack_activate(jack.client) != 0)
        return fail(CAUSE_DEVICE, "the JACK server does not run halo's client; see its messages");
    return STATUS_OK;
}

static void note_unconnected(const struct device_row *row, const char *asked, const char *option)
{
    if (row && !asked && strcmp(row->name, no_client) == 0)
        note("JACK has no default %s: connect halo's ports, or name a client with --%s", option,
             option);
}

static enum status jack_open(const struct device_target *target, struct device_stream *stream,
                             void **opened)
{
    const struct device_channels in = stream->in, out = stream->out;
    TRY(refuse_rate(target));
    TRY(refuse_own_output(target));
    *opened = &jack;
    jack.stream = stream;
    atomic_store(&jack.latency, 0);
    TRY(register_ports(&jack.in, &stream->in, "in", JackPortIsInput));
    TRY(register_ports(&jack.out, &stream->out, "out", JackPortIsOutput));
    TRY(activate());
    atomic_store(&jack.changed, true);
    if (target->request->returns && jack.patch.count > 0) {
        await_links();
        return STATUS_OK;
    }
    clear_links();
    note_unconnected(target->input, target->request->input, "input");
    note_unconnected(target->output, target->request->output, "output");
    connect_ports(&jack.in, target->input, in.map, false);
    connect_ports(&jack.out, target->output, out.map, true);
    return STATUS_OK;
}

static bool jack_is_running(void *opened)
{
    (void)opened;
    return !atomic_load(&jack.gone);
}

static void jack_describe(void *opened, struct device_info *info)
{
    (void)opened;
    info->rate = jack_get_sample_rate(jack.client);
    info->input_latency = latency_range(&jack.in, JackCaptureLatency).max;
    info->output_latency = latency_range(&jack.out, JackPlaybackLatency).max;
}

static void jack_set_latency(void *opened, uint64_t frames)
{
    (void)opened;
    if (atomic_exchange(&jack.latency, frames) != frames && !atomic_load(&jack.gone))
        jack_recompute_total_latencies(jack.client);
}

/* Whether an input port is connected with halo's output or with a playback device's monitor. */
static bool hears_itself(const jack_port_t *port)
{
    const char **others = jack_port_get_all_connections(jack.client, port);
    bool does = false;
    for (size_t i = 0; others && others[i]; i++) {
        does |= owns(others[i], jack_get_client_name(jack.client));
        for (size_t c = 0; c < jack.out.count && is_monitor(others[i]); c++) {
            const char **sinks = jack_port_get_all_connections(jack.client, jack.out.ports[c]);
            size_t length = name_length(others[i]) + 1;
            for (size_t k = 0; sinks && sinks[k]; k++)
                does |= strncmp(sinks[k], others[i], length) == 0;
            jack_free(sinks);
        }
    }
    jack_free(others);
    return does;
}

static void look_for_loops(void)
{
    bool is_loop = false;
    for (size_t c = 0; c < jack.in.count; c++)
        is_loop |= hears_itself(jack.in.ports[c]);
    atomic_store(&jack.stream->notice,
                 is_loop ? "the input is connected to halo's own output" : NULL);
}

static void jack_watch(void *opened)
{
    (void)opened;
    jack_port_t *ports[2 * DEVICE_CHANNELS_MOST];
    size_t ins = jack.in.count, outs = jack.out.count;
    if (atomic_exchange(&jack.changed, false))
        jack.looks = LOOKS;
    if (jack.looks == 0 || atomic_load(&jack.gone))
        return;
    memcpy(ports, jack.in.ports, ins * sizeof *ports);
    memcpy(ports + ins, jack.out.ports, outs * sizeof *ports);
    bool is_settled = follow_links(ports, ins + outs);
    jack.looks = is_settled ? jack.looks - 1 : LOOKS;
    look_for_loops();
}

static enum status jack_close(void *opened)
{
    (void)opened;
    jack_deactivate(jack.client); /* also removes the ports */
    jack.in.count = jack.out.count = 0;
    return STATUS_OK;
}

const struct device_driver driver_jack = {
    .name = "jack",
    .library = &jack_library,
    .absent = "no JACK server answers; start one, such as jackd",
    .enumerate = jack_enumerate,
    .open = jack_open,
    .is_running = jack_is_running,
    .describe = jack_describe,
    .watch = jack_watch,
    .set_latency = jack_set_latency,
    .close = jack_close,
    .end = jack_end,
    .outlives_stalls = true,
};
