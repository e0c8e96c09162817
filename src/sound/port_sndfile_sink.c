/* Sound files and streams as a sink, through libsndfile.
 *
 * A regular file is written under a hidden name in the same folder and renamed when complete.
 * Anything else (a pipe, a device) is written directly. */
#include "base/atomic_file.h"
#include "base/files_read.h"
#include "base/simd.h"
#include "base/stop.h"
#include "sound/channel_order.h"
#include "sound/port.h"
#include "sound/sink_metadata.h"
#include "sound/sndfile_library.h"
#include "sound/sound_io.h"
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

struct sound_sink {
    struct sink sink;
    SNDFILE *file;
    int fd;
    struct sound_io io;
    const char *name;           /* for messages */
    struct atomic_file regular; /* empty if written directly */
    struct stream_format format;
    struct channel_order order;
    struct channel_layout stated; /* by the file */
    int major;                    /* that libsndfile writes */
    bool extensible;              /* if it is a WAV */
    bool w64;                     /* whose header is ours */
    bool has_short;               /* integers of 16 bits */
    double most;                  /* the largest sample of any other format */
    struct quantiser *quantiser;  /* of an integer format, else NULL */
    bool rf64;                    /* or downgraded to WAV */
    bool pad_to_even;             /* a WAV chunk of odd length needs a pad byte */
    size_t chunk;                 /* frames */
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
    quantiser_destroy(sound->quantiser);
    sound_splice_free(&sound->io.splice);
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

/* Single precision has no sample beyond what every format holds. */
static enum status check_range(const struct sound_sink *sound, const struct rows_to_write *rows,
                               size_t frames)
{
    bool is_limited = rows->in_double && !sound->quantiser && sound->most < DBL_MAX;
    for (size_t c = 0; is_limited && c < sound->format.channels; c++) {
        double peak = audio_peak_in_double(rows->in_double[c], frames);
        if (peak > sound->most)
            return fail(STATUS_FAILED,
                        "cannot write %s: a sample of %g is beyond single precision; choose "
                        "--format double, or lower it with --gain",
                        sound->name, peak);
    }
    return STATUS_OK;
}

/* Left-justified 32 bits to the 16 that libsndfile then writes as they are. */
SIMD_CLONES
static void shorten(const int32_t *restrict from, size_t count, int16_t *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (int16_t)(from[i] >> 16);
}

/* As the file's integers. */
static sf_count_t write_integers(struct sound_sink *sound, const struct rows_to_write *rows,
                                 size_t at, size_t frames)
{
    uint64_t clipped =
        rows->single
            ? quantiser_interleave(sound->quantiser, rows->single, at, frames, sound->interleaved)
            : quantiser_interleave_in_double(sound->quantiser, rows->in_double, at, frames,
                                             sound->interleaved);
    sound->sink.clipped += clipped;
    if (!sound->has_short)
        return sf_writef_int(sound->file, sound->interleaved, (sf_count_t)frames);
    size_t count = frames * sound->format.channels;
    int32_t *integers = sound->interleaved;
    int16_t *shorts = (void *)(integers + count); /* there is room for doubles */
    shorten(integers, count, shorts);
    return sf_writef_short(sound->file, shorts, (sf_count_t)frames);
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
    TRY(check_range(sound, rows, frames));
    for (size_t done = 0; done < frames;) {
        size_t part = frames - done < sound->chunk ? frames - done : sound->chunk;
        if (!sound_io_has_memory(&sound->io, sound->format.channels))
            return refuse_write(sound, ENOMEM);
        sf_count_t written =
            (sound->quantiser ? write_integers : write_reals)(sound, rows, done, part);
        if (written != (sf_count_t)part || sound->io.error)
            return refuse_write(sound, sound->io.error);
        done += part;
    }
    return STATUS_OK;
}

static enum status sound_sink_write(struct sink *sink, const float *const *planar, size_t frames)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    const float *sorted[CHANNEL_ORDER_MOST];
    for (size_t c = 0; c < sound->order.count; c++)
        sorted[c] = planar[sound->order.rows[c]];
    const struct rows_to_write rows = {.single = sound->order.count ? sorted : planar};
    return write_rows(sound, &rows, frames);
}

static enum status sound_sink_write_in_double(struct sink *sink, const double *const *planar,
                                              size_t frames)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    const double *sorted[CHANNEL_ORDER_MOST];
    for (size_t c = 0; c < sound->order.count; c++)
        sorted[c] = planar[sound->order.rows[c]];
    const struct rows_to_write rows = {.in_double = sound->order.count ? sorted : planar};
    return write_rows(sound, &rows, frames);
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

/* What libsndfile does not write, or not as it is. */
static int write_layout(const struct sound_sink *sound)
{
    if (sound->w64)
        return w64_header_end(sound->fd, sound->io.splice.bytes.size);
    if (sound->major == SF_FORMAT_WAVEX || sound->major == SF_FORMAT_RF64)
        return channel_layout_patch_wav(sound->fd, sound->stated, sound->extensible);
    return 0;
}

static enum status sound_sink_commit(struct sink *sink)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    int failed = sf_close(sound->file);
    sound->file = NULL;
    if (!sound_splice_finish(&sound->io.splice))
        failed = -1;
    int error = sound->io.error ? sound->io.error : failed ? EIO : 0;
    if (!error && sound->pad_to_even)
        error = sound_io_append(&sound->io, "", 1);
    if (!error && sound->rf64 && sound->regular.temporary)
        error = clear_peak_time(sound->fd);
    if (!error && sound->regular.temporary)
        error = write_layout(sound);
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
    enum status status = atomic_file_open_recorded(&sound->regular, settings->path, settings->force,
                                                   settings->record);
    sound->fd = sound->regular.fd;
    sound->sink.beside = sound->regular.path;
    return status;
}

