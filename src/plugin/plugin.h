/* An audio plugin: what it says of itself, and an instance of it at work.
 *
 *   plugin_info    its ports with ranges, its presets and parameters. Nothing runs yet.
 *   plugin         an instance, for one rate and one block length.
 *
 * Each kind (LV2, LADSPA) is one struct plugin_kind; plugin.c lists them. This is the bare
 * plugin: channels, latency, mixing and isolation are the matter of plugin_instances.h and
 * plugin_filter.h.
 * Threads: what is marked real-time may be called from the step; all else by the control
 * thread, and not while the step runs unless it says so.
 */
#ifndef HALO_PLUGIN_H
#define HALO_PLUGIN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum plugin_port_type {
    PLUGIN_AUDIO,
    PLUGIN_CONTROL,
    PLUGIN_CV,   /* control at audio rate; inputs read silence */
    PLUGIN_ATOM, /* events; the kind's own business */
};

/* A value with a name: `mode=Lowpass`. */
struct plugin_point {
    char *label;
    float value;
};

struct plugin_port {
    enum plugin_port_type type;
    bool is_input;
    bool is_side_chain; /* audio in that is not the sound's own: reads silence */
    bool is_latency;    /* control out: frames */
    bool is_integer;
    bool is_toggle;
    bool is_enumeration; /* only its points' values */
    bool is_logarithmic;
    bool counts_in_rate;         /* minimum and maximum are to be times the rate */
    bool initial_counts_in_rate; /* initial is, which may be a plain 440 Hz all the same */
    char *symbol;                /* what names it in words; unique in the plugin */
    char *name;                  /* for people */
    char *unit;                  /* "dB", "Hz", "ms"; NULL: none known */
    float minimum;               /* -infinity: none stated */
    float maximum;               /* infinity: none stated */
    float initial;               /* always a number: the plugin's, else one in its range */
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

/* What is set by a message and not by a port (LV2's patch:Set). */
struct plugin_parameter {
    enum plugin_parameter_type type;
    char *uri; /* what names it in words: param:URI=value */
    char *name;
};

struct plugin_preset {
    char *uri; /* LADSPA has none */
    char *name;
};

struct plugin_info {
    const struct plugin_kind *kind;
    char *id; /* as in words: LV2's URI, LADSPA's LIBRARY:LABEL */
    char *name;
    char *maker;    /* NULL: not said */
    char *category; /* "Reverb"; NULL: not said */
    char *file;     /* library or bundle */
    size_t port_count;
    struct plugin_port *ports; /* by the plugin's own index */
    size_t parameter_count;
    struct plugin_parameter *parameters;
    size_t preset_count;
    struct plugin_preset *presets;
    size_t feature_count;
    char **features;  /* URIs it requires */
    bool keeps_state; /* more than its controls' values */
    char *refusal; /* why no instance can be made ("requires the feature URI"); NULL: none known */
};

struct plugin_setting { /* of a parameter */
    const char *uri;
    const char *value; /* as text; a path from the working folder */
};

struct plugin_settings {
    uint32_t rate;
    size_t block;       /* frames of every kind->process */
    bool live;          /* blocks are waited for: long work goes to a thread of the plugin's */
    const char *preset; /* URI; NULL: none */
    const char *state;  /* folder of kind->save, loaded after the preset; NULL: none */
    size_t setting_count;
    const struct plugin_setting *settings; /* sent before the first block, in this order */
};

struct plugin {
    const struct plugin_kind *kind;
    const struct plugin_info *info; /* not owned */
    size_t inputs;                  /* audio ports, side chains among them */
    size_t outputs;
    float *controls;     /* one value a port, by index: in what was set, out what the plugin says */
    const char *trouble; /* after the first reset: what it could not do with its state or the
                            parameters that it was given; NULL */
    const char *complaint; /* what the control thread should print once and clear; NULL */
};

struct plugin_kind {
    const char *name;          /* "lv2": the stage's option */
    const char *argument;      /* "URI", for help */
    bool describing_runs_code; /* of the plugin's */
    /* What one plugin is. Loads its library or data and may run its code: a scan asks in a child
     * process. Errors: there is none such, saying where was looked and what has a like name. */
    enum status (*describe)(const char *id, struct plugin_info **info);
    /* All that can hold plugins in the places where they are looked for, without running any of
     * their code: LV2's URIs, LADSPA's library files. `file` is another one once the holder is
     * upgraded: its library; NULL: not known. */
    enum status (*list)(void (*found)(void *context, const char *holder, const char *file),
                        void *context);
    /* The ids of the plugins in one of these, which may run its code. */
    enum status (*open)(const char *holder, void (*found)(void *context, const char *id),
                        void *context);
    /* Controls have their initial values, or the preset's and the state's. Errors: what the plugin
     * or its host cannot do. */
    enum status (*create)(const struct plugin_info *info, const struct plugin_settings *settings,
                          struct plugin **plugin);
    /* Real-time. One block: `in` and `out` are the audio ports in the order of their indices, no
     * two alike. NaN or infinity may come out. */
    void (*process)(struct plugin *plugin, const float *const *in, float *const *out);
    /* Forget all sound, keep all values. Call it before the first block, when the first values
     * are set: some plugins make their buffers by them, and only then, and what is to be loaded
     * is loaded now. */
    void (*reset)(struct plugin *plugin);
    /* All values and what else the plugin keeps, into a new folder; NULL: controls are all. */
    enum status (*save)(struct plugin *plugin, const char *folder);
    void (*destroy)(struct plugin *plugin);
};

extern const struct plugin_kind plugin_lv2;    /* through lilv */
extern const struct plugin_kind plugin_ladspa; /* libraries in LADSPA_PATH, each with labels */

/* By name ("lv2"), or NULL; by index, NULL past the last. A kind that this build leaves out is
 * there and fails with how to get it. */
const struct plugin_kind *plugin_kind_named(const char *name);
const struct plugin_kind *plugin_kind_at(size_t index);

void plugin_info_destroy(struct plugin_info *info);

/* A port's range and initial value at a rate; the latter lies in the former. */
struct plugin_range {
    float minimum, maximum, initial;
};
struct plugin_range plugin_port_range(const struct plugin_port *port, uint32_t rate);

/* Errors: memory, and what info->refusal says. */
MUST_CHECK enum status plugin_create(const struct plugin_info *info,
                                     const struct plugin_settings *settings,
                                     struct plugin **plugin);
void plugin_destroy(struct plugin *plugin);

/* Real-time. What a control input reads from the next block on; the port is one. */
static inline void plugin_set(struct plugin *plugin, size_t port, float value)
{
    plugin->controls[port] = value;
}

/* Real-time. Frames, as the plugin told after its last block; 0 where it has no such port or
 * says nonsense. */
uint64_t plugin_latency(const struct plugin *plugin);

#endif
