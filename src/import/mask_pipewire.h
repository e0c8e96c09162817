/* A filter chain of PipeWire while it is read: nodes, whose outputs are rows of a matrix of
 * responses from the graph's inputs. A graph with fewer inputs than the stream has channels runs in
 * several instances, which have rows of their own. */
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

/* A kind of node, without what is not linear. */
struct pipewire_kind {
    const char *type; /* NULL: builtin */
    const char *label;
    size_t inputs, outputs;          /* one is called In or Out, several In 1 ... */
    const char *const *output_names; /* instead; NULL: none */
    const struct pipewire_control *controls;
    size_t control_count;
    const char *const *settings; /* keys of its config, up to NULL; NULL: none */
    /* Checks the node and loads its files, which have the rate; NULL: nothing. */
    enum status (*prepare)(struct pipewire_graph *graph, const struct pipewire_node *node);
    /* Makes the rows of the node's outputs, which hold its inputs already if there are as many or
     * there is one; NULL: they are done. */
    enum status (*run)(struct pipewire_graph *graph, const struct pipewire_node *node);
};
const struct pipewire_kind *pipewire_kind_named(const char *type, const char *label); /* or NULL */

enum pipewire_from { PIPEWIRE_NOTHING, PIPEWIRE_INPUT, PIPEWIRE_NODE };
enum pipewire_state { PIPEWIRE_NEW, PIPEWIRE_OPEN, PIPEWIRE_DONE };

/* What a node's input or the graph's output is linked to. */
struct pipewire_source {
    enum pipewire_from from;
    size_t index; /* of the graph's input, or of the node */
    size_t port;  /* of the node */
};

struct pipewire_node {
    const char *name;
    const struct pipewire_kind *kind;
    const json_t *config, *control; /* NULL: none */
    struct pipewire_source in[PIPEWIRE_PORTS];
    size_t row; /* of its first output, in the first instance */
    enum pipewire_state state;
    bool is_used[PIPEWIRE_PORTS]; /* outputs that reach one of the graph */
};

struct pipewire_graph {
    struct mask_config *config;
    struct mask_json json;      /* of the current node */
    struct mask_matrix *matrix; /* NULL until the graph runs */
    uint32_t rate;              /* of the streams, audio.rate; 0: not said */
    struct pipewire_node nodes[PIPEWIRE_NODES_MOST];
    size_t node_count;
    size_t rows; /* of an instance */
    struct pipewire_source outputs[MATRIX_CHANNELS_MOST];
    size_t input_count, output_count;       /* of an instance */
    struct channel_order capture, playback; /* of the streams' positions */
    bool names_inputs, names_outputs;       /* it lists them; else they may stay unconnected */
    size_t instance;                        /* the present one */
    size_t file_columns;                    /* the most of a file whose column is the instance's */
    struct pipewire_sofa *sofa;             /* the last one; owned, or NULL */
};

#define pipewire_refuse(graph, ...) mask_json_refuse(&(graph)->json, __VA_ARGS__)

/* The row of a node's output in the present instance. */
size_t pipewire_row(const struct pipewire_graph *graph, const struct pipewire_node *node,
                    size_t output);

/* Add a node's input to a row. */
MUST_CHECK enum status pipewire_feed(struct pipewire_graph *graph, struct pipewire_source source,
                                     size_t row, double gain);

/* The graph's rate: of its files, or audio.rate, or asked for, or the sound's, or 48000 Hz. */
MUST_CHECK enum status pipewire_rate(struct pipewire_graph *graph, double *rate);

/* Errors: `whose` settings have a key that is not in `known`, which ends with NULL: a misspelt one,
 * which PipeWire leaves out. */
MUST_CHECK enum status pipewire_check_keys(struct pipewire_graph *graph, const json_t *settings,
                                           const char *whose, const char *const *known);

/* Errors: the kind does not have one of them. */
MUST_CHECK enum status pipewire_check_controls(struct pipewire_graph *graph,
                                               const struct pipewire_node *node);

/* The value of a control of the node's kind, limited as PipeWire does. */
MUST_CHECK enum status pipewire_control(struct pipewire_graph *graph,
                                        const struct pipewire_node *node, const char *name,
                                        double *value);

/* Frames of seconds, rounded down in single precision, as in PipeWire. */
size_t pipewire_frames(double seconds, double rate);

extern const struct pipewire_kind pipewire_convolver, pipewire_convolver2, pipewire_spatializer;

void pipewire_sofa_free(struct pipewire_sofa *sofa);

#endif
