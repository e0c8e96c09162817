/* Equalisers whose bands change while they sound: the sound is that of recursive sections before
 * and after the fade, and of both within it. */
#include "design/design.h"
#include "live/live_chain.h"
#include "live_rig.h"
#include "preset_rig.h"
#include "sanitizer.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATE = 48000, BLOCK = 64, FADE = 2400, MOST = 4 * RATE };
/* 100 ms; a sanitizer slows the step, which prepares a switch */
enum { SOON = SANITIZER_ADDRESS || SANITIZER_THREAD ? RATE : RATE / 10 };

static const struct choices_way way = {.frames = FADE};
static struct chain_options options;
static struct live_chain chain;
static float input[MOST], output[MOST];
static size_t frames;
static size_t begun[8], changes; /* frames where switches began */

static void begin(uint32_t rate, const char *const *specs)
{
    options = (struct chain_options)CHAIN_OPTIONS_DEFAULTS;
    options.threads = 1;
    frames = changes = 0;
    for (; *specs; specs++)
        ck_assert_int_eq(stage_list_add(&options.stages, stage_ops_named("mask"), *specs, NULL),
                         STATUS_OK);
    const struct live_chain_request request = {.options = &options,
                                               .format = {.rate = rate, .channels = 1},
                                               .block = BLOCK,
                                               .equalises = true,
                                               .live = true};
    ck_assert_int_eq(live_chain_init(&chain, &request), STATUS_OK);
}

static void end(void)
{
    live_chain_free(&chain);
    chain_options_free(&options);
}

static void run(size_t count)
{
    for (size_t last = frames + count; frames < last; frames += BLOCK) {
        for (size_t i = 0; i < chain.stages.count; i++) {
            const struct live_chain_done done = live_chain_advance(&chain, i, false);
            if (done.event == LIVE_CHAIN_SWITCHED || done.event == LIVE_CHAIN_EQUALISED)
                begun[changes++] = (size_t)done.at;
        }
        const float *in = input + frames;
        float *out = output + frames;
        filter_process(chain.filter, &in, &out);
    }
}

static void equalise(size_t stage, const char *text, double preamp)
{
    struct eq_bands bands;
    ck_assert_int_eq(design_bands(text, chain.request.format.rate, &bands), STATUS_OK);
    bands.preamp = preamp;
    ck_assert_int_eq(live_chain_equalise(&chain, stage, &bands, &way), STATUS_OK);
}

static void noise(void)
{
    struct block block = stream_noise(7, 1, MOST);
    memcpy(input, block.data[0], sizeof input);
}

/* A recursive filter on the sound. */
static void filter(double *sound, const struct eq_band *bands, size_t count, double preamp)
{
    for (size_t i = 0; i < count; i++) {
        struct biquad section =
            biquad_make(bands[i].kind, bands[i].hertz, bands[i].db, bands[i].q, RATE);
        biquad_filter(&section, sound, frames);
    }
    for (size_t i = 0; i < frames; i++)
        sound[i] *= pow(10, preamp / 20);
}

/* `to` becomes `from` before `at`, with a fade. */
static void fade(const double *from, double *to, size_t at)
{
    for (size_t i = 0; i < frames && i < at + FADE; i++) {
        double part = i < at ? 0 : (double)(i - at) / FADE;
        to[i] = (1 - part) * from[i] + part * to[i];
    }
}

static const char auto_eq[] = "Preamp: -6.2 dB\n"
                              "Filter 1: ON LSC Fc 105 Hz Gain 6.1 dB Q 0.70\n"
                              "Filter 2: OFF PK Fc 300 Hz Gain 9 dB Q 2\n"
                              "Filter 3: ON PK Fc 2000 Hz Gain -4 dB Q 1.41\n"
                              "Filter 4: ON HSC Fc 10000 Hz Gain -3 dB Q 0.71\n";
static const struct eq_band auto_bands[] = {
    {BIQUAD_LOW_SHELF, 105, 6.1, 0.70},
    {BIQUAD_PEAK, 2000, -4, 1.41},
    {BIQUAD_HIGH_SHELF, 10000, -3, 0.71},
};
enum { AUTO_BANDS = 3 };

