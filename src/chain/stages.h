/* The stages of a chain: mask, gain, plugin, ... from the command line to filters.
 *
 *   --mask hall.wav,gain=-6,channel=1        --gain -3        --lv2 URI,drive=3,@mix=0.5
 *
 * A spec is a list of words separated by commas; `\,` is a comma. The first is the stage's value,
 * the others are its options, key=value; those of stage_mix.h are for all stages.
 *
 * A kind of stage is a struct stage_ops in a file of its own, stage_NAME.c, and a row of the table
 * in stages.c. No other file asks of which kind a stage is.
 * Threads: the control thread, unless a function says otherwise.
 */
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

/* Settings of all stages of a command. */
struct stage_settings {
    enum mask_align align;
    struct convolver_settings convolver; /* settings for masks; block and workers are filled in */
    bool allow_truncated;
    bool distrusts_configs;
    bool streamed;        /* blocks are the periods of a device, also in a replay */
    enum isolate isolate; /* run plugins in separate processes */
    bool replayed;        /* a replay: plugins have no prelude, as when live */
    struct plugin_tempo tempo;
    struct mask_cache *masks; /* keeps masks between jobs (mask_cache.h); NULL: nothing does */
    bool in_passes; /* the caller runs the passes that stages may need (render_passes.h) */
};

enum stage_path_use {
    STAGE_PATH_FILE,    /* read by halo or a plugin */
    STAGE_PATH_MASK,    /* a file too; its configuration may name others (the option file=) */
    STAGE_PATH_NAMED,   /* the path of file= */
    STAGE_PATH_FOLDER,  /* a folder in which the files of a configuration are looked for */
    STAGE_PATH_STATE,   /* a folder that the stage saved */
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
    void *data;   /* what ops->load made, for ops->destroy; NULL: nothing */
    char *text;   /* its spec */
    char *origin; /* prefix of error messages; NULL: the command line */
    bool drawn;   /* some of its values were drawn (stage_draw.h) */
    struct stage_settings settings;
    size_t inputs;
    size_t outputs;
    uint32_t rate;
    bool automated; /* its spec has at= */
    struct stage_mix_spec mix;
    bool has_mixes;                /* each of its choices has a mix of its own, within its mask */
    double gain_of_level;          /* factor for the output of a mask with level= */
    struct plugin_latency latency; /* measured in an earlier run */
    uint64_t before;               /* frames of latency of the stages before */
    uint64_t tail_before;          /* frames of tail of the stages before */
    bool tail_unknown;             /* the tail before may be longer */
    double level;                  /* factor by which its output was scaled, once it ran; 0: none */
    struct filter *filter;         /* once created; owned by the chain or what is around it */
    bool is_proven;
    struct proof proof;     /* once proven (report.h) */
    struct filter *widened; /* the precision adapter around it, or NULL */
    struct filter *mixed;   /* the mix filter around either, or NULL */
};

/* A description of a loaded stage. The last three members need its filter. */
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

/* What a stage has to know of the whole sound. */
enum stage_needs {
    STAGE_NEEDS_NOTHING,
    STAGE_NEEDS_INPUT,  /* the power of what it gets, before it runs */
    STAGE_NEEDS_OUTPUT, /* the powers of what it gets and makes, after it ran */
};

/* Mean squares of all samples of all channels. */
struct stage_power {
    double in;           /* power of what the stage gets */
    double out;          /* power of what is written */
    double whole;        /* power of all that the stage made, with lead and tail */
    uint64_t frames;     /* length of the sound, over which `in` and `out` are taken */
    uint64_t lead;       /* frames that the stage gets before the sound */
    uint64_t all_frames; /* frames of the sound and of a tail that is not written */
};

/* Squares of samples beyond about 1e-145 and 1e145 are no exact doubles any more. Only such samples
 * have a sum of 0 without being silent. */
#define STAGE_SAMPLE_LEAST 1e-145

static inline bool stage_power_is_exact(double power)
{
    return power == 0 || (power > 1e-290 && power < 1e290);
}

/* A stage that has to know the power of the whole sound runs in a pass of its own. */
struct stage_pass_ops {
    enum stage_needs (*needs)(const struct stage *stage);
    /* STAGE_NEEDS_INPUT: before the first step. Errors: the sound is silent, a file. */
    enum status (*settle)(struct stage *stage, const struct stage_power *power);
    /* STAGE_NEEDS_OUTPUT: the factor by which its output is scaled. Errors: it is silent. */
    enum status (*level)(const struct stage *stage, const struct stage_power *power,
                         double *factor);
};

