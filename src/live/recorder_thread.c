/* The recorder's own thread: from the ring to the file. */
#include "base/monotonic.h"
#include "live/recorder_state.h"

#include <errno.h>
#include <string.h>
#include <time.h>

enum {
    LOOK_MS = 50,  /* between looks into the ring */
    RENEW_MS = 500 /* between renewals of the header */
};

static enum status refuse_write(const struct recorder *recorder, int error)
{
    return fail(STATUS_FAILED, "cannot write %s: %s; the recording ends after %.1f s",
                recorder->path, error ? strerror(error) : sf_strerror(recorder->file),
                (double)recorder->recording.frames / (double)recorder->rate);
}

static enum status put(struct recorder *recorder, size_t frames)
{
    errno = 0;
    sf_count_t put = sf_writef_float(recorder->file, recorder->chunk, (sf_count_t)frames);
    recorder->recording.frames += put > 0 ? (uint64_t)put : 0;
    recorder->changed = true;
    return put == (sf_count_t)frames ? STATUS_OK : refuse_write(recorder, errno);
}

enum status recorder_put_silence(struct recorder *recorder, uint64_t frames)
{
    memset(recorder->chunk, 0, RECORDER_CHUNK * recorder->channels * sizeof *recorder->chunk);
    uint64_t before = recorder->recording.frames;
    enum status status = STATUS_OK;
    for (uint64_t done = 0; done < frames && status == STATUS_OK;) {
        size_t part = frames - done < RECORDER_CHUNK ? (size_t)(frames - done) : RECORDER_CHUNK;
        status = put(recorder, part);
        done += part;
    }
    recorder->recording.lost += recorder->recording.frames - before;
    return status;
}

enum status recorder_empty_ring(struct recorder *recorder)
{
    enum status status = STATUS_OK;
    size_t left = ring_readable(recorder->ring);
    while (status == STATUS_OK) {
        if (recorder->gap.frames == 0)
            ring_read(recorder->gaps, &recorder->gap, 1);
        uint64_t to_gap = recorder->gap.frames ? recorder->gap.at - recorder->taken : UINT64_MAX;
        if (to_gap == 0) {
            status = recorder_put_silence(recorder, recorder->gap.frames);
            recorder->gap.frames = 0;
            continue;
        }
        size_t part = left < RECORDER_CHUNK ? left : RECORDER_CHUNK;
        part = to_gap < part ? (size_t)to_gap : part;
        part = ring_read(recorder->ring, recorder->chunk, part);
        if (part == 0)
            break;
        recorder->taken += part;
        left -= part;
        status = put(recorder, part);
    }
    return status;
}

static void renew_header(struct recorder *recorder, bool at_once)
{
    int64_t now = monotonic_ns();
    if (recorder->changed && (at_once || now - recorder->renewed_ns >= RENEW_MS * 1000000LL)) {
        sf_command(recorder->file, SFC_UPDATE_HEADER_NOW, NULL, 0);
        recorder->changed = false;
        recorder->renewed_ns = now;
    }
    if (at_once)
        sf_write_sync(recorder->file);
}

static void work(struct recorder *recorder, bool flush)
{
    if (atomic_load(&recorder->ended))
        return;
    enum status status = recorder_empty_ring(recorder);
    renew_header(recorder, flush || status != STATUS_OK);
    if (status != STATUS_OK)
        atomic_store(&recorder->ended, true);
}

void *recorder_main(void *argument)
{
    struct recorder *recorder = argument;
    log_capture(recorder->failure, sizeof recorder->failure);
    pthread_mutex_lock(&recorder->lock);
    while (!recorder->leave) {
        uint64_t asked = recorder->flushes_asked;
        bool flush = asked != recorder->flushes_done;
        pthread_mutex_unlock(&recorder->lock);
        work(recorder, flush);
        pthread_mutex_lock(&recorder->lock);
        recorder->flushes_done = asked;
        recorder->frames_done = recorder->recording.frames;
        if (flush)
            pthread_cond_signal(&recorder->answered);
        struct timespec until = monotonic_after(LOOK_MS);
        if (recorder->flushes_asked == asked && !recorder->leave)
            pthread_cond_timedwait(&recorder->asked, &recorder->lock, &until);
    }
    pthread_mutex_unlock(&recorder->lock);
    return NULL;
}
