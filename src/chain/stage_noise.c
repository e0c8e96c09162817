/* The stage that adds noise at a given ratio to the sound that reaches it: --noise
 * street.wav,snr=10.
 *
 * The noise begins at start= and is repeated or cut to the length of the sound. Both powers are
 * mean squares of all samples of all channels: of the noise that is heard, and of the whole sound.
 * So the ratio in the output is exactly snr=. */
#include "base/decimal.h"
#include "base/files_read.h"
#include "base/options.h"
#include "base/plural.h"
#include "base/realtime.h"
#include "chain/stage_draw.h"
#include "chain/stage_paths.h"
#include "chain/stages.h"
#include "sound/looped_sound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct stage_noise {
    char *path;
    struct stream_format format; /* format of the file when it was checked */
    double snr;                  /* dB */
    struct looped_start start;
    size_t channel; /* channel of the noise, from 1; 0: all */
    bool has_snr;
    struct looped_sound sound; /* set by settling, as are all members below */
    double factor;             /* linear */
    uint64_t lead;             /* frames before the first that gets noise */
    uint64_t frames;           /* number of frames that get noise */
};

/* ---- the filter ---- */

struct noise_filter {
    struct filter filter;
    const struct stage_noise *noise;
    uint64_t position;
};

/* The channel of the noise for a channel of the sound. */
HALO_REALTIME static size_t channel_of(const struct stage_noise *noise, size_t channel)
{
    return noise->channel ? noise->channel - 1 : noise->sound.channels == 1 ? 0 : channel;
}

/* The frames of a block that get noise, and the first frame of the noise for them. */
struct noise_part {
    size_t from, to; /* frames of the block */
    size_t at;       /* frame of the noise */
};

HALO_REALTIME static struct noise_part next_part(struct noise_filter *filter)
{
    const struct stage_noise *noise = filter->noise;
    uint64_t start = filter->position, end = start + filter->filter.block;
    uint64_t first = noise->lead > start ? noise->lead : start;
    uint64_t last = noise->lead + noise->frames < end ? noise->lead + noise->frames : end;
    filter->position = end;
    if (first >= last)
        return (struct noise_part){0};
    return (struct noise_part){(size_t)(first - start), (size_t)(last - start),
                               (size_t)((first - noise->lead) % noise->sound.frames)};
}

HALO_REALTIME static void noise_process(struct filter *base, const float *const *in,
                                        float *const *out)
{
    struct noise_filter *filter = (struct noise_filter *)base;
    const struct noise_part part = next_part(filter);
    const struct looped_sound *sound = &filter->noise->sound;
    float factor = (float)filter->noise->factor;
    for (size_t c = 0; c < base->inputs; c++) {
        const float *samples = sound->block.data[channel_of(filter->noise, c)];
        memcpy(out[c], in[c], base->block * sizeof **out);
        for (size_t i = part.from, at = part.at; i < part.to;
             i++, at = at + 1 < sound->frames ? at + 1 : 0)
            out[c][i] += factor * samples[at];
    }
}

HALO_REALTIME static void noise_process_in_double(struct filter *base, const double *const *in,
                                                  double *const *out)
{
    struct noise_filter *filter = (struct noise_filter *)base;
    const struct noise_part part = next_part(filter);
    const struct looped_sound *sound = &filter->noise->sound;
    for (size_t c = 0; c < base->inputs; c++) {
        const double *samples = sound->block_in_double.data[channel_of(filter->noise, c)];
        memcpy(out[c], in[c], base->block * sizeof **out);
        for (size_t i = part.from, at = part.at; i < part.to;
             i++, at = at + 1 < sound->frames ? at + 1 : 0)
            out[c][i] += filter->noise->factor * samples[at];
    }
}

static void noise_reset(struct filter *filter)
{
    ((struct noise_filter *)filter)->position = 0;
}

static void noise_destroy(struct filter *filter)
{
    free(filter);
}

static const struct filter_kind noise_kind = {
    .name = "noise",
    .process = noise_process,
    .process_in_double = noise_process_in_double,
    .reset = noise_reset,
    .destroy = noise_destroy,
};

/* ---- options of the noise ---- */

