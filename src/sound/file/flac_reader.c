#include "sound/file/port_sndfile_source.h"

#include "sound/port.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ID3_HEADER = 10, SILENCE_MOST = 1 << 16 };

struct flac_reader {
    FLAC__StreamDecoder *decoder;
    struct sound_io *io; /* not owned */
    FLAC__StreamMetadata_StreamInfo header;
    bool has_header;
    bool has_failed; /* memory ran out, or the format changed */
    bool is_at_end;
    bool is_beyond;   /* looking for frames beyond the header's number */
    bool is_whole;    /* all frames were read from the first on */
    bool was_checked; /* the MD5 was compared */
    bool is_bad; /* libFLAC reported an error: the next samples may be silence for lost frames */
    int32_t *samples;   /* samples of the last decoded frames, interleaved */
    size_t room;        /* capacity of `samples`, in samples */
    size_t first, held; /* frames in `samples`: index of the next to hand out, and number */
    FLAC__uint64 end;   /* offset of the byte after the last decoded frame */
    int64_t silent;     /* silent frames to hand out before `samples` */
    int64_t next;       /* number of the frame after `samples` */
    struct flac_damage damage;
};

bool flac_reader_knows(const unsigned char *head, size_t size, uint64_t *next)
{
    *next = 0;
    if (size >= ID3_HEADER && memcmp(head, "ID3", 3) == 0)
        *next = ID3_HEADER + ((uint64_t)head[6] << 21 | (uint64_t)head[7] << 14 |
                              (uint64_t)head[8] << 7 | head[9]);
    return size >= 4 && memcmp(head, "fLaC", 4) == 0;
}

/* ---- libFLAC's calls ---- */

static FLAC__StreamDecoderReadStatus on_read(const FLAC__StreamDecoder *decoder, FLAC__byte *bytes,
                                             size_t *count, void *user)
{
    struct sound_io *io = ((struct flac_reader *)user)->io;
    (void)decoder;
    *count = (size_t)sound_io_functions(io)->read(bytes, (sf_count_t)*count, io);
    if (*count > 0)
        return FLAC__STREAM_DECODER_READ_STATUS_CONTINUE;
    return io->error ? FLAC__STREAM_DECODER_READ_STATUS_ABORT
                     : FLAC__STREAM_DECODER_READ_STATUS_END_OF_STREAM;
}

static FLAC__StreamDecoderSeekStatus on_seek(const FLAC__StreamDecoder *decoder, FLAC__uint64 to,
                                             void *user)
{
    struct sound_io *io = ((struct flac_reader *)user)->io;
    (void)decoder;
    bool can = to <= INT64_MAX && sound_io_functions(io)->seek((sf_count_t)to, SEEK_SET, io) >= 0;
    return can ? FLAC__STREAM_DECODER_SEEK_STATUS_OK : FLAC__STREAM_DECODER_SEEK_STATUS_ERROR;
}

static FLAC__StreamDecoderTellStatus on_position(const FLAC__StreamDecoder *decoder,
                                                 FLAC__uint64 *at, void *user)
{
    const struct sound_io *io = ((struct flac_reader *)user)->io;
    (void)decoder;
    *at = (FLAC__uint64)(io->position - io->origin);
    return FLAC__STREAM_DECODER_TELL_STATUS_OK;
}

static FLAC__StreamDecoderLengthStatus on_length(const FLAC__StreamDecoder *decoder,
                                                 FLAC__uint64 *length, void *user)
{
    struct sound_io *io = ((struct flac_reader *)user)->io;
    (void)decoder;
    sf_count_t bytes = sound_io_functions(io)->get_filelen(io);
    *length = bytes > 0 ? (FLAC__uint64)bytes : 0;
    return bytes >= 0 ? FLAC__STREAM_DECODER_LENGTH_STATUS_OK
                      : FLAC__STREAM_DECODER_LENGTH_STATUS_ERROR;
}

