/* The options of halo live. */
#ifndef HALO_LIVE_OPTIONS_H
#define HALO_LIVE_OPTIONS_H

#include "live/session/play_options.h"
#include "live/web/live_web.h"

enum { LIVE_FOR_DEVICE_MOST = 16 };

struct live_options {
    struct play_options play;
    const char *for_device[LIVE_FOR_DEVICE_MOST]; /* rules NAME=WHAT; they are valid */
    size_t for_device_count;
    struct live_web_options web;
    bool muted;
    bool guard; /* use a feedback guard */
    bool watch;
    bool reconnect;
    bool check; /* check the chain and end */
    const char *record;
    const char *record_dry;
    bool osc;
    size_t osc_port;
    const char *to;   /* name of the halo live that `send` is for, or NULL */
    const char *send; /* command to send to another halo live; NULL: run */
    struct proof_options proof;
    const char *preset;      /* name of the preset to begin with, or NULL */
    const char *save_preset; /* name to save the initial chain as, or NULL */
    bool resume;             /* begin with the preset last used */
};

extern const struct command command_live;

/* ---- live_device.c ---- */

MUST_CHECK enum status live_for_device_parse(void *options, const struct option_row *row,
                                             const char *value);

#endif
