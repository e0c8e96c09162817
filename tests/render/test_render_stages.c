/* Stages of halo render: masks and gains, the boundaries of the sound, the report. */
#include "command.h"
#include "render_call.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <complex.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT, WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16 };

/* ---- changes in time ---- */

/* Of a constant 1 through a gain: at each frame, in dB. */
static double gain_at(const struct sound *sound, size_t frame)
{
    return 20 * log10((double)sound->block.data[0][frame]);
}

START_TEST(changes_count_from_the_end)
{
    static const char *const options[] = {"--start 0.5s --gain 0,at=end-0.5s-end:gain=-20",
                                          "--gain 0,at=1s-end:gain=-20",
                                          "--gain -6,at=end-0.5s-end:gain=-20,at=end-500ms:gain=0",
                                          "--gain -6,at=1s:gain=0,at=1s-end:gain=-20"};
    struct sound one = sound_create(WAVF, 48000, 1, 72000);
    for (size_t i = 0; i < one.block.frames; i++)
        one.block.data[0][i] = 1;
    sound_save(&one, "one.wav");
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        render_done("one.wav", "out.wav", "%s --quiet", options[i]);
        struct sound out = sound_load("out.wav");
        size_t begin = out.block.frames - 24000; /* linear from 1 to 0.1 */
        ck_assert_double_eq_tol(gain_at(&out, begin - 1), i < 2 ? 0 : -6, 1e-3);
        for (size_t k = 480; k < 24000; k++) {
            double from = i < 2 ? 0 : 480; /* the step takes 10 ms */
            double expected = 1 - 0.9 * ((double)k - from) / (24000 - from);
            ck_assert_msg(fabs((double)out.block.data[0][begin + k] - expected) < 1e-5,
                          "%s, frame %zu: %g, not %g", options[i], k,
                          (double)out.block.data[0][begin + k], expected);
        }
    }
    command_refused(2, "counts from the end",
                    "$HALO render -q one.wav - --container ogg | $HALO render - no.wav --gain "
                    "0,at=end-1s:gain=-6");
    command_refused(2, "overlap",
                    "$HALO render one.wav no.wav --gain 0,at=10ms-1s:gain=-6,at=20ms:gain=-3");
    command_refused(2, "overlap",
                    "$HALO render one.wav no.wav --gain 0,at=1s-1005ms:gain=-6,at=1s:gain=-3");
    command_refused(2, "at=", "$HALO render one.wav no.wav --gain 0,at=end-:gain=-6");
    command_refused(2, "is before the sound, which has 72000 frames",
                    "$HALO render one.wav no.wav --gain 0,at=end-7s-end:gain=-6");
    command_refused(2, "ends before",
                    "$HALO render one.wav no.wav --gain 0,at=end-1s:gain=-6"
                    ",at=end-1s-10:gain=-6");
}

/* ---- routing ---- */

enum { LL, LR, RL, RR, PATHS_MOST = 8 };

struct routing {
    size_t channels; /* of the sound */
    size_t columns;  /* of the mask */
    const char *options;
    size_t count;                       /* of paths; 0: one for all, or channel by channel */
    struct mask_path paths[PATHS_MOST]; /* input, output, column */
};

static const struct routing routings[] = {
    {1, 1, "", 0, {{0}}},
    {2, 1, "", 0, {{0}}},
    {3, 1, "", 0, {{0}}},
    {6, 1, "", 0, {{0}}},
    {2, 2, "", 0, {{0}}},
    {3, 3, "", 0, {{0}}},
    {4, 4, "", 0, {{0}}},
    {6, 6, "", 0, {{0}}},
    {2, 4, "", 4, {{0, 0, LL}, {0, 1, LR}, {1, 0, RL}, {1, 1, RR}}},
    {2, 4, ",order=lllrrlrr", 4, {{0, 0, LL}, {0, 1, LR}, {1, 0, RL}, {1, 1, RR}}},
    /* The same four paths, in a file in the order LL RR LR RL. */
    {2, 4, ",order=llrrlrrl", 4, {{0, 0, 0}, {1, 1, 1}, {0, 1, 2}, {1, 0, 3}}},
    {1, 4, "", 4, {{0, 0, LL}, {0, 1, LR}, {0, 0, RL}, {0, 1, RR}}},
    {1, 4, ",order=llrrlrrl", 4, {{0, 0, 0}, {0, 1, 1}, {0, 1, 2}, {0, 0, 3}}},
    {1, 4, ",map=split", 4, {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {0, 3, 3}}},
    {1, 2, "", 2, {{0, 0, 0}, {0, 1, 1}}},
    {1, 3, "", 3, {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}}},
    {1, 5, "", 5, {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {0, 3, 3}, {0, 4, 4}}},
    {1, 2, ",map=split", 2, {{0, 0, 0}, {0, 1, 1}}},
    {2, 4, ",channel=3", 2, {{0, 0, 2}, {1, 1, 2}}},
    {1, 4, ",channel=4", 1, {{0, 0, 3}}},
    {3, 2, ",channel=1", 3, {{0, 0, 0}, {1, 1, 0}, {2, 2, 0}}},
    {3, 6, ",map=matrix", 6, {{0, 0, 0}, {0, 1, 1}, {1, 0, 2}, {1, 1, 3}, {2, 0, 4}, {2, 1, 5}}},
    {2, 6, ",map=matrix", 6, {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {1, 0, 3}, {1, 1, 4}, {1, 2, 5}}},
    {3, 3, ",map=matrix", 3, {{0, 0, 0}, {1, 0, 1}, {2, 0, 2}}},
    {1, 4, ",map=matrix", 4, {{0, 0, 0}, {0, 1, 1}, {0, 2, 2}, {0, 3, 3}}},
};

