#include "sound/planar_rows.h"

#include "signal/audio.h"

enum {
    ROWS = 16,                /* channels that a worker converts at a time */
    SHARED_SAMPLES = 1 << 18, /* between two reads */
};

struct planar_job {
    const struct planar_rows *rows;
    const void *interleaved;
    size_t channels, at, frames;
};

static void put_some(void *context, size_t piece, size_t worker)
{
    (void)worker;
    const struct planar_job *job = context;
    size_t channels = job->channels, first = piece * ROWS;
    size_t rows = channels - first < ROWS ? channels - first : ROWS;
    if (job->rows->single)
        audio_deinterleave_rows((const float *)job->interleaved + first, channels, job->frames,
                                job->rows->single + first, rows, job->at);
    else
        audio_deinterleave_rows_in_double((const double *)job->interleaved + first, channels,
                                          job->frames, job->rows->in_double + first, rows, job->at);
}

size_t planar_rows_chunk(size_t channels, const struct workers *workers)
{
    size_t frames = audio_chunk_frames(channels);
    bool is_shared = workers && channels > ROWS;
    return is_shared && frames * channels < SHARED_SAMPLES ? SHARED_SAMPLES / channels + 1 : frames;
}

void planar_rows_put(const struct planar_rows *rows, size_t at, const void *interleaved,
                     size_t channels, size_t frames, struct workers *workers)
{
    struct planar_job job = {rows, interleaved, channels, at, frames};
    if (workers && channels > ROWS)
        workers_run(workers, (channels + ROWS - 1) / ROWS, put_some, &job);
    else if (rows->single)
        audio_deinterleave(interleaved, channels, frames, rows->single, at);
    else
        audio_deinterleave_in_double(interleaved, channels, frames, rows->in_double, at);
}