/* Parse a start: 37.5%, 480 or 0.5s. */
static enum status parse_start(void *context, const struct option_row *row, const char *text)
{
    struct looped_start *start = &((struct stage_noise *)context)->start;
    char *end;
    double value;
    bool is_number = decimal_read(text, &end, &value) && isfinite(value) && value >= 0;
    bool is_share = is_number && strcmp(end, "%") == 0 && value <= 100;
    bool is_frame = is_number && !*end && value == floor(value);
    double unit = strcmp(end, "ms") == 0 ? 1e-3 : strcmp(end, "s") == 0 ? 1 : 0;
    if (!is_share && !is_frame && !(is_number && unit > 0))
        return fail(
            CAUSE_USAGE,
            "%s is where the noise begins: random, or frames, a time or a share of it, such "
            "as 480, 0.5s or 37.5%%, not '%s'",
            row->name, text);
    *start = is_share   ? (struct looped_start){value / 100, LOOPED_SHARE}
             : is_frame ? (struct looped_start){value, LOOPED_FRAMES}
                        : (struct looped_start){value * unit, LOOPED_SECONDS};
    return STATUS_OK;
}

static const char *const start_names[] = {"random", NULL};

enum { CHANNELS_MOST = 1024 };

static const struct option_row keys[] = {
    OPT_DB("snr=", struct stage_noise, snr, -OPTIONS_DB_MOST, OPTIONS_DB_MOST, NULL,
           .given = OPT_GIVEN(struct stage_noise, has_snr)),
    OPT_PARSE("start=", NULL, parse_start, NULL, .names = start_names),
    OPT_INTEGER("channel=", NULL, struct stage_noise, channel, 1, CHANNELS_MOST, NULL),
    {0},
};

static enum status parse_word(const char *word, struct stage_noise *noise)
{
    for (const struct option_row *row = keys; row->name; row++)
        if (strncmp(word, row->name, strlen(row->name)) == 0)
            return option_store(row, noise, word + strlen(row->name));
    return fail(CAUSE_USAGE,
                "--noise has the options snr=DB, start=, channel=N, @mix= and @bypass, not '%s' (a "
                "comma in a name is written \\,)",
                word);
}

/* Check the header of the file. Samples are read later, when the number of frames is known. */
static enum status check_file(const struct stage *stage, struct stage_noise *noise)
{
    struct source *source = NULL;
    TRY(files_read_refuse_waits(noise->path)); /* the file is read twice */
    TRY(source_open_sound(noise->path, stage->settings.allow_truncated, &source));
    size_t channels = source->format.channels;
    noise->format = source->format;
    source_close(source);
    if (noise->channel > channels)
        return fail(CAUSE_USAGE, "noise %s has no channel %zu: it has %zu", noise->path,
                    noise->channel, channels);
    if (!noise->channel && channels != 1 && channels != stage->inputs)
        return fail(CAUSE_USAGE,
                    "noise %s has %zu channels, the sound %zu: it takes noise of one channel or of "
                    "as many; channel=N selects one",
                    noise->path, channels, stage->inputs);
    return STATUS_OK;
}

static enum status stage_noise_load(struct stage *stage, char **spec,
                                    const struct stream_format *format)
{
    (void)format;
    TRY(stage_check_passes(&stage->settings, "--noise"));
    struct stage_noise *noise = stage->data = calloc(1, sizeof *noise);
    if (!noise || !(noise->path = strdup(spec[0])))
        return fail_memory("a stage");
    for (char **word = spec + 1; *word; word++)
        TRY(parse_word(*word, noise));
    if (strcmp(noise->path, "-") == 0)
        return fail(CAUSE_USAGE, "--noise takes a file, not standard input");
    if (!noise->has_snr)
        return fail(CAUSE_USAGE, "--noise %s needs snr=DB, such as snr=10 or snr=5..20",
                    noise->path);
    return check_file(stage, noise);
}

static void stage_noise_destroy(void *data)
{
    struct stage_noise *noise = data;
    if (!noise)
        return;
    looped_sound_free(&noise->sound);
    free(noise->path);
    free(noise);
}

/* ---- power of the noise ---- */

static enum stage_needs stage_noise_needs(const struct stage *stage)
{
    (void)stage;
    return STAGE_NEEDS_INPUT;
}

/* The mean square of the noise, over the channels that the sound has. */
static double power_of(const struct stage_noise *noise, size_t channels, uint64_t frames)
{
    double sum = 0;
    bool is_one = noise->channel || noise->sound.channels == 1;
    for (size_t c = 0; c < (is_one ? 1 : channels); c++)
        sum += (noise->sound.block.data ? looped_sound_energy : looped_sound_energy_in_double)(
            &noise->sound, channel_of(noise, c), frames);
    return sum / (double)frames / (double)(is_one ? 1 : channels);
}

