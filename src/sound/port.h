/* Ports: sources and sinks of planar samples, float32 or double. A source decides rate and
 * channels; a sink is opened for a rate and channels. Ports may wait, allocate and fail: not
 * real-time.
 *
 * Sound files read and write both precisions. Other ports are opened for one: for double by the
 * functions whose names end in _in_double. Ownership: the opener of a port closes it. */
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
    /* Read up to `frames` frames into planar[c]. *got < frames: the sound has ended. */
    enum status (*read)(struct source *source, float *const *planar, size_t frames, size_t *got);
    enum status (*read_in_double)(struct source *source, double *const *planar, size_t frames,
                                  size_t *got);
    /* The next read begins at `frame`. Only if source->seekable. */
    enum status (*seek)(struct source *source, uint64_t frame);
    void (*close)(struct source *source);
};

struct source {
    const struct source_kind *kind;
    const char *name; /* name of the sound, for messages */
    struct stream_format format;
    int64_t frames;          /* length of the sound, or FRAMES_UNKNOWN */
    const char *wide_option; /* option that makes halo read the file in double; NULL: none */
    bool length_is_open;     /* the header gives no length; the file was read to its end */
    bool seekable;
    bool waits;              /* reads may wait for another program; only a signal interrupts them */
    struct workers *workers; /* the opener's workers, which share reading in double; NULL: none */
    struct sound_traits traits; /* empty if the source is no file */
};

struct sink;
struct sink_kind {
    enum status (*write)(struct sink *sink, const float *const *planar, size_t frames);
    enum status (*write_in_double)(struct sink *sink, const double *const *planar, size_t frames);
    /* The sound is complete: make it permanent. Call once, before close. Errors: libsndfile cannot
     * open the file again, or reads another format. */
    enum status (*commit)(struct sink *sink);
    void (*close)(struct sink *sink); /* without a commit before, no new file remains */
};

struct sink {
    const struct sink_kind *kind;
    bool waits;          /* writes may wait for another program, as in struct source */
    uint64_t clipped;    /* samples that an integer format could not hold */
    const char *beside;  /* path of the regular file being written, or NULL */
    bool takes_metadata; /* sink_put_metadata() works on this sink */
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

/* Print one line about a sound whose length_is_open. */
void source_note_open_length(const char *name);

/* Set source->traits.metadata, which is empty if the file has none. Call before reading samples. Of
 * a stream, only metadata before the samples is read. Errors: memory. */
MUST_CHECK enum status source_read_metadata(struct source *source);

/* Read the metadata after a stream's samples (more_follows) into traits.metadata or another struct,
 * after the last frame. Beyond 16 MiB it is dropped with a message. Errors: reading, memory. */
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

/* Open a sound file, or a stream if `path` is "-" or cannot seek. A truncated file is an error
 * unless allowed. */
MUST_CHECK enum status source_open_sound(const char *path, bool allow_truncated,
                                         struct source **source);

/* Destination of a rendered sound. */
struct sink_settings {
    const char *path; /* "-": standard output */
    struct stream_format format;
    int sound_format; /* see sound_format.h */
    /* metadata to write before the samples; written items are marked as kept. NULL: none is */
    struct sound_metadata *metadata;
    int64_t frames;     /* length of the sound, or FRAMES_UNKNOWN */
    enum dither dither; /* dither of integer formats */
    double quality;     /* quality of an encoder, 1 to 11; 0: the encoder's default */
    bool force;         /* replace an existing file */
    /* keeps a record of regular files that were written (atomic_file.h); NULL: none */
    const struct output_record *record;
};
MUST_CHECK enum status sink_open_sound(const struct sink_settings *settings, struct sink **sink);

/* Whether a sink with these settings puts metadata behind the samples: sink->takes_metadata. */
bool sink_puts_metadata_after(const struct sink_settings *settings);

/* Write metadata behind the samples. Call between the last frame and the commit. Items that do not
 * fit into the container are not marked as kept. Kinds with which libsndfile cannot open the file
 * are left out (metadata->without). Errors: writing, reading, memory. */
MUST_CHECK enum status sink_put_metadata(struct sink *sink, struct sound_metadata *metadata);

/* Replace *chunks by the chunks to put behind the samples of a file that now has `size` bytes. If
 * the container's 32-bit sizes cannot hold them, there are none and nothing is marked as kept.
 * Errors: memory, a library. */
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

/* A sound extended by `before` and `after` frames. The source owns `inner`, also on failure. */
enum boundary { BOUNDARY_ZERO, BOUNDARY_REPLICATE, BOUNDARY_REFLECT, BOUNDARY_WRAP };
MUST_CHECK enum status source_open_boundary(struct source *inner, enum boundary boundary,
                                            uint64_t before, uint64_t after,
                                            struct source **source);
MUST_CHECK enum status source_open_boundary_in_double(struct source *inner, enum boundary boundary,
                                                      uint64_t before, uint64_t after,
                                                      struct source **source);

/* A part of a sound, in seconds. sound_part_frames() rounds each to the nearest frame. */
struct sound_part {
    double start;
    double duration; /* 0: to `end` */
    double end;      /* 0: the end of the sound */
};

/* Seconds as frames, rounded to nearest and halves up, as toolkits for speech do. Seconds count as
 * the decimal number that they were written as. */
uint64_t sound_part_frames(double seconds, double rate);

/* A part of a sound. If the sound ends up to 25 ms before the part does, the part is shortened, as
 * times in manifests are rounded. Keeps the traits of `inner` and owns it, also on failure. Errors:
 * the part lies beyond the end. */
MUST_CHECK enum status source_open_span(struct source *inner, const struct sound_part *part,
                                        struct source **source);

/* The channels with these numbers, from 1, in this order. Keeps the traits of `inner` and owns it,
 * also on failure. Errors (usage): a channel that the sound lacks, a channel twice. */
MUST_CHECK enum status source_open_channels(struct source *inner, const size_t *numbers,
                                            size_t count, struct source **source);

/* Several sounds of one rate as one: the channels of the first, then those of the second, and so
 * on. The stack ends with its shortest sound, and has no traits. It owns the sounds, also on
 * failure. `name` must outlive it. Not for double precision. Errors: memory. */
MUST_CHECK enum status source_open_stacked(struct source *const *sounds, size_t count,
                                           const char *name, struct source **source);

/* The sound resampled to another rate; seeks do not change its samples. Keeps the traits of `inner`
 * and owns it, also on failure. Errors: memory. */
MUST_CHECK enum status source_open_resampled(struct source *inner, uint32_t rate,
                                             struct source **source);
MUST_CHECK enum status source_open_resampled_in_double(struct source *inner, uint32_t rate,
                                                       struct source **source);

/* A sound kept on disk between two passes: written through the sink, then read from the source. The
 * file has no name, and is freed once sink and source are closed. beside: a path in the folder to
 * use; NULL: the temporary folder. */
MUST_CHECK enum status spool_open(const char *beside, const struct source *like, size_t channels,
                                  struct sink **sink, struct source **source);
MUST_CHECK enum status spool_open_in_double(const char *beside, const struct source *like,
                                            size_t channels, struct sink **sink,
                                            struct source **source);

/* Multiply all samples read from now on by the factor, which is 1 at first. */
void spool_scale(struct source *source, double factor);
void spool_scale_in_double(struct source *source, double factor);

#endif
