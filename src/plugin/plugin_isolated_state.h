/* struct isolated_instances, for its set-up (plugin_isolated_instances.c) and its step
 * (plugin_isolated_step.c). */
#ifndef HALO_PLUGIN_ISOLATED_STATE_H
#define HALO_PLUGIN_ISOLATED_STATE_H

#include "plugin/plugin_child.h"
#include "plugin/plugin_isolated.h"
#include "plugin/plugin_isolated_instances.h"

struct isolated_instances {
    struct plugin_instances instances;
    struct isolated_memory memory;
    struct plugin_child *child;
    struct plugin_sandbox_pass pass;
    struct plugin_reads reads; /* of the child */
    unsigned saves;
    double patience;       /* seconds, for a block */
    double order_patience; /* for other orders */
    uint32_t posted;       /* orders */
    uint64_t frames;       /* of pieces, since the last reset */
    bool overwritten;      /* the plugin has changed the count of answers */
    bool given_up;         /* a signal came while an order was pending */
    bool takes_turns;      /* with the child, on one processor */
    int64_t spin;          /* ns, before it sleeps */
    unsigned rest;         /* pieces that are not waited for after the next late one */
    unsigned resting;      /* of these, those to come */
    size_t kept_count;
    struct plugin_change *kept; /* of pieces that were not posted; one for each port */
    float *values;
    struct plugin_run *runs;
};

/* Real-time. Begin the next order, for the caller to fill in, and hand it to the child. */
struct isolated_piece isolated_begin(const struct isolated_instances *isolated,
                                     enum isolated_what what);
void isolated_post(struct isolated_instances *isolated);

/* Real-time. Why no more answers come: how the process ended, or that the plugin has overwritten
 * their count; NULL: they come. */
const char *isolated_end(const struct isolated_instances *isolated);

/* Real-time. Only the last change of each port at each frame stays. */
void isolated_add_changes(const struct isolated_instances *isolated, struct isolated_piece *piece,
                          const struct plugin_change *changes, size_t count);

/* Real-time. What the child reports of a run: a copy with a valid latency. */
struct plugin_run isolated_run(const struct isolated_piece *piece, size_t index);

/* The process of isolated instances. */
void isolated_process(struct plugin_instances *instances, const float *const *in, float *const *out,
                      size_t frames, const struct plugin_change *changes, size_t count);

#endif