static enum status stage_noise_settle(struct stage *stage, const struct stage_power *power)
{
    struct stage_noise *noise = stage->data;
    if (power->frames == 0 || power->in == 0)
        return fail(CAUSE_OTHER,
                    "noise %s: the sound is silent: no noise has a ratio of snr= to that",
                    noise->path);
    const struct looped_settings settings = {.path = noise->path,
                                             .allow_truncated = stage->settings.allow_truncated,
                                             .rate = stage->rate,
                                             .start = noise->start,
                                             .wanted = power->all_frames};
    bool in_double = stage->settings.convolver.precision == PRECISION_DOUBLE;
    TRY((in_double ? looped_sound_load_in_double : looped_sound_load)(&settings, &noise->sound));
    if (noise->sound.channels != noise->format.channels ||
        noise->sound.own_rate != noise->format.rate)
        return fail(
            CAUSE_OTHER,
            "noise %s has changed since the render began: it had %zu channel%s at %u Hz, and has "
            "%zu at %u Hz",
            noise->path, noise->format.channels, plural_s(noise->format.channels),
            noise->format.rate, noise->sound.channels, noise->sound.own_rate);
    double own = power_of(noise, stage->inputs, power->frames);
    double peak = own == 0 ? looped_sound_peak(&noise->sound) : 1;
    if (!stage_power_is_exact(own) || (peak > 0 && peak < STAGE_SAMPLE_LEAST))
        return fail(CAUSE_UNSUPPORTED,
                    "cannot measure the power of noise %s: its samples are beyond 1e-145 or 1e145; "
                    "scale it first: halo render --precision double --normalize -1",
                    noise->path);
    if (own == 0)
        return fail(CAUSE_OTHER, "noise %s is silent in the %llu frame%s from frame %llu on",
                    noise->path, (unsigned long long)power->frames, plural_s(power->frames),
                    (unsigned long long)noise->sound.start);
    noise->lead = power->lead;
    noise->frames = power->all_frames;
    noise->factor = sqrt(power->in / own) * audio_from_db(-noise->snr);
    if (!isfinite(noise->factor))
        return fail(CAUSE_OTHER, "noise %s is too quiet for snr=%g", noise->path, noise->snr);
    note_detail("noise %s: from frame %llu of %llu, %.2f dB", noise->path,
                (unsigned long long)noise->sound.start, (unsigned long long)noise->sound.length,
                audio_to_db(noise->factor));
    return STATUS_OK;
}

static enum status stage_noise_create(struct stage *stage, size_t block, struct workers *workers,
                                      struct filter **result)
{
    (void)workers;
    struct noise_filter *filter = calloc(1, sizeof *filter);
    if (!filter)
        return fail_memory("a stage");
    filter->filter = (struct filter){
        .kind = &noise_kind, .inputs = stage->inputs, .outputs = stage->outputs, .block = block};
    filter->noise = stage->data;
    *result = &filter->filter;
    return STATUS_OK;
}

static void stage_noise_describe(const struct stage *stage, struct stage_info *info)
{
    (void)stage;
    info->gain = NAN;
}

static json_t *stage_noise_report_json(const struct stage *stage)
{
    const struct stage_noise *noise = stage->data;
    return json_pack("{s:f, s:I, s:I, s:o}", "snr_db", noise->snr, "start",
                     (json_int_t)noise->sound.start, "noise_frames",
                     (json_int_t)noise->sound.length, "gain_db",
                     noise->factor > 0 ? json_real(audio_to_db(noise->factor)) : json_null());
}

static bool stage_noise_path_in(char *const *spec, size_t word, size_t from,
                                struct stage_path *path)
{
    *path = (struct stage_path){.start = from, .use = STAGE_PATH_FILE};
    return word == 0 && from == 0 && stage_path_rest(path, spec[word], 0, STAGE_PATH_FILE);
}

static const struct stage_pass_ops passes = {.needs = stage_noise_needs,
                                             .settle = stage_noise_settle};
static const struct stage_file_ops files = {.path_in = stage_noise_path_in};
static const struct stage_draw draws[] = {
    {.key = "snr="}, {.key = "start=", .is_share = true}, {0}};

const struct stage_ops stage_noise_ops = {
    .option = "noise",
    .argument = "FILE",
    .is_file = true,
    .keys = keys,
    .draws = draws,
    .help = "in files: add this sound, repeated or cut to the length of the\n"
            "one that is filtered. snr=10: that many dB below what reaches\n"
            "this stage, whole powers compared; snr=5..20: drawn by --seed.\n"
            "start=: where in FILE it begins: random (default, by --seed),\n"
            "or frames, a time or a share: 480, 0.5s, 37.5%. channel=N\n"
            "selects a channel of FILE",
    .no_boundary = "--noise cannot be used with --edge",
    .load = stage_noise_load,
    .destroy = stage_noise_destroy,
    .create = stage_noise_create,
    .describe = stage_noise_describe,
    .report_json = stage_noise_report_json,
    .passes = &passes,
    .files = &files,
};
