/* An audio plugin: its description, and an instance of it.
 *
 *   plugin_info    ports with ranges, presets, parameters. No code of the plugin runs.
 *   plugin         an instance, for one rate and one block length.
 *
 * Each kind (LV2, LADSPA, CLAP, VST3) is one struct plugin_kind; plugin.c lists them.
 * plugin_instances.h and plugin_filter.h handle channels, latency and isolation. Threads: the step
 * may call functions marked real-time. Only the control thread calls the others, while no step
 * runs. */
#ifndef HALO_PLUGIN_H
#define HALO_PLUGIN_H

#include "base/realtime.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { PLUGIN_PORTS_MOST = 10000 };
#define PLUGIN_TAIL_UNKNOWN UINT64_MAX

enum { PLUGIN_LATENCY_MOST = 60 * 192000 }; /* frames: a minute at 192 kHz; latencies are below */

enum plugin_port_type {
    PLUGIN_AUDIO,
    PLUGIN_CONTROL,
    PLUGIN_CV,   /* control at audio rate; inputs read silence */
    PLUGIN_ATOM, /* events; internal to the kind */
};

/* A named value: `mode=Lowpass`. */
struct plugin_point {
    char *label;
    float value;
};

struct plugin_port {
    enum plugin_port_type type;
    bool is_input;
    /* audio input that controls the plugin and is not in the output: see plugin_map.h */
    bool is_side_chain;
    bool is_latency; /* control output that reports the latency, in frames */
    bool is_integer;
    bool is_toggle;
    bool is_enumeration; /* only the values in `points` are valid */
    bool is_logarithmic;
    bool counts_in_rate;         /* minimum and maximum are multiplied by the rate */
    bool initial_counts_in_rate; /* initial is multiplied by the rate */
    char *symbol;                /* name of the port in specifications; unique in the plugin */
    char *name;                  /* name to show to the user */
    char *unit;                  /* "dB", "Hz", "ms"; NULL: unknown */
    char *group;                 /* "Oscillators/1"; NULL: none */
    float minimum;               /* -infinity: unbounded */
    float maximum;               /* infinity: unbounded */
    float initial;               /* always finite: the default, else a value in the range */
    size_t point_count;
    struct plugin_point *points;
};

enum plugin_parameter_type {
    PLUGIN_FLOAT,
    PLUGIN_DOUBLE,
    PLUGIN_INT,
    PLUGIN_LONG,
    PLUGIN_BOOL,
    PLUGIN_STRING,
    PLUGIN_PATH,
    PLUGIN_URI,
};

/* A value that the host sets by a message, not through a port (patch:Set of LV2). */
struct plugin_parameter {
    enum plugin_parameter_type type;
    char *uri; /* URI in specifications: param:URI=value */
    char *name;
};

struct plugin_preset {
    char *uri; /* URI in specifications: preset=URI */
    char *name;
};

struct plugin_info {
    const struct plugin_kind *kind;
    char *id; /* name in specifications: the URI of LV2, LIBRARY:LABEL of LADSPA, the id of CLAP,
               * BUNDLE.vst3 or BUNDLE.vst3:CLASS of VST3 */
    char *name;
    char *maker;    /* NULL: unknown */
    char *category; /* "Reverb"; NULL: unknown */
    char *file;     /* library or bundle */
    size_t port_count;
    struct plugin_port *ports; /* ports by the plugin's own index */
    size_t parameter_count;
    struct plugin_parameter *parameters;
    size_t preset_count;
    struct plugin_preset *presets; /* LADSPA has none */
    size_t feature_count;
    char **features;         /* URIs of the features that the plugin requires */
    bool keeps_state;        /* the plugin has state besides the values of its controls */
    bool loads_presets;      /* the plugin itself loads presets, from any file or by its own keys */
    bool wants_whole_blocks; /* blocks must not be split where a control changes */
    char *refusal;           /* why the plugin cannot be instantiated; NULL: no reason known */
    size_t holder_count;
    char **holders; /* holders to pass to kind->use() for this plugin, the bases first */
};

/* The contents of a holder of plugins, from its manifest. */
struct plugin_contents {
    bool is_base;     /* the holder defines terms of descriptions: plugins of all holders need it */
    bool is_changing; /* the holder computes its manifest, which may differ each time */
    size_t count;
    char **ids; /* ids of the plugins in the holder */
    size_t served_count;
    char **served; /* ids of plugins in other holders for which this holder has presets */
};

/* A value of a parameter. */
struct plugin_setting {
    const char *uri;
    const char *value; /* value as text; paths are relative to the working folder */
    uint64_t at;       /* frame of the sound; 0: before the first block */
};

