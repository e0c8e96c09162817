/* The picture of a running stream: what there is to tell about it at one moment.
 *
 * Made by the control thread about 20 times a second and shown by a view (view.h), or sent
 * to whoever listens from outside (osc.h). Everything it points to is its maker's and need
 * only live through the call.
 * Units: meters linear, 1 is full scale; gains and levels in dB; latencies in frames.
 */
#ifndef HALO_LIVE_STATUS_H
#define HALO_LIVE_STATUS_H

#include "signal/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A control of a stage, that keys change; all zero: there is none. */
struct live_status_control {
    const char *text;   /* "2 eg-amp gain -6 dB" */
    size_t stage;       /* from 1 */
    const char *symbol; /* "gain", "@mix" */
    double value;
    bool bypassed; /* the stage is */
    bool failed;   /* the stage has, and is left out */
};

struct live_status {
    const char *command; /* "halo live"; NULL: "halo" */
    double seconds;      /* the stream has run */
    uint64_t frames;
    uint32_t rate;
    size_t block;       /* frames */
    const char *device; /* "JACK: system -> system" */

    size_t inputs, outputs;
    const struct meter_reading *in, *out; /* `inputs` and `outputs` of them */

    size_t choices;           /* 0: nothing to choose from; no list is shown */
    const char *const *names; /* of the choices, names[0] that of choice 1 */
    size_t chosen;            /* 0: dry; 1..choices */
    bool without_dry;         /* the dry signal is no choice here: it is not listed */
    bool switching;           /* a choice was asked for and does not sound alone yet */
    bool hidden;              /* blind: nothing may tell which choice sounds */

    struct live_status_control control;
    double gain_db;
    bool muted;
    bool fed_back;       /* the feedback detector muted the output */
    double reduction_db; /* by the limiter now: 0, or below */
    double ceiling_db;   /* the limiter's */

    double load_now, load_p99, load_worst; /* of the period, 1 = all of it */
    uint64_t late, lost;                   /* blocks */
    size_t latency_input, latency_mask, latency_plugins, latency_output;
    size_t latency_adapter;
    const char *backend; /* what the convolver runs on, or NULL */

    const char *recording; /* path, or NULL: none is made */
    double recorded;       /* seconds */

    uint64_t osc_refused; /* packets and messages that were ignored */

    const char *const *lines; /* more text of the command's own: trials, plots; UTF-8 */
    size_t line_count;
    const char *keys; /* what the keys do, in a line: "1-9 choose  space dry  q leave" */
};

/* In all, from the sound's arrival to its leaving. */
static inline size_t live_status_latency(const struct live_status *status)
{
    return status->latency_input + status->latency_mask + status->latency_plugins +
           status->latency_output + status->latency_adapter;
}

#endif
