#include "chain/stage_spectral.h"

#include "base/options.h"
#include "chain/stages.h"
#include "convolve/spectral.h"
#include "mask/mask2d_design.h"
#include "mask/mask2d_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE_USUAL = 2048,
    OVERLAP_USUAL = 4, /* hops in a frame */
    ROWS_PREFERRED = 256,
};

static const char *const scale_names[] = {[SPECTRAL_LINEAR] = "linear", [SPECTRAL_DB] = "db", NULL};
static const char *const mode_names[] = {
    [SPECTRAL_MAGNITUDE] = "magnitude", [SPECTRAL_GAIN] = "gain", NULL};
static const char *const preset_names[] = {"harmonic", "percussive", NULL};
static const char *const boundary_names[] = {[CONVOLVE2D_ZERO] = "zero",
                                         [CONVOLVE2D_REPLICATE] = "replicate",
                                         [CONVOLVE2D_REFLECT] = "reflect",
                                         NULL};

struct stage_spectral {
    struct mask2d *mask; /* NULL with a preset */
    struct spectral_settings settings;
};

/* ---- words ---- */

struct spectral_spec {
    struct stage *stage;
    struct spectral_settings *settings;
    bool has_hop;
    bool has_boundary;
    bool has_preset;
    bool has_way; /* scale= or mode= */
};

static enum status parse_size(struct spectral_spec *spec, const char *value)
{
    return options_parse_number("spectral size=", value, SPECTRAL_SIZE_LEAST, SPECTRAL_SIZE_MOST,
                                &spec->settings->window.size);
}

static enum status parse_hop(struct spectral_spec *spec, const char *value)
{
    spec->has_hop = true;
    return options_parse_number("spectral hop=", value, 1, SPECTRAL_SIZE_MOST,
                                &spec->settings->window.hop);
}

static enum status parse_window(struct spectral_spec *spec, const char *value)
{
    size_t choice = 0;
    enum status status = options_choose("spectral window=", value, spectral_shape_names, &choice);
    spec->settings->window.shape = (enum spectral_shape)choice;
    return status;
}

static enum status parse_scale(struct spectral_spec *spec, const char *value)
{
    size_t choice = 0;
    enum status status = options_choose("spectral scale=", value, scale_names, &choice);
    spec->settings->scale = (enum spectral_scale)choice;
    spec->has_way = true;
    return status;
}

static enum status parse_mode(struct spectral_spec *spec, const char *value)
{
    size_t choice = 0;
    enum status status = options_choose("spectral mode=", value, mode_names, &choice);
    spec->settings->mode = (enum spectral_mode)choice;
    spec->has_way = true;
    return status;
}

static enum status parse_boundary(struct spectral_spec *spec, const char *value)
{
    size_t choice = 0;
    enum status status = options_choose("spectral edge=", value, boundary_names, &choice);
    spec->settings->boundary = (enum convolve2d_boundary)choice;
    spec->has_boundary = true;
    return status;
}

static enum status parse_preset(struct spectral_spec *spec, const char *value)
{
    size_t choice = 0;
    enum status status = options_choose("spectral preset=", value, preset_names, &choice);
    spec->settings->mode = choice ? SPECTRAL_PERCUSSIVE : SPECTRAL_HARMONIC;
    spec->has_preset = true;
    return status;
}

/* The same as @mix=, which every stage has. */
static enum status parse_mix(struct spectral_spec *spec, const char *value)
{
    char word[64];
    snprintf(word, sizeof word, "@mix=%s", value);
    return stage_mix_take(&spec->stage->mix, spec->stage->rate, word);
}

static const struct {
    const char *key;
    enum status (*take)(struct spectral_spec *spec, const char *value);
} options[] = {
    {"size", parse_size}, {"hop", parse_hop},   {"window", parse_window}, {"scale", parse_scale},
    {"mode", parse_mode}, {"edge", parse_boundary}, {"preset", parse_preset}, {"mix", parse_mix},
};
enum { OPTIONS = sizeof options / sizeof *options };

static enum status parse_word(struct spectral_spec *spec, const char *word)
{
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < OPTIONS && word[length]; i++)
        if (strlen(options[i].key) == length && memcmp(options[i].key, word, length) == 0)
            return options[i].take(spec, word + length + 1);
    return fail(STATUS_USAGE,
                "--spectral has the options size=, hop=, window=, scale=, mode=, edge=, preset=, "
                "mix=, @mix= and @bypass, not '%s'",
                word);
}

static bool is_preset(const char *word)
{
    return strncmp(word, "preset=", 7) == 0;
}