static void check_routing(const struct routing *row)
{
    enum { N = 3000, TAPS = 130 };
    command_clean();
    struct sound in = sound_noise("in.wav", 1, WAVF, 48000, row->channels, N);
    struct sound columns = sound_noise_mask("m.wav", 2, row->columns, TAPS);
    render_done("in.wav", "out.wav", "--mask m.wav%s", row->options);
    struct sound out = sound_load("out.wav");
    struct mask *mask = sound_mask(&columns, row->paths, row->count, row->channels);
    ck_assert_msg(out.block.channels == mask->outputs, "%zu on %zu%s: %zu channels, not %zu",
                  row->columns, row->channels, row->options, out.block.channels, mask->outputs);
    ck_assert_uint_eq(out.block.frames, N + TAPS - 1);
    sound_expect_truth(&out, mask, &in.block, 0);
}

START_TEST(masks_are_routed)
{
    for (size_t i = 0; i < sizeof routings / sizeof *routings; i++)
        check_routing(&routings[i]);
}

START_TEST(counts_that_do_not_fit_are_refused)
{
    const struct {
        size_t channels, columns;
        const char *options;
    } rows[] = {
        {3, 2, ""}, {2, 3, ""}, {2, 5, ""},           {3, 4, ""},
        {6, 4, ""}, {6, 2, ""}, {2, 4, ",map=split"},
    };
    char counts[2][8];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        sound_noise_file("in.wav", 1, WAVF, 48000, rows[i].channels, 100);
        sound_noise_file("m.wav", 2, WAVF, 48000, rows[i].columns, 10);
        snprintf(counts[0], sizeof counts[0], "%zu", rows[i].channels);
        snprintf(counts[1], sizeof counts[1], "%zu", rows[i].columns);
        for (size_t c = 0; c < 2; c++)
            command_refused(0, counts[c], "\"$HALO\" render in.wav out.wav --mask m.wav%s",
                            rows[i].options);
        command_refused(0, "channel=", "\"$HALO\" render in.wav out.wav --mask m.wav%s",
                        rows[i].options);
    }
}

START_TEST(matrices_that_do_not_divide_are_refused)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 3, 100);
    sound_noise_file("m.wav", 2, WAVF, 48000, 7, 10);
    static const char *const expected[] = {"map=matrix", "7", "3"};
    for (size_t w = 0; w < 3; w++)
        command_refused(2, expected[w], "\"$HALO\" render in.wav out.wav --mask m.wav,map=matrix");
    command_refused(2, "map=matrix",
                    "\"$HALO\" render in.wav out.wav --mask m.wav,map=matrix,channel=1");
}

/* ---- stages in a row ---- */

/* The noise mask `name` as the truth defines it, `factor` times as loud. */
static struct block filtered(const struct block *in, const char *name,
                             const struct mask_path *paths, size_t count, double factor)
{
    struct sound columns = sound_load(name);
    struct mask *mask = sound_mask(&columns, paths, count, in->channels);
    double **truth = truth_render(mask, in->data, in->frames);
    struct block out = stream_block(mask->outputs, in->frames + mask->taps - 1);
    for (size_t c = 0; c < out.channels; c++)
        for (size_t i = 0; i < out.frames; i++)
            out.data[c][i] = (float)(truth[c][i] * factor);
    return out;
}

/* For the output of several stages; each adds its own rounding. */
static void expect_close(const char *name, const struct block *truth, double bound)
{
    struct sound out = sound_load(name);
    double largest = 0, peak = 0;
    ck_assert_uint_eq(out.block.channels, truth->channels);
    ck_assert_uint_eq(out.block.frames, truth->frames);
    for (size_t c = 0; c < truth->channels; c++)
        for (size_t i = 0; i < truth->frames; i++) {
            double expected = (double)truth->data[c][i];
            largest = fmax(largest, fabs((double)out.block.data[c][i] - expected));
            peak = fmax(peak, fabs(expected));
        }
    ck_assert_msg(largest <= bound * peak, "%s is %g off, of a peak of %g", name, largest, peak);
}

START_TEST(gains_are_exact)
{
    const struct {
        const char *stages;
        double db;
    } rows[] = {
        {"--gain -6", -6},
        {"--gain -6dB --gain +2.5", -3.5},
        {"--gain=3 --mask m.wav", 3},
        {"--mask m.wav,gain=-12", -12},
        {"--mask m.wav,gain=-12,channel=1 --gain 6", -6},
        {"--gain 6 --mask m.wav,channel=1,gain=-12dB --gain 0.25", -5.75},
    };
    struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 2, 5000);
    struct sound one = sound_create(WAVF, 48000, 1, 1);
    one.block.data[0][0] = 1;
    sound_save(&one, "m.wav");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        render_done("in.wav", "out.wav", "%s", rows[r].stages);
        struct block truth = filtered(&in.block, "m.wav", NULL, 0, pow(10, rows[r].db / 20));
        expect_close("out.wav", &truth, 4e-7);
    }
}

/* Mono to two channels, then through true stereo: the other order would give other channels, and
 * each change of length shows. */
START_TEST(stages_apply_in_order)
{
    const struct mask_path spread[] = {{0, 0, 0}, {0, 1, 1}};
    const struct mask_path stereo[] = {{0, 0, LL}, {0, 1, LR}, {1, 0, RL}, {1, 1, RR}};
    struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 1, 4000);
    sound_noise_file("two.wav", 2, WAVF, 48000, 2, 300);
    sound_noise_file("four.wav", 3, WAVF, 48000, 4, 1201);
    sound_noise_file("one.wav", 4, WAVF, 48000, 1, 77);
    render_done("in.wav", "out.wav",
                "--gain 3 --mask two.wav --gain -20 --mask four.wav --mask one.wav,gain=-3");
    struct block a = filtered(&in.block, "two.wav", spread, 2, pow(10, -17.0 / 20));
    struct block b = filtered(&a, "four.wav", stereo, 4, 1);
    struct block c = filtered(&b, "one.wav", NULL, 0, pow(10, -3.0 / 20));
    ck_assert_uint_eq(c.frames, 4000 + 299 + 1200 + 76);
    expect_close("out.wav", &c, 1e-5);

    const struct mask_path mono[] = {{0, 0, LL}, {0, 1, LR}, {0, 0, RL}, {0, 1, RR}};
    render_done("in.wav", "out.wav", "--mask four.wav --mask two.wav");
    struct block d = filtered(&in.block, "four.wav", mono, 4, 1);
    struct block e = filtered(&d, "two.wav", NULL, 0, 1);
    expect_close("out.wav", &e, 1e-5);
}

