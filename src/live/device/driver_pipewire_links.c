#include "live/device/driver_pipewire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the sink that halo plays to if the user names none ---- */

/* Notes which sinks the session manager does not choose. While a sink other than halo's own is the
 * default, the manager prefers it to all others that are there. */
static void note_choice(struct pipewire_registry *graph, const char *own_sink)
{
    if (!graph->default_sink[0] || strcmp(graph->default_sink, own_sink) == 0)
        return;
    for (size_t i = 0; i < graph->node_count; i++) {
        struct pipewire_registry_node *node = &graph->nodes[i];
        node->is_passed_over = strcmp(node->name, graph->default_sink) != 0;
    }
}

static bool is_better(const struct pipewire_registry_node *node,
                      const struct pipewire_registry_node *best)
{
    if (!best || node->is_passed_over != best->is_passed_over)
        return !best || best->is_passed_over;
    return node->priority > best->priority;
}

/* Name of the user's last default sink, except halo's own. Kept for the next connection. */
static char configured[PIPEWIRE_NAME];

/* The sink that the session manager would choose if `own` (a node name; empty: none) did not exist:
 * the default, else the one that the user configured before, else by priority. NULL: none. */
static const struct pipewire_registry_node *default_sink(struct pipewire_registry *graph,
                                                         const char *own)
{
    const struct pipewire_registry_node *best = NULL;
    bool own_is_default = strcmp(graph->default_sink, own) == 0;
    note_choice(graph, own);
    if (graph->configured_sink[0] && strcmp(graph->configured_sink, own) != 0)
        snprintf(configured, sizeof configured, "%s", graph->configured_sink);
    const char *chosen = own_is_default ? configured : graph->default_sink;
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct pipewire_registry_node *node = &graph->nodes[i];
        if (!node->is_sink || strcmp(node->name, own) == 0)
            continue;
        if (strcmp(node->name, chosen) == 0)
            return node;
        best = is_better(node, best) ? node : best;
    }
    return *own ? best : NULL;
}

enum { REMEMBERED_MOST = 256, TRIES_MOST = 10 };

/* ---- targets ---- */

static const struct pipewire_registry_node *find_target(struct pipewire_links *links,
                                                        size_t direction)
{
    struct pipewire_registry *graph = links->graph;
    struct pipewire_end *end = &links->ends[direction];
    if (end->named[0])
        return pipewire_registry_named(graph, end->named);
    if (direction == PIPEWIRE_OUTPUT || end->is_default_sink)
        return default_sink(graph, links->own_sink);
    const struct pipewire_registry_node *node =
        pipewire_registry_named(graph, graph->default_source);
    end->is_monitor = node && !node->is_source;
    return node;
}

/* Finds both targets. To avoid feedback, the input is never the monitor of the output's sink. */
static void find_targets(struct pipewire_links *links,
                         const struct pipewire_registry_node **targets)
{
    for (size_t i = 0; i < 2; i++)
        targets[i] = links->ends[i].is_wanted ? find_target(links, i) : NULL;
    bool is_loop = targets[PIPEWIRE_INPUT] && targets[PIPEWIRE_INPUT] == targets[PIPEWIRE_OUTPUT] &&
                   links->ends[PIPEWIRE_INPUT].is_monitor;
    snprintf(links->refused, sizeof links->refused, "%s",
             is_loop ? targets[PIPEWIRE_OUTPUT]->description : "");
    for (size_t i = 0; i < 2; i++) {
        struct pipewire_end *end = &links->ends[i];
        end->is_there = targets[i] && !(is_loop && i == PIPEWIRE_INPUT);
        links->moves += end->is_there && strcmp(end->target, targets[i]->name) != 0;
        if (!end->is_there)
            continue;
        snprintf(end->target, sizeof end->target, "%s", targets[i]->name);
        snprintf(end->description, sizeof end->description, "%s", targets[i]->description);
    }
    if (is_loop)
        targets[PIPEWIRE_INPUT] = NULL;
}

/* ---- which ports belong together ---- */

struct ports {
    const struct pipewire_registry_port *ports[DEVICE_CHANNELS_MOST];
    size_t count;
};

