/* Presets of EasyEffects, versions 6 to 8: plugins in series, which filter two channels. */
#include "import/mask_json.h"
#include "import/mask_matrix.h"
#include "signal/lsp_filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define refuse(preset, ...) mask_json_refuse(&(preset)->json, __VA_ARGS__)

struct easyeffects {
    struct mask_config *config; /* has the matrix, with two inputs and outputs */
    struct mask_json json;      /* names the current plugin in messages */
    bool is_preparing;          /* kernels are being loaded; nothing is filtered yet */
};

static const double GAIN_MOST = 36; /* dB, as in EasyEffects */

static enum status read_number(struct easyeffects *preset, const json_t *object, const char *key,
                               double least, double most, double *value)
{
    TRY(mask_json_number(&preset->json, object, key, value));
    if (*value < least || *value > most)
        return refuse(preset, "'%s' is %g, but EasyEffects has %g to %g", key, *value, least, most);
    return STATUS_OK;
}

static enum status read_gain(struct easyeffects *preset, const json_t *object, const char *key,
                             double *factor)
{
    double gain = 0;
    TRY(read_number(preset, object, key, -GAIN_MOST, GAIN_MOST, &gain));
    *factor = audio_from_db(gain);
    return STATUS_OK;
}

static void note_unknown(const struct easyeffects *preset, const json_t *settings,
                         const char *const *known)
{
    const char *key = mask_json_unknown(settings, known);
    if (key)
        note("mask %s: %s: the setting '%.40s' is not known and has no effect",
             preset->config->file, preset->json.where, key);
}

/* ---- kernels ---- */

/* A kernel is a file. The preset gives its name without folder and ending. halo looks for it only
 * in the folders where EasyEffects keeps kernels.
 *
 * Files beside a preset came with it, perhaps from a stranger. So links that lead out of its
 * folder, or out of the parent for ../irs, are not followed, except into folder=. In the user's own
 * folders links are followed. */

/* The user's own folders, with EasyEffects as a system package and as a Flatpak. */
static const struct {
    const char *variable, *folder;
} places[] = {
    {"XDG_CONFIG_HOME", "easyeffects/irs"},
    {"HOME", ".config/easyeffects/irs"},
    {"XDG_DATA_HOME", "easyeffects/irs"},
    {"HOME", ".local/share/easyeffects/irs"},
    {"HOME", ".var/app/com.github.wwmm.easyeffects/config/easyeffects/irs"},
    {"HOME", ".var/app/com.github.wwmm.easyeffects/data/easyeffects/irs"},
};
enum { PLACES = sizeof places / sizeof *places };

struct kernel_search {
    const char *name;
    char *own[PLACES]; /* real paths; NULL: the folder does not exist */
    char *parent;      /* parent of the preset's folder */
    char *irs;         /* irs/ in the parent */
    char *beside;      /* irs/ in the preset's folder, as in archives of presets */
    char *path;        /* the kernel's file; NULL: not found */
    /* folder that no link may lead out of: one of these, the preset's folder, or the root */
    char *home;
};
static char root[] = "/";

static void search_free(struct kernel_search *search)
{
    for (size_t i = 0; i < PLACES; i++)
        free(search->own[i]);
    free(search->parent);
    free(search->irs);
    free(search->beside);
    free(search->path);
}

static enum status search_init(struct kernel_search *search, const struct mask_config *config)
{
    for (size_t i = 0; i < PLACES; i++) {
        const char *value = getenv(places[i].variable);
        char *folder;
        if (!value)
            continue;
        if (asprintf(&folder, "%s/%s", value, places[i].folder) < 0)
            return fail_memory("a mask");
        search->own[i] = realpath(folder, NULL);
        free(folder);
    }
    search->parent = strdup(config->real_home);
    if (!search->parent)
        return fail_memory("a mask");
    char *slash = strrchr(search->parent, '/');
    slash[slash == search->parent] = '\0';
    if (asprintf(&search->irs, "%s/irs", search->parent) < 0)
        search->irs = NULL;
    if (asprintf(&search->beside, "%s/irs", config->real_home) < 0)
        search->beside = NULL;
    return search->irs && search->beside ? STATUS_OK : fail_memory("a mask");
}

