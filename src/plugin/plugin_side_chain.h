/* What the side chains of a plugin hear: @sidechain=3:4, channels of the sound, or
 * @sidechain=FILE, a sound of its own.
 *
 * A file is resampled to the rate of the sound, begins with the sound's first frame, and is silence
 * after its end. It is read as the sound goes on, or beforehand into memory where the step must not
 * wait for a file. Threads: the control thread, but for _read.
 */
#ifndef HALO_PLUGIN_SIDE_CHAIN_H
#define HALO_PLUGIN_SIDE_CHAIN_H

#include "signal/audio.h"
#include "sound/port.h"

enum { SIDE_CHAIN_FAILURE = 300 };

/* All zero: none. */
struct plugin_side_chain {
    const char *text; /* what follows @sidechain=; not owned */
    size_t channels;  /* of a file; 0: channels of the sound */
    struct sink *memory;
    const struct block *sound; /* in the memory */
    struct source *source;
    float **rest;  /* for a read: by channel */
    uint64_t next; /* frame that the source reads next */
    uint64_t end;  /* frames, once it was reached */
    bool has_failed;
    char failure[SIDE_CHAIN_FAILURE];
    void (*read)(struct plugin_side_chain *side, int64_t position, size_t frames, float *const *to);
};

/* Whether the text is a list of channels; else it names a file. */
bool plugin_side_chain_is_list(const char *text);

/* `live`: into memory. Errors: the file cannot be read; memory. plugin_side_chain_close() is
 * required in any case. */
MUST_CHECK enum status plugin_side_chain_open(struct plugin_side_chain *side, const char *text,
                                              uint32_t rate, bool allow_truncated, bool live);
void plugin_side_chain_close(struct plugin_side_chain *side);

/* By the thread of the step; real-time where it is live. Frames of the sound from `position` on;
 * outside of it there is silence. Returns why it cannot be read, or NULL. */
const char *plugin_side_chain_read(struct plugin_side_chain *side, int64_t position, size_t frames,
                                   float *const *to);

#endif
