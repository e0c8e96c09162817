/* The convolver of EasyEffects: a kernel of 1, 2 or 4 channels, its width and its level. */
#include "mask/mask_easyeffects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

/* dry: or wet: from `level` in dB, which is that of a missing one, to a factor. */
static enum status read_level(struct easyeffects *preset, const json_t *plugin, const char *key,
                              double level, double *factor)
{
    static const double silence = -100, most = 20;
    TRY(easyeffects_number(preset, plugin, key, silence, most, &level));
    *factor = level <= silence ? 0 : audio_from_db(level);
    return STATUS_OK;
}

enum status easyeffects_convolver(struct easyeffects *preset, const json_t *plugin)
{
    static const char *const known[] = {"bypass",      "input-gain", "output-gain", "kernel-name",
                                        "kernel-path", "ir-width",   "autogain",    "dry",
                                        "wet",         "sofa",       NULL};
    const struct mask *mask;
    struct effects_kernel kernel = {0};
    int64_t width = 100;
    bool autogain = true;
    double dry = 0, wet = 1;
    easyeffects_note_unknown(preset, plugin, known);
    TRY(read_level(preset, plugin, "dry", -100, &dry));
    TRY(read_level(preset, plugin, "wet", 0, &wet));
    TRY(mask_json_count(&preset->json, plugin, "ir-width", 0, 200, &width));
    TRY(mask_json_bool(&preset->json, plugin, "autogain", &autogain));
    TRY(easyeffects_kernel(preset, plugin, &mask));
    enum status status = copy_columns(preset, mask, &kernel);
    if (status == STATUS_OK) {
        widen(&kernel, (double)width / 100);
        double level = autogain ? level_gain(&kernel) : 1;
        status = convolve(preset->config->matrix, &kernel, wet * level, dry);
    }
    free(kernel.columns[0]);
    return status;
}