/* Looks for the kernel in a folder. A folder with the kernel's name does not count. */
static enum status look_in(struct kernel_search *search, const char *folder, char *home)
{
    static const char *const endings[] = {".irs", ".wav", ".sofa", ""};
    for (size_t i = 0; folder && !search->path && i < sizeof endings / sizeof *endings; i++) {
        struct stat about;
        char *path;
        if (asprintf(&path, "%s/%s%s", folder, search->name, endings[i]) < 0)
            return fail_memory("a mask");
        if (stat(path, &about) == 0 && !S_ISDIR(about.st_mode)) {
            search->path = path;
            search->home = home;
        } else {
            free(path);
        }
    }
    return STATUS_OK;
}

/* Whether ../irs is one of the user's own folders, perhaps through a link. */
static bool is_own(const struct kernel_search *search)
{
    char *real = realpath(search->irs, NULL);
    size_t i = 0;
    while (real && i < PLACES && !(search->own[i] && strcmp(search->own[i], real) == 0))
        i++;
    bool found = real && i < PLACES;
    free(real);
    return found;
}

static enum status find_kernel(const struct mask_config *config, struct kernel_search *search)
{
    TRY(search_init(search, config));
    if (config->options->folder)
        TRY(look_in(search, config->fence, config->real_home));
    TRY(look_in(search, config->real_home, config->real_home));
    TRY(look_in(search, search->beside, config->real_home));
    TRY(look_in(search, search->irs, is_own(search) ? root : search->parent));
    for (size_t i = 0; i < PLACES; i++)
        TRY(look_in(search, search->own[i], root));
    return STATUS_OK;
}

static enum status load(struct easyeffects *preset, struct kernel_search *search,
                        const struct mask **kernel)
{
    struct mask_config *config = preset->config;
    if (!search->path)
        return refuse(
            preset,
            "there is no kernel %.100s.irs beside the preset, in irs, ../irs, "
            "~/.config/easyeffects/irs or ~/.local/share/easyeffects/irs; folder= names another "
            "folder",
            search->name);
    if (mask_file_ends_with(search->path, ".sofa"))
        return refuse(preset, "a kernel in a SOFA file cannot be read as a mask");
    char *home = config->real_home;
    config->real_home = search->home;
    config->called = search->name;
    enum status status = mask_config_mask(config, search->path, NULL, kernel);
    config->called = NULL;
    config->real_home = home;
    return status;
}

/* The kernel's name. Before version 7.1 it is in kernel-path, which may be a path of another
 * machine. So only its base name counts. */