/* The port of the same channel as `port`; NULL: none. */
static const struct pipewire_registry_port *find_channel(const struct ports *ports,
                                                         const struct pipewire_registry_port *port)
{
    for (size_t i = 0; i < ports->count; i++)
        if (strcmp(ports->ports[i]->channel, port->channel) == 0)
            return ports->ports[i];
    return NULL;
}

/* The ports whose channel is missing in `others`, in order. */
static struct ports without_partner(const struct ports *ports, const struct ports *others)
{
    struct ports left = {.count = 0};
    for (size_t i = 0; i < ports->count; i++)
        if (!find_channel(others, ports->ports[i]))
            left.ports[left.count++] = ports->ports[i];
    return left;
}

/* The port that own->ports[at] is linked with. If any channel is common to both sides, ports are
 * linked by channel, else in order. A device with one channel is linked with all of halo's ports.
 * `fills`: also link ports without a common channel, in order. */
static const struct pipewire_registry_port *partner_of(const struct ports *own, size_t at,
                                                       const struct ports *others, bool fills)
{
    const struct pipewire_registry_port *port = own->ports[at];
    const struct pipewire_registry_port *partner = find_channel(others, port);
    if (others->count == 1)
        return others->ports[0];
    const struct ports left = without_partner(own, others);
    const struct ports free = without_partner(others, own);
    if (partner || (left.count < own->count && !fills))
        return partner;
    for (size_t i = 0; i < left.count && i < free.count; i++)
        if (left.ports[i] == port)
            return free.ports[i];
    return NULL;
}

struct pair {
    uint32_t out_port, in_port;
};

static size_t find_pairs(const struct pipewire_links *links, size_t direction,
                         const struct pipewire_registry_node *target, struct pair *pairs)
{
    struct ports own, others;
    bool is_input = direction == PIPEWIRE_INPUT;
    const struct pipewire_end *end = &links->ends[direction];
    own.count = pipewire_registry_ports(links->graph, links->nodes[direction], is_input, false,
                                        own.ports, DEVICE_CHANNELS_MOST);
    others.count =
        pipewire_registry_ports(links->graph, target->id, !is_input, is_input && end->is_monitor,
                                others.ports, DEVICE_CHANNELS_MOST);
    bool fills = end->is_stated && (is_input || own.count == others.count);
    size_t found = 0;
    for (size_t c = 0; c < own.count; c++) {
        const struct pipewire_registry_port *other = partner_of(&own, c, &others, fills);
        if (other)
            pairs[found++] = is_input ? (struct pair){other->id, own.ports[c]->id}
                                      : (struct pair){own.ports[c]->id, other->id};
    }
    return found;
}

/* ---- links of our own ---- */

static void link_ended(void *context)
{
    struct pipewire_own_link *link = context;
    spa_hook_remove(&link->hook);
    pw_proxy_destroy(link->proxy);
    link->proxy = NULL;
    link->is_cut = true;
}

/* The link can be made later: the device changes its format, or is about to appear. */
static void link_failed(void *context, int sequence, int error, const char *message)
{
    struct pipewire_own_link *link = context;
    (void)sequence, (void)error, (void)message;
    link_ended(link);
    link->is_cut = false;
}

static const struct pw_proxy_events link_events = {
    PW_VERSION_PROXY_EVENTS,
    .removed = link_ended,
    .error = link_failed,
};

static void drop(struct pipewire_own_link *link)
{
    if (link->proxy) {
        spa_hook_remove(&link->hook);
        pw_proxy_destroy(link->proxy);
    }
    free(link);
}

static struct pipewire_own_link *find_own(const struct pipewire_links *links, struct pair pair)
{
    struct pipewire_own_link *link = links->own;
    while (link && (link->out_port != pair.out_port || link->in_port != pair.in_port))
        link = link->next;
    return link;
}

static void ask_for(const struct pipewire_links *links, struct pipewire_own_link *link)
{
    struct pw_properties *properties = pw_properties_new(NULL, NULL);
    if (!properties)
        return;
    link->tries++;
    pw_properties_setf(properties, PW_KEY_LINK_OUTPUT_PORT, "%u", link->out_port);
    pw_properties_setf(properties, PW_KEY_LINK_INPUT_PORT, "%u", link->in_port);
    link->proxy = pw_core_create_object(links->graph->core, "link-factory", PW_TYPE_INTERFACE_Link,
                                        PW_VERSION_LINK, &properties->dict, 0);
    pw_properties_free(properties);
    if (link->proxy)
        pw_proxy_add_listener(link->proxy, &link->hook, &link_events, link);
}

