/* halo mask convert: nothing is lost, or the loss is reported. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <string.h>

/* Shared columns, a silent path and an origin: only .mask holds all of these. */
static const char whole[] = "rate: 44100\norigin: 1\ninputs: 2\noutputs: 3\npath: 1 1 1\n"
                            "path: 1 3 2\npath: 2 2 1\n"
                            "0.1 -1e-20\n0.333333343 7\n-1.17549435e-38 0\n";

static void expect_same_mask(const struct mask *a, const struct mask *b)
{
    ck_assert_uint_eq(a->rate, b->rate);
    ck_assert_uint_eq(a->columns, b->columns);
    ck_assert_uint_eq(a->taps, b->taps);
    ck_assert_uint_eq(a->origin, b->origin);
    ck_assert_uint_eq(a->path_count, b->path_count);
    ck_assert_uint_eq(a->inputs, b->inputs);
    ck_assert_uint_eq(a->outputs, b->outputs);
    for (size_t k = 0; k < a->columns * a->taps; k++)
        ck_assert_float_eq((float)a->coefficients[k], (float)b->coefficients[k]);
    for (size_t p = 0; p < a->path_count; p++)
        ck_assert_mem_eq(&a->paths[p], &b->paths[p], sizeof *a->paths);
}

START_TEST(mask_keeps_everything)
{
    mask_save_text("a.mask", whole);
    command_done("$HALO mask convert a.mask b.mask");
    struct mask *a = mask_loaded("a.mask", NULL), *b = mask_loaded("b.mask", NULL);
    expect_same_mask(a, b);
}

START_TEST(sound_and_text)
{
    static const char *const kinds[] = {"a.wav", "a.wav --format double", "a.txt"};
    sound_noise_file("in.wav", 3, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 3, 500);
    struct mask *in = mask_loaded("in.wav", NULL);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        command_done("$HALO mask convert in.wav %s --force", kinds[i]);
        struct mask *out = mask_loaded(i < 2 ? "a.wav" : "a.txt", NULL);
        expect_same_mask(in, out);
    }
}

static void expect_same_in_double(const struct mask *in, const char *name)
{
    struct mask *out = mask_loaded(name, NULL);
    ck_assert_uint_eq(out->taps, in->taps);
    for (size_t k = 0; k < in->taps; k++)
        ck_assert_msg(out->coefficients[k] == in->coefficients[k],
                      "%s: tap %zu is %.17g, not %.17g", name, k, out->coefficients[k],
                      in->coefficients[k]);
}

START_TEST(doubles_stay_doubles)
{
    static const char *const outs[] = {
        "b.wav",
        "b.txt",
        "b.mask",
        "b.c --to jconvolver",
        "b.y --to camilladsp",
        "b.b --to brutefir",
    };
    static const char *const made[] = {"m.wav", "m.aiff", "m.caf", "m.au", "m.w64"};
    mask_save_text("a.txt", "rate: 48000\n0.1\n-0.333333333333333\n1.2345678901234567e-9\n3\n");
    struct mask *in = mask_loaded("a.txt", NULL);
    for (size_t i = 0; i < sizeof outs / sizeof *outs; i++) {
        command_done("$HALO mask convert a.txt %s --format double --force --inputs 1", outs[i]);
        char name[16];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(outs[i], " "), outs[i]);
        expect_same_in_double(in, name);
    }
    command_done("$HALO mask make tilt:-3dB/oct,taps=300 -o d.wav --format double");
    in = mask_loaded("d.wav", NULL);
    ck_assert(in->coefficients[1] != (double)(float)in->coefficients[1]);
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        command_done("$HALO mask make tilt:-3dB/oct,taps=300 -o %s --format double", made[i]);
        expect_same_in_double(in, made[i]);
    }
}

/* map= and order= are part of the mask, and so of what is written. */
START_TEST(order_and_map_are_written)
{
    static const double columns[4] = {1, 3, 4, 2};
    mask_save_text("a.txt", "rate: 48000\n1 2 3 4\n");
    command_done("$HALO mask convert a.txt,order=llrrlrrl b.txt");
    struct mask *mask = mask_loaded("b.txt", NULL);
    for (size_t c = 0; c < 4; c++)
        mask_expect_taps(mask, c, 1, &columns[c]);
    command_done("$HALO mask convert a.txt,order=llrrlrrl b.mask");
    mask = mask_loaded("b.mask", NULL);
    for (size_t p = 0; p < 4; p++)
        mask_expect_path(mask, p / 2, p % 2, 1, &columns[p]);
    command_refused(2, "holds no paths", "$HALO mask make room:rt60=0.1,map=matrix -o x.wav");
}

START_TEST(paths_as_columns)
{
    mask_save_text("a.mask", whole);
    struct command_result result = command_done("$HALO mask convert a.mask a.wav");
    ck_assert_ptr_nonnull(strstr(result.err, "map=matrix"));
    ck_assert_ptr_nonnull(strstr(result.err, "time zero is at tap 1"));
    struct mask *mask = mask_loaded("a.wav", NULL);
    ck_assert_uint_eq(mask->columns, 6); /* input 1 to outputs 1 2 3, input 2 to the same */
    mask_expect_taps(mask, 0, 3, (double[]){0.1, 0.333333343, -1.17549435e-38});
    mask_expect_taps(mask, 1, 0, NULL);
    mask_expect_taps(mask, 2, 2, (double[]){-1e-20, 7});
    mask_expect_taps(mask, 4, 3, (double[]){0.1, 0.333333343, -1.17549435e-38});
}