/* ---- text masks ---- */

/* An impulse reproduces the mask. */
static void expect_taps(const char *text, size_t channels, size_t taps, const float *expected)
{
    command_clean();
    sound_text("m.txt", text);
    struct sound in = sound_create(WAVF, 48000, channels, 1);
    for (size_t c = 0; c < channels; c++)
        in.block.data[c][0] = 1;
    sound_save(&in, "in.wav");
    render_done("in.wav", "out.wav", "--mask m.txt");
    struct sound out = sound_load("out.wav");
    ck_assert_msg(out.block.frames == taps, "\"%s\": %zu taps, not %zu", text, out.block.frames,
                  taps);
    for (size_t k = 0; k < taps; k++)
        for (size_t c = 0; c < channels; c++) {
            double difference = (double)out.block.data[c][k] - (double)expected[k * channels + c];
            ck_assert_msg(fabs(difference) < 1e-6, "\"%s\": tap %zu, column %zu: %g", text, k, c,
                          (double)out.block.data[c][k]);
        }
}

START_TEST(text_masks_are_read)
{
    const struct {
        const char *text;
        size_t channels, taps;
        float values[8];
    } rows[] = {
        {"1\n", 1, 1, {1}},
        {"0.5", 1, 1, {0.5f}},
        {"# a comment\n0.25\n-0.5 # behind\n\n1e-1\n", 1, 3, {0.25f, -0.5f, 0.1f}},
        {"rate: 48000\n1\n.5\n+2\n", 1, 3, {1, 0.5f, 2}},
        {"rate: 48000 # Hz\r\n1 2\r\n\r\n3 4\r\n", 2, 2, {1, 2, 3, 4}},
        {"  1\t-2  \n\t3  4\n# end", 2, 2, {1, -2, 3, 4}},
        {"1 2 3\n4 5 6\n", 3, 2, {1, 2, 3, 4, 5, 6}},
        {"0\n0\n1\n0\n", 1, 4, {0, 0, 1, 0}}, /* zeros at the ends are taps too */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        expect_taps(rows[i].text, rows[i].channels, rows[i].taps, rows[i].values);
}

/* ---- masks of another rate ---- */

/* The Fourier transform at `hertz`; time zero at sample `zero`. */
static double complex response(const float *taps, size_t count, double zero, double hertz,
                               double rate)
{
    double complex sum = 0;
    for (size_t k = 0; k < count; k++) {
        double angle = -2 * acos(-1.0) * hertz / rate * ((double)k - zero);
        sum += (double)taps[k] * cexp(I * angle);
    }
    return sum;
}

/* Write a mask of another rate and a sound with an impulse at frame ZERO; the output has the
 * mask's response, up to the lower Nyquist frequency. */
static void check_resampling(uint32_t mask_rate, uint32_t rate, const struct sound *columns)
{
    enum { ZERO = 6000, LENGTH = 8000 };
    char expected[64];
    sound_save(columns, "m.wav");
    struct sound in = sound_create(WAVF, rate, 1, LENGTH);
    in.block.data[0][ZERO] = 1;
    sound_save(&in, "in.wav");
    struct command_result result =
        command_done("\"$HALO\" render -f in.wav out.wav --mask m.wav --json");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.rate, rate);
    ck_assert_uint_eq(out.block.frames, LENGTH - 1 + (size_t)command_number(result.out, "taps"));
    for (int i = 0; i < 2; i++) {
        snprintf(expected, sizeof expected, "%u", i ? mask_rate : rate);
        ck_assert_msg(strstr(result.err, expected) != NULL, "no %s in %s", expected, result.err);
    }
    double highest = 0.45 * fmin(mask_rate, rate);
    for (double hertz = 0; hertz <= highest; hertz += highest / 50) {
        double complex wanted =
            response(columns->block.data[0], columns->block.frames, 0, hertz, mask_rate);
        double complex got = response(out.block.data[0], out.block.frames, ZERO, hertz, rate);
        ck_assert_msg(cabs(got - wanted) < 2e-4, "%u to %u Hz, at %.0f Hz: %g%+gi, not %g%+gi",
                      mask_rate, rate, hertz, creal(got), cimag(got), creal(wanted), cimag(wanted));
    }
}

START_TEST(resampled_masks_keep_their_response)
{
    const uint32_t rates[][2] = {{44100, 48000}, {48000, 44100},  {96000, 48000}, {8000, 48000},
                                 {48000, 8000},  {192000, 44100}, {22050, 44100}, {48000, 47999}};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        /* A low-pass at an eighth of the rate, centred in its taps. */
        struct sound mask = sound_create(WAVF, rates[i][0], 1, 201);
        for (int k = -100; k <= 100; k++) {
            double x = acos(-1.0) * k / 4, window = 0.5 + 0.5 * cos(acos(-1.0) * k / 101);
            mask.block.data[0][k + 100] = (float)((k ? sin(x) / x : 1) * window / 4);
        }
        check_resampling(rates[i][0], rates[i][1], &mask);
        /* One tap: gain 1 at all frequencies, no delay. */
        mask = sound_create(WAVF, rates[i][0], 1, 1);
        mask.block.data[0][0] = 1;
        check_resampling(rates[i][0], rates[i][1], &mask);
    }
}

