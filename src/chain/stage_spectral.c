/* The stage that convolves the spectrogram, or separates it by medians: --spectral
 * gaussian2d:7x7,size=4096; --spectral preset=percussive. */
#include "base/options.h"
#include "base/short_list.h"
#include "base/suggest.h"
#include "chain/stage_mask.h"
#include "chain/stage_paths.h"
#include "convolve/spectral.h"
#include "design/mask2d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_USUAL = 2048,
    OVERLAP_USUAL = 4, /* hops in a frame, if hop= is not given */
    ROWS_PREFERRED = 256,
};

/* The presets for tones beside the percussion, with spans of the medians in s and Hz. Chosen by the
 * largest SDR of drums beside a guitar, and beside a voice (bench/separation_peers). */
static const struct preset_tones {
    double window, along_time, along_frequency;
} preset_tones[] = {{8192.0 / 48000, 2, 76}, {4096.0 / 48000, 0.19, 129}};
static const char *const tones_names[] = {"notes", "voice", NULL};
static const double PRESET_POWER = 1.5;

static const char *const scale_names[] = {[SPECTRAL_LINEAR] = "linear", [SPECTRAL_DB] = "db", NULL};
static const char *const mode_names[] = {
    [SPECTRAL_MAGNITUDE] = "magnitude", [SPECTRAL_GAIN] = "gain", NULL};
static const char *const preset_names[] = {"harmonic", "percussive",
                                           NULL}; /* in the order of enum separation_part */
static const char *const boundary_names[] = {[CONVOLVE2D_ZERO] = "zero",
                                             [CONVOLVE2D_REPLICATE] = "replicate",
                                             [CONVOLVE2D_REFLECT] = "reflect",
                                             NULL};

struct stage_spectral {
    struct mask2d *mask; /* NULL: medians are used */
    struct spectral_settings settings;
};

/* Options of the stage. SIZE_MAX: not given. */
struct spectral_args {
    size_t size, hop, window, scale, mode, boundary, preset, tones;
};

#define OPT_LENGTH(NAME, FIELD, LEAST)                                                             \
    OPT_INTEGER(NAME, NULL, struct spectral_args, FIELD, LEAST, SPECTRAL_SIZE_MOST, NULL)
#define OPT_NAME(NAME, FIELD, NAMES)                                                               \
    OPT_CHOICE(NAME, NULL, struct spectral_args, FIELD, NAMES, NULL)

static const struct option_row keys[] = {
    OPT_LENGTH("size=", size, SPECTRAL_SIZE_LEAST),
    OPT_LENGTH("hop=", hop, 1),
    OPT_NAME("window=", window, spectral_shape_names),
    OPT_NAME("scale=", scale, scale_names),
    OPT_NAME("mode=", mode, mode_names),
    OPT_NAME("edge=", boundary, boundary_names),
    OPT_NAME("preset=", preset, preset_names),
    OPT_NAME("tones=", tones, tones_names),
    {.name = "mix="}, /* the same as @mix=, which every stage has */
    {0},
};

static enum status refuse_word(const char *word)
{
    struct short_list list = {0};
    struct suggest near;
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(word, "="), word);
    suggest_init(&near, key);
    for (const struct option_row *row = keys; row->name; row++) {
        short_list_add(&list, row->name);
        suggest_offer(&near, row->name);
    }
    suggest_offer_list(&near, "@mix=, @wet=, @bypass", "");
    enum status status =
        fail(CAUSE_USAGE, "--spectral has the options %s, @mix=, @wet= and @bypass, not '%s'%s",
             short_list_text(&list, ""), word, suggest_text(&near));
    suggest_free(&near);
    return status;
}

static enum status parse_word(struct stage *stage, const char *word, struct spectral_args *args)
{
    char name[64];
    for (const struct option_row *row = keys; row->name; row++) {
        size_t length = strlen(row->name);
        if (strncmp(word, row->name, length) != 0)
            continue;
        if (row->size > 0)
            return option_store(row, args, word + length);
        snprintf(name, sizeof name, "@%s", word);
        return stage_mix_take(&stage->mix, stage_time(stage), name);
    }
    return refuse_word(word);
}

static bool is_preset(const char *word)
{
    return strncmp(word, "preset=", 7) == 0;
}

static size_t or_else(size_t given, size_t usual)
{
    return given == SIZE_MAX ? usual : given;
}

/* The nearest odd number, from 3 to the largest allowed. */
static size_t nearest_odd(double wanted)
{
    double most = (SEPARATION_EXTENT_MOST - 1) / 2;
    return 2 * (size_t)fmin(fmax(rint((wanted - 1) / 2), 1), most) + 1;
}

