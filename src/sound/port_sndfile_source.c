/* Sound files and streams as a source, through libsndfile. */
#include "base/files_read.h"
#include "base/stop.h"
#include "sound/port.h"
#include "sound/sound_io.h"
#include "sound/stream_header.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BITS_LEAST = 8 }; /* of PCM */

#define FRAMES_ABSURD ((sf_count_t)1 << 48)

struct sound_source {
    struct source source;
    SNDFILE *file;
    int fd;
    FILE *stream; /* instead of fd if the input does not seek */
    struct sound_io io;
    char *path;
    bool allow_truncated;
    int64_t position;
    int64_t limit;     /* frames of sound, without trailing data, or FRAMES_UNKNOWN */
    size_t chunk;      /* frames */
    void *interleaved; /* floats, or doubles if asked for */
};

/* Where to read to: one of them. */
struct planar_rows {
    float *const *single;
    double *const *in_double;
};

static void sound_source_close(struct source *source)
{
    struct sound_source *sound = (struct sound_source *)source;
    if (sound->file)
        sf_close(sound->file);
    if (sound->fd >= 0)
        close(sound->fd);
    if (sound->stream && sound->stream != stdin)
        fclose(sound->stream);
    sound_traits_free(&source->traits);
    free(sound->interleaved);
    free(sound->path);
    free(sound);
}

static enum status refuse_truncated(const struct source *source, uint64_t frames, uint64_t missing)
{
    return fail(STATUS_FAILED,
                "%s is truncated: its header says %llu frames, %llu are missing; use "
                "--allow-truncated to render the rest",
                source->name, (unsigned long long)frames, (unsigned long long)missing);
}

static enum status refuse_cut(const struct sound_source *sound)
{
    return fail(STATUS_FAILED,
                "%s is truncated: its end is missing; use --allow-truncated to render the rest",
                sound->source.name);
}

static enum status refuse_chain(const struct sound_source *sound)
{
    if (!sound->allow_truncated)
        return fail(STATUS_FAILED,
                    "cannot read all of %s: it is a chain of Ogg streams, of which only the first "
                    "can be read; use --allow-truncated to render that one",
                    sound->source.name);
    warning("%s is a chain of Ogg streams, of which only the first is read", sound->source.name);
    return STATUS_OK;
}

/* At the end of a stream, which is read to its end if it is an Ogg. An error of that is the
 * caller's to report. */
static enum status check_ogg_stream(struct sound_source *sound)
{
    if (!sound->stream || memcmp(sound->io.head, "OggS", 4) != 0)
        return STATUS_OK;
    bool ends = sound_io_ogg_ends(&sound->io);
    if (sound->io.error)
        return STATUS_OK;
    if (sound->io.pages.is_chain)
        return refuse_chain(sound);
    return ends || sound->allow_truncated ? STATUS_OK : refuse_cut(sound);
}

static enum status end_early(struct sound_source *sound)
{
    const struct source *source = &sound->source;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    TRY(check_ogg_stream(sound));
    bool claimed = source->frames != FRAMES_UNKNOWN && sound->position < source->frames;
    const char *error = NULL;
    if (sound->io.error)
        error = strerror(sound->io.error);
    else if (!claimed && sf_error(sound->file) != SF_ERR_NO_ERROR && !sound->allow_truncated)
        error = sf_strerror(sound->file);
    if (error)
        return fail(STATUS_FAILED, "cannot read %s after frame %lld: %s", source->name,
                    (long long)sound->position, error);
    if (!claimed || sound->allow_truncated)
        return STATUS_OK;
    return refuse_truncated(source, (uint64_t)source->frames,
                            (uint64_t)(source->frames - sound->position));
}

