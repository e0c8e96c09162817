/* Opens sound files and streams, by libsndfile. */
#include "base/files_read.h"
#include "base/plural.h"
#include "base/stop.h"
#include "base/suggest.h"
#include "sound/file/port_sndfile_source.h"
#include "sound/file/sound_format.h"
#include "sound/file/stream_header.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- headers that leave the length open, as programs write them to a pipe ---- */

/* libsndfile refuses such sizes, or reads an empty or truncated sound, or reads chunks after the
 * samples as samples. So halo shows it the size that the header lacks. */
static void put_size(unsigned char *bytes, size_t count, uint64_t size, bool big_endian)
{
    for (size_t i = 0; i < count; i++)
        bytes[big_endian ? count - 1 - i : i] = (unsigned char)(size >> 8 * i);
}

static void find_chunks(struct sound_source *sound, struct sound_bytes *bytes,
                        struct sound_claim *claim)
{
    struct sound_chunks chunks;
    if (!sound_chunks_begin(bytes, &chunks) ||
        (strcmp(chunks.layout->form, "WAVE") != 0 && strcmp(chunks.layout->magic, "FORM") != 0))
        return;
    uint64_t end = open_end_find(&sound->io.end, bytes, claim->start);
    if (sound->io.end.has_chunks) {
        claim->end = end;
        sound->layout = chunks.layout;
    }
}

/* Show libsndfile the size of a file with CLAIM_OPEN, before it is opened. Sets claim->end, and
 * sound->layout if chunks follow the samples. Errors are in `bytes`. */
static void show_size(struct sound_source *sound, struct sound_bytes *bytes,
                      struct sound_claim *claim)
{
    unsigned char head[12];
    claim->end = bytes->size;
    find_chunks(sound, bytes, claim);
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return;
    const struct chunk_layout *layout = sound_chunks_layout(head);
    if (layout && layout->whole_bytes == 8 && layout->size_bytes == 4)
        return; /* RF64 has the size elsewhere, and libsndfile takes the size of the file */
    uint64_t size = claim->end - claim->start + (layout ? layout->counted : 0);
    bool big_endian = layout ? layout->big_endian : memcmp(head, ".snd", 4) == 0;
    if (claim->size_bytes == 4 && size >= UINT32_MAX)
        return; /* no size fits, so the file is read as a stream */
    struct sound_patch *patch = &sound->io.patch;
    *patch = (struct sound_patch){.at = (int64_t)claim->size_at, .size = claim->size_bytes};
    put_size(patch->bytes, patch->size, size, big_endian);
}

void source_note_open_length(const char *name)
{
    note("%s: its header leaves the length open, as those of pipes and beyond 4 GB do: read to the "
         "end "
         "of the file",
         name);
}

static enum status refuse_long(const struct sound_source *sound)
{
    return fail(CAUSE_UNSUPPORTED,
                "cannot read %s: its samples begin behind more than %d bytes; use a file",
                sound->source.name, STREAM_HEAD);
}

static bool is_au(const unsigned char *head)
{
    return memcmp(head, ".snd", 4) == 0 || memcmp(head, "dns.", 4) == 0;
}

static enum status open_au_size(struct sound_source *sound, unsigned char *head)
{
    uint64_t (*number)(const unsigned char *, size_t) =
        head[0] == '.' ? metadata_big : metadata_little;
    uint64_t size = number(head + 8, 4);
    if (number(head + 4, 4) > STREAM_HEAD)
        return refuse_long(sound);
    bool is_open = size == 0 || sound_size_is_made_up(size, 0);
    if (!is_open && size > INT32_MAX) /* libsndfile would read a negative size */
        sound->io.shown = (int64_t)(number(head + 4, 4) + size);
    if (is_open || size > INT32_MAX)
        memset(head + 8, 0xFF, 4);
    return STATUS_OK;
}

/* The head of a stream, up to its samples. */
struct stream_head {
    FILE *stream;
    unsigned char *bytes; /* STREAM_HEAD bytes */
    size_t size;
};

static bool read_to(struct stream_head *head, uint64_t size)
{
    if (size > STREAM_HEAD)
        return false;
    if (size > head->size)
        head->size += fread(head->bytes + head->size, 1, (size_t)size - head->size, head->stream);
    return head->size >= size;
}

