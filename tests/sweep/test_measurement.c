/* The comment of a measurement: what is written is read, and foreign text is nothing. */
#include "sweep/measurement.h"

#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct measurement *make(size_t paths)
{
    struct measurement *made;
    ck_assert_int_eq(measurement_create(paths, &made), STATUS_OK);
    strcpy(made->date, "2026-11-29T14:00:00Z");
    strcpy(made->timing, "loopback");
    strcpy(made->calibration, "mic \"a\".txt");
    made->from = 20;
    made->to = 22000;
    made->seconds = 8.031;
    made->level = -12;
    made->repeats = 2;
    made->rate = 48000;
    made->drift = -3.125;
    for (size_t p = 0; p < paths; p++) {
        struct measured_path *path = &made->paths[p];
        path->output = p + 1;
        path->input = 2;
        path->delay = 0.010020833333;
        path->snr_all = 61.4 + (double)p;
        for (size_t t = 2; t < MEASURED_THIRDS; t++) {
            path->level[t] = -(double)t - 0.25;
            path->snr[t] = 40.5 + (double)t;
            path->distortion[0][t] = -40;
            path->distortion[3][t] = -60;
        }
    }
    return made;
}

static struct measurement *parse(const char *text)
{
    struct measurement *parsed;
    ck_assert_int_eq(measurement_parse(text, &parsed), STATUS_OK);
    return parsed;
}

static char *text_of(const struct measurement *measurement)
{
    char *text = measurement_text(measurement);
    ck_assert_ptr_nonnull(text);
    return text;
}

START_TEST(what_is_written_is_read)
{
    struct measurement *made = make(3);
    char *text = text_of(made);
    const char *line = "halo measure 2026-11-29T14:00:00Z: sweep 20-22000 Hz, 8.03 s, -12 dB, "
                       "2 repeats, SNR 61 dB\n{";
    ck_assert_msg(strncmp(text, line, strlen(line)) == 0, "%s", text);
    ck_assert_ptr_null(strchr(strchr(text, '\n') + 1, '\n'));
    struct measurement *read = parse(text);
    ck_assert_ptr_nonnull(read);
    ck_assert_str_eq(read->date, made->date);
    ck_assert_str_eq(read->timing, "loopback");
    ck_assert_str_eq(read->calibration, "mic \"a\".txt");
    ck_assert(read->from == 20 && read->to == 22000 && read->seconds == 8.031);
    ck_assert(read->level == -12 && read->repeats == 2 && read->rate == 48000);
    ck_assert(read->drift == -3.125 && isnan(read->full_scale));
    ck_assert_uint_eq(read->path_count, 3);
    const struct measured_path *last = &read->paths[2];
    ck_assert(last->output == 3 && last->input == 2 && last->delay == 0.010020833333);
    ck_assert(last->snr_all == 63.4 && isnan(last->level[1]) && last->level[30] == -30.25);
    ck_assert(last->snr[2] == 42.5 && last->distortion[3][2] == -60);
    ck_assert(isnan(last->distortion[1][5]));
    char *again = text_of(read);
    ck_assert_str_eq(again, text);
    free(again);
    free(text);
    measurement_destroy(read);
    measurement_destroy(made);
}

START_TEST(a_sweep_has_no_paths)
{
    struct measurement *made = make(0);
    char *text = text_of(made);
    ck_assert_msg(strncmp(text, "halo sweep: 20-22000 Hz, 8.031 s, 48000 Hz\n", 43) == 0, "%s",
                  text);
    struct measurement *read = parse(text);
    ck_assert(read && read->path_count == 0 && read->to == 22000);
    free(text);
    measurement_destroy(read);
    measurement_destroy(made);
}

