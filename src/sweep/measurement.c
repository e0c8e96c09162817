#include "sweep/measurement.h"

#include "base/json_text.h"
#include "base/plural.h"
#include "base/printable.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MIDDLE = 17,         /* number of the third at 1000 Hz */
    TEXT_MOST = 1 << 24, /* bytes; measurement_text writes less for the most paths */
    DIGITS = 12,
    REPEATS_MOST = 1000000,
};

static const double number_most = 1e9, db_most = 1000;

double measured_hz(size_t third)
{
    return 1000 * pow(10, ((double)third - MIDDLE) / 10);
}

double measured_thd(const struct measured_path *path, size_t third)
{
    double power = 0;
    for (size_t n = 0; n < MEASURED_ORDERS; n++)
        if (!isnan(path->distortion[n][third]))
            power += pow(10, path->distortion[n][third] / 10);
    return power > 0 ? 10 * log10(power) : NAN;
}

static void set_unknown(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = NAN;
}

enum status measurement_create(size_t paths, struct measurement **measurement)
{
    struct measurement *made = calloc(1, sizeof *made);
    struct measured_path *all = calloc(paths ? paths : 1, sizeof *all);
    if (!made || !all) {
        free(all);
        free(made);
        return fail_memory("a measurement");
    }
    *made = (struct measurement){.from = NAN,
                                 .to = NAN,
                                 .seconds = NAN,
                                 .level = NAN,
                                 .drift = NAN,
                                 .full_scale = NAN,
                                 .path_count = paths,
                                 .paths = all};
    for (struct measured_path *path = all; path < all + paths; path++) {
        path->delay = path->snr_all = NAN;
        set_unknown(path->level, MEASURED_THIRDS);
        set_unknown(path->snr, MEASURED_THIRDS);
        set_unknown(path->distortion[0], MEASURED_ORDERS * MEASURED_THIRDS);
    }
    *measurement = made;
    return STATUS_OK;
}

void measurement_destroy(struct measurement *measurement)
{
    if (!measurement)
        return;
    free(measurement->paths);
    free(measurement);
}

/* ---- writing ---- */

/* A level with two digits after the point. */
static json_t *decibels(double level)
{
    return json_finite(round(level * 100) / 100);
}

static json_t *all_decibels(const double levels[MEASURED_THIRDS])
{
    json_t *array = json_array();
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        json_array_append_new(array, decibels(levels[t]));
    return array;
}

static void add_thd(json_t *object, const struct measured_path *path)
{
    double levels[MEASURED_THIRDS];
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        levels[t] = measured_thd(path, t);
    json_object_set_new(object, "thd", all_decibels(levels));
}

static json_t *path_object(const struct measured_path *path)
{
    json_t *object = json_object(), *harmonics = json_array();
    json_object_set_new(object, "output", json_integer((json_int_t)path->output));
    json_object_set_new(object, "input", json_integer((json_int_t)path->input));
    json_object_set_new(object, "delay", json_finite(path->delay));
    json_object_set_new(object, "snr_all", decibels(path->snr_all));
    json_object_set_new(object, "level", all_decibels(path->level));
    json_object_set_new(object, "snr", all_decibels(path->snr));
    for (size_t n = 0; n < MEASURED_ORDERS; n++)
        json_array_append_new(harmonics, all_decibels(path->distortion[n]));
    json_object_set_new(object, "harmonics", harmonics);
    return object;
}

static json_t *whole_object(const struct measurement *measurement, bool is_for_people)
{
    json_t *object = json_object(), *paths = json_array(), *middles = json_array();
    json_object_set_new(object, "date", json_text(measurement->date));
    json_object_set_new(object, "from", json_finite(measurement->from));
    json_object_set_new(object, "to", json_finite(measurement->to));
    json_object_set_new(object, "seconds", json_finite(measurement->seconds));
    json_object_set_new(object, "level", decibels(measurement->level));
    json_object_set_new(object, "repeats", json_integer((json_int_t)measurement->repeats));
    json_object_set_new(object, "rate", json_integer(measurement->rate));
    json_object_set_new(object, "timing", json_text(measurement->timing));
    json_object_set_new(object, "drift", json_finite(measurement->drift));
    json_object_set_new(object, "full_scale", decibels(measurement->full_scale));
    json_object_set_new(object, "calibration", json_text(measurement->calibration));
    for (size_t t = 0; t < MEASURED_THIRDS && is_for_people; t++)
        json_array_append_new(middles, json_real(round(measured_hz(t) * 100) / 100));
    if (is_for_people)
        json_object_set(object, "hz", middles);
    json_decref(middles);
    for (size_t p = 0; p < measurement->path_count; p++) {
        json_t *path = path_object(&measurement->paths[p]);
        if (is_for_people)
            add_thd(path, &measurement->paths[p]);
        json_array_append_new(paths, path);
    }
    json_object_set_new(object, "paths", paths);
    return object;
}

json_t *measurement_object(const struct measurement *measurement)
{
    return whole_object(measurement, true);
}

static double worst_snr(const struct measurement *measurement)
{
    double worst = NAN;
    for (size_t p = 0; p < measurement->path_count; p++)
        worst = fmin(worst, measurement->paths[p].snr_all); /* fmin() skips NAN */
    return worst;
}

