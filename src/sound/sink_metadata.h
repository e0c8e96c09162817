/* What a sink writes of the metadata it is given, by the container. Private to sinks. */
#ifndef HALO_SINK_METADATA_H
#define HALO_SINK_METADATA_H

#include "sound/port.h"
#include "sound/sound_splice.h"

/* What is to be written in front of the samples, for sound_splice.h, or for a header of our own;
 * nothing where it follows them, the container has no place, or none is wanted. `layout`: that the
 * file is to tell. Errors: memory, a library. */
MUST_CHECK enum status sink_metadata_plan(const struct sink_settings *settings, bool is_stream,
                                          struct channel_layout layout,
                                          struct sound_splice *splice);

/* Whether a container's chunks follow the samples, where libsndfile finds the samples whatever the
 * chunks are. It takes those of W64 for samples. */
bool sink_metadata_follows(int container);

/* Replace *chunks by those to follow the samples of a file that has `size` bytes by now; none, and
 * nothing is marked as kept, where a size of 32 bits would not hold them. Errors: memory, a
 * library.
 */
MUST_CHECK enum status sink_metadata_plan_after(struct sound_metadata *metadata, int container,
                                                bool is_rf64, uint64_t size,
                                                struct metadata_buffer *chunks);

/* Put them there, into a complete file. Returns 0 or an errno. */
int sink_metadata_append(int fd, const struct metadata_buffer *chunks);

/* For libsndfile: a comment that makes room in an Ogg. Before the first frame. Errors: memory. */
MUST_CHECK enum status sink_metadata_set(const struct sound_splice *splice, SNDFILE *file);

#endif
