#include "chain/stage_mask.h"

#include "base/plural.h"
#include "chain/mask_cache.h"
#include "chain/mask_options.h"
#include "chain/stage_draw.h"
#include "chain/stage_paths.h"
#include "convolve/convolver_choice.h"
#include "design/design.h"
#include "sound/port.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATHS_SHOWN = 64 };

static void note_too_small(const struct mask *mask)
{
    double largest = audio_peak_in_double(mask->coefficients, mask->columns * mask->taps);
    if (largest > 0 && largest < (double)FLT_MIN)
        note("mask %s: its largest tap is %g: single precision holds it inexactly or as silence; "
             "use --precision double",
             mask->name, largest);
}

static enum status load_mask(char **spec, const struct stream_format *format,
                             const struct stage_settings *settings, struct mask **mask)
{
    struct mask_options options = {
        .load = {.allow_truncated = settings->allow_truncated,
                 .in_double = settings->convolver.precision == PRECISION_DOUBLE,
                 .distrusts_configs = settings->distrusts_configs,
                 .sound = *format,
                 .workers = settings->convolver.workers},
    };
    TRY(mask_spec_load(spec, &options, mask));
    if (options.level)
        TRY(stage_check_passes(settings, "level="));
    TRY(mask_options_apply(&options, format, settings->align, *mask));
    if (!options.load.in_double)
        note_too_small(*mask);
    return STATUS_OK;
}

static void note_mask(const struct mask *mask)
{
    note_detail("mask %s: %zu channel%s, %zu tap%s, time zero at tap %zu", mask->name,
                mask->columns, plural_s(mask->columns), mask->taps, plural_s(mask->taps),
                mask->origin);
    for (size_t p = 0; p < mask->path_count && p < PATHS_SHOWN; p++)
        note_detail("  input %zu -> mask channel %zu -> output %zu", mask->paths[p].input + 1,
                    mask->paths[p].column + 1, mask->paths[p].output + 1);
    if (mask->path_count > PATHS_SHOWN)
        note_detail("  and %zu more paths", mask->path_count - PATHS_SHOWN);
}

enum status stage_mask_read(const char *text, const struct stream_format *format,
                            const struct stage_settings *settings, struct mask **result)
{
    char **spec = spec_split(text);
    if (!spec)
        return fail_memory("a mask");
    struct mask *mask = NULL;
    struct stage_mix_spec mix = {.given = false};
    enum status status = stage_mix_take_all(&mix, (struct automation_time){format->rate, 0}, spec);
    if (status == STATUS_OK && mix.automation.count > 0)
        status = stage_refuse_times();
    if (status == STATUS_OK)
        status = load_mask(spec, format, settings, &mask);
    automation_free(&mix.automation);
    free(spec);
    if (status != STATUS_OK)
        goto fail;
    mask->wet = stage_mix_gains(&mix).wet;
    mask->dry = stage_mix_gains(&mix).dry;
    note_mask(mask);
    *result = mask;
    return STATUS_OK;
fail:
    mask_destroy(mask);
    return status;
}

enum status stage_mask_study(const char *text, const struct stream_format *sound,
                             struct mask **result)
{
    char **spec = spec_split(text);
    if (!spec)
        return fail_memory("a mask");
    struct mask *mask = NULL;
    struct mask_options options = {.load.sound = *sound};
    enum status status = mask_spec_load(spec, &options, &mask);
    if (status == STATUS_OK && options.level)
        status = stage_check_passes(&(struct stage_settings){0}, "level=");
    if (status != STATUS_OK)
        goto fail;
    status = mask_options_study(&options, sound, mask);
    if (status != STATUS_OK)
        goto fail;
    free(spec);
    *result = mask;
    return STATUS_OK;
fail:
    free(spec);
    mask_destroy(mask);
    return status;
}

