/* halo render --spectral: options, sound, report, and combination with other stages. */
#include "command.h"
#include "render_call.h"
#include "sound.h"
#include "spectral_truth.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE = 48000, N = 20000, TAIL = 2047 };

/* The largest difference of frames from `first` on, in dB of a's peak. */
static double difference_db(const struct sound *a, const struct sound *b, size_t first,
                            size_t frames)
{
    double worst = 0, peak = 0;
    ck_assert_uint_eq(a->block.channels, b->block.channels);
    ck_assert_uint_ge(a->block.frames, frames);
    ck_assert_uint_ge(b->block.frames, frames);
    for (size_t c = 0; c < a->block.channels; c++)
        for (size_t i = first; i < frames; i++) {
            double own = (double)a->block.data[c][i];
            worst = fmax(worst, fabs(own - (double)b->block.data[c][i]));
            peak = fmax(peak, fabs(own));
        }
    return 20 * log10(worst / peak);
}

static void expect_alike_from(const char *a, const char *b, size_t first, size_t frames, double db)
{
    struct sound one = sound_load(a), other = sound_load(b);
    double difference = difference_db(&one, &other, first, frames);
    ck_assert_msg(difference < db, "%s and %s differ by %g dB", a, b, difference);
}

static void expect_alike(const char *a, const char *b, size_t frames, double db)
{
    expect_alike_from(a, b, 0, frames, db);
}

static void save_noise(void)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, N);
}

START_TEST(identity_gives_the_sound_back)
{
    static const char *const options[] = {
        "",
        ",scale=db",
        ",size=4096",
        ",size=1024,hop=128,window=blackman",
        ",window=sine,hop=1024",
        ",edge=reflect",
        ",size=1000",
        ",mix=0.5",
        ",@mix=0.25",
    };
    save_noise();
    for (size_t o = 0; o < sizeof options / sizeof *options; o++)
        for (size_t block = 64; block <= 40000; block *= 25) {
            command_done("\"$HALO\" render in.wav out.wav -f --block %zu --tail none --spectral "
                         "\"$FILTERS/identity.mask2d%s\"",
                         block, options[o]);
            struct sound out = sound_load("out.wav");
            ck_assert_uint_eq(out.block.frames, N);
            expect_alike("in.wav", "out.wav", N, -120);
        }
    render_done("in.wav", "out.wav", "--spectral identity2d");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, N + TAIL);
}

/* From options to file, including the handling of the sound's end. */
static void check_truth(const char *spec, struct spectral_settings settings, struct mask2d *mask)
{
    render_done("in.wav", "out.wav", "--spectral %s", spec);
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    double *window = spectral_truth_window(&settings.window), worst = 0, peak = 0;
    const struct spectral_truth truth = {&settings, mask, window};
    ck_assert_uint_eq(out.block.frames, N + settings.window.size - 1);
    for (size_t c = 0; c < 2; c++) {
        double *y = spectral_truth_render(&truth, in.block.data[c], N, NULL);
        for (size_t i = 0; i < out.block.frames; i++) {
            worst = fmax(worst, fabs((double)out.block.data[c][i] - y[i]));
            peak = fmax(peak, fabs(y[i]));
        }
        free(y);
    }
    ck_assert_msg(worst < 1e-6 * peak, "%s: %g dB", spec, 20 * log10(worst / peak));
    free(window);
    mask2d_destroy(mask);
}

START_TEST(output_equals_the_truth)
{
    save_noise();
    check_truth("box2d:5x3", (struct spectral_settings){.window = {SPECTRAL_HANN, 2048, 512}},
                spectral_truth_mean(5, 3));
    check_truth("box2d:6x3,edge=reflect,size=512,scale=db",
                (struct spectral_settings){.window = {SPECTRAL_HANN, 512, 128},
                                           .scale = SPECTRAL_DB,
                                           .boundary = CONVOLVE2D_REFLECT,
                                           .end = N},
                spectral_truth_mean(6, 3));
    check_truth("box2d:1x9,edge=replicate,size=256,hop=64,window=hamming,mode=gain",
                (struct spectral_settings){.window = {SPECTRAL_HAMMING, 256, 64},
                                           .mode = SPECTRAL_GAIN,
                                           .boundary = CONVOLVE2D_REPLICATE,
                                           .end = N},
                spectral_truth_mean(1, 9));
}

