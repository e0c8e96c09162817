#include "base/atomic_file.h"
#include "base/json_text.h"
#include "import/mask_write.h"
#include "measure/measure_options.h"
#include "measure/measure_rig.h"
#include "measure/take_response.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- results ---- */

/* Puts the columns of seven or eight loudspeakers into HeSuVi's order. */
static enum status order_for_hesuvi(struct mask **mask, struct measurement *measurement)
{
    /* Columns 0 to 6: FL to both ears, SL, BL, FC to the left one. 7 to 13: the mirror of them. */
    enum { FL, FR, FC, BL, BR, SL, SR };
    static const size_t order[MEASURE_HESUVI][MEASURE_EARS] = {
        {FL, 0}, {FL, 1}, {SL, 0}, {SL, 1}, {BL, 0}, {BL, 1}, {FC, 0},
        {FR, 1}, {FR, 0}, {SR, 1}, {SR, 0}, {BR, 1}, {BR, 0}, {FC, 1},
    };
    enum { LFE = 3 };
    struct mask *old = *mask, *ordered;
    bool has_lfe = old->columns == MEASURE_HESUVI + MEASURE_EARS;
    struct measured_path *paths = calloc(MEASURE_HESUVI, sizeof *paths);
    if (!paths)
        return fail_memory("a mask");
    enum status status = mask_create(old->name, MEASURE_HESUVI, old->taps, &ordered);
    if (status != STATUS_OK) {
        free(paths);
        return status;
    }
    ordered->rate = old->rate;
    for (size_t c = 0; c < MEASURE_HESUVI; c++) {
        size_t speaker = order[c][0] + (has_lfe && order[c][0] >= LFE);
        size_t column = speaker * MEASURE_EARS + order[c][1];
        memcpy(mask_column(ordered, c), mask_column(old, column),
               old->taps * sizeof *old->coefficients);
        paths[c] = measurement->paths[column];
    }
    free(measurement->paths);
    measurement->paths = paths;
    measurement->path_count = MEASURE_HESUVI;
    mask_destroy(old);
    *mask = ordered;
    return STATUS_OK;
}

static void print_path(const struct measured_path *path, double full_scale)
{
    enum { THIRD_1K = 17 };
    double thd = measured_thd(path, THIRD_1K), loudest = NAN;
    if (!isfinite(path->snr_all)) {
        printf("output %zu to input %zu: nothing\n", path->output, path->input);
        return;
    }
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        loudest = fmax(loudest, path->level[t]); /* fmax() skips NAN */
    printf("output %zu to input %zu: %.2f ms, %.1f dB over the noise", path->output, path->input,
           rint(1e5 * path->delay) / 100 + 0.0, path->snr_all); /* + 0.0 avoids -0.00 */
    if (isfinite(thd))
        printf(", distortion at 1 kHz %.3g %%", 100 * pow(10, thd / 20));
    if (isfinite(full_scale + loudest))
        printf(", up to %.1f dB SPL", loudest + full_scale);
    puts("");
}

static enum status print_results(const struct measure_options *options,
                                 const struct measure_result *result)
{
    const struct measurement *measurement = result->measurement;
    if (options->play.json)
        return json_print(json_pack("{s:o, s:o, s:I, s:o}", "mask", json_text(options->output),
                                    "recording", json_text(result->recording), "zero_tap",
                                    (json_int_t)result->zero, "measurement",
                                    measurement_object(measurement)),
                          JSON_REAL_PRECISION(9), "the measurement");
    for (size_t p = 0; p < measurement->path_count; p++)
        print_path(&measurement->paths[p], measurement->full_scale + measurement->level);
    if (measurement->drift != 0)
        printf("the input's clock is faster by %.2f ppm, which was taken out\n",
               measurement->drift);
    printf("%s: time zero (%s) is at tap %zu; halo mask show and plot say more\n", options->output,
           measurement->timing, result->zero);
    return STATUS_OK;
}

static enum status write_results(const struct measure_options *options, const struct take *take,
                                 const struct measure_result *result)
{
    const struct mask_write_settings settings = {.force = options->play.force};
    if (!options->take)
        TRY(take_write(take, result->recording, options->play.force));
    enum status status = mask_write_wav(result->mask, options->output, &settings);
    if (status != STATUS_OK && !options->take)
        note("the recording is in %s: halo measure FILE.wav --take %s uses it", result->recording,
             result->recording);
    return status;
}

enum status measure_respond(const struct measure_options *options, const struct take *take,
                            struct measure_result *result)
{
    const struct take_settings settings = {
        .calibrations = options->calibrations,
        .calibration_count = options->calibration_count,
        .full_scale = options->has_full_scale ? options->full_scale : NAN,
    };
    TRY(measure_check_hesuvi(options, &take->plan));
    TRY(take_responses(take, &settings, &result->mask, &result->zero, &result->measurement));
    if (options->hesuvi)
        TRY(order_for_hesuvi(&result->mask, result->measurement));
    result->mask->measured = measurement_text(result->measurement);
    return result->mask->measured ? STATUS_OK : fail_memory("a measurement");
}

enum status measure_write(const struct measure_options *options, const struct take *take,
                          struct measure_result *result)
{
    TRY(measure_respond(options, take, result));
    return write_results(options, take, result);
}

enum status measure_result_init(const struct measure_options *options,
                                struct measure_result *result)
{
    enum { ANY_RATE = 48000 };
    *result = (struct measure_result){0};
    if (options->take)
        result->recording = strdup(options->take);
    else if (asprintf(&result->recording, "%.*s-take.wav",
                      (int)(strlen(options->output) - strlen(".wav")), options->output) < 0)
        result->recording = NULL;
    if (!result->recording)
        return fail_memory("a measurement");
    for (size_t i = 0; i < options->calibration_count; i++) {
        struct mask *mask;
        TRY(take_calibration_load(options->calibrations[i], ANY_RATE, &mask));
        mask_destroy(mask);
    }
    TRY(atomic_file_check(options->output, options->play.force));
    return options->take ? STATUS_OK : atomic_file_check(result->recording, options->play.force);
}

void measure_result_free(struct measure_result *result)
{
    mask_destroy(result->mask);
    measurement_destroy(result->measurement);
    free(result->recording);
    *result = (struct measure_result){0};
}

static enum status measure(const struct measure_options *options, struct take **take)
{
    struct measure_rig rig;
    struct mask *filter = NULL;
    struct view *view;
    TRY(measure_open(options, NULL, &rig));
    enum status status =
        options->filter ? measure_load_filter(&rig, options->filter, &filter) : STATUS_OK;
    if (status == STATUS_OK)
        status = measure_screen_open(&options->play, &view);
    if (status == STATUS_OK) {
        rig.view = view;
        status = measure_take(&rig, filter, take);
        view_close(view);
    }
    mask_destroy(filter);
    enum status closed = measure_close(&rig);
    return status == STATUS_OK ? closed : status;
}

enum status measure_run(const struct measure_options *options)
{
    struct measure_result result;
    struct take *take = NULL;
    enum status status = measure_result_init(options, &result);
    if (status == STATUS_OK)
        status = options->take ? take_read(options->take, &take) : measure(options, &take);
    if (status == STATUS_OK)
        status = measure_write(options, take, &result);
    if (status == STATUS_OK)
        status = print_results(options, &result);
    take_destroy(take);
    measure_result_free(&result);
    return status;
}
