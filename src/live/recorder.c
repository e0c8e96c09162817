#include "live/recorder.h"

#include "base/atomic_file.h"
#include "base/monotonic.h"
#include "base/plural.h"
#include "base/realtime.h"
#include "base/ring.h"
#include "base/thread.h"
#include "sound/file/channel_order.h"
#include "sound/file/sound_io.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    GAPS = 256,            /* gaps that can be queued */
    POLL_MS = 50,          /* ms between looks at the ring */
    HEADER_MS = 500,       /* ms between updates of the header */
    RECORDER_CHUNK = 1024, /* frames interleaved or written at once */
};

/* A gap in the ring: `frames` frames were lost before frame `at`. */
struct gap {
    uint64_t at, frames;
};

struct recorder {
    char *path; /* path of the file, for messages */
    SNDFILE *file;
    struct atomic_file destination;
    struct sound_io io;
    size_t channels;
    uint32_t rate;
    bool is_wav;
    struct channel_layout layout;
    struct ring *ring; /* items are interleaved frames */
    struct ring *gaps;
    atomic_bool ended; /* a failure ended the recording */

    float *scratch;  /* used by the step */
    uint64_t handed; /* used by the step: frames written to the ring */
    uint64_t losing; /* used by the step: frames lost since then, not yet queued as a gap */

    float *chunk;   /* used by the thread */
    struct gap gap; /* used by the thread: next gap, if its `frames` > 0 */
    uint64_t taken; /* used by the thread: frames read from the ring */
    struct recording recording;
    bool changed; /* used by the thread: frames were written since the last update of the header */
    int64_t updated_ns; /* used by the thread: when the header was updated */

    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t asked, answered;
    uint64_t flushes_asked, flushes_done; /* under `lock` */
    uint64_t frames_done;                 /* under `lock` */
    bool leave;                           /* under `lock` */

    struct failure failure; /* written before `ended` is set */
    bool reported;          /* used by the control thread */
};

/* ---- the step: real-time ---- */

/* Queues a gap before the frames that follow it, so that the thread sees it first. */
HALO_REALTIME void recorder_write(struct recorder *recorder, const float *const *planar,
                                  size_t frames)
{
    if (atomic_load_explicit(&recorder->ended, memory_order_relaxed))
        return;
    const struct gap gap = {.at = recorder->handed, .frames = recorder->losing};
    if (ring_writable(recorder->ring) < frames ||
        (gap.frames > 0 && ring_write(recorder->gaps, &gap, 1) == 0)) {
        recorder->losing += frames;
        return;
    }
    recorder->losing = 0;
    for (size_t at = 0; at < frames; at += RECORDER_CHUNK) {
        size_t part = frames - at < RECORDER_CHUNK ? frames - at : RECORDER_CHUNK;
        audio_interleave(planar, at, recorder->channels, part, recorder->scratch);
        ring_write(recorder->ring, recorder->scratch, part);
    }
    recorder->handed += frames;
}

/* ---- the file ---- */

static const struct ending {
    const char *extension;
    int major;
} endings[] = {
    {".wav", SF_FORMAT_RF64}, /* libsndfile makes it a WAV if it is short enough */
    {".w64", SF_FORMAT_W64},
    {".caf", SF_FORMAT_CAF},
};

static enum status choose_format(const char *path, const struct stream_format *format,
                                 SF_INFO *info)
{
    const char *dot = strrchr(path, '.');
    TRY(library_open(&sndfile_library));
    for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++) {
        if (strcasecmp(dot, endings[i].extension) != 0)
            continue;
        *info = (SF_INFO){.samplerate = (int)format->rate,
                          .channels = (int)format->channels,
                          .format = endings[i].major | SF_FORMAT_FLOAT};
        return sf_format_check(info)
                   ? STATUS_OK
                   : fail(CAUSE_USAGE, "%s cannot hold %zu channel%s at %u Hz", dot,
                          format->channels, plural_s(format->channels), format->rate);
    }
    return fail(CAUSE_USAGE,
                "cannot record to %s: use .wav, .w64 or .caf, which hold any length and stay "
                "readable after a crash",
                path);
}

