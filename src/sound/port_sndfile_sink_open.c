/* A sound file or stream is opened for writing, through libsndfile. */
#include "sound/port_sndfile_sink.h"

#include "base/files_read.h"
#include "sound/sink_metadata.h"
#include "sound/sndfile_library.h"
#include "sound/stream_header.h"
#include "sound/w64_header.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A WAV that may become larger is written as RF64; leaves space for headers and tags. */
#define WAV_BYTES_MOST (UINT32_MAX - (UINT32_C(1) << 20))

/* Open the destination; *stream: it does not seek. */
static enum status open_output(struct sound_sink *sound, const struct sink_settings *settings,
                               bool *stream)
{
    struct stat about;
    *stream = true;
    if (strcmp(settings->path, "-") == 0) {
        sound->name = "standard output";
        if (fstat(STDOUT_FILENO, &about) == 0 && files_read_hold(&about))
            return fail(CAUSE_EXISTS, "cannot write standard output: %s", FILES_READ_ADVICE);
        if ((fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
            return fail(CAUSE_OTHER, "cannot write standard output: it is closed");
        sound->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return sound->fd < 0 ? sound_sink_refuse(sound, errno) : STATUS_OK;
    }
    bool exists = stat(settings->path, &about) == 0;
    if (exists && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode)) {
        sound->fd = open(settings->path, O_WRONLY | O_CLOEXEC);
        return sound->fd < 0 ? sound_sink_refuse(sound, errno) : STATUS_OK;
    }
    *stream = false;
    enum status status = atomic_file_open_recorded(&sound->regular, settings->path, settings->force,
                                                   settings->record);
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
    if (!stream && major == SF_FORMAT_W64)
        return SF_FORMAT_RAW;
    return !wav || fits_wav(settings, false) ? major : SF_FORMAT_RF64;
}

/* Write a header of ours; the samples follow as raw data. */
static enum status open_stream(struct sound_sink *sound, const struct sink_settings *settings,
                               SF_INFO *info)
{
    if (sound->w64) {
        int error = w64_header_begin(sound->fd, &settings->format, settings->sound_format,
                                     sound->w64_extensible, &sound->io.splice.bytes);
        info->format |= SF_ENDIAN_LITTLE;
        return error ? sound_sink_refuse(sound, error) : STATUS_OK;
    }
    bool au = (settings->sound_format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AU;
    int fd = fcntl(sound->fd, F_DUPFD_CLOEXEC, 3);
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "wb");
    if (!stream) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        return sound_sink_refuse(sound, error);
    }
    enum status status =
        au ? stream_header_write_au(stream, sound->name, &settings->format, settings->sound_format,
                                    settings->frames)
           : stream_header_write_wav(stream, sound->name, &settings->format, settings->sound_format,
                                     settings->frames, &sound->io.splice.bytes);
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = sound_sink_refuse(sound, errno);
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
    return fail(CAUSE_UNSUPPORTED,
                "cannot write %s: its container is limited to 4 GB; choose wav, rf64, caf, w64 or "
                "flac",
                sound->name);
}

/* Containers that are valid without going back to their header. */
static bool goes_forward(int major)
{
    return major == SF_FORMAT_FLAC || major == SF_FORMAT_OGG || major == SF_FORMAT_MPEG;
}

/* Into CAF and AIFF; of one or two channels where they are not mono and stereo. */
static void set_layout_chunk(struct sound_sink *sound)
{
    unsigned char content[CHANNEL_CHUNK_MOST];
    bool caf = sound->major == SF_FORMAT_CAF;
    if ((!caf && sound->major != SF_FORMAT_AIFF) ||
        !channel_layout_needs_extensible(sound->stated, sound->format.channels))
        return;
    SF_CHUNK_INFO chunk = {.id_size = 4, .data = content};
    memcpy(chunk.id, caf ? "chan" : "CHAN", 4);
    chunk.datalen =
        (unsigned)channel_order_put_chan(sound->stated, sound->format.channels, content);
    sf_set_chunk(sound->file, &chunk);
}

/* What is behind the header. Errors show in what is written next. */
static void drop_rest(const struct sound_sink *sound)
{
    off_t at = lseek(sound->fd, 0, SEEK_CUR);
    if (at > 0 && ftruncate(sound->fd, at) != 0)
        return;
}

