/* The words of halo render. */
#ifndef HALO_RENDER_OPTIONS_H
#define HALO_RENDER_OPTIONS_H

#include "base/status.h"
#include "chain/chain_options.h"
#include "sound/engine.h"
#include "sound/port.h"

struct render_options {
    struct chain_options chain; /* first: see there */
    const char *input;
    const char *output;
    const char *save_chain; /* NULL: nowhere */
    const char *replay;     /* a log; NULL: none */
    struct sound_format_request request;
    enum boundary boundary;
    enum tail tail;
    double until; /* linear */
    bool tail_given;
    bool normalize;
    double peak; /* linear, to normalize to */
    bool dither;
    size_t block; /* frames; 0: the masks' wish */
    bool force;
    bool json;
    bool help;
    enum verbosity verbosity;
};

/* Read the command line; argv[0] is "render". Errors: wrong usage. Free in any case. */
MUST_CHECK enum status render_options_parse(struct render_options *options, int argc, char **argv);
void render_options_free(struct render_options *options);

void render_options_print_help(void);

#endif
