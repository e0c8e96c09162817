/* An audio plugin: its description, and an instance of it.
 *
 *   plugin_info    ports with ranges, presets, parameters. No code of the plugin runs.
 *   plugin         an instance, for one rate and one block length.
 *
 * Each kind (LV2, LADSPA, CLAP) is one struct plugin_kind; plugin.c lists them. plugin_instances.h
 * and plugin_filter.h handle channels, latency and isolation. Threads: what is marked real-time may
 * be called from the step; everything else by the control thread while no step runs.
 */
#ifndef HALO_PLUGIN_H
#define HALO_PLUGIN_H

#include "base/realtime.h"
#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { PLUGIN_PORTS_MOST = 10000 };
#define PLUGIN_TAIL_UNKNOWN UINT64_MAX

enum { PLUGIN_LATENCY_MOST = 60 * 192000 }; /* frames: a minute at 192 kHz; less is valid */

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
    bool is_side_chain; /* audio input that is heard by the plugin only: see plugin_map.h */
    bool is_latency;    /* control output in frames */
    bool is_integer;
    bool is_toggle;
    bool is_enumeration; /* only the values of its points */
    bool is_logarithmic;
    bool counts_in_rate;         /* minimum and maximum are multiplied by the rate */
    bool initial_counts_in_rate; /* initial is multiplied as well */
    char *symbol;                /* its name in specifications; unique in the plugin */
    char *name;                  /* for display */
    char *unit;                  /* "dB", "Hz", "ms"; NULL: none known */
    char *group;                 /* "Oscillators/1"; NULL: none */
    float minimum;               /* -infinity: unbounded */
    float maximum;               /* infinity: unbounded */
    float initial;               /* always finite: the plugin's, else within the range */
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

/* Set by a message instead of a port (patch:Set of LV2). */
struct plugin_parameter {
    enum plugin_parameter_type type;
    char *uri; /* URI in specifications: param:URI=value */
    char *name;
};

struct plugin_preset {
    char *uri; /* LADSPA has none */
    char *name;
};

struct plugin_info {
    const struct plugin_kind *kind;
    char *id; /* name in specifications: the URI of LV2, LIBRARY:LABEL of LADSPA, the id of CLAP */
    char *name;
    char *maker;    /* NULL: unknown */
    char *category; /* "Reverb"; NULL: unknown */
    char *file;     /* library or bundle */
    size_t port_count;
    struct plugin_port *ports; /* ports by the plugin's own index */
    size_t parameter_count;
    struct plugin_parameter *parameters;
    size_t preset_count;
    struct plugin_preset *presets;
    size_t feature_count;
    char **features;         /* URIs it requires */
    bool keeps_state;        /* more than the values of its controls */
    bool loads_presets;      /* loads presets from any file, and by keys of its own */
    bool wants_whole_blocks; /* blocks must not be split where a control changes */
    char *refusal;           /* why it cannot be instantiated; NULL: no reason known */
    size_t holder_count;
    char **holders; /* holders that kind->use() needs for the plugin, the bases first */
};

/* What a holder of plugins contains, as its manifest says. */
struct plugin_contents {
    bool is_base;     /* terms of descriptions: needed with the plugins of all holders */
    bool is_changing; /* the holder computes its manifest: it may be another each time */
    size_t count;
    char **ids; /* ids of its plugins */
    size_t served_count;
    char **served; /* ids of plugins of other holders, for which it has presets */
};

/* A value of a parameter. */
struct plugin_setting {
    const char *uri;
    const char *value; /* value as text; paths are relative to the working folder */
    uint64_t at;       /* frame of the sound; 0: before the first block */
};

/* For what follows the beat: the position counts from the sound's first frame. */
struct plugin_tempo {
    double bpm;    /* beats a minute; 0: none, and no position is sent */
    unsigned bar;  /* beats in a bar: the 6 of 6/8 */
    unsigned unit; /* note value of a beat: the 8 of 6/8 */
};

struct plugin_settings {
    uint32_t rate;
    size_t block; /* frames of kind->process, at most */
    bool varied;  /* some are shorter; else all have that length */
    struct plugin_tempo tempo;
    bool live;          /* blocks have a deadline: a thread of the plugin does long work */
    const char *preset; /* URI; NULL: none */
    const char *state;  /* folder of kind->save, loaded after the preset; NULL: none */
    size_t setting_count;
    const struct plugin_setting *settings; /* settings by time, sent in this order */
    size_t read_count;
    char *const *reads; /* files and folders that it may read besides (plugin_reads.h) */
};