static enum status find_name(struct easyeffects *preset, const json_t *plugin, const char **path_of,
                             char name[256])
{
    const char *kernel = "", *path = "";
    TRY(mask_json_text(&preset->json, plugin, "kernel-name", &kernel));
    TRY(mask_json_text(&preset->json, plugin, "kernel-path", &path));
    *path_of = *kernel ? NULL : path;
    const char *slash = strrchr(path, '/');
    const char *base = *kernel ? kernel : slash ? slash + 1 : path;
    const char *dot = *kernel ? NULL : strrchr(base, '.');
    if (!*base)
        return refuse(preset, "it has no kernel-name");
    snprintf(name, 256, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
    return STATUS_OK;
}

static enum status read_kernel(struct easyeffects *preset, const json_t *plugin,
                               const struct mask **kernel)
{
    char name[256];
    const char *path;
    TRY(find_name(preset, plugin, &path, name));
    if (strchr(name, '/') || *name == '.')
        return refuse(preset, "'%.100s' is not the name of a kernel", name);
    if (mask_config_given(preset->config, name))
        return mask_config_mask(preset->config, name, NULL, kernel);
    struct kernel_search search = {.name = name};
    enum status status = find_kernel(preset->config, &search);
    if (status == STATUS_OK)
        status = load(preset, &search, kernel);
    if (status == STATUS_OK && path && strcmp(path, search.path) != 0 && preset->is_preparing)
        note("mask %s: using %s for %s", preset->config->file, search.path, path);
    search_free(&search);
    return status;
}

/* ---- the convolver ---- */

/* Paths from each input to each output. */
enum { LL, LR, RL, RR, PATHS };

struct effects_kernel {
    size_t taps;
    bool crosses;           /* it has the paths LR and RL */
    double *columns[PATHS]; /* [path] all in one block of memory */
};

static enum status copy_columns(struct easyeffects *preset, const struct mask *mask,
                                struct effects_kernel *kernel)
{
    static const int from[][PATHS] = {{0, -1, -1, 0}, {0, -1, -1, 1}, {0, 1, 2, 3}};
    if (mask->columns != 1 && mask->columns != 2 && mask->columns != 4)
        return refuse(preset, "the kernel has %zu channels, not 1, 2 or 4", mask->columns);
    kernel->taps = mask->taps;
    kernel->crosses = mask->columns == 4;
    kernel->columns[0] = calloc(PATHS * mask->taps, sizeof(double));
    if (!kernel->columns[0])
        return fail_memory("a mask");
    for (size_t p = 0; p < PATHS; p++) {
        int column = from[mask->columns / 2][p];
        kernel->columns[p] = kernel->columns[0] + p * mask->taps;
        if (column >= 0)
            memcpy(kernel->columns[p], mask_column(mask, (size_t)column),
                   mask->taps * sizeof(double));
    }
    return STATUS_OK;
}

/* Changes the stereo width by mid and side, as Tom Szilagyi's ir.lv2 does. */
static void widen(struct effects_kernel *kernel, double width)
{
    double x = (1 - width) / (1 + width);
    for (size_t k = 0; k < kernel->taps; k++) {
        double ll = kernel->columns[LL][k], lr = kernel->columns[LR][k];
        double rl = kernel->columns[RL][k], rr = kernel->columns[RR][k];
        kernel->columns[LL][k] = ll + x * rr;
        kernel->columns[RR][k] = rr + x * ll;
        kernel->columns[LR][k] = lr - x * rl;
        kernel->columns[RL][k] = rl - x * lr;
    }
}

/* The gain that makes the peak 1 or, if the largest energy is then more than 1, that energy 1. */
static double level_gain(const struct effects_kernel *kernel)
{
    static const double silent = 1e-6;
    double peak = 0, energy = 0;
    for (size_t p = 0; p < PATHS; p++) {
        double sum = 0;
        for (size_t k = 0; k < kernel->taps; k++) {
            double tap = kernel->columns[p][k];
            peak = fmax(peak, fabs(tap));
            sum += tap * tap;
        }
        energy = fmax(energy, sum);
    }
    double scale = peak > silent ? 1 / peak : 1;
    return energy > 0 ? scale * fmin(1, 1 / (scale * sqrt(energy))) : scale;
}

/* Makes six rows: the four paths, and the sound itself. Then adds them up. */
static enum status convolve(struct mask_matrix *matrix, const struct effects_kernel *kernel,
                            double wet, double dry)
{
    static const double split[] = {1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1};
    static const double join[] = {1, 0, 1, 0, 1, 0, 0, 1, 0, 1, 0, 1};
    TRY(mask_matrix_mix(matrix, PATHS + 2, split));
    for (size_t p = 0; p < PATHS; p++)
        TRY(mask_matrix_filter(matrix, p, wet, 0, kernel->columns[p],
                               p == LL || p == RR || kernel->crosses ? kernel->taps : 0));
    TRY(mask_matrix_gain(matrix, PATHS, dry, 0));
    TRY(mask_matrix_gain(matrix, PATHS + 1, dry, 0));
    return mask_matrix_mix(matrix, 2, join);
}

/* Reads dry: or wet: and converts it from dB to a factor. `level`: dB if the key is missing. */
static enum status read_level(struct easyeffects *preset, const json_t *plugin, const char *key,
                              double level, double *factor)
{
    static const double silence = -100, most = 20;
    TRY(read_number(preset, plugin, key, silence, most, &level));
    *factor = level <= silence ? 0 : audio_from_db(level);
    return STATUS_OK;
}

static enum status run_convolver(struct easyeffects *preset, const json_t *plugin)
{
    static const char *const known[] = {"bypass",      "input-gain", "output-gain", "kernel-name",
                                        "kernel-path", "ir-width",   "autogain",    "dry",
                                        "wet",         "sofa",       NULL};
    const struct mask *mask;
    struct effects_kernel kernel = {0};
    int64_t width = 100;
    bool autogain = true;
    double dry = 0, wet = 1;
    note_unknown(preset, plugin, known);
    TRY(read_level(preset, plugin, "dry", -100, &dry));
    TRY(read_level(preset, plugin, "wet", 0, &wet));
    TRY(mask_json_count(&preset->json, plugin, "ir-width", 0, 200, &width));
    TRY(mask_json_bool(&preset->json, plugin, "autogain", &autogain));
    TRY(read_kernel(preset, plugin, &mask));
    enum status status = copy_columns(preset, mask, &kernel);
    if (status == STATUS_OK) {
        widen(&kernel, (double)width / 100);
        double level = autogain ? level_gain(&kernel) : 1;
        status = convolve(preset->config->matrix, &kernel, wet * level, dry);
    }
    free(kernel.columns[0]);
    return status;
}

/* ---- the equaliser ---- */

enum { BANDS_MOST = 32, BAND_OFF = -1 };

static const struct {
    const char *name;
    int type;
} types[] = {
    {"Off", BAND_OFF},         {"Bell", LSP_BELL},
    {"Hi-pass", LSP_HIGHPASS}, {"Hi-shelf", LSP_HIGH_SHELF},
    {"Lo-pass", LSP_LOWPASS},  {"Lo-shelf", LSP_LOW_SHELF},
    {"Notch", LSP_NOTCH},      {"Resonance", LSP_RESONANCE},
    {"Allpass", LSP_ALLPASS},
};

static const struct {
    const char *name;
    enum lsp_family family;
    bool is_matched;
} modes[] = {
    {"RLC (BT)", LSP_RLC, false}, {"RLC (MT)", LSP_RLC, true},  {"BWC (BT)", LSP_BWC, false},
    {"BWC (MT)", LSP_BWC, true},  {"LRX (BT)", LSP_LRX, false}, {"LRX (MT)", LSP_LRX, true},
    {"APO (DR)", LSP_APO, false},
};

static enum status read_type(struct easyeffects *preset, const json_t *band, int *type)
{
    const char *name = "Bell";
    size_t i = 0, count = sizeof types / sizeof *types;
    TRY(mask_json_text(&preset->json, band, "type", &name));
    while (i < count && strcmp(name, types[i].name) != 0)
        i++;
    if (i == count)
        return refuse(preset, "a band of the type '%.40s' cannot be read as a mask", name);
    *type = types[i].type;
    return STATUS_OK;
}

static enum status read_mode(struct easyeffects *preset, const json_t *band,
                             struct lsp_filter *filter)
{
    const char *mode = "RLC (BT)", *slope = "x1";
    size_t i = 0, count = sizeof modes / sizeof *modes;
    TRY(mask_json_text(&preset->json, band, "mode", &mode));
    TRY(mask_json_text(&preset->json, band, "slope", &slope));
    while (i < count && strcmp(mode, modes[i].name) != 0)
        i++;
    if (i == count)
        return refuse(preset, "there is no mode '%.40s'", mode);
    if (slope[0] != 'x' || slope[1] < '1' || slope[1] > '4' || slope[2])
        return refuse(preset, "a slope must be x1 to x4, not '%.40s'", slope);
    if (filter->type == LSP_ALLPASS && modes[i].family == LSP_RLC)
        return refuse(
            preset,
            "an Allpass in RLC depends on the version of Linux Studio Plugins; take BWC, LRX or "
            "APO");
    filter->family = modes[i].family;
    filter->is_matched = modes[i].is_matched;
    filter->slope = (size_t)(slope[1] - '0');
    return STATUS_OK;
}

static enum status read_values(struct easyeffects *preset, const json_t *band,
                               struct lsp_filter *filter)
{
    if (!mask_json_get(band, "frequency"))
        return refuse(preset, "it has no frequency");
    TRY(read_number(preset, band, "frequency", 10, 24000, &filter->frequency));
    TRY(read_gain(preset, band, "gain", &filter->gain));
    return read_number(preset, band, "q", 0, 100, &filter->quality);
}

static enum status filter_band(struct easyeffects *preset, const json_t *band, double shift,
                               size_t channel)
{
    static const char *const known[] = {"type", "mode",      "slope", "solo",  "mute",
                                        "gain", "frequency", "q",     "width", NULL};
    struct biquad sections[LSP_SECTIONS_MOST];
    struct lsp_filter filter = {.quality = 4.36}; /* the quality if a preset has none */
    bool solo = false, mute = false;
    int type = BAND_OFF;
    note_unknown(preset, band, known);
    TRY(read_type(preset, band, &type));
    TRY(mask_json_bool(&preset->json, band, "mute", &mute));
    TRY(mask_json_bool(&preset->json, band, "solo", &solo));
    if (solo)
        return refuse(preset, "a band is solo, which cannot be read as a mask");
    if (type == BAND_OFF || mute)
        return STATUS_OK;
    filter.type = (enum lsp_type)type;
    TRY(read_mode(preset, band, &filter));
    TRY(read_values(preset, band, &filter));
    filter.frequency *= shift;
    size_t count = lsp_filter_make(&filter, preset->config->rate, sections);
    return mask_matrix_biquads(preset->config->matrix, channel, sections, count);
}

static enum status filter_channel(struct easyeffects *preset, const json_t *bands, int64_t count,
                                  double shift, size_t channel)
{
    char where[sizeof preset->json.where], name[24];
    memcpy(where, preset->json.where, sizeof where);
    for (int64_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "band%lld", (long long)i);
        const json_t *band = json_object_get(bands, name);
        snprintf(preset->json.where, sizeof where, "%.100s, %s", where, name);
        if (!json_is_object(band))
            return refuse(preset, "the preset does not have it");
        TRY(filter_band(preset, band, shift, channel));
    }
    memcpy(preset->json.where, where, sizeof where);
    return STATUS_OK;
}

