/* Configurations of PipeWire's filter chain: the module's graph of builtin filters, between the
 * channels of its capture and playback streams. The module of a parametric equaliser loads such a
 * one. */
#include "mask/mask_pipewire.h"
#include "base/plural.h"
#include "mask/spa_json.h"

#include <stdlib.h>
#include <string.h>

enum {
    CELLS_MOST = 1 << 20, /* of a graph's matrix */
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

/* "[ FL FR ]", also as text. */
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

/* Of a stream; 0: not said. PipeWire links by positions, whose order the sound need not have. */
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
        return mask_json_refuse(&graph->json, "audio.channels is %lld, with %zu positions",
                                (long long)count, positions);
    if (positions > MATRIX_CHANNELS_MOST)
        return mask_json_refuse(&graph->json, "more than %d channels", MATRIX_CHANNELS_MOST);
    if (positions && positions <= CHANNEL_ORDER_MOST)
        channel_order_sort(at, positions, &layout, order);
    if (positions || count)
        *channels = positions ? positions : (size_t)count;
    else if (mask_json_get(properties, "audio.layout"))
        return mask_json_refuse(&graph->json, "audio.layout: say audio.position instead");
    return STATUS_OK;
}

size_t pipewire_channel(const struct channel_order *order, size_t channels, size_t port)
{
    return order->count == channels ? order->rows[port] : port;
}

/* Of a stream; unchanged: not said. */
static enum status read_rate(struct pipewire_graph *graph, const json_t *properties, int64_t *rate)
{
    return mask_json_count(&graph->json, properties, "audio.rate", 0, MASK_RATE_MOST, rate);
}

struct pipewire_streams {
    size_t capture, playback; /* channels; 0: not said */
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
    graph->rate = (uint32_t)(rate > capture_rate ? rate : capture_rate); /* as PipeWire does */
    return STATUS_OK;
}

/* Channels of a stream, of `said`, for instances of `each`; ports that the graph does not list may
 * stay unconnected. */
static enum status settle_channels(struct pipewire_graph *graph, const char *stream, size_t said,
                                   size_t each, size_t instances, bool are_named, size_t *channels)
{
    size_t ports = each * instances;
    *channels = said ? said : ports;
    if (said > ports || (said < ports && said && are_named))
        return mask_json_refuse(&graph->json, "the %s stream has %zu channel%s, the graph %zu",
                                stream, said, plural_s(said), ports);
    return STATUS_OK;
}

static enum status settle_streams(struct pipewire_graph *graph, struct pipewire_streams *streams)
{
    size_t sound = graph->config->options->sound.channels;
    size_t inputs = graph->input_count, outputs = graph->output_count;
    size_t said = streams->capture, playback = streams->playback;
    bool fits = sound <= MATRIX_CHANNELS_MOST && (!graph->names_inputs || sound % inputs == 0);
    if (!said && !playback && fits)
        said = sound; /* as a stream has that is connected */
    if (said || playback)
        streams->instances = said ? said / inputs : playback / outputs;
    else if (inputs == 1 && outputs == 1)
        streams->instances = graph->file_columns;
    if (streams->instances == 0)
        streams->instances = 1;
    if (streams->instances > MATRIX_CHANNELS_MOST)
        return mask_json_refuse(&graph->json, "more than %d channels", MATRIX_CHANNELS_MOST);
    if (!playback && !graph->names_outputs && inputs == outputs)
        playback = said;
    TRY(settle_channels(graph, "capture", said, inputs, streams->instances, graph->names_inputs,
                        &streams->inputs));
    return settle_channels(graph, "playback", playback, outputs, streams->instances,
                           graph->names_outputs, &streams->outputs);
}

/* ---- the graph ---- */

static enum status collect(struct pipewire_graph *graph, const struct pipewire_streams *streams,
                           struct mask_matrix *result)
{
    for (size_t o = 0; o < streams->outputs; o++) {
        struct pipewire_source source = graph->outputs[o % graph->output_count];
        struct pipewire_node *node = &graph->nodes[source.index];
        size_t channel = pipewire_channel(&graph->playback, streams->outputs, o);
        graph->instance = o / graph->output_count;
        if (source.from != PIPEWIRE_NODE)
            continue;
        node->is_used[source.port] = true;
        TRY(mask_matrix_add_output(result, channel, graph->matrix,
                                   pipewire_row(graph, node, source.port), 1));
    }
    return STATUS_OK;
}

/* A graph of one channel that no stream limits serves sound of any number of channels. */
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
        return mask_json_refuse(&graph->json, "the graph is too large");
    TRY(mask_matrix_create(graph->config, streams->inputs, rows, &graph->config->matrix));
    graph->matrix = graph->config->matrix;
    for (size_t i = 0; i < streams->instances; i++) {
        graph->instance = i;
        TRY(pipewire_graph_run(graph));
    }
    graph->json.where[0] = '\0';
    TRY(mask_matrix_create(graph->config, streams->inputs, streams->outputs, &result));
    enum status status = collect(graph, streams, result);
    if (status == STATUS_OK)
        status = pipewire_graph_check(graph, mask_matrix_is_silent(result));
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
                             : mask_json_refuse(&graph->json, "filter.graph must be in braces");
    if (status == STATUS_OK)
        status = pipewire_graph_load(graph, json);
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

/* The graph that the module of an equaliser makes: a node param_eq of its file, for two channels
 * where nothing says how many. */
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

/* Whether the text has the word, other than in a remark. */
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