/* Tempo for plugins that follow the beat. Their position counts from the sound's first frame. */
struct plugin_tempo {
    double bpm;    /* beats a minute; 0: none, and no position is sent */
    unsigned bar;  /* beats in a bar: the 6 of 6/8 */
    unsigned unit; /* note value of a beat: the 8 of 6/8 */
};

struct plugin_settings {
    uint32_t rate;
    size_t block;        /* most frames in a call of kind->process */
    bool varied;         /* some blocks are shorter than `block`; false: none is */
    bool has_side_chain; /* side chains have a sound; false: they are silent */
    struct plugin_tempo tempo;
    bool live;          /* blocks have a deadline: long work is done on a thread of its own */
    const char *preset; /* URI; NULL: none */
    const char *state;  /* folder that kind->save wrote; loaded after the preset; NULL: none */
    size_t setting_count;
    const struct plugin_setting *settings; /* sorted by time, sent in this order */
    size_t read_count;
    char *const *reads; /* additional files and folders that the plugin may read (plugin_reads.h) */
};

struct plugin {
    const struct plugin_kind *kind;
    const struct plugin_info *info; /* not owned */
    size_t inputs;                  /* audio ports, including side chains */
    size_t outputs;
    uint32_t *in_ports, *out_ports; /* indices of the audio ports */
    float *controls;  /* values by port: inputs as set, outputs as the plugin reports them */
    int64_t position; /* frame of the next block in the sound; negative before the sound */
    /* set by the first reset: why state or parameters failed to load; NULL: they did not */
    const char *trouble;
    const char *complaint; /* line that the control thread prints and clears; NULL: none */
};

/* Receives the names of holders or the ids of plugins. */
struct plugin_found {
    void (*take)(void *context, const char *name);
    void *context;
};

/* describe, open and create run code of plugins and parse their files. halo calls them in child
 * processes (plugin_scanner.h), unless the user wants a plugin in halo's own process. A holder is a
 * file or folder that contains plugins: a bundle of LV2, a library of LADSPA. */
struct plugin_kind {
    const char *name;          /* "lv2", also the name of the stage */
    const char *argument;      /* "URI", for help */
    const char *path_variable; /* "LV2_PATH" */
    bool adapts;               /* an id may end in #N: the plugin is to take N channels if it can */
    struct library *library;   /* library that `list` and the members after it need; NULL: none */
    /* Describe one plugin. Errors: the plugin is not found. */
    enum status (*describe)(const char *id, struct plugin_info **info);
    /* Names the holders in the search path. Reads folders only, no files. */
    enum status (*list)(const struct plugin_found *found);
    /* Read the manifest of a holder. If the manifest is_changing, its code runs only with
     * `computes`. The caller frees the contents, also after an error. NULL: describe, open and
     * create find the holder by the id. */
    enum status (*contents)(const char *holder, bool computes, struct plugin_contents *contents);
    /* Let describe, open and create find the plugins of these holders, too. NULL: they find all
     * plugins in the search path. */
    enum status (*use)(char *const *holders, size_t count);
    /* Undo all calls of use(). No instance may exist. NULL: nothing to undo. */
    void (*forget)(void);
    /* List the ids of the plugins in a holder. */
    enum status (*open)(const char *holder, const struct plugin_found *found);
    /* Load the library of a described plugin, without an instance. Errors: the library cannot be
     * loaded, or lacks the plugin. NULL: describe has loaded it. */
    enum status (*probe)(const char *id);
    /* Create an instance. Controls have initial values, or those of preset and state. */
    enum status (*create)(const struct plugin_info *info, const struct plugin_settings *settings,
                          struct plugin **plugin);
    /* Real-time. Process one block of `frames` frames. `in` and `out` are the buffers of the audio
     * ports by index; no two overlap. The output may contain NaN or infinity. */
    void (*process)(struct plugin *plugin, const float *const *in, float *const *out,
                    size_t frames);
    /* Discard all sound and keep all values. Required before the first block, once the values are
     * set: some plugins size buffers by them; state and parameters are loaded here. */
    void (*reset)(struct plugin *plugin);
    /* Frames of sound after the end of the input, with the current values, or PLUGIN_TAIL_UNKNOWN.
     * NULL: the kind reports no tail. */
    uint64_t (*tail)(struct plugin *plugin);
    /* Save values and state into a new folder. NULL: the kind has controls only. */
    enum status (*save)(struct plugin *plugin, const char *folder);
    void (*destroy)(struct plugin *plugin);
};

extern const struct plugin_kind plugin_lv2;    /* through lilv */
extern const struct plugin_kind plugin_ladspa; /* libraries in LADSPA_PATH, each with labels */
extern const struct plugin_kind plugin_clap;   /* libraries in CLAP_PATH, each with ids */
extern const struct plugin_kind plugin_vst3;   /* bundles in VST3_PATH, each with classes */

