#include "sound/port_sndfile_source.h"

#include "base/plural.h"
#include "base/simd.h"
#include "base/stop.h"
#include "sound/port_sndfile_parts.h"
#include "sound/sndfile_library.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of all that was read. */
static void note_too_small(const struct sound_source *sound)
{
    double largest = sound->narrowed.largest;
    if (largest > 0 && largest < (double)FLT_MIN)
        note("%s: its largest sample is %g: single precision holds it inexactly or as silence; "
             "use --precision double",
             sound->source.name, largest);
}

static void sound_source_close(struct source *source)
{
    struct sound_source *sound = (struct sound_source *)source;
    note_too_small(sound);
    sound_source_report_damage(sound);
    flac_reader_close(sound->flac);
    if (sound->file)
        sf_close(sound->file);
    if (sound->fd >= 0)
        close(sound->fd);
    if (sound->stream && sound->stream != stdin)
        fclose(sound->stream);
    sound_io_free(&sound->io);
    sound_traits_free(&source->traits);
    free(sound->interleaved);
    free(sound->path);
    free(sound);
}

/* Of a stream, only what follows its samples shows that their size of 32 bits may have begun again
 * at 0: neither its end nor a chunk. Once, behind the last frame. */
static void warn_goes_on(struct sound_source *sound)
{
    enum { ID = 4, WAIT_MS = 100 };
    const struct chunk_layout *layout = sound->layout;
    uint64_t passed = (uint64_t)sound->io.passed, next = sound->next;
    char bytes[ID + 1];
    if (!sound->stream || !layout || layout->whole_bytes != 4 || sound->end > next ||
        passed > next || next - passed > 1 || sound->reported_missing)
        return;
    struct pollfd more = {.fd = fileno(sound->stream), .events = POLLIN};
    size_t size = (size_t)(next - passed) + ID, i = size - ID;
    sound->reported_missing = true;
    if (poll(&more, 1, WAIT_MS) <= 0 || fread(bytes, 1, size, sound->stream) < size)
        return;
    while (i < size && bytes[i] >= ' ' && bytes[i] <= '~')
        i++;
    if (i < size)
        warning("%s goes on behind the %" PRId64 " frame%s of its header, and not with a chunk: "
                "that is left out; if its samples are more than 4 GB, read them from a file",
                sound->source.name, sound->position, plural_s((uint64_t)sound->position));
}

static enum status end_early(struct sound_source *sound)
{
    const struct source *source = &sound->source;
    if (stop_requested())
        return STATUS_INTERRUPTED;
    if (sound->stream)
        TRY(sound_source_check_ogg(sound));
    int64_t claim = source->frames != FRAMES_UNKNOWN ? source->frames : sound->limit;
    bool claimed = claim != FRAMES_UNKNOWN && sound->position < claim;
    if (claim == sound->position)
        warn_goes_on(sound);
    struct flaw flaw = {0};
    bool is_shorter = sound->io.error == SOUND_SHRANK;
    if (sound->io.error && !(is_shorter && sound->allow_truncated))
        flaw = sound_flaw(sound->io.error);
    else if (!claimed && sound->file && sf_error(sound->file) != SF_ERR_NO_ERROR &&
             !sound->allow_truncated)
        flaw = (struct flaw){CAUSE_DAMAGED, sf_strerror(sound->file)};
    if (flaw.text)
        return fail(flaw.cause, "cannot read %s after frame %lld: %s", source->name,
                    (long long)sound->position, flaw.text);
    if (sound->stream && sound->io.end.has_chunks && source->traits.metadata)
        source->traits.metadata->more_follows = true;
    if (claim == FRAMES_UNKNOWN && sound->stream && sound->io.shown > sound->io.passed)
        return sound_source_judge_missing(sound, 0, (uint64_t)(sound->io.shown - sound->io.passed));
    return claimed ? sound_source_judge_missing(sound, (uint64_t)claim,
                                                (uint64_t)(claim - sound->position))
                   : STATUS_OK;
}