static void make_link(struct pipewire_links *links, struct pair pair, bool is_input,
                      bool is_by_hand)
{
    struct pipewire_own_link *link = calloc(1, sizeof *link);
    if (!link)
        return;
    link->is_input = is_input;
    link->is_by_hand = is_by_hand;
    link->out_port = pair.out_port;
    link->in_port = pair.in_port;
    ask_for(links, link);
    link->next = links->own;
    links->own = link;
}

static bool has_failed(const struct pipewire_own_link *link)
{
    return !link->proxy && !link->is_cut;
}

static void ask_again(const struct pipewire_links *links)
{
    for (struct pipewire_own_link *link = links->own; link; link = link->next)
        if (has_failed(link) && link->tries < TRIES_MOST)
            ask_for(links, link);
}

static bool has_ports(const struct pipewire_links *links, struct pair pair)
{
    return pipewire_registry_port(links->graph, pair.out_port) &&
           pipewire_registry_port(links->graph, pair.in_port);
}

static bool is_among(struct pair pair, const struct pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (pairs[i].out_port == pair.out_port && pairs[i].in_port == pair.in_port)
            return true;
    return false;
}

/* Drops links not in `pairs`. A cut link stays while its ports exist, so it is not made again. */
static void drop_others(struct pipewire_links *links, bool is_input, const struct pair *pairs,
                        size_t count)
{
    for (struct pipewire_own_link **at = &links->own; *at;) {
        struct pipewire_own_link *link = *at;
        const struct pair pair = {link->out_port, link->in_port};
        bool is_wanted = link->is_by_hand || is_among(pair, pairs, count);
        if (link->is_input == is_input && (!is_wanted || !has_ports(links, pair))) {
            *at = link->next;
            drop(link);
        } else {
            at = &link->next;
        }
    }
}

static void update_end(struct pipewire_links *links, size_t direction,
                       const struct pipewire_registry_node *target)
{
    struct pair pairs[DEVICE_CHANNELS_MOST];
    bool is_input = direction == PIPEWIRE_INPUT;
    size_t count = target ? find_pairs(links, direction, target, pairs) : 0;
    drop_others(links, is_input, pairs, count);
    for (size_t i = 0; i < count; i++)
        if (!find_own(links, pairs[i]) &&
            !pipewire_registry_has_link(links->graph, pairs[i].out_port, pairs[i].in_port))
            make_link(links, pairs[i], is_input, false);
}

/* ---- links made or cut by a user ---- */

/* Links of the connection before, kept for the next connection with the server. */
static struct remembered {
    char own[PIPEWIRE_NAME]; /* names of halo's port, of the other node and of its port */
    char node[PIPEWIRE_NAME];
    char port[PIPEWIRE_NAME];
    bool is_input; /* the link leads to halo's input */
    bool waits;    /* the connection has ended; the link is still to be restored */
    bool is_cut;   /* halo made the link and the user cut it */
} remembered[REMEMBERED_MOST];
static size_t remembered_count;

static void remember(const struct pipewire_links *links, struct pair pair, bool is_input,
                     bool is_cut)
{
    const struct pipewire_registry_port *own =
        pipewire_registry_port(links->graph, is_input ? pair.in_port : pair.out_port);
    const struct pipewire_registry_port *port =
        pipewire_registry_port(links->graph, is_input ? pair.out_port : pair.in_port);
    const struct pipewire_registry_node *node =
        port ? pipewire_registry_node(links->graph, port->node) : NULL;
    if (!own || !node || remembered_count == REMEMBERED_MOST)
        return;
    struct remembered *row = &remembered[remembered_count++];
    *row = (struct remembered){.is_input = is_input, .is_cut = is_cut};
    snprintf(row->own, sizeof row->own, "%s", own->name);
    snprintf(row->node, sizeof row->node, "%s", node->name);
    snprintf(row->port, sizeof row->port, "%s", port->name);
}

