/* halo correct with files of responses: the mask, the preset, the prediction, and refusals. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"
#include "thirds.h"

#include <math.h>
#include <stdio.h>

#define CORRECT "\"$HALO\" correct room --measured "
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
    };
    begin();
    sound_text("a,b.txt", "20 3\n200 0\n10000 -2\n");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        /* The later one of two options counts. */
        command_done(CORRECT "a.wav --measured b.wav -f --with phase=minimum,'%s'", options[i]);
        command_done("\"$HALO\" mask convert -f 'correct:a.wav*b.wav,%s' converted.wav",
                     options[i]);
        struct sound made = sound_load("room-correction.wav"), truth = sound_load("converted.wav");
        sound_expect_same(&made, &truth);
    }
    ck_assert_str_eq(presets(), "room\n");
}

/* The preset is the mask, and a gain that leaves the headroom which halo mask show tells. */
START_TEST(presets_play_the_mask)
{
    static const char *const names[] = {"room", "a, x\"y", "Küche;g=20", "c:\\,d"};
    begin();
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, RATE);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *name = names[i];
        command_done("cp a.wav '%s.wav' && \"$HALO\" correct '%s' --measured '%s.wav'", name, name,
                     name);
        command_done("cp '%s-correction.wav' plain.wav", name);
        json_t *shown = command_json(command_done("\"$HALO\" mask show --json plain.wav").out);
        json_t *outputs =
            json_object_get(json_array_get(json_object_get(shown, "masks"), 0), "outputs");
        double headroom = 0;
        for (size_t o = 0; o < 2; o++)
            headroom =
                fmax(headroom, command_json_number(json_array_get(outputs, o), "headroom_db"));
        ck_assert_double_gt(headroom, 1);
        command_done("\"$HALO\" render in.wav truth.wav -fq --mask plain.wav,gain=%.1f",
                     -ceil(10 * headroom) / 10);
        command_done("cd config && \"$HALO\" render ../in.wav ../out.wav -fq --chain "
                     "halo/presets/'%s'",
                     name);
        struct sound out = sound_load("out.wav"), truth = sound_load("truth.wav");
        sound_expect_same(&out, &truth);
    }
    ck_assert_uint_eq(command_lines(presets()), sizeof names / sizeof *names);
}

/* ---- the prediction ---- */

/* Of a correction of these files, the first of which gives the rate. */
static void expect_prediction(const char *first, const char *second)
{
    json_t *root =
        command_json(command_done(CORRECT "%s --measured %s -f --json", first, second).out);
    struct mask *correction = mask_loaded("room-correction.wav", NULL);
    struct mask *rooms[2] = {mask_loaded(first, NULL), mask_loaded(second, NULL)};
    size_t heard = THIRDS; /* below what resampling takes */
    while (1000 * pow(10, ((double)heard - 17.5) / 10) > 0.45 * correction->rate)
        heard--;
    ck_assert_str_eq(command_json_string(root, "mask"), "room-correction.wav");
    ck_assert_str_eq(command_json_string(root, "preset"), "room");
    ck_assert_uint_eq(correction->rate, rooms[0]->rate);
    ck_assert_uint_eq(json_array_size(json_object_get(root, "loudspeakers")), 2);
    for (size_t s = 0; s < 2; s++) {
        const json_t *speaker = json_array_get(json_object_get(root, "loudspeakers"), s);
        double measured[THIRDS], predicted[THIRDS];
        thirds_measure(rooms, 2, s, NULL, 0, measured);
        thirds_measure(rooms, 2, s, correction, s, predicted);
        thirds_expect(speaker, "measured", measured, measured, heard);
        thirds_expect(speaker, "predicted", measured, predicted, heard);
        ck_assert_double_lt(command_json_number(speaker, "predicted_deviation"),
                            0.7 * command_json_number(speaker, "deviation"));
        ck_assert(json_is_null(json_object_get(speaker, "checked")));
    }
}

START_TEST(predictions_are_true_at_any_rate)
{
    static const int rates[] = {48000, 44100, 16000, 192000};
    begin();
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        make_room("r.wav", 3, rates[i]);
        expect_prediction("r.wav", "b.wav");
    }
    command_expect(command_done(CORRECT "a.wav -f").out, "output 2, ");
}

/* What a subwoofer does not play is neither corrected nor counted. */
START_TEST(a_subwoofer_is_left_alone_above)
{
    setenv("XDG_CONFIG_HOME", command_path("config"), 1);
    command_done("\"$HALO\" mask make -o sub.wav 'combine:parametric:PK 50 8 3*"
                 "bandpass:25-100,phase=minimum'");
    const json_t *answer = command_json(command_done(CORRECT "sub.wav --json").out);
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

START_TEST(what_is_wrong_is_refused)
{
    static const char *const cases[][2] = {
        {"none.wav", "room --measured none.wav"},
        {"empty.wav", "room --measured empty.wav"},
        {"cut.wav", "room --measured a.wav --measured cut.wav"},
        {"nan.wav", "room --measured nan.wav"},
        {"rate.txt tells no rate", "room --measured rate.txt"},
        {"other loudspeakers", "room --measured a.wav --measured mono.txt"},
        {"channel 2 of silent.txt is silent", "room --measured silent.txt"},
        {"x*y.wav", "room --measured 'x*y.wav'"},
        {"r*m", "'r*m' --measured a.wav"},
        {"cannot be called ''", "no/ --measured a.wav"},
        {"nowhere", "nowhere/room --measured a.wav"},
        {"NAME", "--measured a.wav"},
        {"house", "room --measured a.wav --with house"},
        {"no file no.txt", "room --measured a.wav --with target=no.txt"},
        {"positions", "room --positions 17"},
        {"IN:OUT", "room --driver null --reference 2"},
        {"--layout", "room --measured a.wav --layout 5.1"},
    };
    begin();
    sound_text("mono.txt", "rate: 48000\n1\n0.5\n");
    sound_text("silent.txt", "rate: 48000\n1 0\n0.5 0\n");
    sound_text("rate.txt", "1\n0.5\n");
    struct sound nan = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 1, 100);
    nan.block.data[0][3] = NAN;
    sound_save(&nan, "nan.wav");
    sound_sparse("empty.wav", RATE, 2, 0);
    command_done("head -c 5 a.wav >cut.wav; cp a.wav 'x*y.wav'");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(0, cases[i][0], "\"$HALO\" correct %s", cases[i][1]);
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
