/* Responses of a live chain (responses.h), against the known taps of its masks. */
#include "command.h"
#include "live/web/responses.h"
#include "plugin_rig.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <math.h>
#include <unistd.h>

enum { RATE = 48000, BLOCK = 64, TAPS = 48 };

static const char AMP[] = "http://lv2plug.in/plugins/eg-amp";

static struct play_options options;
static struct stream_session stream;
static struct responses *responses;
static double taps[TAPS];

static void add(const char *kind, const char *spec)
{
    ck_assert_int_eq(stage_list_add(&options.chain.stages, stage_ops_named(kind), spec, NULL),
                     STATUS_OK);
}

/* A text mask of noise, noise.txt; and an echo after 1,000 frames, echo.txt. */
static void begin(void)
{
    char text[TAPS * 32] = "";
    command_clean();
    ck_assert_int_eq(chdir(command_folder()), 0);
    truth_noise_taps(1, taps, TAPS);
    for (size_t i = 0; i < TAPS; i++)
        snprintf(text + strlen(text), 32, "%.17g\n", taps[i]);
    sound_text("noise.txt", text);
    memset(text, 0, sizeof text);
    char echo[2 * 1000 + 8] = "";
    for (size_t i = 0; i < 1000; i++)
        strcat(echo, "0\n");
    sound_text("echo.txt", strcat(echo, "0.5\n"));
    options = (struct play_options)PLAY_OPTIONS_DEFAULTS;
    options.chain.settings.convolver.backend = "cpu";
}

/* Plays `channels` channels. `other`: second choice of the stage `choosing`, or NULL. */
static void run(size_t channels, size_t choosing, const char *other)
{
    const struct live_chain_request request = {.options = &options.chain,
                                               .stage = choosing,
                                               .others = &other,
                                               .other_count = other != NULL,
                                               .format = {.rate = RATE, .channels = channels},
                                               .block = BLOCK,
                                               .live = true};
    stream = (struct stream_session){.options = &options};
    ck_assert_int_eq(live_chain_init(&stream.chain, &request), STATUS_OK);
    const struct live_settings how = {
        .rate = RATE, .ceiling = 1, .gain = 0.1, .stages = &stream.chain.stages};
    ck_assert_int_eq(live_create(&how, stream.chain.filter, NULL, NULL, &stream.live), STATUS_OK);
    ck_assert_int_eq(live_controls_init(&stream.controls, &stream.chain.stages, stream.live),
                     STATUS_OK);
    ck_assert_int_eq(responses_create(2, &responses), STATUS_OK);
}

static void end(void)
{
    responses_destroy(responses);
    live_controls_free(&stream.controls);
    live_destroy(stream.live);
    live_chain_free(&stream.chain);
    chain_options_free(&options.chain);
}

static enum status ask(json_int_t id, bool mask, size_t choice, size_t output)
{
    const struct response_request request = {
        .client = 1, .id = id, .mask = mask, .choice = choice, .input = 1, .output = output};
    return responses_ask(responses, &stream, &request);
}

static struct response_answer wait(uint64_t version)
{
    struct response_answer answer;
    while (!responses_take(responses, &stream, version, &answer))
        usleep(1000);
    return answer;
}

static json_t *parse(const struct response_answer *answer)
{
    ck_assert_msg(answer->text, "%s", answer->reason);
    ck_assert_uint_lt(strlen(answer->text), 60000);
    json_t *curves = command_json(answer->text);
    free(answer->text);
    return curves;
}

static json_t *measure(bool mask, size_t choice, size_t output)
{
    static json_int_t id;
    ck_assert_int_eq(ask(++id, mask, choice, output), STATUS_OK);
    const struct response_answer answer = wait((uint64_t)id);
    ck_assert_int_eq(answer.id, id);
    ck_assert_uint_eq(answer.client, 1);
    return parse(&answer);
}

static double delay_of(const json_t *curves)
{
    return json_real_value(json_object_get(curves, "delay")) * RATE;
}

/* All values of a curve are near value(x); nulls too, if `silent`. */
static void expect(json_t *curves, const char *name, double (*value)(double x), double error)
{
    json_t *x = json_object_get(json_object_get(curves, name), "x");
    json_t *y = json_object_get(json_object_get(curves, name), "y");
    ck_assert_uint_gt(json_array_size(x), 100);
    ck_assert_uint_le(json_array_size(x), 600);
    ck_assert_uint_eq(json_array_size(x), json_array_size(y));
    for (size_t i = 0; i < json_array_size(x); i++) {
        double at = json_number_value(json_array_get(x, i)),
               is = json_number_value(json_array_get(y, i));
        ck_assert_msg(value ? fabs(is - value(at)) < error : json_is_null(json_array_get(y, i)),
                      "%s at %g: %g", name, at, is);
    }
}

static double factor; /* dB that the following add */

static double flat(double hz)
{
    (void)hz;
    return factor;
}

static double noise_db(double hz)
{
    double re = 0, im = 0;
    for (size_t i = 0; i < TAPS; i++) {
        re += taps[i] * cos(2 * M_PI * hz * (double)i / RATE);
        im += taps[i] * sin(2 * M_PI * hz * (double)i / RATE);
    }
    return 10 * log10(re * re + im * im) + factor;
}

