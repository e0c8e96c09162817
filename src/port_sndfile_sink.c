/* Sound files and streams as a sink, through libsndfile.
 *
 * A regular file is written beside itself under a hidden name and renamed when
 * it is whole. Anything else (a pipe, a device) is written through. */
#include "port.h"
#include "quantise.h"
#include "stop.h"
#include "wav_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK_SAMPLES = 1 << 15,
    LINKS_MOST = 40,
};

/* A WAV that may pass this becomes an RF64; room is left for headers and tags. */
#define WAV_BYTES_MOST (UINT32_MAX - (UINT32_C(1) << 20))

struct sound_sink {
    struct sink sink;
    SNDFILE *file;
    int fd;           /* -1 once libsndfile owns it */
    char *path;       /* where the sound will be, links followed */
    const char *name; /* for messages */
    char *temporary;  /* NULL where the sink is written through */
    bool force;
    struct stream_format format;
    unsigned bits; /* of an integer format, else 0 */
    bool dither;
    bool pad_to_even; /* a WAV chunk of odd length ends with a byte that does not count */
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
    if (sound->temporary)
        unlink(sound->temporary);
    free(sound->temporary);
    free(sound->path);
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
                text, sound->temporary ? "; nothing was changed" : "");
}

static void interleave(const float *const *planar, size_t channels, size_t frames, float *out)
{
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            out[i * channels + c] = planar[c][i];
}

static enum status write_chunk(struct sound_sink *sound, const float *const *planar, size_t frames)
{
    size_t channels = sound->format.channels;
    sf_count_t written;
    errno = 0;
    if (sound->bits) {
        sound->sink.clipped +=
            quantise_interleave(planar, channels, frames, sound->bits, sound->dither,
                                sound->samples, sound->interleaved);
        written = sf_writef_int(sound->file, sound->interleaved, (sf_count_t)frames);
    } else {
        interleave(planar, channels, frames, sound->interleaved);
        written = sf_writef_float(sound->file, sound->interleaved, (sf_count_t)frames);
    }
    sound->samples += frames * channels;
    return written == (sf_count_t)frames ? STATUS_OK : refuse_write(sound, errno);
}

static enum status sound_sink_write(struct sink *sink, const float *const *planar, size_t frames)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    const float *at[sound->format.channels];
    for (size_t done = 0; done < frames;) {
        size_t part = frames - done < sound->chunk ? frames - done : sound->chunk;
        for (size_t c = 0; c < sound->format.channels; c++)
            at[c] = planar[c] + done;
        enum status status = write_chunk(sound, at, part);
        if (status != STATUS_OK)
            return status;
        done += part;
    }
    return STATUS_OK;
}

static enum status keep_file(struct sound_sink *sound)
{
    /* Without force, a file that came up meanwhile is not replaced either. */
    unsigned flags = sound->force ? 0 : RENAME_NOREPLACE;
    int failed = renameat2(AT_FDCWD, sound->temporary, AT_FDCWD, sound->path, flags);
    if (failed && errno == EINVAL) /* a file system without that flag */
        failed = rename(sound->temporary, sound->path);
    if (failed)
        return refuse_write(sound, errno);
    free(sound->temporary);
    sound->temporary = NULL;
    return STATUS_OK;
}

static enum status sound_sink_commit(struct sink *sink)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    errno = 0;
    if (sound->pad_to_even && sf_write_raw(sound->file, "", 1) != 1)
        return refuse_write(sound, errno);
    int error = sf_close(sound->file);
    int cause = errno;
    sound->file = NULL;
    if (error)
        return refuse_write(sound, cause ? cause : EIO);
    return sound->temporary ? keep_file(sound) : STATUS_OK;
}

static const struct sink_kind sound_sink_kind = {
    .write = sound_sink_write,
    .commit = sound_sink_commit,
    .close = sound_sink_close,
};

/* The path that is left when links are followed, also where the last leads nowhere yet. */
static char *follow_links(const char *path)
{
    char *at = strdup(path);
    for (int links = 0; at && links < LINKS_MOST; links++) {
        char target[PATH_MAX];
        ssize_t length = readlink(at, target, sizeof target - 1);
        if (length < 0)
            return at;
        target[length] = '\0';
        char *slash = strrchr(at, '/');
        char *next = NULL;
        if (target[0] == '/' || !slash)
            next = strdup(target);
        else if (asprintf(&next, "%.*s/%s", (int)(slash - at), at, target) < 0)
            next = NULL;
        free(at);
        at = next;
    }
    return at;
}

static enum status open_temporary(struct sound_sink *sound, mode_t mode)
{
    const char *slash = strrchr(sound->path, '/');
    int folder = slash ? (int)(slash - sound->path) + 1 : 0;
    const char *base = sound->path + folder;
    if (asprintf(&sound->temporary, "%.*s.%.200s.XXXXXX", folder, sound->path, base) < 0) {
        sound->temporary = NULL;
        return fail_memory("writing");
    }
    sound->fd = mkostemp(sound->temporary, O_CLOEXEC);
    if (sound->fd < 0) {
        int error = errno;
        free(sound->temporary);
        sound->temporary = NULL;
        return refuse_write(sound, error);
    }
    if (fchmod(sound->fd, mode) != 0)
        return refuse_write(sound, errno);
    return STATUS_OK;
}