struct stream_chunks {
    bool is_described, is_absurd, begins_again; /* see sound_chunks.h */
    bool is_long;                               /* the samples begin after STREAM_HEAD bytes */
};

/* Read the chunks up to the samples, and the first bytes of the samples. */
static bool read_to_data(struct stream_head *head, const struct chunk_layout *layout,
                         struct sound_chunk *data, struct stream_chunks *found)
{
    enum { MORE = 20 };
    struct sound_bytes bytes = {.memory = head->bytes, .big_endian = layout->big_endian};
    struct sound_chunks chunks = {.bytes = &bytes, .layout = layout, .at = layout->first};
    do {
        found->is_long = chunks.at + layout->header > STREAM_HEAD;
        if (!read_to(head, chunks.at + layout->header))
            return false;
        (void)read_to(head, chunks.at + layout->header + MORE);
        bytes.size = head->size;
        if (!sound_chunks_next(&chunks, data))
            return false;
        found->begins_again = sound_chunk_begins_again(&chunks, data);
        found->is_absurd = data->is_absurd && !data->is_made_up;
        if (found->is_absurd)
            return false;
    } while (!data->is_data);
    found->is_described = chunks.is_described;
    return true;
}

/* Show libsndfile the size of the samples of a CAF, AIFF or W64. It would read an AIFF without
 * samples to the end of the stream. */
static enum status show_chunk_size(struct sound_source *sound, struct stream_head *head,
                                   const struct chunk_layout *layout)
{
    struct sound_chunk data;
    struct stream_chunks found = {0};
    bool is_aiff = strcmp(layout->magic, "FORM") == 0;
    bool is_there = read_to_data(head, layout, &data, &found);
    if (found.begins_again) /* a stream with two headers is refused later */
        return STATUS_OK;
    if (found.is_absurd)
        return fail(CAUSE_DAMAGED, SOUND_IMPOSSIBLE, sound->source.name);
    if (found.is_long)
        return refuse_long(sound);
    if (!is_there)
        return STATUS_OK;
    data.is_made_up |= sound->source.length_is_open;
    bool is_open = data.is_open || data.is_made_up || (is_aiff && data.size == 0);
    if (found.is_described && !is_open)
        sound->io.shown = (int64_t)(data.content + data.size);
    if (!is_open)
        return STATUS_OK;
    unsigned char *size = head->bytes + data.content - layout->header + layout->size_at;
    put_size(size, layout->size_bytes, is_aiff ? 0 : SIZE_MOST, layout->big_endian);
    if (!is_aiff)
        return STATUS_OK;
    sound->io.end.is_sought = sound->io.end.big_endian = true;
    sound->layout = layout;
    sound->next = sound->end = data.content;
    return STATUS_OK;
}

/* Show libsndfile the size of a stream that begins with `start`. sound->io rereads these bytes. */
static enum status show_stream_size(struct sound_source *sound, const unsigned char start[12])
{
    struct stream_head head = {.stream = sound->stream, .bytes = malloc(STREAM_HEAD), .size = 12};
    const struct chunk_layout *layout = sound_chunks_layout(start);
    if (!head.bytes)
        return fail_memory("reading");
    memcpy(head.bytes, start, head.size);
    enum status status = STATUS_OK;
    if (is_au(start))
        status = open_au_size(sound, head.bytes);
    else if (layout)
        status = show_chunk_size(sound, &head, layout);
    sound_io_unread(&sound->io, head.bytes, head.size);
    free(head.bytes);
    return status;
}

/* ---- opening ---- */

enum { BITS_LEAST = 8 /* of PCM */, AIFF_LEAD = 8 /* bytes in front of samples */ };

#define FRAMES_ABSURD ((sf_count_t)1 << 48)

static enum status refuse_read(const struct sound_source *sound, int error)
{
    struct flaw flaw = sound_flaw(error);
    return fail(flaw.cause, "cannot read %s: %s", sound->source.name, flaw.text);
}

