/* halo correct with files of responses: the mask, the preset, the prediction, and refusals. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"
#include "thirds.h"

#include <math.h>
#include <stdio.h>

enum { RATE = 48000 };

/* Two loudspeakers of 80 Hz to 12 kHz, as one microphone hears them. */
static void make_room(const char *name, int seed, int rate)
{
    command_done("\"$HALO\" mask make -f -o '%s' 'combine:room:rt60=0.2,seed=%d*"
                 "bandpass:80-%d,phase=minimum,rate=%d'",
                 name, seed, rate < 40000 ? rate / 4 : 12000, rate);
}

static void begin(void)
{
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    make_room("a.wav", 1, RATE);
    make_room("b.wav", 2, RATE);
}

static const char *presets(void)
{
    return command_run("ls config/halo/presets").out;
}

/* ---- the mask and the preset ---- */

START_TEST(the_mask_is_that_of_convert)
{
    static const char *const options[] = {
        "boost=6",
        "target=house,phase=mixed,boost=12",
        "phase=linear,from=100,to=5000,weights=2:1,align=no",
        "target=a\\,b.txt,smooth=6,taps=9000,cut=3",
        "excess=200,phase=linear,phase=mixed,target=tilt:-0.8",
    };
    begin();
    sound_text("a,b.txt", "20 3\n200 0\n10000 -2\n");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        /* The later one of two options counts. */
        const char *usual = i == 4 ? "excess=200,phase=mixed,target=tilt:-0.8" : options[i];
        command_done("\"$HALO\" correct room -f --measured a.wav --measured b.wav --with '%s'",
                     options[i]);
        command_done("\"$HALO\" mask convert -f 'correct:a.wav*b.wav,%s' converted.wav", usual);
        struct sound made = sound_load("room-correction.wav"), truth = sound_load("converted.wav");
        ck_assert_uint_eq(made.rate, RATE);
        sound_expect_same(&made, &truth);
    }
    ck_assert_str_eq(presets(), "room\n");
    command_done(
        "mkdir sub; cp a.wav 'sub/c:\\,d.wav'; "
        "\"$HALO\" correct sub/den --measured 'sub/c:\\,d.wav' --measured b.wav --with %s; "
        "cmp sub/den-correction.wav room-correction.wav",
        options[4]);
    ck_assert_str_eq(presets(), "den\nroom\n");
}

/* The preset is the mask, and a gain that leaves the headroom which halo mask show tells. */
START_TEST(presets_play_the_mask)
{
    static const char *const names[] = {"room",  "a,b",    "two words", "x\"y",
                                        "Küche", "1;g=20", "c:\\,d"};
    begin();
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, RATE);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = names[i];
        command_done("\"$HALO\" correct '%s' --measured a.wav", name);
        command_done("cp '%s-correction.wav' plain.wav", name);
        json_t *shown = command_json(command_done("\"$HALO\" mask show --json plain.wav").out);
        shown = json_array_get(json_object_get(shown, "masks"), 0);
        double headroom = 0, gain;
        size_t number;
        json_t *output;
        json_array_foreach(json_object_get(shown, "outputs"), number, output) headroom =
            fmax(headroom, command_json_number(output, "headroom_db"));
        ck_assert_double_gt(headroom, 1);
        gain = -ceil(10 * headroom) / 10;
        command_done("\"$HALO\" render in.wav truth.wav -fq --mask plain.wav,gain=%.1f", gain);
        command_done("cd / && \"$HALO\" render \"$OLDPWD\"/in.wav \"$OLDPWD\"/out.wav -fq --chain "
                     "\"$OLDPWD\"/config/halo/presets/'%s'",
                     name);
        struct sound out = sound_load("out.wav"), truth = sound_load("truth.wav");
        sound_expect_same(&out, &truth);
        command_done("\"$HALO\" live --plain -q --device null:pace=0 --channels 2 --rate 48000 "
                     "--seconds 0.1 --preset '%s'",
                     name);
    }
    ck_assert_uint_eq(command_lines(presets()), sizeof names / sizeof *names);
}

/* ---- the prediction ---- */

static void expect_thirds(const json_t *speaker, const char *curve, const double *truth,
                          double shift, size_t end)
{
    const double least = -60; /* dB: what is quieter is left of rounding */
    json_t *told = json_object_get(speaker, curve);
    ck_assert_uint_eq(json_array_size(told), THIRDS);
    for (size_t t = 0; t < end; t++) {
        double db = json_real_value(json_array_get(told, t));
        ck_assert_msg(fmax(db, truth[t] + shift) < least || fabs(db - truth[t] - shift) < 0.2,
                      "%s, third %zu: %g dB, not %g", curve, t, db, truth[t] + shift);
    }
}

