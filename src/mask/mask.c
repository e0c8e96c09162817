#include "mask/mask.h"

#include "base/decimal.h"
#include "base/files_read.h"
#include "base/machine.h"
#include "base/plural.h"
#include "mask/first_column.h"
#include "mask/mask_config.h"
#include "mask/mask_share.h"
#include "signal/audio.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* Tried in this order: CamillaDSP before Equalizer APO, since its keys in the first column are
 * certain. A new kind of mask file is one file and one row here. */
static const struct mask_reader *const mask_readers[] = {
    &mask_reader_raw,        &mask_reader_sound,       &mask_reader_sofa,
    &mask_reader_response,   &mask_reader_rew,         &mask_reader_ambix,
    &mask_reader_pipewire,   &mask_reader_easyeffects, &mask_reader_camilladsp,
    &mask_reader_jconvolver, &mask_reader_brutefir,    &mask_reader_convolver,
    &mask_reader_eqapo,      &mask_reader_rew_table,   &mask_reader_minidsp,
    &mask_reader_text,
};

static const double NS_A_TAP = 1; /* to read it, or to scale it */

uint64_t mask_taps_most(void)
{
    /* Spectra and histories take about seven floats a tap, and the tap itself two. */
    return memory_limit() / 9 / sizeof(float);
}

static enum status create_with(double *(*alloc)(size_t), const char *name, size_t columns,
                               uint64_t taps, struct mask **result)
{
    uint64_t limit = mask_taps_most();
    if (columns == 0 || taps > limit / columns)
        return fail(CAUSE_NO_MEMORY,
                    "cannot use mask %s: not enough memory for %llu taps in %zu channel%s", name,
                    (unsigned long long)taps, columns, plural_s(columns));
    struct mask *mask = calloc(1, sizeof *mask);
    if (!mask)
        return fail_memory("a mask");
    mask->name = strdup(name);
    mask->columns = columns;
    mask->taps = (size_t)taps;
    mask->coefficients = alloc(columns * (size_t)taps);
    if (!mask->name || !mask->coefficients) {
        mask_destroy(mask);
        return fail_memory("a mask");
    }
    *result = mask;
    return STATUS_OK;
}

enum status mask_create(const char *name, size_t columns, uint64_t taps, struct mask **result)
{
    return create_with(audio_alloc_in_double, name, columns, taps, result);
}

enum status mask_create_unset(const char *name, size_t columns, uint64_t taps, struct mask **result)
{
    return create_with(audio_alloc_unset_in_double, name, columns, taps, result);
}

void mask_destroy(struct mask *mask)
{
    if (!mask || mask_share_give_back(mask))
        return;
    free(mask->paths);
    free(mask->coefficients);
    free(mask->contents);
    free(mask->name);
    free(mask);
}

struct workers *mask_workers(struct workers *workers, const struct mask *mask)
{
    return workers_worth(workers, NS_A_TAP * (double)(mask->columns * mask->taps));
}

struct finite_job {
    const struct mask *mask;
    double most;       /* the largest tap */
    atomic_bool found; /* NaN, infinity or beyond that */
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
    while (bad < total && fabs(mask->coefficients[bad]) <= job.most) /* not NaN, either */
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

/* rewind() would forget the error. */
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
    if (ferror(stream) || ftello(stream) != 0) /* what it is was not seen */
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

/* Only a configuration names files. */
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

/* From 16 kHz on: 48000, 44.1k, 96kHz; lower numbers are other things as well. 0: none. */
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

double *mask_column(const struct mask *mask, size_t column)
{
    return mask->coefficients + column * mask->taps;
}

float *mask_round(const struct mask *mask)
{
    float *rounded = audio_alloc(mask->columns * mask->taps);
    for (size_t c = 0; rounded && c < mask->columns; c++)
        for (size_t k = 0; k < mask->taps; k++)
            rounded[c * mask->taps + k] = (float)mask_column(mask, c)[k];
    return rounded;
}

const double *mask_path_column(const struct mask *mask, struct mask_path path)
{
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input == path.input && mask->paths[p].output == path.output)
            return mask_column(mask, mask->paths[p].column);
    return NULL;
}

enum status mask_select(struct mask *mask, size_t column)
{
    if (mask->has_own_paths)
        return fail(CAUSE_USAGE, "mask %s has its own routing; channel=%zu cannot change it",
                    mask->name, column);
    if (column < 1 || column > mask->columns)
        return fail(CAUSE_USAGE, "mask %s has no channel %zu: it has %zu, counted from 1",
                    mask->name, column, mask->columns);
    memmove(mask->coefficients, mask_column(mask, column - 1), mask->taps * sizeof(double));
    mask->columns = 1;
    mask->layout = (struct channel_layout){0};
    return STATUS_OK;
}

double mask_norm(const struct mask *mask)
{
    double largest = 0;
    for (size_t o = 0; o < mask->outputs; o++) {
        double norm = 0;
        for (size_t p = 0; p < mask->path_count; p++)
            for (size_t k = 0; mask->paths[p].output == o && k < mask->taps; k++)
                norm += fabs((double)mask_column(mask, mask->paths[p].column)[k]);
        largest = fmax(largest, norm);
    }
    return largest;
}

struct scale_job {
    const struct mask *mask;
    double gain;
};

static void scale_column(void *context, size_t column, size_t worker)
{
    (void)worker;
    const struct scale_job *job = context;
    double *taps = mask_column(job->mask, column);
    for (size_t k = 0; k < job->mask->taps; k++)
        taps[k] *= job->gain;
}

void mask_scale(struct mask *mask, double gain, struct workers *workers)
{
    struct scale_job job = {mask, gain};
    workers_run(mask_workers(workers, mask), mask->columns, scale_column, &job);
}

void mask_discard_coefficients(struct mask *mask, struct workers *workers)
{
    if (mask->share)
        return;
    audio_free_in_double(mask->coefficients, mask->columns * mask->taps, workers);
    mask->coefficients = NULL;
}

void mask_align(struct mask *mask, enum mask_align align)
{
    if (align != MASK_ALIGN_OWN)
        mask->origin = align == MASK_ALIGN_CENTRE ? (mask->taps - 1) / 2 : 0;
}

enum status mask_pad(struct mask *mask, size_t frames)
{
    struct mask *padded = NULL;
    if (frames == 0)
        return STATUS_OK;
    TRY(mask_create(mask->name, mask->columns, (uint64_t)mask->taps + frames, &padded));
    for (size_t c = 0; c < mask->columns; c++)
        memcpy(mask_column(padded, c) + frames, mask_column(mask, c), mask->taps * sizeof(double));
    free(mask->coefficients);
    mask->coefficients = padded->coefficients;
    mask->taps = padded->taps;
    mask->origin += frames;
    padded->coefficients = NULL;
    mask_destroy(padded);
    return STATUS_OK;
}
