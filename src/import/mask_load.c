/* Masks from files: recognising kinds, sound files (a channel is a column), headerless samples. */
#include "import/mask_load.h"

#include "base/decimal.h"
#include "base/files_read.h"
#include "base/workers.h"
#include "import/mask_config.h"
#include "import/mask_reader.h"
#include "import/number_table.h"
#include "sound/file/sound_format.h"
#include "sound/file/sound_io.h"
#include "sound/port.h"
#include "sound/sndfile_library.h"
#include "sweep/measurement.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* Kinds in the order in which they are tried. CamillaDSP is before Equalizer APO, since its keys in
 * the first column are certain. A new kind takes one file, and one entry here. */
static const struct mask_reader *const mask_readers[] = {
    &mask_reader_raw,        &mask_reader_sound,       &mask_reader_sofa,
    &mask_reader_response,   &mask_reader_rew,         &mask_reader_ambix,
    &mask_reader_pipewire,   &mask_reader_easyeffects, &mask_reader_camilladsp,
    &mask_reader_jconvolver, &mask_reader_brutefir,    &mask_reader_convolver,
    &mask_reader_eqapo,      &mask_reader_rew_table,   &mask_reader_minidsp,
    &mask_reader_text,
};

struct finite_job {
    const struct mask *mask;
    double most;       /* the largest tap that is allowed */
    atomic_bool found; /* a tap is NaN, infinite or larger than that */
};

static void find_nonfinite(void *context, size_t column, size_t worker)
{
    (void)worker;
    struct finite_job *job = context;
    double peak = audio_peak_in_double(mask_column(job->mask, column), job->mask->taps);
    if (!(peak <= job->most))
        job->found = true;
}

static enum status check_finite(const struct mask *mask, const struct mask_load_options *options)
{
    struct finite_job job = {.mask = mask, .most = options->in_double ? DBL_MAX : FLT_MAX};
    workers_run(mask_workers(options->workers, mask), mask->columns, find_nonfinite, &job);
    size_t total = mask->columns * mask->taps, bad = job.found ? 0 : total;
    while (bad < total && fabs(mask->coefficients[bad]) <= job.most) /* NaN fails this test, too */
        bad++;
    if (bad == total)
        return STATUS_OK;
    size_t tap = bad % mask->taps + 1, channel = bad / mask->taps + 1;
    double value = mask->coefficients[bad];
    if (isfinite(value))
        return fail(
            CAUSE_UNSUPPORTED,
            "cannot use mask %s: tap %zu of channel %zu is %g, beyond single precision; use "
            "--precision double",
            mask->name, tap, channel, value);
    return fail(CAUSE_DAMAGED, "cannot use mask %s: tap %zu of channel %zu is %s", mask->name, tap,
                channel, isnan(value) ? "not a number" : "infinite");
}

/* Does not use rewind(), which would clear the error. */
void mask_file_restart(FILE *stream)
{
    (void)fseeko(stream, 0, SEEK_SET);
}

bool mask_file_ends_with(const char *file, const char *ending)
{
    const char *dot = strrchr(file, '.');
    return dot && strcasecmp(dot, ending) == 0;
}

const char *mask_file_given(const char *text)
{
    const char *path = NULL;
    for (const char *at = text; (at = strstr(at, MASK_FILE_GIVES)); at = path)
        path = at + strlen(MASK_FILE_GIVES);
    return path;
}

bool mask_looks_like_text(FILE *stream)
{
    unsigned char head[1024];
    size_t size = fread(head, 1, sizeof head, stream);
    mask_file_restart(stream);
    for (size_t i = 0; i < size; i++)
        if (head[i] < 0x20 && !isspace(head[i]))
            return false;
    return size > 0;
}

enum status mask_values_add(struct mask_values *values, double value)
{
    if (values->count == values->capacity) {
        size_t capacity = values->capacity ? 2 * values->capacity : 1024;
        double *larger = realloc(values->values, capacity * sizeof *larger);
        if (!larger)
            return fail_memory("a mask");
        values->values = larger;
        values->capacity = capacity;
    }
    values->values[values->count++] = value;
    return STATUS_OK;
}

