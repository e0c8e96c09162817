#include "sound/port_sndfile_sink.h"

#include "base/simd.h"
#include "base/stop.h"
#include "sound/sink_metadata.h"
#include "sound/sndfile_library.h"
#include "sound/w64_header.h"

#include <errno.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

enum status sound_sink_refuse(const struct sound_sink *sound, int error)
{
    if (stop_requested())
        return STATUS_INTERRUPTED;
    struct flaw flaw =
        error ? sound_flaw(error) : (struct flaw){CAUSE_OTHER, sf_strerror(sound->file)};
    return fail(flaw.cause, "cannot write %s: %.*s%s", sound->name,
                (int)strcspn(flaw.text, ".\r\n"), flaw.text,
                sound->regular.temporary ? "; nothing was changed" : "");
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
            return fail(CAUSE_UNSUPPORTED,
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

/* libsndfile always writes the time of day into the PEAK chunk of an RF64 file: clear it, so that
 * output is reproducible. */
static int clear_peak_time(int fd)
{
    struct sound_bytes bytes = sound_bytes_of_file(fd);
    struct sound_chunk peak;
    if (!sound_chunks_find(&bytes, "PEAK", &peak))
        return bytes.error;
    return sound_bytes_write(fd, peak.content + 4, "\0\0\0", 4);
}

/* What libsndfile does not write, or not as it is. */
static int write_layout(const struct sound_sink *sound)
{
    if (sound->w64)
        return w64_header_end(sound->fd, sound->w64_extensible, sound->io.splice.bytes.size);
    if (sound->major == SF_FORMAT_WAVEX || sound->major == SF_FORMAT_RF64)
        return channel_layout_patch_wav(sound->fd, sound->stated, sound->extensible);
    return 0;
}

/* All of the file but what follows the samples. */
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
                    "cannot write %s: libsndfile does not open what was written; choose another "
                    "--container, or try --metadata none",
                    sound->name);
    int fd = sound->fd;
    sound->fd = -1;
    if (close(fd) != 0)
        return sound_sink_refuse(sound, errno);
    return sound->regular.temporary ? atomic_file_keep(&sound->regular, sound->name) : STATUS_OK;
}

/* Behind the samples, which end at `end`. *opens: libsndfile finds them. */
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

const struct sink_kind sound_sink_kind = {.write = sound_sink_write,
                                          .write_in_double = sound_sink_write_in_double,
                                          .commit = sound_sink_commit,
                                          .close = sound_sink_close};