/* Files that a spec names, and the state of a stage. Without a state the last two are NULL. */
struct stage_file_ops {
    /* Whether a word of the spec (NULL-terminated) names a file at or after `from`; and the first
     * one (stage_paths.h). */
    bool (*path_in)(char *const *spec, size_t word, size_t from, struct stage_path *path);
    /* Save the state in a new folder; the option @state=FOLDER loads it. */
    enum status (*save)(struct filter *filter, const char *folder);
    /* Call `found` for each file that a saved state links to and that the spec does not name: the
     * option @reads=FILE does. */
    enum status (*links)(const struct stage *stage, const char *folder,
                         enum status (*found)(void *context, const char *link, const char *target),
                         void *context);
};

/* Live controls besides those of the mix: the control inputs among these ports, and their values by
 * port index. */
struct stage_control_ops {
    const struct plugin_info *(*ports)(const struct stage *stage);
    float (*value)(const struct filter *filter, size_t port);
    void (*set)(struct filter *filter, size_t port, float value); /* real-time */
};

/* A kind of stage. Members that may be NULL say so. */
struct stage_ops {
    const char *option;            /* "mask": the command line says --mask */
    const char *argument;          /* its value, for --help */
    char letter;                   /* short form, or 0 */
    bool is_memoryless;            /* each output frame depends on one input frame alone */
    bool is_file;                  /* the value begins with the name of a file, for completion */
    const char *help;              /* lines for --help */
    const struct option_row *keys; /* for completion, as in options.h; NULL: none of its own */
    const char *(*made_at)(size_t index, const char **keys); /* as in options.h; NULL: none */
    const struct stage_draw *draws; /* what may be drawn (stage_draw.h); NULL: nothing */

    bool has_choices;        /* live, --or adds alternatives: stage_mask.h */
    bool may_fail;           /* in a stream it is bypassed when late, left out when it fails */
    size_t grain;            /* frames: divides any block; 0: no restriction */
    bool one_at_a_time;      /* only one job with such a stage runs at a time in the process */
    const char *no_boundary; /* why --edge cannot be used with it; NULL: it can */

    /* It will be loaded for a sound of `format`: begin what takes long beside that. NULL: nothing
     * does. */
    void (*expect)(const char *text, const struct stage_settings *settings,
                   const struct stream_format *format);
    /* Load a spec, NULL-terminated, for a sound of `format`: sets data, and outputs if other than
     * the inputs. Errors: the spec or a file is wrong. */
    enum status (*load)(struct stage *stage, char **spec, const struct stream_format *format);
    void (*destroy)(void *data); /* takes half-loaded data and NULL. NULL: free */
    /* Preferred block for files, in frames, at most `most`. NULL: any. */
    size_t (*preferred_block)(const struct stage *stage, struct workers *workers, size_t most);
    /* Make the filter, with the latency and tail of the stage. */
    enum status (*create)(struct stage *stage, size_t block, struct workers *workers,
                          struct filter **filter);
    /* Free what only `create` needs; it is not called again. NULL: nothing. */
    void (*discard)(struct stage *stage);

    /* Fill in `info`, which is zero but for a gain of 1. NULL: nothing. */
    void (*describe)(const struct stage *stage, struct stage_info *info);
    /* After a run: print notes; and return a new JSON object, whose members are added to that of
     * the stage. NULL: nothing. */
    void (*report)(const struct stage *stage);
    json_t *(*report_json)(const struct stage *stage);
    /* After the last step of a file: whether the stage did all of it. NULL: it did. Errors: it
     * ended. */
    enum status (*confirm)(struct filter *filter);
    /* After the last step: what was proven, if its settings ask for a proof. NULL: nothing can be.
     */
    void (*prove)(struct filter *filter, struct proof *proof);
    /* The run is repeated, as the latency was higher than the filter reported: store it in
     * stage->latency. NULL: cannot happen. */
    void (*keep_latency)(struct stage *stage);

    const struct stage_pass_ops *passes; /* these three: NULL where there is nothing of it */
    const struct stage_file_ops *files;
    const struct stage_control_ops *controls;
};

/* As files->path_in; false where the kind has no files. */
bool stage_path_in(const struct stage_ops *ops, char *const *spec, size_t word, size_t from,
                   struct stage_path *path);

/* A kind by its option or by index; NULL: none. */
const struct stage_ops *stage_ops_named(const char *option);
const struct stage_ops *stage_ops_at(size_t index);

struct stage_info stage_describe(const struct stage *stage);

enum stage_needs stage_needs(const struct stage *stage);

/* For ops->load: what times of at= count in. */
struct automation_time stage_time(const struct stage *stage);

/* For ops->load. Errors (usage): the caller runs no passes; `what` is the option, "level=". */
MUST_CHECK enum status stage_check_passes(const struct stage_settings *settings, const char *what);

/* The error (usage) of a spec that has at= in a stream. */
enum status stage_refuse_times(void);

struct stage_list {
    enum precision precision;  /* precision of the chain, once loaded */
    uint64_t before;           /* frames that come before those of the sound (render_passes.h) */
    struct plugin_tempo tempo; /* tempo of the first chain file that has one; bpm 0: none */
    bool tempos_differ;        /* another chain file has another */
    size_t count;
    struct stage *stages;
};