enum status mask_file_open(const char *file, bool is_samples, FILE **stream)
{
    struct stat about;
    struct flaw flaw =
        is_samples ? files_read_open(file, stream) : files_read_open_text(file, stream);
    if (flaw.text)
        return fail(flaw.cause, "cannot open mask %s: %s", file, flaw.text);
    if (fstat(fileno(*stream), &about) != 0 || about.st_size > 0)
        return STATUS_OK;
    fclose(*stream);
    return fail(CAUSE_DAMAGED, "cannot read mask %s: it is empty", file);
}

static enum status read_config(const struct mask_reader *reader, const char *file, FILE *stream,
                               const struct mask_load_options *options, struct mask **mask)
{
    struct mask_config config;
    bool is_open;
    TRY(mask_config_open(&config, file, stream, options, &is_open));
    if (!is_open)
        return STATUS_OK;
    enum status status =
        reader->is_my_config(&config) ? reader->read_config(&config, mask) : STATUS_OK;
    mask_config_close(&config);
    return status;
}

enum status mask_reader_read(const struct mask_reader *reader, const char *file, FILE *stream,
                             const struct mask_load_options *options, struct mask **mask)
{
    if (reader->read_config)
        TRY(read_config(reader, file, stream, options, mask));
    if (*mask)
        return STATUS_OK;
    bool mine = false;
    if (!reader->read_config)
        TRY(reader->is_mine(file, stream, options, &mine));
    mask_file_restart(stream);
    if (ferror(stream) || ftello(stream) != 0) /* the kind could not be found out */
        return fail_errno(EIO, "cannot read mask %s", file);
    return mine ? reader->read(file, stream, options, mask) : STATUS_OK;
}

bool mask_directions_given(const struct mask_directions *directions)
{
    return directions->has_direction || directions->speakers ||
           directions->interpolate != MASK_INTERPOLATE_DEFAULT;
}

const char *mask_config_option(const struct mask_load_options *options)
{
    return options->folder            ? "folder="
           : options->files           ? "file="
           : options->skips_nonlinear ? "skip="
                                      : "trust-config=";
}

/* Refuses options for configurations if the file is not one: only configurations name files. */
static enum status check_folder(const struct mask_reader *reader, const char *file,
                                const struct mask_load_options *options)
{
    if (!options->is_about_configs || options->is_named || reader->read_config)
        return STATUS_OK;
    return fail(CAUSE_USAGE, "mask %s is %s: %s is for configurations of other programs", file,
                reader->kind, mask_config_option(options));
}

static enum status read_by_kind(const char *file, FILE *stream,
                                const struct mask_load_options *options, struct mask **mask)
{
    for (size_t i = 0; i < sizeof mask_readers / sizeof *mask_readers; i++) {
        if (options->is_named && mask_readers[i]->read_config)
            continue;
        mask_file_restart(stream);
        if (mask_reader_read(mask_readers[i], file, stream, options, mask) != STATUS_OK)
            return STATUS_FAILED;
        if (!*mask)
            continue;
        (*mask)->kind = mask_readers[i]->kind;
        if (mask_directions_given(&options->directions) && !mask_readers[i]->has_directions)
            return fail(CAUSE_USAGE,
                        "mask %s: az=, el=, speakers= and interpolate= are for SOFA files", file);
        TRY(check_folder(mask_readers[i], file, options));
        return check_finite(*mask, options);
    }
    return fail(CAUSE_UNSUPPORTED,
                "cannot read mask %s: it is neither a sound file nor text with "
                "one coefficient a line (samples without a header need raw=FORMAT)",
                file);
}

/* The rate in a file's name: 48000, 44.1k, 96kHz. 0: none of 16 kHz or more. */
static uint32_t rate_in_name(const char *file)
{
    static const double least = 16000;
    const char *slash = strrchr(file, '/');
    for (const char *at = slash ? slash + 1 : file; *at;) {
        char *end;
        double value = 0;
        if (!isdigit((unsigned char)*at) || !decimal_read(at, &end, &value)) {
            at++;
            continue;
        }
        if (tolower((unsigned char)*end) == 'k')
            value *= 1000;
        uint32_t rate = value >= least ? usual_rate(value) : 0;
        if (rate)
            return rate;
        at = end;
    }
    return 0;
}