static bool is_foreign(struct sound_source *sound, struct foreign_sound *foreign)
{
    struct sound_io *io = &sound->io;
    if (!sound->stream)
        return foreign_sound_recognise_file(sound->fd, foreign);
    size_t kept = io->passed < STREAM_HEAD ? (size_t)io->passed : STREAM_HEAD;
    return foreign_sound_recognise(io->head, kept, NULL, 0, foreign) &&
           foreign_sound_recognise(io->head, sound_io_fill_head(io, STREAM_HEAD), NULL, 0, foreign);
}

static enum status refuse_header(const struct sound_source *sound)
{
    return fail(CAUSE_DAMAGED, SOUND_IMPOSSIBLE, sound->source.name);
}

/* libsndfile reports some errors only as "System error", others as a sentence. */
static enum status refuse_sound(struct sound_source *sound)
{
    int error = sound->io.open_error;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    if (sound->io.error)
        return refuse_read(sound, sound->io.error);
    struct foreign_sound foreign;
    if (is_foreign(sound, &foreign))
        return foreign_sound_refuse(sound->path, &foreign);
    if (error == SF_ERR_UNRECOGNISED_FORMAT)
        return fail(CAUSE_UNSUPPORTED, "cannot read %s: it is not a sound file of a known format",
                    sound->source.name);
    if (strstr(sound->io.open_problem, "SF_INFO"))
        return refuse_header(sound);
    /* libsndfile is wrong: the file is a regular one */
    if (strstr(sound->io.open_problem, "not a regular file"))
        return fail(CAUSE_DAMAGED, "cannot read %s: it is damaged", sound->source.name);
    if (strstr(sound->io.open_problem, "internal error"))
        return fail(
            CAUSE_UNSUPPORTED,
            "cannot read %s: libsndfile cannot skip the chunks before the samples; remove long "
            "texts from the file",
            sound->source.name);
    char text[256];
    snprintf(text, sizeof text, "%s", sound->io.open_problem);
    text[strcspn(text, "\r\n")] = '\0';
    size_t length = strlen(text);
    if (length > 0 && text[length - 1] == '.')
        text[length - 1] = '\0';
    return fail(error == SF_ERR_UNSUPPORTED_ENCODING ? CAUSE_UNSUPPORTED : CAUSE_DAMAGED,
                "cannot read %s: %s", sound->source.name, text);
}

/* Whether a format has 16-bit integers, in a container where libsndfile keeps them unchanged. */
static bool has_shorts(int format)
{
    static const int containers[] = {SF_FORMAT_WAV, SF_FORMAT_WAVEX, SF_FORMAT_RF64,
                                     SF_FORMAT_W64, SF_FORMAT_AIFF,  SF_FORMAT_AU,
                                     SF_FORMAT_CAF, SF_FORMAT_RAW,   SF_FORMAT_FLAC};
    bool is_known = false;
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        is_known = is_known || (format & SF_FORMAT_TYPEMASK) == containers[i];
    return is_known && (format & SF_FORMAT_SUBMASK) == SF_FORMAT_PCM_16;
}