START_TEST(resampled_identity_changes_no_tone)
{
    enum { N = 48000 };
    struct sound in = sound_create(WAVF, 48000, 1, N);
    for (size_t i = 0; i < N; i++) {
        double window = sin(acos(-1.0) * (double)i / N);
        in.block.data[0][i] =
            (float)(0.9 * window * window * sin(2 * acos(-1.0) * 1000 / 48000 * (double)i));
    }
    sound_save(&in, "in.wav");
    sound_text("m.txt", "rate: 44100\n1\n");
    render_done("in.wav", "out.wav", "--mask m.txt --tail none");
    expect_close("out.wav", &in.block, 1e-4);
}

START_TEST(masks_of_the_same_or_no_rate_stay)
{
    const char *const texts[] = {"rate: 44100\n1\n0.5\n", "1\n0.5\n"};
    sound_noise_file("in.wav", 1, WAVF, 44100, 1, 100);
    for (size_t i = 0; i < 2; i++) {
        sound_text("m.txt", texts[i]);
        struct command_result result =
            command_done("\"$HALO\" render -f in.wav out.wav --mask m.txt --json");
        ck_assert_ptr_null(strstr(result.err, "resample"));
        ck_assert_double_eq(command_number(result.out, "taps"), 2);
        ck_assert_double_eq(command_number(result.out, "frames_out"), 101);
    }
}

/* Resampled, then routed: the columns keep their places. */
START_TEST(resampled_masks_are_routed)
{
    const struct mask_path paths[] = {{0, 0, LL}, {0, 1, LR}, {1, 0, RL}, {1, 1, RR}};
    struct sound four = sound_create(WAVF, 96000, 4, 1);
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 5000);
    for (size_t c = 0; c < 4; c++)
        four.block.data[c][0] = (float)(c + 1);
    sound_save(&four, "four.wav");
    /* Half-band noise, within the bands of both rates. */
    sound_text("low.txt", "0.25\n0.5\n0.25\n");
    render_done("in.wav", "low.wav", "--mask low.txt --mask low.txt --tail none");
    struct sound low = sound_load("low.wav");
    render_done("low.wav", "out.wav", "--mask four.wav --tail none");
    struct mask *mask = sound_mask(&four, paths, 4, 2);
    double **truth = truth_render(mask, low.block.data, 5000);
    struct block expected = stream_block(2, 5000);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 5000; i++)
            expected.data[c][i] = (float)truth[c][i];
    expect_close("out.wav", &expected, 0.02); /* the top of the band belongs to the resampler */
}

/* ---- beyond the boundaries ---- */

/* Frame `i` of a sound of `n` frames, extended before 0 and after n - 1. */
static float ghost(const char *boundary, const float *x, int64_t n, int64_t i)
{
    if (i >= 0 && i < n)
        return x[i];
    switch (boundary[2]) {
    case 'p': /* replicate: a a | a b c | c c */
        return x[i < 0 ? 0 : n - 1];
    case 'f': /* reflect: c b | a b c | b a */
        while (n > 1 && (i < 0 || i >= n))
            i = i < 0 ? -i : 2 * (n - 1) - i;
        return x[n > 1 ? i : 0];
    case 'a': /* wrap: b c | a b c | a b */
        return x[(i % n + n) % n];
    default:
        return 0;
    }
}

/* `before` and `after` ghost cells on either side, built by hand. */
static struct block padded(const struct block *x, const char *boundary, size_t before, size_t after)
{
    struct block out = stream_block(x->channels, before + x->frames + after);
    for (size_t c = 0; c < x->channels; c++)
        for (size_t i = 0; i < out.frames; i++)
            out.data[c][i] =
                ghost(boundary, x->data[c], (int64_t)x->frames, (int64_t)i - (int64_t)before);
    return out;
}

static void check_boundary(const char *boundary, size_t n, size_t taps, const char *align)
{
    size_t origin = strcmp(align, "centre") == 0 ? (taps - 1) / 2 : 0;
    command_clean();
    struct sound in = sound_noise("in.wav", n, WAVF, 48000, 2, n);
    struct sound columns = sound_noise_mask("m.wav", taps, 2, taps);
    render_done("in.wav", "out.wav", "--mask m.wav --edge %s --tail none --align %s", boundary,
                align);
    struct sound out = sound_load("out.wav");
    struct block around = padded(&in.block, boundary, taps - 1, taps - 1);
    struct mask *mask = sound_mask(&columns, NULL, 0, 2);
    ck_assert_msg(out.block.frames == n, "%s, %zu frames, %zu taps, %s: %zu frames", boundary, n,
                  taps, align, out.block.frames);
    sound_expect_truth(&out, mask, &around, taps - 1 + origin);
}

START_TEST(boundaries_are_ghost_cells)
{
    const char *const boundaries[] = {"zero", "replicate", "reflect", "wrap"};
    const size_t lengths[] = {1, 2, 3, 100, 5000}, taps[] = {1, 2, 65, 1000};
    for (size_t e = 0; e < 4; e++)
        for (size_t n = 0; n < 5; n++)
            for (size_t t = 0; t < 4; t++) {
                check_boundary(boundaries[e], lengths[n], taps[t], "causal");
                if (lengths[n] != 2)
                    check_boundary(boundaries[e], lengths[n], taps[t], "centre");
            }
}