static const struct pipewire_registry_port *
find_port(const struct pipewire_links *links, const char *node, const char *name, bool is_input)
{
    uint32_t own = links->nodes[is_input ? PIPEWIRE_INPUT : PIPEWIRE_OUTPUT];
    for (size_t i = 0; i < links->graph->port_count; i++) {
        const struct pipewire_registry_port *port = &links->graph->ports[i];
        const struct pipewire_registry_node *of = pipewire_registry_node(links->graph, port->node);
        bool is_it = node ? of && strcmp(of->name, node) == 0 : port->node == own;
        if (is_it && port->is_input == is_input && strcmp(port->name, name) == 0)
            return port;
    }
    return NULL;
}

/* Makes or cuts a remembered link again. Returns false if its ports are not there yet. */
static bool restore(struct pipewire_links *links, const struct remembered *row)
{
    const struct pipewire_registry_port *own = find_port(links, NULL, row->own, row->is_input);
    const struct pipewire_registry_port *other =
        find_port(links, row->node, row->port, !row->is_input);
    if (!own || !other)
        return false;
    struct pair pair =
        row->is_input ? (struct pair){other->id, own->id} : (struct pair){own->id, other->id};
    struct pipewire_own_link *link = find_own(links, pair);
    if (row->is_cut && link && link->proxy)
        link_ended(link);
    if (!row->is_cut && !link &&
        !pipewire_registry_has_link(links->graph, pair.out_port, pair.in_port))
        make_link(links, pair, row->is_input, true);
    return true;
}

/* Whether a user made a link to halo's input. The session manager makes a program's link. */
static bool is_made_by_hand(const struct pipewire_links *links,
                            const struct pipewire_registry_link *link)
{
    const struct pipewire_registry_node *from =
        pipewire_registry_node(links->graph, link->out_node);
    return from && !from->is_stream;
}

/* Restores links that wait. Then notes all present links of users again. */
static void update_remembered(struct pipewire_links *links)
{
    size_t kept = 0;
    for (size_t i = 0; i < remembered_count; i++)
        if (remembered[i].waits && !restore(links, &remembered[i]))
            remembered[kept++] = remembered[i];
    remembered_count = kept;
    for (size_t i = 0; i < links->graph->link_count; i++) {
        const struct pipewire_registry_link *link = &links->graph->links[i];
        const struct pair pair = {link->out_port, link->in_port};
        const struct pipewire_own_link *own = find_own(links, pair);
        bool is_input = link->in_node == links->nodes[PIPEWIRE_INPUT];
        if ((is_input ? is_made_by_hand(links, link)
                      : link->out_node == links->nodes[PIPEWIRE_OUTPUT]) &&
            (!own || own->is_by_hand))
            remember(links, pair, is_input, false);
    }
    for (const struct pipewire_own_link *own = links->own; own; own = own->next)
        if (own->is_cut)
            remember(links, (struct pair){own->out_port, own->in_port}, own->is_input, true);
}

void pipewire_links_forget(void)
{
    remembered_count = 0;
    configured[0] = '\0';
}

/* ---- both directions ---- */

void pipewire_links_update(struct pipewire_links *links)
{
    const struct pipewire_registry_node *targets[2];
    find_targets(links, targets);
    if (links->nodes[PIPEWIRE_INPUT] == SPA_ID_INVALID ||
        links->nodes[PIPEWIRE_OUTPUT] == SPA_ID_INVALID || links->graph->gone)
        return;
    for (size_t i = 0; i < 2; i++)
        update_end(links, i, targets[i]);
    ask_again(links);
    update_remembered(links);
}

bool pipewire_links_are_there(const struct pipewire_links *links)
{
    for (size_t i = 0; i < 2; i++) {
        size_t linked = 0, own = 0;
        if (!links->ends[i].is_there)
            continue;
        for (const struct pipewire_own_link *link = links->own; link; link = link->next)
            if (link->is_input == (i == PIPEWIRE_INPUT)) {
                own++;
                linked += link->is_cut ||
                          pipewire_registry_has_link(links->graph, link->out_port, link->in_port);
            }
        if (own == 0 || linked < own)
            return false;
    }
    return true;
}

void pipewire_links_free(struct pipewire_links *links)
{
    while (links->own) {
        struct pipewire_own_link *link = links->own;
        links->own = link->next;
        drop(link);
    }
    for (size_t i = 0; i < remembered_count; i++)
        remembered[i].waits = true;
}