void measurement_describe(const struct measurement *measurement, char line[MEASURED_LINE])
{
    char level[32] = "", repeats[48] = "", snr[32] = "";
    if (measurement->path_count == 0) {
        snprintf(line, MEASURED_LINE, "halo sweep: %g-%g Hz, %.4g s, %u Hz", measurement->from,
                 measurement->to, measurement->seconds, measurement->rate);
        return;
    }
    if (!isnan(measurement->level))
        snprintf(level, sizeof level, ", %.3g dB", measurement->level);
    if (measurement->repeats > 0)
        snprintf(repeats, sizeof repeats, ", %zu repeat%s", measurement->repeats,
                 plural_s(measurement->repeats));
    if (!isnan(worst_snr(measurement)))
        snprintf(snr, sizeof snr, ", SNR %.0f dB", worst_snr(measurement));
    snprintf(line, MEASURED_LINE, "halo measure%s%s: sweep %g-%g Hz, %.3g s%s%s%s",
             *measurement->date ? " " : "", measurement->date, measurement->from, measurement->to,
             measurement->seconds, level, repeats, snr);
}

char *measurement_text(const struct measurement *measurement)
{
    char line[MEASURED_LINE], *text = NULL;
    char *json = json_line(whole_object(measurement, false),
                           JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
    measurement_describe(measurement, line);
    if (json && asprintf(&text, "%s\n%s", line, json) < 0)
        text = NULL;
    free(json);
    return text;
}

/* ---- reading ---- */

/* A number from `least` to `most`, or null. */
static bool take(const json_t *object, const char *key, double least, double most, double *value)
{
    const json_t *given = json_object_get(object, key);
    *value = json_is_null(given) ? NAN : json_number_value(given);
    return json_is_null(given) || (json_is_number(given) && *value >= least && *value <= most);
}

static bool take_count(const json_t *object, const char *key, size_t most, size_t *count)
{
    const json_t *given = json_object_get(object, key);
    json_int_t value = json_integer_value(given);
    *count = (size_t)value;
    return json_is_integer(given) && value >= 0 && (size_t)value <= most;
}

static bool take_text(const json_t *object, const char *key, char *text, size_t size)
{
    const char *given = json_string_value(json_object_get(object, key));
    if (given)
        printable_copy(text, size, given);
    return given;
}

static bool take_levels(const json_t *array, double levels[MEASURED_THIRDS])
{
    bool right = json_array_size(array) == MEASURED_THIRDS;
    for (size_t t = 0; t < MEASURED_THIRDS && right; t++) {
        const json_t *level = json_array_get(array, t);
        levels[t] = json_is_null(level) ? NAN : json_number_value(level);
        right = json_is_null(level) || (json_is_number(level) && fabs(levels[t]) <= db_most);
    }
    return right;
}

static bool take_path(const json_t *object, struct measured_path *path)
{
    const json_t *harmonics = json_object_get(object, "harmonics");
    bool right = take_count(object, "output", MEASURED_PATHS_MOST, &path->output) &&
                 take_count(object, "input", MEASURED_PATHS_MOST, &path->input) &&
                 take(object, "delay", -number_most, number_most, &path->delay) &&
                 take(object, "snr_all", -db_most, db_most, &path->snr_all) &&
                 take_levels(json_object_get(object, "level"), path->level) &&
                 take_levels(json_object_get(object, "snr"), path->snr) &&
                 json_array_size(harmonics) == MEASURED_ORDERS;
    for (size_t n = 0; n < MEASURED_ORDERS && right; n++)
        right = take_levels(json_array_get(harmonics, n), path->distortion[n]);
    return right;
}

static bool take_all(const json_t *root, struct measurement *to)
{
    const json_t *paths = json_object_get(root, "paths");
    size_t rate = 0;
    bool right = take_text(root, "date", to->date, sizeof to->date) &&
                 take(root, "from", 0, number_most, &to->from) &&
                 take(root, "to", 0, number_most, &to->to) &&
                 take(root, "seconds", 0, number_most, &to->seconds) &&
                 take(root, "level", -db_most, db_most, &to->level) &&
                 take_count(root, "repeats", REPEATS_MOST, &to->repeats) &&
                 take_count(root, "rate", UINT32_MAX, &rate) &&
                 take_text(root, "timing", to->timing, sizeof to->timing) &&
                 take(root, "drift", -number_most, number_most, &to->drift) &&
                 take(root, "full_scale", -db_most, db_most, &to->full_scale) &&
                 take_text(root, "calibration", to->calibration, sizeof to->calibration);
    to->rate = (uint32_t)rate;
    for (size_t p = 0; p < to->path_count && right; p++)
        right = take_path(json_array_get(paths, p), &to->paths[p]);
    return right;
}

/* The second line of a text of measurement_text, or NULL. */
static const char *find_json(const char *text)
{
    const char *line_end = text ? strchr(text, '\n') : NULL;
    return measurement_is_text(text) && line_end && strlen(line_end) < TEXT_MOST ? line_end + 1
                                                                                 : NULL;
}

bool measurement_is_text(const char *text)
{
    static const char measured[] = "halo measure", sweep[] = "halo sweep";
    return text && (strncmp(text, measured, sizeof measured - 1) == 0 ||
                    strncmp(text, sweep, sizeof sweep - 1) == 0);
}

enum status measurement_parse(const char *text, struct measurement **measurement)
{
    const char *json = find_json(text);
    json_error_t error;
    *measurement = NULL;
    if (!json)
        return STATUS_OK;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &error); /* bounds the depth */
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return fail_memory("a measurement");
    const json_t *paths = json_object_get(root, "paths");
    size_t count = json_array_size(paths);
    enum status status = STATUS_OK;
    if (json_is_array(paths) && count <= MEASURED_PATHS_MOST)
        status = measurement_create(count, measurement);
    if (*measurement && !take_all(root, *measurement)) {
        measurement_destroy(*measurement);
        *measurement = NULL;
    }
    json_decref(root);
    return status;
}
