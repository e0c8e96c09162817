/* struct plugin_filter, for its set-up (plugin_filter.c) and its step (plugin_filter_step.c). */
#ifndef HALO_PLUGIN_FILTER_STATE_H
#define HALO_PLUGIN_FILTER_STATE_H

#include "plugin/plugin_filter.h"
#include "plugin/plugin_instances.h"
#include "signal/audio.h"

#include <stdatomic.h>

struct plugin_filter {
    struct filter filter;
    struct plugin_filter_settings settings;
    struct plugin_instances *instances;
    bool reports_latency;
    struct { /* keeps the sound in its place while the latency of the plugin changes */
        size_t latency;
        struct block ring; /* pending output; none where the latency is 0 */
        size_t at;         /* of the next frame to output */
    } align;
    struct plugin_latency latency; /* found so far */
    bool settled;                  /* the plugin has reported latency.settled */
    size_t prelude;                /* frames of silence to process before the sound */
    struct block aside;            /* output of the prelude */
    bool exact;                    /* values change at their frame, and not at the next block */
    bool changed;                  /* a value has changed since the beginning */
    size_t piece;                  /* frames that the instances get at a time, at most */
    struct block nothing;          /* a piece of silence */
    struct block side;             /* a piece of settings.side */
    const float **in;              /* of a piece, for all inputs of the instances */
    float **out;

    float *values; /* by port, as the plugin has them */
    struct plugin_change *changes;
    size_t change_count;
    uint64_t position; /* frames of input so far */
    size_t next;       /* first point of the automation that is not done */
    struct plugin_point_state {
        bool begun; /* `from` is valid */
        bool done;
        float from; /* where a ramp starts */
    } *points;      /* by point */

    _Atomic float *requested; /* by port */
    _Atomic bool has_request; /* one of them is new */

    uint64_t bad;
    bool absurd;        /* it made a sample that is none: silence from this block on */
    bool reported_late; /* live: a late block has been reported */
    char failure[300];
    char notice[200];
};

/* Real-time: the filter's process. */
void plugin_filter_process(struct filter *filter, const float *const *in, float *const *out);

/* Run the instances on the silence before the sound. */
void plugin_filter_play_prelude(struct plugin_filter *plugin);

#endif
