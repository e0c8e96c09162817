/* The stages of a chain: mask, gain, plugin, ... from the command line to filters.
 *
 *   --mask hall.wav,gain=-6,channel=1        --gain -3        --lv2 URI,drive=3,@mix=0.5
 *
 * A spec is a list of words separated by commas; `\,` is a comma. The first is the stage's value,
 * the others are its options, key=value; those of stage_mix.h are for all stages.
 *
 * A kind of stage is a struct stage_ops in a file of its own, stage_NAME.c, and a row of the table
 * in stages.c. No other file depends on the kind of a stage.
 * Threads: the control thread, unless a function says otherwise. */
#ifndef HALO_STAGES_H
#define HALO_STAGES_H

#include "base/status.h"
#include "base/workers.h"
#include "chain/spec.h"
#include "chain/stage_mix.h"
#include "convolve/convolver.h"
#include "mask/mask.h"
#include "plugin/plugin_filter.h"
#include "signal/audio.h"
#include "sound/filter.h"

#include <jansson.h>

struct mask_cache;
struct option_row;
struct stage_draw;

enum { STAGE_KINDS_MOST = 16 };

enum isolate { ISOLATE_ON, ISOLATE_OFF };

/* Settings for all stages of a command. */
struct stage_settings {
    enum mask_align align;
    struct convolver_settings convolver; /* settings for masks; block and workers are filled in */
    bool allow_truncated;
    bool distrusts_configs;
    bool streamed;        /* blocks are periods of a device, live or in a replay */
    enum isolate isolate; /* run plugins in separate processes */
    bool replayed;        /* replay of a live recording: plugins have no prelude, as when live */
    struct plugin_tempo tempo;
    struct mask_cache *masks; /* keeps masks between jobs (mask_cache.h); NULL: nothing does */
    bool in_passes; /* the caller runs the passes that stages may need (render_passes.h) */
};

enum stage_path_use {
    STAGE_PATH_FILE, /* file that halo or a plugin reads */
    /* mask file; if it is a configuration, it may name others (the option file=) */
    STAGE_PATH_MASK,
    STAGE_PATH_NAMED,   /* the path of file= */
    STAGE_PATH_FOLDER,  /* folder with the files of a configuration */
    STAGE_PATH_STATE,   /* folder with a saved state of the stage */
    STAGE_PATH_LIBRARY, /* a library of plugins */
};

/* Where a word of a spec has a path. */
struct stage_path {
    size_t start, length; /* place in the word */
    enum stage_path_use use;
    bool perhaps; /* the word is a path only if such a file exists */
    bool slashed; /* the path needs a slash; without one the word means something else */
    char quoted;  /* the character that is written with a backslash; 0: none */
};

struct stage {
    const struct stage_ops *ops;
    void *data;   /* data that ops->load made and ops->destroy frees; NULL: none */
    char *text;   /* spec of the stage */
    char *origin; /* prefix of error messages; NULL: the command line */
    bool drawn;   /* some of its values were drawn (stage_draw.h) */
    struct stage_settings settings;
    size_t inputs;
    size_t outputs;
    uint32_t rate;
    bool automated; /* the spec has at= */
    struct stage_mix_spec mix;
    bool has_mixes;       /* each alternative mask has a mix of its own, applied within the mask */
    double gain_of_level; /* factor for the output of a mask with level= */
    struct plugin_latency latency; /* measured in an earlier run */
    uint64_t before;               /* frames of latency of the stages before */
    uint64_t tail_before;          /* frames of tail of the stages before */
    bool tail_unknown;             /* the tail before may be longer */
    double level;          /* factor by which the output was scaled after the run; 0: none */
    struct filter *filter; /* NULL until created; owned by the chain or by `widened` or `mixed` */
    bool is_proven;
    struct proof proof;     /* valid if is_proven (report.h) */
    struct filter *widened; /* precision adapter around `filter`, or NULL */
    struct filter *mixed;   /* mix filter around `filter` or `widened`, or NULL */
};

