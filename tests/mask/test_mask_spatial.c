/* Ambisonic decoders and virtual surround as masks, against paths computed by hand. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

/* ---- ambiX ---- */

/* e.wav: 1 0.5 | 0 -0.25; mono.wav: its left channel */
static void make_ears(void)
{
    static const float ears[2][2] = {{1, 0.5f}, {0, -0.25f}};
    for (size_t channels = 1; channels <= 2; channels++) {
        struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, channels, 2);
        for (size_t c = 0; c < channels; c++)
            memcpy(sound.block.data[c], ears[c], sizeof ears[c]);
        sound_save(&sound, channels == 1 ? "mono.wav" : "e.wav");
    }
}

START_TEST(ambix_loudspeakers)
{
    mask_save_text("a.config", "// two of them\r\n#GLOBAL\r\n/debug_msg any text #1\r\n"
                               "/coeff_scale n3d\r\n/dec_mat_gain 0.5 // -6 dB\r\n#END\r\n"
                               "#DECODERMATRIX\r\n1\t0.5 \t0 -0.25\r\n1 -0.5\r\n#END\r\n");
    struct mask *mask = mask_loaded("a.config", NULL);
    ck_assert_uint_eq(mask->inputs, 4);
    ck_assert_uint_eq(mask->outputs, 2);
    ck_assert_uint_eq(mask->path_count, 5);
    mask_expect_path(mask, 0, 0, 1, (double[]){0.5});
    mask_expect_path(mask, 1, 0, 1, (double[]){0.25 * sqrt(3)});
    mask_expect_path(mask, 3, 0, 1, (double[]){-0.125 * sqrt(3)});
    mask_expect_path(mask, 1, 1, 1, (double[]){-0.25 * sqrt(3)});
}

START_TEST(ambix_ears)
{
    make_ears();
    mask_save_text("a.config", "#GLOBAL\n/global_hrtf_gain 2\n#END\n"
                               "#HRTF <filename> <gain> <delay in ms> <swap>\n"
                               "e.wav 1 0 1\ne.wav\t0.5\t1\n#END\n"
                               "#DECODERMATRIX\n1 0.5\n1 -0.5\n#END\n");
    struct mask *mask = mask_loaded("a.config", NULL);
    double left[50] = {[1] = 2 * -0.25, [48] = 1, [49] = 0.5};
    double right[50] = {2, 1, [49] = -0.25};
    ck_assert_uint_eq(mask->rate, 48000);
    ck_assert_uint_eq(mask->inputs, 2);
    ck_assert_uint_eq(mask->outputs, 2);
    mask_expect_path(mask, 0, 0, 50, left);
    mask_expect_path(mask, 0, 1, 50, right);
}

/* W X Y Z R S T U V K L M N O P Q of FuMa and the order of SID, by the places of their numbers. */
START_TEST(ambix_sequences)
{
    const struct {
        const char *settings;
        double gains[16]; /* by ACN, of the row 1 2 3 ... 16 */
    } cases[] = {
        {"", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
        {"/coeff_seq fuma\n", {1, 3, 4, 2, 9, 7, 5, 6, 8, 16, 14, 12, 10, 11, 13, 15}},
        {"/coeff_seq SID\n", {1, 3, 4, 2, 6, 8, 9, 7, 5, 11, 13, 15, 16, 14, 12, 10}},
        {"/coeff_scale fuma\n",
         {M_SQRT1_2, 2, 3, 4, 10 / sqrt(3), 12 / sqrt(3), 7, 16 / sqrt(3), 18 / sqrt(3),
          10 * sqrt(1.6), 11 * 3 / sqrt(5), 12 * sqrt(45.0 / 32), 13, 14 * sqrt(45.0 / 32),
          15 * 3 / sqrt(5), 16 * sqrt(1.6)}},
        {"/flip 1\n", {1, -2, 3, 4, -5, -6, 7, 8, 9, -10, -11, -12, 13, 14, 15, 16}},
        {"/flop 1\n", {1, 2, 3, -4, -5, 6, 7, -8, 9, 10, -11, 12, 13, -14, 15, -16}},
        {"/flap 1\n", {1, 2, -3, 4, 5, -6, 7, -8, 9, 10, -11, 12, -13, 14, -15, 16}},
        {"/invert_condon_shortley 1\n",
         {1, -2, 3, -4, 5, -6, 7, -8, 9, -10, 11, -12, 13, -14, 15, -16}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "#GLOBAL\n%s#END\n#DECODERMATRIX\n1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n#END\n",
                 cases[i].settings);
        mask_save_text("a.config", text);
        struct mask *mask = mask_loaded("a.config", NULL);
        for (size_t acn = 0; acn < 16; acn++)
            mask_expect_path(mask, acn, 0, 1, &cases[i].gains[acn]);
    }
}

START_TEST(ambix_refused)
{
#define MATRIX "#DECODERMATRIX\n1 0\n#END\n"
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"#GLOBAL\n/coeff_scale max\n" MATRIX, "line 2: the setting is sn3d, n3d or fuma"},
        {"#GLOBAL\n/flip 2\n" MATRIX, "line 2: the setting is 0 or 1"},
        {"#GLOBAL\n/dec_mat_gain loud\n" MATRIX, "line 2: a gain must be a number"},
        {"#GLOBAL\n/rotate 3\n" MATRIX, "line 2: ambiX decoders have no setting '/rotate'"},
        {"#DECODERMATRIX\n1 x\n", "line 2: a gain must be a number, not 'x'"},
        {"#DECODERMATRIX\n#END\n", "no rows"},
        {"#HRTF\ne.wav\ne.wav\n#END\n" MATRIX, "2 responses for 1 rows"},
        {"#HRTF\nmono.wav\n#END\n" MATRIX, "line 2: mono.wav has 1 channel"},
        {"#HRTF\nno.wav\n#END\n" MATRIX, "line 2: cannot open no.wav"},
        {"#HRTF\nears\n#END\n" MATRIX, "line 2: a .wav or .aiff file"},
        {"#HRTF\ne.wav loud\n#END\n" MATRIX, "line 2: the gain must be a number"},
        {"#GLOBAL\n/coeff_scale fuma\n#END\n#DECODERMATRIX\n"
         "1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n#END\n",
         "line 5: 17 gains, where FuMa's scale ends at 16"},
    };
    make_ears();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_refused("a.config", cases[i].text, cases[i].expected);
}

