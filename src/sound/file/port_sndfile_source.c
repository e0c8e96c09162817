#include "sound/file/port_sndfile_source.h"

#include "base/plural.h"
#include "base/simd.h"
#include "base/stop.h"
#include "sound/sndfile_library.h"

#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- parts of a file, read by several threads ---- */

enum {
    PIECE = 1 << 17, /* samples that a worker reads at a time; they fit into its cache */
    LEAST = 1 << 20, /* fewest samples to share among workers, since each parses the header */
};

/* State of a worker. */
struct part {
    struct sound_io io;
    SNDFILE *file;
    void *interleaved; /* PIECE samples, in double precision at most */
};

struct parts_job {
    const struct sound_source *sound;
    double *const *rows;
    size_t frames;
    size_t piece;       /* frames of a piece */
    bool is_single;     /* single precision holds the samples */
    struct part *parts; /* one for each worker */
    atomic_bool failed;
};

/* Whether libsndfile converts these samples to floats exactly. */
static bool fits_single(int format)
{
    int samples = format & SF_FORMAT_SUBMASK;
    return samples == SF_FORMAT_FLOAT || samples == SF_FORMAT_PCM_16 || samples == SF_FORMAT_PCM_24;
}

/* Whether workers can share the file. Not if halo corrects its header by a limit or an offset. */
static bool may_be_parted(const struct sound_source *sound, size_t frames)
{
    const struct source *source = &sound->source;
    return source->workers && source->seekable && !sound->stream && !sound->flac &&
           sound->io.origin == 0 && sound->limit == FRAMES_UNKNOWN &&
           source->frames != FRAMES_UNKNOWN && sound_format_bytes(source->traits.format) > 0 &&
           source->format.channels <= PIECE && frames >= LEAST / source->format.channels &&
           frames <= (uint64_t)(source->frames - sound->position);
}

static bool open_part(const struct parts_job *job, struct part *part)
{
    const struct source *source = &job->sound->source;
    SF_INFO info = {0};
    if (part->file)
        return true;
    sound_io_begin_beside(&part->io, &job->sound->io);
    part->file = sound_io_open(&part->io, SFM_READ, &info);
    part->interleaved =
        audio_alloc_unset_in_double(job->is_single ? PIECE / 2 : PIECE); /* floats or doubles */
    return part->file && part->interleaved && !part->io.error &&
           info.format == source->traits.format && info.frames == source->frames &&
           (size_t)info.channels == source->format.channels;
}

static bool read_piece(const struct parts_job *job, struct part *part, size_t from, size_t frames)
{
    size_t channels = job->sound->source.format.channels;
    sf_count_t at = (sf_count_t)job->sound->position + (sf_count_t)from, count = (sf_count_t)frames;
    if (!open_part(job, part) || sf_seek(part->file, at, SEEK_SET) != at)
        return false;
    sf_count_t got = job->is_single ? sf_readf_float(part->file, part->interleaved, count)
                                    : sf_readf_double(part->file, part->interleaved, count);
    if (got != count || part->io.error)
        return false;
    if (job->is_single)
        audio_deinterleave_widened(part->interleaved, channels, frames, job->rows, from);
    else
        audio_deinterleave_in_double(part->interleaved, channels, frames, job->rows, from);
    return true;
}

static void take_piece(void *context, size_t piece, size_t worker)
{
    struct parts_job *job = context;
    size_t from = piece * job->piece, left = job->frames - from;
    if (!job->failed &&
        !read_piece(job, &job->parts[worker], from, left < job->piece ? left : job->piece))
        job->failed = true;
}