/* A kind by its name ("lv2"), or NULL; by its index, or NULL past the last. The calls of a kind
 * that this build lacks fail with a hint. */
const struct plugin_kind *plugin_kind_named(const char *name);
const struct plugin_kind *plugin_kind_at(size_t index);

void plugin_info_destroy(struct plugin_info *info);
void plugin_contents_free(struct plugin_contents *contents);

/* The range of a port at a rate, and the initial value within it. */
struct plugin_range {
    float minimum, maximum, initial;
};
struct plugin_range plugin_port_range(const struct plugin_port *port, uint32_t rate);

/* The cause of a number from a child process; CAUSE_OTHER if no single failed call has it. */
enum cause plugin_cause(long long number);

/* Errors: info->refusal. */
MUST_CHECK enum status plugin_usable(const struct plugin_info *info);

/* Errors: info->refusal, and those of the kind. */
MUST_CHECK enum status plugin_create(const struct plugin_info *info,
                                     const struct plugin_settings *settings,
                                     struct plugin **plugin);
void plugin_destroy(struct plugin *plugin);

/* For kinds: set in_ports and out_ports, allocate controls with initial values. Errors: memory. */
MUST_CHECK enum status plugin_ports_init(struct plugin *plugin, uint32_t rate);
void plugin_ports_free(struct plugin *plugin);

/* The next folder of a list separated by colons. A "~" at its beginning becomes the home folder.
 * The caller frees it. NULL: no more folders, or no memory. */
char *plugin_places_next(const char **list);

/* Visit the entries of a folder that are not hidden, sorted by name, until a visit fails. A folder
 * that cannot be read counts as empty. Errors: those of `visit`, memory. */
MUST_CHECK enum status plugin_places_each(const char *folder,
                                          enum status (*visit)(void *context, const char *path),
                                          void *context);

/* Whether the user can set the port. */
static inline bool plugin_port_is_control(const struct plugin_port *port)
{
    return port->type == PLUGIN_CONTROL && port->is_input;
}

/* Whether changes take effect at their frame; otherwise they do at the next block. */
static inline bool plugin_is_exact(const struct plugin_info *info)
{
    return !info->wants_whole_blocks;
}

/* Real-time. Set a control input from the next block on. */
HALO_REALTIME static inline void plugin_set(struct plugin *plugin, size_t port, float value)
{
    plugin->controls[port] = value;
}

/* Real-time. Latency in frames, as reported after the last block; 0 if none or invalid. */
uint64_t plugin_latency(const struct plugin *plugin);

/* The text that a plugin prints. With --verbose halo shows its first OUTPUT_MOST lines as notes,
 * each with the name of the plugin before it. The last line is kept for the message about a crash.
 * plugin_output_warn() prints complaints of plugins as warnings. Threads: one at a time for a
 * struct; any for plugin_output_warn. */

enum { OUTPUT_LINE = 1024, OUTPUT_LAST = 120, OUTPUT_MOST = 20 /* lines that are shown */ };

struct plugin_output {
    const char *name; /* name of the plugin, not owned; NULL: no notes */
    size_t length, lines;
    char line[OUTPUT_LINE];
    char last[OUTPUT_LAST]; /* the last line that was not empty; "" if none */
};

void plugin_output_init(struct plugin_output *output, const char *name);

/* Take text that the plugin printed. Control characters become spaces. */
void plugin_output_take(struct plugin_output *output, const char *bytes, size_t count);

/* Print a line about a plugin as a warning. The plugin's name goes before it unless the line begins
 * with the name. The same line is printed once in a run, even if each instance complains. */
void plugin_output_warn(const char *name, const char *line);

/* The plugin prints no more. Shows an unfinished last line, and the number of lines left out. */
void plugin_output_end(struct plugin_output *output);

/* Reads the names of ports: brackets and units. Makes symbols of the names for plugins without
 * symbols (LADSPA, CLAP, VST3): the name in lower case, with "_" for everything but letters and
 * digits, and before a leading digit. Brackets that contain a unit are removed: "Gain [dB]" is
 * `gain`. All other brackets ("Wave (0 = sine, 1 = square)") are removed, too, unless two ports
 * would then share a symbol. If two still do, the second gets "_2". */

struct name_span {
    const char *text;
    size_t length;
};

/* Get the text in the next pair of brackets from *at on; *at then is behind it. False: no more. */
bool name_next_brackets(const char **at, struct name_span *inner);

/* The span without the blanks at both ends. */
struct name_span name_trimmed(struct name_span span);

/* The usual spelling of a unit: "dB" for "db", "Hz" for "hz". NULL: the span is no known unit. */
const char *name_unit_in(struct name_span span);

/* Give each port of the info a symbol made of the port's name. Errors: memory. */
MUST_CHECK enum status plugin_port_symbols(struct plugin_info *info);

#endif
