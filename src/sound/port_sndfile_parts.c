#include "sound/port_sndfile_parts.h"

#include "base/stop.h"
#include "sound/sndfile_library.h"

#include <stdatomic.h>
#include <stdlib.h>

enum {
    PIECE = 1 << 17, /* samples that a worker reads at a time: they stay in its cache */
    LEAST = 1 << 20, /* samples: each worker parses the header for itself */
};

/* A worker's. */
struct part {
    struct sound_io io;
    SNDFILE *file;
    void *interleaved; /* PIECE samples, in double precision at most */
};

struct parts_job {
    const struct sound_source *sound;
    double *const *rows;
    size_t frames;
    size_t piece;       /* frames */
    bool is_single;     /* single precision holds the samples */
    struct part *parts; /* [worker] */
    atomic_bool failed;
};

/* As libsndfile converts them, which is exact. */
static bool fits_single(int format)
{
    int samples = format & SF_FORMAT_SUBMASK;
    return samples == SF_FORMAT_FLOAT || samples == SF_FORMAT_PCM_16 || samples == SF_FORMAT_PCM_24;
}

/* Files that are read otherwise than by their header have a limit, or begin elsewhere. */
static bool may_be_parted(const struct sound_source *sound, size_t frames)
{
    const struct source *source = &sound->source;
    return source->workers && source->seekable && !sound->stream && !sound->flac &&
           sound->io.origin == 0 && sound->limit == FRAMES_UNKNOWN &&
           source->frames != FRAMES_UNKNOWN && sound_format_bytes(source->traits.format) > 0 &&
           source->format.channels <= PIECE && frames >= LEAST / source->format.channels &&
           frames <= (uint64_t)(source->frames - sound->position);
}

static bool open_part(const struct parts_job *job, struct part *part)
{
    const struct source *source = &job->sound->source;
    SF_INFO info = {0};
    if (part->file)
        return true;
    sound_io_begin_beside(&part->io, &job->sound->io);
    part->file = sound_io_open(&part->io, SFM_READ, &info);
    part->interleaved =
        audio_alloc_unset_in_double(job->is_single ? PIECE / 2 : PIECE); /* floats or doubles */
    return part->file && part->interleaved && !part->io.error &&
           info.format == source->traits.format && info.frames == source->frames &&
           (size_t)info.channels == source->format.channels;
}

static bool read_piece(const struct parts_job *job, struct part *part, size_t from, size_t frames)
{
    size_t channels = job->sound->source.format.channels;
    sf_count_t at = (sf_count_t)job->sound->position + (sf_count_t)from, count = (sf_count_t)frames;
    if (!open_part(job, part) || sf_seek(part->file, at, SEEK_SET) != at)
        return false;
    sf_count_t got = job->is_single ? sf_readf_float(part->file, part->interleaved, count)
                                    : sf_readf_double(part->file, part->interleaved, count);
    if (got != count || part->io.error)
        return false;
    if (job->is_single)
        audio_deinterleave_widened(part->interleaved, channels, frames, job->rows, from);
    else
        audio_deinterleave_in_double(part->interleaved, channels, frames, job->rows, from);
    return true;
}

static void take_piece(void *context, size_t piece, size_t worker)
{
    struct parts_job *job = context;
    size_t from = piece * job->piece, left = job->frames - from;
    if (!job->failed &&
        !read_piece(job, &job->parts[worker], from, left < job->piece ? left : job->piece))
        job->failed = true;
}

bool sound_parts_read(const struct sound_source *sound, double *const *rows, size_t frames)
{
    struct workers *workers = sound->source.workers;
    if (!may_be_parted(sound, frames))
        return false;
    struct parts_job job = {.sound = sound,
                            .rows = rows,
                            .frames = frames,
                            .piece = PIECE / sound->source.format.channels,
                            .is_single = fits_single(sound->source.traits.format),
                            .parts = calloc(workers_count(workers), sizeof *job.parts)};
    if (!job.parts)
        return false;
    workers_run(workers, (frames + job.piece - 1) / job.piece, take_piece, &job);
    for (size_t w = 0; w < workers_count(workers); w++) {
        if (job.parts[w].file)
            sf_close(job.parts[w].file);
        free(job.parts[w].interleaved);
    }
    free(job.parts);
    return !job.failed && !stop_requested();
}
