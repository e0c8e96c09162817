/* The words of halo live. */
#ifndef HALO_LIVE_OPTIONS_H
#define HALO_LIVE_OPTIONS_H

#include "live/play_options.h"

struct live_options {
    struct play_options play;
    bool muted;
    bool guard; /* against howls */
    bool watch;
    bool reconnect;
    const char *record;
    const char *record_dry;
    bool osc;
    size_t osc_port;
};

extern const struct command command_live;

/* What goes together. Errors: usage. */
MUST_CHECK enum status live_options_check(struct live_options *options);

/* halo live, with a struct live_options (cmd_live.c). */
MUST_CHECK enum status live_run(void *options);

#endif
