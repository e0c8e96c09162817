#include "correct/correct_study.h"

#include "acoustics/response.h"
#include "base/plain_locale.h"
#include "design/correct_curve.h"
#include "design/correct_target.h"
#include "plot/response_plot.h"
#include "signal/phase.h"
#include "signal/taps.h"

#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TARGET_TAPS = 8192, THIRD = 3 /* thirds in an octave */ };

static const double LEAST = -200;                     /* dB: silence */
static const double SNR_LEAST = 10;                   /* dB */
static const double PLOT_RANGE = 40;                  /* dB */
static const double PLOT_LOW = 20, PLOT_HIGH = 20000; /* Hz */

/* ---- the curves of a loudspeaker ---- */

/* The columns of an output in all positions, convolved with `correction`, or as they are. */
static enum status gather(struct mask *const *positions, size_t count, size_t output,
                          const double *correction, size_t correction_taps, struct mask **result)
{
    size_t outputs[MASK_CHANNELS_MOST], columns = 0, taps = 0;
    for (int pass = 0; pass < 2; pass++) {
        columns = 0;
        for (size_t p = 0; p < count; p++) {
            const struct mask *from = positions[p];
            TRY(correct_outputs(from, outputs));
            for (size_t c = 0; c < from->columns; c++) {
                if (outputs[c] != output)
                    continue;
                taps = pass == 0 && from->taps > taps ? from->taps : taps;
                if (pass == 1 && correction)
                    TRY(taps_convolve(mask_column(from, c), from->taps, correction, correction_taps,
                                      mask_column(*result, columns)));
                else if (pass == 1)
                    memcpy(mask_column(*result, columns), mask_column(from, c),
                           from->taps * sizeof(double));
                columns++;
            }
        }
        if (pass == 0)
            TRY(mask_create("positions", columns, taps + (correction ? correction_taps - 1 : 0),
                            result));
    }
    (*result)->rate = positions[0]->rate;
    return mask_route(*result, columns, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
}

static double target_at(const void *context, double hertz)
{
    const struct level_curve *curve = context;
    return level_curve_count(curve) > 0 ? pow(10, level_curve_at(curve, fmax(hertz, 1)) / 20) : 1;
}

static enum status make_target(const struct level_curve *curve, uint32_t rate, struct mask **mask)
{
    const struct phase_magnitude magnitude = {target_at, curve};
    TRY(mask_create("target", 1, TARGET_TAPS, mask));
    (*mask)->rate = rate;
    TRY(phase_design(&magnitude, rate, PHASE_MINIMUM, mask_column(*mask, 0), TARGET_TAPS));
    return mask_route(*mask, 1, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
}

static enum status copy_column(const struct mask *from, size_t column, struct mask **copy)
{
    TRY(mask_create(from->name, 1, from->taps, copy));
    (*copy)->rate = from->rate;
    memcpy(mask_column(*copy, 0), mask_column(from, column), from->taps * sizeof(double));
    return mask_route(*copy, 1, MASK_ORDER_LL_LR_RL_RR, MASK_MAP_AUTO);
}

/* ---- thirds ---- */

static enum status measure_thirds(const struct mask *mask, double thirds[MEASURED_THIRDS])
{
    const double sixth = pow(10, 0.05);
    const struct response_axis axis = {.low = measured_hz(0) / sixth,
                                       .high = measured_hz(MEASURED_THIRDS - 1) * sixth,
                                       .points = MEASURED_THIRDS,
                                       .smoothing = 1.0 / THIRD};
    TRY(response_measure(mask, mask->rate, &axis, thirds));
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        thirds[t] = fmax(thirds[t], LEAST);
    return STATUS_OK;
}

/* The mean over the band, less that of the target if there is one. */
static double mean_of(const struct study_speaker *speaker, const double *thirds,
                      const double *target)
{
    double sum = 0;
    for (size_t t = speaker->first; t < speaker->end; t++)
        sum += thirds[t] - (target ? target[t] : 0);
    return sum / (double)(speaker->end - speaker->first);
}

/* Shifts a curve by dB. */
static void shift(struct study_speaker *speaker, enum study_curve curve, double db)
{
    mask_scale(speaker->curves[curve], pow(10, db / 20), NULL);
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        speaker->thirds[curve][t] += db;
}

/* Finds the thirds in which the loudspeaker plays. */
static void find_band(struct study_speaker *speaker, uint32_t rate)
{
    const double *levels = speaker->thirds[STUDY_MEASURED];
    speaker->first = 0;
    speaker->end = MEASURED_THIRDS;
    while (speaker->end > 1 && measured_hz(speaker->end - 1) > 0.45 * rate)
        speaker->end--;
    curve_band(levels, &speaker->first, &speaker->end);
}

static void deviate(struct study_speaker *speaker, enum study_curve curve)
{
    const double *target = speaker->thirds[STUDY_TARGET], *levels = speaker->thirds[curve];
    double mean = mean_of(speaker, levels, target), sum = 0;
    for (size_t t = speaker->first; t < speaker->end; t++)
        sum += pow(levels[t] - target[t] - mean, 2);
    speaker->deviation[curve] = sqrt(sum / (double)(speaker->end - speaker->first));
}

static enum status study_speaker(struct mask *const *positions, size_t count, size_t number,
                                 const struct mask *correction, const struct level_curve *target,
                                 struct study_speaker *speaker)
{
    const double *column = mask_column(correction, number);
    size_t taps = correction->taps;
    struct mask **curves = speaker->curves;
    TRY(gather(positions, count, speaker->output, NULL, 0, &curves[STUDY_MEASURED]));
    TRY(gather(positions, count, speaker->output, column, taps, &curves[STUDY_PREDICTED]));
    TRY(gather(positions + count - 1, 1, speaker->output, column, taps, &curves[STUDY_EXPECTED]));
    TRY(make_target(target, correction->rate, &curves[STUDY_TARGET]));
    TRY(copy_column(correction, number, &curves[STUDY_CORRECTION]));
    for (int c = 0; c < STUDY_CURVES; c++)
        if (curves[c])
            TRY(measure_thirds(curves[c], speaker->thirds[c]));
    find_band(speaker, correction->rate);
    double level = mean_of(speaker, speaker->thirds[STUDY_MEASURED], NULL);
    shift(speaker, STUDY_MEASURED, -level);
    shift(speaker, STUDY_PREDICTED, -level);
    shift(speaker, STUDY_EXPECTED, -level);
    speaker->level = level;
    shift(speaker, STUDY_TARGET,
          mean_of(speaker, speaker->thirds[STUDY_PREDICTED], speaker->thirds[STUDY_TARGET]));
    deviate(speaker, STUDY_MEASURED);
    deviate(speaker, STUDY_PREDICTED);
    speaker->apart = NAN;
    return STATUS_OK;
}

static enum status fill_study(struct study *study, struct mask *const *positions, size_t count,
                              const struct mask *correction, const char *target)
{
    struct level_curve curve;
    size_t outputs[MASK_CHANNELS_MOST];
    enum status status = correct_target_read(target, &curve);
    if (status == STATUS_OK)
        status = correct_outputs(positions[0], outputs);
    for (size_t c = 0; c < positions[0]->columns && status == STATUS_OK; c++) {
        bool is_new = true;
        for (size_t s = 0; s < study->count; s++)
            is_new = is_new && study->speakers[s].output != outputs[c];
        if (!is_new || study->count == correction->columns)
            continue;
        struct study_speaker *speaker = &study->speakers[study->count];
        speaker->output = outputs[c];
        status = study_speaker(positions, count, study->count++, correction, &curve, speaker);
    }
    level_curve_free(&curve);
    return status;
}

enum status study_create(struct mask *const *positions, size_t count, const struct mask *correction,
                         const char *target, struct study **result)
{
    struct study *study = calloc(1, sizeof *study);
    if (study)
        study->speakers = calloc(correction->columns, sizeof *study->speakers);
    if (!study || !study->speakers) {
        free(study);
        return fail_memory("a correction");
    }
    study->rate = correction->rate;
    enum status status = fill_study(study, positions, count, correction, target);
    if (status == STATUS_OK)
        *result = study;
    else
        study_destroy(study);
    return status;
}

void study_destroy(struct study *study)
{
    if (!study)
        return;
    for (size_t s = 0; s < study->count; s++)
        for (int c = 0; c < STUDY_CURVES; c++)
            mask_destroy(study->speakers[s].curves[c]);
    free(study->speakers);
    free(study);
}

/* ---- the check ---- */

/* Whether a third of an output is above the noise at all inputs. */
static bool is_heard(const struct measurement *measurement, size_t output, size_t third)
{
    for (size_t p = 0; measurement && p < measurement->path_count; p++)
        if (measurement->paths[p].output == output &&
            !(measurement->paths[p].snr[third] >= SNR_LEAST))
            return false;
    return true;
}

enum status study_check(struct study *study, const struct mask *checked,
                        const struct measurement *measurement, const struct measurement *last)
{
    struct mask *const positions[] = {(struct mask *)checked};
    for (size_t s = 0; s < study->count; s++) {
        struct study_speaker *speaker = &study->speakers[s];
        mask_destroy(speaker->curves[STUDY_CHECKED]);
        speaker->curves[STUDY_CHECKED] = NULL;
        TRY(gather(positions, 1, speaker->output, NULL, 0, &speaker->curves[STUDY_CHECKED]));
        TRY(measure_thirds(speaker->curves[STUDY_CHECKED], speaker->thirds[STUDY_CHECKED]));
        shift(speaker, STUDY_CHECKED, -speaker->level);
        deviate(speaker, STUDY_CHECKED);
        speaker->apart = NAN; /* fmax() skips it */
        for (size_t t = speaker->first; t < speaker->end; t++)
            if (is_heard(measurement, speaker->output, t) && is_heard(last, speaker->output, t))
                speaker->apart = fmax(speaker->apart, fabs(speaker->thirds[STUDY_CHECKED][t] -
                                                           speaker->thirds[STUDY_EXPECTED][t]));
    }
    return STATUS_OK;
}

/* ---- output ---- */

const char *study_legend(const struct study *study)
{
    return study->speakers[0].curves[STUDY_CHECKED]
               ? "P predicted at the last position  M measured through the correction  T target"
               : "M measured  T target  C correction  P predicted";
}

enum status study_plot(const struct study *study, size_t number, size_t width, size_t height,
                       char **text)
{
    const struct study_speaker *speaker = &study->speakers[number];
    struct mask *const *curves = speaker->curves;
    const struct mask *planned[] = {curves[STUDY_MEASURED], curves[STUDY_TARGET],
                                    curves[STUDY_CORRECTION], curves[STUDY_PREDICTED]};
    const struct mask *checked[] = {curves[STUDY_EXPECTED], curves[STUDY_CHECKED],
                                    curves[STUDY_TARGET]};
    const struct response_plot_settings settings = {
        .width = width,
        .height = height,
        .rate = study->rate,
        .braille = strcmp(nl_langinfo(CODESET), "UTF-8") == 0,
        .low = PLOT_LOW,
        .high = fmin(PLOT_HIGH, 0.45 * study->rate),
        .range = PLOT_RANGE,
        .smoothing = 1.0 / 6,
    };
    return curves[STUDY_CHECKED] ? response_plot(&settings, checked, "PMT", 3, text)
                                 : response_plot(&settings, planned, "MTCP", 4, text);
}

void study_describe(const struct study_speaker *speaker, char line[STUDY_LINE])
{
    snprintf(line, STUDY_LINE,
             "output %zu, %.0f to %.0f Hz: %.1f dB from the target, %.1f dB corrected",
             speaker->output, measured_hz(speaker->first), measured_hz(speaker->end - 1),
             speaker->deviation[STUDY_MEASURED], speaker->deviation[STUDY_PREDICTED]);
}

void study_describe_check(const struct study_speaker *speaker, char line[STUDY_LINE])
{
    *line = '\0';
    if (isfinite(speaker->apart))
        snprintf(line, STUDY_LINE,
                 "Measured through it, thirds of an octave are within %.1f dB of the prediction.",
                 speaker->apart);
}

static json_t *thirds_json(const struct study_speaker *speaker, enum study_curve curve)
{
    if (!speaker->curves[curve])
        return json_null();
    json_t *list = json_array();
    for (size_t t = 0; t < MEASURED_THIRDS; t++) {
        bool is_there = measured_hz(t) < 0.5 * speaker->curves[curve]->rate;
        json_array_append_new(list, is_there ? json_real(speaker->thirds[curve][t]) : json_null());
    }
    return list;
}

static json_t *speaker_json(const struct study_speaker *speaker)
{
    bool is_checked = speaker->curves[STUDY_CHECKED] != NULL;
    return json_pack(
        "{s:I, s:f, s:f, s:f, s:f, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "output",
        (json_int_t)speaker->output, "from", measured_hz(speaker->first), "to",
        measured_hz(speaker->end - 1), "deviation", speaker->deviation[STUDY_MEASURED],
        "predicted_deviation", speaker->deviation[STUDY_PREDICTED], "checked_deviation",
        is_checked ? json_real(speaker->deviation[STUDY_CHECKED]) : json_null(), "apart",
        isfinite(speaker->apart) ? json_real(speaker->apart) : json_null(), "measured",
        thirds_json(speaker, STUDY_MEASURED), "target", thirds_json(speaker, STUDY_TARGET),
        "correction", thirds_json(speaker, STUDY_CORRECTION), "predicted",
        thirds_json(speaker, STUDY_PREDICTED), "expected", thirds_json(speaker, STUDY_EXPECTED),
        "checked", thirds_json(speaker, STUDY_CHECKED));
}

json_t *study_object(const struct study *study)
{
    json_t *list = json_array();
    for (size_t s = 0; s < study->count; s++)
        json_array_append_new(list, speaker_json(&study->speakers[s]));
    return list;
}