/* Whether samples of a known length stay below WAV_BYTES_MOST; `otherwise` if unknown. */
static bool fits_wav(const struct sound_sink *sound, const struct sink_settings *settings,
                     bool otherwise)
{
    uint64_t frame =
        sound_format_bytes(settings->sound_format) * (uint64_t)settings->format.channels;
    if (settings->frames == FRAMES_UNKNOWN || frame == 0)
        return otherwise;
    return (uint64_t)settings->frames <= (WAV_BYTES_MOST - sound->io.splice.bytes.size) / frame;
}

/* libsndfile's container; SF_FORMAT_RAW if the header is ours. */
static int major_of(const struct sound_sink *sound, const struct sink_settings *settings,
                    bool stream)
{
    int major = settings->sound_format & SF_FORMAT_TYPEMASK;
    bool wav = major == SF_FORMAT_WAV || major == SF_FORMAT_WAVEX || major == SF_FORMAT_RF64;
    if (stream && (wav || major == SF_FORMAT_AU))
        return SF_FORMAT_RAW;
    if (!stream && major == SF_FORMAT_W64 &&
        channel_layout_needs_extensible(settings->format.layout, settings->format.channels))
        return SF_FORMAT_RAW;
    return !wav || fits_wav(sound, settings, false) ? major : SF_FORMAT_RF64;
}

/* Write a header of ours; the samples follow as raw data. */
static enum status open_stream(struct sound_sink *sound, const struct sink_settings *settings,
                               SF_INFO *info)
{
    if (sound->w64) {
        int error = w64_header_begin(sound->fd, &settings->format, settings->sound_format,
                                     &sound->io.splice.bytes);
        sound->io.splice.kind = SPLICE_NONE; /* the header has it */
        info->format |= SF_ENDIAN_LITTLE;
        return error ? refuse_write(sound, error) : STATUS_OK;
    }
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
                                     settings->frames, &sound->io.splice.bytes);
    if (fclose(stream) != 0 && status == STATUS_OK)
        status = refuse_write(sound, errno);
    TRY(status);
    sound->io.splice.kind = SPLICE_NONE; /* the header has it */
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
    if (large || fits_wav(sound, settings, true))
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

/* What surrounds the samples may make an RF64 of a WAV, which has it in another form. */
static enum status plan_around(struct sound_sink *sound, const struct sink_settings *settings,
                               bool stream, int *major)
{
    bool was_rf64 = major_of(sound, settings, stream) == SF_FORMAT_RF64;
    TRY(sink_metadata_plan(settings, was_rf64, sound->stated, &sound->io.splice));
    *major = major_of(sound, settings, stream);
    if (was_rf64 || *major != SF_FORMAT_RF64)
        return STATUS_OK;
    sound_splice_free(&sound->io.splice);
    return sink_metadata_plan(settings, true, sound->stated, &sound->io.splice);
}

static enum status open_sound(struct sound_sink *sound, const struct sink_settings *settings,
                              bool stream)
{
    int major;
    channel_order_choose(sound->name, settings->sound_format, &settings->format, &sound->order,
                         &sound->stated);
    TRY(plan_around(sound, settings, stream, &major));
    SF_INFO info = {.samplerate = (int)settings->format.rate,
                    .channels = (int)settings->format.channels,
                    .format = major | (settings->sound_format & SF_FORMAT_SUBMASK)};
    TRY(library_open(&sndfile_library));
    TRY(check_size(sound, settings, major));
    sound->w64 =
        major == SF_FORMAT_RAW && (settings->sound_format & SF_FORMAT_TYPEMASK) == SF_FORMAT_W64;
    sound->extensible = (settings->sound_format & SF_FORMAT_TYPEMASK) != SF_FORMAT_WAV;
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
        const char *text = sound->io.open_problem;
        const char *cause = strstr(text, " : ");
        cause = cause ? cause + 3 : text;
        return fail(STATUS_FAILED, "cannot write %s: %.*s%s", sound->name,
                    (int)strcspn(cause, ".\r\n"), cause,
                    stream ? "; wav and au can be streamed (--container)" : "");
    }
    sound->major = major;
    sound->rf64 = major == SF_FORMAT_RF64;
    set_layout_chunk(sound);
    sf_command(sound->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
    if (major == SF_FORMAT_RF64 && (settings->sound_format & SF_FORMAT_TYPEMASK) != major)
        sf_command(sound->file, SFC_RF64_AUTO_DOWNGRADE, NULL, SF_TRUE);
    if (major != SF_FORMAT_RAW)
        TRY(sink_metadata_set(settings, &sound->io.splice, sound->file));
    return STATUS_OK;
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
    bool is_double = (settings->sound_format & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE;
    sound->most = is_double ? DBL_MAX : FLT_MAX;
    sound->chunk = audio_chunk_frames(settings->format.channels);
    sound->interleaved = audio_alloc_in_double(sound->chunk * settings->format.channels);
    enum status status = STATUS_OK;
    bool stream = false;
    if (!sound->interleaved)
        status = fail_memory("writing");
    if (status || (status = make_quantiser(sound, settings)) ||
        (status = open_output(sound, settings, &stream)) ||
        (status = open_sound(sound, settings, stream))) {
        sound_sink_close(&sound->sink);
        return status;
    }
    sound->sink.waits = stream;
    *result = &sound->sink;
    return STATUS_OK;
}
