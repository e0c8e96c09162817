/* The state of a running stream at one moment.
 *
 * The control thread fills one in about 20 times a second, for a view (view.h) and for OSC
 * subscribers (osc.h). What it points to must stay valid during the call only.
 * Units: meters linear, 1 is full scale; gains and levels in dB; latencies in frames.
 */
#ifndef HALO_LIVE_STATUS_H
#define HALO_LIVE_STATUS_H

#include "signal/meter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The control of a stage that keys change; all zero: none. */
struct live_status_control {
    const char *text;   /* "2 eg-amp gain -6 dB" */
    size_t stage;       /* from 1 */
    const char *symbol; /* "gain", "@mix" */
    double value;
    bool bypassed; /* the stage is */
    bool failed;   /* the stage failed and is left out */
};

struct live_status {
    const char *command; /* "halo live"; NULL: "halo" */
    double seconds;      /* of sound so far */
    uint64_t frames;
    uint32_t rate;
    size_t block;       /* frames */
    const char *device; /* "JACK: system -> system" */
    const char *place;  /* what it plays, and where: "voice.wav 0:03.2/0:05.0"; NULL: an input */

    size_t inputs, outputs;
    const struct meter_reading *in, *out; /* `inputs` and `outputs` of them */

    size_t choices;           /* 0: no list is shown */
    const char *const *names; /* of the choices, names[0] that of choice 1 */
    size_t chosen;            /* 0: dry; 1..choices */
    bool without_dry;         /* the dry signal is not listed */
    bool switching;           /* to `chosen`, which does not sound alone yet */
    bool hidden;              /* blind: nothing may reveal which choice sounds */

    const char *preset;        /* that is heard, or NULL */
    const char *coming_preset; /* that is being prepared, or NULL */

    struct live_status_control control;
    double gain_db;
    bool muted;
    bool feedback_seen;  /* the feedback detector muted the output */
    double reduction_db; /* by the limiter now: 0, or below */
    double ceiling_db;   /* the limiter's */

    double load_now, load_p99, load_worst; /* of the period, 1 = all of it */
    uint64_t late, lost;                   /* blocks */
    size_t latency_input, latency_mask, latency_plugins, latency_output;
    size_t latency_adapter;
    bool has_bridge; /* input and output have two clocks: the next two are known */
    size_t latency_bridge;
    double ratio_ppm;    /* the input's clock is faster than the output's */
    const char *backend; /* what the convolver runs on, or NULL */

    const char *recording; /* path, or NULL: none is made */
    double recorded;       /* seconds */

    uint64_t osc_refused; /* ignored packets and messages */

    const char *const *lines; /* more text: trials, plots; UTF-8 */
    size_t line_count;
    size_t question_lines; /* the first of them: what the listener has to answer, before all else */
    const char *keys;      /* help line: "1-9 choose  space dry  q leave" */
};

/* Total, from input to output. */
static inline size_t live_status_latency(const struct live_status *status)
{
    return status->latency_input + status->latency_mask + status->latency_plugins +
           status->latency_output + status->latency_adapter + status->latency_bridge;
}

#endif