/* In place, from double to single precision. What that does not hold would become infinite. */
static void narrow(void *samples, size_t count, struct narrowed *narrowed)
{
    char *bytes = samples;
    for (size_t i = 0; i < count; i++) {
        double value;
        memcpy(&value, bytes + i * sizeof value, sizeof value);
        float rounded = (float)value;
        memcpy(bytes + i * sizeof rounded, &rounded, sizeof rounded);
        narrowed->largest = fmax(narrowed->largest, fabs(value));
        if (isinf(rounded) && isfinite(value) && narrowed->beyond == 0) {
            narrowed->beyond = value;
            narrowed->sample = i;
        }
    }
}

/* The floats that libsndfile makes of them, of which it does one at a time, and reads 8 KiB. */
SIMD_CLONES
static void widen(const int16_t *restrict from, size_t count, float *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)from[i] * 0x1p-15F;
}

/* The next frames, as floats. */
static sf_count_t read_shorts(struct sound_source *sound, size_t frames)
{
    size_t channels = sound->source.format.channels;
    float *floats = sound->interleaved;
    int16_t *shorts = (void *)(floats + frames * channels); /* there is room for doubles */
    sf_count_t count = sf_readf_short(sound->file, shorts, (sf_count_t)frames);
    if (count > 0)
        widen(shorts, (size_t)count * channels, floats);
    return count;
}

static sf_count_t read_frames(struct sound_source *sound, bool single, size_t frames)
{
    if (sound->flac)
        return flac_reader_read(sound->flac, frames, single ? sound->interleaved : NULL,
                                single ? NULL : sound->interleaved);
    if (!single || sound->is_double)
        return sf_readf_double(sound->file, sound->interleaved, (sf_count_t)frames);
    return sound->is_short ? read_shorts(sound, frames)
                           : sf_readf_float(sound->file, sound->interleaved, (sf_count_t)frames);
}

/* What is read to: one of them. */
struct planar_rows {
    float *const *single;
    double *const *in_double;
};

/* The next frames, at most a chunk, to the rows from `at` on. */
static size_t read_chunk(struct sound_source *sound, const struct planar_rows *rows, size_t at,
                         size_t frames)
{
    size_t channels = sound->source.format.channels;
    sf_count_t count = 0;
    if (frames > 0 && sound_io_has_memory(&sound->io, channels))
        count = read_frames(sound, rows->single != NULL, frames);
    size_t read = count > 0 ? (size_t)count : 0;
    if (rows->single && sound->is_double)
        narrow(sound->interleaved, read * channels, &sound->narrowed);
    if (rows->single)
        audio_deinterleave(sound->interleaved, channels, read, rows->single, at);
    else
        audio_deinterleave_in_double(sound->interleaved, channels, read, rows->in_double, at);
    sound->position += (int64_t)read;
    return read;
}

static enum status refuse_beyond(const struct sound_source *sound, size_t read)
{
    size_t channels = sound->source.format.channels, sample = sound->narrowed.sample;
    const char *option = sound->source.wide_option;
    return fail(CAUSE_UNSUPPORTED,
                "cannot read %s: frame %lld of channel %zu is %g, beyond single precision; %s%s",
                sound->source.name,
                (long long)(sound->position - (int64_t)read + (int64_t)(sample / channels) + 1),
                sample % channels + 1, sound->narrowed.beyond, option ? "use " : "",
                option ? option
                       : "make it quieter first: halo render --precision double --normalize -1");
}

/* No longer than the sound: a mask is often short, and its chunk new memory. */
static enum status make_chunk(struct sound_source *sound)
{
    size_t channels = sound->source.format.channels;
    size_t frames = audio_chunk_frames(channels);
    if (sound->source.frames > 0 && (uint64_t)sound->source.frames < frames)
        frames = (size_t)sound->source.frames;
    sound->interleaved = audio_alloc_unset_in_double(frames * channels);
    if (!sound->interleaved)
        return fail_memory("reading");
    sound->chunk = frames;
    return STATUS_OK;
}