enum status stage_mask_file(const char *text, char **file)
{
    char **spec = spec_split(text);
    bool is_file = spec && !design_is_spec(spec[0]);
    *file = is_file ? strdup(spec[0]) : NULL;
    bool failed = !spec || (is_file && !*file);
    free(spec);
    return failed ? fail_memory("a mask") : STATUS_OK;
}

/* ---- the stage: its data is the mask ---- */

/* A mask's key in the cache: all that the mask depends on. The caller frees it. NULL: memory. */
static char *cache_key(const struct stage *stage, char *const *spec,
                       const struct stream_format *format)
{
    const struct stage_settings *settings = &stage->settings;
    char *key = NULL;
    size_t size;
    FILE *text = open_memstream(&key, &size);
    if (!text)
        return NULL;
    fprintf(text, "%u Hz, %zu channels, %x %d, %d %d %d %d\n", format->rate, format->channels,
            format->layout.speakers, (int)format->layout.ambisonic, (int)settings->align,
            (int)settings->convolver.precision, settings->allow_truncated,
            settings->distrusts_configs);
    stage_files_print(stage->ops, spec, text);
    if (fclose(text) == 0)
        return key;
    free(key);
    return NULL;
}

struct mask_to_make {
    char **spec;
    const struct stream_format *format;
    const struct stage_settings *settings;
};

static enum status make_mask(void *context, struct mask **mask)
{
    const struct mask_to_make *job = context;
    enum status status = load_mask(job->spec, job->format, job->settings, mask);
    if (status == STATUS_OK)
        return STATUS_OK;
    mask_destroy(*mask);
    *mask = NULL;
    return status;
}

static enum status mask_from_cache(const struct stage *stage, char **spec,
                                   const struct stream_format *format, struct mask **mask)
{
    const struct stage_settings *settings = &stage->settings;
    if (!settings->masks)
        return load_mask(spec, format, settings, mask);
    char *key = cache_key(stage, spec, format);
    if (!key)
        return fail_memory("a mask");
    struct mask_to_make job = {spec, format, settings};
    enum status status = mask_cache_take(settings->masks, key, make_mask, &job, mask);
    free(key);
    return status;
}

static size_t find_arg(char *const *spec, const char *begin, size_t *at)
{
    size_t count = 0;
    for (size_t word = 1; spec[0] && spec[word]; word++)
        if (strncmp(spec[word], begin, strlen(begin)) == 0) {
            *at = word;
            count++;
        }
    return count;
}

/* With level= the gain is applied to the stage's output, not to the mask. So jobs with different
 * drawn gains share a mask and its spectra. */
static enum status parse_gain_of_level(char **spec, double *factor)
{
    size_t level, gain;
    double db = 0;
    *factor = 1;
    if (design_is_spec(spec[0]) || find_arg(spec, "level=", &level) != 1 ||
        find_arg(spec, "gain=", &gain) != 1)
        return STATUS_OK;
    TRY(mask_options_parse_gain(spec[gain], &db));
    *factor = audio_from_db(db);
    for (; spec[gain]; gain++)
        spec[gain] = spec[gain + 1];
    return STATUS_OK;
}

static enum status stage_mask_load(struct stage *stage, char **spec,
                                   const struct stream_format *format)
{
    struct mask *mask = NULL;
    TRY(parse_gain_of_level(spec, &stage->gain_of_level));
    enum status status = mask_from_cache(stage, spec, format, &mask);
    stage->data = mask;
    stage->settings.convolver.rate = format->rate;
    if (status != STATUS_OK)
        return status;
    stage->outputs = mask->outputs;
    note_mask(mask);
    return STATUS_OK;
}

static void stage_mask_destroy(void *data)
{
    mask_destroy(data);
}

struct mask *stage_mask_swap(struct stage *stage, struct mask *mask)
{
    struct mask *old = stage->data;
    stage->data = mask;
    return old;
}

const struct mask *stage_mask_of(const struct stage *stage)
{
    return stage->ops->has_choices ? stage->data : NULL;
}