/* ---- mcfx_convolver ---- */

START_TEST(mcfx_with_channels_alone)
{
    make_ears();
    mask_save_text("a.conf", "# as mcfx_convolver has it\n/convolver/new 3 2\n"
                             "  /impulse/read 1 2 0.5 1 0 0 1 e.wav\n");
    struct mask *mask = mask_loaded("a.conf", NULL);
    ck_assert_uint_eq(mask->inputs, 3);
    ck_assert_uint_eq(mask->outputs, 2);
    mask_expect_path(mask, 0, 1, 3, (double[]){0, 0.5, 0.25});
}

/* ---- HeSuVi ---- */

static void make_hesuvi(const char *name, size_t channels)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, channels, 1);
    for (size_t c = 0; c < channels; c++)
        sound.block.data[c][0] = (float)(c + 1) / 16;
    sound_save(&sound, name);
}

START_TEST(hesuvi_orders)
{
    static const size_t all[8][2] = {{1, 2}, {9, 8},   {7, 14}, {7, 14},
                                     {5, 6}, {13, 12}, {3, 4},  {11, 10}};
    static const size_t half[8][2] = {{1, 2}, {2, 1}, {7, 7}, {7, 7},
                                      {5, 6}, {6, 5}, {3, 4}, {4, 3}};
    static const struct {
        size_t channels, places[8]; /* FL FR FC LFE BL BR SL SR */
    } layouts[] = {{1, {2}},
                   {2, {0, 1}},
                   {4, {0, 1, 4, 5}},
                   {5, {0, 1, 2, 6, 7}},
                   {6, {0, 1, 2, 3, 6, 7}},
                   {8, {0, 1, 2, 3, 4, 5, 6, 7}}};
    make_hesuvi("all.wav", 14);
    make_hesuvi("half.wav", 7);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        for (size_t is_half = 0; is_half < 2; is_half++) {
            struct mask *mask = mask_loaded(is_half ? "half.wav" : "all.wav", NULL);
            ck_assert_int_eq(
                mask_route(mask, layouts[i].channels, MASK_ORDER_HESUVI, MASK_MAP_AUTO), STATUS_OK);
            ck_assert_uint_eq(mask->outputs, 2);
            for (size_t p = 0; p < mask->path_count; p++) {
                size_t place = layouts[i].places[p / 2];
                double wanted = (double)(is_half ? half : all)[place][p % 2] / 16;
                mask_expect_path(mask, p / 2, p % 2, 1, &wanted);
            }
        }
}

START_TEST(hesuvi_commands)
{
    make_hesuvi("all.wav", 14);
    make_hesuvi("six.wav", 6);
    const struct stream_format stereo = {.rate = 48000, .channels = 2};
    command_expect(command_done("$HALO mask show all.wav,order=hesuvi").out, "8>2 by 10");
    command_done("$HALO render $WAV/drums.wav ears.wav --mask all.wav,order=hesuvi");
    mask_spec_refused(2, "order=hesuvi is for a mask of 14 or 7 channels, but it has 6",
                      "six.wav,order=hesuvi", &stereo);
    mask_spec_refused(2, "order=hesuvi is for a sound of 1, 2, 4, 5, 6 or 8 channels",
                      "all.wav,order=hesuvi",
                      &(struct stream_format){.rate = 48000, .channels = 3});
    make_hesuvi("half.wav", 7);
    mask_spec_refused(2, "order=hesuvi if it is one of HeSuVi", "all.wav", &stereo);
    mask_spec_refused(2, "order=hesuvi if it is one of HeSuVi", "half.wav,map=matrix", &stereo);
    command_expect(mask_said("all.wav", &(struct stream_format){.rate = 48000, .channels = 1}),
                   "a mono sound goes through each of its 14 channels; order=hesuvi if");
    mask_spec_refused(2, "order=hesuvi and map= exclude each other",
                      "all.wav,order=hesuvi,map=matrix", &stereo);
}
