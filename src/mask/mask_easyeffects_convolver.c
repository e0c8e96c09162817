/* The convolver of EasyEffects: a kernel of 1, 2 or 4 channels, its width and its level. */
#include "mask/mask_easyeffects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- finding the kernel ---- */

/* Where EasyEffects keeps them, as a package of the system and of Flatpak. */
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

/* The path of a kernel there, to be freed; NULL: none, or no memory. */
static char *kernel_in(const char *folder, const char *name)
{
    static const char *const endings[] = {".irs", ".wav", ".sofa", ""};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char *path;
        if (asprintf(&path, "%s/%s%s", folder, name, endings[i]) < 0)
            return NULL;
        if (access(path, F_OK) == 0)
            return path;
        free(path);
    }
    return NULL;
}

/* What lies beside a preset came with it, perhaps from a stranger: links out of its folder are not
 * followed. In the user's own folders they are. */
struct kernel_file {
    char *path;  /* without links but one that is not followed; NULL: there is none */
    char *fence; /* that it must be in */
};

static void look_in(const char *folder, const char *name, bool is_own, struct kernel_file *file)
{
    char *found = kernel_in(folder, name), *path = NULL;
    char *real = found ? realpath(is_own ? found : folder, NULL) : NULL;
    if (real && is_own) {
        path = strdup(real);
        *strrchr(real, '/') = '\0';
    } else if (real && asprintf(&path, "%s/%s", real, strrchr(found, '/') + 1) < 0) {
        path = NULL;
    }
    *file = (struct kernel_file){path, real};
    free(found);
}

static void find_kernel(const char *home, const char *name, struct kernel_file *file)
{
    char *folder;
    look_in(home, name, false, file);
    if (!file->path && asprintf(&folder, "%s/../irs", home) >= 0) {
        look_in(folder, name, false, file);
        free(folder);
    }
    for (size_t i = 0; !file->path && i < sizeof places / sizeof *places; i++) {
        const char *value = getenv(places[i].variable);
        if (!value || asprintf(&folder, "%s/%s", value, places[i].folder) < 0)
            continue;
        look_in(folder, name, true, file);
        free(folder);
    }
}

static enum status load_kernel(struct mask_config *config, const struct kernel_file *file,
                               const struct mask **kernel)
{
    char *fence = config->fence;
    config->fence = file->fence;
    enum status status = mask_config_mask(config, file->path, NULL, kernel);
    config->fence = fence;
    return status;
}

/* By its name, without folder and ending. A name never leads elsewhere. */
static enum status load_named(struct easyeffects *preset, const char *name,
                              const struct mask **kernel)
{
    if (strchr(name, '/') || *name == '.')
        return mask_json_refuse(&preset->json, "'%.100s' is not the name of a kernel", name);
    struct kernel_file file = {NULL, NULL};
    find_kernel(preset->config->home, name, &file);
    if (!file.path)
        return mask_json_refuse(&preset->json,
                                "there is no kernel %.100s.irs beside the preset, in "
                                "~/.config/easyeffects/irs or ~/.local/share/easyeffects/irs",
                                name);
    size_t length = strlen(file.path);
    enum status status =
        length > 5 && strcmp(file.path + length - 5, ".sofa") == 0
            ? mask_json_refuse(&preset->json, "a kernel in a SOFA file cannot be read as a mask")
            : load_kernel(preset->config, &file, kernel);
    free(file.path);
    free(file.fence);
    return status;
}

/* kernel-path, of versions before 7.1, is one of another machine perhaps: its base name counts. */
static enum status find_name(struct easyeffects *preset, const json_t *plugin, char name[256])
{
    const char *kernel = "", *path = "";
    TRY(mask_json_text(&preset->json, plugin, "kernel-name", &kernel));
    TRY(mask_json_text(&preset->json, plugin, "kernel-path", &path));
    const char *slash = strrchr(path, '/');
    const char *base = *kernel ? kernel : slash ? slash + 1 : path;
    const char *dot = *kernel ? NULL : strrchr(base, '.');
    if (!*base)
        return mask_json_refuse(&preset->json, "it has no kernel-name");
    snprintf(name, 256, "%.*s", dot && dot > base ? (int)(dot - base) : (int)strlen(base), base);
    return STATUS_OK;
}

/* ---- its responses ---- */

/* From each input to each output: LL, LR, RL, RR. */
enum { LL, LR, RL, RR, PATHS };

struct effects_kernel {
    size_t taps;
    bool crosses;           /* LR and RL are there */
    double *columns[PATHS]; /* one block */
};

static enum status copy_columns(struct easyeffects *preset, const struct mask *mask,
                                struct effects_kernel *kernel)
{
    static const int from[][PATHS] = {{0, -1, -1, 0}, {0, -1, -1, 1}, {0, 1, 2, 3}};
    if (mask->columns != 1 && mask->columns != 2 && mask->columns != 4)
        return mask_json_refuse(&preset->json, "the kernel has %zu channels, not 1, 2 or 4",
                                mask->columns);
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

/* Mid and side, as in Tom Szilagyi's ir.lv2. */
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

/* The peak becomes 1, then the largest energy 1, where it is more. */
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

/* Six rows: the four paths, and the sound itself; then their sums. */
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

enum status easyeffects_convolver(struct easyeffects *preset, const json_t *plugin)
{
    const struct mask *mask;
    struct effects_kernel kernel = {0};
    char name[256];
    int64_t width = 100;
    bool autogain = true;
    double dry = 0, wet = 1;
    TRY(easyeffects_gain(preset, plugin, "dry", -100, &dry));
    TRY(easyeffects_gain(preset, plugin, "wet", 0, &wet));
    TRY(mask_json_count(&preset->json, plugin, "ir-width", 0, 200, &width));
    TRY(mask_json_bool(&preset->json, plugin, "autogain", &autogain));
    TRY(find_name(preset, plugin, name));
    TRY(load_named(preset, name, &mask));
    enum status status = copy_columns(preset, mask, &kernel);
    if (status == STATUS_OK) {
        widen(&kernel, (double)width / 100);
        double level = autogain ? level_gain(&kernel) : 1;
        status = convolve(preset->config->matrix, &kernel, wet * level, dry);
    }
    free(kernel.columns[0]);
    return status;
}
