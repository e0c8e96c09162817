/* A sound file or stream as a sink, through libsndfile. A regular file is written under a hidden
 * name in its folder and renamed when complete; a pipe or a device is written directly. */
#include "base/atomic_file.h"
#include "base/files_read.h"
#include "base/simd.h"
#include "base/stop.h"
#include "sound/file/channel_order.h"
#include "sound/file/sound_io.h"
#include "sound/file/stream_header.h"
#include "sound/port.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sound_sink {
    struct sink sink;
    SNDFILE *file;
    int fd;
    struct sound_io io;
    const char *name;           /* for messages */
    struct atomic_file regular; /* empty if written directly */
    struct stream_format format;
    struct channel_order order;
    struct channel_layout stated; /* layout that the file states */
    int major;                    /* container that libsndfile writes */
    bool extensible;              /* WAV: the format is extensible */
    bool w64;                     /* a W64 whose header halo writes */
    bool w64_extensible;          /* that header is extensible and has a layout */
    bool has_short;               /* the samples are 16-bit integers */
    double most;                  /* largest sample that a format without integers holds */
    struct quantiser *quantiser;  /* for an integer format, else NULL */
    bool rf64;        /* RF64; unless that was requested, a small file becomes WAV at the end */
    bool pad_to_even; /* a WAV chunk of odd length needs a pad byte */
    bool is_finished; /* complete except for metadata after the samples and the name */
    uint64_t frames;  /* frames written */
    int sound_format; /* format of OUT, whether libsndfile or halo writes its header */
    size_t chunk;     /* frames */
    void *interleaved;
};

/* ---- metadata around the samples ---- */

/* Put metadata in front of the samples. libsndfile finds no samples after about 50,000 bytes of
 * chunks, or after damaged chunks of some kinds. The most valuable kinds are chosen first. */
static void put_in_front(struct sound_metadata *metadata, enum metadata_family family,
                         struct metadata_buffer *bytes)
{
    enum { MOST = 32768 };
    unsigned without = METADATA_ALL;
    metadata->why_without = "there is no room for it in front of the samples";
    for (unsigned kind = METADATA_BROADCAST; kind > METADATA_OTHERS; kind >>= 1) {
        metadata->without = without & ~kind;
        bytes->size = 0;
        metadata_forms[family]->write(metadata, family, true, bytes);
        without &= bytes->size <= MOST ? ~kind : METADATA_ALL;
    }
    metadata->without = without;
    bytes->size = 0;
    metadata_keep_none(metadata);
    metadata_forms[family]->write(metadata, family, true, bytes);
}

static enum splice_kind plan_flac(const struct sink_settings *settings,
                                  struct channel_layout layout, struct sound_splice *splice)
{
    char mask[16];
    bool is_implied =
        !channel_layout_is_known(layout) ||
        channel_layout_equals(layout, channel_layout_of_flac(settings->format.channels));
    snprintf(mask, sizeof mask, "0x%04X", layout.speakers);
    const struct metadata_change change = {
        .frames = settings->frames,
        .rate = settings->format.rate,
        .channels = settings->format.channels,
        .bits = sound_format_bits(settings->sound_format),
        .bytes = sound_format_bytes(settings->sound_format),
    };
    metadata_write_comments(settings->metadata, is_implied ? NULL : mask, false, COMMENTS_MOST,
                            &splice->comments);
    if (settings->metadata)
        metadata_write_flac(settings->metadata, &change, &splice->bytes);
    return splice->comments.size > 4 || splice->bytes.size > 0 ? SPLICE_FLAC : SPLICE_NONE;
}

/* Most bytes of comments in an Opus: libsndfile has 51,200 bytes for its header. */
enum { OPUS_MOST = 50000 };

