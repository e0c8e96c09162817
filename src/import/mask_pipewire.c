/* Configurations of PipeWire's filter chain: its graph of builtin filters, between the channels of
 * its capture and playback streams. Also the parametric equaliser, which loads such a graph. */
#include "import/mask_pipewire.h"

#include "base/plural.h"

#include <stdlib.h>
#include <string.h>

/* The channel of the sound that a stream's port stands for, in a stream of so many channels. */
static size_t channel_of(const struct channel_order *order, size_t channels, size_t port)
{
    return order->count == channels ? order->rows[port] : port;
}

/* ---- ports ---- */

static bool is_port(const struct pipewire_kind *kind, const char *text, bool is_input, size_t port)
{
    char name[32], number[24];
    const char *direction = is_input ? "In" : "Out";
    size_t count = is_input ? kind->inputs : kind->outputs;
    snprintf(number, sizeof number, "%zu", port);
    if (!is_input && kind->output_names)
        snprintf(name, sizeof name, "%s", kind->output_names[port]);
    else if (count == 1)
        snprintf(name, sizeof name, "%s", direction);
    else
        snprintf(name, sizeof name, "%s %zu", direction, port + 1);
    return strcmp(text, name) == 0 || strcmp(text, number) == 0;
}

static struct pipewire_node *node_named(struct pipewire_graph *graph, const char *name,
                                        size_t length)
{
    for (size_t i = 0; i < graph->node_count; i++)
        if (strlen(graph->nodes[i].name) == length &&
            strncmp(graph->nodes[i].name, name, length) == 0)
            return &graph->nodes[i];
    return NULL;
}

/* Finds a port by "node:port", or by a node's name alone, which means its usual port. */
static enum status find_port(struct pipewire_graph *graph, const char *text, bool is_input,
                             struct pipewire_node **node, size_t *port)
{
    const char *colon = text ? strchr(text, ':') : NULL;
    struct pipewire_node *named = colon ? node_named(graph, text, (size_t)(colon - text)) : NULL;
    if (!named) {
        named = &graph->nodes[is_input ? graph->node_count - 1 : 0];
        colon = NULL;
    }
    size_t count = is_input ? named->kind->inputs : named->kind->outputs;
    for (size_t p = 0; text && p < count; p++)
        if (is_port(named->kind, colon ? colon + 1 : text, is_input, p)) {
            *node = named;
            *port = p;
            return STATUS_OK;
        }
    return pipewire_refuse(graph, "there is no %s '%.100s' of sound", is_input ? "input" : "output",
                           text ? text : "");
}

static enum status use_input(struct pipewire_graph *graph, struct pipewire_node *node, size_t port,
                             struct pipewire_source source)
{
    if (node->in[port].from != PIPEWIRE_NOTHING)
        return pipewire_refuse(graph,
                               "input %zu of node '%.100s' is linked twice; it needs a mixer",
                               port + 1, node->name);
    node->in[port] = source;
    return STATUS_OK;
}

/* ---- reading ---- */

enum status pipewire_check_keys(struct pipewire_graph *graph, const json_t *settings,
                                const char *whose, const char *const *known)
{
    const char *key = mask_json_unknown(settings, known);
    return key ? pipewire_refuse(graph, "%s has no setting '%.40s' that can be read as a mask",
                                 whose, key)
               : STATUS_OK;
}

static enum status load_node(struct pipewire_graph *graph, const json_t *json)
{
    struct pipewire_node *node = &graph->nodes[graph->node_count];
    static const char *const known[] = {"type",   "name",    "plugin", "label",
                                        "config", "control", NULL},
                             *const none[] = {NULL};
    const char *type = "", *label = "";
    node->name = "";
    snprintf(graph->json.where, sizeof graph->json.where, "node %zu", graph->node_count + 1);
    TRY(mask_json_text(&graph->json, json, "name", &node->name));
    TRY(mask_json_text(&graph->json, json, "type", &type));
    snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'", node->name);
    if (strcmp(type, "builtin") != 0 && strcmp(type, "sofa") != 0)
        return pipewire_refuse(graph, "a node of the type '%.40s' cannot be read as a mask", type);
    TRY(mask_json_text(&graph->json, json, "label", &label));
    node->kind = pipewire_kind_named(type, label);
    if (!node->kind)
        return pipewire_refuse(
            graph, "'%.40s' is not linear, or unknown, and cannot be read as a mask", label);
    TRY(pipewire_check_keys(graph, json, "a node", known));
    node->config = mask_json_get(json, "config");
    node->control = mask_json_get(json, "control");
    if ((node->config && !json_is_object(node->config)) ||
        (node->control && !json_is_object(node->control)))
        return pipewire_refuse(graph, "config and control must be in braces");
    TRY(pipewire_check_keys(graph, node->config, label,
                            node->kind->settings ? node->kind->settings : none));
    node->row = graph->rows;
    graph->rows += node->kind->outputs;
    graph->node_count++;
    return pipewire_check_controls(graph, node);
}

