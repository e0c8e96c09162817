#include "live/driver_pipewire_default.h"

#include <stdio.h>
#include <string.h>

/* While another sink than halo's own is the default, the session manager prefers it to all that are
 * there. */
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

/* The last that was not halo's own; outlives a connection with the server. */
static char configured[PIPEWIRE_NAME];

const struct pipewire_registry_node *pipewire_default_sink(struct pipewire_registry *graph,
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

void pipewire_default_forget(void)
{
    configured[0] = '\0';
}