static enum splice_kind plan_ogg(const struct sink_settings *settings, struct channel_layout layout,
                                 struct sound_splice *splice)
{
    bool is_opus = (settings->sound_format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
    (void)layout;
    if (!settings->metadata)
        return SPLICE_NONE;
    metadata_write_comments(settings->metadata, NULL, true, is_opus ? OPUS_MOST : COMMENTS_MOST,
                            &splice->comments);
    return splice->comments.size > 4 ? SPLICE_OGG : SPLICE_NONE;
}

static enum splice_kind plan_mpeg(const struct sink_settings *settings,
                                  struct channel_layout layout, struct sound_splice *splice)
{
    (void)layout;
    if (settings->metadata)
        metadata_write_id3(settings->metadata, true, &splice->bytes);
    return splice->bytes.size > 0 ? SPLICE_FRONT : SPLICE_NONE;
}

/* ---- containers ---- */

/* Properties of a container for writing. */
struct sink_container {
    int major;
    enum metadata_family family; /* family of the container's chunks */
    bool is_wav;
    bool is_large;            /* files may exceed 4 GB */
    bool goes_forward;        /* files are valid without seeking back to the header */
    bool takes_behind;        /* chunks go after the samples, which libsndfile always finds */
    bool in_file, in_stream;  /* halo writes the header, chunks included, of a file; of a stream */
    const char *layout_chunk; /* name of the chunk for the channel layout, or NULL */
    /* Plans metadata that is spliced into the bytes of libsndfile. NULL: none is. */
    enum splice_kind (*plan)(const struct sink_settings *settings, struct channel_layout layout,
                             struct sound_splice *splice);
};

static const struct sink_container *container_of(int format)
{
    static const struct sink_container others = {0};
    static const struct sink_container rows[] = {
        {SF_FORMAT_WAV, .is_wav = true, .takes_behind = true, .in_stream = true},
        {SF_FORMAT_WAVEX, .is_wav = true, .takes_behind = true, .in_stream = true},
        {SF_FORMAT_RF64, .is_wav = true, .is_large = true, .takes_behind = true, .in_stream = true},
        {SF_FORMAT_W64, FAMILY_W64, .is_large = true, .in_file = true},
        {SF_FORMAT_AU, .in_stream = true},
        {SF_FORMAT_AIFF, FAMILY_AIFF, .takes_behind = true, .layout_chunk = "CHAN"},
        {SF_FORMAT_CAF, FAMILY_CAF, .is_large = true, .takes_behind = true, .layout_chunk = "chan"},
        {SF_FORMAT_FLAC, .is_large = true, .goes_forward = true, .plan = plan_flac},
        {SF_FORMAT_OGG, .is_large = true, .goes_forward = true, .plan = plan_ogg},
        {SOUND_MPEG, .goes_forward = true, .plan = plan_mpeg},
        {SF_FORMAT_RAW, .is_large = true}, /* halo has written the header before */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].major == (format & SF_FORMAT_TYPEMASK))
            return &rows[i];
    return &others;
}

static enum status sink_metadata_plan(const struct sink_settings *settings, bool is_stream,
                                      struct channel_layout layout, struct sound_splice *splice)
{
    const struct sink_container *container = container_of(settings->sound_format);
    if (container->plan)
        splice->kind = container->plan(settings, layout, splice);
    else if (settings->metadata && (is_stream ? container->is_wav : container->in_file))
        put_in_front(settings->metadata, container->family, &splice->bytes);
    TRY(metadata_buffer_status(&splice->bytes));
    return metadata_buffer_status(&splice->comments);
}

enum status sink_metadata_plan_after(struct sound_metadata *metadata, int container, bool is_rf64,
                                     uint64_t size, struct metadata_buffer *chunks)
{
    enum { MARGIN = 64 }; /* bytes for additions at the end of the file */
    enum metadata_family family = is_rf64 ? FAMILY_RF64 : container_of(container)->family;
    bool is_narrow = !is_rf64 && family != FAMILY_CAF;
    chunks->size = 0;
    metadata_keep_none(metadata);
    metadata_forms[family]->write(metadata, family, true, chunks);
    if (is_narrow && size + chunks->size + MARGIN > UINT32_MAX) {
        chunks->size = 0;
        metadata_keep_none(metadata);
    }
    return metadata_buffer_status(chunks);
}

/* The offset at which a chunk after the samples begins; 0: there is no chunk of samples. */
static uint64_t end_of_samples(struct sound_chunks *chunks)
{
    struct sound_chunk chunk;
    while (sound_chunks_next(chunks, &chunk) && !chunk.is_absurd)
        if (chunk.is_data)
            return chunk.is_open ? 0 : chunks->at;
    return 0;
}