static enum status open_sound(struct sound_sink *sound, const struct sink_settings *settings,
                              bool stream)
{
    int major = major_of(settings, stream);
    channel_order_choose(sound->name, settings->sound_format, &settings->format, &sound->order,
                         &sound->stated);
    TRY(sink_metadata_plan(settings, stream, sound->stated, &sound->io.splice));
    SF_INFO info = {.samplerate = (int)settings->format.rate,
                    .channels = (int)settings->format.channels,
                    .format = major | (settings->sound_format & SF_FORMAT_SUBMASK)};
    TRY(library_open(&sndfile_library));
    TRY(check_size(sound, settings, major));
    sound->w64 =
        major == SF_FORMAT_RAW && (settings->sound_format & SF_FORMAT_TYPEMASK) == SF_FORMAT_W64;
    sound->w64_extensible =
        sound->w64 && channel_layout_needs_extensible(sound->stated, settings->format.channels);
    sound->extensible = (settings->sound_format & SF_FORMAT_TYPEMASK) != SF_FORMAT_WAV;
    if (major == SF_FORMAT_RAW)
        TRY(open_stream(sound, settings, &info));
    else if (!goes_forward(major) && !sound_io_seekable(sound->fd))
        return fail(CAUSE_UNSUPPORTED,
                    "cannot write %s: its container needs a regular file; wav and au can be "
                    "streamed (--container)",
                    sound->name);
    sound_io_begin(&sound->io, sound->fd);
    sound->file = sound_io_open(&sound->io, SFM_WRITE, &info);
    if (sound->io.error)
        return sound_sink_refuse(sound, sound->io.error);
    if (!sound->file) {
        const char *text = sound->io.open_problem;
        const char *cause = strstr(text, " : ");
        cause = cause ? cause + 3 : text;
        return fail(CAUSE_UNSUPPORTED, "cannot write %s: %.*s%s", sound->name,
                    (int)strcspn(cause, ".\r\n"), cause,
                    stream ? "; wav and au can be streamed (--container)" : "");
    }
    sound->major = major;
    sound->rf64 = major == SF_FORMAT_RF64;
    set_layout_chunk(sound);
    double quality = (settings->quality - 1) / 10;
    if (quality >= 0)
        sf_command(sound->file, SFC_SET_VBR_ENCODING_QUALITY, &quality, sizeof quality);
    sf_command(sound->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    if (major == SF_FORMAT_AIFF) /* the header had that chunk, and fewer samples leave its end */
        drop_rest(sound);
    if (major == SF_FORMAT_RF64 && (settings->sound_format & SF_FORMAT_TYPEMASK) != major)
        sf_command(sound->file, SFC_RF64_AUTO_DOWNGRADE, NULL, SF_TRUE);
    return sink_metadata_set(&sound->io.splice, sound->file);
}

bool sink_puts_metadata_after(const struct sink_settings *settings)
{
    struct stat about;
    bool is_stream = strcmp(settings->path, "-") == 0 ||
                     (stat(settings->path, &about) == 0 && !S_ISREG(about.st_mode));
    return !is_stream && sink_metadata_follows(settings->sound_format & SF_FORMAT_TYPEMASK);
}

static enum status make_quantiser(struct sound_sink *sound, const struct sink_settings *settings)
{
    const struct quantiser_settings to = {.bits = sound_format_bits(settings->sound_format),
                                          .dither = settings->dither,
                                          .channels = settings->format.channels,
                                          .rate = settings->format.rate};
    sound->has_short = to.bits == 16;
    return to.bits ? quantiser_create(&to, &sound->quantiser) : STATUS_OK;
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
    sound->sound_format = settings->sound_format;
    bool is_double = (settings->sound_format & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE;
    sound->most = is_double ? DBL_MAX : FLT_MAX;
    sound->chunk = audio_chunk_frames(settings->format.channels);
    sound->interleaved = audio_alloc_unset_in_double(sound->chunk * settings->format.channels);
    enum status status = STATUS_OK;
    bool stream = false;
    if (!sound->interleaved)
        status = fail_memory("writing");
    if (status || (status = make_quantiser(sound, settings)) ||
        (status = open_output(sound, settings, &stream)) ||
        (status = open_sound(sound, settings, stream))) {
        sound_sink_kind.close(&sound->sink);
        return status;
    }
    sound->sink.waits = stream;
    sound->sink.takes_metadata = sound->regular.temporary &&
                                 sink_metadata_follows(settings->sound_format & SF_FORMAT_TYPEMASK);
    *result = &sound->sink;
    return STATUS_OK;
}