/* Refuses settings with which the plugin would not do what is read here. */
static enum status check_settings(struct easyeffects *preset, const json_t *plugin)
{
    static const char *const known[] = {
        "bypass",  "input-gain", "output-gain", "mode", "decramp", "num-bands", "split-channels",
        "balance", "pitch-left", "pitch-right", "left", "right",   NULL};
    const char *mode = "IIR", *decramp = "Off";
    double balance = 0;
    note_unknown(preset, plugin, known);
    TRY(mask_json_text(&preset->json, plugin, "mode", &mode));
    TRY(mask_json_text(&preset->json, plugin, "decramp", &decramp));
    TRY(mask_json_number(&preset->json, plugin, "balance", &balance));
    if (strcmp(mode, "IIR") != 0)
        return refuse(preset, "the mode '%.40s' cannot be read as a mask, but IIR", mode);
    if (strcmp(decramp, "Off") != 0)
        return refuse(preset, "decramp must be Off, not '%.40s'", decramp);
    if (balance != 0)
        return refuse(preset, "a balance of %g cannot be read as a mask, but 0", balance);
    return STATUS_OK;
}

static enum status run_equalizer(struct easyeffects *preset, const json_t *plugin)
{
    static const char *const channels[] = {"left", "right"};
    static const char *const pitches[] = {"pitch-left", "pitch-right"};
    static const double octave = 12;
    int64_t count = BANDS_MOST;
    bool split = false;
    TRY(check_settings(preset, plugin));
    TRY(mask_json_count(&preset->json, plugin, "num-bands", 1, BANDS_MOST, &count));
    TRY(mask_json_bool(&preset->json, plugin, "split-channels", &split));
    TRY(mask_config_settle_rate(preset->config));
    for (size_t c = 0; c < 2; c++) {
        double semitones = 0;
        TRY(read_number(preset, plugin, pitches[c], -120, 120, &semitones));
        const json_t *bands = json_object_get(plugin, channels[split ? c : 0]);
        TRY(filter_channel(preset, bands, count, exp2(semitones / octave), c));
    }
    return STATUS_OK;
}

