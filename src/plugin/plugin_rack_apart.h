/* A rack of plugins in a child process: what its set-up and its step share, and the child.
 *
 * In files a piece is posted and waited for. Live, the step posts a piece and hands out the one
 * before, if that is done: pieces are all of `most` frames, which is the delay. The child may be
 * some behind and catch up, while there is silence; where it is too far behind, a piece does not
 * reach it.
 */
#ifndef HALO_PLUGIN_RACK_APART_H
#define HALO_PLUGIN_RACK_APART_H

#include "plugin/plugin_apart_memory.h"
#include "plugin/plugin_child.h"

struct rack_apart {
    struct plugin_rack rack;
    struct apart_memory memory;
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

/* Real-time where the rack is live. */
void rack_apart_process_live(struct plugin_rack *rack, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count);
void rack_apart_process_file(struct plugin_rack *rack, const float *const *in, float *const *out,
                             size_t frames, const struct plugin_change *changes, size_t count);

/* Begin the next order; what it holds is the caller's to fill in. Real-time. */
struct apart_piece rack_apart_begin(const struct rack_apart *apart, enum apart_what what);

/* Add to its changes: the last of each port in each block is kept. Real-time. */
void rack_apart_add_changes(const struct rack_apart *apart, struct apart_piece *piece,
                            const struct plugin_change *changes, size_t count);

/* Real-time. */
void rack_apart_post(struct rack_apart *apart);

/* Wait until all orders are done. False: the child ended, or a signal came. */
bool rack_apart_wait(struct rack_apart *apart);

/* The command "plugin-rack", which halo starts itself: the child. */
MUST_CHECK enum status plugin_rack_serve(int argc, char **argv);

#endif
