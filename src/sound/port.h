/* Ports: sources and sinks of blocks of planar float32, or double. A source decides rate and
 * channels; a sink is opened for them. Ports may wait, allocate and fail: not real-time.
 *
 * Sound files read and write both; other ports are opened for one of them, by the function whose
 * name ends in _in_double or by the other.
 * Ownership: the opener of a port closes it.
 */
#ifndef HALO_PORT_H
#define HALO_PORT_H

#include "base/status.h"
#include "base/workers.h"
#include "signal/audio.h"
#include "signal/quantiser.h"
#include "sound/file/sound_format.h"
#include "sound/metadata/metadata.h"

#include <stdint.h>

enum { FRAMES_UNKNOWN = -1 };

struct output_record;

struct source;
struct source_kind {
    /* Up to `frames` frames into planar[c]; *got < frames: the end. */
    enum status (*read)(struct source *source, float *const *planar, size_t frames, size_t *got);
    enum status (*read_in_double)(struct source *source, double *const *planar, size_t frames,
                                  size_t *got);
    /* The next read begins at `frame`. Only if source->seekable. */
    enum status (*seek)(struct source *source, uint64_t frame);
    void (*close)(struct source *source);
};

struct source {
    const struct source_kind *kind;
    const char *name; /* for messages */
    struct stream_format format;
    int64_t frames;          /* or FRAMES_UNKNOWN */
    const char *wide_option; /* of its reader, to read in double precision; NULL: it has none */
    bool length_is_open;     /* a file that does not say where it ends, and was read to its end */
    bool seekable;
    bool waits;                 /* for another program, interrupted only by a signal */
    struct workers *workers;    /* the opener's, to share reading in double; NULL: none */
    struct sound_traits traits; /* empty if not from a file */
};

struct sink;
struct sink_kind {
    enum status (*write)(struct sink *sink, const float *const *planar, size_t frames);
    enum status (*write_in_double)(struct sink *sink, const double *const *planar, size_t frames);
    /* The sound is complete: make it permanent. Call once, before close. Errors: a file that
     * libsndfile does not open again as what it is to be. */
    enum status (*commit)(struct sink *sink);
    /* Without a commit, leaves no new file behind. */
    void (*close)(struct sink *sink);
};

struct sink {
    const struct sink_kind *kind;
    bool waits;          /* see struct source */
    uint64_t clipped;    /* samples that an integer format could not hold */
    const char *beside;  /* the regular file being written, or NULL */
    bool takes_metadata; /* with sink_put_metadata */
};

MUST_CHECK static inline enum status source_read(struct source *source, float *const *planar,
                                                 size_t frames, size_t *got)
{
    return source->kind->read(source, planar, frames, got);
}

MUST_CHECK static inline enum status
source_read_in_double(struct source *source, double *const *planar, size_t frames, size_t *got)
{
    return source->kind->read_in_double(source, planar, frames, got);
}

MUST_CHECK static inline enum status source_seek(struct source *source, uint64_t frame)
{
    return source->kind->seek(source, frame);
}

/* One line about a sound whose length_is_open. */
void source_note_open_length(const char *name);

/* Set source->traits.metadata, which stays empty if there is none. Before reading. Of a stream it
 * is what is before its samples. Errors: memory. */
MUST_CHECK enum status source_read_metadata(struct source *source);

/* After the last frame: what metadata->more_follows is about, into the same metadata or another
 * one. More than 16 MiB are left, with a word. Errors: reading, memory. */
MUST_CHECK enum status source_read_metadata_after(struct source *source,
                                                  struct sound_metadata *metadata);

static inline void source_close(struct source *source)
{
    if (source)
        source->kind->close(source);
}

MUST_CHECK static inline enum status sink_write(struct sink *sink, const float *const *planar,
                                                size_t frames)
{
    return sink->kind->write(sink, planar, frames);
}

MUST_CHECK static inline enum status
sink_write_in_double(struct sink *sink, const double *const *planar, size_t frames)
{
    return sink->kind->write_in_double(sink, planar, frames);
}

MUST_CHECK static inline enum status sink_commit(struct sink *sink)
{
    return sink->kind->commit(sink);
}

static inline void sink_close(struct sink *sink)
{
    if (sink)
        sink->kind->close(sink);
}

/* A sound file, or a stream if `path` is "-" or does not seek. A truncated file is an error unless
 * allowed. */
MUST_CHECK enum status source_open_sound(const char *path, bool allow_truncated,
                                         struct source **source);

