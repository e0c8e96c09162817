/* Sound files and streams as a sink, through libsndfile.
 *
 * A regular file is written under a hidden name in the same folder and renamed when complete.
 * Anything else (a pipe, a device) is written directly. */
#include "base/atomic_file.h"
#include "base/files_read.h"
#include "base/stop.h"
#include "sound/port.h"
#include "sound/sound_io.h"
#include "sound/stream_header.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A WAV that may become larger is written as RF64; leaves space for headers and tags. */
#define WAV_BYTES_MOST (UINT32_MAX - (UINT32_C(1) << 20))

struct sound_sink {
    struct sink sink;
    SNDFILE *file;
    int fd;
    struct sound_io io;
    const char *name;           /* for messages */
    struct atomic_file regular; /* empty if written directly */
    struct stream_format format;
    unsigned bits; /* of an integer format, else 0 */
    bool dither;
    bool rf64;        /* or downgraded to WAV */
    bool pad_to_even; /* a WAV chunk of odd length needs a pad byte */
    uint64_t samples;
    size_t chunk; /* frames */
    void *interleaved;
};

static void sound_sink_close(struct sink *sink)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    if (sound->file)
        sf_close(sound->file);
    if (sound->fd >= 0)
        close(sound->fd);
    atomic_file_discard(&sound->regular);
    free(sound->interleaved);
    free(sound);
}

static enum status refuse_write(const struct sound_sink *sound, int error)
{
    if (stop_requested())
        return STATUS_INTERRUPTED;
    const char *text = error ? strerror(error) : sf_strerror(sound->file);
    const char *end = strstr(text, "System error : ");
    if (end)
        text = end + strlen("System error : ");
    return fail(STATUS_FAILED, "cannot write %s: %.*s%s", sound->name, (int)strcspn(text, ".\r\n"),
                text, sound->regular.temporary ? "; nothing was changed" : "");
}

/* What to write: one of them. */
struct rows_to_write {
    const float *const *single;
    const double *const *in_double;
};

/* As the file's integers. */
static sf_count_t write_integers(struct sound_sink *sound, const struct rows_to_write *rows,
                                 size_t at, size_t frames)
{
    size_t channels = sound->format.channels;
    uint64_t clipped =
        rows->single
            ? quantise_interleave(rows->single, at, channels, frames, sound->bits, sound->dither,
                                  sound->samples, sound->interleaved)
            : quantise_interleave_in_double(rows->in_double, at, channels, frames, sound->bits,
                                            sound->dither, sound->samples, sound->interleaved);
    sound->sink.clipped += clipped;
    return sf_writef_int(sound->file, sound->interleaved, (sf_count_t)frames);
}

static sf_count_t write_reals(struct sound_sink *sound, const struct rows_to_write *rows, size_t at,
                              size_t frames)
{
    size_t channels = sound->format.channels;
    if (rows->single) {
        audio_interleave(rows->single, at, channels, frames, sound->interleaved);
        return sf_writef_float(sound->file, sound->interleaved, (sf_count_t)frames);
    }
    audio_interleave_in_double(rows->in_double, at, channels, frames, sound->interleaved);
    return sf_writef_double(sound->file, sound->interleaved, (sf_count_t)frames);
}

static enum status write_rows(struct sound_sink *sound, const struct rows_to_write *rows,
                              size_t frames)
{
    for (size_t done = 0; done < frames;) {
        size_t part = frames - done < sound->chunk ? frames - done : sound->chunk;
        if (!sound_io_has_memory(&sound->io, sound->format.channels))
            return refuse_write(sound, ENOMEM);
        sf_count_t written = (sound->bits ? write_integers : write_reals)(sound, rows, done, part);
        if (written != (sf_count_t)part || sound->io.error)
            return refuse_write(sound, sound->io.error);
        sound->samples += part * sound->format.channels;
        done += part;
    }
    return STATUS_OK;
}

static enum status sound_sink_write(struct sink *sink, const float *const *planar, size_t frames)
{
    const struct rows_to_write rows = {.single = planar};
    return write_rows((struct sound_sink *)sink, &rows, frames);
}

static enum status sound_sink_write_in_double(struct sink *sink, const double *const *planar,
                                              size_t frames)
{
    const struct rows_to_write rows = {.in_double = planar};
    return write_rows((struct sound_sink *)sink, &rows, frames);
}