static enum status load_link(struct pipewire_graph *graph, const json_t *json)
{
    static const char *const known[] = {"output", "input", NULL};
    const char *output = NULL, *input = NULL;
    TRY(pipewire_check_keys(graph, json, "a link", known));
    struct pipewire_node *from, *to;
    size_t from_port, to_port;
    TRY(mask_json_text(&graph->json, json, "output", &output));
    TRY(mask_json_text(&graph->json, json, "input", &input));
    TRY(find_port(graph, output, false, &from, &from_port));
    TRY(find_port(graph, input, true, &to, &to_port));
    return use_input(
        graph, to, to_port,
        (struct pipewire_source){PIPEWIRE_NODE, (size_t)(from - graph->nodes), from_port});
}

static bool is_ignored(const json_t *name)
{
    return json_is_null(name) ||
           (json_is_string(name) && strcmp(json_string_value(name), "null") == 0);
}

static enum status load_inputs(struct pipewire_graph *graph, const json_t *names)
{
    struct pipewire_node *node = &graph->nodes[0];
    size_t port;
    graph->names_inputs = json_array_size(names) > 0;
    graph->input_count = graph->names_inputs ? json_array_size(names) : node->kind->inputs;
    if (graph->input_count > MATRIX_CHANNELS_MOST)
        return pipewire_refuse(graph, "more than %d inputs", MATRIX_CHANNELS_MOST);
    for (size_t i = 0; i < graph->input_count; i++) {
        const json_t *name = json_array_get(names, i);
        if (name && is_ignored(name))
            continue;
        port = i;
        if (name) {
            node = &graph->nodes[graph->node_count - 1]; /* the node is overwritten */
            TRY(find_port(graph, json_string_value(name), true, &node, &port));
        }
        TRY(use_input(graph, node, port, (struct pipewire_source){PIPEWIRE_INPUT, i, 0}));
    }
    return STATUS_OK;
}

static enum status load_outputs(struct pipewire_graph *graph, const json_t *names)
{
    struct pipewire_node *node = &graph->nodes[graph->node_count - 1];
    graph->names_outputs = json_array_size(names) > 0;
    graph->output_count = graph->names_outputs ? json_array_size(names) : node->kind->outputs;
    if (graph->output_count > MATRIX_CHANNELS_MOST)
        return pipewire_refuse(graph, "more than %d outputs", MATRIX_CHANNELS_MOST);
    for (size_t o = 0; o < graph->output_count; o++) {
        const json_t *name = json_array_get(names, o);
        size_t port = o;
        if (name && is_ignored(name))
            continue;
        if (name)
            TRY(find_port(graph, json_string_value(name), false, &node, &port));
        graph->outputs[o] =
            (struct pipewire_source){PIPEWIRE_NODE, (size_t)(node - graph->nodes), port};
    }
    return STATUS_OK;
}

static enum status check_list(struct pipewire_graph *graph, const json_t *json, const char *key)
{
    const json_t *list = mask_json_get(json, key);
    if (list && !json_is_array(list))
        return pipewire_refuse(graph, "'%s' must be a list", key);
    return STATUS_OK;
}