struct plugin {
    const struct plugin_kind *kind;
    const struct plugin_info *info; /* not owned */
    size_t inputs;                  /* audio ports, including side chains */
    size_t outputs;
    uint32_t *in_ports, *out_ports; /* indices of the audio ports */
    float *controls;       /* values by port: inputs as set, outputs as the plugin reports them */
    int64_t position;      /* frame of the next block in the sound; negative before the sound */
    const char *trouble;   /* after the first reset: why its state or parameters failed to load */
    const char *complaint; /* for the control thread to print once and clear; NULL */
};

/* Who gets the names of holders or the ids of plugins. */
struct plugin_found {
    void (*take)(void *context, const char *name);
    void *context;
};

/* Describing, opening and creating run code of plugins and read their text: halo leaves that to
 * child processes (plugin_scanner.h), unless the user wants a plugin in halo's own process. A
 * holder is a file or folder that contains plugins: a bundle of LV2, a library of LADSPA. */
struct plugin_kind {
    const char *name;          /* "lv2": the stage's option */
    const char *argument;      /* "URI", for help */
    const char *path_variable; /* "LV2_PATH" */
    struct library *library;   /* library that `list` and the members below need; NULL: none */
    /* Describe one plugin. Errors: not found. */
    enum status (*describe)(const char *id, struct plugin_info **info);
    /* The holders in the search path, by their names alone: reads no file. */
    enum status (*list)(const struct plugin_found *found);
    /* What the manifest of a holder says; with `computes`, also what a manifest that is_changing
     * computes, by its own code. The caller frees the contents, also after an error. NULL:
     * describe, open and create find the holder by the id. */
    enum status (*contents)(const char *holder, bool computes, struct plugin_contents *contents);
    /* From now on describe, open and create know the plugins of these holders too. NULL: they know
     * all of the search path. */
    enum status (*use)(char *const *holders, size_t count);
    /* The plugins of no holder are known; no instance lives. NULL: nothing to forget. */
    void (*forget)(void);
    /* The ids of the plugins in a holder. */
    enum status (*open)(const char *holder, const struct plugin_found *found);
    /* Load the library of a described plugin, without an instance. Errors: it cannot be loaded, or
     * lacks the plugin. NULL: describe has done so. */
    enum status (*probe)(const char *id);
    /* Controls have their initial values, or those of the preset and the state. */
    enum status (*create)(const struct plugin_info *info, const struct plugin_settings *settings,
                          struct plugin **plugin);
    /* Real-time. One block of `frames`: `in` and `out` are the audio ports by index, all distinct.
     * The output may contain NaN or infinity. */
    void (*process)(struct plugin *plugin, const float *const *in, float *const *out,
                    size_t frames);
    /* Forget all sound, keep all values. Required before the first block, after the first values
     * are set: some plugins size buffers by them, and loading happens here. */
    void (*reset)(struct plugin *plugin);
    /* Frames of sound after the end of the input, with the values as they are; PLUGIN_TAIL_UNKNOWN.
     * NULL: the kind has none. */
    uint64_t (*tail)(struct plugin *plugin);
    /* Save values and state into a new folder. NULL: the kind has controls only. */
    enum status (*save)(struct plugin *plugin, const char *folder);
    void (*destroy)(struct plugin *plugin);
};

extern const struct plugin_kind plugin_lv2;    /* through lilv */
extern const struct plugin_kind plugin_ladspa; /* libraries in LADSPA_PATH, each with labels */
extern const struct plugin_kind plugin_clap;   /* libraries in CLAP_PATH, each with ids */

/* By name ("lv2"), or NULL; by index, NULL past the last. A kind left out of this build fails with
 * a hint. */
const struct plugin_kind *plugin_kind_named(const char *name);
const struct plugin_kind *plugin_kind_at(size_t index);

void plugin_info_destroy(struct plugin_info *info);
void plugin_contents_free(struct plugin_contents *contents);

