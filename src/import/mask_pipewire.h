/* A filter chain of PipeWire while it is read. Nodes' outputs are rows of a matrix of responses
 * from the graph's inputs. If a graph has fewer inputs than the stream has channels, it runs in
 * several instances, each with rows of its own. */
#ifndef HALO_MASK_PIPEWIRE_H
#define HALO_MASK_PIPEWIRE_H

#include "import/mask_json.h"
#include "import/mask_matrix.h"
#include "sound/file/channel_order.h"

enum { PIPEWIRE_PORTS = 8, PIPEWIRE_NODES_MOST = 256 };

struct pipewire_node;
struct pipewire_graph;
struct pipewire_sofa;

struct pipewire_control {
    const char *name;
    double usual, least, most;
};

/* A kind of node. Nodes that are not linear have none. */
struct pipewire_kind {
    const char *type; /* NULL: builtin */
    const char *label;
    size_t inputs, outputs; /* a single port is called In or Out, several In 1, In 2, ... */
    const char *const *output_names; /* other names of the outputs; NULL: the usual ones */
    const struct pipewire_control *controls;
    size_t control_count;
    const char *const *settings; /* keys of its config, ended by NULL; NULL: it has none */
    /* Checks the node and loads its files, which set the rate. NULL: nothing to do. */
    enum status (*prepare)(struct pipewire_graph *graph, const struct pipewire_node *node);
    /* Computes the rows of the node's outputs. If there are as many inputs as outputs, or one
     * input, the rows hold the inputs already. NULL: nothing to do. */
    enum status (*run)(struct pipewire_graph *graph, const struct pipewire_node *node);
};
/* NULL: there is no such kind */
const struct pipewire_kind *pipewire_kind_named(const char *type, const char *label);

enum pipewire_from { PIPEWIRE_NOTHING, PIPEWIRE_INPUT, PIPEWIRE_NODE };
enum pipewire_state { PIPEWIRE_NEW, PIPEWIRE_OPEN, PIPEWIRE_DONE };

/* What an input of a node, or an output of the graph, is linked to. */
struct pipewire_source {
    enum pipewire_from from;
    size_t index; /* number of the graph's input, or of the node */
    size_t port;  /* output of the node */
};

struct pipewire_node {
    const char *name;
    const struct pipewire_kind *kind;
    const json_t *config, *control; /* NULL: none */
    struct pipewire_source in[PIPEWIRE_PORTS];
    size_t row; /* row of its first output, in the first instance */
    enum pipewire_state state;
    bool is_used[PIPEWIRE_PORTS]; /* [output] the output reaches an output of the graph */
};

struct pipewire_graph {
    struct mask_config *config;
    struct mask_json json;      /* names the current node in messages */
    struct mask_matrix *matrix; /* NULL until the graph runs */
    uint32_t rate;              /* rate of the streams (audio.rate); 0: not given */
    struct pipewire_node nodes[PIPEWIRE_NODES_MOST];
    size_t node_count;
    size_t rows; /* rows of an instance */
    struct pipewire_source outputs[MATRIX_CHANNELS_MOST];
    size_t input_count, output_count;       /* numbers of an instance's inputs and outputs */
    struct channel_order capture, playback; /* positions of the streams' channels */
    /* the graph lists its ports; if not, some may stay unconnected */
    bool names_inputs, names_outputs;
    size_t instance; /* number of the current instance */
    /* the most columns of a file of which each instance takes its own column */
    size_t file_columns;
    struct pipewire_sofa *sofa; /* the last SOFA file; owned; NULL: none */
};

#define pipewire_refuse(graph, ...) mask_json_refuse(&(graph)->json, __VA_ARGS__)

/* The row of a node's output in the current instance. */
size_t pipewire_row(const struct pipewire_graph *graph, const struct pipewire_node *node,
                    size_t output);

/* Adds a source, times `gain`, to a row. */
MUST_CHECK enum status pipewire_feed(struct pipewire_graph *graph, struct pipewire_source source,
                                     size_t row, double gain);

/* The graph's rate. The first that is known of: its files, audio.rate, the rate the user asks for,
 * the sound's rate, 48000 Hz. */
MUST_CHECK enum status pipewire_rate(struct pipewire_graph *graph, double *rate);

/* Refuses settings with a key that is not in `known`, which ends with NULL. Such a key may be
 * misspelt, and PipeWire ignores it. `whose`: for the message. */
MUST_CHECK enum status pipewire_check_keys(struct pipewire_graph *graph, const json_t *settings,
                                           const char *whose, const char *const *known);

/* Refuses a control that the node's kind does not have. */
MUST_CHECK enum status pipewire_check_controls(struct pipewire_graph *graph,
                                               const struct pipewire_node *node);

/* The value of a control of the node, limited as in PipeWire. */
MUST_CHECK enum status pipewire_control(struct pipewire_graph *graph,
                                        const struct pipewire_node *node, const char *name,
                                        double *value);

/* Converts seconds to frames, rounded down in single precision, as in PipeWire. */
size_t pipewire_frames(double seconds, double rate);

extern const struct pipewire_kind pipewire_convolver, pipewire_convolver2, pipewire_spatializer;

void pipewire_sofa_free(struct pipewire_sofa *sofa);

#endif