static double echo_ms(double hz)
{
    (void)hz;
    return 1000.0 / 48;
}

START_TEST(masks_gains_and_delays_measure_as_they_are)
{
    begin();
    add("mask", "noise.txt");
    add("gain", "-6");
    add("mask", "echo.txt");
    run(2, 0, NULL);
    factor = -6 + 20 * log10(0.5);
    json_t *curves = measure(false, 1, 1);
    expect(curves, "magnitude", noise_db, 0.01);
    curves = measure(false, 1, 2); /* no path leads there */
    expect(curves, "magnitude", NULL, 0);
    factor = 0;
    curves = measure(true, 1, 1); /* the mask alone */
    expect(curves, "magnitude", noise_db, 0.01);
    end();
    begin();
    add("mask", "echo.txt");
    run(1, 0, NULL);
    factor = 20 * log10(0.5);
    curves = measure(false, 1, 1);
    ck_assert_double_eq_tol(delay_of(curves), 1000, 1e-3);
    expect(curves, "magnitude", flat, 0.01);
    expect(curves, "group_delay", echo_ms, 1e-3);
    factor = 0;
    expect(curves, "phase", flat, 0.1);
    json_t *impulse = json_object_get(curves, "impulse");
    for (size_t i = 0; i < json_array_size(json_object_get(impulse, "x")); i++) {
        double at = json_number_value(json_array_get(json_object_get(impulse, "x"), i)) * RATE;
        ck_assert_double_eq_tol(json_number_value(json_array_get(json_object_get(impulse, "y"), i)),
                                fabs(at - 1000) < 0.01 ? 0.5 : 0, 1e-6);
    }
    end();
}

/* Masks with different time zeros have a common one, in the stream as in its copy. */
START_TEST(choices_that_are_not_heard_measure_as_if_they_were)
{
    begin();
    add("mask", "lowpass:1000,taps=255");
    add("gain", "-3");
    run(1, 0, "noise.txt,gain=-2");
    json_t *curves = measure(false, 1, 1);
    ck_assert_double_eq_tol(delay_of(curves), 127, 1e-3);
    factor = -5;
    curves = measure(false, 2, 1);
    expect(curves, "magnitude", noise_db, 0.01);
    size_t peak = 0;
    for (size_t i = 0; i < TAPS; i++)
        peak = fabs(taps[i]) > fabs(taps[peak]) ? i : peak;
    ck_assert_double_eq_tol(delay_of(curves), (double)(127 + peak), 1e-3);
    factor = -3;
    curves = measure(false, 0, 1); /* dry: the gain remains */
    expect(curves, "magnitude", flat, 0.01);
    ck_assert_double_eq_tol(delay_of(curves), 127, 1e-3);
    ck_assert_int_ne(ask(1, false, 3, 1), STATUS_OK);
    ck_assert_int_ne(ask(1, false, 1, 2), STATUS_OK);
    end();
}

START_TEST(changed_controls_of_plugins_count)
{
    begin();
    struct plugin_info *info = plugin_rig_describe("lv2", AMP);
    if (!info)
        return;
    plugin_info_destroy(info);
    add("lv2", AMP);
    run(1, SIZE_MAX, NULL);
    ck_assert_int_ne(ask(1, true, 1, 1), STATUS_OK); /* there is no mask */
    factor = 0;
    json_t *curves = measure(false, 1, 1);
    expect(curves, "magnitude", flat, 0.01);
    ck_assert_int_eq(live_controls_set(&stream.controls, 1, "gain", "-8"), STATUS_OK);
    factor = -8;
    curves = measure(false, 1, 1);
    expect(curves, "magnitude", flat, 0.01);
    end();
}

START_TEST(the_newest_request_counts_and_results_are_kept)
{
    begin();
    add("mask", "noise.txt");
    run(1, 0, NULL);
    ck_assert_int_eq(ask(1, false, 0, 1), STATUS_OK);
    ck_assert_int_eq(ask(2, false, 1, 1), STATUS_OK);
    struct response_answer answer = wait(5);
    ck_assert_int_eq(answer.id, 2);
    factor = 0;
    json_t *curves = parse(&answer);
    expect(curves, "magnitude", noise_db, 0.01);
    ck_assert_int_eq(unlink("noise.txt"), 0);
    ck_assert_int_eq(ask(3, false, 1, 1), STATUS_OK);
    ck_assert(responses_take(responses, &stream, 5, &answer)); /* at once: it is kept */
    ck_assert_int_eq(answer.id, 3);
    (void)parse(&answer);
    ck_assert_int_eq(ask(4, false, 1, 1), STATUS_OK);
    answer = wait(6); /* another version: it is measured, and the file is missing */
    ck_assert_ptr_null(answer.text);
    ck_assert_ptr_nonnull(strstr(answer.reason, "noise.txt"));
    ck_assert_int_eq(ask(5, false, 0, 1), STATUS_OK);
    responses_forget(responses, 1);
    ck_assert(!responses_take(responses, &stream, 6, &answer));
    ck_assert_int_eq(ask(6, false, 0, 1), STATUS_OK);
    ck_assert(!responses_take(responses, &stream, 6, &answer));
    end(); /* while it is measured */
}

int main(void)
{
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