static enum status graph_load(struct pipewire_graph *graph, const json_t *json)
{
    static const char *const lists[] = {"nodes", "links", "inputs", "outputs", NULL};
    const json_t *item;
    size_t i;
    TRY(pipewire_check_keys(graph, json, "filter.graph", lists));
    for (i = 0; lists[i]; i++)
        TRY(check_list(graph, json, lists[i]));
    const json_t *nodes = mask_json_get(json, "nodes"), *links = mask_json_get(json, "links");
    if (json_array_size(nodes) == 0 || json_array_size(nodes) > PIPEWIRE_NODES_MOST)
        return pipewire_refuse(graph, "filter.graph must have 1 to %d nodes", PIPEWIRE_NODES_MOST);
    json_array_foreach(nodes, i, item) TRY(load_node(graph, item));
    snprintf(graph->json.where, sizeof graph->json.where, "filter.graph");
    json_array_foreach(links, i, item) TRY(load_link(graph, item));
    TRY(load_inputs(graph, mask_json_get(json, "inputs")));
    TRY(load_outputs(graph, mask_json_get(json, "outputs")));
    if (graph->input_count == 0 || graph->output_count == 0)
        return pipewire_refuse(graph, "the graph has no input or no output");
    for (i = 0; i < graph->node_count; i++) {
        const struct pipewire_node *node = &graph->nodes[i];
        snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'", node->name);
        if (node->kind->prepare)
            TRY(node->kind->prepare(graph, node));
    }
    if (graph->rate && graph->config->rate && graph->rate != graph->config->rate)
        note("mask %s: its filters are made at the %u Hz of its files, and not at audio.rate",
             graph->config->file, graph->config->rate);
    return graph->config->rate ? STATUS_OK : mask_config_rate(graph->config, graph->rate);
}

/* ---- running ---- */

size_t pipewire_row(const struct pipewire_graph *graph, const struct pipewire_node *node,
                    size_t output)
{
    return graph->instance * graph->rows + node->row + output;
}

enum status pipewire_feed(struct pipewire_graph *graph, struct pipewire_source source, size_t row,
                          double gain)
{
    static const double one = 1;
    size_t input = graph->instance * graph->input_count + source.index;
    size_t inputs = mask_matrix_inputs(graph->matrix);
    if (source.from == PIPEWIRE_INPUT && input < inputs)
        return mask_matrix_add(graph->matrix, channel_of(&graph->capture, inputs, input), row, gain,
                               0, &one, 1);
    if (source.from != PIPEWIRE_NODE)
        return STATUS_OK;
    const struct pipewire_node *from = &graph->nodes[source.index];
    return mask_matrix_add_output(graph->matrix, row, graph->matrix,
                                  pipewire_row(graph, from, source.port), gain);
}

/* Runs a node, after the nodes that it is linked to. */
static enum status run_node(struct pipewire_graph *graph, struct pipewire_node *node)
{
    const struct pipewire_kind *kind = node->kind;
    if (node->state == PIPEWIRE_DONE)
        return STATUS_OK;
    snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'", node->name);
    if (node->state == PIPEWIRE_OPEN)
        return pipewire_refuse(graph, "the links make a loop");
    node->state = PIPEWIRE_OPEN;
    for (size_t i = 0; i < kind->inputs; i++)
        if (node->in[i].from == PIPEWIRE_NODE) {
            graph->nodes[node->in[i].index].is_used[node->in[i].port] = true;
            TRY(run_node(graph, &graph->nodes[node->in[i].index]));
        }
    snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'", node->name);
    for (size_t o = 0; o < kind->outputs; o++)
        if (kind->inputs == 1 || kind->inputs == kind->outputs)
            TRY(pipewire_feed(graph, node->in[kind->inputs == 1 ? 0 : o],
                              pipewire_row(graph, node, o), 1));
    node->state = PIPEWIRE_DONE;
    return kind->run ? kind->run(graph, node) : STATUS_OK;
}

static enum status graph_run(struct pipewire_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i].state = PIPEWIRE_NEW;
    for (size_t o = 0; o < graph->output_count; o++)
        if (graph->outputs[o].from == PIPEWIRE_NODE)
            TRY(run_node(graph, &graph->nodes[graph->outputs[o].index]));
    return STATUS_OK;
}

/* ---- what is not linked ---- */

/* Whether a node's output gets input. If a node has as many inputs as outputs, each output needs
 * its own input. Any other node needs one input. */
static bool is_fed(const struct pipewire_node *node, size_t output)
{
    size_t count = node->kind->inputs;
    if (count == node->kind->outputs)
        return node->in[output].from != PIPEWIRE_NOTHING;
    for (size_t i = 0; i < count; i++)
        if (node->in[i].from != PIPEWIRE_NOTHING)
            return true;
    return false;
}