START_TEST(other_programs)
{
    static const char *const programs[] = {"jconvolver", "camilladsp", "brutefir"};
    char text[sizeof whole];
    memcpy(text, whole, sizeof whole);
    memcpy(strstr(text, "origin: 1"), "#        ", 9); /* none of these formats supports it */
    mask_save_text("a.mask", text);
    mask_loaded("a.mask", NULL);
    for (size_t i = 0; i < 3; i++) {
        command_done("$HALO mask convert a.mask b.conf --force --to %s", programs[i]);
        struct mask *mask = mask_loaded("b.conf", NULL);
        ck_assert_uint_eq(mask->rate, 44100);
        ck_assert_uint_eq(mask->path_count, 3);
        mask_expect_path(mask, 0, 0, 3, (double[]){0.1, 0.333333343, -1.17549435e-38});
        mask_expect_path(mask, 0, 2, 2, (double[]){-1e-20, 7});
        mask_expect_path(mask, 1, 1, 3, (double[]){0.1, 0.333333343, -1.17549435e-38});
    }
    command_refused(1, "Equalizer APO", "$HALO mask convert a.mask c.txt --to eqapo");
    command_done("$HALO mask convert $FILTERS/hall.wav c.txt --to eqapo");
    struct mask *mask = mask_loaded("c.txt", NULL);
    ck_assert_uint_eq(mask->inputs, 2);
    ck_assert_uint_eq(mask->path_count, 2);
}

START_TEST(options_of_convert)
{
    mask_save("a.raw", (float[]){0.5f, 0.25f}, 8);
    command_done("$HALO mask convert a.raw a.txt --raw FLOAT32LE --rate 96000 --channels 2");
    struct mask *mask = mask_loaded("a.txt", NULL);
    ck_assert_uint_eq(mask->rate, 96000);
    ck_assert_uint_eq(mask->columns, 2);
    command_done("$HALO mask convert a.txt,trim=0,gain=6.0205999 b.txt");
    mask = mask_loaded("b.txt", NULL);
    ck_assert_double_eq_tol((double)mask_column(mask, 0)[0], 1, 1e-6);
    command_refused(1, "exists", "$HALO mask convert a.txt b.txt");
    command_refused(1, "this command reads it", "$HALO mask convert a.txt a.txt --force");
    command_refused(2, "must end with", "$HALO mask convert a.txt c.ogg");
    command_refused(2, "has no rate", "$HALO mask convert a.raw c.wav --raw F32_LE");
    command_refused(2, "--to is", "$HALO mask convert a.txt c.conf --to word");
    command_refused(2, "needs IN and OUT", "$HALO mask convert a.txt");
}

/* A pure delay of 24 samples and half the level: known at each frequency. */
START_TEST(a_response_has_level_and_phase)
{
    double hz, level, phase, last = 0;
    char line[200];
    size_t lines = 0;
    float taps[25] = {0};
    taps[24] = 0.5f;
    mask_save("a.raw", taps, sizeof taps);
    command_done("$HALO mask convert a.raw a.frd --raw F32_LE --rate 48000");
    FILE *file = fopen(command_path("a.frd"), "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, file));
    ck_assert_int_eq(line[0], '*');
    for (; fscanf(file, "%lf %lf %lf", &hz, &level, &phase) == 3; lines++, last = hz) {
        ck_assert_double_gt(hz, last);
        ck_assert_double_eq_tol(level, -6.0206, 1e-3);
        ck_assert_double_eq_tol(remainder(phase + 360 * hz * 24 / 48000, 360), 0, 1e-2);
    }
    fclose(file);
    ck_assert_uint_gt(lines, 400);
    ck_assert_double_gt(last, 23000);
    command_done("printf 'rate: 48000\\norigin: 2\\n0\\n0\\n1\\n' >zero.mask; "
                 "$HALO mask convert zero.mask zero.frd; "
                 "awk '!/\\*/ && ($3 > 0.001 || $3 < -0.001) {exit 1}' zero.frd");
    /* What halo reads of it is what it wrote. */
    command_done(
        "$HALO mask make tilt:-1.5 -o s.wav; $HALO mask convert s.wav s.frd; "
        "$HALO mask make response:s.frd,reference=0dB -o t.wav; $HALO mask convert t.wav t.frd");
    command_done("paste s.frd t.frd | awk '$1 > 100 && $1 < 15000 {n++; d = $2 - $5; "
                 "if (d > 0.1 || d < -0.1) exit 1} END {exit !(n > 300)}'");
    command_refused(2, "channel=", "$HALO mask convert $FILTERS/hall.wav h.frd");
    command_done("$HALO mask convert $FILTERS/hall.wav,channel=2 h.frd");
    command_refused(2, "--rate", "$HALO mask convert a.raw n.frd --raw F32_LE");
}