/* A description of a loaded stage. backend, algorithm, gpu_failures: only if its filter exists. */
struct stage_info {
    const char *id;   /* id of its plugin; NULL: none */
    const char *name; /* NULL: none */
    size_t taps;      /* taps of its mask; 0: no mask */
    size_t origin;    /* latency of its mask, in frames */
    double gain;      /* linear; NAN: the stage is more than a gain */
    bool keeps_state; /* files->save saves it */
    const char *backend;
    const char *algorithm;
    uint64_t gpu_failures;
};

/* Powers that a stage must know of the whole sound. */
enum stage_needs {
    STAGE_NEEDS_NOTHING,
    STAGE_NEEDS_INPUT,  /* the power of the stage's input, before it runs */
    STAGE_NEEDS_OUTPUT, /* the powers of the stage's input and output, after it ran */
};

/* Mean squares of all samples of all channels. */
struct stage_power {
    double in;           /* power of the stage's input */
    double out;          /* power of the output that is written */
    double whole;        /* power of all output of the stage, with lead and tail */
    uint64_t frames;     /* frames of the sound, over which `in` and `out` are taken */
    uint64_t lead;       /* frames of input before the sound */
    uint64_t all_frames; /* frames of the sound and of a tail that is not written */
};

/* Squares of samples beyond about 1e-145 and 1e145 are no exact doubles any more. Only such samples
 * have a sum of 0 without being silent. */
#define STAGE_SAMPLE_LEAST 1e-145

static inline bool stage_power_is_exact(double power)
{
    return power == 0 || (power > 1e-290 && power < 1e290);
}

/* Calls of a stage that must know the power of the whole sound. It runs in a pass of its own. */
struct stage_pass_ops {
    enum stage_needs (*needs)(const struct stage *stage);
    /* STAGE_NEEDS_INPUT: take the power, before the first step. Errors: silence, a file. */
    enum status (*settle)(struct stage *stage, const struct stage_power *power);
    /* STAGE_NEEDS_OUTPUT: compute the factor for the output. Errors: the output is silent. */
    enum status (*level)(const struct stage *stage, const struct stage_power *power,
                         double *factor);
};

/* Calls for files that a spec names and for a stage's state. No state: save and links are NULL. */
struct stage_file_ops {
    /* Find the first path in a word of the spec from byte `from` on. False: none. */
    bool (*path_in)(char *const *spec, size_t word, size_t from, struct stage_path *path);
    /* Save the state in a new folder; the option @state=FOLDER loads it. */
    enum status (*save)(struct filter *filter, const char *folder);
    /* Call `found` for each file that a saved state links to and that no @reads= names. */
    enum status (*links)(const struct stage *stage, const char *folder,
                         enum status (*found)(void *context, const char *link, const char *target),
                         void *context);
};

/* A stage's own live controls: the control inputs among ports(). Values: by index of the port. */
struct stage_control_ops {
    const struct plugin_info *(*ports)(const struct stage *stage);
    float (*value)(const struct filter *filter, size_t port);
    void (*set)(struct filter *filter, size_t port, float value); /* real-time */
};

/* A kind of stage. Members that may be NULL say so. */
struct stage_ops {
    const char *option;   /* "mask": the command line says --mask */
    const char *argument; /* name of the option's value, for --help */
    char letter;          /* short form of the option, or 0 */
    bool is_memoryless;   /* each output frame depends on one input frame alone */
    bool is_file;         /* the value begins with the name of a file, for completion */
    const char *help;     /* lines for --help */
    /* keys of the options, for completion (options.h); NULL: the kind has none of its own */
    const struct option_row *keys;
    /* made values, for completion (options.h); NULL: none */
    const char *(*made_at)(size_t index, const char **keys);
    const struct stage_draw *draws; /* values that may be drawn (stage_draw.h); NULL: none */

    bool has_choices; /* live, --or adds alternatives: stage_mask.h */
    bool may_fail;    /* in a stream the stage is bypassed when late, and left out when it fails */
    size_t grain;     /* frames; any block is a multiple; 0: no restriction */
    bool one_at_a_time;      /* only one job with such a stage runs at a time in the process */
    const char *no_boundary; /* why --edge cannot be used with it; NULL: it can */

