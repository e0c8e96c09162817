/* halo live between two devices null whose clocks differ, in simulated time. */
#include "live_rig.h"
#include "suite.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = LIVE_RIG_RATE, FRAMES = 40 * RATE, RAMP = 1 << 16, EDGE = 4096, PERIOD_OUT = 256 };

/* A ramp that tells its position. */
static void save_ramp(uint32_t rate)
{
    struct sound in = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate, 1, FRAMES);
    for (size_t i = 0; i < FRAMES; i++)
        in.block.data[0][i] = 0.5f * (float)(i % RAMP) / RAMP;
    sound_save(&in, "in.wav");
}

static json_t *run_live(const char *input, const char *output)
{
    struct command_result result = command_done(
        "\"$HALO\" live --json --meter-interval 60 --no-feedback-guard --force "
        "--input null:in=in.wav,pace=0,%s --output null:out=out.wav,pace=0,period=%d,%s "
        "--seconds 30 | tail -n 1",
        input, PERIOD_OUT, output);
    json_t *root = command_json(result.out);
    return root;
}

/* The frames that a clock has counted. */
static double clock_frames(double seconds, double rate, double ppm, double step, double to)
{
    double first = rate * (1 + 1e-6 * ppm), at = step > 0 ? step / first : INFINITY;
    return seconds < at ? seconds * first : step + (seconds - at) * rate * (1 + 1e-6 * to);
}

/* The delay is as reported in each period from 5 s on, to 32 frames. */
static void expect_delay(double rate, double ppm, double step, double to, double delay)
{
    struct sound out = sound_load("out.wav");
    double least = INFINITY, most = -INFINITY;
    ck_assert_uint_ge(out.block.frames, 30 * RATE);
    for (size_t m = 5 * RATE; m < 29 * RATE; m += PERIOD_OUT) {
        double expected = clock_frames((double)m / RATE, rate, ppm, step, to) - delay * rate / RATE;
        double within = fmod(expected, RAMP);
        if (within < EDGE || within > RAMP - EDGE)
            continue;
        double error = within - 2.0 * RAMP * (double)out.block.data[0][m];
        least = fmin(least, error);
        most = fmax(most, error);
    }
    printf("delay %+.2f to %+.2f frames beside %g\n", least, most, delay);
    ck_assert_double_ge(least, -32);
    ck_assert_double_le(most, 32);
}

START_TEST(clocks_that_differ_lose_nothing)
{
    static const struct {
        unsigned rate;
        double ppm, step, to;
        int period;
    } cases[] = {
        {48000, 2000, 0, 0, 64}, {48000, -2000, 600000, 0, 441}, {44100, 100, 600000, -300, 1024}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char input[128];
        command_clean();
        save_ramp(cases[i].rate);
        snprintf(input, sizeof input, "period=%d,drift=%g,step=%g,after=%g", cases[i].period,
                 cases[i].ppm, cases[i].step, cases[i].to);
        json_t *root = run_live(input, "drift=0"), *bridge = json_object_get(root, "bridge");
        double ppm = cases[i].step > 0 ? cases[i].to : cases[i].ppm;
        ck_assert_double_eq_tol(json_number_value(json_object_get(bridge, "ratio_ppm")), ppm, 5);
        ck_assert_double_eq(json_number_value(json_object_get(root, "lost")), 0);
        expect_delay(cases[i].rate, cases[i].ppm, cases[i].step, cases[i].to,
                     json_number_value(json_object_get(bridge, "latency")));
    }
}

/* A busy machine has others, too: steps that were slow. */
static size_t outages(const json_t *root, const char *cause)
{
    size_t i, count = 0;
    const json_t *outage;
    json_array_foreach(json_object_get(root, "ledger"), i, outage) count +=
        strcmp(json_string_value(json_object_get(outage, "cause")), cause) == 0;
    return count;
}

/* A device that loses sound: one gap, and the delay does not grow. */
START_TEST(an_xrun_is_one_gap)
{
    static const char *const xruns[][2] = {{"period=128,xrun=480000,drift=500", "drift=0"},
                                           {"period=128,drift=500", "xrun=480000"}};
    for (size_t i = 0; i < 2; i++) {
        command_clean();
        save_ramp(RATE);
        json_t *root = run_live(xruns[i][0], xruns[i][1]);
        const json_t *bridge = json_object_get(root, "bridge");
        ck_assert_double_eq(json_number_value(json_object_get(root, "lost")), 1);
        ck_assert_uint_eq(outages(root, "xrun"), 1);
        struct sound out = sound_load("out.wav");
        double expected = clock_frames(25, RATE, 500, 0, 0) -
                          json_number_value(json_object_get(bridge, "latency"));
        double error = fmod(expected, RAMP) - 2.0 * RAMP * (double)out.block.data[0][25 * RATE];
        ck_assert_double_le(fabs(error), 32);
    }
}

START_TEST(one_device_has_one_clock)
{
    struct command_result result = command_done(
        "\"$HALO\" live --json --input null:pace=0 --output null --seconds 1 | tail -n 1");
    json_t *root = command_json(result.out);
    ck_assert_ptr_null(json_object_get(root, "bridge"));
}

/* Without --reconnect: they are opened again, with another bridge. */
START_TEST(another_rate_of_one_clock_is_followed)
{
    save_ramp(RATE);
    struct command_result result = command_done(
        "\"$HALO\" live --json --no-feedback-guard --seconds 1.5 --input null:in=in.wav "
        "--output null:turn=48000,to=44100");
    command_expect(result.out, "one of the two devices has another rate now: they were opened "
                               "again");
    command_expect(result.out, "\"cause\":\"device_reopened\"");
    ck_assert_ptr_null(strstr(result.out, "device_lost"));
}