/* origin: see struct stage. Errors: memory. */
MUST_CHECK enum status stage_list_add(struct stage_list *list, const struct stage_ops *ops,
                                      const char *text, const char *origin);

/* ops->confirm of all stages. */
MUST_CHECK enum status stage_list_confirm(const struct stage_list *list);

/* A stage of the command line, as number `at` from 0. Errors: memory. */
MUST_CHECK enum status stage_list_insert(struct stage_list *list, size_t at,
                                         const struct stage_ops *ops, const char *text);
void stage_list_free(struct stage_list *list);

/* Copy the specs; nothing is loaded. `copy` is empty before. Errors: memory. */
MUST_CHECK enum status stage_list_copy(const struct stage_list *list, struct stage_list *copy);

/* Whether a job with these stages may run beside others in one process. */
bool stage_list_runs_beside(const struct stage_list *list);

/* Whether frames that are alike in the input are alike in the output. */
bool stage_list_is_memoryless(const struct stage_list *list);

/* Free what was loaded, after the chain is destroyed; measured latencies remain. */
void stage_list_unload(struct stage_list *list);

/* ops->expect of all stages, before they are loaded. */
void stage_list_expect(const struct stage_list *list, const struct stage_settings *settings,
                       const struct stream_format *format);

/* Load all stages for a sound of `format`; its channels and layout become the output's: the layout
 * stays where their number does.
 * Errors: those of the stages. */
MUST_CHECK enum status stage_list_load(struct stage_list *list,
                                       const struct stage_settings *settings,
                                       struct stream_format *format);

/* Load the stages from `first` on, before `end`. The ones before are loaded. */
MUST_CHECK enum status stage_list_load_part(struct stage_list *list,
                                            const struct stage_settings *settings,
                                            struct stream_format *format, size_t first, size_t end);

/* The block that suits all stages, in frames, for a job of `frames`; UINT64_MAX: unknown. `wanted`,
 * or 0, is taken if no stage prefers another. */
size_t stage_list_block(const struct stage_list *list, size_t channels, struct workers *workers,
                        uint64_t frames, size_t wanted);

/* Frames: any block has to be a multiple. */
size_t stage_list_grain(const struct stage_list *list);

/* The precision of a stage whose filter exists: some have single precision only. */
enum precision stage_precision(const struct stage *stage);

enum precision stage_list_precision(const struct stage_list *list); /* the least of all stages */

/* Warn of stages that do not compute in double precision where that was asked for. */
void stage_list_warn_of_precision(const struct stage_list *list);

/* Make the chain, which owns the filters of all stages, in the precision of the settings. */
MUST_CHECK enum status stage_list_create(struct stage_list *list, size_t channels, size_t block,
                                         struct workers *workers, struct filter **chain);

/* ops->discard and ops->keep_latency of all stages. */
void stage_list_discard(struct stage_list *list);
void stage_list_keep_latencies(struct stage_list *list);

/* Controls of the stages of a running chain: for keys, OSC, sliders.
 *
 * A control is a number with a range, default and unit, those of a plugin's port. A stage has the
 * two of a mix if it has one (stage_mix.h): live, plugins and stages given @mix or @bypass. A value
 * reaches the step through atomics and applies from its next block on, with the last value set in a
 * block; the mix ramps, a plugin's port changes at once or as the plugin smooths it. Threads: one
 * control thread, while the step runs; real-time functions may also be called by the step before
 * its block, so that the frame of a change is known. Nothing here waits or allocates.
 */

struct stage_control {
    enum stage_control_kind kind;
    size_t stage;                   /* its index in the list */
    const struct plugin_port *port; /* symbol ("gain", "@mix"), scale points, steps */
    size_t port_index;              /* port of a plugin */
    struct plugin_range range;
    float value; /* the value that was set last */
};

/* Control `index` of all stages, in order; false past the last. The chain of the list exists. */
bool stage_controls_at(const struct stage_list *list, size_t index, struct stage_control *control);

/* By stage and symbol, or as plugin_spec_port finds a port. Errors (usage): no such control; the
 * message lists those of the stage. */
MUST_CHECK enum status stage_controls_find(const struct stage_list *list, size_t stage,
                                           const char *name, struct stage_control *control);

/* Parse a value ("-6dB", "on", "Lowpass"). Errors (usage): invalid value. */
MUST_CHECK enum status stage_controls_parse(const struct stage_list *list,
                                            const struct stage_control *control, const char *text,
                                            float *value);

/* Clamp a value to the range of the control. */
float stage_controls_fit(const struct stage_control *control, double value);

/* Real-time. Uses only kind, stage and port_index of the control. */
void stage_controls_set(const struct stage_list *list, const struct stage_control *control,
                        float value);

#endif