/* ---- the preset ---- */

enum { PLUGINS_MOST = 64 };

/* Plugins that only show the sound do nothing. */
static enum status pass(struct easyeffects *preset, const json_t *plugin)
{
    (void)preset, (void)plugin;
    return STATUS_OK;
}

static enum status load_kernel(struct easyeffects *preset, const json_t *plugin)
{
    const struct mask *kernel;
    return read_kernel(preset, plugin, &kernel);
}

/* All plugins are prepared before one of them filters: kernels set the rate for equalisers. */
static const struct easyeffects_kind {
    const char *name;
    enum status (*prepare)(struct easyeffects *preset, const json_t *plugin);
    enum status (*filter)(struct easyeffects *preset, const json_t *plugin);
} kinds[] = {
    {"convolver", load_kernel, run_convolver},
    {"equalizer", pass, run_equalizer},
    {"level_meter", pass, pass},
    {"spectrum", pass, pass},
    {"output_level", pass, pass},
};

/* Plugins that are not linear. The gains before and after them are linear and are applied. */
static const char *const nonlinear[] = {
    "autogain",       "autotune",      "bass_enhancer", "compressor",     "crusher",
    "crystalizer",    "deepfilternet", "deesser",       "echo_canceller", "exciter",
    "expander",       "gate",          "limiter",       "maximizer",      "multiband_compressor",
    "multiband_gate", "pitch",         "rnnoise",       "speex",          "voice_suppressor",
};
static const struct easyeffects_kind left_out = {"", pass, pass};