/* libsndfile always writes the time of day into the PEAK chunk of an RF64 file: clear it, so that
 * output is reproducible. */
static int clear_peak_time(int fd)
{
    unsigned char chunk[8];
    ssize_t got;
    off_t at = 12;
    while ((got = pread(fd, chunk, sizeof chunk, at)) == sizeof chunk) {
        if (memcmp(chunk, "data", 4) == 0)
            return 0;
        if (memcmp(chunk, "PEAK", 4) == 0)
            return pwrite(fd, "\0\0\0", 4, at + 12) == 4 ? 0 : errno;
        uint32_t size = (uint32_t)chunk[4] | (uint32_t)chunk[5] << 8 | (uint32_t)chunk[6] << 16 |
                        (uint32_t)chunk[7] << 24;
        at += 8 + (off_t)size + (size & 1);
    }
    return got < 0 ? errno : 0;
}

static enum status sound_sink_commit(struct sink *sink)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    int failed = sf_close(sound->file);
    sound->file = NULL;
    int error = sound->io.error ? sound->io.error : failed ? EIO : 0;
    if (!error && sound->pad_to_even)
        error = sound_io_append(&sound->io, "", 1);
    if (!error && sound->rf64 && sound->regular.temporary)
        error = clear_peak_time(sound->fd);
    if (close(sound->fd) != 0 && !error)
        error = errno;
    sound->fd = -1;
    if (error)
        return refuse_write(sound, error);
    return sound->regular.temporary ? atomic_file_keep(&sound->regular, sound->name) : STATUS_OK;
}

static const struct sink_kind sound_sink_kind = {.write = sound_sink_write,
                                                 .write_in_double = sound_sink_write_in_double,
                                                 .commit = sound_sink_commit,
                                                 .close = sound_sink_close};

/* Open the destination; *stream: it does not seek. */
static enum status open_output(struct sound_sink *sound, const struct sink_settings *settings,
                               bool *stream)
{
    struct stat about;
    *stream = true;
    if (strcmp(settings->path, "-") == 0) {
        sound->name = "standard output";
        if (fstat(STDOUT_FILENO, &about) == 0 && files_read_hold(&about))
            return fail(STATUS_FAILED, "cannot write standard output: %s", FILES_READ_ADVICE);
        if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
            return fail(STATUS_FAILED, "cannot write standard output: it is closed");
        sound->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return sound->fd < 0 ? refuse_write(sound, errno) : STATUS_OK;
    }
    bool exists = stat(settings->path, &about) == 0;
    if (exists && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        sound->fd = open(settings->path, O_WRONLY | O_CLOEXEC);
        return sound->fd < 0 ? refuse_write(sound, errno) : STATUS_OK;
    }
    *stream = false;
    enum status status = atomic_file_open(&sound->regular, settings->path, settings->force);
    sound->fd = sound->regular.fd;
    sound->sink.beside = sound->regular.path;
    return status;
}

/* Whether samples of a known length stay below WAV_BYTES_MOST; `otherwise` if unknown. */
static bool fits_wav(const struct sink_settings *settings, bool otherwise)
{
    uint64_t frame =
        sound_format_bytes(settings->sound_format) * (uint64_t)settings->format.channels;
    if (settings->frames == FRAMES_UNKNOWN || frame == 0)
        return otherwise;
    return (uint64_t)settings->frames <= WAV_BYTES_MOST / frame;
}

/* libsndfile's container; SF_FORMAT_RAW if the header is ours. */
static int major_of(const struct sink_settings *settings, bool stream)
{
    int major = settings->sound_format & SF_FORMAT_TYPEMASK;
    bool wav = major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX || major == SF_FORMAT_RF64;
    if (stream && (wav || major == SF_FORMAT_AU))
        return SF_FORMAT_RAW;
    return !wav || fits_wav(settings, false) ? major : SF_FORMAT_RF64;
}