/* The end of a pipe is not known in advance; with zeros beyond it that makes no difference. */
START_TEST(blocks_threads_and_pipes_make_no_difference)
{
    static const char *const spec[] = {"gaussian2d:7x7", "preset=harmonic", "preset=percussive",
                                       "median2d:9x31,part=residual,margin=2,edge=zero",
                                       "onset2d:5x5,scale=db,edge=zero"};
    save_noise();
    for (size_t w = 0; w < sizeof spec / sizeof *spec; w++) {
        render_done("in.wav", "a.wav", "--threads 1 --spectral %s", spec[w]);
        render_done("in.wav", "b.wav", "--threads 3 --block 777 --spectral %s", spec[w]);
        expect_alike("a.wav", "b.wav", N + TAIL, -120);
        if (strstr(spec[w], "preset"))
            continue;
        command_done("cat in.wav | \"$HALO\" render - c.wav -f --format float --spectral %s",
                     spec[w]);
        expect_alike("a.wav", "c.wav", N + TAIL, -120);
    }
}

/* Two stages commute, and the latency of each is accounted for. */
START_TEST(it_combines_with_other_stages)
{
    save_noise();
    render_done("in.wav", "a.wav", "--spectral box2d:3x3");
    render_done("a.wav", "b.wav", "--mask lowpass:1000 --gain -6");
    render_done("in.wav", "c.wav", "--spectral box2d:3x3 --mask lowpass:1000 --gain -6");
    expect_alike_from("b.wav", "c.wav", 2048, N, -120); /* a file has nothing before 0 */
    render_done(
        "in.wav", "d.wav",
        "--spectral identity2d --spectral identity2d,size=512 --mask lowpass:1000 --spectral identity2d,size=4096,edge=reflect");
    render_done("in.wav", "e.wav", "--mask lowpass:1000");
    expect_alike("e.wav", "d.wav", N, -115); /* three times */
    command_done("\"$HALO\" render in.wav f.wav --save-chain chain.yml --spectral "
                 "\"$FILTERS/box-5x5.mask2d\",scale=db,mix=0.5");
    render_done("in.wav", "g.wav", "--chain chain.yml");
    expect_alike("f.wav", "g.wav", N, -150);
    render_done("in.wav", "h.wav", "--spectral box2d:3x3,@bypass --tail none");
    expect_alike("in.wav", "h.wav", N, -150);
}

START_TEST(report_is_complete)
{
    save_noise();
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --json --block 512 --spectral "
                     "sharpen2d:3x5,size=1024 --spectral preset=harmonic");
    json_t *root = command_json(result.out);
    json_t *stage = json_array_get(json_object_get(root, "stages"), 0);
    static const struct {
        const char *key;
        json_int_t value;
    } numbers[] = {{"rows", 3}, {"columns", 5}, {"size", 1024}, {"hop", 256}, {"latency", 1024}};
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        ck_assert_int_eq(json_integer_value(json_object_get(stage, numbers[n].key)),
                         numbers[n].value);
    ck_assert(json_is_false(json_object_get(stage, "separable")));
    ck_assert_str_eq(json_string_value(json_object_get(stage, "window")), "hann");
    ck_assert_str_eq(json_string_value(json_object_get(stage, "backend")), "cpu");
    ck_assert_str_eq(json_string_value(json_object_get(stage, "spectral")),
                     "sharpen2d:3x5,size=1024");
    result = command_done("\"$HALO\" render in.wav out.wav -f --verbose --spectral box2d:3x3");
    command_expect(result.err, "3 x 3 coefficients, in two passes");
    command_expect(result.err, "frames of 2048, 512 apart, window hann, on cpu, latency ");
}