/* Two changes during a fade: the last one counts. Then the first stage, which has the choices. */
START_TEST(bands_fade_exactly)
{
    static const struct eq_band a = {BIQUAD_PEAK, 500, 3, 1}, b = {BIQUAD_PEAK, 1000, -6, 1.4},
                                c = {BIQUAD_LOWPASS, 5000, 0, M_SQRT1_2};
    static const struct eq_band flat = {BIQUAD_PEAK, 1000, 0, 1};
    static double now[MOST], next[MOST], last[MOST];
    sound_text("auto.txt", auto_eq);
    char file[128];
    snprintf(file, sizeof file, "%s", command_path("auto.txt"));
    noise();
    begin(RATE, (const char *[]){file, "parametric:PK 500 3 1", NULL});
    const struct eq_bands *read = live_chain_bands(&chain, 0);
    ck_assert_uint_eq(read->count, AUTO_BANDS);
    ck_assert_double_eq(read->preamp, -6.2);
    for (size_t i = 0; i < AUTO_BANDS; i++)
        ck_assert(memcmp(&read->bands[i], &auto_bands[i], sizeof *auto_bands) == 0);
    uint64_t latency = chain.filter->latency;
    run(RATE / 2);
    equalise(1, "PK 1000 -6 1.4", -3);
    run(FADE / 2);
    equalise(1, "PK 40 20 1", 10);
    equalise(1, "LP 5000", 1.5);
    ck_assert_double_eq(live_chain_bands(&chain, 1)->preamp, 1.5);
    run(RATE);
    equalise(0, "", 0);
    run(RATE);
    ck_assert_uint_eq(changes, 3);
    ck_assert_uint_lt(begun[0], RATE / 2 + SOON);
    ck_assert_uint_lt(begun[1], begun[0] + FADE + SOON);
    ck_assert_uint_eq(chain.filter->latency, latency);
    for (size_t i = 0; i < frames; i++)
        now[i] = next[i] = (double)input[i];
    filter(now, auto_bands, AUTO_BANDS, -6.2);
    filter(next, &flat, 1, 0);
    fade(now, next, begun[2]);
    memcpy(now, next, sizeof now);
    memcpy(last, next, sizeof last);
    filter(now, &a, 1, 0);
    filter(next, &b, 1, -3);
    filter(last, &c, 1, 1.5);
    fade(now, next, begun[0]);
    fade(next, last, begun[1]);
    double peak = 0, error = 0;
    for (size_t i = 0; i < frames; i++) {
        peak = fmax(peak, fabs(last[i]));
        error = fmax(error, fabs(last[i] - (double)output[i]));
    }
    ck_assert_double_lt(error, 1e-5 * peak);
    end();
}

/* A band whose response is longer, at 192 kHz; a constant, and silence. */
START_TEST(a_long_response_is_limited)
{
    begin(192000, (const char *[]){"parametric:PK 1000 0", "parametric:PK 20 6 9", NULL});
    for (size_t i = 0; i < MOST; i++)
        input[i] = 0.25f;
    ck_assert_uint_gt(stage_describe(&chain.stages.stages[1]).taps, EQ_TAPS_MOST);
    equalise(0, "PK 20 6 9", -6);
    equalise(1, "PK 20 6 9; HS 9000 3", 0);
    run(MOST / 4);
    for (size_t i = 0; i < 2; i++)
        ck_assert_uint_eq(stage_describe(&chain.stages.stages[i]).taps, EQ_TAPS_MOST);
    ck_assert_ptr_nonnull(strstr(live_chain_text(&chain, 1, 0), ",taps=8192"));
    equalise(0, "", -6.5);
    equalise(1, "HS 9000 3", 0.5);
    run(MOST / 4);
    ck_assert_double_eq_tol((double)output[frames - 1], 0.25 * pow(10, -6.0 / 20), 1e-6);
    memset(input, 0, sizeof input);
    run(MOST / 4);
    equalise(1, "PK 100 20", 20);
    run(MOST / 8);
    ck_assert_float_eq(output[frames - 1], 0);
    ck_assert_uint_eq(changes, 5);
    end();
}