static enum status apply_gain(struct easyeffects *preset, const json_t *plugin, const char *key)
{
    double factor = 1;
    TRY(read_gain(preset, plugin, key, &factor));
    for (size_t c = 0; c < 2 && factor != 1; c++)
        TRY(mask_matrix_gain(preset->config->matrix, c, factor, 0));
    return STATUS_OK;
}

/* The settings of a plugin. In presets of version 6 its name has no number. */
static const json_t *find_plugin(const json_t *section, const char *name)
{
    char base[64];
    const json_t *plugin = json_object_get(section, name);
    snprintf(base, sizeof base, "%.*s", (int)strcspn(name, "#"), name);
    return plugin ? plugin : json_object_get(section, base);
}

/* Replaces a plugin that is not linear, or refuses it. */
static enum status leave_out(struct easyeffects *preset, const char *name,
                             const struct easyeffects_kind **kind)
{
    size_t length = strcspn(name, "#"), i = 0, count = sizeof nonlinear / sizeof *nonlinear;
    while (i < count &&
           (strlen(nonlinear[i]) != length || strncmp(name, nonlinear[i], length) != 0))
        i++;
    if (i == count)
        return refuse(preset, "this plugin cannot be read as a mask; bypass it in the preset");
    char stage[160];
    snprintf(stage, sizeof stage, "%.100s, but for its gains,", name);
    if (preset->config->options->skips_nonlinear &&
        (!preset->is_preparing || mask_config_skips(preset->config, stage))) {
        *kind = &left_out;
        return STATUS_OK;
    }
    return refuse(preset, "this plugin is no filter; " MASK_CONFIG_SKIP_ADVICE);
}