static void note_rate_in_name(const struct mask *mask, const struct mask_load_options *options)
{
    uint32_t rate = rate_in_name(mask->name);
    if (mask->rate == 0 && rate && rate != options->sound.rate && !options->is_named)
        note("mask %s states no rate, but %u stands in its name: rate=%u sets it", mask->name, rate,
             rate);
}

enum status mask_load_with(const char *file, const struct mask_load_options *options,
                           struct mask **mask)
{
    struct mask *loaded = NULL;
    FILE *stream;
    TRY(mask_file_open(file, options->raw.format, &stream));
    enum status status = read_by_kind(file, stream, options, &loaded);
    fclose(stream);
    uint32_t rate = options->raw.rate;
    if (status == STATUS_OK && rate && loaded->rate && loaded->rate != rate)
        status = fail(CAUSE_USAGE, "mask %s has a rate of %u Hz, not %u", loaded->name,
                      loaded->rate, rate);
    if (status != STATUS_OK) {
        mask_destroy(loaded);
        return status;
    }
    if (rate)
        loaded->rate = rate;
    note_rate_in_name(loaded, options);
    *mask = loaded;
    return STATUS_OK;
}

/* ---- sound files ---- */

/* Whether a file begins as WAV does, which no other kind of mask does. */
static bool begins_as_wav(int fd)
{
    unsigned char head[12];
    return pread(fd, head, sizeof head, 0) == sizeof head && stream_header_is_wav(head);
}

static enum status is_sound(const char *name, FILE *stream, const struct mask_load_options *options,
                            bool *mine)
{
    (void)options;
    SF_INFO info = {0};
    struct sound_io io;
    *mine = true;
    if (!library_is_there(&sndfile_library) || begins_as_wav(fileno(stream)))
        return STATUS_OK; /* the reader will say why it cannot be read */
    sound_io_begin(&io, fileno(stream));
    SNDFILE *file = sound_io_open(&io, SFM_READ, &info);
    bool other = !file && !io.error && io.open_error == SF_ERR_UNRECOGNISED_FORMAT;
    struct foreign_sound foreign;
    if (other && foreign_sound_recognise_file(fileno(stream), &foreign))
        other = false; /* the reader will say how to convert it */
    if (file)
        sf_close(file);
    bool restarted = lseek(fileno(stream), 0, SEEK_SET) == 0;
    *mine = !other || !restarted; /* broken sound files are not text */
    return io.error == ENOMEM ? fail_errno(ENOMEM, "cannot read mask %s", name) : STATUS_OK;
}

/* Takes the text of a measurement from the file's comments. */
static enum status read_measured(struct source *source, struct mask *mask)
{
    TRY(source_read_metadata(source));
    const struct sound_metadata *metadata = source->traits.metadata;
    for (size_t i = 0; metadata && i < metadata->text_count && !mask->measured; i++) {
        const struct metadata_text *text = &metadata->texts[i];
        if (strcmp(text->name, "COMMENT") != 0 || !measurement_is_text(text->value))
            continue;
        mask->measured = strdup(text->value);
        if (!mask->measured)
            return fail_memory("a mask");
    }
    return STATUS_OK;
}

static enum status read_columns(const char *file, struct source *source, struct mask **result)
{
    if (source->frames == 0)
        return fail(CAUSE_DAMAGED, "cannot use mask %s: it has no tap", file);
    if (source->frames < 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot use mask %s: it does not say how long it is; convert it to WAV", file);
    TRY(mask_create_unset(file, source->format.channels, (uint64_t)source->frames, result));
    struct mask *mask = *result; /* after an error mask_load_with destroys it */
    mask->rate = source->format.rate;
    mask->layout = source->format.layout;
    mask->sound_format = source->traits.format;
    TRY(read_measured(source, mask));
    double **columns = malloc(mask->columns * sizeof *columns);
    if (!columns)
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++)
        columns[c] = mask_column(mask, c);
    size_t got;
    enum status status = source_read_in_double(source, columns, mask->taps, &got);
    free(columns);
    if (status == STATUS_OK && got < mask->taps)
        status = fail(CAUSE_DAMAGED, "cannot use mask %s: it ends after %zu of %zu taps", file, got,
                      mask->taps);
    return status;
}