/* The next frames, at most a chunk, to the rows from `at` on. */
static size_t read_chunk(struct sound_source *sound, const struct planar_rows *rows, size_t at,
                         size_t frames)
{
    size_t channels = sound->source.format.channels;
    sf_count_t count = 0;
    if (frames > 0 && sound_io_has_memory(&sound->io, channels))
        count = rows->single ? sf_readf_float(sound->file, sound->interleaved, (sf_count_t)frames)
                             : sf_readf_double(sound->file, sound->interleaved, (sf_count_t)frames);
    size_t read = count > 0 ? (size_t)count : 0;
    if (rows->single)
        audio_deinterleave(sound->interleaved, channels, read, rows->single, at);
    else
        audio_deinterleave_in_double(sound->interleaved, channels, read, rows->in_double, at);
    sound->position += (int64_t)read;
    return read;
}

static enum status read_rows(struct sound_source *sound, const struct planar_rows *rows,
                             size_t frames, size_t *got)
{
    *got = 0;
    while (*got < frames) {
        size_t want = frames - *got < sound->chunk ? frames - *got : sound->chunk;
        if (sound->limit != FRAMES_UNKNOWN && (int64_t)want > sound->limit - sound->position)
            want = (size_t)(sound->limit - sound->position);
        size_t read = read_chunk(sound, rows, *got, want);
        *got += read;
        if (read == 0 || read < want || sound->io.error)
            return end_early(sound);
    }
    return STATUS_OK;
}

static enum status sound_source_read(struct source *source, float *const *planar, size_t frames,
                                     size_t *got)
{
    const struct planar_rows rows = {.single = planar};
    return read_rows((struct sound_source *)source, &rows, frames, got);
}

static enum status sound_source_read_in_double(struct source *source, double *const *planar,
                                               size_t frames, size_t *got)
{
    const struct planar_rows rows = {.in_double = planar};
    return read_rows((struct sound_source *)source, &rows, frames, got);
}

static enum status sound_source_seek(struct source *source, uint64_t frame)
{
    struct sound_source *sound = (struct sound_source *)source;
    if (frame > INT64_MAX || sf_seek(sound->file, (sf_count_t)frame, SEEK_SET) < 0)
        return fail(STATUS_FAILED, "cannot seek in %s: %s", source->name,
                    sound->io.error ? strerror(sound->io.error) : sf_strerror(sound->file));
    sound->position = (int64_t)frame;
    return STATUS_OK;
}

static const struct source_kind sound_source_kind = {.read = sound_source_read,
                                                     .read_in_double = sound_source_read_in_double,
                                                     .seek = sound_source_seek,
                                                     .close = sound_source_close};

static enum status refuse_read(const struct sound_source *sound, int error)
{
    return fail(STATUS_FAILED, "cannot read %s: %s", sound->source.name, strerror(error));
}

/* libsndfile reports some errors only as "System error", others as a sentence. */
static enum status refuse_sound(const struct sound_source *sound)
{
    int error = sf_error(NULL);
    if (stop_requested())
        return STATUS_INTERRUPTED;
    if (sound->io.error)
        return refuse_read(sound, sound->io.error);
    if (error == SF_ERR_UNRECOGNISED_FORMAT)
        return fail(STATUS_FAILED, "cannot read %s: it is not a sound file of a known format",
                    sound->source.name);
    if (strstr(sf_strerror(NULL), "SF_INFO"))
        return fail(STATUS_FAILED,
                    "cannot read %s: its header gives no possible rate, number of channels or "
                    "length",
                    sound->source.name);
    if (strstr(sf_strerror(NULL), "not a regular file")) /* it is one */
        return fail(STATUS_FAILED, "cannot read %s: it is damaged", sound->source.name);
    char text[256];
    snprintf(text, sizeof text, "%s", sf_strerror(NULL));
    text[strcspn(text, "\r\n")] = '\0';
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '.')
        text[length - 1] = '\0';
    return fail(STATUS_FAILED, "cannot read %s: %s", sound->source.name, text);
}

