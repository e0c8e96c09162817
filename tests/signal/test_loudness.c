/* Loudness: the sine cases of EBU Tech 3341 (table 1), and recordings and noise against ffmpeg's
 * meter, where installed. */
#include "base/noise.h"
#include "command.h"
#include "signal/loudness.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"

#include <ebur128.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, SKIPPED = 77 };

static struct loudness *meter_of(size_t channels)
{
    struct loudness *meter;
    ck_assert_int_eq(loudness_create(RATE, channels, &meter), STATUS_OK);
    return meter;
}

/* A 1 kHz sine of some seconds, at a peak level for each channel (dBFS). */
static void add_sine(struct loudness *meter, size_t channels, const double *levels, double seconds)
{
    size_t frames = (size_t)lrint(seconds * RATE);
    struct block block = stream_block(channels, frames);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            block.data[c][i] = (float)(audio_from_db(levels[c]) *
                                       sin(2 * acos(-1) * (double)(i % RATE) * 1000 / RATE));
    ck_assert_int_eq(loudness_add(meter, (const float *const *)block.data, frames), STATUS_OK);
}

static void add_stereo(struct loudness *meter, double level, double seconds)
{
    add_sine(meter, 2, (const double[]){level, level}, seconds);
}

static void expect_integrated(struct loudness *meter, double right)
{
    ck_assert_double_eq_tol(loudness_integrated(meter), right, 0.1);
    loudness_destroy(meter);
}

START_TEST(sines_match_ebu_loudness)
{
    struct loudness *meter = meter_of(2);
    add_stereo(meter, -23, 20); /* case 1 */
    expect_integrated(meter, -23);
    meter = meter_of(2);
    add_stereo(meter, -33, 20); /* case 2 */
    expect_integrated(meter, -33);
    meter = meter_of(2);
    add_stereo(meter, -36, 10); /* case 3 */
    add_stereo(meter, -23, 60);
    add_stereo(meter, -36, 10);
    expect_integrated(meter, -23);
    meter = meter_of(2);
    add_stereo(meter, -72, 10); /* case 4 */
    add_stereo(meter, -36, 10);
    add_stereo(meter, -23, 60);
    add_stereo(meter, -36, 10);
    add_stereo(meter, -72, 10);
    expect_integrated(meter, -23);
    meter = meter_of(2);
    add_stereo(meter, -26, 20); /* case 5 */
    add_stereo(meter, -20, 20.1);
    add_stereo(meter, -26, 20);
    expect_integrated(meter, -23);
}

START_TEST(channels_are_weighted)
{
    struct loudness *meter = meter_of(5);
    add_sine(meter, 5, (const double[]){-28, -28, -24, -30, -30}, 20); /* case 6 */
    expect_integrated(meter, -23);
    meter = meter_of(6);
    add_sine(meter, 6, (const double[]){-28, -28, -24, 0, -30, -30}, 20); /* bass is weighted out */
    expect_integrated(meter, -23);
    meter = meter_of(1);
    add_sine(meter, 1, (const double[]){-20}, 5);
    expect_integrated(meter, -23); /* one channel is 3 dB less than two */
    meter = meter_of(8);
    add_sine(meter, 8, (const double[]){-23, -23, -23, -23, -23, -23, -23, -23}, 5);
    expect_integrated(meter, -23 + 10 * log10(4));
}

START_TEST(short_sounds_have_a_loudness)
{
    struct loudness *meter = meter_of(2);
    ck_assert(isinf(loudness_integrated(meter)) && loudness_integrated(meter) < 0);
    ck_assert(isinf(loudness_rms(meter)));
    add_stereo(meter, -23, 0.2);
    ck_assert_double_eq_tol(loudness_integrated(meter), -23, 0.2);
    ck_assert_double_eq_tol(loudness_rms(meter), -23 - 10 * log10(2), 1e-4);
    add_stereo(meter, -23, 0.8);
    loudness_destroy(meter);

    meter = meter_of(2);
    add_stereo(meter, -INFINITY, 0.2);
    ck_assert(isinf(loudness_integrated(meter)) && isinf(loudness_rms(meter)));
    add_stereo(meter, -INFINITY, 4);
    ck_assert(isinf(loudness_integrated(meter)));
    loudness_destroy(meter);
}

/* Sines with an amplitude, a fraction of the rate and a phase in degrees: cases 15 to 19, with
 * tolerances of +0.2 dB and -0.4 dB. */