/* Destination of a rendered sound. */
struct sink_settings {
    const char *path; /* "-": standard output */
    struct stream_format format;
    int sound_format;                /* of sound_format.h */
    struct sound_metadata *metadata; /* to write; what was is marked as kept. NULL: none, or it is
                                        put behind the samples */
    int64_t frames;                  /* in all, or FRAMES_UNKNOWN */
    enum dither dither;              /* of integers */
    double quality;                  /* of an encoder, 1 to 11; 0: its own */
    bool force;                      /* replace an existing file */
    const struct output_record *record; /* of a regular file (atomic_file.h), or NULL */
};
MUST_CHECK enum status sink_open_sound(const struct sink_settings *settings, struct sink **sink);

/* Whether such a sink puts metadata behind the samples: sink->takes_metadata. */
bool sink_puts_metadata_after(const struct sink_settings *settings);

/* Between the last frame and the commit. What does not fit into the container stays without a mark;
 * kinds with which libsndfile does not open the file are left out (metadata->without). Errors:
 * writing, reading, memory. */
MUST_CHECK enum status sink_put_metadata(struct sink *sink, struct sound_metadata *metadata);

/* Replace *chunks by those to follow the samples of a file that has `size` bytes by now; none, and
 * nothing is marked as kept, where a size of 32 bits would not hold them. Errors: memory, a
 * library.
 */
MUST_CHECK enum status sink_metadata_plan_after(struct sound_metadata *metadata, int container,
                                                bool is_rf64, uint64_t size,
                                                struct metadata_buffer *chunks);

/* Sound in memory: the source reads `block` (not owned), the sink keeps a growing copy. */
MUST_CHECK enum status source_open_memory(const struct block *block, uint32_t rate,
                                          struct source **source);
MUST_CHECK enum status sink_open_memory(size_t channels, struct sink **sink);
const struct block *sink_memory(const struct sink *sink); /* owned by the sink */
MUST_CHECK enum status source_open_memory_in_double(const struct block_in_double *block,
                                                    uint32_t rate, struct source **source);
MUST_CHECK enum status sink_open_memory_in_double(size_t channels, struct sink **sink);
const struct block_in_double *sink_memory_in_double(const struct sink *sink);

/* Extends a sound by `before` and `after` frames. Takes over `inner`, also on failure. */
enum boundary { BOUNDARY_ZERO, BOUNDARY_REPLICATE, BOUNDARY_REFLECT, BOUNDARY_WRAP };
MUST_CHECK enum status source_open_boundary(struct source *inner, enum boundary boundary,
                                            uint64_t before, uint64_t after,
                                            struct source **source);
MUST_CHECK enum status source_open_boundary_in_double(struct source *inner, enum boundary boundary,
                                                      uint64_t before, uint64_t after,
                                                      struct source **source);

/* In seconds, each rounded to the nearest frame by sound_part_frames(). */
struct sound_part {
    double start;
    double duration; /* 0: to `end` */
    double end;      /* 0: that of the sound */
};

/* Frames of so many seconds: the nearest, half a frame is one more, as toolkits for speech have it.
 * Seconds that were written as decimals count as these. */
uint64_t sound_part_frames(double seconds, double rate);

/* A part of a sound. It is cut where the sound ends up to 25 ms too early, as times in manifests
 * are rounded; it keeps the traits of `inner`, which it takes over, also on failure. Errors: beyond
 * the end. */
MUST_CHECK enum status source_open_span(struct source *inner, const struct sound_part *part,
                                        struct source **source);

/* The channels of these numbers, from 1, each once, in that order; it keeps the traits of `inner`,
 * which it takes over, also on failure. Errors (usage): channels that the sound lacks, one twice.
 */
MUST_CHECK enum status source_open_channels(struct source *inner, const size_t *numbers,
                                            size_t count, struct source **source);

/* The sound at another rate, independent of seeks; it keeps the traits of `inner`. Takes over
 * `inner`, also on failure. Errors: memory. */
MUST_CHECK enum status source_open_resampled(struct source *inner, uint32_t rate,
                                             struct source **source);
MUST_CHECK enum status source_open_resampled_in_double(struct source *inner, uint32_t rate,
                                                       struct source **source);

/* A sound kept on disk between two passes: written through the sink, then read from the source.
 * The file is unlinked and freed with the last of the two. beside: a path in the folder to use, or
 * NULL for the temporary folder. */
MUST_CHECK enum status spool_open(const char *beside, const struct source *like, size_t channels,
                                  struct sink **sink, struct source **source);
MUST_CHECK enum status spool_open_in_double(const char *beside, const struct source *like,
                                            size_t channels, struct sink **sink,
                                            struct source **source);

/* What is read from now on is multiplied by that factor; 1 at first. */
void spool_scale(struct source *source, double factor);
void spool_scale_in_double(struct source *source, double factor);

#endif