static size_t stage_mask_preferred_block(const struct stage *stage, struct workers *workers,
                                         size_t most)
{
    struct convolver_settings settings = stage->settings.convolver;
    settings.workers = workers;
    return convolver_preferred_block(&settings, stage->data, most);
}

static enum status stage_mask_create(struct stage *stage, size_t block, struct workers *workers,
                                     struct filter **filter)
{
    const struct mask *mask = stage->data;
    struct convolver_settings settings = stage->settings.convolver;
    settings.block = block;
    settings.workers = workers;
    TRY(convolver_create(&settings, mask, filter));
    note_detail("mask %s: backend %s, %s, blocks of %zu frame%s on %zu thread%s", mask->name,
                convolver_backend(*filter), convolver_algorithm(*filter), block, plural_s(block),
                workers_count(workers), plural_s(workers_count(workers)));
    if (*convolver_reason(*filter))
        note_detail("mask %s: auto chose that backend: %s", mask->name, convolver_reason(*filter));
    return STATUS_OK;
}

/* Free the mask's data: the convolver has the spectra, and the mask is never switched. */
static void stage_mask_discard(struct stage *stage)
{
    if (!convolver_needs_mask(stage->filter))
        mask_discard_coefficients(stage->data, stage->settings.convolver.workers);
}

/* Announce the mask by the length in its file's header, which is right for most masks. */
static void stage_mask_expect(const char *text, const struct stage_settings *settings,
                              const struct stream_format *format)
{
    char *file = NULL, problem[256];
    struct source *source = NULL;
    struct stat about;
    if (!convolver_expects(&settings->convolver))
        return;
    const struct log_keeper before = log_keep_in(problem, sizeof problem);
    bool is_file = stage_mask_file(text, &file) == STATUS_OK && file && stat(file, &about) == 0 &&
                   S_ISREG(about.st_mode);
    if (is_file && source_open_sound(file, true, &source) == STATUS_OK && source->frames > 0) {
        size_t columns = source->format.channels;
        struct backend_job job = {.frames = (double)settings->convolver.frames,
                                  .inputs = format->channels,
                                  .outputs = format->channels,
                                  .paths = columns > format->channels ? columns : format->channels,
                                  .columns = columns,
                                  .taps = (size_t)source->frames,
                                  .threads = workers_count(settings->convolver.workers)};
        convolver_expect(&settings->convolver, &job);
    }
    source_close(source);
    free(file);
    log_keep_again(&before);
}

static void stage_mask_describe(const struct stage *stage, struct stage_info *info)
{
    const struct mask *mask = stage->data;
    info->taps = mask->taps;
    info->origin = mask->origin;
    info->gain = NAN;
    if (!stage->filter)
        return;
    info->backend = convolver_backend(stage->filter);
    info->algorithm = convolver_algorithm(stage->filter);
    info->gpu_failures = convolver_failures(stage->filter);
}

static enum stage_needs stage_mask_needs(const struct stage *stage)
{
    const struct mask *mask = stage->data;
    return mask->level ? STAGE_NEEDS_OUTPUT : STAGE_NEEDS_NOTHING;
}

static enum status stage_mask_level(const struct stage *stage, const struct stage_power *power,
                                    double *factor)
{
    const struct mask *mask = stage->data;
    double out = mask->level == MASK_LEVEL_KALDI ? power->whole : power->out;
    *factor = mask->level_gain * stage->gain_of_level;
    if (power->in == 0)
        note("the sound is silent: level= has nothing to scale");
    else if (out == 0)
        return fail(CAUSE_OTHER, "mask %s: level=: the output of the mask is silent", mask->name);
    else
        *factor *= sqrt(power->in / out);
    return STATUS_OK;
}