static bool sound_parts_read(const struct sound_source *sound, double *const *rows, size_t frames)
{
    struct workers *workers = sound->source.workers;
    if (!may_be_parted(sound, frames))
        return false;
    struct parts_job job = {.sound = sound,
                            .rows = rows,
                            .frames = frames,
                            .piece = PIECE / sound->source.format.channels,
                            .is_single = fits_single(sound->source.traits.format),
                            .parts = calloc(workers_count(workers), sizeof *job.parts)};
    if (!job.parts)
        return false;
    workers_run(workers, (frames + job.piece - 1) / job.piece, take_piece, &job);
    for (size_t w = 0; w < workers_count(workers); w++) {
        if (job.parts[w].file)
            sf_close(job.parts[w].file);
        free(job.parts[w].interleaved);
    }
    free(job.parts);
    return !job.failed && !stop_requested();
}

/* ---- damage ---- */

static const char cure[] = "use --allow-truncated to go on without it";

enum status sound_source_judge_missing(struct sound_source *sound, uint64_t frames,
                                       uint64_t missing)
{
    const struct ogg_pages *pages = &sound->io.pages;
    bool is_all = sound->io.is_ogg && pages->has_ended && pages->damages == 0;
    const char *name = sound->source.name, *how = is_all ? "damaged" : "truncated";
    char text[128];
    if (frames > 0 && missing > 0)
        snprintf(text, sizeof text, "its header says %" PRIu64 " frame%s, %" PRIu64 " %s missing",
                 frames, plural_s(frames), missing, plural_are(missing));
    else if (missing > 0)
        snprintf(text, sizeof text, "%" PRIu64 " byte%s %s missing", missing, plural_s(missing),
                 plural_are(missing));
    else
        snprintf(text, sizeof text, "its end is missing");
    if (!sound->allow_truncated)
        return fail(CAUSE_DAMAGED, "%s is %s: %s; use --allow-truncated to render the rest", name,
                    how, text);
    if (!sound->reported_missing)
        warning("%s is %s: %s", name, how, text);
    sound->reported_missing = true;
    return STATUS_OK;
}

static enum status refuse_flac(struct sound_source *sound, const struct flac_damage *damage)
{
    const char *name = sound->source.name;
    if (damage->is_cut)
        return sound_source_judge_missing(sound, 0, 0);
    if (damage->is_sum)
        return fail(CAUSE_DAMAGED,
                    "%s is damaged: its samples do not have the MD5 sum that its header gives; use "
                    "--allow-truncated to take them as they are",
                    name);
    if (damage->is_format)
        return fail(
            CAUSE_DAMAGED,
            "%s is damaged: its frames have another rate, or other channels, bits or number, "
            "than its header gives",
            name);
    return fail(CAUSE_DAMAGED, "%s is damaged at frame %" PRId64 ", by its checksums; %s", name,
                damage->at, cure);
}

/* Warn of the damage in a FLAC that was read. */
static void sound_source_report_damage(const struct sound_source *sound)
{
    if (!sound->flac || !sound->allow_truncated)
        return;
    struct flac_damage damage = flac_reader_damage(sound->flac);
    const char *name = sound->source.name;
    uint64_t lost = (uint64_t)damage.lost;
    if (damage.is_cut)
        warning("%s is truncated: its end is missing", name);
    else if (damage.is_sum)
        warning("%s is damaged: its samples do not have the MD5 sum that its header gives", name);
    else if (damage.at >= 0 && (lost > 0 || !sound->reported_missing))
        warning("%s is damaged from frame %" PRId64 " on: %" PRIu64 " frame%s %s silent", name,
                damage.at, lost, plural_s(lost), plural_are(lost));
}

enum { PLACE = 128 };

