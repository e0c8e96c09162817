/* The user's words for stages -> filters. This file's table knows every kind.
 *
 *   --mask hall.wav,gain=-6,channel=1        --gain -3        --lv2 URI,drive=3,@mix=0.5
 *
 * Words are separated by commas; `\,` is a comma. The first is the stage's
 * value, the others are its options, key=value; those of stage_mix.h are for all.
 */
#ifndef HALO_SPECS_H
#define HALO_SPECS_H

#include "base/status.h"
#include "base/workers.h"
#include "chain/stage_mix.h"
#include "convolve/convolver.h"
#include "mask/mask.h"
#include "plugin/plugin_filter.h"
#include "signal/audio.h"
#include "sound/filter.h"

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

/* A stage's words, NULL-terminated, in one allocation; NULL: memory. */
char **specs_split(const char *text);

struct stage;
struct stage_plugin;
struct stage_spectral;
struct stage_kind {
    const char *option;   /* "mask": the command line says --mask */
    const char *argument; /* its value, for --help */
    const char *help;     /* lines for --help */
    /* Load what `words` name for a sound of `format`; sets stage->outputs. */
    enum status (*load)(struct stage *stage, char **spec, const struct stream_format *format,
                        const struct stage_settings *settings);
    /* Frames a file should be filtered in at a time, at most `most`; 0: any. */
    size_t (*preferred_block)(const struct stage *stage, struct workers *workers, size_t most);
    enum status (*create)(struct stage *stage, size_t block, struct workers *workers,
                          struct filter **filter);
};

struct stage {
    const struct stage_kind *kind;
    char *text;   /* the user's words */
    char *origin; /* where they stand, for what is wrong with them; NULL: the command line */
    struct convolver_settings convolver;
    size_t inputs;
    size_t outputs;
    uint32_t rate;
    bool live;
    bool streamed;
    bool replayed;
    bool held_back;
    struct mask *mask;               /* of a mask stage */
    double factor;                   /* of a gain stage, linear */
    struct automation automation;    /* likewise, of the factor */
    struct stage_plugin *plugin;     /* of a plugin's stage */
    struct plugin_latency latency;   /* of a plugin, known from an earlier run */
    struct stage_spectral *spectral; /* of a spectral stage */
    struct stage_mix_spec mix;
    uint64_t before;       /* frames that the stages before make the sound late */
    uint64_t tail_before;  /* and longer */
    bool tail_unknown;     /* it may be longer than that */
    struct filter *filter; /* once created; the chain's, or in `mixed` */
    struct filter *mixed;  /* what the chain has, where the stage has a mix; else NULL */
};

struct stage_list {
    size_t count;
    struct stage *stages;
};

/* The kind behind an option's name, or NULL; kinds by index, NULL past the last. */
const struct stage_kind *stage_kind_named(const char *option);
const struct stage_kind *stage_kind_at(size_t index);

/* origin: see struct stage. Errors: memory. */
MUST_CHECK enum status stage_list_add(struct stage_list *list, const struct stage_kind *kind,
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

#endif