static enum status read_sound(const char *file, FILE *stream,
                              const struct mask_load_options *options, struct mask **mask)
{
    (void)stream;
    struct source *source;
    TRY(source_open_sound(file, options->allow_truncated, &source));
    if (source->length_is_open)
        source_note_open_length(file);
    source->workers = options->workers;
    enum status status = read_columns(file, source, mask);
    source_close(source);
    return status;
}

const struct mask_reader mask_reader_sound = {
    .kind = "sound",
    .is_mine = is_sound,
    .read = read_sound,
};

/* ---- headerless samples ---- */

/* Samples in a format that the user names, or the ending: `.dbl` (Acourate, rePhase: float64) and
 * `.pcm` (DRC: float32), both little-endian, of one channel and unknown rate. */

static const struct {
    const char *suffix;
    const char *format;
} suffixes[] = {{".dbl", "F64_LE"}, {".pcm", "F32_LE"}};

/* Whether a file with such an ending is in fact text or WAV. */
static bool is_other(FILE *stream)
{
    char head[4];
    bool other = fread(head, sizeof head, 1, stream) == 1 &&
                 (memcmp(head, "RIFF", 4) == 0 || memcmp(head, "RF64", 4) == 0);
    mask_file_restart(stream);
    return other || mask_looks_like_text(stream);
}

static const struct raw_format *format_for(const char *file)
{
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (mask_file_ends_with(file, suffixes[i].suffix))
            return raw_format_named(suffixes[i].format);
    return NULL;
}

static enum status count_frames(const char *file, FILE *stream, const struct raw_layout *raw,
                                uint64_t *frames)
{
    struct stat about;
    if (fstat(fileno(stream), &about) != 0)
        return fail_errno(errno, "cannot read mask %s", file);
    uint64_t size = (uint64_t)about.st_size, frame = raw->format->bytes * raw->channels;
    if (raw->skip >= size)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: it ends before byte %llu", file,
                    (unsigned long long)raw->skip);
    size -= raw->skip;
    if (raw->most && raw->most < size)
        size = raw->most;
    if (size % frame != 0)
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: its %llu bytes are not a whole number of frames of %zu "
                    "channels in %s; see raw= and channels=",
                    file, (unsigned long long)size, raw->channels, raw->format->name);
    *frames = size / frame;
    return STATUS_OK;
}

static enum status read_samples(const char *file, FILE *stream, const struct raw_layout *raw,
                                struct mask *mask)
{
    if (fseeko(stream, (off_t)raw->skip, SEEK_SET) != 0)
        return fail_errno(errno, "cannot read mask %s", file);
    for (size_t k = 0; k < mask->taps; k++)
        for (size_t c = 0; c < mask->columns; c++) {
            unsigned char sample[8];
            if (fread(sample, raw->format->bytes, 1, stream) != 1)
                return fail(CAUSE_DAMAGED,
                            "cannot read mask %s: it was truncated while it was read", file);
            mask_column(mask, c)[k] = raw_format_decode(raw->format, sample);
        }
    return STATUS_OK;
}

static enum status is_raw(const char *file, FILE *stream, const struct mask_load_options *options,
                          bool *mine)
{
    *mine = options->raw.format || (format_for(file) && !is_other(stream));
    return STATUS_OK;
}

static enum status read_raw(const char *file, FILE *stream, const struct mask_load_options *options,
                            struct mask **mask)
{
    struct raw_layout raw = options->raw;
    if (!raw.format)
        raw.format = format_for(file);
    if (raw.channels == 0)
        raw.channels = 1;
    uint64_t frames = 0;
    TRY(count_frames(file, stream, &raw, &frames));
    TRY(mask_create(file, raw.channels, frames, mask));
    (*mask)->rate = raw.rate;
    return read_samples(file, stream, &raw, *mask);
}

const struct mask_reader mask_reader_raw = {
    .kind = "raw samples",
    .is_mine = is_raw,
    .read = read_raw,
};