/* The sound is extended, not each stage's input: ghost cells reach through all masks. */
START_TEST(boundaries_hold_for_masks_in_a_row)
{
    const char *const boundaries[] = {"replicate", "reflect", "wrap"};
    for (size_t e = 0; e < 3; e++) {
        command_clean();
        struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 1, 700);
        sound_noise_file("a.wav", 2, WAVF, 48000, 1, 301);
        sound_noise_file("b.wav", 3, WAVF, 48000, 1, 64);
        render_done("in.wav", "out.wav",
                    "--mask a.wav --mask b.wav --gain -20 --edge %s --tail none", boundaries[e]);
        struct block around = padded(&in.block, boundaries[e], 363, 0);
        struct block once = filtered(&around, "a.wav", NULL, 0, 0.1);
        struct block twice = filtered(&once, "b.wav", NULL, 0, 1);
        memmove(twice.data[0], twice.data[0] + 363, 700 * sizeof(float));
        twice.frames = 700;
        expect_close("out.wav", &twice, 1e-5);
    }
}

/* A part is a sound of its own: what it is extended by is its own, too. */
START_TEST(boundaries_hold_for_parts)
{
    static const struct {
        const char *options;
        size_t first, frames;
    } parts[] = {{"--start 0.25", 200, 500},
                 {"--duration 0.1", 0, 80},
                 {"--end 0.5", 0, 400},
                 {"--start 0.125 --end 0.375", 100, 200},
                 {"--start 0.87375 --channel 2,1", 699, 1}};
    const char *const boundaries[] = {"zero", "replicate", "reflect", "wrap"}, *const kinds[] = {
                                                                                   "wav", "flac",
                                                                                   "caf"};
    struct sound in = sound_noise("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 800, 2, 700);
    sound_noise_file("m.wav", 2, WAVF, 800, 1, 301);
    command_done("for k in flac caf; do \"$HALO\" render in.wav in.$k -q; done");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        size_t first = parts[i].first, frames = parts[i].frames;
        struct sound cut = sound_create(in.format, in.rate, 2, frames);
        for (size_t c = 0; c < 2; c++)
            memcpy(cut.block.data[i == 4 ? 1 - c : c], in.block.data[c] + first,
                   frames * sizeof(float));
        sound_save(&cut, "cut.wav");
        for (size_t e = 0; e < 4; e++) {
            const char *kind = kinds[(e + i) % 3];
            render_done("cut.wav", "right.wav",
                        "--mask m.wav --edge %s --tail none --format float --quiet", boundaries[e]);
            command_done("\"$HALO\" render in.%s out.wav -qf --mask m.wav --edge %s --tail none "
                         "--format float %s && cmp out.wav right.wav",
                         kind, boundaries[e], parts[i].options);
        }
    }
}

START_TEST(boundaries_need_no_tail)
{
    const char *const boundaries[] = {"replicate", "reflect", "wrap"};
    sound_noise_file("in.wav", 1, WAVF, 48000, 1, 100);
    sound_noise_file("m.wav", 2, WAVF, 48000, 1, 10);
    for (size_t e = 0; e < 3; e++) {
        command_refused(2, "--tail none",
                        "\"$HALO\" render in.wav out.wav --mask m.wav --tail full --edge %s",
                        boundaries[e]);
        command_refused(2, "--tail none",
                        "\"$HALO\" render in.wav out.wav --mask m.wav --edge %s --tail until:-60",
                        boundaries[e]);
    }
    render_done("in.wav", "out.wav", "--mask m.wav --edge zero --tail full");
}

/* A stream knows its start once it has arrived, and never its end in advance: modes that work
 * are right, the others are refused with the reason. */
START_TEST(boundaries_of_streams_are_right_or_refused)
{
    const struct {
        const char *boundary, *align;
        bool must_work, must_fail;
    } rows[] = {
        {"zero", "causal", true, false},       {"zero", "centre", true, false},
        {"replicate", "causal", false, false}, {"replicate", "centre", false, false},
        {"reflect", "causal", false, false},   {"reflect", "centre", false, false},
        {"wrap", "causal", false, true},       {"wrap", "centre", false, true},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        command_clean();
        sound_noise_file("in.wav", 1, WAVF, 48000, 2, 5000);
        sound_noise_file("m.wav", 2, WAVF, 48000, 1, 301);
        char options[128];
        snprintf(options, sizeof options, "--mask m.wav --tail none --edge %s --align %s",
                 rows[i].boundary, rows[i].align);
        render_done("in.wav", "file.wav", "%s", options);
        struct command_result result =
            command_run("cat in.wav | \"$HALO\" render - pipe.wav %s", options);
        ck_assert_msg(!rows[i].must_work || result.code == 0, "%s: %s", options, result.err);
        ck_assert_msg(!rows[i].must_fail || result.code != 0, "%s: not refused", options);
        if (result.code == 0) {
            struct sound file = sound_load("file.wav"), pipe = sound_load("pipe.wav");
            sound_expect_same(&pipe, &file);
            continue;
        }
        command_refused(0, "seek", "cat in.wav | \"$HALO\" render - pipe.wav %s", options);
    }
}

/* ---- align and tail ---- */

/* numpy's convolve(x, h, "same"): output i is the full convolution's i + (taps - 1) / 2. */
START_TEST(centre_follows_textbook_indexing)
{
    const size_t taps[] = {1, 2, 3, 4, 5, 64, 65, 1000, 1001};
    for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
        command_clean();
        struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 2, 800);
        struct sound columns = sound_noise_mask("m.wav", 2, 1, taps[t]);
        struct mask *mask = sound_mask(&columns, NULL, 0, 2);
        render_done("in.wav", "out.wav", "--mask m.wav --align centre --tail none");
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.frames, 800);
        sound_expect_truth(&out, mask, &in.block, (taps[t] - 1) / 2);
        /* With its tail the sound starts at the same place and has the documented length. */
        render_done("in.wav", "out.wav", "--mask m.wav --align centre");
        out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.frames, 800 + taps[t] - 1);
        size_t origin = (taps[t] - 1) / 2, length = out.block.frames;
        for (size_t c = 0; c < 2; c++)
            for (size_t i = length - origin; i < length; i++)
                ck_assert_msg(fabs((double)out.block.data[c][i]) < 1e-5, "%zu taps, frame %zu: %g",
                              taps[t], i, (double)out.block.data[c][i]);
        out.block.frames = length - origin;
        sound_expect_truth(&out, mask, &in.block, origin);
        out.block.frames = length;
    }
}