/* Write a header of ours; the samples follow as raw data. */
static enum status open_stream(struct sound_sink *sound, const struct sink_settings *settings,
                               SF_INFO *info)
{
    bool au = (settings->sound_format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AU;
    int fd = fcntl(sound->fd, F_DUPFD_CLOEXEC, 3);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!stream) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return refuse_write(sound, error);
    }
    enum status status =
        au ? stream_header_write_au(stream, sound->name, &settings->format, settings->sound_format,
                                    settings->frames)
           : stream_header_write_wav(stream, sound->name, &settings->format, settings->sound_format,
                                     settings->frames, settings->traits);
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = refuse_write(sound, errno);
    TRY(status);
    uint64_t bytes = sound_format_bytes(settings->sound_format) *
                     (uint64_t)settings->format.channels * (uint64_t)settings->frames;
    sound->pad_to_even = !au && settings->frames != FRAMES_UNKNOWN && bytes % 2 == 1;
    info->format |= au ? SF_ENDIAN_BIG : SF_ENDIAN_LITTLE;
    return STATUS_OK;
}

/* Refuse containers with 32-bit sizes and no 64-bit variant. */
static enum status check_size(const struct sound_sink *sound, const struct sink_settings *settings,
                              int major)
{
    bool large = major == SF_FORMAT_RF64 || major == SF_FORMAT_RAW || major == SF_FORMAT_W64 ||
                 major == SF_FORMAT_CAF || major == SF_FORMAT_FLAC || major == SF_FORMAT_OGG;
    if (large || fits_wav(settings, true))
        return STATUS_OK;
    return fail(STATUS_FAILED,
                "cannot write %s: its container is limited to 4 GB; choose wav, rf64, caf, w64 or "
                "flac",
                sound->name);
}

/* Containers that are valid without going back to their header. */
static bool goes_forward(int major)
{
    return major == SF_FORMAT_FLAC || major == SF_FORMAT_OGG || major == SF_FORMAT_MPEG;
}

static enum status open_sound(struct sound_sink *sound, const struct sink_settings *settings,
                              bool stream)
{
    int major = major_of(settings, stream);
    SF_INFO info = {.samplerate = (int)settings->format.rate,
                    .channels = (int)settings->format.channels,
                    .format = major | (settings->sound_format & SF_FORMAT_SUBMASK)};
    TRY(check_size(sound, settings, major));
    if (major == SF_FORMAT_RAW)
        TRY(open_stream(sound, settings, &info));
    else if (!goes_forward(major) && !sound_io_seekable(sound->fd))
        return fail(STATUS_FAILED,
                    "cannot write %s: its container needs a regular file; wav and au can be "
                    "streamed (--container)",
                    sound->name);
    sound_io_begin(&sound->io, sound->fd);
    sound->file = sound_io_open(&sound->io, SFM_WRITE, &info);
    if (sound->io.error)
        return refuse_write(sound, sound->io.error);
    if (!sound->file) {
        const char *text = sf_strerror(NULL);
        const char *cause = strstr(text, " : ");
        cause = cause ? cause + 3 : text;
        return fail(STATUS_FAILED, "cannot write %s: %.*s%s", sound->name,
                    (int)strcspn(cause, ".\r\n"), cause,
                    stream ? "; wav and au can be streamed (--container)" : "");
    }
    sound->rf64 = major == SF_FORMAT_RF64;
    sf_command(sound->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    if (major == SF_FORMAT_RF64 && (settings->sound_format & SF_FORMAT_TYPEMASK) != major)
        sf_command(sound->file, SFC_RF64_AUTO_DOWNGRADE, NULL, SF_TRUE);
    if (settings->traits && major != SF_FORMAT_RAW)
        sound_tags_write(sound->file, settings->traits);
    return STATUS_OK;
}

enum status sink_open_sound(const struct sink_settings *settings, struct sink **result)
{
    struct sound_sink *sound = calloc(1, sizeof *sound);
    if (!sound)
        return fail_memory("writing");
    sound->sink.kind = &sound_sink_kind;
    sound->fd = -1;
    sound->regular.fd = -1;
    sound->name = settings->path;
    sound->format = settings->format;
    sound->bits = sound_format_bits(settings->sound_format);
    sound->dither = settings->dither;
    sound->chunk = audio_chunk_frames(settings->format.channels);
    sound->interleaved = audio_alloc_in_double(sound->chunk * settings->format.channels);
    enum status status = STATUS_OK;
    bool stream = false;
    if (!sound->interleaved)
        status = fail_memory("writing");
    if (status || (status = open_output(sound, settings, &stream)) ||
        (status = open_sound(sound, settings, stream))) {
        sound_sink_close(&sound->sink);
        return status;
    }
    sound->sink.waits = stream;
    *result = &sound->sink;
    return STATUS_OK;
}