START_TEST(true_peaks_match_ebu)
{
    static const struct {
        double amplitude, fraction, phase, right;
    } cases[] = {
        {0.5, 4, 0, -6}, {0.5, 4, 45, -6}, {0.5, 6, 60, -6}, {0.5, 8, 67.5, -6}, {1.41, 4, 45, 3}};
    static float samples[RATE];
    const float *planar[] = {samples};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        struct true_peak *peak;
        for (size_t i = 0; i < RATE; i++) {
            double window = fmin(1, fmin((double)i, (double)(RATE - 1 - i)) / 4800);
            samples[i] =
                (float)(cases[k].amplitude * window *
                        sin(2 * acos(-1) * ((double)i / cases[k].fraction + cases[k].phase / 360)));
        }
        ck_assert_int_eq(true_peak_create(1, &peak), STATUS_OK);
        true_peak_add(peak, planar, RATE);
        double level = 20 * log10(true_peak_finish(peak));
        ck_assert_msg(level > cases[k].right - 0.4 && level < cases[k].right + 0.2,
                      "case %zu: %.2f dBTP", 15 + k, level);
        true_peak_destroy(peak);
    }
}

static float shaped(int shape, size_t i, uint64_t *state)
{
    float noise = noise_next(state);
    switch (shape) {
    case 0:
        return noise;
    case 1:
        return i % 5000 < 300 ? noise : noise / 50; /* bursts */
    case 2:
        return noise * (float)i / 30000; /* ever louder */
    case 3:
        return i > 29990 ? (i % 2 ? 0.9f : -0.9f) : 0; /* only at the end */
    case 4:
        return i % 4 < 2 ? 0.5f : -0.5f; /* beyond its samples */
    default:
        return i < 40 ? 0.8f : i % 777 == 0 ? 0.6f : noise / 9; /* loud at the start */
    }
}

/* What is left out, since it cannot matter, does not: beside libebur128 fed with everything. */
START_TEST(true_peaks_are_those_of_all_samples)
{
    enum { FRAMES = 30000 };
    static float samples[2][FRAMES + 64];
    static const size_t parts[] = {1, 7, 64, 1777, FRAMES};
    uint64_t state = 11;
    for (int shape = 0; shape < 6; shape++)
        for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
            double right = 0;
            struct true_peak *peak;
            ck_assert_int_eq(true_peak_create(2, &peak), STATUS_OK);
            for (size_t c = 0; c < 2; c++) {
                double own;
                for (size_t i = 0; i < FRAMES; i++)
                    samples[c][i] = shaped(c ? 0 : shape, i, &state) * (c ? 0.3f : 1);
                ebur128_state *all = ebur128_init(1, RATE, EBUR128_MODE_TRUE_PEAK);
                ck_assert_int_eq(ebur128_add_frames_float(all, samples[c], FRAMES + 64), 0);
                ck_assert_int_eq(ebur128_true_peak(all, 0, &own), 0);
                right = fmax(right, own);
                ebur128_destroy(&all);
            }
            for (size_t at = 0, part; at < FRAMES; at += part) {
                const float *planar[] = {samples[0] + at, samples[1] + at};
                part = FRAMES - at < parts[p] ? FRAMES - at : parts[p];
                true_peak_add(peak, planar, part);
            }
            ck_assert_double_eq(true_peak_finish(peak), right);
            true_peak_destroy(peak);
        }
}

/* At rates that libebur128 was not made for: without a crash, and as sound as elsewhere. */
START_TEST(odd_rates_are_measured_or_refused)
{
    static float samples[100000];
    const float *planar[] = {samples};
    static const uint32_t rates[] = {1, 2, 15, 16, 17, 18, 25, 999, 192000, 768000, 2822400};
    for (size_t i = 0; i < 100000; i++)
        samples[i] = i % 4 < 2 ? 0.5f : -0.5f;
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        struct loudness *meter = NULL;
        enum status status = loudness_create(rates[r], 1, &meter);
        ck_assert_msg((status == STATUS_OK) == (rates[r] >= 16), "%u Hz", rates[r]);
        if (status != STATUS_OK)
            continue;
        ck_assert_int_eq(loudness_add(meter, planar, 100000), STATUS_OK);
        (void)loudness_integrated(meter);
        ck_assert_double_eq_tol(loudness_rms(meter), -6.02, 0.01);
        loudness_destroy(meter);
    }
}

