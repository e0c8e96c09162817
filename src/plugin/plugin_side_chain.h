/* What the side chains of a plugin hear: @sidechain=3:4, channels of the sound, or
 * @sidechain=FILE, a sound of its own.
 *
 * A file is read whole, and resampled to the rate of the sound. It begins with the sound's first
 * frame, and is silence after its end. Threads: the control thread, but for _read.
 */
#ifndef HALO_PLUGIN_SIDE_CHAIN_H
#define HALO_PLUGIN_SIDE_CHAIN_H

#include "signal/audio.h"
#include "sound/port.h"

/* All zero: none. */
struct plugin_side_chain {
    const char *text;    /* what follows @sidechain=; not owned */
    struct sink *memory; /* of a file; NULL: channels */
};

/* Whether the text is a list of channels; else it names a file. */
bool plugin_side_chain_is_list(const char *text);

/* Errors: the file cannot be read; memory. plugin_side_chain_close() is required in any case. */
MUST_CHECK enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text,
                                              uint32_t rate, bool allow_truncated);
void plugin_side_chain_close(struct plugin_side_chain *side);

/* The sound of a file, or NULL. */
const struct block *plugin_side_chain_sound(const struct plugin_side_chain *side);

/* Real-time. Frames of the sound from `position` on; outside of it there is silence. */
void plugin_side_chain_read(const struct block *sound, int64_t position, size_t frames,
                            float *const *to);

#endif