/* Append chunks to a complete file. Returns 0 or an errno. */
static int sink_metadata_append(int fd, const struct metadata_buffer *added)
{
    struct sound_bytes bytes = sound_bytes_of_file(fd);
    struct sound_chunks chunks;
    const char zeros[16] = "";
    unsigned char number[8];
    uint64_t at = sound_chunks_begin(&bytes, &chunks) ? end_of_samples(&chunks) : 0;
    if (at == 0)
        return bytes.error ? bytes.error : EIO;
    size_t padding =
        at > bytes.size ? (size_t)(at - bytes.size) : 0; /* padding, less than a chunk's align */
    int error = padding < sizeof zeros ? sound_bytes_write(fd, bytes.size, zeros, padding) : EIO;
    if (bytes.size > at + 1) /* libsndfile has put chunks there; one byte is its padding in a CAF */
        at = bytes.size;
    if (!error)
        error = sound_bytes_write(fd, at, added->bytes, added->size);
    const struct chunk_layout *layout = chunks.layout;
    if (error || layout->whole_bytes == 0)
        return error;
    struct metadata_buffer whole = {.bytes = number, .capacity = layout->whole_bytes};
    (layout->big_endian ? metadata_put_big : metadata_put_little)(
        &whole, at + added->size - layout->whole_less, layout->whole_bytes);
    return sound_bytes_write(fd, layout->whole_at, number, layout->whole_bytes);
}

/* Set a comment that makes room in an Ogg. Call before the first frame. */
static enum status make_room(size_t room, SNDFILE *file)
{
    char *text = malloc(room + 1);
    if (!text)
        return fail_memory("tags");
    memset(text, ' ', room);
    text[room] = '\0';
    int failed = sf_set_string(file, SF_STR_COMMENT, text);
    free(text);
    return failed ? fail_memory("tags") : STATUS_OK;
}

static bool is_as_written(const struct sound_sink *sound, const SF_INFO *info)
{
    const struct sink_container *container = container_of(info->format),
                                *wanted = container_of(sound->sound_format);
    bool is_same =
        (info->format & SF_FORMAT_TYPEMASK) == (sound->sound_format & SF_FORMAT_TYPEMASK);
    bool is_like = (info->format & SF_FORMAT_SUBMASK) == (sound->sound_format & SF_FORMAT_SUBMASK);
    return (is_same || (container->is_wav && wanted->is_wav)) && is_like &&
           info->frames == (sf_count_t)sound->frames &&
           info->channels == (int)sound->format.channels &&
           info->samplerate == (int)sound->format.rate;
}

/* Fail with the error of a write. error 0: use libsndfile's error. */
static enum status sound_sink_refuse(const struct sound_sink *sound, int error)
{
    if (stop_requested())
        return STATUS_INTERRUPTED;
    struct flaw flaw =
        error ? sound_flaw(error) : (struct flaw){CAUSE_OTHER, sf_strerror(sound->file)};
    return fail(flaw.cause, "cannot write %s: %.*s%s", sound->name,
                (int)strcspn(flaw.text, ".\r\n"), flaw.text,
                sound->regular.temporary ? "; nothing was changed" : "");
}

/* Open the written file again. *opens: with the same format and length. Errors: reading, memory. */
static enum status sound_sink_check(const struct sound_sink *sound, bool *opens)
{
    struct sound_io io = {0};
    SF_INFO info = {0};
    sound_io_begin(&io, sound->fd);
    io.origin = 0;
    bool is_mpeg = (sound->sound_format & SF_FORMAT_TYPEMASK) == SOUND_MPEG;
    SNDFILE *file =
        is_mpeg ? sound_io_open_quietly(&io, &info) : sound_io_open(&io, SFM_READ, &info);
    *opens = file && is_as_written(sound, &info);
    if (file)
        sf_close(file);
    return io.error ? sound_sink_refuse(sound, io.error) : STATUS_OK;
}

/* ---- writing ---- */

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

/* Samples to write. One of the two members is NULL. */
struct rows_to_write {
    const float *const *single;
    const double *const *in_double;
};