static enum status read_rows(struct sound_source *sound, const struct planar_rows *rows,
                             size_t frames, size_t *got)
{
    *got = 0;
    if (sound->chunk == 0)
        TRY(make_chunk(sound));
    while (*got < frames) {
        size_t want = frames - *got < sound->chunk ? frames - *got : sound->chunk;
        if (sound->limit != FRAMES_UNKNOWN && (int64_t)want > sound->limit - sound->position)
            want = (size_t)(sound->limit - sound->position);
        size_t read = read_chunk(sound, rows, *got, want);
        *got += read;
        if (sound->narrowed.beyond != 0)
            return refuse_beyond(sound, read);
        TRY(sound_source_check(sound));
        if (read == 0 || read < want || sound->io.error)
            return end_early(sound);
    }
    return STATUS_OK;
}

/* libsndfile seeks wrong into the last page of a Vorbis, whose end is cut: from two pages before
 * on, frames are read. */
static bool seek_vorbis(struct sound_source *sound, uint64_t frame)
{
    enum { PART = 256 };
    const int64_t safe = sound->io.pages.granules[1] - sound->source.format.rate;
    uint64_t at = frame;
    float *part = audio_alloc_unset(PART * sound->source.format.channels);
    if ((int64_t)frame > safe)
        at = safe > 0 ? (uint64_t)safe : 0;
    bool is_there = part && sf_seek(sound->file, (sf_count_t)at, SEEK_SET) >= 0;
    while (is_there && at < frame) {
        uint64_t left = frame - at;
        sf_count_t want = left < PART ? (sf_count_t)left : PART;
        is_there = sf_readf_float(sound->file, part, want) == want;
        at += (uint64_t)want;
    }
    free(part);
    return is_there;
}

static enum status sound_source_seek(struct source *source, uint64_t frame)
{
    struct sound_source *sound = (struct sound_source *)source;
    bool is_there = frame <= INT64_MAX;
    if (is_there && sound->flac)
        is_there = flac_reader_seek(sound->flac, (int64_t)frame);
    else if (is_there && (source->traits.format & SF_FORMAT_SUBMASK) == SF_FORMAT_VORBIS)
        is_there = seek_vorbis(sound, frame);
    else if (is_there)
        is_there = sf_seek(sound->file, (sf_count_t)frame, SEEK_SET) >= 0;
    if (!is_there && sound->io.error) {
        struct flaw flaw = sound_flaw(sound->io.error);
        return fail(flaw.cause, "cannot seek in %s: %s", source->name, flaw.text);
    }
    if (!is_there)
        return fail(CAUSE_DAMAGED, "cannot seek in %s: %s", source->name,
                    sound->flac ? "it is damaged" : sf_strerror(sound->file));
    sound->position = (int64_t)frame;
    return STATUS_OK;
}

static enum status sound_source_read(struct source *source, float *const *planar, size_t frames,
                                     size_t *got)
{
    struct sound_source *sound = (struct sound_source *)source;
    float *sorted[CHANNEL_ORDER_MOST];
    for (size_t c = 0; c < sound->order.count; c++)
        sorted[c] = planar[sound->order.rows[c]];
    const struct planar_rows rows = {.single = sound->order.count ? sorted : planar};
    return read_rows(sound, &rows, frames, got);
}

static enum status sound_source_read_in_double(struct source *source, double *const *planar,
                                               size_t frames, size_t *got)
{
    struct sound_source *sound = (struct sound_source *)source;
    double *sorted[CHANNEL_ORDER_MOST];
    for (size_t c = 0; c < sound->order.count; c++)
        sorted[c] = planar[sound->order.rows[c]];
    const struct planar_rows rows = {.in_double = sound->order.count ? sorted : planar};
    if (!sound_parts_read(sound, rows.in_double, frames))
        return stop_requested() ? STATUS_INTERRUPTED : read_rows(sound, &rows, frames, got);
    *got = frames;
    return sound_source_seek(source, (uint64_t)sound->position + frames);
}

const struct source_kind sound_source_kind = {.read = sound_source_read,
                                              .read_in_double = sound_source_read_in_double,
                                              .seek = sound_source_seek,
                                              .close = sound_source_close};