START_TEST(odd_symmetric_masks_shift_no_phase)
{
    struct sound in = sound_create(WAVF, 48000, 1, 1001);
    in.block.data[0][500] = 1;
    sound_save(&in, "in.wav");
    sound_text("m.txt", "1\n2\n4\n2\n1\n");
    render_done("in.wav", "out.wav", "--mask m.txt --align centre --tail none");
    struct sound out = sound_load("out.wav");
    const float expected[] = {0, 1, 2, 4, 2, 1, 0};
    for (size_t k = 0; k < 7; k++)
        ck_assert_double_le(fabs((double)(out.block.data[0][497 + k] - expected[k])), 1e-6);
}

START_TEST(tails_have_the_length_promised)
{
    const size_t lengths[] = {0, 1, 2, 1023, 1024, 1025, 70001}, taps[] = {1, 2, 1000, 30001};
    for (size_t n = 0; n < sizeof lengths / sizeof *lengths; n++)
        for (size_t t = 0; t < sizeof taps / sizeof *taps; t++) {
            command_clean();
            struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 1, lengths[n]);
            struct sound columns = sound_noise_mask("m.wav", 2, 1, taps[t]);
            render_done("in.wav", "full.wav", "--mask m.wav --tail full");
            render_done("in.wav", "default.wav", "--mask m.wav");
            render_done("in.wav", "none.wav", "--mask m.wav --tail none");
            struct sound full = sound_load("full.wav"), none = sound_load("none.wav");
            ck_assert_msg(full.block.frames == lengths[n] + taps[t] - 1,
                          "%zu frames, %zu taps: %zu out", lengths[n], taps[t], full.block.frames);
            ck_assert_uint_eq(none.block.frames, lengths[n]);
            struct mask *mask = sound_mask(&columns, NULL, 0, 1);
            sound_expect_truth(&full, mask, &in.block, 0);
            sound_expect_truth(&none, mask, &in.block, 0);
            command_done("cmp full.wav default.wav");
        }
}

/* A mask that decays by 60 dB in a second, is silent for a long time, and has a late echo. */
static void save_decay(const char *name, size_t echo)
{
    struct sound mask = sound_noise_mask(name, 5, 1, 100000);
    for (size_t k = 0; k < 100000; k++)
        mask.block.data[0][k] *= k < 96000 ? (float)pow(10, -3 * (double)k / 48000) : 0;
    if (echo)
        mask.block.data[0][echo] = 0.5f;
    sound_save(&mask, name);
}

static void check_until(const char *spec, double level, size_t echo)
{
    enum { N = 2000 };
    command_clean();
    sound_noise_file("in.wav", 6, WAVF, 48000, 1, N);
    save_decay("m.wav", echo);
    render_done("in.wav", "out.wav", "--mask m.wav --tail until:%s", spec);
    render_done("in.wav", "full.wav", "--mask m.wav");
    struct sound out = sound_load("out.wav"), full = sound_load("full.wav");
    size_t length = out.block.frames, last = N;
    for (size_t i = 0; i < full.block.frames; i++)
        if (fabs((double)full.block.data[0][i]) >= level && i + 1 > last)
            last = i + 1;
    ck_assert_msg(length == last, "until:%s, echo %zu: %zu frames, not %zu", spec, echo, length,
                  last);
    full.block.frames = length;
    sound_expect_same(&out, &full);
    full.block.frames = N + 100000 - 1;
}

START_TEST(tail_ends_when_it_stays_below)
{
    check_until("-80dB", 1e-4, 0);
    check_until("-80", 1e-4, 0);
    check_until("-20dB", 0.1, 0);
    check_until("-80dB", 1e-4, 98000); /* the gap before it is not the end */
    check_until("-300dB", 1e-15, 99999);
    check_until("60dB", 1000, 0); /* below the level from the start: the sound itself is kept */
}

START_TEST(shortest_sounds)
{
    const char *const options[] = {"",
                                   "--mask m.wav",
                                   "--mask m.wav --tail none",
                                   "--mask m.wav --align centre",
                                   "--mask m.wav --tail until:-80dB",
                                   "--normalize -1 --mask m.wav",
                                   "--gain 3"};
    const bool tail[] = {false, true, false, true, true, true, false};
    for (size_t frames = 0; frames < 2; frames++)
        for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
            command_clean();
            sound_noise_file("in.wav", 1, WAV16, 48000, 2, frames);
            sound_noise_file("m.wav", 2, WAVF, 48000, 1, 64);
            render_done("in.wav", "out.wav", "%s", options[i]);
            struct sound out = sound_load("out.wav");
            size_t expected = tail[i] ? frames + 63 : frames;
            if (strstr(options[i], "until") && frames == 0)
                expected = 0; /* silence stays below the level */
            ck_assert_msg(out.block.frames == expected, "%zu frames, %s: %zu out", frames,
                          options[i], out.block.frames);
            command_done("cat in.wav | \"$HALO\" render - - %s | cat >pipe.wav", options[i]);
            out = sound_load("pipe.wav");
            ck_assert_uint_eq(out.block.frames, expected);
        }
}

/* ---- the report ---- */

static const char *report_text(json_t *root, const char *key)
{
    const char *text = json_string_value(json_object_get(root, key));
    ck_assert_msg(text != NULL, "no text \"%s\"", key);
    return text;
}

