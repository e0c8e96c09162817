/* What a plugin's filter consists of, shared by its set-up (plugin_filter.c) and its step
 * (plugin_filter_step.c) alone. */
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
        struct block ring; /* what is still to go out; none where the latency is 0 */
        size_t at;         /* of the next frame that goes out */
    } align;
    struct plugin_latency latency; /* as it turned out */
    bool settled;                  /* it has told that */
    size_t prelude;                /* frames of silence that it hears before the sound */
    struct block aside;            /* what it makes of that */
    bool changed;                  /* a value has, since the beginning */
    size_t piece;                  /* frames that the instances gets at a time, at most */
    struct block nothing;          /* a piece of silence */
    const float **in;              /* of a piece, for all inputs of the instances */
    float **out;

    float *values; /* by port, as the plugin was last told */
    struct plugin_change *changes;
    size_t change_count;
    uint64_t position; /* frames that came in */
    size_t next;       /* point of the automation: those before it are done */
    bool *begun;       /* by point: from[] is known */
    bool *done;        /* by point */
    float *from;       /* by point: where a ramp starts */

    _Atomic float *wanted; /* by port */
    _Atomic bool asked;    /* one of them is new */

    uint64_t bad;
    bool reported_late; /* of its blocks, live */
    char failure[200];
    char notice[200];
};

/* Real-time: the filter's process. */
void plugin_filter_process(struct filter *filter, const float *const *in, float *const *out);

/* The instances hears the silence that it hears before the sound. */
void plugin_filter_play_prelude(struct plugin_filter *plugin);

#endif