static mode_t new_file_mode(void)
{
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

static bool is_input(const struct stat *output, const char *input)
{
    struct stat about;
    int found = strcmp(input, "-") == 0 ? fstat(STDIN_FILENO, &about) : stat(input, &about);
    return found == 0 && about.st_dev == output->st_dev && about.st_ino == output->st_ino;
}

/* Open what the sound is written to; *stream tells that it does not seek. */
static enum status open_output(struct sound_sink *sound, const struct sink_settings *settings,
                               bool *stream)
{
    struct stat about;
    *stream = true;
    if (strcmp(settings->path, "-") == 0) {
        sound->name = "standard output";
        sound->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return sound->fd < 0 ? refuse_write(sound, errno) : STATUS_OK;
    }
    sound->path = follow_links(settings->path);
    if (!sound->path)
        return fail_memory("writing");
    sound->name = settings->path;
    bool exists = stat(sound->path, &about) == 0;
    if (exists && S_ISDIR(about.st_mode))
        return fail(STATUS_FAILED, "cannot write %s: it is a directory", settings->path);
    if (exists && !S_ISREG(about.st_mode)) {
        sound->fd = open(sound->path, O_WRONLY | O_CLOEXEC);
        return sound->fd < 0 ? refuse_write(sound, errno) : STATUS_OK;
    }
    *stream = false;
    if (exists && settings->input && is_input(&about, settings->input))
        return fail(STATUS_FAILED, "cannot write %s: it is the input; choose another name",
                    settings->path);
    if (exists && !settings->force)
        return fail(STATUS_FAILED, "%s exists; --force replaces it", settings->path);
    if (exists && access(sound->path, W_OK) != 0)
        return refuse_write(sound, errno);
    return open_temporary(sound, exists ? about.st_mode & 07777 : new_file_mode());
}

static int major_of(const struct sink_settings *settings, bool stream)
{
    int major = settings->sound_format & SF_FORMAT_TYPEMASK;
    bool wav = major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX || major == SF_FORMAT_RF64;
    if (!wav)
        return major;
    if (stream)
        return SF_FORMAT_RAW; /* the header is ours */
    uint64_t frame =
        sound_format_bytes(settings->sound_format) * (uint64_t)settings->format.channels;
    bool small = settings->frames != FRAMES_UNKNOWN && frame > 0 &&
                 (uint64_t)settings->frames <= WAV_BYTES_MOST / frame;
    return small ? major : SF_FORMAT_RF64;
}

static enum status write_wav_header(struct sound_sink *sound, const struct sink_settings *settings)
{
    FILE *stream = fdopen(fcntl(sound->fd, F_DUPFD_CLOEXEC, 3), "wb");
    if (!stream)
        return refuse_write(sound, errno);
    enum status status =
        wav_stream_write(stream, sound->name, &settings->format, settings->sound_format,
                         settings->frames, settings->traits);
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = refuse_write(sound, errno);
    uint64_t bytes = sound_format_bytes(settings->sound_format) *
                     (uint64_t)settings->format.channels * (uint64_t)settings->frames;
    sound->pad_to_even = settings->frames != FRAMES_UNKNOWN && bytes % 2 == 1;
    return status;
}

static enum status open_sound(struct sound_sink *sound, const struct sink_settings *settings,
                              bool stream)
{
    int major = major_of(settings, stream);
    int subtype = settings->sound_format & SF_FORMAT_SUBMASK;
    SF_INFO info = {.samplerate = (int)settings->format.rate,
                    .channels = (int)settings->format.channels,
                    .format = major | subtype};
    if (major == SF_FORMAT_RAW) {
        info.format |= SF_ENDIAN_LITTLE;
        enum status status = write_wav_header(sound, settings);
        if (status != STATUS_OK)
            return status;
    }
    sound->file = sf_open_fd(sound->fd, SFM_WRITE, &info, SF_TRUE);
    sound->fd = -1; /* libsndfile closes it, also when it refuses */
    if (!sound->file) {
        const char *text = sf_strerror(NULL);
        const char *cause = strstr(text, " : ");
        cause = cause ? cause + 3 : text;
        return fail(STATUS_FAILED, "cannot write %s: %.*s%s", sound->name,
                    (int)strcspn(cause, ".\r\n"), cause,
                    stream ? "; wav and au can be streamed (--container)" : "");
    }
    /* The PEAK chunk holds the time of day: the same command would give other bytes. */
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
    sound->name = settings->path;
    sound->force = settings->force;
    sound->format = settings->format;
    sound->bits = sound_format_bits(settings->sound_format);
    sound->dither = settings->dither;
    sound->chunk = CHUNK_SAMPLES / settings->format.channels;
    if (sound->chunk == 0)
        sound->chunk = 1;
    sound->interleaved = audio_alloc(sound->chunk * settings->format.channels);
    bool stream = false;
    enum status status =
        sound->interleaved ? open_output(sound, settings, &stream) : fail_memory("writing");
    if (status == STATUS_OK)
        status = open_sound(sound, settings, stream);
    if (status != STATUS_OK) {
        sound_sink_close(&sound->sink);
        return status;
    }
    *result = &sound->sink;
    return STATUS_OK;
}