    /* The stage will be loaded for `format`: start slow preparations in parallel. NULL: none. */
    void (*expect)(const char *text, const struct stage_settings *settings,
                   const struct stream_format *format);
    /* Load a spec, NULL-terminated, for a sound of `format`. Sets stage->data, and stage->outputs
     * if the number differs from the inputs. Errors: the spec or a file is wrong. */
    enum status (*load)(struct stage *stage, char **spec, const struct stream_format *format);
    void (*destroy)(void *data); /* accepts half-loaded data and NULL. NULL: free() is called */
    /* Preferred block for files, in frames, at most `most`. NULL: any block. */
    size_t (*preferred_block)(const struct stage *stage, struct workers *workers, size_t most);
    /* Make the filter, with the latency and tail of the stage. */
    enum status (*create)(struct stage *stage, size_t block, struct workers *workers,
                          struct filter **filter);
    /* Free data that only `create` needs; `create` is not called again. NULL: there is none. */
    void (*discard)(struct stage *stage);

    /* Fill in `info`, which is zero but for a gain of 1. NULL: it stays so. */
    void (*describe)(const struct stage *stage, struct stage_info *info);
    /* After a run: report prints notes. report_json returns a new JSON object, whose members are
     * added to the object of the stage. NULL: nothing to report. */
    void (*report)(const struct stage *stage);
    json_t *(*report_json)(const struct stage *stage);
    /* After the last step of a file: check that the stage processed all of it. NULL: it always
     * does. Errors: the stage ended before. */
    enum status (*confirm)(struct filter *filter);
    /* After the last step: get the result of a proof that was asked for. NULL: cannot be proven. */
    void (*prove)(struct filter *filter, struct proof *proof);
    /* Store the true latency, higher than the filter's, for the next run. NULL: cannot happen. */
    void (*keep_latency)(struct stage *stage);

    const struct stage_pass_ops *passes;      /* NULL: the kind needs no power of the sound */
    const struct stage_file_ops *files;       /* NULL: specs name no files, and there is no state */
    const struct stage_control_ops *controls; /* NULL: no live controls */
};

/* Calls files->path_in; false if the kind has no files. */
bool stage_path_in(const struct stage_ops *ops, char *const *spec, size_t word, size_t from,
                   struct stage_path *path);

/* A kind by its option or by index; NULL: none. */
const struct stage_ops *stage_ops_named(const char *option);
const struct stage_ops *stage_ops_at(size_t index);

struct stage_info stage_describe(const struct stage *stage);

enum stage_needs stage_needs(const struct stage *stage);

/* For ops->load: the sound that times of at= refer to. */
struct automation_time stage_time(const struct stage *stage);

/* For ops->load. Errors (usage): the caller runs no passes; `what` is the option, "level=". */
MUST_CHECK enum status stage_check_passes(const struct stage_settings *settings, const char *what);

/* Fail with the error (usage) about at= in a stream. */
enum status stage_refuse_times(void);

struct stage_list {
    enum precision precision;  /* precision of the chain, once loaded */
    uint64_t before;           /* frames before the sound (render_passes.h) */
    struct plugin_tempo tempo; /* tempo of the first chain file that has one; bpm 0: none */
    bool tempos_differ;        /* another chain file has another tempo */
    size_t count;
    struct stage *stages;
};

/* Append a stage. `text`: its spec. `origin`: see struct stage. Errors: memory. */
MUST_CHECK enum status stage_list_add(struct stage_list *list, const struct stage_ops *ops,
                                      const char *text, const char *origin);

/* Call ops->confirm of all stages. */
MUST_CHECK enum status stage_list_confirm(const struct stage_list *list);

/* Insert a stage of the command line at index `at`. Errors: memory. */
MUST_CHECK enum status stage_list_insert(struct stage_list *list, size_t at,
                                         const struct stage_ops *ops, const char *text);
void stage_list_free(struct stage_list *list);

/* Copy the specs; nothing is loaded. `copy` is empty before. Errors: memory. */
MUST_CHECK enum status stage_list_copy(const struct stage_list *list, struct stage_list *copy);

