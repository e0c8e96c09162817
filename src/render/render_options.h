/* The options of halo render. */
#ifndef HALO_RENDER_OPTIONS_H
#define HALO_RENDER_OPTIONS_H

#include "chain/chain_options.h"
#include "chain/report.h"
#include "sound/engine.h"
#include "sound/port.h"

extern const struct command command_render;

struct render_options {
    struct chain_options chain;
    const char *input;
    const char *output;
    bool output_given;      /* as an option, not an argument */
    const char *save_chain; /* NULL: not saved */
    bool collect;           /* copy the files that it names */
    const char *replay;     /* a log; NULL: none */
    const char *layout;     /* of the input; NULL: that of its file */
    const char *channel;    /* of the input, a list; NULL: all */
    uint32_t rate;          /* of the output; 0: that of the input */
    double quality;         /* of the encoder, 1 to 11; 0: its own */
    struct sound_format_request request;
    struct sound_part part; /* of the input */
    bool duration_given, end_given;
    enum boundary boundary;
    enum tail tail;
    double until; /* a level, linear, or seconds: as in engine.h */
    bool tail_given;
    bool normalize;
    bool to_loudness; /* to normalize to LUFS, */
    double level;     /* else to a peak of dBFS */
    enum dither dither;
    const char *metadata; /* keep, none or a file of JSON */
    size_t block;         /* frames; 0: chosen by the masks */
    struct proof_options proof;
    size_t seed; /* for what stages and jobs draw (stage_draw.h) */
    bool force;
    bool json;
    enum verbosity verbosity;
    const struct output_record *record; /* of the output (atomic_file.h); NULL: none */
    const char *out_dir;                /* for many inputs; NULL: one */
    const char *name;                   /* of their outputs (output_names.h) */
    struct string_list more;            /* arguments after the first two */
};
extern const struct option_row render_options_sound_rows[]; /* what the output is */

/* Rows for many outputs, which each command explains as it uses them. */
#define OPT_OUT_DIR(type, member, help)                                                            \
    OPT_FILE("out-dir", "DIR", type, member, help, .letter = 'O')
#define OPT_OUT_NAME(type, member, help) OPT_STRING("name", "PATTERN", type, member, help)
#define OPT_SEED(type, member, help) OPT_INTEGER("seed", "N", type, member, 0, UINT32_MAX, help)

#define RENDER_OPTIONS_DEFAULTS                                                                    \
    {.chain = CHAIN_OPTIONS_DEFAULTS,                                                              \
     .metadata = "keep",                                                                           \
     .dither = DITHER_AUTO,                                                                        \
     .proof = PROOF_OPTIONS_DEFAULTS,                                                              \
     .verbosity = VERBOSITY_NORMAL}

/* Check that the options are consistent. Errors: usage. */
MUST_CHECK enum status render_options_check(struct render_options *options);

/* The same without arguments and outputs: of a job. */
MUST_CHECK enum status render_options_check_job(struct render_options *options);

/* Options of its own for a job: the same, with no stage loaded. To be freed by
 * render_options_free. Errors: memory. */
MUST_CHECK enum status render_options_copy(const struct render_options *options,
                                           struct render_options *copy);
void render_options_free(struct render_options *options);

/* halo render, with a struct render_options (render_run.c). */
MUST_CHECK enum status render_run(void *options);

#endif