static enum status use_info(struct sound_source *sound, const SF_INFO *info)
{
    struct source *source = &sound->source;
    /* libsndfile turns an AIFF's rate of 0 into 1 Hz. */
    bool rateless = info->samplerate == 1 && (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AIFF;
    if (info->channels < 1 || info->samplerate < 1 || rateless)
        return fail(STATUS_FAILED, "cannot read %s: its header says %d channels at %d Hz",
                    source->name, info->channels, rateless ? 0 : info->samplerate);
    source->format = (struct stream_format){.rate = (uint32_t)info->samplerate,
                                            .channels = (size_t)info->channels};
    sound->chunk = audio_chunk_frames(source->format.channels);
    sound->interleaved = audio_alloc_in_double(sound->chunk * source->format.channels);
    if (!sound->interleaved)
        return fail_memory("reading");
    sound_tags_read(sound->file, &source->traits);
    return STATUS_OK;
}

static enum status refuse_short(const struct sound_source *sound, uint64_t missing,
                                const SF_INFO *info)
{
    uint64_t frame = info ? sound_format_bytes(info->format) * (uint64_t)info->channels : 0;
    if (frame == 0)
        return fail(STATUS_FAILED,
                    "%s is truncated: %llu bytes are missing; use --allow-truncated to render the "
                    "rest",
                    sound->source.name, (unsigned long long)missing);
    uint64_t frames = (missing + frame - 1) / frame;
    return refuse_truncated(&sound->source, (uint64_t)info->frames + frames, frames);
}

static enum status open_wav_stream(struct sound_source *sound, const unsigned char head[12],
                                   SF_INFO *info)
{
    struct wav_header header;
    TRY(stream_header_read_wav(sound->stream, head, sound->source.name, &header,
                               &sound->source.traits));
    *info = (SF_INFO){.format = header.raw_format,
                      .channels = (int)header.stream.channels,
                      .samplerate = (int)header.stream.rate};
    sound->limit = header.frames;
    if (!sound->allow_truncated)
        sound->source.frames = header.frames;
    return STATUS_OK;
}

/* Lossy formats only guess their length from a stream's head; others know it, or claim an absurd
 * one. */
static void take_stream_claim(struct sound_source *sound, const SF_INFO *info)
{
    sound->source.traits.format = info->format;
    bool exact = sound_format_bytes(info->format) > 0;
    if (exact && !sound->allow_truncated && info->frames > 0 && info->frames < FRAMES_ABSURD)
        sound->source.frames = info->frames;
}

/* libsndfile takes an AU stream with a size of 0 for empty. */
static void open_au_size(unsigned char head[12])
{
    bool au = memcmp(head, ".snd", 4) == 0 || memcmp(head, "dns.", 4) == 0;
    if (au && memcmp(head + 8, "\0\0\0", 4) == 0)
        memset(head + 8, 0xFF, 4);
}

static enum status open_stream(struct sound_source *sound)
{
    SF_INFO info = {0};
    unsigned char head[12];
    size_t size = fread(head, 1, sizeof head, sound->stream);
    if (size < sizeof head) {
        if (stop_requested())
            return STATUS_INTERRUPTED;
        if (ferror(sound->stream))
            return refuse_read(sound, errno);
        return fail(STATUS_FAILED, "cannot read %s: it %s", sound->source.name,
                    size == 0 ? "is empty" : "is not a sound file of a known format");
    }
    sound->source.frames = FRAMES_UNKNOWN;
    sound->source.waits = true;
    sound_io_begin_stream(&sound->io, sound->stream);
    bool wav = stream_header_is_wav(head);
    if (wav) {
        TRY(open_wav_stream(sound, head, &info));
    } else {
        open_au_size(head);
        sound_io_unread(&sound->io, head, sizeof head);
    }
    sound->file = sound_io_open(&sound->io, SFM_READ, &info);
    if (!sound->file && !sound->io.error)
        TRY(check_ogg_stream(sound));
    if (!sound->file || sound->io.error)
        return refuse_sound(sound);
    if (!wav)
        take_stream_claim(sound, &info);
    return use_info(sound, &info);
}

/* Read the open file from here on without seeking. */
static enum status use_stream(struct sound_source *sound)
{
    sound->stream = fdopen(sound->fd, "rb");
    if (!sound->stream)
        return fail(STATUS_FAILED, "cannot open %s: %s", sound->path, strerror(errno));
    sound->fd = -1; /* the stream's from here */
    return open_stream(sound);
}

static enum status open_file(struct sound_source *sound, uint64_t size)
{
    SF_INFO info = {0};
    const struct sound_claim claim = sound_claim_read(sound->fd);
    bool is_short = (claim.kind == CLAIM_END && claim.end > size) || claim.kind == CLAIM_CUT;
    if (claim.kind == CLAIM_FAILED)
        return refuse_read(sound, errno);
    if (claim.bits > 0 && claim.bits < BITS_LEAST)
        return fail(STATUS_FAILED, "cannot read %s: its header says %u bits a sample",
                    sound->source.name, claim.bits);
    sound_io_begin(&sound->io, sound->fd);
    sound->file = sound_io_open_quietly(&sound->io, &info);
    if (sound->io.error)
        return refuse_read(sound, sound->io.error);
    if (is_short && !sound->allow_truncated)
        return claim.kind == CLAIM_CUT
                   ? refuse_cut(sound)
                   : refuse_short(sound, claim.end - size, sound->file ? &info : NULL);
    if (claim.kind == CLAIM_CHAIN)
        TRY(refuse_chain(sound));
    /* libsndfile rejects some truncated containers, and takes others of unknown size for empty:
     * read them as a stream. */
    if ((is_short && !sound->file) ||
        (claim.kind == CLAIM_OPEN && sound->file && info.frames == 0)) {
        if (sound->file)
            sf_close(sound->file);
        sound->file = NULL;
        lseek(sound->fd, 0, SEEK_SET);
        return use_stream(sound);
    }
    if (!sound->file)
        return refuse_sound(sound);
    sound->source.traits.format = info.format;
    /* Some formats do not know their length, some guess an absurd one. */
    sound->source.frames =
        info.frames >= 0 && info.frames < FRAMES_ABSURD ? info.frames : FRAMES_UNKNOWN;
    sound->source.seekable = info.seekable != 0;
    return use_info(sound, &info);
}

static enum status open_input(struct sound_source *sound)
{
    struct stat about;
    if (!files_read_add(sound->path))
        return fail_memory("reading");
    if (strcmp(sound->path, "-") == 0) {
        sound->source.name = "standard input";
        sound->stream = stdin;
        return open_stream(sound);
    }
    sound->fd = open(sound->path, O_RDONLY | O_CLOEXEC);
    if (sound->fd < 0 || fstat(sound->fd, &about) != 0)
        return stop_requested()
                   ? STATUS_INTERRUPTED
                   : fail(STATUS_FAILED, "cannot open %s: %s", sound->path, strerror(errno));
    if (S_ISDIR(about.st_mode))
        return fail(STATUS_FAILED, "cannot read %s: it is a directory", sound->path);
    if (S_ISREG(about.st_mode)) {
        if (about.st_size == 0)
            return fail(STATUS_FAILED, "cannot read %s: it is empty", sound->path);
        return open_file(sound, (uint64_t)about.st_size);
    }
    return use_stream(sound);
}

enum status source_open_sound(const char *path, bool allow_truncated, struct source **result)
{
    struct sound_source *sound = calloc(1, sizeof *sound);
    if (!sound)
        return fail_memory("reading");
    sound->source.kind = &sound_source_kind;
    sound->fd = -1;
    sound->limit = FRAMES_UNKNOWN;
    sound->allow_truncated = allow_truncated;
    sound->path = strdup(path);
    sound->source.name = sound->path;
    enum status status = sound->path ? open_input(sound) : fail_memory("reading");
    if (status == STATUS_OK)
        *result = &sound->source;
    else
        sound_source_close(&sound->source);
    return status;
}