/* The range of a port at a rate, and the initial value within it. */
struct plugin_range {
    float minimum, maximum, initial;
};
struct plugin_range plugin_port_range(const struct plugin_port *port, uint32_t rate);

/* The cause that a process for plugins names: one of a failed call, or CAUSE_OTHER. */
enum cause plugin_cause(long long number);

/* Errors: info->refusal. */
MUST_CHECK enum status plugin_usable(const struct plugin_info *info);

/* Errors: info->refusal, and those of the kind. */
MUST_CHECK enum status plugin_create(const struct plugin_info *info,
                                     const struct plugin_settings *settings,
                                     struct plugin **plugin);
void plugin_destroy(struct plugin *plugin);

/* For kinds: list the audio ports and allocate the controls, with initial values. Errors: memory.
 */
MUST_CHECK enum status plugin_ports_init(struct plugin *plugin, uint32_t rate);
void plugin_ports_free(struct plugin *plugin);

/* The next folder of a list with colons, for the caller to free(), "~" at its beginning replaced by
 * the home folder. NULL: no more, or no memory. */
char *plugin_places_next(const char **list);

/* Visit the entries of a folder, by name, but for hidden ones, until a visit fails. A folder that
 * cannot be read has none. Errors: those of `visit`, memory. */
MUST_CHECK enum status plugin_places_each(const char *folder,
                                          enum status (*visit)(void *context, const char *path),
                                          void *context);

/* Whether the user can set the port. */
static inline bool plugin_port_is_control(const struct plugin_port *port)
{
    return port->type == PLUGIN_CONTROL && port->is_input;
}

/* Whether changes take effect at their frame, and not at the next block. */
static inline bool plugin_is_exact(const struct plugin_info *info)
{
    return !info->wants_whole_blocks;
}

/* Real-time. Set a control input from the next block on. */
HALO_REALTIME static inline void plugin_set(struct plugin *plugin, size_t port, float value)
{
    plugin->controls[port] = value;
}

/* Real-time. Frames, as reported after the last block; 0 where no valid latency is reported. */
uint64_t plugin_latency(const struct plugin *plugin);

/* What a plugin prints: notes with its name before each line, with --verbose, until it is too much;
 * and its last line, for the message about its end. And what it complains of, which is a warning.
 * Threads: one at a time for a struct; any for plugin_output_warn. */

enum { OUTPUT_LINE = 1024, OUTPUT_LAST = 120, OUTPUT_MOST = 20 /* lines that are shown */ };

struct plugin_output {
    const char *name; /* name of the plugin, not owned; NULL: no notes */
    size_t length, lines;
    char line[OUTPUT_LINE];
    char last[OUTPUT_LAST]; /* the last line that was not empty; "" if none */
};

void plugin_output_init(struct plugin_output *output, const char *name);

/* Take what it printed. Control characters become spaces. */
void plugin_output_take(struct plugin_output *output, const char *bytes, size_t count);

/* Print a line about the plugin of this name, with the name before it unless the line begins with
 * it. A line is printed once in a run, since each instance prints it. */
void plugin_output_warn(const char *name, const char *line);

/* It will print no more: an unfinished line counts, and the lines left out are counted. */
void plugin_output_end(struct plugin_output *output);

/* What the names of ports say: brackets, units, and symbols made of the names where a plugin has
 * none (LADSPA, CLAP).
 *
 * A symbol is the name of the port in lower case, with "_" for everything but letters and digits,
 * and before a leading digit. Brackets that contain a unit are removed: "Gain [dB]" is `gain`. So
 * are all others ("Wave (0 = sine, 1 = square)"), unless two ports would then share a symbol. If
 * two still do, the second gets "_2". So a symbol is as stable as the names of the ports.
 */

struct name_span {
    const char *text;
    size_t length;
};

/* The text within the next pair of brackets from *at on; *at moves behind the pair. */
bool name_next_brackets(const char **at, struct name_span *inner);

/* Without blanks at both ends. */
struct name_span name_trimmed(struct name_span span);

/* "dB" for "db", "Hz" for "hz" and so on; NULL: no known unit. */
const char *name_unit_in(struct name_span span);

/* Give each port of the info a symbol made of its name. Errors: memory. */
MUST_CHECK enum status plugin_port_symbols(struct plugin_info *info);

#endif
