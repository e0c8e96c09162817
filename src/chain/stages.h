/* The stages of a chain: mask, gain, plugin, ... from the user's args to filters.
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
#include "chain/stage_mix.h"
#include "convolve/convolver.h"
#include "mask/mask.h"
#include "plugin/plugin_filter.h"
#include "signal/audio.h"
#include "sound/filter.h"

#include <jansson.h>

enum { STAGE_KINDS_MOST = 16 };

enum isolate { ISOLATE_AUTO, ISOLATE_ON, ISOLATE_OFF };

/* What holds for every stage of a command. */
struct stage_settings {
    enum mask_align align;
    struct convolver_settings convolver; /* of masks; block and workers are filled in */
    bool allow_truncated;
    bool streamed;        /* blocks are a device's periods, also where they are replayed */
    enum isolate isolate; /* plugins in processes of their own; auto: in files */
    bool replayed;        /* what was live once: plugins have no prelude, as then */
    bool held_back;       /* plugins come a block late, as those in processes of their own did
                             when this was live: in replays */
};

struct stage {
    const struct stage_ops *ops;
    void *data;   /* what ops->load made, for ops->destroy; NULL: nothing */
    char *text;   /* its spec */
    char *origin; /* where it stands, for what is wrong with it; NULL: the command line */
    struct stage_settings settings;
    size_t inputs;
    size_t outputs;
    uint32_t rate;
    bool automated; /* its spec has at= */
    struct stage_mix_spec mix;
    struct plugin_latency latency; /* known from an earlier run */
    uint64_t before;               /* frames that the stages before make the sound late */
    uint64_t tail_before;          /* and longer */
    bool tail_unknown;             /* it may be longer than that */
    struct filter *filter;         /* once created; the chain's, or in `mixed` */
    struct filter *mixed;          /* what the chain has, where the stage has a mix; else NULL */
};

/* What a loaded stage says of itself. The last three need its filter. */
struct stage_info {
    const char *id;   /* its plugin's; NULL: the option's name says it */
    const char *name; /* for people; NULL: it has none */
    size_t taps;      /* of its mask; 0: it has none */
    double gain;      /* linear, by which it scales any sound; NAN: it does more than that */
    bool keeps_state; /* beside its spec: ops->save */
    bool isolated;    /* runs in a process of its own */
    const char *backend;
    const char *algorithm;
    uint64_t gpu_failures;
};

/* A kind of stage. What may be NULL says so. */
struct stage_ops {
    const char *option;   /* "mask": the command line says --mask */
    const char *argument; /* its value, for --help */
    const char *help;     /* lines for --help */

    bool has_choices;    /* live, --or names others to switch to: stage_mask.h */
    bool may_fail;       /* in a stream it may be late or fail, and is left out then */
    size_t grain;        /* frames: any block that this divides will do; 0: any at all */
    const char *no_boundary; /* why --edge does not go with it; NULL: it does */

    /* Load what `words` name, NULL-terminated, for a sound of `format`: sets data, and outputs
     * where they are not the inputs. Errors: whatever is wrong with them. */
    enum status (*load)(struct stage *stage, char **spec, const struct stream_format *format);
    void (*destroy)(void *data); /* half-loaded, or NULL, too. NULL: free */
    /* Frames a file should be filtered in at a time, at most `most`. NULL: any. */
    size_t (*preferred_block)(const struct stage *stage, struct workers *workers, size_t most);
    /* The filter, whose latency and tail are the stage's. */
    enum status (*create)(struct stage *stage, size_t block, struct workers *workers,
                          struct filter **filter);
    /* Free what only `create` needs: it will not be called again. NULL: nothing. */
    void (*discard)(struct stage *stage);

    /* Fill in what it has: all is zero before, but a gain of 1. NULL: nothing. */
    void (*describe)(const struct stage *stage, struct stage_info *info);
    /* After a run: what a person should know, by note(); and an object, the caller's, whose members
     * stand in the stage's of a report. NULL: nothing. */
    void (*report)(const struct stage *stage);
    json_t *(*report_json)(const struct stage *stage);
    /* The run is given up, since the sound came later than the filter said: keep in
     * stage->latency what it showed for the next one. NULL: that cannot be. */
    void (*keep_latency)(struct stage *stage);

    /* Where a path begins in word `index` of a spec; NULL: it has none. *perhaps becomes true
     * where it is one only if there is such a file. NULL: no word names a file. */
    const char *(*path_in)(const char *word, size_t index, bool *perhaps);
    /* Write the state into a new folder; the word @state=FOLDER of a spec loads it. */
    enum status (*save)(const struct stage *stage, const char *folder);

    /* Live controls (stage_controls.h) beside those of its mix: the control inputs among some
     * ports, and their values by the ports' indices; control_set is real-time. NULL: none. */
    const struct plugin_info *(*controls)(const struct stage *stage);
    float (*control_value)(const struct stage *stage, size_t port);
    void (*control_set)(const struct stage *stage, size_t port, float value);
};

/* The kind behind an option's name, or NULL; kinds by index, NULL past the last. */
const struct stage_ops *stage_ops_named(const char *option);
const struct stage_ops *stage_ops_at(size_t index);

/* A spec's words, NULL-terminated, in one allocation; NULL: memory. */
char **spec_split(const char *text);

struct stage_info stage_describe(const struct stage *stage);

struct stage_list {
    size_t count;
    struct stage *stages;
};

/* origin: see struct stage. Errors: memory. */
MUST_CHECK enum status stage_list_add(struct stage_list *list, const struct stage_ops *ops,
                                      const char *text, const char *origin);
void stage_list_free(struct stage_list *list);

/* Forget what was loaded and created, after the chain is gone: as stage_list_add left it, but for
 * latencies that were found out. */
void stage_list_unload(struct stage_list *list);

/* Load all stages for a sound of `format`; its channels become the output's.
 * Errors: whatever a stage finds wrong. */
MUST_CHECK enum status stage_list_load(struct stage_list *list,
                                       const struct stage_settings *settings,
                                       struct stream_format *format);

/* The block that suits all stages, in frames, for `most` frames of sound at a time. */
size_t stage_list_block(const struct stage_list *list, size_t channels, struct workers *workers,
                        uint64_t most);

/* The chain of all stages' filters; it owns them. */
MUST_CHECK enum status stage_list_create(struct stage_list *list, size_t channels, size_t block,
                                         struct workers *workers, struct filter **chain);

/* ops->discard and ops->keep_latency of all stages. */
void stage_list_discard(struct stage_list *list);
void stage_list_keep_latencies(struct stage_list *list);

#endif
