/* Keeps the sound of a plugin in its place while the plugin's own latency changes.
 *
 * What comes `told` frames late goes out `latency` frames late, whatever was told before. Where
 * the plugin's latency becomes shorter, it leaves out as many frames; there silence comes.
 * Threads: one. plugin_align_process is real-time.
 */
#ifndef HALO_PLUGIN_ALIGN_H
#define HALO_PLUGIN_ALIGN_H

#include "signal/audio.h"

struct plugin_align {
    size_t latency;
    struct block ring; /* what is still to go out; none where the latency is 0 */
    size_t at;         /* of the next frame that goes out */
};

/* For pieces of up to `block` frames. Errors: memory. */
MUST_CHECK enum status plugin_align_init(struct plugin_align *align, size_t channels,
                                         size_t latency, size_t block);
void plugin_align_free(struct plugin_align *align);
void plugin_align_reset(struct plugin_align *align);

/* In place, frames [from, from + frames) of planar[c]. More than `latency` cannot be made up. */
void plugin_align_process(struct plugin_align *align, float *const *planar, size_t from,
                          size_t frames, uint64_t reported);

#endif
