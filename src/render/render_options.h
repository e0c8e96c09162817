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
    bool output_given;      /* `output` was given as an option, not as an argument */
    const char *save_chain; /* NULL: not saved */
    bool collect;           /* copy the files that the saved chain names */
    const char *replay;     /* log of a live recording to render again; NULL: none */
    const char *layout;     /* layout of the input; NULL: the layout in its file */
    const char *channel;    /* list of channels of the input; NULL: all */
    uint32_t rate;          /* rate of the output, Hz; 0: the rate of the input */
    double quality;         /* quality of the encoder, 1 to 11; 0: the encoder's default */
    struct sound_format_request request;
    struct sound_part part; /* part of the input to render */
    bool duration_given, end_given;
    enum boundary boundary;
    enum tail tail;
    double until; /* linear level or seconds, as in engine.h */
    bool tail_given;
    bool normalize;
    bool to_loudness; /* normalize the loudness; false: the peak */
    double level;     /* level to normalize to: LUFS or dBFS */
    enum dither dither;
    const char *metadata; /* "keep", "none" or the path of a JSON file */
    size_t block;         /* frames; 0: the stages choose */
    struct proof_options proof;
    size_t seed; /* seed for values drawn at random (stage_draw.h) */
    bool force;
    bool json;
    enum verbosity verbosity;
    const struct output_record *record; /* keeps a record of the output (atomic_file.h); or NULL */
    const char *out_dir;                /* folder for the outputs of many inputs; NULL: one input */
    const char *name;                   /* pattern for the names of many outputs (output_names.h) */
    struct string_list more;            /* arguments after the first two */
};
extern const struct option_row render_options_sound_rows[]; /* options about the output's sound */

/* Option rows for many outputs. Each command passes its own help text. */
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

/* Check that the options are consistent. Errors (usage): they are not. */
MUST_CHECK enum status render_options_check(struct render_options *options);

/* render_options_check() for a job: without checks of arguments and outputs. */
MUST_CHECK enum status render_options_check_job(struct render_options *options);

/* Copy options for a job, with no stage loaded. Free by render_options_free. Errors: memory. */
MUST_CHECK enum status render_options_copy(const struct render_options *options,
                                           struct render_options *copy);
void render_options_free(struct render_options *options);

/* halo render, with a struct render_options (render_run.c). */
MUST_CHECK enum status render_run(void *options);

#endif