static size_t preset_size(const struct preset_tones *tones, uint32_t rate)
{
    double size = exp2(rint(log2(tones->window * rate)));
    return (size_t)fmin(fmax(size, SPECTRAL_SIZE_LEAST), SPECTRAL_SIZE_MOST);
}

static struct separation preset(size_t part, const struct preset_tones *tones,
                                const struct spectral_window_settings *window, uint32_t rate)
{
    return (struct separation){
        .rows = nearest_odd(tones->along_time * rate / (double)window->hop),
        .columns = nearest_odd(tones->along_frequency * (double)window->size / rate),
        .part = (enum separation_part)part,
        .power = PRESET_POWER,
        .margin = 1,
    };
}

/* Apply the options. A preset replaces a mask. */
static enum status apply(const struct spectral_args *args, const char *first, uint32_t rate,
                         struct spectral_settings *settings)
{
    bool has_preset = args->preset != SIZE_MAX, separates = has_preset || separation_is_spec(first);
    if (has_preset && !is_preset(first))
        return fail(CAUSE_USAGE, "preset= has its own masks; remove %s", first);
    if (separates && (args->scale != SIZE_MAX || args->mode != SIZE_MAX))
        return fail(CAUSE_USAGE, "scale= and mode= cannot be used with %s",
                    has_preset ? "preset=, which has its own" : "median2d, which is linear");
    if (args->tones != SIZE_MAX && !has_preset)
        return fail(CAUSE_USAGE, "tones= belongs to preset=; remove it");
    const struct preset_tones *tones = &preset_tones[or_else(args->tones, 0)];
    size_t mode = separates ? SPECTRAL_SEPARATE : or_else(args->mode, SPECTRAL_MAGNITUDE);
    size_t boundary =
        /* medians need real values at the edges */
        separates ? CONVOLVE2D_REFLECT : CONVOLVE2D_ZERO;
    size_t size = or_else(args->size, has_preset ? preset_size(tones, rate) : SIZE_USUAL);
    settings->window = (struct spectral_window_settings){
        .shape = (enum spectral_shape)args->window,
        .size = size,
        .hop = or_else(args->hop, size / OVERLAP_USUAL),
    };
    settings->scale = (enum spectral_scale)or_else(args->scale, SPECTRAL_LINEAR);
    settings->mode = (enum spectral_mode)mode;
    settings->boundary = (enum convolve2d_boundary)or_else(args->boundary, boundary);
    double sum;
    TRY(spectral_window_check(&settings->window, &sum));
    if (has_preset)
        settings->separation = preset(args->preset, tones, &settings->window, rate);
    return STATUS_OK;
}

static enum status parse_args(struct stage *stage, char **spec, uint32_t rate)
{
    struct stage_spectral *spectral = stage->data;
    struct spectral_args args = {SIZE_MAX, SIZE_MAX, SPECTRAL_HANN, SIZE_MAX,
                                 SIZE_MAX, SIZE_MAX, SIZE_MAX,      SIZE_MAX};
    if (separation_is_spec(spec[0]))
        TRY(separation_from_spec(spec, &spectral->settings.separation));
    else if (!is_preset(spec[0]))
        TRY(mask2d_from_spec(spec, &spectral->mask));
    for (char **word = spec + !is_preset(spec[0]); *word; word++)
        TRY(parse_word(stage, *word, &args));
    return apply(&args, spec[0], rate, &spectral->settings);
}

static enum status stage_spectral_load(struct stage *stage, char **spec,
                                       const struct stream_format *format)
{
    const struct convolver_settings *convolver = &stage->settings.convolver;
    struct stage_spectral *spectral = stage->data = calloc(1, sizeof *spectral);
    if (!spectral)
        return fail_memory("a stage");
    bool is_direct = strcmp(convolver->backend, "direct") == 0;
    int64_t frames = stage->settings.streamed ? 0 : convolver->frames;
    spectral->settings = (struct spectral_settings){
        .channels = format->channels,
        .frames = frames > 0 ? (uint64_t)frames : 0,
        .end = frames > 0 ? (uint64_t)frames : 0, /* the tail of the stages before is added later */
        .backend = is_direct ? "cpu" : convolver->backend,
        .live = convolver->live,
    };
    return parse_args(stage, spec, format->rate);
}

static void stage_spectral_destroy(void *data)
{
    struct stage_spectral *spectral = data;
    if (spectral)
        mask2d_destroy(spectral->mask);
    free(spectral);
}

