/* The graph of a filter chain: nodes, links, and the order in which they run. */
#include "mask/mask_pipewire.h"

#include <stdlib.h>
#include <string.h>

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

/* "node:port", or a port of the node that is usual there. */
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
    return mask_json_refuse(&graph->json, "there is no %s '%.100s' of sound",
                            is_input ? "input" : "output", text ? text : "");
}

static enum status use_input(struct pipewire_graph *graph, struct pipewire_node *node, size_t port,
                             struct pipewire_source source)
{
    if (node->in[port].from != PIPEWIRE_NOTHING)
        return mask_json_refuse(&graph->json,
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
    return key ? mask_json_refuse(&graph->json,
                                  "%s has no setting '%.40s' that can be read as a mask", whose,
                                  key)
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
        return mask_json_refuse(&graph->json, "a node of the type '%.40s' cannot be read as a mask",
                                type);
    TRY(mask_json_text(&graph->json, json, "label", &label));
    node->kind = pipewire_kind_named(type, label);
    if (!node->kind)
        return mask_json_refuse(
            &graph->json, "'%.40s' is not linear, or unknown, and cannot be read as a mask", label);
    TRY(pipewire_check_keys(graph, json, "a node", known));
    node->config = mask_json_get(json, "config");
    node->control = mask_json_get(json, "control");
    if ((node->config && !json_is_object(node->config)) ||
        (node->control && !json_is_object(node->control)))
        return mask_json_refuse(&graph->json, "config and control must be in braces");
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
        return mask_json_refuse(&graph->json, "more than %d inputs", MATRIX_CHANNELS_MOST);
    for (size_t i = 0; i < graph->input_count; i++) {
        const json_t *name = json_array_get(names, i);
        if (name && is_ignored(name))
            continue;
        port = i;
        if (name) {
            node = &graph->nodes[graph->node_count - 1]; /* overwritten */
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
        return mask_json_refuse(&graph->json, "more than %d outputs", MATRIX_CHANNELS_MOST);
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
        return mask_json_refuse(&graph->json, "'%s' must be a list", key);
    return STATUS_OK;
}

enum status pipewire_graph_load(struct pipewire_graph *graph, const json_t *json)
{
    static const char *const lists[] = {"nodes", "links", "inputs", "outputs", NULL};
    const json_t *item;
    size_t i;
    TRY(pipewire_check_keys(graph, json, "filter.graph", lists));
    for (i = 0; lists[i]; i++)
        TRY(check_list(graph, json, lists[i]));
    const json_t *nodes = mask_json_get(json, "nodes"), *links = mask_json_get(json, "links");
    if (json_array_size(nodes) == 0 || json_array_size(nodes) > PIPEWIRE_NODES_MOST)
        return mask_json_refuse(&graph->json, "filter.graph must have 1 to %d nodes",
                                PIPEWIRE_NODES_MOST);
    json_array_foreach(nodes, i, item) TRY(load_node(graph, item));
    snprintf(graph->json.where, sizeof graph->json.where, "filter.graph");
    json_array_foreach(links, i, item) TRY(load_link(graph, item));
    TRY(load_inputs(graph, mask_json_get(json, "inputs")));
    TRY(load_outputs(graph, mask_json_get(json, "outputs")));
    if (graph->input_count == 0 || graph->output_count == 0)
        return mask_json_refuse(&graph->json, "the graph has no input or no output");
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
        return mask_matrix_add(graph->matrix, pipewire_channel(&graph->capture, inputs, input), row,
                               gain, 0, &one, 1);
    if (source.from != PIPEWIRE_NODE)
        return STATUS_OK;
    const struct pipewire_node *from = &graph->nodes[source.index];
    return mask_matrix_add_output(graph->matrix, row, graph->matrix,
                                  pipewire_row(graph, from, source.port), gain);
}

/* What it is linked to runs before. */
static enum status run_node(struct pipewire_graph *graph, struct pipewire_node *node)
{
    const struct pipewire_kind *kind = node->kind;
    if (node->state == PIPEWIRE_DONE)
        return STATUS_OK;
    snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'", node->name);
    if (node->state == PIPEWIRE_OPEN)
        return mask_json_refuse(&graph->json, "the links make a loop");
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

enum status pipewire_graph_run(struct pipewire_graph *graph)
{
    for (size_t i = 0; i < graph->node_count; i++)
        graph->nodes[i].state = PIPEWIRE_NEW;
    for (size_t o = 0; o < graph->output_count; o++)
        if (graph->outputs[o].from == PIPEWIRE_NODE)
            TRY(run_node(graph, &graph->nodes[graph->outputs[o].index]));
    return STATUS_OK;
}

/* ---- what is not linked ---- */

/* A node with as many inputs as outputs filters each by itself; any other needs one input. */
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
            return mask_json_refuse(
                &graph->json, "nothing is linked to its input '%s', so that all is silent", port);
        note("mask %s: %s: nothing is linked to its input '%s', which is silent",
             graph->config->file, graph->json.where, port);
    }
    if (!is_any_used && !is_silent)
        note("mask %s: %s is linked to no output and left out", graph->config->file,
             graph->json.where);
    return STATUS_OK;
}

enum status pipewire_graph_check(struct pipewire_graph *graph, bool is_silent)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        snprintf(graph->json.where, sizeof graph->json.where, "node '%.100s'",
                 graph->nodes[i].name);
        TRY(check_node(graph, &graph->nodes[i], is_silent));
    }
    graph->json.where[0] = '\0';
    return STATUS_OK;
}