static FLAC__bool on_eof(const FLAC__StreamDecoder *decoder, void *user)
{
    struct sound_io *io = ((struct flac_reader *)user)->io;
    (void)decoder;
    return io->position >= sound_io_functions(io)->get_filelen(io);
}

static void on_metadata(const FLAC__StreamDecoder *decoder, const FLAC__StreamMetadata *block,
                        void *user)
{
    struct flac_reader *reader = user;
    (void)decoder;
    if (block->type != FLAC__METADATA_TYPE_STREAMINFO)
        return;
    reader->header = block->data.stream_info;
    reader->has_header = true;
}

static void add_damage(struct flac_reader *reader, int64_t frames)
{
    if (reader->damage.at < 0)
        reader->damage.at = reader->next;
    reader->damage.lost += frames;
}

static void on_error(const FLAC__StreamDecoder *decoder, FLAC__StreamDecoderErrorStatus status,
                     void *user)
{
    struct flac_reader *reader = user;
    (void)decoder;
    if (reader->is_beyond) { /* after the sound, bytes of a tag or padding may look like a frame */
        reader->is_bad = status == FLAC__STREAM_DECODER_ERROR_STATUS_FRAME_CRC_MISMATCH;
        return;
    }
    add_damage(reader, 0);
    reader->is_bad = true;
}

/* Put silence in place of frames missing before this one, unless this frame's number is damaged. */
static void fill_gap(struct flac_reader *reader, int64_t number, size_t frames)
{
    int64_t total = (int64_t)reader->header.total_samples;
    bool is_likely = number > reader->next && number <= total - (int64_t)frames;
    if (number == reader->next)
        return;
    add_damage(reader, is_likely ? number - reader->next : 0);
    if (is_likely) {
        reader->silent = number - reader->next;
        reader->next = number;
    }
}

static bool make_room(struct flac_reader *reader, size_t samples)
{
    if (samples <= reader->room)
        return true;
    int32_t *larger = realloc(reader->samples, samples * sizeof *larger);
    if (!larger)
        return false;
    reader->samples = larger;
    reader->room = samples;
    return true;
}

/* Append decoded samples to those held. Returns whether all are 0. */
static bool take(struct flac_reader *reader, const FLAC__int32 *const buffer[], size_t channels,
                 size_t frames)
{
    int32_t *to = reader->samples + reader->held * channels, any = 0;
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            any |= to[i * channels + c] = buffer[c][i];
    reader->held += frames;
    reader->next += (int64_t)frames;
    return any == 0;
}