static size_t stage_spectral_preferred_block(const struct stage *stage, struct workers *workers,
                                             size_t most)
{
    (void)workers;
    const struct stage_spectral *spectral = stage->data;
    size_t preferred = ROWS_PREFERRED * spectral->settings.window.hop;
    return preferred < most ? preferred : most;
}

static enum status stage_spectral_create(struct stage *stage, size_t block, struct workers *workers,
                                         struct filter **filter)
{
    const struct stage_spectral *spectral = stage->data;
    struct spectral_settings settings = spectral->settings;
    const struct mask2d *mask = spectral->mask;
    settings.mask = mask;
    settings.block = block;
    settings.workers = workers;
    settings.begin = stage->before;
    if (settings.end > 0)
        settings.end = stage->tail_unknown ? 0 : settings.end + stage->before + stage->tail_before;
    TRY(spectral_create(&settings, filter));
    if (mask)
        note_detail("spectral %s: %zu x %zu coefficients%s", mask->name, mask->rows, mask->columns,
                    mask->is_separable ? ", in two passes" : "");
    else
        note_detail("spectral: medians over %zu rows and %zu columns, part %s, power %g, margin %g",
                    settings.separation.rows, settings.separation.columns,
                    separation_part_names[settings.separation.part], settings.separation.power,
                    settings.separation.margin);
    note_detail("spectral: frames of %zu, %zu apart, window %s, on %s, latency %llu frames",
                settings.window.size, settings.window.hop,
                spectral_shape_names[settings.window.shape], spectral_backend(*filter),
                (unsigned long long)(*filter)->latency);
    return STATUS_OK;
}

static json_t *stage_spectral_report_json(const struct stage *stage)
{
    const struct stage_spectral *spectral = stage->data;
    const struct mask2d *mask = spectral->mask;
    const struct separation *separation = &spectral->settings.separation;
    const struct spectral_window_settings *window = &spectral->settings.window;
    return json_pack("{s:I, s:I, s:o*, s:o*, s:o*, s:o*, s:I, s:I, s:s, s:s}", "rows",
                     (json_int_t)(mask ? mask->rows : separation->rows), "columns",
                     (json_int_t)(mask ? mask->columns : separation->columns), "separable",
                     mask ? json_boolean(mask->is_separable) : NULL, "part",
                     mask ? NULL : json_string(separation_part_names[separation->part]), "power",
                     mask ? NULL : json_real(separation->power), "margin",
                     mask ? NULL : json_real(separation->margin), "size", (json_int_t)window->size,
                     "hop", (json_int_t)window->hop, "window", spectral_shape_names[window->shape],
                     "backend", spectral_backend(stage->filter));
}

static bool stage_spectral_path_in(char *const *spec, size_t word, size_t from,
                                   struct stage_path *path)
{
    return word == 0 && from == 0 && !is_preset(spec[0]) && !mask2d_design_is_spec(spec[0]) &&
           stage_path_rest(path, spec[0], 0, STAGE_PATH_FILE);
}

static const struct stage_file_ops files = {.path_in = stage_spectral_path_in};

const struct stage_ops stage_spectral_ops = {
    .option = "spectral",
    .argument = "MASK2D",
    .is_file = true,
    .keys = keys,
    .made_at = mask2d_design_made_at,
    .help = "convolve the spectrogram with a two-dimensional mask: text, one\n"
            "row a line (filters/*.mask2d), or a made one (gaussian2d:7x7;\n"
            "see halo mask make --help), or preset=harmonic or percussive:\n"
            "keep sustained or percussive sound (tones=voice: beside a\n"
            "voice), by medians as median2d:17x31,part=percussive does.\n"
            "Options: size=2048, hop=512, window=hann|hamming|blackman|sine|\n"
            "rectangle, scale=linear|db, mode=magnitude|gain,\n"
            "edge=zero|replicate|reflect, mix=0..1",
    .no_boundary = "--edge cannot be used with --spectral, which has edge=",
    .load = stage_spectral_load,
    .destroy = stage_spectral_destroy,
    .preferred_block = stage_spectral_preferred_block,
    .create = stage_spectral_create,
    .report_json = stage_spectral_report_json,
    .files = &files,
};

enum status stage_spectral_study(const char *text, struct mask2d **result)
{
    char **spec = spec_split(text);
    if (!spec)
        return fail_memory("a mask");
    struct mask2d *mask = NULL;
    enum status status = mask2d_from_spec(spec, &mask);
    if (status == STATUS_OK && spec[1])
        status = fail(CAUSE_USAGE, "'%s' is not an option of the mask %s", spec[1], spec[0]);
    free(spec);
    if (status == STATUS_OK)
        *result = mask;
    else
        mask2d_destroy(mask);
    return status;
}