START_TEST(wrong_arguments_are_refused)
{
    static const struct {
        int code;
        const char *options, *message;
    } rows[] = {
        {1, "no.mask2d", "cannot open mask no.mask2d: No such file or directory"},
        {1, ".", "it is a directory"},
        {1, "/dev/null", "it is not a regular file"},
        {1, "in.wav", "it is not text"},
        {1, "box2d:200x200", "more than 16384 (64 KB)"},
        {2, "box2d:3x3,blur=1", "--spectral has the options size=, hop=,"},
        {2, "box2d:3x3,hop=700", "hops that do: 512, 256, 128, 64"},
        {2, "box2d:3x3,size=2047", "size= must be an even number"},
        {2, "box2d:3x3,size=4", "size="},
        {2, "box2d:3x3,window=round", "window= is one of hann, hamming, blackman, sine, rectangle"},
        {2, "box2d:3x3,scale=log", "scale= is one of linear, db"},
        {2, "box2d:3x3,mode=add", "mode= is one of magnitude, gain"},
        {2, "box2d:3x3,edge=wrap", "edge= is one of zero, replicate, reflect"},
        {2, "box2d:3x3,mix=2", "mix= is a number from 0 to 1"},
        {2, "box2d:3x3,preset=harmonic", "preset= has its own masks; remove box2d:3x3"},
        {2, "preset=drums", "preset= is one of harmonic, percussive"},
        {2, "preset=harmonic,mode=gain", "cannot be used with preset="},
        {2, "preset=harmonic,tones=drums", "tones= is one of notes, voice"},
        {2, "box2d:3x3,tones=voice", "tones= belongs to preset="},
        {2, "median2d:3x3,part=harmonic,scale=db", "cannot be used with median2d"},
        {2, "median2d:3x3,part=harmonic,preset=harmonic", "remove median2d:3x3"},
        {2, "median2d:3x3", "part= says what to keep: harmonic, percussive or residual"},
        {2, "median2d", "median2d:17x31"},
        {2, "median2d:4x3,part=harmonic", "rows and columns must be odd, not 4 x 3"},
        {2, "median2d:513x3,part=harmonic", "over 511 rows and columns at most, not 513 x 3"},
        {2, "median2d:3x3,part=both", "harmonic, percussive, residual"},
        {2, "median2d:3x3,part=harmonic,margin=0.5", "margin="},
        {2, "median2d:3x3,part=harmonic,power=0", "power="},
        {2, "box2d:3x3 --edge reflect --tail none", "--edge cannot be used with --spectral"},
    };
    save_noise();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        command_refused(rows[r].code, rows[r].message,
                        "\"$HALO\" render in.wav out.wav --spectral %s", rows[r].options);
    command_refused(2, "median2d takes medians and has no coefficients: use it in --spectral",
                    "\"$HALO\" mask make median2d:3x3,part=harmonic -o m.mask2d");
    command_done("printf '1 2\\n3\\n' >r.mask2d");
    command_refused(1, "cannot read mask r.mask2d: line 2: 1 columns where the rows before have 2",
                    "\"$HALO\" render in.wav out.wav --spectral r.mask2d");
}

static double energy_of(const struct sound *sound)
{
    double energy = 0;
    for (size_t c = 0; c < sound->block.channels; c++)
        for (size_t i = 0; i < sound->block.frames; i++)
            energy += pow((double)sound->block.data[c][i], 2);
    return energy;
}

/* Both presets on a recording: together they give all of it. The percussive share, in dB of the
 * rest. */
static double struck_db(const char *name)
{
    command_done("cp \"$WAV/%s\" in.wav", name);
    for (int preset = 0; preset < 2; preset++)
        command_done("\"$HALO\" render in.wav %c.wav -f --format float --tail none --spectral "
                     "preset=%s",
                     preset ? 'p' : 'h', preset ? "percussive" : "harmonic");
    struct sound in = sound_load("in.wav"), h = sound_load("h.wav"), p = sound_load("p.wav");
    double db = 10 * log10(energy_of(&p) / energy_of(&h));
    for (size_t c = 0; c < in.block.channels; c++)
        for (size_t i = 0; i < in.block.frames; i++)
            h.block.data[c][i] += p.block.data[c][i];
    ck_assert_double_lt(difference_db(&in, &h, 0, in.block.frames), -120);
    return db;
}

START_TEST(recordings_are_separated)
{
    double drums = struck_db("drums.wav"), guitar = struck_db("guitar.wav");
    ck_assert_msg(drums > guitar + 6, "drums %g dB, guitar %g dB", drums, guitar);
}