static enum status open_file(struct recorder *recorder, bool force)
{
    struct stat about;
    if (stat(recorder->path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot write %s: a recording needs a regular file",
                    recorder->path);
    return atomic_file_open(&recorder->destination, recorder->path, force);
}

static const char *write_error(const struct recorder *recorder)
{
    return recorder->io.error ? strerror(recorder->io.error) : sf_strerror(recorder->file);
}

/* Writes the channel layout into a WAV; libsndfile writes the usual one for the channel count. */
static void write_layout(struct recorder *recorder)
{
    bool is_other = channel_layout_needs_extensible(recorder->layout, recorder->channels) ||
                    (recorder->channels > 2 && !channel_layout_is_known(recorder->layout));
    int error = recorder->is_wav && is_other
                    ? channel_layout_patch_wav(recorder->destination.fd, recorder->layout, true)
                    : 0;
    if (error && !recorder->io.error)
        recorder->io.error = error; /* the next write fails and ends the recording */
}

static void set_layout_chunk(struct recorder *recorder)
{
    unsigned char content[CHANNEL_CHUNK_MOST];
    SF_CHUNK_INFO chunk = {.id = "chan", .id_size = 4, .data = content};
    if (!channel_layout_needs_extensible(recorder->layout, recorder->channels))
        return;
    chunk.datalen = (unsigned)channel_order_put_chan(recorder->layout, recorder->channels, content);
    sf_set_chunk(recorder->file, &chunk);
}

/* Chooses a layout that the container can state. libsndfile's W64 states none. */
static void choose_layout(struct recorder *recorder, const struct stream_format *format,
                          const SF_INFO *info)
{
    struct channel_order order;
    struct stream_format written = *format;
    char text[CHANNEL_LAYOUT_TEXT];
    int major = info->format & SF_FORMAT_TYPEMASK;
    recorder->is_wav = major == SF_FORMAT_RF64;
    if (major == SF_FORMAT_W64 &&
        channel_layout_needs_extensible(written.layout, written.channels)) {
        note("%s: a recording in W64 does not tell the channel layout %s; wav and caf can",
             recorder->path, channel_layout_name(written.layout, written.channels, text));
        written.layout = (struct channel_layout){0};
    }
    channel_order_choose(recorder->path, info->format, &written, &order, &recorder->layout);
}

static enum status open_sound(struct recorder *recorder, SF_INFO *info)
{
    sound_io_begin(&recorder->io, recorder->destination.fd);
    recorder->file = sound_io_open(&recorder->io, SFM_WRITE, info);
    if (!recorder->file)
        return fail(cause_of_errno(recorder->io.error), "cannot write %s: %s", recorder->path,
                    write_error(recorder));
    sf_command(recorder->file, SFC_RF64_AUTO_DOWNGRADE, NULL, SF_TRUE);
    sf_command(recorder->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    if ((info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_CAF)
        set_layout_chunk(recorder);
    sf_command(recorder->file, SFC_UPDATE_HEADER_NOW, NULL, 0); /* now the file is readable */
    write_layout(recorder);
    return recorder->io.error ? fail_errno(recorder->io.error, "cannot write %s", recorder->path)
                              : STATUS_OK;
}

/* ---- the thread: from the ring to the file ---- */

static enum status put(struct recorder *recorder, size_t frames)
{
    sf_count_t put = sf_writef_float(recorder->file, recorder->chunk, (sf_count_t)frames);
    recorder->recording.frames += put > 0 ? (uint64_t)put : 0;
    recorder->changed = true;
    if (put == (sf_count_t)frames && recorder->io.error == 0)
        return STATUS_OK;
    return fail(cause_of_errno(recorder->io.error),
                "cannot write %s: %s; the recording ends after %.1f s", recorder->path,
                write_error(recorder), (double)recorder->recording.frames / (double)recorder->rate);
}

static enum status put_silence(struct recorder *recorder, uint64_t frames)
{
    memset(recorder->chunk, 0, RECORDER_CHUNK * recorder->channels * sizeof *recorder->chunk);
    for (size_t part; frames > 0; frames -= part) {
        uint64_t before = recorder->recording.frames;
        part = frames < RECORDER_CHUNK ? (size_t)frames : RECORDER_CHUNK;
        enum status status = put(recorder, part);
        recorder->recording.lost += recorder->recording.frames - before;
        TRY(status);
    }
    return STATUS_OK;
}

static enum status empty_ring(struct recorder *recorder)
{
    size_t left = ring_readable(recorder->ring);
    for (;;) {
        if (recorder->gap.frames == 0)
            ring_read(recorder->gaps, &recorder->gap, 1);
        uint64_t frames = recorder->gap.frames;
        uint64_t to_gap = frames ? recorder->gap.at - recorder->taken : UINT64_MAX;
        if (to_gap == 0) {
            recorder->gap.frames = 0;
            TRY(put_silence(recorder, frames));
            continue;
        }
        size_t part = left < RECORDER_CHUNK ? left : RECORDER_CHUNK;
        part = to_gap < part ? (size_t)to_gap : part;
        part = ring_read(recorder->ring, recorder->chunk, part);
        if (part == 0)
            return STATUS_OK;
        recorder->taken += part;
        left -= part;
        TRY(put(recorder, part));
    }
}

static void update_header(struct recorder *recorder, bool at_once)
{
    int64_t now = monotonic_ns();
    if (recorder->changed && (at_once || now - recorder->updated_ns >= HEADER_MS * 1000000LL)) {
        sf_command(recorder->file, SFC_UPDATE_HEADER_NOW, NULL, 0);
        write_layout(recorder);
        recorder->changed = false;
        recorder->updated_ns = now;
    }
    int error = at_once ? atomic_file_sync(recorder->destination.fd) : 0;
    if (error && !recorder->io.error)
        recorder->io.error = error; /* the next write fails and ends the recording */
}

static void *write_ring(void *argument)
{
    struct recorder *recorder = argument;
    const struct log_keeper before = log_keep_failure(&recorder->failure);
    pthread_mutex_lock(&recorder->lock);
    while (!recorder->leave) {
        uint64_t asked = recorder->flushes_asked;
        bool flush = asked != recorder->flushes_done;
        pthread_mutex_unlock(&recorder->lock);
        if (!atomic_load(&recorder->ended)) {
            bool failed = empty_ring(recorder) != STATUS_OK;
            update_header(recorder, flush || failed);
            atomic_store(&recorder->ended, failed);
        }
        pthread_mutex_lock(&recorder->lock);
        recorder->flushes_done = asked;
        recorder->frames_done = recorder->recording.frames;
        if (flush)
            pthread_cond_signal(&recorder->answered);
        struct timespec until = monotonic_after(POLL_MS);
        if (recorder->flushes_asked == asked && !recorder->leave)
            pthread_cond_timedwait(&recorder->asked, &recorder->lock, &until);
    }
    pthread_mutex_unlock(&recorder->lock);
    log_keep_again(&before);
    return NULL;
}

/* ---- open and close ---- */

static void recorder_free(struct recorder *recorder)
{
    if (recorder->file)
        sf_close(recorder->file);
    if (recorder->destination.fd >= 0)
        close(recorder->destination.fd);
    atomic_file_discard(&recorder->destination);
    pthread_cond_destroy(&recorder->asked);
    pthread_cond_destroy(&recorder->answered);
    pthread_mutex_destroy(&recorder->lock);
    ring_destroy(recorder->ring);
    ring_destroy(recorder->gaps);
    free(recorder->scratch);
    free(recorder->chunk);
    free(recorder->path);
    free(recorder);
}

static enum status make_buffers(struct recorder *recorder, double frames)
{
    size_t channels = recorder->channels;
    recorder->scratch = audio_alloc(RECORDER_CHUNK * channels);
    recorder->chunk = audio_alloc(RECORDER_CHUNK * channels);
    if (!recorder->scratch || !recorder->chunk || !recorder->path)
        return fail_memory("a recording");
    TRY(ring_create(sizeof(struct gap), GAPS, "a recording", &recorder->gaps));
    return ring_create(channels * sizeof(float), (size_t)frames, "a recording", &recorder->ring);
}

enum status recorder_open(const char *path, bool force, const struct stream_format *format,
                          double seconds, struct recorder **result)
{
    SF_INFO info;
    TRY(choose_format(path, format, &info));
    struct recorder *recorder = calloc(1, sizeof *recorder);
    if (!recorder)
        return fail_memory("a recording");
    recorder->destination = (struct atomic_file){.fd = -1, .held = -1};
    recorder->path = strdup(path);
    recorder->channels = format->channels;
    recorder->rate = format->rate;
    pthread_mutex_init(&recorder->lock, NULL);
    thread_condition_init(&recorder->asked);
    pthread_cond_init(&recorder->answered, NULL);
    enum status status = make_buffers(recorder, seconds * format->rate);
    if (status == STATUS_OK)
        choose_layout(recorder, format, &info);
    if (status != STATUS_OK || (status = open_file(recorder, force)) ||
        (status = open_sound(recorder, &info)))
        goto fail;
    if (thread_start(&recorder->thread, "halo recorder", THREAD_AS_CALLER, write_ring, recorder)) {
        status = fail(CAUSE_NO_MEMORY, "cannot start a thread to record");
        goto fail;
    }
    *result = recorder;
    return STATUS_OK;
fail:
    recorder_free(recorder);
    return status;
}

enum status recorder_keep(struct recorder *recorder)
{
    return recorder ? atomic_file_keep(&recorder->destination, recorder->path) : STATUS_OK;
}

void recorder_flush(struct recorder *recorder, uint64_t *frames)
{
    pthread_mutex_lock(&recorder->lock);
    uint64_t mine = ++recorder->flushes_asked;
    pthread_cond_signal(&recorder->asked);
    while (recorder->flushes_done < mine)
        pthread_cond_wait(&recorder->answered, &recorder->lock);
    *frames = recorder->frames_done;
    pthread_mutex_unlock(&recorder->lock);
}

const char *recorder_failure(struct recorder *recorder)
{
    if (recorder->reported || !atomic_load(&recorder->ended))
        return NULL;
    recorder->reported = true;
    return recorder->failure.message;
}

/* Writes the rest, on the calling thread. */
static enum status finish(struct recorder *recorder)
{
    if (atomic_load(&recorder->ended))
        return recorder->reported ? STATUS_FAILED : fail_again(&recorder->failure);
    enum status status = empty_ring(recorder);
    if (status == STATUS_OK)
        status = put_silence(recorder, recorder->losing);
    int failed = sf_close(recorder->file);
    recorder->file = NULL;
    if (!failed)
        write_layout(recorder);
    int error = recorder->io.error ? recorder->io.error : failed ? EIO : 0;
    if (!error)
        error = atomic_file_sync(recorder->destination.fd);
    if (status == STATUS_OK && error)
        status = fail_errno(error, "cannot write %s", recorder->path);
    return status;
}

enum status recorder_close(struct recorder *recorder, struct recording *recording)
{
    *recording = (struct recording){0};
    if (!recorder)
        return STATUS_OK;
    pthread_mutex_lock(&recorder->lock);
    recorder->leave = true;
    pthread_cond_signal(&recorder->asked);
    pthread_mutex_unlock(&recorder->lock);
    pthread_join(recorder->thread, NULL);
    enum status status = finish(recorder);
    *recording = recorder->recording;
    recorder_free(recorder);
    return status;
}