START_TEST(numbers_are_right)
{
    struct measurement *made = make(1);
    ck_assert_double_eq_tol(measured_hz(17), 1000, 1e-9);
    ck_assert_double_eq_tol(measured_hz(0), 19.9526, 1e-3);
    ck_assert_double_eq_tol(measured_hz(27), 10000, 1e-6);
    /* 1 % and 0.1 %, added by power: 1.00499 % */
    ck_assert_double_eq_tol(measured_thd(made->paths, 5), -39.9568, 1e-3);
    ck_assert(isnan(measured_thd(made->paths, 0)));
    json_t *object = measurement_object(made);
    const json_t *path = json_array_get(json_object_get(object, "paths"), 0);
    ck_assert_double_eq(json_real_value(json_array_get(json_object_get(path, "thd"), 5)), -39.96);
    ck_assert(json_is_null(json_array_get(json_object_get(path, "level"), 0)));
    ck_assert_uint_eq(json_array_size(json_object_get(object, "hz")), MEASURED_THIRDS);
    json_decref(object);
    measurement_destroy(made);
}

/* Every text that ends too early, or has a byte that is another, is nothing or a measurement. */
START_TEST(damaged_text_is_nothing)
{
    struct measurement *made = make(1);
    char *text = text_of(made);
    size_t length = strlen(text);
    for (size_t cut = 0; cut < length; cut++) {
        char *part = strndup(text, cut);
        ck_assert_ptr_null(parse(part));
        free(part);
    }
    for (size_t at = 0; at < length; at++) {
        char was = text[at];
        text[at] = "\"{[0x\n\xff"[at % 7];
        measurement_destroy(parse(text));
        text[at] = was;
    }
    free(text);
    measurement_destroy(made);
}

static void refuse(const char *from, const char *to)
{
    struct measurement *made = make(1);
    char *text = text_of(made), *at = strstr(text, from), *changed;
    ck_assert_msg(at != NULL, "%s is not in %s", from, text);
    ck_assert_int_ge(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from)),
                     0);
    ck_assert_ptr_null(parse(changed));
    free(changed);
    free(text);
    measurement_destroy(made);
}

START_TEST(hostile_text_is_nothing)
{
    refuse("\n", "");
    refuse("halo m", "hello m");
    refuse("\"rate\":48000", "\"rate\":-1");
    refuse("\"rate\":48000", "\"rate\":48000.5");
    refuse("\"rate\":48000", "\"rate\":99999999999");
    refuse("\"repeats\":2", "\"repeats\":2,\"repeats\":3");
    refuse("\"seconds\":8.031", "\"seconds\":\"8\"");
    refuse("\"from\":20.0", "\"from\":-20.0");
    refuse("\"level\":-12.0", "\"level\":-1e9");
    refuse("\"level\":[null,", "\"level\":[");
    refuse("\"level\":[null,", "\"level\":[0,null,");
    refuse("\"level\":[null,", "\"level\":[{},");
    refuse("\"snr_all\":61.4", "\"snr_all\":1e9");
    refuse("\"harmonics\":[", "\"harmonics\":[[],");
    refuse("\"paths\":[", "\"paths\":[7,");
    refuse("\"date\":\"2026-11-29T14:00:00Z\"", "\"date\":7");
    ck_assert_ptr_null(parse(NULL));
    ck_assert_ptr_null(parse("a song"));
    ck_assert_ptr_null(parse("halo measure\n"));
    ck_assert_ptr_null(parse("halo measure\n[]"));
    ck_assert_ptr_null(parse("halo measure\n{\"paths\":{}}"));
}

START_TEST(size_and_depth_are_bounded)
{
    size_t size = 1 << 20;
    char *text = malloc(size + 1);
    const char *line = "halo measure\n{\"paths\":";
    memset(text, '[', size);
    memcpy(text, line, strlen(line));
    text[size] = '\0';
    ck_assert_ptr_null(parse(text));
    free(text);
    char *many = NULL;
    FILE *stream = open_memstream(&many, &size);
    fputs(line, stream);
    for (size_t p = 0; p < MEASURED_PATHS_MOST + 2; p++)
        fputs(p ? ",{}" : "[{}", stream);
    fputs("]}", stream);
    fclose(stream);
    ck_assert_ptr_null(parse(many));
    free(many);
}