/* Finds a plugin's kind. *kind is NULL if the plugin is bypassed. */
static enum status find_kind(struct easyeffects *preset, const json_t *plugin, const char *name,
                             const struct easyeffects_kind **kind)
{
    size_t length = strcspn(name, "#"), i = 0, count = sizeof kinds / sizeof *kinds;
    bool bypassed = false;
    snprintf(preset->json.where, sizeof preset->json.where, "%.100s", name);
    if (!json_is_object(plugin))
        return refuse(preset, "the preset has no settings of it");
    if (json_object_get(plugin, "state"))
        return refuse(preset,
                      "presets of PulseEffects cannot be read; load and save it with EasyEffects");
    TRY(mask_json_bool(&preset->json, plugin, "bypass", &bypassed));
    if (bypassed)
        return STATUS_OK;
    while (i < count &&
           (strlen(kinds[i].name) != length || strncmp(name, kinds[i].name, length) != 0))
        i++;
    if (i == count)
        return leave_out(preset, name, kind);
    *kind = &kinds[i];
    return STATUS_OK;
}

static enum status run_plugin(struct easyeffects *preset, const json_t *section, const char *name)
{
    const json_t *plugin = find_plugin(section, name);
    const struct easyeffects_kind *kind = NULL;
    TRY(find_kind(preset, plugin, name, &kind));
    if (!kind)
        return STATUS_OK;
    if (preset->is_preparing)
        return kind->prepare(preset, plugin);
    TRY(apply_gain(preset, plugin, "input-gain"));
    TRY(kind->filter(preset, plugin));
    return apply_gain(preset, plugin, "output-gain");
}

static enum status run_all(struct easyeffects *preset, const json_t *section, const json_t *order)
{
    const json_t *name;
    size_t i;
    json_array_foreach(order, i, name)
    {
        if (!json_is_string(name))
            return refuse(preset, "plugins_order must list names");
        TRY(run_plugin(preset, section, json_string_value(name)));
    }
    return STATUS_OK;
}

static const json_t *order_of(const json_t *document, const char *section)
{
    return json_object_get(json_object_get(document, section), "plugins_order");
}

static enum status run_section(struct easyeffects *preset, const json_t *document)
{
    const json_t *output = order_of(document, "output"), *input = order_of(document, "input");
    if (json_array_size(output) > 0 && json_array_size(input) > 0)
        return refuse(preset, "it has plugins for output and for input; a mask is one of them");
    bool is_input = json_array_size(input) > 0;
    const json_t *order = is_input || !output ? input : output;
    const json_t *section = json_object_get(document, is_input ? "input" : "output");
    if (!json_is_array(order) || json_array_size(order) > PLUGINS_MOST)
        return refuse(preset, "plugins_order must list at most %d plugins", PLUGINS_MOST);
    preset->is_preparing = true;
    TRY(run_all(preset, section, order));
    preset->is_preparing = false;
    return run_all(preset, section, order);
}

static enum status read_document(struct mask_config *config, const json_t *document,
                                 struct mask **mask)
{
    struct easyeffects preset = {.config = config, .json = {.config = config}};
    TRY(mask_matrix_create(config, 2, 2, &config->matrix));
    TRY(mask_matrix_connect(config->matrix));
    TRY(run_section(&preset, document));
    return mask_matrix_to_mask(config->matrix, mask);
}

static enum status read_easyeffects(struct mask_config *config, struct mask **mask)
{
    json_error_t error;
    json_t *document = json_loads(config->text, JSON_REJECT_DUPLICATES, &error);
    if (!document && json_error_code(&error) == json_error_out_of_memory)
        return fail_memory("a mask");
    if (!document) {
        config->line = error.line > 0 ? (size_t)error.line : 0;
        return mask_config_refuse(config, "not JSON: %s", error.text);
    }
    enum status status = read_document(config, document, mask);
    json_decref(document);
    return status;
}

static bool is_easyeffects(const struct mask_config *config)
{
    const char *text = config->text + strspn(config->text, " \t\r\n");
    return *text == '{' && strstr(text, "\"plugins_order\"");
}

const struct mask_reader mask_reader_easyeffects = {
    .kind = "EasyEffects preset",
    .is_my_config = is_easyeffects,
    .read_config = read_easyeffects,
};
