#include "damaged.h"

#include "base/noise.h"
#include "sound/port.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sndfile.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CHANNELS_MOST = 8 };
enum { RATE = 48000, FRAMES = 100000, BLOCK = 4096, STREAMINFO_TOTAL = 21, STREAMINFO_END = 42 };

/* A file, and the samples that it gives. */
struct whole {
    unsigned char *bytes;
    size_t size;
    float *samples;
    size_t frames;
};

static struct whole wholes[DAMAGED_KINDS];

static int file_of(const unsigned char *bytes, size_t size)
{
    int fd = memfd_create("damaged", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    return fd;
}

/* ---- reading ---- */

/* The first channel. */
static bool read_all(struct source *source, float *samples, size_t *frames)
{
    static float part[CHANNELS_MOST][BLOCK];
    float *rows[CHANNELS_MOST];
    size_t got = BLOCK;
    for (size_t c = 0; c < CHANNELS_MOST; c++)
        rows[c] = part[c];
    *frames = 0;
    while (got == BLOCK) {
        if (source->format.channels > CHANNELS_MOST ||
            source_read(source, rows, BLOCK, &got) != STATUS_OK || *frames + got > 2 * FRAMES)
            return false;
        memcpy(samples + *frames, part[0], got * sizeof *samples);
        *frames += got;
    }
    return true;
}

/* False: it is refused. No frames: it has another rate or more channels. */
static bool read_path(const char *path, bool allows, size_t from, float *samples, size_t *frames)
{
    struct source *source = NULL;
    *frames = 0;
    bool is_read = source_open_sound(path, allows, &source) == STATUS_OK &&
                   (from == 0 || source_seek(source, from) == STATUS_OK) &&
                   read_all(source, samples, frames);
    if (is_read && (source->format.channels != 1 || source->format.rate != RATE))
        *frames = 0;
    source_close(source);
    return is_read;
}

struct feed {
    int fd;
    const unsigned char *bytes;
    size_t size;
};

static void *feed_pipe(void *context)
{
    const struct feed *feed = context;
    ssize_t part = 1;
    for (size_t done = 0; done < feed->size && part > 0; done += (size_t)part)
        part = write(feed->fd, feed->bytes + done, feed->size - done);
    close(feed->fd);
    return NULL;
}

static bool read_bytes(const unsigned char *bytes, size_t size, bool is_pipe, float *samples,
                       size_t *frames)
{
    char path[64];
    int ends[2] = {-1, -1};
    pthread_t thread;
    if (!is_pipe)
        ends[0] = file_of(bytes, size);
    else if (pipe2(ends, O_CLOEXEC) != 0)
        abort();
    struct feed feed = {.fd = ends[1], .bytes = bytes, .size = size};
    if (is_pipe && pthread_create(&thread, NULL, feed_pipe, &feed) != 0)
        abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    bool is_read = read_path(path, false, 0, samples, frames);
    close(ends[0]); /* ends the thread, if it still writes: SIGPIPE is ignored */
    if (is_pipe)
        pthread_join(thread, NULL);
    return is_read;
}

/* ---- the whole sounds ---- */

static bool write_kind(int format, int fd)
{
    static float samples[FRAMES];
    uint64_t state = 7;
    for (size_t i = 0; i < FRAMES; i++) /* the end is quiet: short frames */
        samples[i] = (i < FRAMES * 9 / 10 ? 0.5F : 0.01F) * noise_next(&state);
    SF_INFO info = {.format = format, .channels = 1, .samplerate = RATE};
    SNDFILE *file = sf_open_fd(fd, SFM_WRITE, &info, 0);
    bool is_written = file && sf_writef_float(file, samples, FRAMES) == FRAMES;
    return file && sf_close(file) == 0 && is_written;
}

static bool begin_kind(size_t kind)
{
    static const int formats[DAMAGED_KINDS] = {
        SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_FLAC | SF_FORMAT_PCM_24,
        SF_FORMAT_FLAC | SF_FORMAT_PCM_16, SF_FORMAT_OGG | SF_FORMAT_VORBIS,
        SF_FORMAT_OGG | SF_FORMAT_OPUS};
    struct whole *whole = &wholes[kind];
    int fd = file_of(NULL, 0);
    if (!write_kind(formats[kind], fd))
        return false;
    whole->size = (size_t)lseek(fd, 0, SEEK_END);
    whole->bytes = malloc(whole->size);
    whole->samples = malloc(2 * FRAMES * sizeof *whole->samples);
    if (!whole->bytes || !whole->samples ||
        pread(fd, whole->bytes, whole->size, 0) != (ssize_t)whole->size)
        abort();
    close(fd);
    if (kind == 2) { /* as an encoder that cannot seek leaves it: no length, no sum */
        whole->bytes[STREAMINFO_TOTAL] &= 0xF0;
        memset(whole->bytes + STREAMINFO_TOTAL + 1, 0, STREAMINFO_END - STREAMINFO_TOTAL - 1);
    }
    return read_bytes(whole->bytes, whole->size, false, whole->samples, &whole->frames);
}

bool damaged_begin(void)
{
    signal(SIGPIPE, SIG_IGN);
    for (size_t kind = 0; kind < DAMAGED_KINDS; kind++)
        if (!begin_kind(kind))
            return false;
    return true;
}

void damaged_end(void)
{
    for (size_t kind = 0; kind < DAMAGED_KINDS; kind++) {
        free(wholes[kind].bytes);
        free(wholes[kind].samples);
    }
}

size_t damaged_size(size_t kind)
{
    return wholes[kind].size;
}

/* ---- damage ---- */

static bool holds(const struct whole *whole, const unsigned char *bytes, size_t size, bool is_pipe)
{
    static float samples[2 * FRAMES];
    size_t frames;
    return !read_bytes(bytes, size, is_pipe, samples, &frames) ||
           (frames == whole->frames &&
            memcmp(samples, whole->samples, frames * sizeof *samples) == 0);
}

bool damaged_holds(size_t kind, const struct damaged_edit *edits, size_t count, bool is_pipe)
{
    const struct whole *whole = &wholes[kind];
    unsigned char *bytes = malloc(whole->size);
    if (!bytes)
        abort();
    memcpy(bytes, whole->bytes, whole->size);
    for (size_t i = 0; i < count; i++)
        bytes[edits[i].at % whole->size] ^= edits[i].bits;
    bool is_right = holds(whole, bytes, whole->size, is_pipe);
    free(bytes);
    return is_right;
}

bool damaged_holds_without(size_t kind, size_t at, size_t count, bool is_pipe)
{
    const struct whole *whole = &wholes[kind];
    unsigned char *bytes = malloc(whole->size);
    if (!bytes)
        abort();
    memcpy(bytes, whole->bytes, at);
    memcpy(bytes + at, whole->bytes + at + count, whole->size - at - count);
    bool is_right = holds(whole, bytes, whole->size - count, is_pipe);
    free(bytes);
    return is_right;
}

/* ---- what is taken all the same ---- */

static bool read_file(const unsigned char *bytes, size_t size, bool allows, size_t from,
                      float *samples, size_t *frames)
{
    char path[64];
    int fd = file_of(bytes, size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    bool is_read = read_path(path, allows, from, samples, frames);
    close(fd);
    return is_read;
}

bool damaged_keeps_places(size_t kind, const struct damaged_edit *edit)
{
    static float samples[2 * FRAMES];
    const struct whole *whole = &wholes[kind];
    size_t frames, wrong = 0;
    whole->bytes[edit->at] ^= edit->bits;
    bool is_read = read_file(whole->bytes, whole->size, true, 0, samples, &frames);
    whole->bytes[edit->at] ^= edit->bits;
    for (size_t i = 0; is_read && i < frames && i < whole->frames; i++)
        wrong += samples[i] != whole->samples[i] && samples[i] != 0;
    return is_read && frames == whole->frames && wrong == 0;
}

bool damaged_seeks(size_t kind, size_t frame)
{
    static float samples[2 * FRAMES];
    const struct whole *whole = &wholes[kind];
    size_t frames;
    return read_file(whole->bytes, whole->size, false, frame, samples, &frames) &&
           frames == whole->frames - frame &&
           memcmp(samples, whole->samples + frame, frames * sizeof *samples) == 0;
}
