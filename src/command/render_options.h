/* The options of halo render. */
#ifndef HALO_RENDER_OPTIONS_H
#define HALO_RENDER_OPTIONS_H

#include "chain/chain_options.h"
#include "chain/proof_report.h"
#include "sound/engine.h"
#include "sound/port.h"

struct render_options {
    struct chain_options chain;
    const char *input;
    const char *output;
    const char *save_chain; /* NULL: not saved */
    bool collect;           /* copy the files that it names */
    const char *replay;     /* a log; NULL: none */
    struct sound_format_request request;
    enum boundary boundary;
    enum tail tail;
    double until; /* linear */
    bool tail_given;
    bool normalize;
    double peak_db; /* to normalize to */
    bool dither;
    size_t block; /* frames; 0: chosen by the masks */
    struct proof_options proof;
    bool force;
    bool json;
    enum verbosity verbosity;
};

/* Check that the options are consistent. Errors: usage. */
MUST_CHECK enum status render_options_check(struct render_options *options);

/* halo render, with a struct render_options (cmd_render.c). */
MUST_CHECK enum status render_run(void *options);

#endif