static enum status use_info(struct sound_source *sound, const SF_INFO *info)
{
    struct source *source = &sound->source;
    /* libsndfile reads an AIFF's rate of 0 as 1 Hz, and rates that are too high as this maximum. */
    enum { AIFF_RATE_MOST = 0x4000000 };
    bool is_aiff = (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AIFF;
    bool rateless = is_aiff && info->samplerate == 1;
    if (is_aiff && info->samplerate >= AIFF_RATE_MOST)
        return refuse_header(sound);
    if (info->channels < 1 || info->samplerate < 1 || info->samplerate > RATE_MOST || rateless)
        return fail(CAUSE_DAMAGED, "cannot read %s: its header says %d channel%s at %d Hz",
                    source->name, info->channels, plural_s((uint64_t)info->channels),
                    rateless ? 0 : info->samplerate);
    source->format.rate = (uint32_t)info->samplerate;
    source->format.channels = (size_t)info->channels;
    sound->is_double = (info->format & SF_FORMAT_SUBMASK) == SF_FORMAT_DOUBLE;
    sound->is_short = has_shorts(info->format);
    return STATUS_OK;
}

static enum status read_layout(struct sound_source *sound, struct sound_bytes bytes)
{
    struct source *source = &sound->source;
    channel_order_read(&bytes, source->traits.format, source->format.channels,
                       &source->format.layout, &sound->order);
    return bytes.error ? refuse_read(sound, bytes.error) : STATUS_OK;
}

static enum status judge_short(struct sound_source *sound, const struct sound_claim *claim,
                               uint64_t size, const SF_INFO *info)
{
    uint64_t missing = claim->end - size;
    uint64_t frame = info ? sound_format_bytes(info->format) * (uint64_t)info->channels : 0;
    /* the missing bytes are an incomplete frame */
    if (frame > 0 && (claim->end - claim->start) % frame >= missing)
        return STATUS_OK;
    uint64_t frames = frame > 0 ? (missing + frame - 1) / frame : 0;
    return sound_source_judge_missing(sound, frame > 0 ? (uint64_t)info->frames + frames : 0,
                                      frame > 0 ? frames : missing);
}

/* Warn of a doubtful size, for sounds that are not compressed. */
static void warn_doubtful(const struct sound_source *sound, const struct sound_claim *claim,
                          uint64_t size, const SF_INFO *info)
{
    uint64_t frame = sound_format_bytes(info->format) * (uint64_t)info->channels;
    if (claim->is_doubtful && sound->file && frame > 0)
        warning("%s: its header says %" PRId64
                " frame%s, and more than 4 GB follow them, which are "
                "left out; if its size began again at 0 there, it has %" PRIu64 " frames",
                sound->source.name, (int64_t)info->frames, plural_s((uint64_t)info->frames),
                (size - claim->start) / frame);
}

static enum status open_wav_stream(struct sound_source *sound, const unsigned char head[12],
                                   SF_INFO *info)
{
    struct wav_header header;
    TRY(metadata_create(&sound->source.traits.metadata));
    TRY(stream_header_read_wav(sound->stream, head, sound->source.name, &header,
                               &sound->source.traits));
    if (sound->source.length_is_open) { /* the length is that of the file */
        header.frames = FRAMES_UNKNOWN;
        header.next = header.end = 0;
    }
    *info = (SF_INFO){.format = header.raw_format,
                      .channels = (int)header.stream.channels,
                      .samplerate = (int)header.stream.rate};
    sound->limit = header.frames;
    sound->layout = header.layout;
    sound->next = header.next;
    sound->end = header.end;
    sound->io.end.is_sought = header.frames == FRAMES_UNKNOWN;
    sound->io.end.may_begin = header.has_more;
    sound->io.end.big_endian = header.layout && header.layout->big_endian;
    sound->source.format.layout = header.stream.layout;
    if (!sound->allow_truncated)
        sound->source.frames = header.frames;
    return STATUS_OK;
}

/* Find the chunk of the samples. False: there is none. */
static bool find_data(struct sound_bytes *bytes, struct sound_chunks *chunks,
                      struct sound_chunk *data)
{
    if (!sound_chunks_begin(bytes, chunks))
        return false;
    do {
        if (!sound_chunks_next(chunks, data) || (data->is_absurd && !data->is_data))
            return false;
    } while (!data->is_data);
    return true;
}

static enum status refuse_twice(const struct sound_source *sound)
{
    return fail(CAUSE_UNSUPPORTED,
                "cannot read %s: its header stands there twice, without a length, as sox writes "
                "W64 and CAF to a pipe; let it write WAV (-t wav), or a file",
                sound->source.name);
}

static enum status check_twice(struct sound_source *sound)
{
    struct sound_bytes bytes = {.memory = sound->io.head, .size = sound_io_kept(&sound->io)};
    struct sound_chunks chunks;
    struct sound_chunk data;
    if (!find_data(&bytes, &chunks, &data))
        return STATUS_OK;
    uint64_t wanted = data.content + chunks.layout->lead + SOUND_CHUNKS_MAGIC;
    bytes.size = sound_io_fill_head(&sound->io, wanted < STREAM_HEAD ? (size_t)wanted : 0);
    return sound_chunk_begins_again(&chunks, &data) ? refuse_twice(sound) : STATUS_OK;
}

/* Check the number of frames in an AIFF's header. libsndfile only uses the size of the samples. */
static enum status check_count(struct sound_source *sound, struct sound_bytes *bytes,
                               const SF_INFO *info)
{
    struct sound_chunk common;
    uint64_t count, frames = (uint64_t)info->frames;
    if ((info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_AIFF ||
        sound_format_bytes(info->format) == 0 || !sound_chunks_find(bytes, "COMM", &common) ||
        !sound_bytes_number(bytes, common.content + 2, 4, &count) || count <= frames)
        return STATUS_OK;
    return sound_source_judge_missing(sound, count, count - frames);
}

/* Find the chunk after the samples, from the kept head of a stream. Not for compressed samples,
 * which libsndfile does not read to their end. */
static void find_next(struct sound_source *sound, const SF_INFO *info)
{
    struct sound_bytes bytes = {.memory = sound->io.head, .size = sound_io_kept(&sound->io)};
    struct sound_chunks chunks;
    struct sound_chunk data;
    uint64_t whole;
    if (sound->layout || sound_format_bytes(info->format) == 0 ||
        !find_data(&bytes, &chunks, &data) || data.is_absurd || data.is_made_up ||
        chunks.layout->whole_bytes == 0 ||
        !sound_bytes_number(&bytes, chunks.layout->whole_at, chunks.layout->whole_bytes, &whole))
        return;
    sound->layout = chunks.layout;
    sound->next = sound->end = chunks.at;
    whole += chunks.layout->whole_less;
    if (whole > sound->next && whole <= INT64_MAX)
        sound->end = whole;
}

/* Take the length of a stream from its head, unless it is a guess (lossy formats) or absurd. */
static void take_stream_claim(struct sound_source *sound, struct sound_bytes *head,
                              const SF_INFO *info)
{
    struct sound_chunks chunks;
    struct sound_chunk data;
    bool is_open = sound->io.end.is_sought || (find_data(head, &chunks, &data) && data.is_made_up);
    bool exact = sound_format_bytes(info->format) > 0 && !is_open;
    sound->source.traits.format = info->format;
    if (exact && !sound->allow_truncated && info->frames > 0 && info->frames < FRAMES_ABSURD)
        sound->source.frames = info->frames;
}

/* Open the file again as raw samples from `start` on, with format and number of frames from halo,
 * not from the header. info->format: format of the raw samples; `format`: format of the file. */
static void open_again_raw(struct sound_source *sound, SF_INFO *info, int format, uint64_t start,
                           int64_t frames)
{
    int64_t length = sound->io.length;
    sf_close(sound->file);
    if (sound->stream) {
        sound_io_begin_at(&sound->io, start);
    } else {
        lseek(sound->fd, (off_t)start, SEEK_SET);
        sound_io_begin(&sound->io, sound->fd);
        sound->io.length = length;
    }
    sound->file = sound_io_open(&sound->io, SFM_READ, info);
    info->format = format;
    if (frames < info->frames)
        info->frames = frames;
    sound->limit = info->frames < FRAMES_ABSURD ? info->frames : FRAMES_UNKNOWN;
}

/* Open a W64 again if libsndfile would misread its samples. */
static void open_w64_again(struct sound_source *sound, struct sound_bytes *bytes, SF_INFO *info)
{
    uint64_t start;
    int64_t frames;
    if (w64_header_reads_raw(bytes, info, &start, &frames))
        open_again_raw(sound, info, SF_FORMAT_W64 | (info->format & SF_FORMAT_SUBMASK), start,
                       frames);
}

/* Whether an AU is so large that libsndfile reads its size as negative. */
static bool is_large_au(int format, const struct sound_claim *claim)
{
    return (format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AU && claim->kind == CLAIM_END &&
           claim->end - claim->start > INT32_MAX;
}

/* Open a file with too many samples for its header or libsndfile. False: read it as a stream. */
static bool open_large_again(struct sound_source *sound, const struct sound_claim *claim,
                             SF_INFO *info)
{
    uint64_t frame = sound_format_bytes(info->format) * (uint64_t)info->channels;
    int format = info->format, end = format & SF_FORMAT_ENDMASK;
    bool is_aiff = (format & SF_FORMAT_TYPEMASK) == SF_FORMAT_AIFF,
         is_au = is_large_au(format, claim);
    if (!sound->file || frame == 0 || claim->end < claim->start)
        return false;
    if (end == SF_ENDIAN_FILE)
        end = is_aiff || is_au ? SF_ENDIAN_BIG : SF_ENDIAN_LITTLE;
    *info = (SF_INFO){.format = SF_FORMAT_RAW | end | (format & SF_FORMAT_SUBMASK),
                      .channels = info->channels,
                      .samplerate = info->samplerate};
    uint64_t start = claim->start + (is_aiff ? AIFF_LEAD : 0);
    open_again_raw(sound, info, format, start, (int64_t)((claim->end - start) / frame));
    return true;
}

/* Use the head of a stream that libsndfile has opened. */
static enum status use_head(struct sound_source *sound, SF_INFO *info)
{
    TRY(check_twice(sound));
    struct sound_bytes head = {.memory = sound->io.head, .size = sound_io_kept(&sound->io)};
    find_next(sound, info);
    open_w64_again(sound, &head, info);
    if (!sound->file || sound->io.error)
        return refuse_sound(sound);
    take_stream_claim(sound, &head, info);
    if (!sound->io.end.is_sought)
        TRY(check_count(sound, &head, info));
    TRY(use_info(sound, info));
    return read_layout(sound, head);
}

/* Whether a stream is FLAC, perhaps after an ID3 tag, if the kept head holds all of the tag. */
static bool is_flac_stream(struct sound_source *sound)
{
    const unsigned char *head = sound->io.head;
    uint64_t next;
    size_t kept = sound_io_kept(&sound->io);
    if (flac_reader_knows(head, kept, &next))
        return true;
    if (next > 0 && next < STREAM_HEAD)
        kept = sound_io_fill_head(&sound->io, (size_t)next + 4);
    return next > 0 && next < kept && flac_reader_knows(head + next, kept - next, &next);
}

static bool is_flac_file(struct sound_bytes *bytes)
{
    unsigned char head[10];
    uint64_t next;
    if (!sound_bytes_read(bytes, 0, head, sizeof head))
        return false;
    return flac_reader_knows(head, sizeof head, &next) ||
           (next > 0 && sound_bytes_read(bytes, next, head, 4) &&
            flac_reader_knows(head, 4, &next));
}

static enum status open_flac(struct sound_source *sound, SF_INFO *info)
{
    struct source *source = &sound->source;
    struct sound_bytes bytes = sound_bytes_of_file(sound->fd);
    sound->flac = flac_reader_open(&sound->io, info);
    if (!sound->flac)
        return refuse_sound(sound);
    if (sound->stream)
        bytes = (struct sound_bytes){.memory = sound->io.head, .size = sound_io_kept(&sound->io)};
    source->traits.format = info->format;
    source->frames = sound->stream && sound->allow_truncated ? FRAMES_UNKNOWN : info->frames;
    source->seekable = info->seekable;
    TRY(use_info(sound, info));
    return read_layout(sound, bytes);
}

static enum status open_stream(struct sound_source *sound)
{
    SF_INFO info = {0};
    unsigned char head[12];
    TRY(library_open(&sndfile_library));
    size_t size = fread(head, 1, sizeof head, sound->stream);
    if (size < sizeof head) {
        if (stop_requested())
            return STATUS_INTERRUPTED;
        if (ferror(sound->stream))
            return refuse_read(sound, errno);
        return fail(size == 0 ? CAUSE_DAMAGED : CAUSE_UNSUPPORTED, "cannot read %s: it %s",
                    sound->source.name,
                    size == 0 ? "is empty" : "is not a sound file of a known format");
    }
    sound->source.frames = FRAMES_UNKNOWN;
    sound->source.waits = true;
    TRY(sound_io_begin_stream(&sound->io, sound->stream));
    bool wav = stream_header_is_wav(head);
    if (wav) {
        TRY(open_wav_stream(sound, head, &info));
    } else {
        TRY(show_stream_size(sound, head));
    }
    if (is_flac_stream(sound))
        return open_flac(sound, &info);
    sound->file = sound_io_open(&sound->io, SFM_READ, &info);
    if (!sound->file && !sound->io.error)
        TRY(sound_source_check_ogg(sound));
    if (!sound->file || sound->io.error)
        return refuse_sound(sound);
    return wav ? use_info(sound, &info) : use_head(sound, &info);
}

/* Read the open file from here on without seeking. */
static enum status use_stream(struct sound_source *sound)
{
    sound->stream = fdopen(sound->fd, "rb");
    if (!sound->stream)
        return fail_errno(errno, "cannot open %s", sound->path);
    sound->fd = -1; /* the stream owns the descriptor now */
    return open_stream(sound);
}

/* Whether libsndfile guesses the length of an MP3 from the bit rate of its first frame. It does if
 * the file lacks the header that encoders put first, after an ID3 tag. Errors: reading. */
static enum status find_guess(const struct sound_source *sound, const SF_INFO *info, bool *is_guess)
{
    static const char *const names[] = {"Xing", "Info", "VBRI"};
    unsigned char head[10], frame[256];
    off_t at = 0;
    *is_guess = false;
    if (!sound->file || (info->format & SF_FORMAT_TYPEMASK) != SOUND_MPEG)
        return STATUS_OK;
    if (files_read_at(sound->fd, head, sizeof head, 0) < 0)
        return refuse_read(sound, errno);
    if (memcmp(head, "ID3", 3) == 0)
        at = 10 + ((off_t)head[6] << 21 | (off_t)head[7] << 14 | (off_t)head[8] << 7 | head[9]);
    ssize_t size = files_read_at(sound->fd, frame, sizeof frame, at);
    if (size < 0)
        return refuse_read(sound, errno);
    *is_guess = true;
    for (ssize_t i = 0; i + 4 <= size; i++)
        for (size_t n = 0; n < sizeof names / sizeof *names; n++)
            if (memcmp(frame + i, names[n], 4) == 0)
                *is_guess = false;
    return STATUS_OK;
}

/* Open the file without output on standard error, where libmpg123 prints about unknown files. */
static SNDFILE *open_quietly(struct sound_source *sound, const struct sound_claim *claim,
                             SF_INFO *info)
{
    return claim->bits > 0 ? sound_io_open(&sound->io, SFM_READ, info)
                           : sound_io_open_quietly(&sound->io, info);
}

/* Whether the sizes in the file have 32 bits, unlike in RF64. */
static bool is_narrow(const SF_INFO *info)
{
    int container = info->format & SF_FORMAT_TYPEMASK;
    return container == SF_FORMAT_WAV || container == SF_FORMAT_WAVEX ||
           container == SF_FORMAT_AIFF;
}

static bool is_bw64(struct sound_bytes *bytes)
{
    char magic[4];
    return sound_bytes_read(bytes, 0, magic, sizeof magic) && memcmp(magic, "BW64", 4) == 0;
}

/* Refuse a header that is impossible by itself. */
static enum status check_claim(struct sound_source *sound, const struct sound_claim *claim)
{
    if (claim->kind == CLAIM_FAILED)
        return refuse_read(sound, errno);
    if (claim->kind == CLAIM_TWICE)
        return refuse_twice(sound);
    if (claim->kind == CLAIM_IMPOSSIBLE)
        return refuse_header(sound);
    if (claim->bits > 0 && claim->bits < BITS_LEAST)
        return fail(CAUSE_UNSUPPORTED, "cannot read %s: its header says %u bit%s a sample",
                    sound->source.name, claim->bits, plural_s(claim->bits));
    return STATUS_OK;
}

static enum status open_again_as_stream(struct sound_source *sound)
{
    if (sound->file)
        sf_close(sound->file);
    sound->file = NULL;
    sound_io_free(&sound->io);
    lseek(sound->fd, 0, SEEK_SET);
    return use_stream(sound);
}

static enum status describe(struct sound_source *sound, const SF_INFO *info,
                            struct sound_bytes bytes)
{
    sound->source.traits.format = info->format;
    sound->source.format.rate = (uint32_t)info->samplerate;
    TRY(sound_source_check_ogg(sound));
    if (!sound->file || sound->io.error)
        return refuse_sound(sound);
    /* Some formats do not know their length, and some guess an absurd length. */
    sound->source.frames =
        info->frames >= 0 && info->frames < FRAMES_ABSURD ? info->frames : FRAMES_UNKNOWN;
    sound->source.seekable = info->seekable != 0;
    TRY(use_info(sound, info));
    return read_layout(sound, bytes);
}

static enum status open_file(struct sound_source *sound, uint64_t size)
{
    SF_INFO info = {0};
    bool is_guess;
    TRY(library_open(&sndfile_library));
    struct sound_claim claim = sound_claim_read(sound->fd);
    bool is_short = claim.kind == CLAIM_END && claim.end > size;
    TRY(check_claim(sound, &claim));
    struct sound_bytes bytes = sound_bytes_of_file(sound->fd);
    sound_io_begin(&sound->io, sound->fd);
    sound->io.length = (int64_t)size;
    if (is_flac_file(&bytes))
        return open_flac(sound, &info);
    if (claim.kind == CLAIM_OPEN)
        show_size(sound, &bytes, &claim);
    bool is_shown = sound->io.patch.size > 0;
    if (is_bw64(&bytes)) /* libsndfile reads BW64 as RF64 */
        sound->io.patch = (struct sound_patch){.size = 4, .bytes = "RF64"};
    if (claim.is_described)
        sound->io.shown = (int64_t)claim.end;
    sound->file = open_quietly(sound, &claim, &info);
    if (sound->io.error)
        return refuse_read(sound, sound->io.error);
    struct sound_chunks chunks; /* halo cannot follow the chunks to the samples */
    if (sound->file && claim.kind == CLAIM_NONE && sound_chunks_begin(&bytes, &chunks))
        return refuse_header(sound);
    if (is_short)
        TRY(judge_short(sound, &claim, size, sound->file ? &info : NULL));
    warn_doubtful(sound, &claim, size, &info);
    TRY(find_guess(sound, &info, &is_guess));
    /* Read a file as a stream if libsndfile fails: it rejects some truncated containers and unknown
     * chunks before the samples of a WAV, and reads some files of unknown size as empty. */
    bool is_open = claim.kind == CLAIM_OPEN;
    bool is_plain = (claim.kind == CLAIM_END || is_open) && claim.bits > 0 && !sound->file;
    sound->source.length_is_open = is_open;
    bool is_unshown = is_open && sound->file && !is_shown;
    if (((is_short || is_plain) && !sound->file) || is_guess ||
        (is_unshown && (info.frames == 0 || is_narrow(&info)) &&
         !(is_narrow(&info) && open_large_again(sound, &claim, &info))))
        return open_again_as_stream(sound);
    if (sound->file)
        open_w64_again(sound, &bytes, &info);
    if (sound->file && is_large_au(info.format, &claim))
        (void)open_large_again(sound, &claim, &info);
    if (bytes.error)
        return refuse_read(sound, bytes.error);
    if (sound->file && claim.kind == CLAIM_END)
        TRY(check_count(sound, &bytes, &info));
    return describe(sound, &info, bytes);
}

static enum status refuse_open(const char *path, int error)
{
    char near[SUGGEST_TEXT];
    return fail(cause_of_errno(error), "cannot open %s: %s%s", path, strerror(error),
                error == ENOENT ? suggest_file(near, path) : "");
}

static enum status open_input(struct sound_source *sound)
{
    struct stat about;
    if (!files_read_add(sound->path))
        return fail_memory("reading");
    if (strcmp(sound->path, "-") == 0) {
        sound->source.name = "standard input";
        sound->stream = stdin;
        sound->is_in_part = ftello(stdin) != 0;
        return open_stream(sound);
    }
    sound->fd = open(sound->path, O_RDONLY | O_CLOEXEC);
    if (sound->fd < 0 || fstat(sound->fd, &about) != 0)
        return stop_requested() ? STATUS_INTERRUPTED : refuse_open(sound->path, errno);
    if (S_ISDIR(about.st_mode))
        return fail(CAUSE_UNSUPPORTED, "cannot read %s: it is a directory", sound->path);
    if (S_ISREG(about.st_mode)) {
        if (about.st_size == 0)
            return fail(CAUSE_DAMAGED, "cannot read %s: it is empty", sound->path);
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
        sound_source_kind.close(&sound->source);
    return status;
}
