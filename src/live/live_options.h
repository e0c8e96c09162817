/* The words of halo live. */
#ifndef HALO_LIVE_OPTIONS_H
#define HALO_LIVE_OPTIONS_H

#include "live/play_options.h"

struct live_options {
    struct play_options play; /* first: see there */
    bool muted;
    bool guard; /* against howls */
    bool watch;
    bool reconnect;
    const char *record;
    const char *record_dry;
    bool osc;
    size_t osc_port;
};

/* Read the command line; argv[0] is "live". Errors: wrong usage. Free in any case. */
MUST_CHECK enum status live_options_parse(struct live_options *options, int argc, char **argv);
void live_options_free(struct live_options *options);

void live_options_print_help(void);

#endif