/* Check doubles against the format's range. All formats hold every sample in single precision. */
static enum status check_range(const struct sound_sink *sound, const struct rows_to_write *rows,
                               size_t frames)
{
    bool is_limited = rows->in_double && !sound->quantiser && sound->most < DBL_MAX;
    for (size_t c = 0; is_limited && c < sound->format.channels; c++) {
        double peak = audio_peak_in_double(rows->in_double[c], frames);
        if (peak > sound->most)
            return fail(CAUSE_UNSUPPORTED,
                        "cannot write %s: a sample of %g is beyond single precision; choose "
                        "--format double, or lower it with --gain",
                        sound->name, peak);
    }
    return STATUS_OK;
}

/* Convert left-justified 32-bit samples to 16 bits, which libsndfile writes unchanged. */
SIMD_CLONES
static void shorten(const int32_t *restrict from, size_t count, int16_t *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (int16_t)(from[i] >> 16);
}

/* Write the samples as integers of the file's format. */
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
    int16_t *shorts = (void *)(integers + count); /* the buffer has room for doubles */
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
            return sound_sink_refuse(sound, ENOMEM);
        sf_count_t written =
            (sound->quantiser ? write_integers : write_reals)(sound, rows, done, part);
        if (written != (sf_count_t)part || sound->io.error)
            return sound_sink_refuse(sound, sound->io.error);
        done += part;
    }
    sound->frames += frames;
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

/* Clear the time of day that libsndfile writes into an RF64's PEAK chunk, for equal outputs. */
static int clear_peak_time(int fd)
{
    struct sound_bytes bytes = sound_bytes_of_file(fd);
    struct sound_chunk peak;
    if (!sound_chunks_find(&bytes, "PEAK", &peak))
        return bytes.error;
    return sound_bytes_write(fd, peak.content + 4, "\0\0\0", 4);
}

/* Writes the channel layout where libsndfile writes none, or a wrong one. */
static int write_layout(const struct sound_sink *sound)
{
    if (sound->w64)
        return w64_header_end(sound->fd, sound->w64_extensible, sound->io.splice.bytes.size);
    if (sound->major == SF_FORMAT_WAVEX || sound->major == SF_FORMAT_RF64)
        return channel_layout_patch_wav(sound->fd, sound->stated, sound->extensible);
    return 0;
}

/* Finish the file, except for metadata after the samples. */
static enum status finish(struct sound_sink *sound)
{
    int failed = sf_close(sound->file);
    sound->file = NULL;
    sound->is_finished = true;
    if (!sound_splice_finish(&sound->io.splice))
        failed = -1;
    int error = sound->io.error ? sound->io.error : failed ? EIO : 0;
    if (!error && sound->pad_to_even)
        error = sound_io_append(&sound->io, "", 1);
    if (!error && sound->rf64 && sound->regular.temporary)
        error = clear_peak_time(sound->fd);
    if (!error && sound->regular.temporary)
        error = write_layout(sound);
    return error ? sound_sink_refuse(sound, error) : STATUS_OK;
}

static enum status sound_sink_commit(struct sink *sink)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    bool opens = true;
    if (!sound->is_finished)
        TRY(finish(sound));
    if (sound->regular.temporary)
        TRY(sound_sink_check(sound, &opens));
    if (!opens && sound->frames == 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot write %s: its container holds no sound of 0 frames; choose wav",
                    sound->name);
    if (!opens)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot write %s: libsndfile cannot open the written file; choose another "
                    "--container, or try --metadata none",
                    sound->name);
    int fd = sound->fd;
    sound->fd = -1;
    if (close(fd) != 0)
        return sound_sink_refuse(sound, errno);
    return sound->regular.temporary ? atomic_file_keep(&sound->regular, sound->name) : STATUS_OK;
}

/* Put metadata after the samples, which end at `end`. *opens: libsndfile still finds them. */
static enum status put_behind(struct sound_sink *sound, struct sound_metadata *metadata,
                              uint64_t end, bool *opens)
{
    struct metadata_buffer chunks = {0};
    int container = sound->sound_format & SF_FORMAT_TYPEMASK;
    enum status status = sink_metadata_plan_after(metadata, container, sound->rf64, end, &chunks);
    int error = 0;
    if (status == STATUS_OK && ftruncate(sound->fd, (off_t)end) != 0)
        error = errno;
    if (status == STATUS_OK && !error)
        error = sink_metadata_append(sound->fd, &chunks);
    free(chunks.bytes);
    TRY(status);
    return error ? sound_sink_refuse(sound, error) : sound_sink_check(sound, opens);
}

