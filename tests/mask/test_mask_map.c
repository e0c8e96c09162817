/* map=IN:TAP: channels of the sound through channels of the mask, by name. */
#include "command.h"
#include "mask_load.h"
#include "render_call.h"
#include "sound.h"
#include "sound/port.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, FRAMES = 5000, FL = 0, FR, FC, LFE, BL, BR, CHANNELS };

/* Noise of 5.1, as libsndfile's extensible WAV is by default. */
static struct sound make_sound(void)
{
    return sound_noise("in.wav", 7, SF_FORMAT_WAVEX | SF_FORMAT_FLOAT, RATE, CHANNELS, FRAMES);
}

/* Channel c of out.wav is that of the sound times factors[c]. */
static void expect_factors(const struct sound *in, const double factors[CHANNELS])
{
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.channels, CHANNELS);
    for (size_t c = 0; c < CHANNELS; c++)
        for (size_t i = 0; i < FRAMES; i++)
            ck_assert_float_eq_tol(out.block.data[c][i],
                                   (float)(factors[c] * (double)in->block.data[c][i]), 1e-6f);
}

START_TEST(pairs_filter_what_they_name)
{
    struct sound in = make_sound();
    sound_text("two.txt", "0.5 0.25\n0 0\n");
    static const struct {
        const char *mask;
        double factors[CHANNELS];
    } cases[] = {
        {"two.txt,map=FL:FL,FR:FR,C:L+R", {0.5, 0.25, 0.75, 1, 1, 1}},
        {"two.txt,map=C:L+R,FR:2,1:1", {0.5, 0.25, 0.75, 1, 1, 1}},
        {"two.txt,map=FL:L\\,FR:R", {0.5, 0.25, 1, 1, 1, 1}},
        {"two.txt,map=LS:L,RS:L,invert,gain=6.0206", {1, 1, 1, 1, -1, -1}},
        {"two.txt,map=BL:1,normalize=peak", {1, 1, 1, 1, 1, 1}},
        {"two.txt,channel=2,map=lfe:C", {1, 1, 1, 0.25, 1, 1}},
        {"two.txt,map=FL:R,FR:L,FC:L,LFE:L,BL:R,BR:L+R", {0.25, 0.5, 0.5, 0.5, 0.25, 0.75}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        render_done("in.wav", "out.wav", "--tail none --mask %s --save-chain %zu.yml",
                    cases[i].mask, i);
        expect_factors(&in, cases[i].factors);
        render_done("in.wav", "again.wav", "--tail none --chain %zu.yml", i);
        command_done("cmp out.wav again.wav");
    }
}

START_TEST(other_channels_pass_beside_a_long_mask)
{
    struct sound in = make_sound();
    sound_noise_mask("long.txt", 3, 1, 3000);
    render_done("in.wav", "out.wav", "--tail none --mask long.txt,map=LFE:1");
    render_done("in.wav", "all.wav", "--tail none --mask long.txt");
    struct sound out = sound_load("out.wav"), all = sound_load("all.wav");
    for (size_t c = 0; c < CHANNELS; c++) {
        const float *expected = c == LFE ? all.block.data[c] : in.block.data[c];
        for (size_t i = 0; i < FRAMES; i++)
            ck_assert_float_eq_tol(out.block.data[c][i], expected[i], 1e-5f);
    }
}

/* Frames of silence before time zero of a centred mask are those of the other channels, too. */
START_TEST(other_channels_stay_aligned)
{
    struct sound in = make_sound();
    sound_text("late.txt", "0\n0\n1\n0\n0\n");
    render_done("in.wav", "out.wav", "--tail none --align centre --mask late.txt,map=FL:1");
    expect_factors(&in, (double[CHANNELS]){1, 1, 1, 1, 1, 1});
}

START_TEST(names_are_those_of_the_file)
{
    struct sound in = make_sound();
    sound_text("two.txt", "0.5 0.25\n0 0\n");
    command_done("\"$HALO\" mask convert two.txt two.wav --rate 48000 && "
                 "\"$HALO\" render two.wav low.wav -q --layout FL+LFE && "
                 "\"$HALO\" render in.wav out.wav -q --tail none --mask low.wav,map=FR:LFE");
    expect_factors(&in, (double[CHANNELS]){1, 0.25, 1, 1, 1, 1});
    command_refused(2, "mask low.wav has no channel FR: its layout is FL+LFE",
                    "\"$HALO\" render in.wav no.wav --mask low.wav,map=FR:FR");
}

START_TEST(what_is_unclear_is_refused)
{
    static const char *const cases[][2] = {
        {"two.txt,map=FX:1", "'FX' is no channel"},
        {"two.txt,map=SL:1", "the sound has no channel SL: its layout is 5.1"},
        {"two.txt,map=FL:1,FL:2", "the sound's channel FL twice"},
        {"two.txt,map=1:1,L:2", "the sound's channel L twice"},
        {"two.txt,map=FL:3", "mask two.txt has no channel 3: it has 2"},
        {"two.txt,map=7:1", "the sound has no channel 7: it has 6"},
        {"two.txt,map=0:1", "the sound has no channel 0"},
        {"two.txt,map=FL:C", "mask two.txt has no channel C: its layout is stereo"},
        {"two.txt,map=FL:1+1", "'1+1' has 1 twice"},
        {"two.txt,map=FL:1+L", "'1+L' has L twice"},
        {"two.txt,map=FL:", "not 'FL:'"},
        {"two.txt,map=:1", "not ':1'"},
        {"two.txt,map=FL:1+", "not 'FL:1+'"},
        {"two.txt,map=FL:1:2", "not 'FL:1:2'"},
        {"two.txt,map=FL", "not 'FL'"},
        {"two.txt,map=", "map= of a mask needs a value"},
        {"two.txt,map=FL:1,map=FR:1", "map= is given twice"},
        {"two.txt,map=FL:1,order=hesuvi", "order= and map= exclude each other"},
    };
    make_sound();
    struct source *source;
    ck_assert_int_eq(source_open_sound(command_path("in.wav"), true, &source), STATUS_OK);
    sound_text("two.txt", "0.5 0.25\n");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_spec_refused(2, cases[i][1], cases[i][0], &source->format);
    sound_noise_file("plain.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 6, FRAMES);
    command_refused(2,
                    "does not know which of the 6 channels of the sound is FL; use numbers from 1, "
                    "or --layout",
                    "\"$HALO\" render plain.wav no.wav --mask two.txt,map=FL:1");
    command_done("\"$HALO\" render plain.wav out.wav -q --mask two.txt,map=FL:1 --layout 5.1");
    sound_text("own.mask", "inputs: 2\noutputs: 2\npath: 1 2 1\n0.5\n");
    mask_spec_refused(2, "own routing", "own.mask,map=FL:1", &source->format);
    source_close(source);
}

START_TEST(a_mask_is_shown_for_the_channels_it_names)
{
    sound_text("two.txt", "0.5 0.25\n");
    struct mask *mask = mask_of_spec("two.txt,map=FL:1,LFE:2", NULL);
    ck_assert_uint_eq(mask->path_count, 2);
    mask_expect_path(mask, 0, 0, 1, (double[]){0.5});
    mask_expect_path(mask, 1, 1, 1, (double[]){0.25});
}