/* Feeding pieces of odd lengths gives the same result as feeding all at once. */
START_TEST(pieces_equal_the_whole)
{
    struct loudness *whole = meter_of(2), *pieces = meter_of(2);
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, 100000);
    const float *const *data = (const float *const *)sound.block.data;
    uint64_t state = 3;
    for (size_t i = 0; i < 200000; i++)
        sound.block.data[i % 2][i / 2] = noise_next(&state) / 4;
    ck_assert_int_eq(loudness_add(whole, data, 100000), STATUS_OK);
    for (size_t at = 0, part; at < 100000; at += part) {
        const float *from[] = {data[0] + at, data[1] + at};
        part = 100000 - at < 1777 ? 100000 - at : 1777;
        ck_assert_int_eq(loudness_add(pieces, from, part), STATUS_OK);
    }
    ck_assert_double_eq(loudness_integrated(whole), loudness_integrated(pieces));
    ck_assert_double_eq_tol(loudness_rms(whole), loudness_rms(pieces), 1e-9);
    ck_assert_double_eq_tol(loudness_rms(whole), audio_to_db(0.25 / sqrt(3)), 0.05);
    loudness_destroy(whole);
    loudness_destroy(pieces);
}

/* Noise between -20 and -75 LUFS, and silence: a gain moves stretches across the gate. */
START_TEST(gains_move_the_gate_as_libebur128_says)
{
    static const double gains[] = {0, -3, -7.5, -20, 10};
    static const uint32_t rates[] = {48000, 44100, 11025};
    for (size_t r = 0; r < sizeof rates / sizeof *rates; r++) {
        uint32_t rate = rates[r];
        struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate, 2, 12 * rate);
        struct loudness *meter;
        uint64_t state = 11;
        for (size_t i = 0; i < 24 * rate; i++) {
            double level = i / rate % 5 == 4 ? -INFINITY : -20 - 55.0 * (double)(i / 2) / rate / 12;
            sound.block.data[i % 2][i / 2] = noise_next(&state) * (float)audio_from_db(level);
        }
        ck_assert_int_eq(loudness_create(rate, 2, &meter), STATUS_OK);
        ck_assert_int_eq(
            loudness_add(meter, (const float *const *)sound.block.data, sound.block.frames),
            STATUS_OK);
        for (size_t g = 0; g < sizeof gains / sizeof *gains; g++) {
            struct sound louder = sound_create(sound.format, rate, 2, sound.block.frames);
            float gain = (float)audio_from_db(gains[g]);
            for (size_t i = 0; i < 24 * rate; i++)
                louder.block.data[i % 2][i / 2] = sound.block.data[i % 2][i / 2] * gain;
            ck_assert_double_eq_tol(loudness_integrated_with(meter, gains[g]),
                                    sound_libebur128_loudness(&louder), 1e-4);
        }
        ck_assert(isinf(loudness_integrated_with(meter, -60)));
        loudness_destroy(meter);
    }
}

static void compare(const char *path)
{
    struct loudness *meter;
    struct sound sound = sound_load(path);
    /* ffmpeg prints values every 100 ms. */
    size_t frames = sound.block.frames, step = sound.rate / 10, even = frames / step * step;
    const float *const *data = (const float *const *)sound.block.data;
    ck_assert_int_eq(loudness_create(sound.rate, sound.block.channels, &meter), STATUS_OK);
    ck_assert_int_eq(loudness_add(meter, data, even), STATUS_OK);
    ck_assert_double_eq_tol(loudness_integrated(meter), sound_ffmpeg_loudness(path), 0.1);
    loudness_destroy(meter);
}

START_TEST(recordings_match_ffmpeg_loudness)
{
    static const char *const names[] = {"voice", "guitar", "drums", "sweep", "pink-noise"};
    char path[512];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s.wav", getenv("WAV"), names[i]);
        compare(path);
    }
    sound_noise_file("noise.wav", 5, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 2, 4 * RATE);
    snprintf(path, sizeof path, "%s/noise.wav", command_folder());
    compare(path);
}

int main(void)
{
    bool is_there = system("command -v ffmpeg >/dev/null 2>&1") == 0;
    if (!is_there)
        suite_leave_out("recordings_match_ffmpeg_loudness");
    int failed = suite_run();
    if (failed || is_there)
        return failed;
    puts("skipped: ffmpeg is not installed");
    return SKIPPED;
}
