/* The processor RACE of a CamillaDSP configuration: recursive ambiophonic crosstalk elimination.
 *
 * Each of two channels gets the other one, delayed, quieter and inverted: a' = a + G b', b' = b + G
 * a'. Their sum and their difference are filters of one channel each, 1 / (1 - G) and 1 / (1 + G).
 */
#include "mask/mask_camilladsp.h"

#include <stdlib.h>

struct race {
    struct camilladsp_delay delay; /* less the frame that the feedback takes */
    double gain;
};

static void race_run(const void *data, double *samples, size_t count)
{
    const struct race *race = data;
    const struct biquad *allpass = &race->delay.allpass;
    double first = 0, second = 0;
    for (size_t i = (size_t)race->delay.frames + 1; i < count; i++) {
        double in = samples[i - race->delay.frames - 1], out = in;
        if (race->delay.has_allpass) {
            out = allpass->b[0] * in + first;
            first = allpass->b[1] * in - allpass->a[0] * out + second;
            second = allpass->b[2] * in - allpass->a[1] * out;
        }
        samples[i] += race->gain * out;
    }
}

/* Replace channels a and b by their sum and difference, scaled. */
static enum status mix_pair(struct mask_matrix *matrix, size_t a, size_t b, double scale)
{
    size_t count = mask_matrix_outputs(matrix);
    double *gains = calloc(count * count, sizeof *gains);
    if (!gains)
        return fail_memory("a mask");
    for (size_t c = 0; c < count; c++)
        gains[c * count + c] = 1;
    gains[a * count + a] = gains[a * count + b] = gains[b * count + a] = scale;
    gains[b * count + b] = -scale;
    enum status status = mask_matrix_mix(matrix, count, gains);
    free(gains);
    return status;
}

static enum status filter_one(struct camilladsp *dsp, size_t channel, const struct race *race)
{
    for (size_t c = 0; c < MATRIX_CHANNELS_MOST; c++)
        dsp->is_selected[c] = c == channel;
    return camilladsp_apply_recursive(
        dsp, &(struct recursive){race_run, race, (size_t)race->delay.frames + 3});
}

static enum status apply(struct camilladsp *dsp, size_t a, size_t b, struct race *race)
{
    TRY(mix_pair(dsp->config->matrix, a, b, 1));
    TRY(filter_one(dsp, a, race));
    race->gain = -race->gain;
    TRY(filter_one(dsp, b, race));
    return mix_pair(dsp->config->matrix, a, b, 0.5);
}

enum status camilladsp_race(struct camilladsp *dsp, const yaml_node_t *parameters)
{
    size_t outputs = mask_matrix_outputs(dsp->config->matrix);
    uint64_t channels = 0, a = UINT64_MAX, b = UINT64_MAX;
    double delay, attenuation;
    bool subsample = false;
    struct race race;
    const char *unit = camilladsp_text(camilladsp_get(dsp, parameters, "delay_unit"));
    TRY(camilladsp_count(dsp, parameters, "channels", &channels));
    TRY(camilladsp_count(dsp, parameters, "channel_a", &a));
    TRY(camilladsp_count(dsp, parameters, "channel_b", &b));
    TRY(camilladsp_bool(dsp, parameters, "subsample_delay", &subsample));
    TRY(camilladsp_required(dsp, parameters, "delay", &delay));
    TRY(camilladsp_required(dsp, parameters, "attenuation", &attenuation));
    TRY(camilladsp_check_keys(dsp, parameters));
    if (channels != outputs || a >= outputs || b >= outputs || a == b)
        return mask_config_refuse(dsp->config,
                                  "RACE needs channels: %zu and two different channel_a: and "
                                  "channel_b: from 0 to %zu",
                                  outputs, outputs - 1);
    if (delay <= 0 || attenuation <= 0)
        return mask_config_refuse(dsp->config, "RACE needs a delay: and attenuation: above 0");
    TRY(camilladsp_delay(dsp, unit, delay, 1, subsample, &race.delay));
    race.gain = -audio_from_db(-attenuation);
    return apply(dsp, (size_t)a, (size_t)b, &race);
}