enum status sink_put_metadata(struct sink *sink, struct sound_metadata *metadata)
{
    struct sound_sink *sound = (struct sound_sink *)sink;
    struct stat about;
    bool opens;
    TRY(finish(sound));
    if (fstat(sound->fd, &about) != 0)
        return sound_sink_refuse(sound, errno);
    if (sound->rf64 && sound->frames == 0) {
        metadata->without = METADATA_ALL;
        metadata->why_without = "an RF64 without samples has no end";
        return STATUS_OK;
    }
    uint64_t end = (uint64_t)about.st_size;
    TRY(put_behind(sound, metadata, end, &opens));
    if (opens)
        return STATUS_OK;
    unsigned without = METADATA_ALL;
    metadata->why_without = "libsndfile does not open the file with it";
    for (unsigned kind = METADATA_BROADCAST; kind > 0; kind >>= 1) {
        metadata->without = without & ~kind;
        TRY(put_behind(sound, metadata, end, &opens));
        without &= opens ? ~kind : METADATA_ALL;
    }
    metadata->without = without;
    return put_behind(sound, metadata, end, &opens);
}

static const struct sink_kind sound_sink_kind = {.write = sound_sink_write,
                                                 .write_in_double = sound_sink_write_in_double,
                                                 .commit = sound_sink_commit,
                                                 .close = sound_sink_close};

/* ---- opening ---- */

/* Most bytes of samples in a WAV, leaving room for headers and tags. Larger ones become RF64. */
#define WAV_BYTES_MOST (UINT32_MAX - (UINT32_C(1) << 20))

/* Open the destination. *stream: it cannot seek. */
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

/* The container that libsndfile writes; SF_FORMAT_RAW if halo writes the header. */
static int major_of(const struct sink_settings *settings, bool stream)
{
    const struct sink_container *container = container_of(settings->sound_format);
    if (stream ? container->in_stream : container->in_file)
        return SF_FORMAT_RAW;
    return container->is_wav && !fits_wav(settings, false)
               ? SF_FORMAT_RF64
               : settings->sound_format & SF_FORMAT_TYPEMASK;
}

/* Write halo's own header. The samples follow as raw data. */
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
    if (container_of(major)->is_large || fits_wav(settings, true))
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED,
                "cannot write %s: its container is limited to 4 GB; choose wav, rf64, caf, w64 or "
                "flac",
                sound->name);
}

/* Let libsndfile write the layout into CAF and AIFF, unless it is mono or stereo. */
static void set_layout_chunk(struct sound_sink *sound)
{
    unsigned char content[CHANNEL_CHUNK_MOST];
    const char *name = container_of(sound->major)->layout_chunk;
    if (!name || !channel_layout_needs_extensible(sound->stated, sound->format.channels))
        return;
    SF_CHUNK_INFO chunk = {.id_size = 4, .data = content};
    memcpy(chunk.id, name, 4);
    chunk.datalen =
        (unsigned)channel_order_put_chan(sound->stated, sound->format.channels, content);
    sf_set_chunk(sound->file, &chunk);
}

/* Drop the bytes after the header. If that fails, the next write fails, too. */
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
    else if (!container_of(major)->goes_forward && !sound_io_seekable(sound->fd))
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
    /* the header had a PEAK chunk, and few samples would not cover its end */
    if (major == SF_FORMAT_AIFF)
        drop_rest(sound);
    if (major == SF_FORMAT_RF64 && (settings->sound_format & SF_FORMAT_TYPEMASK) != major)
        sf_command(sound->file, SFC_RF64_AUTO_DOWNGRADE, NULL, SF_TRUE);
    return sound->io.splice.kind == SPLICE_OGG
               ? make_room(sound_splice_room(&sound->io.splice), sound->file)
               : STATUS_OK;
}

bool sink_puts_metadata_after(const struct sink_settings *settings)
{
    struct stat about;
    bool is_stream = strcmp(settings->path, "-") == 0 ||
                     (stat(settings->path, &about) == 0 && !S_ISREG(about.st_mode));
    return !is_stream && container_of(settings->sound_format)->takes_behind;
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
    sound->sink.takes_metadata =
        sound->regular.temporary && container_of(settings->sound_format)->takes_behind;
    *result = &sound->sink;
    return STATUS_OK;
}