START_TEST(report_is_complete)
{
    sound_noise_file("in.wav", 1, WAV16, 44100, 2, 10000);
    sound_noise_file("m.wav", 2, WAVF, 44100, 2, 300);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --mask m.wav,gain=-20 --json --backend cpu");
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"frames_in", 10000}, {"frames_out", 10299}, {"rate", 44100}, {"channels", 2},
                   {"taps", 300},        {"latency", 0},        {"clipped", 0}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        ck_assert_msg(command_number(result.out, numbers[i].key) == numbers[i].value, "%s: %g",
                      numbers[i].key, command_number(result.out, numbers[i].key));
    struct sound out = sound_load("out.wav");
    double peak = 0;
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < 10299; i++)
            peak = fmax(peak, fabs((double)out.block.data[c][i]));
    ck_assert_double_eq_tol(command_number(result.out, "peak"), peak, 2.0 / 32768);
    ck_assert_double_ge(command_number(result.out, "block"), 1);
    double seconds = command_number(result.out, "seconds");
    ck_assert_double_gt(seconds, 0);
    ck_assert_double_eq_tol(command_number(result.out, "times_real_time") * seconds,
                            10299 / 44100.0, 0.01);
    json_t *root = command_json(result.out);
    ck_assert(strstr(report_text(root, "mask"), "m.wav"));
    ck_assert_str_eq(report_text(root, "backend"), "cpu");
    ck_assert_uint_gt(strlen(report_text(root, "algorithm")), 0);
}

START_TEST(report_has_the_latency_of_centred_masks)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 1, 1000);
    sound_noise_file("m.wav", 2, WAVF, 48000, 1, 301);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --mask m.wav --align centre --json");
    ck_assert_double_ge(command_number(result.out, "latency"), 150);
}

/* The report is valid JSON whatever the file names; names need not be UTF-8. */
START_TEST(report_survives_strange_names)
{
    const char *const names[] = {"a \"b\".wav", "c\\d.wav", "e\tf.wav", "ü.wav", "g\xff.wav"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        command_clean();
        sound_noise_file("in.wav", 1, WAV16, 48000, 1, 100);
        struct command_result result =
            command_done("\"$HALO\" render in.wav '%s' --json", names[i]);
        ck_assert_double_eq(command_number(result.out, "frames_out"), 100);
    }
}

/* Of a sound that is not spoiled. */
START_TEST(quiet_prints_nothing)
{
    sound_noise_file("in.wav", 1, WAVF, 44100, 1, 10000);
    sound_noise_file("m.wav", 2, WAVF, 48000, 2, 300);
    struct command_result result = command_done(
        "\"$HALO\" render in.wav out.flac --mask m.wav --gain -40 --quiet"); /* resamples */
    ck_assert_str_eq(result.out, "");
    ck_assert_str_eq(result.err, "");
    result = command_done("\"$HALO\" render in.wav clip.flac --mask m.wav --gain 40 --quiet");
    ck_assert_str_eq(result.out, "");
    ck_assert_uint_eq(command_lines(result.err), 1);
    command_expect(result.err, " samples clipped; ");
    /* Standard error holds a report, which says so, too. */
    result = command_done("\"$HALO\" render in.wav - --format pcm16 --gain 40 --json >stream.wav");
    ck_assert_double_gt(command_number(result.err, "clipped"), 0);
    result = command_done("\"$HALO\" render in.wav out.wav --mask m.wav --quiet --json");
    ck_assert_str_eq(result.err, "");
    ck_assert_double_eq(command_number(result.out, "frames_in"), 10000);
    ck_assert_uint_eq(command_lines(command_run("\"$HALO\" render -q no.wav x.wav").err), 1);
}

START_TEST(normal_output_is_text)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 500000);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --mask \"$FILTERS/hall.wav\"");
    ck_assert_str_eq(result.out, "");
    ck_assert_uint_ge(command_lines(result.err), 1);
    ck_assert(strchr(result.err, '\r') == NULL); /* no progress bar without a terminal */
    ck_assert(strchr(result.err, '\033') == NULL);
}

START_TEST(verbose_reports_the_paths)
{
    /* For a true-stereo mask: from which input by which column to which output. */
    const unsigned paths[][3] = {{1, 1, 1}, {1, 2, 2}, {2, 3, 1}, {2, 4, 2}};
    const unsigned other[][3] = {{1, 1, 1}, {1, 3, 2}, {2, 4, 1}, {2, 2, 2}};
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 100);
    sound_noise_file("m.wav", 2, WAVF, 48000, 4, 30);
    for (int o = 0; o < 2; o++) {
        struct command_result result =
            command_done("\"$HALO\" render -f in.wav out.wav --mask m.wav%s --verbose",
                         o ? ",order=llrrlrrl" : "");
        for (size_t p = 0; p < 4; p++) {
            const unsigned *path = o ? other[p] : paths[p];
            char expected[96];
            snprintf(expected, sizeof expected, "input %u -> mask channel %u -> output %u", path[0],
                     path[1], path[2]);
            ck_assert_msg(strstr(result.err, expected) != NULL, "no \"%s\" in\n%s", expected,
                          result.err);
        }
        ck_assert_str_eq(result.out, "");
    }
    struct command_result normal = command_done("\"$HALO\" render -f in.wav out.wav --mask m.wav");
    ck_assert_ptr_null(strstr(normal.err, "->"));
}

/* A quarter of the rate, sampled between its peaks: the true peak is 3 dB above the samples. */
static void check_true_peak(uint32_t rate)
{
    command_clean();
    struct sound in = sound_create(WAVF, rate, 1, 48000);
    for (size_t i = 0; i < 48000; i++) {
        double window = fmin(1, fmin((double)i, 47999 - (double)i) / 4800);
        in.block.data[0][i] = (float)(0.5 * window * (i % 4 < 2 ? 1 : -1) * sqrt(0.5));
    }
    sound_save(&in, "in.wav");
    struct command_result result = command_done("\"$HALO\" render in.wav out.wav --verbose --json");
    ck_assert_double_eq_tol(20 * log10(command_number(result.out, "peak")), -9.03, 0.02);
    const char *reply = strstr(result.err, "true peak ");
    ck_assert_msg(reply != NULL, "%s", result.err);
    ck_assert_double_eq_tol(strtod(reply + strlen("true peak "), NULL), -6.02, 0.1);
}