static json_t *stage_mask_report_json(const struct stage *stage)
{
    const struct mask *mask = stage->data;
    const char *reason = convolver_reason(stage->filter);
    return json_pack("{s:I, s:I, s:I, s:s, s:s, s:I, s:s*}", "taps", (json_int_t)mask->taps,
                     "origin", (json_int_t)mask->origin, "paths", (json_int_t)mask->path_count,
                     "backend", convolver_backend(stage->filter), "algorithm",
                     convolver_algorithm(stage->filter), "gpu_failures",
                     (json_int_t)convolver_failures(stage->filter), "reason",
                     *reason ? reason : NULL);
}

/* Paths are hall.wav, files in invert: and combine:, folder=FOLDER, file=NAME=>PATH. */
static bool stage_mask_path_in(char *const *spec, size_t word, size_t from, struct stage_path *path)
{
    const char *text = spec[word],
               *given = strncmp(text, "file=", 5) == 0 ? mask_file_given(text) : NULL;
    *path = (struct stage_path){.start = from, .use = STAGE_PATH_FILE};
    if (design_file_in(spec, word, from, &path->start, &path->length))
        return true;
    if (from == 0 && word == 0 && !design_is_spec(text))
        return stage_path_rest(path, text, 0, STAGE_PATH_MASK);
    if (from == 0 && word > 0 && strncmp(text, "folder=", 7) == 0)
        return stage_path_rest(path, text, 7, STAGE_PATH_FOLDER);
    if (from == 0 && word > 0 && given)
        return stage_path_rest(path, text, (size_t)(given - text), STAGE_PATH_NAMED);
    return false;
}

static const struct stage_pass_ops passes = {.needs = stage_mask_needs, .level = stage_mask_level};
static const struct stage_file_ops files = {.path_in = stage_mask_path_in};
static const struct stage_draw draws[] = {{.key = "gain="}, {0}};

const struct stage_ops stage_mask_ops = {
    .option = "mask",
    .letter = 'm',
    .argument = "MASK",
    .is_file = true,
    .keys = mask_options_rows,
    .draws = draws,
    .made_at = design_made_at,
    .help = "filter with an impulse response: a sound file, text (one tap a\n"
            "line, one column a channel), or a made one (lowpass:1000; see\n"
            "halo mask make --help); several masks run in series.\n"
            "Options follow after commas and apply in this order:\n"
            "channel=N, trim=, length=, early=, fade= (frames, or 10ms, 0.5s;\n"
            "early= counts from the largest tap, where align=peak puts time\n"
            "zero), phase=minimum, delay=, order=lllrrlrr|llrrlrrl (true\n"
            "stereo) or hesuvi (surround on headphones),\n"
            "map=auto|split|matrix or, by channel of the sound and of the\n"
            "mask, FL:FL,FR:FR,C:L+R, normalize=peak|energy|l1,\n"
            "invert, gain=DB, level=input (in files: the output gets the\n"
            "power of the input). raw=FORMAT, rate=HZ and channels=N describe a\n"
            "file without a header; folder=FOLDER is a folder whose files a\n"
            "configuration may name in any case, trust-config=no allows no\n"
            "others, file=NAME=>PATH takes PATH for what it calls NAME,\n"
            "skip=nonlinear leaves out what is no filter (a limiter).\n"
            "az=DEGREES (to the left) and el=DEGREES, or\n"
            "speakers=stereo|quad|5.1|7.1|5.1.4|7.1.4 or a list\n"
            "(30:-30:110/15), with interpolate=nearest|linear, choose\n"
            "directions of a SOFA file",
    .has_choices = true,
    .expect = stage_mask_expect,
    .load = stage_mask_load,
    .destroy = stage_mask_destroy,
    .preferred_block = stage_mask_preferred_block,
    .create = stage_mask_create,
    .discard = stage_mask_discard,
    .describe = stage_mask_describe,
    .report_json = stage_mask_report_json,
    .prove = convolver_prove,
    .passes = &passes,
    .files = &files,
};