static enum status check_node(struct pipewire_graph *graph, const struct pipewire_node *node,
                              bool is_silent)
{
    char port[24] = "In";
    bool is_any_used = false;
    for (size_t o = 0; o < node->kind->outputs; o++) {
        is_any_used |= node->is_used[o];
        if (!node->is_used[o] || is_fed(node, o))
            continue;
        if (node->kind->inputs > 1)
            snprintf(port, sizeof port, "In %zu", node->kind->outputs > 1 ? o + 1 : 1);
        if (is_silent)
            return pipewire_refuse(
                graph, "nothing is linked to its input '%s', so that all is silent", port);
        note("mask %s: %s: nothing is linked to its input '%s', which is silent",
             graph->config->file, graph->json.where, port);
    }
    if (!is_any_used && !is_silent)
        note("mask %s: %s is linked to no output and left out", graph->config->file,
             graph->json.where);
    return STATUS_OK;
}

/* After the graph ran, notes inputs that reach an output unlinked and nodes that reach none. */
static enum status graph_check(struct pipewire_graph *graph, bool is_silent)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'",
                 graph->nodes[i].name);
        TRY(check_node(graph, &graph->nodes[i], is_silent));
    }
    graph->json.where[0] = '\0';
    return STATUS_OK;
}

enum {
    CELLS_MOST = 1 << 20, /* cells of a graph's matrix */
};
static const char MODULE[] = "libpipewire-module-filter-chain";
static const char EQUALIZER[] = "libpipewire-module-parametric-equalizer";

enum status pipewire_rate(struct pipewire_graph *graph, double *rate)
{
    TRY(mask_config_settle_rate(graph->config));
    *rate = graph->config->rate;
    return STATUS_OK;
}

/* ---- channels ---- */

static void add_position(const char *name, size_t length, uint8_t at[MATRIX_CHANNELS_MOST],
                         size_t *count)
{
    static const struct channel_layout any = {0};
    if (*count < MATRIX_CHANNELS_MOST)
        at[*count] = (uint8_t)channel_position_named(name, length, any);
    ++*count;
}

/* Reads positions, as in "[ FL FR ]"; they may also be text. */
static size_t read_positions(const json_t *positions, uint8_t at[MATRIX_CHANNELS_MOST])
{
    const char *text = json_string_value(positions);
    size_t count = 0, length, i;
    const json_t *item;
    json_array_foreach(positions, i, item)
    {
        const char *name = json_string_value(item);
        add_position(name ? name : "", name ? strlen(name) : 0, at, &count);
    }
    for (; text && *(text += strspn(text, "[], \t")); text += length) {
        length = strcspn(text, "[], \t");
        add_position(text, length, at, &count);
    }
    return count;
}

/* Reads the channels of a stream; *channels 0: not given. PipeWire links by position, and the sound
 * may have another order of positions. */
static enum status read_channels(struct pipewire_graph *graph, const json_t *properties,
                                 size_t *channels, struct channel_order *order)
{
    int64_t count = 0;
    uint8_t at[MATRIX_CHANNELS_MOST];
    struct channel_layout layout;
    size_t positions = read_positions(mask_json_get(properties, "audio.position"), at);
    TRY(mask_json_count(&graph->json, properties, "audio.channels", 0, MATRIX_CHANNELS_MOST,
                        &count));
    if (positions && count && positions != (size_t)count)
        return pipewire_refuse(graph, "audio.channels is %lld, with %zu positions",
                               (long long)count, positions);
    if (positions > MATRIX_CHANNELS_MOST)
        return pipewire_refuse(graph, "more than %d channels", MATRIX_CHANNELS_MOST);
    if (positions && positions <= CHANNEL_ORDER_MOST)
        channel_order_sort(at, positions, &layout, order);
    if (positions || count)
        *channels = positions ? positions : (size_t)count;
    else if (mask_json_get(properties, "audio.layout"))
        return pipewire_refuse(graph, "audio.layout: say audio.position instead");
    return STATUS_OK;
}

/* Reads the rate of a stream. If it is not given, *rate stays. */
static enum status read_rate(struct pipewire_graph *graph, const json_t *properties, int64_t *rate)
{
    return mask_json_count(&graph->json, properties, "audio.rate", 0, MASK_RATE_MOST, rate);
}

struct pipewire_streams {
    size_t capture, playback; /* numbers of channels; 0: not given */
    size_t instances;
    size_t inputs, outputs;
};