START_TEST(verbose_reports_the_true_peak)
{
    static const uint32_t rates[] = {1, 2, 16, 17, 8000, 48000, 96000, 192000, 768000};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++)
        check_true_peak(rates[i]);
}

/* The output on a terminal: standard error is one, the rest is not. */
static void run_on_terminal(const char *line, char *text, size_t capacity)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    ck_assert_int_ge(terminal, 0);
    ck_assert(grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    char name[64];
    snprintf(name, sizeof name, "%s", ptsname(terminal));
    int keep_open = open(name, O_RDWR | O_NOCTTY);
    fcntl(terminal, F_SETFL, O_NONBLOCK);
    size_t length = 0;
    pid_t process = command_start("{ %s; } 2>%s", line, name);
    int code = command_wait(process).code;
    ssize_t got;
    while (length < capacity - 1 &&
           (got = read(terminal, text + length, capacity - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = '\0';
    close(keep_open);
    close(terminal);
    ck_assert_msg(code == 0, "exit code %d: %s", code, text);
}

START_TEST(terminal_shows_progress)
{
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    if (terminal < 0) {
        puts("not run: terminal_shows_progress, since there are no pseudo terminals here");
        return;
    }
    close(terminal);
    static char text[4096]; /* as much as a terminal buffers */
    const char *const slowly = "{ head -c 2000000 in.wav; sleep 0.5; tail -c +2000001 in.wav; } | "
                               "\"$HALO\" render - out.wav --force --gain 1";
    char line[256];
    command_clean();
    sound_noise_file("in.wav", 1, WAV16, 48000, 1, 2000000);
    run_on_terminal(slowly, text, sizeof text);
    ck_assert_msg(strchr(text, '\r') != NULL && strchr(text, '%') != NULL, "%s", text);
    ck_assert_msg(strstr(text, "real time") && strstr(text, "left"), "%s", text);
    snprintf(line, sizeof line, "%s --quiet", slowly);
    run_on_terminal(line, text, sizeof text);
    ck_assert_str_eq(text, "");
}

/* ---- backends ---- */

START_TEST(backends_agree)
{
    const char *const backends[] = {"auto", "cpu", "direct"};
    const struct mask_path paths[] = {{0, 0, LL}, {0, 1, LR}, {1, 0, RL}, {1, 1, RR}};
    struct sound in = sound_noise("in.wav", 1, WAVF, 48000, 2, 20000);
    struct sound columns = sound_noise_mask("m.wav", 2, 4, 3001);
    struct mask *mask = sound_mask(&columns, paths, 4, 2);
    for (size_t b = 0; b < 3; b++) {
        struct command_result result = command_done(
            "\"$HALO\" render -f in.wav out.wav --mask m.wav --json --backend %s", backends[b]);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.frames, 23000);
        sound_expect_truth(&out, mask, &in.block, 0);
        json_t *root = command_json(result.out);
        if (b > 0)
            ck_assert_str_eq(report_text(root, "backend"), backends[b]);
        else
            ck_assert_str_ne(report_text(root, "backend"), "auto"); /* the names accepted */
    }
}

START_TEST(auto_reports_its_choice)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 1, 100);
    sound_noise_file("m.wav", 2, WAVF, 48000, 1, 10);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --mask m.wav --verbose");
    ck_assert(strstr(result.err, "cpu") || strstr(result.err, "direct"));
}

/* No GPU, or a build without CUDA: auto falls back to the CPU, an explicit request fails with a
 * message. */
START_TEST(missing_gpu_is_reported)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 1, 1000);
    sound_noise_file("m.wav", 2, WAVF, 48000, 1, 10);
    static const char *const options[] = {"--backend cuda", "--kernel tiled", "--gpu-mode resident",
                                          "--devices 0"};
    for (size_t w = 0; w < 4; w++)
        command_refused(1, "--backend cpu",
                        "CUDA_VISIBLE_DEVICES= \"$HALO\" render in.wav out.wav --mask m.wav %s",
                        options[w]);
    command_done("CUDA_VISIBLE_DEVICES= \"$HALO\" render in.wav out.wav --mask m.wav");
}

START_TEST(blocks_of_any_length_work)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 5000);
    sound_noise_file("m.wav", 2, WAVF, 48000, 2, 700);
    static const size_t blocks[] = {1, 64, 100, 4096, 1000000};
    for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
        render_done("in.wav", "out.wav", "--mask m.wav --block %zu", blocks[b]);
        sound_expect_filtered("out.wav", "in.wav", "m.wav");
    }
}

START_TEST(threads_give_the_same_bytes)
{
    const char *const masks[] = {"hall.wav", "lowpass-1k.wav", "gaussian.txt",
                                 "room-true-stereo.wav"};
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 400000);
    for (size_t m = 0; m < 4; m++) {
        for (int threads = 1; threads <= 3; threads++)
            command_done("\"$HALO\" render -f in.wav %d.wav --threads %d --mask \"$FILTERS/%s\"",
                         threads, threads, masks[m]);
        command_done("cmp 1.wav 2.wav && cmp 1.wav 3.wav");
    }
}

START_TEST(long_masks_on_long_sounds)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 1, 300000);
    sound_noise_mask("m.wav", 2, 1, 100000);
    render_done("in.wav", "out.wav", "--mask m.wav");
    sound_expect_filtered("out.wav", "in.wav", "m.wav");
}