static FLAC__StreamDecoderWriteStatus on_frame(const FLAC__StreamDecoder *decoder,
                                               const FLAC__Frame *frame,
                                               const FLAC__int32 *const buffer[], void *user)
{
    struct flac_reader *reader = user;
    const FLAC__StreamMetadata_StreamInfo *header = &reader->header;
    size_t channels = frame->header.channels, frames = frame->header.blocksize;
    (void)decoder;
    if (reader->is_beyond && reader->is_bad)
        return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
    if (reader->is_beyond || channels != header->channels ||
        frame->header.bits_per_sample != header->bits_per_sample ||
        frame->header.sample_rate != header->sample_rate) {
        add_damage(reader, 0);
        reader->damage.is_format = reader->has_failed = true;
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    if (!make_room(reader, channels * (reader->held + frames))) {
        reader->io->error = ENOMEM;
        return FLAC__STREAM_DECODER_WRITE_STATUS_ABORT;
    }
    fill_gap(reader, (int64_t)frame->header.number.sample_number, frames);
    reader->is_bad = take(reader, buffer, channels, frames) && reader->is_bad;
    reader->damage.lost += reader->is_bad ? (int64_t)frames : 0;
    (void)FLAC__stream_decoder_get_decode_position(decoder, &reader->end);
    return FLAC__STREAM_DECODER_WRITE_STATUS_CONTINUE;
}

/* ---- the reader ---- */

/* Read from the first byte up to the first frame. */
static bool begin(struct flac_reader *reader)
{
    struct sound_io *io = reader->io;
    bool seeks = !io->stream;
    (void)FLAC__stream_decoder_finish(reader->decoder);
    (void)FLAC__stream_decoder_set_md5_checking(reader->decoder, !reader->was_checked);
    if (seeks && sound_io_functions(io)->seek(0, SEEK_SET, io) < 0)
        return false;
    reader->has_header = reader->is_at_end = false;
    reader->is_whole = true;
    reader->first = reader->held = 0;
    reader->silent = reader->next = 0;
    reader->end = 0;
    FLAC__StreamDecoderInitStatus begun = FLAC__stream_decoder_init_stream(
        reader->decoder, on_read, seeks ? on_seek : NULL, on_position, seeks ? on_length : NULL,
        seeks ? on_eof : NULL, on_frame, on_metadata, on_error, reader);
    if (begun == FLAC__STREAM_DECODER_INIT_STATUS_MEMORY_ALLOCATION_ERROR)
        io->error = ENOMEM;
    bool has_begun = begun == FLAC__STREAM_DECODER_INIT_STATUS_OK &&
                     FLAC__stream_decoder_process_until_end_of_metadata(reader->decoder);
    if (has_begun)
        (void)FLAC__stream_decoder_get_decode_position(reader->decoder, &reader->end);
    return has_begun && reader->has_header;
}

/* libsndfile's subtype for samples of this many bits. */
static int subtype_of(unsigned bits)
{
    return bits <= 8    ? SF_FORMAT_PCM_S8
           : bits <= 16 ? SF_FORMAT_PCM_16
           : bits <= 24 ? SF_FORMAT_PCM_24
                        : SF_FORMAT_PCM_32;
}

struct flac_reader *flac_reader_open(struct sound_io *io, SF_INFO *info)
{
    struct flac_reader *reader = calloc(1, sizeof *reader);
    io->error = reader ? io->error : ENOMEM;
    if (!reader)
        return NULL;
    reader->io = io;
    reader->damage.at = -1;
    reader->decoder = FLAC__stream_decoder_new();
    if (!reader->decoder)
        io->error = ENOMEM;
    if (!reader->decoder || !begin(reader)) {
        snprintf(io->open_problem, sizeof io->open_problem, "its header is damaged");
        flac_reader_close(reader);
        return NULL;
    }
    uint64_t frames = reader->header.total_samples;
    *info = (SF_INFO){.frames = frames > 0 ? (sf_count_t)frames : FRAMES_UNKNOWN,
                      .samplerate = (int)reader->header.sample_rate,
                      .channels = (int)reader->header.channels,
                      .format = SF_FORMAT_FLAC | subtype_of(reader->header.bits_per_sample),
                      .seekable = !io->stream};
    return reader;
}

/* Look for frames after the last: the number of frames is then wrong, or another FLAC follows. */
static void look_beyond(struct flac_reader *reader)
{
    int64_t total = (int64_t)reader->header.total_samples;
    if (total == 0 || reader->next < total)
        return;
    reader->is_beyond = true;
    reader->is_bad = false;
    if (reader->next > total)
        add_damage(reader, 0);
    reader->damage.is_format |= reader->next > total;
    while (reader->damage.at < 0 &&
           FLAC__stream_decoder_get_state(reader->decoder) != FLAC__STREAM_DECODER_END_OF_STREAM &&
           FLAC__stream_decoder_process_single(reader->decoder))
        ;
    reader->is_beyond = false;
}

/* At the end, compare the MD5 if all samples were read. */
static void end(struct flac_reader *reader)
{
    int64_t total = (int64_t)reader->header.total_samples;
    if (reader->is_at_end)
        return;
    reader->is_at_end = true;
    if (reader->is_whole)
        look_beyond(reader);
    if (total == 0 && reader->end < (FLAC__uint64)(reader->io->position - reader->io->origin)) {
        add_damage(reader, 0);
        reader->damage.is_cut = true;
    }
    bool is_right = FLAC__stream_decoder_finish(reader->decoder);
    bool is_whole = reader->is_whole && (total == 0 || reader->next == total);
    if (is_whole && !is_right && !reader->io->error && reader->damage.at < 0) {
        reader->damage.is_sum = true;
        reader->damage.at = 0;
    }
    reader->was_checked |= is_whole;
}

/* Decode the next frame of the file. False: there is none. */
static bool decode(struct flac_reader *reader)
{
    int64_t total = (int64_t)reader->header.total_samples;
    reader->first = reader->held = 0;
    while (reader->held == 0 && !reader->is_at_end) {
        bool is_over = total > 0 && reader->next >= total;
        if (is_over || reader->has_failed || reader->io->error ||
            !FLAC__stream_decoder_process_single(reader->decoder) ||
            FLAC__stream_decoder_get_state(reader->decoder) == FLAC__STREAM_DECODER_END_OF_STREAM)
            end(reader);
        if (FLAC__stream_decoder_get_state(reader->decoder) ==
            FLAC__STREAM_DECODER_MEMORY_ALLOCATION_ERROR)
            reader->io->error = ENOMEM;
    }
    return reader->held > 0;
}

/* Hand out decoded frames, as floats or doubles. */
static size_t hand_out(struct flac_reader *reader, size_t frames, float *single, double *in_double)
{
    size_t channels = reader->header.channels, left = reader->held - reader->first;
    const int32_t *samples = NULL;
    if (reader->silent > 0)
        left = (uint64_t)reader->silent < SILENCE_MOST ? (size_t)reader->silent : SILENCE_MOST;
    else
        samples = reader->samples + reader->first * channels;
    size_t part = left < frames ? left : frames;
    double scale = 1.0 / (double)(UINT32_C(1) << (reader->header.bits_per_sample - 1));
    for (size_t i = 0; single && i < part * channels; i++)
        single[i] = samples ? (float)samples[i] * (float)scale : 0;
    for (size_t i = 0; in_double && i < part * channels; i++)
        in_double[i] = samples ? (double)samples[i] * scale : 0;
    if (samples)
        reader->first += part;
    else
        reader->silent -= (int64_t)part;
    return part;
}

sf_count_t flac_reader_read(struct flac_reader *reader, size_t frames, float *single,
                            double *in_double)
{
    size_t channels = reader->header.channels, done = 0;
    int64_t total = (int64_t)reader->header.total_samples;
    while (done < frames && (reader->silent > 0 || reader->first < reader->held || decode(reader)))
        done += hand_out(reader, frames - done, single ? single + done * channels : NULL,
                         in_double ? in_double + done * channels : NULL);
    if (total > 0 && reader->next >= total && reader->first == reader->held)
        end(reader);
    return (sf_count_t)done;
}

bool flac_reader_seek(struct flac_reader *reader, int64_t frame)
{
    int64_t total = (int64_t)reader->header.total_samples;
    if (!begin(reader))
        return false;
    if (frame == 0)
        return true;
    reader->is_whole = false;
    reader->next = frame;
    reader->is_at_end = total > 0 && frame >= total;
    return reader->is_at_end ||
           FLAC__stream_decoder_seek_absolute(reader->decoder, (FLAC__uint64)frame);
}

struct flac_damage flac_reader_damage(const struct flac_reader *reader)
{
    struct flac_damage damage = reader->damage;
    int64_t total = (int64_t)reader->header.total_samples;
    if (reader->is_at_end && damage.at == reader->next && damage.lost == 0 && !damage.is_format &&
        reader->next < total)
        damage.at = -1; /* the caller reports missing frames by the length */
    return damage;
}

void flac_reader_close(struct flac_reader *reader)
{
    if (reader && reader->decoder)
        FLAC__stream_decoder_delete(reader->decoder);
    free(reader ? reader->samples : NULL);
    free(reader);
}