/* Deviation from a flat target: RMS around the mean. */
static double deviation(const double *thirds, size_t first, size_t end)
{
    double sum = 0, mean = thirds_mean(thirds, first, end);
    for (size_t t = first; t < end; t++)
        sum += pow(thirds[t] - mean, 2);
    return sqrt(sum / (double)(end - first));
}

static size_t third_of(const json_t *speaker, const char *key)
{
    return (size_t)lround(17 + 10 * log10(command_json_number(speaker, key) / 1000));
}

/* Compares what is told of each loudspeaker with files of the correction's rate. */
static void expect_prediction(const char *answer, const char *const *files, size_t count)
{
    json_t *root = command_json(answer), *speakers = json_object_get(root, "loudspeakers");
    struct mask *correction = mask_loaded("room-correction.wav", NULL);
    ck_assert_str_eq(command_json_string(root, "mask"), "room-correction.wav");
    ck_assert_str_eq(command_json_string(root, "preset"), "room");
    ck_assert_uint_eq(json_array_size(speakers), correction->columns);
    for (size_t s = 0; s < correction->columns; s++) {
        const json_t *speaker = json_array_get(speakers, s);
        double measured[THIRDS] = {0}, predicted[THIRDS] = {0}, corrects[THIRDS] = {0};
        size_t first = third_of(speaker, "from"), end = third_of(speaker, "to") + 1;
        for (size_t f = 0; f < count; f++) {
            struct mask *room = mask_loaded(files[f], NULL);
            ck_assert(f > 0 || room->rate == correction->rate);
            thirds_add(room, s, NULL, 0, measured);
            thirds_add(room, s, correction, s, predicted);
        }
        thirds_add(correction, s, NULL, 0, corrects);
        for (size_t t = 0; t < THIRDS; t++) {
            measured[t] = 10 * log10(measured[t] / (double)count);
            predicted[t] = 10 * log10(predicted[t] / (double)count);
            corrects[t] = 10 * log10(corrects[t]);
        }
        double shift = -thirds_mean(measured, first, end);
        size_t heard = THIRDS; /* below what resampling takes */
        while (1000 * pow(10, ((double)heard - 17.5) / 10) > 0.45 * correction->rate)
            heard--;
        expect_thirds(speaker, "measured", measured, shift, heard);
        expect_thirds(speaker, "predicted", predicted, shift, heard);
        expect_thirds(speaker, "correction", corrects, 0, heard);
        ck_assert_double_eq_tol(command_json_number(speaker, "deviation"),
                                deviation(measured, first, end), 0.1);
        ck_assert_double_eq_tol(command_json_number(speaker, "predicted_deviation"),
                                deviation(predicted, first, end), 0.1);
        ck_assert_double_lt(deviation(predicted, first, end),
                            0.7 * deviation(measured, first, end));
        ck_assert(json_is_null(json_object_get(speaker, "checked")) &&
                  json_is_null(json_object_get(speaker, "apart")));
    }
}

START_TEST(predictions_are_true)
{
    static const char *const files[] = {"a.wav", "b.wav"};
    begin();
    expect_prediction(command_done("\"$HALO\" correct room --json --measured a.wav").out, files, 1);
    expect_prediction(
        command_done("\"$HALO\" correct room -f --json --measured a.wav --measured b.wav").out,
        files, 2);
    struct command_result plain = command_done("\"$HALO\" correct other --measured a.wav");
    command_expect(plain.out, "output 1, ");
    command_expect(plain.out, "output 2, ");
    command_expect(plain.out, "other-correction.wav is the correction.");
}

START_TEST(files_have_any_rate)
{
    static const int rates[] = {44100, 16000, 192000};
    begin();
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        static const char *const files[] = {"r.wav", "b.wav"};
        make_room("r.wav", 3, rates[i]);
        const char *answer =
            command_done("\"$HALO\" correct room -f --json --measured r.wav --measured b.wav").out;
        expect_prediction(answer, files, 2);
    }
}