/* The seconds of the damage, if the pages beside it have positions. */
static const char *place_of(const struct sound_source *sound, char text[PLACE])
{
    const struct ogg_pages *pages = &sound->io.pages;
    int format = sound->source.traits.format;
    bool is_opus = (format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
    double rate = is_opus ? 48000 : sound->source.format.rate;
    size_t size = (size_t)snprintf(text, PLACE, "from byte %" PRIu64 " on", pages->damaged_at);
    if (rate > 0)
        size += (size_t)snprintf(text + size, PLACE - size, " (from %.2f s",
                                 (double)pages->before / rate);
    if (rate > 0 && pages->after >= 0)
        size +=
            (size_t)snprintf(text + size, PLACE - size, " to %.2f s", (double)pages->after / rate);
    if (rate > 0)
        snprintf(text + size, PLACE - size, ")");
    return text;
}

static enum status judge_pages(const struct sound_source *sound)
{
    const struct ogg_pages *pages = &sound->io.pages;
    const char *name = sound->source.name;
    char place[PLACE], more[64] = "";
    const char *what =
        pages->damaged_bytes > 0 ? "pages have wrong checksums" : "pages are missing";
    if (!sound->allow_truncated)
        return fail(CAUSE_DAMAGED, "%s is damaged: %s %s; %s", name, what, place_of(sound, place),
                    cure);
    if (pages->damages > 1)
        snprintf(more, sizeof more, ", and at %" PRIu64 " more place%s", pages->damages - 1,
                 plural_s(pages->damages - 1));
    warning("%s is damaged: %s %s%s; their sound is left out", name, what, place_of(sound, place),
            more);
    return STATUS_OK;
}

static enum status refuse_chain(const struct sound_source *sound)
{
    if (!sound->allow_truncated)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read all of %s: it is a chain of Ogg streams, of which only the first "
                    "can be read; use --allow-truncated to render the first",
                    sound->source.name);
    warning("%s is a chain of Ogg streams, of which only the first is read", sound->source.name);
    return STATUS_OK;
}

enum status sound_source_check_ogg(struct sound_source *sound)
{
    struct sound_io *io = &sound->io;
    sound_io_read_pages(io);
    if (!io->is_ogg || io->error)
        return STATUS_OK;
    if (io->pages.damages > 0)
        TRY(judge_pages(sound));
    if (io->pages.is_chain)
        return refuse_chain(sound);
    if (io->pages.begins_late) /* recordings of a server's stream do this */
        warning("%s begins late: pages before its first samples are missing", sound->source.name);
    return io->pages.has_ended ? STATUS_OK : sound_source_judge_missing(sound, 0, 0);
}

static enum status sound_source_check(struct sound_source *sound)
{
    if (sound->allow_truncated)
        return STATUS_OK;
    if (sound->stream && sound->io.pages.damages > 0)
        return judge_pages(sound);
    struct flac_damage damage = {.at = -1};
    if (sound->flac)
        damage = flac_reader_damage(sound->flac);
    return damage.at >= 0 ? refuse_flac(sound, &damage) : STATUS_OK;
}

/* ---- reading ---- */

/* Print a note if single precision rounds even the largest sample. */
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
    metadata_destroy(source->traits.metadata);
    free(sound->interleaved);
    free(sound->path);
    free(sound);
}

/* Warn, once after the last frame of a stream, if neither its end nor a chunk follows. Its 32-bit
 * size may then be too small, having begun again at 0. */
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

/* Convert from double to single precision in place. Notes samples that would become infinite. */
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

/* Convert 16-bit integers to the same floats as libsndfile would, but faster: libsndfile converts
 * sample by sample, in pieces of 8 KiB. */
SIMD_CLONES
static void widen(const int16_t *restrict from, size_t count, float *restrict to)
{
    for (size_t i = 0; i < count; i++)
        to[i] = (float)from[i] * 0x1p-15F;
}

/* Read the next frames as floats. */
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

/* Rows to read into. One of the two members is NULL. */
struct planar_rows {
    float *const *single;
    double *const *in_double;
};

/* Read the next frames, at most a chunk, into the rows from `at` on. */
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

/* Allocate the chunk. It is no longer than the sound, since masks are often short. */
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

/* Seek in a Vorbis. libsndfile seeks wrongly into the last page if its end is cut, so from two
 * pages before the end on, frames are read instead. */
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