/* A preset stands where a mask's name would, or else there is a mask. */
static enum status check(const struct spectral_spec *spec, char *const *all)
{
    if (spec->has_preset && !is_preset(all[0]))
        return fail(STATUS_USAGE, "preset= has masks of its own; leave %s away", all[0]);
    if (spec->has_preset && spec->has_way)
        return fail(STATUS_USAGE, "scale= and mode= do not go with preset=, which has its own");
    double sum;
    return spectral_window_check(&spec->settings->window, &sum);
}

static enum status parse_spec(struct stage *stage, char **all)
{
    struct stage_spectral *spectral = stage->data;
    struct spectral_settings *settings = &spectral->settings;
    struct spectral_spec spec = {.stage = stage, .settings = settings};
    enum status status = STATUS_OK;
    if (!is_preset(all[0]))
        status = mask2d_from_spec(all, &spectral->mask);
    for (char **word = all + !is_preset(all[0]); *word && status == STATUS_OK; word++)
        status = parse_word(&spec, *word);
    if (spec.has_preset && !spec.has_boundary) /* a mean of what is there */
        settings->boundary = CONVOLVE2D_REFLECT;
    if (!spec.has_hop)
        settings->window.hop = settings->window.size / OVERLAP_USUAL;
    return status == STATUS_OK ? check(&spec, all) : status;
}

/* ---- the stage ---- */

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
        .window = {.shape = SPECTRAL_HANN, .size = SIZE_USUAL},
        .frames = frames > 0 ? (uint64_t)frames : 0,
        .end = frames > 0 ? (uint64_t)frames : 0, /* what stages before add comes to it */
        .rate = format->rate,
        .backend = is_direct ? "cpu" : convolver->backend,
        .live = convolver->live,
    };
    return parse_spec(stage, spec);
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
    enum status status = spectral_create(&settings, filter);
    if (status != STATUS_OK)
        return status;
    if (mask)
        note_detail("spectral %s: %zu x %zu coefficients%s", mask->name, mask->rows, mask->columns,
                    mask->is_separable ? ", in two passes" : "");
    note_detail("spectral: frames of %zu, %zu apart, window %s, on %s, latency %llu frames",
                settings.window.size, settings.window.hop,
                spectral_shape_names[settings.window.shape], spectral_backend(*filter),
                (unsigned long long)(*filter)->latency);
    return STATUS_OK;
}

static void stage_spectral_report_json(const struct stage *stage, json_t *object)
{
    const struct stage_spectral *spectral = stage->data;
    const struct mask2d *mask = spectral->mask;
    const struct spectral_window_settings *window = &spectral->settings.window;
    if (mask) {
        json_object_set_new(object, "rows", json_integer((json_int_t)mask->rows));
        json_object_set_new(object, "columns", json_integer((json_int_t)mask->columns));
        json_object_set_new(object, "separable", json_boolean(mask->is_separable));
    }
    json_object_set_new(object, "size", json_integer((json_int_t)window->size));
    json_object_set_new(object, "hop", json_integer((json_int_t)window->hop));
    json_object_set_new(object, "window", json_string(spectral_shape_names[window->shape]));
    json_object_set_new(object, "backend", json_string(spectral_backend(stage->filter)));
}

static const char *stage_spectral_path_in(const char *word, size_t index, bool *perhaps)
{
    (void)perhaps;
    return index == 0 && !is_preset(word) && !mask2d_design_is_spec(word) ? word : NULL;
}

const struct stage_ops stage_spectral_ops = {
    .option = "spectral",
    .argument = "MASK2D",
    .help = "convolve the spectrogram with a mask of two dimensions: text, a\n"
            "row a line (filters/*.mask2d), or one that is made\n"
            "(gaussian2d:7x7; halo mask make --help has all), or\n"
            "preset=harmonic or percussive: what goes on, or what strikes.\n"
            "Options: size=2048, hop=512, window=hann|hamming|blackman|sine|\n"
            "rectangle, scale=linear|db, mode=magnitude|gain,\n"
            "edge=zero|replicate|reflect, mix=0..1",
    .no_boundary = "--edge does not go with --spectral, which has edge=",
    .load = stage_spectral_load,
    .destroy = stage_spectral_destroy,
    .preferred_block = stage_spectral_preferred_block,
    .create = stage_spectral_create,
    .report_json = stage_spectral_report_json,
    .path_in = stage_spectral_path_in,
};

/* ---- without a stage ---- */

enum status stage_spectral_study(const char *text, struct mask2d **result)
{
    char **spec = spec_split(text);
    if (!spec)
        return fail_memory("a mask");
    struct mask2d *mask = NULL;
    enum status status = mask2d_from_spec(spec, &mask);
    if (status == STATUS_OK && spec[1])
        status = fail(STATUS_USAGE, "'%s' is no option of the mask %s", spec[1], spec[0]);
    free(spec);
    if (status != STATUS_OK)
        goto fail;
    *result = mask;
    return STATUS_OK;
fail:
    mask2d_destroy(mask);
    return status;
}