static enum status read_streams(struct pipewire_graph *graph, const json_t *args,
                                struct pipewire_streams *streams)
{
    size_t both = 0;
    const json_t *capture = mask_json_get(args, "capture.props");
    const json_t *playback = mask_json_get(args, "playback.props");
    int64_t capture_rate = 0, rate;
    graph->json.where[0] = '\0';
    TRY(read_channels(graph, args, &both, &graph->capture));
    *streams = (struct pipewire_streams){.capture = both, .playback = both};
    graph->playback = graph->capture;
    TRY(read_channels(graph, capture, &streams->capture, &graph->capture));
    TRY(read_channels(graph, playback, &streams->playback, &graph->playback));
    TRY(read_rate(graph, args, &capture_rate));
    rate = capture_rate;
    TRY(read_rate(graph, capture, &capture_rate));
    TRY(read_rate(graph, playback, &rate));
    /* the higher rate, as in PipeWire */
    graph->rate = (uint32_t)(rate > capture_rate ? rate : capture_rate);
    return STATUS_OK;
}

/* Settles the number of channels of a stream: `said` if it is given, for `instances` of `each`
 * channels. Ports that the graph does not list may stay unconnected. */
static enum status settle_channels(struct pipewire_graph *graph, const char *stream, size_t said,
                                   size_t each, size_t instances, bool are_named, size_t *channels)
{
    size_t ports = each * instances;
    *channels = said ? said : ports;
    if (said > ports || (said < ports && said && are_named))
        return pipewire_refuse(graph, "the %s stream has %zu channel%s, the graph %zu", stream,
                               said, plural_s(said), ports);
    return STATUS_OK;
}

static enum status settle_streams(struct pipewire_graph *graph, struct pipewire_streams *streams)
{
    size_t sound = graph->config->options->sound.channels;
    size_t inputs = graph->input_count, outputs = graph->output_count;
    size_t said = streams->capture, playback = streams->playback;
    bool fits = sound <= MATRIX_CHANNELS_MOST && (!graph->names_inputs || sound % inputs == 0);
    if (!said && !playback && fits)
        said = sound; /* like a stream that is connected */
    if (said || playback)
        streams->instances = said ? said / inputs : playback / outputs;
    else if (inputs == 1 && outputs == 1)
        streams->instances = graph->file_columns;
    if (streams->instances == 0)
        streams->instances = 1;
    if (streams->instances > MATRIX_CHANNELS_MOST)
        return pipewire_refuse(graph, "more than %d channels", MATRIX_CHANNELS_MOST);
    if (!playback && !graph->names_outputs && inputs == outputs)
        playback = said;
    TRY(settle_channels(graph, "capture", said, inputs, streams->instances, graph->names_inputs,
                        &streams->inputs));
    return settle_channels(graph, "playback", playback, outputs, streams->instances,
                           graph->names_outputs, &streams->outputs);
}

/* ---- the mask ---- */

static enum status collect(struct pipewire_graph *graph, const struct pipewire_streams *streams,
                           struct mask_matrix *result)
{
    for (size_t o = 0; o < streams->outputs; o++) {
        struct pipewire_source source = graph->outputs[o % graph->output_count];
        struct pipewire_node *node = &graph->nodes[source.index];
        size_t channel = channel_of(&graph->playback, streams->outputs, o);
        graph->instance = o / graph->output_count;
        if (source.from != PIPEWIRE_NODE)
            continue;
        node->is_used[source.port] = true;
        TRY(mask_matrix_add_output(result, channel, graph->matrix,
                                   pipewire_row(graph, node, source.port), 1));
    }
    return STATUS_OK;
}

/* Makes a mask for any number of channels from a graph of one channel, if no stream limits them. */
static void free_paths(const struct pipewire_streams *streams, struct mask *mask)
{
    bool is_whole = mask->path_count == streams->instances &&
                    (mask->columns == 1 || mask->columns == streams->instances);
    if (streams->capture || streams->playback || !is_whole ||
        streams->inputs != streams->instances || streams->outputs != streams->instances)
        return;
    mask->has_own_paths = false;
    mask->inputs = mask->outputs = mask->path_count = 0;
}