/* Masks that are more than a preamp and bands have none, and keep their sound. */
START_TEST(other_masks_have_no_bands)
{
    static const char *const files[] = {
        "Channel: L\n%s",         "Delay: 2 ms\n%s",
        "If: 1 == 1\n%sEndIf:\n", "GraphicEQ: 20 0; 2000 -3\n%s",
        "Preamp: `1 + 1` dB\n%s", "Filter: ON AP Fc 900 Hz Q 2\n%s",
        "Device: all\n%s",        "Filter: ON IIR Order 1 Coefficients 1 0.5 1 0\n%s",
    };
    static const char *const specs[] = {"parametric:PK 500 3,invert", "parametric:PK 50 3,taps=64",
                                        "parametric:PK 500 3,phase=linear",
                                        "parametric:PK 500 3,delay=9", "tilt:-3"};
    for (size_t i = 0; i < 13; i++) {
        char spec[128], text[1024];
        command_clean();
        snprintf(spec, sizeof spec, "%s", i < 8 ? command_path("m.txt") : specs[i - 8]);
        if (i < 8) {
            snprintf(text, sizeof text, files[i], auto_eq);
            sound_text("m.txt", text);
        }
        begin(RATE, (const char *[]){"parametric:PK 1000 0,gain=-2,@mix=0.5", spec, NULL});
        ck_assert_double_eq(live_chain_bands(&chain, 0)->preamp, -2);
        ck_assert_msg(!live_chain_bands(&chain, 1) && !live_chain_bands(&chain, 2), "%s", text);
        const struct eq_bands none = {.count = 0};
        ck_assert_int_ne(live_chain_equalise(&chain, 1, &none, &way), STATUS_OK);
        run(RATE / 4);
        ck_assert_uint_eq(changes, 0);
        end();
    }
}

static int send_command(unsigned port, const char *command)
{
    char line[1024];
    snprintf(line, sizeof line, "$HALO live --osc %u --send '%s' >%s 2>&1", port, command,
             command_path("sent"));
    return system(line);
}

/* By command and by keys: the preset has what is heard, and the recording replays. */
START_TEST(a_stream_is_equalised)
{
    preset_rig_begin();
    sound_text("auto.txt", auto_eq);
    pid_t process =
        live_rig_start(LIVE_RIG_DEVICE "--osc 0 --meter-interval 0.02 "
                                       "--record rec.wav --record-dry dry.wav --mask auto.txt --or "
                                       "--mask half.txt --mask 'parametric:PK 500 3 1',@mix=0.5");
    unsigned port = live_rig_osc_port();
    ck_assert_int_eq(send_command(port, "eq 2 \"PK 1000 6 1.4; LP 9000\" -3"), 0);
    ck_assert_int_eq(send_command(port, "eq 2 \"PK 1000 6; LP 9000\" -3"), 0);
    ck_assert_int_ne(send_command(port, "eq 2 \"PK 30000 6\" 0"), 0);
    ck_assert_int_ne(send_command(port, "eq 2 \"PK 300 6,invert\" 0"), 0);
    ck_assert_int_ne(send_command(port, "eq 3 \"\" 0"), 0);
    ck_assert_int_eq(send_command(port, "control 2 eq1.gain 7.5"), 0);
    live_rig_wait("[2 eq PK 1000 Hz +7.5 dB]");
    live_rig_keys("+");
    live_rig_wait("[2 eq PK 1000 Hz +8.5 dB]");
    live_rig_keys("cc"); /* to the frequency of the second band of all */
    live_rig_wait("[1 eq PK frequency 2000 Hz]");
    live_rig_keys("-");
    live_rig_wait("[1 eq PK frequency 1888 Hz]");
    live_rig_keys("2");
    live_rig_wait("  2 half.txt");
    ck_assert_int_ne(send_command(port, "eq 1 \"\" 0"), 0);
    live_rig_keys("1smine\n");
    live_rig_wait("saved as preset mine");
    live_rig_play(200);
    live_rig_end_well(process);
    const char *saved = preset_rig_text("mine");
    command_expect(saved, "- mask: parametric:LS 105 6.1 0.7; PK 1888 -4 1.41; HS 10000 -3 0.71\n");
    command_expect(saved, "- mask: parametric:PK 1000 8.5; LP 9000\n");
    command_expect(saved, "- gain=-6.2\n");
    live_rig_expect_replay();
}