/* What a subwoofer does not play is neither corrected nor counted. */
START_TEST(a_subwoofer_is_left_alone_above)
{
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    command_done("\"$HALO\" mask make -o sub.wav 'combine:parametric:PK 50 8 3*"
                 "bandpass:25-100,phase=minimum'");
    const json_t *answer =
        command_json(command_done("\"$HALO\" correct room --json --measured sub.wav").out);
    const json_t *speaker = json_array_get(json_object_get(answer, "loudspeakers"), 0);
    ck_assert_double_le(command_json_number(speaker, "to"), 160);
    ck_assert_double_le(command_json_number(speaker, "from"), 32);
    ck_assert_double_lt(command_json_number(speaker, "predicted_deviation"), 1.5);
    struct mask *correction = mask_loaded("room-correction.wav", NULL);
    ck_assert_uint_eq(correction->columns, 1);
    ck_assert_double_lt(mask_magnitude(correction, 0, 50),
                        mask_magnitude(correction, 0, 35) - 4); /* the peak is lowered */
    for (double hertz = 400; hertz < 20000; hertz *= 1.2)
        ck_assert_double_eq_tol(mask_magnitude(correction, 0, hertz),
                                mask_magnitude(correction, 0, 20000), 0.1);
}

/* ---- refusals ---- */

#define CORRECT "\"$HALO\" correct room --measured "

START_TEST(wrong_files_are_refused)
{
    begin();
    sound_text("mono.txt", "rate: 48000\n1\n0.5\n");
    sound_text("silent.txt", "rate: 48000\n1 0\n0.5 0\n");
    sound_text("no rate.txt", "1\n0.5\n");
    struct sound nan = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, 100);
    nan.block.data[0][3] = nan.block.data[1][3] = NAN;
    sound_save(&nan, "nan.wav");
    sound_sparse("empty.wav", RATE, 2, 0);
    command_done("head -c 5 a.wav >cut.wav");
    command_refused(1, "none.wav", CORRECT "none.wav");
    command_refused(1, "empty.wav", CORRECT "empty.wav");
    command_refused(1, "cut.wav", CORRECT "a.wav --measured cut.wav");
    command_refused(0, "nan.wav", CORRECT "nan.wav");
    command_refused(0, "no rate.txt tells no rate", CORRECT "'no rate.txt'");
    command_refused(2, "other loudspeakers", CORRECT "a.wav --measured mono.txt");
    command_refused(1, "channel 2 of silent.txt is silent", CORRECT "silent.txt");
}

START_TEST(wrong_words_are_refused)
{
    static const struct {
        const char *options, *expected;
    } cases[] = {
        {"--with house", "house"},
        {"--with loudness=3", "loudness"},
        {"--with target=no.txt", "no file no.txt"},
        {"--with phase=zero", "phase="},
        {"--with boost=lots", "boost="},
        {"--positions 0", "positions"},
        {"--positions 17", "positions"},
        {"--layout 5.1", "--layout"},
    };
    begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(2, cases[i].expected, CORRECT "a.wav %s", cases[i].options);
    command_refused(2, "r*m", "\"$HALO\" correct 'r*m' --measured a.wav");
    command_done("cp a.wav 'x*y.wav'");
    command_refused(2, "x*y.wav", CORRECT "'x*y.wav'");
    command_refused(2, "cannot be called '.room'", "\"$HALO\" correct .room --measured a.wav");
    command_refused(2, "cannot be called ''", "\"$HALO\" correct no/ --measured a.wav");
    command_refused(1, "nowhere", "\"$HALO\" correct nowhere/room --measured a.wav");
    command_refused(2, "NAME", "\"$HALO\" correct --measured a.wav");
}

/* Neither the file nor the preset is replaced without --force; no half of them stays. */
START_TEST(nothing_is_replaced_or_left)
{
    begin();
    sound_text("config", "no folder");
    command_refused(1, "config", CORRECT "a.wav");
    command_done("rm config");
    command_done(CORRECT "a.wav");
    command_done("mv room-correction.wav kept.wav; cp config/halo/presets/room kept");
    command_refused(2, "preset room exists", CORRECT "b.wav");
    command_done("\"$HALO\" preset remove room");
    sound_text("room-correction.wav", "mine");
    command_refused(0, "room-correction.wav", CORRECT "b.wav");
    command_done("test \"$(cat room-correction.wav)\" = mine");
    ck_assert_str_eq(presets(), "");
    command_done(CORRECT "a.wav --force && cmp room-correction.wav kept.wav && "
                         "cmp config/halo/presets/room kept");
    command_refused(2, "no file none.txt", CORRECT "b.wav --force --with target=none.txt");
    command_done("cmp room-correction.wav kept.wav && cmp config/halo/presets/room kept");
}