static enum status run(struct pipewire_graph *graph, const struct pipewire_streams *streams,
                       struct mask **mask)
{
    struct mask_matrix *result;
    size_t rows = graph->rows * streams->instances;
    if (rows > CELLS_MOST / streams->inputs)
        return pipewire_refuse(graph, "the graph is too large");
    TRY(mask_matrix_create(graph->config, streams->inputs, rows, &graph->config->matrix));
    graph->matrix = graph->config->matrix;
    for (size_t i = 0; i < streams->instances; i++) {
        graph->instance = i;
        TRY(graph_run(graph));
    }
    graph->json.where[0] = '\0';
    TRY(mask_matrix_create(graph->config, streams->inputs, streams->outputs, &result));
    enum status status = collect(graph, streams, result);
    if (status == STATUS_OK)
        status = graph_check(graph, mask_matrix_is_silent(result));
    if (status == STATUS_OK)
        status = mask_matrix_to_mask(result, mask);
    mask_matrix_destroy(result);
    if (status == STATUS_OK && graph->input_count == 1 && graph->output_count == 1)
        free_paths(streams, *mask);
    return status;
}

static enum status read_graph(struct mask_config *config, const json_t *args, struct mask **mask)
{
    struct pipewire_streams streams;
    const json_t *json = mask_json_get(args, "filter.graph");
    struct pipewire_graph *graph = calloc(1, sizeof *graph);
    if (!graph)
        return fail_memory("a mask");
    graph->config = config;
    graph->json.config = config;
    enum status status = json_is_object(json)
                             ? read_streams(graph, args, &streams)
                             : pipewire_refuse(graph, "filter.graph must be in braces");
    if (status == STATUS_OK)
        status = graph_load(graph, json);
    graph->json.where[0] = '\0';
    if (status == STATUS_OK)
        status = settle_streams(graph, &streams);
    if (status == STATUS_OK)
        status = run(graph, &streams, mask);
    pipewire_sofa_free(graph->sofa);
    free(graph);
    return status;
}

/* ---- the file ---- */

/* Makes the equaliser module's graph: a node param_eq with its file, of two channels by default. */
static enum status make_equalizer(const struct mask_config *config, json_t *args)
{
    const char *file = json_string_value(json_object_get(args, "equalizer.filepath"));
    if (!file)
        return mask_config_refuse(config, "%s without equalizer.filepath", EQUALIZER);
    json_t *graph = json_pack("{s:[{s:s, s:s, s:s, s:{s:s}}]}", "nodes", "type", "builtin", "name",
                              "eq", "label", "param_eq", "config", "filename", file);
    bool is_made = graph && json_object_set_new(args, "filter.graph", graph) == 0;
    if (!config->options->sound.channels && !json_object_get(args, "audio.position") &&
        !json_object_get(args, "audio.channels"))
        is_made &= json_object_set_new(args, "audio.channels", json_integer(2)) == 0;
    return is_made ? STATUS_OK : fail_memory("a mask");
}

static enum status find_module(const struct mask_config *config, const json_t *document,
                               const json_t **args)
{
    const json_t *modules = json_object_get(document, "context.modules"), *module;
    size_t i, count = 0;
    if (mask_json_get(document, "filter.graph")) {
        *args = document;
        return STATUS_OK;
    }
    json_array_foreach(modules, i, module)
    {
        const char *name = json_string_value(json_object_get(module, "name"));
        bool is_equalizer = name && strcmp(name, EQUALIZER) == 0;
        if (!name || (strcmp(name, MODULE) != 0 && !is_equalizer))
            continue;
        *args = json_object_get(module, "args");
        if (is_equalizer)
            TRY(make_equalizer(config, json_object_get(module, "args")));
        count++;
    }
    if (count == 1)
        return STATUS_OK;
    return mask_config_refuse(config, count ? "it has several filter chains; a mask is one"
                                            : "it has no filter chain");
}

static enum status read_pipewire(struct mask_config *config, struct mask **mask)
{
    json_t *document;
    const json_t *args = NULL;
    TRY(spa_json_parse(config, &document));
    enum status status = find_module(config, document, &args);
    if (status == STATUS_OK)
        status = read_graph(config, args, mask);
    json_decref(document);
    return status;
}

/* Whether the text has the word outside remarks. */
static bool has_word(const char *text, const char *word)
{
    for (const char *at = text; (at = strstr(at, word)); at++) {
        const char *line = at;
        while (line > text && line[-1] != '\n' && *line != '#')
            line--;
        if (*line != '#')
            return true;
    }
    return false;
}

static bool is_pipewire(const struct mask_config *config)
{
    return has_word(config->text, "libpipewire-module-") ||
           has_word(config->text, "filter.graph") || has_word(config->text, "context.modules");
}

const struct mask_reader mask_reader_pipewire = {
    .kind = "PipeWire filter chain",
    .is_my_config = is_pipewire,
    .read_config = read_pipewire,
};
