/* The options of halo live. */
#ifndef HALO_LIVE_OPTIONS_H
#define HALO_LIVE_OPTIONS_H

#include "live/play_options.h"

struct live_options {
    struct play_options play;
    bool muted;
    bool guard; /* against feedback */
    bool watch;
    bool reconnect;
    const char *record;
    const char *record_dry;
    bool osc;
    size_t osc_port;
    struct proof_options proof;
};

extern const struct command command_live;

#endif
