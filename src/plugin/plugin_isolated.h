/* A instances of plugins in a child process: what its set-up and its step share, and the child.
 *
 * In files a piece is posted and waited for. Live, the step posts a piece and hands out the one
 * before, if that is done: pieces are all of `most` frames, which is the delay. The child may be
 * some behind and catch up, while there is silence; where it is too far behind, a piece does not
 * reach it.
 */
#ifndef HALO_PLUGIN_ISOLATED_H
#define HALO_PLUGIN_ISOLATED_H

#include "plugin/plugin_isolated_memory.h"
#include "plugin/plugin_child.h"

struct isolated_instances {
    struct plugin_instances instances;
    struct isolated_memory memory;
    struct plugin_child *child;
    double patience;       /* seconds, for a block */
    double order_patience; /* for all else */
    uint32_t posted;       /* orders */
    bool given_up;         /* a signal came while an order was out */
    bool has_begun;        /* live: there was a piece */
    bool has_last;         /* live: the last piece reached the child */
    size_t kept_count;
    struct plugin_change *kept; /* live: of pieces that did not reach the child; one a port */
    float *values;
    uint64_t *latencies;
};

/* Real-time where the instances is live. */
void isolated_process_live(struct plugin_instances *instances, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count);
void isolated_process_file(struct plugin_instances *instances, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count);

/* Begin the next order; what it holds is the caller's to fill in. Real-time. */
struct isolated_piece isolated_begin(const struct isolated_instances *isolated, enum isolated_what what);

/* Add to its changes: the last of each port in each block is kept. Real-time. */
void isolated_add_changes(const struct isolated_instances *isolated, struct isolated_piece *piece,
                            const struct plugin_change *changes, size_t count);

/* Real-time. */
void isolated_post(struct isolated_instances *isolated);

/* Wait until all orders are done. False: the child ended, or a signal came. */
bool isolated_wait(struct isolated_instances *isolated);

/* The command "plugin-instances", which halo starts itself: the child. */
MUST_CHECK enum status plugin_instances_serve(int argc, char **argv);

#endif
