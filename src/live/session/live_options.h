/* The options of halo live. */
#ifndef HALO_LIVE_OPTIONS_H
#define HALO_LIVE_OPTIONS_H

#include "live/session/play_options.h"

enum { LIVE_FOR_DEVICE_MOST = 16 };

struct live_options {
    struct play_options play;
    const char *for_device[LIVE_FOR_DEVICE_MOST]; /* rules, which are valid */
    size_t for_device_count;
    bool muted;
    bool guard; /* against feedback */
    bool watch;
    bool reconnect;
    bool check; /* instead of running */
    const char *record;
    const char *record_dry;
    bool osc;
    size_t osc_port;
    const char *to;   /* name of the halo live that --send sends to, or NULL */
    const char *send; /* a command to another halo live, instead of running */
    struct proof_options proof;
    const char *preset;      /* to begin with */
    const char *save_preset; /* the name for what it begins with */
    bool resume;             /* with the preset last used */
};

extern const struct command command_live;

/* ---- live_device.c ---- */

MUST_CHECK enum status live_for_device_parse(void *options, const struct option_row *row,
                                             const char *value);

#endif