/* Whether a job with these stages may run beside others in one process. */
bool stage_list_runs_beside(const struct stage_list *list);

/* Whether equal frames of the input give equal frames of the output. */
bool stage_list_is_memoryless(const struct stage_list *list);

/* Free the data of loaded stages, after the chain is destroyed. Keeps measured latencies. */
void stage_list_unload(struct stage_list *list);

/* Call ops->expect of all stages, before they are loaded. */
void stage_list_expect(const struct stage_list *list, const struct stage_settings *settings,
                       const struct stream_format *format);

/* Load all stages for a sound of `format`. Sets its channels and layout to the output's. The layout
 * stays if the number of channels does. Errors: those of the stages. */
MUST_CHECK enum status stage_list_load(struct stage_list *list,
                                       const struct stage_settings *settings,
                                       struct stream_format *format);

/* Load the stages from index `first` to before `end`. Stages before `first` are loaded already. */
MUST_CHECK enum status stage_list_load_part(struct stage_list *list,
                                            const struct stage_settings *settings,
                                            struct stream_format *format, size_t first, size_t end);

/* The block for all stages, in frames, for a job of `frames` frames (UINT64_MAX: unknown). `wanted`
 * is taken unless it is 0 or a stage prefers another block. */
size_t stage_list_block(const struct stage_list *list, size_t channels, struct workers *workers,
                        uint64_t frames, size_t wanted);

/* Frames. Any block must be a multiple of it. */
size_t stage_list_grain(const struct stage_list *list);

/* The precision of a stage whose filter exists: some have single precision only. */
enum precision stage_precision(const struct stage *stage);

enum precision stage_list_precision(const struct stage_list *list); /* the lowest of all stages */

/* Warn of stages that do not compute in double precision although it was requested. */
void stage_list_warn_of_precision(const struct stage_list *list);

/* Make the chain, which owns the filters of all stages, in the precision of the settings. */
MUST_CHECK enum status stage_list_create(struct stage_list *list, size_t channels, size_t block,
                                         struct workers *workers, struct filter **chain);

/* Call ops->discard, or ops->keep_latency, of all stages. */
void stage_list_discard(struct stage_list *list);
void stage_list_keep_latencies(struct stage_list *list);

/* Controls of the stages of a running chain: for keys, OSC, sliders.
 *
 * A control is a number with a range, default and unit, like a port of a plugin. A stage with a mix
 * (stage_mix.h) has two controls of the mix; live, these are plugins and stages given @mix or
 * @bypass. A value reaches the step through atomics and applies from its next block on; the last
 * value set before the block counts. A mix changes by a ramp. A plugin's port changes at once, or
 * as the plugin smooths it. Threads: one control thread, while the step runs. The step itself may
 * call real-time functions before its block, so that the frame of a change is known. Nothing here
 * waits or allocates. */

struct stage_control {
    enum stage_control_kind kind;
    size_t stage;                   /* index of the stage in the list */
    const struct plugin_port *port; /* symbol ("gain", "@mix"), scale points, steps */
    size_t port_index;              /* index of `port` in its plugin */
    struct plugin_range range;
    float value; /* value that was set last */
};

/* Get control `index` of all stages, in order. False: past the last. The chain must exist. */
bool stage_controls_at(const struct stage_list *list, size_t index, struct stage_control *control);

/* Find a control by stage and name: its symbol, or a name by which plugin_spec_port finds a port.
 * Errors (usage): no such control; the message lists the controls of the stage. */
MUST_CHECK enum status stage_controls_find(const struct stage_list *list, size_t stage,
                                           const char *name, struct stage_control *control);

/* Parse a value ("-6dB", "on", "Lowpass"). Errors (usage): invalid value. */
MUST_CHECK enum status stage_controls_parse(const struct stage_list *list,
                                            const struct stage_control *control, const char *text,
                                            float *value);

/* Clamp a value to the range of the control. */
float stage_controls_fit(const struct stage_control *control, double value);

/* Real-time. Set a value. Reads only kind, stage and port_index of `control`. */
void stage_controls_set(const struct stage_list *list, const struct stage_control *control,
                        float value);

#endif
