/* Spectra of a live stream's sound (spectrum.h): sines, noise, silence, and what the step writes. */
#include "live/live.h"
#include "live/web/spectrum.h"
#include "signal/audio.h"
#include "sound/gain.h"
#include "suite.h"
#include "truth.h"

#include <math.h>

enum { BLOCK = 128 };

static struct live_history history;
static struct spectrum *spectrum;
static float db[SPECTRUM_BANDS];

static double centre(size_t band)
{
    return 1000 * pow(2, ((double)band - 68) / 12);
}

static size_t band_of(double hz)
{
    return (size_t)lround(fmax(12 * log2(hz / 1000) + 68, 0));
}

static void begin(size_t channels, uint32_t rate)
{
    ck_assert_int_eq(
        live_history_init(&history, channels, BLOCK, spectrum_history(channels, rate), 0),
        STATUS_OK);
    ck_assert_int_eq(spectrum_create(channels, rate, &spectrum), STATUS_OK);
}

static void end(void)
{
    spectrum_destroy(spectrum);
    live_history_free(&history);
}

/* Writes the same sound to all channels: a sine, or noise if `hz` is 0, and a constant. */
static void play(double hz, double constant, double rate, double seconds)
{
    const float *in[LIVE_CHANNELS_MOST];
    float sound[BLOCK];
    for (size_t c = 0; c < history.ring.channels; c++)
        in[c] = sound;
    for (uint64_t end = history.frames + (uint64_t)(seconds * rate); history.frames < end;) {
        truth_noise(history.frames, sound, BLOCK);
        for (size_t i = 0; i < BLOCK && hz > 0; i++)
            sound[i] = (float)sin(2 * M_PI * hz * (double)(history.frames + i) / rate);
        for (size_t i = 0; i < BLOCK && constant != 0; i++)
            sound[i] = (float)constant;
        live_history_write(&history, in);
    }
}

/* A full-scale sine reads `expected` dB in its band or the next one, and is far below elsewhere. */
static void expect_sine(double hz, double rate, double expected)
{
    size_t band = band_of(hz);
    double level = -INFINITY;
    for (size_t i = 0; i < 5; i++, (void)spectrum_read(spectrum, &history, db))
        play(hz, 0, rate, 1);
    ck_assert(spectrum_read(spectrum, &history, db));
    for (size_t i = band > 0 ? band - 1 : 0; i < SPECTRUM_BANDS && i <= band + 1; i++)
        level = fmax(level, db[i]);
    ck_assert_msg(fabs(level - expected) < 1, "%g Hz reads %g dB", hz, level);
    for (size_t i = 0; i < SPECTRUM_BANDS; i++)
        if (fabs((double)i - (double)band) > 12)
            ck_assert_msg(db[i] < expected - 80, "%g Hz reads %g dB in band %zu", hz, (double)db[i],
                          i);
}

START_TEST(a_sine_reads_its_level_in_its_band)
{
    static const double rates[] = {48000, 44100, 96000};
    for (size_t r = 0; r < 3; r++) {
        begin(1, (uint32_t)rates[r]);
        for (double hz = 20; hz < 19000; hz *= r == 0 ? 1.0421 : 1.37)
            expect_sine(hz, rates[r], 0);
        for (size_t band = 3; band < SPECTRUM_BANDS; band += 9) {
            expect_sine(centre(band), rates[r], 0);
            ck_assert_double_eq_tol(db[band], 0, 0.05);
            expect_sine(centre(band) * pow(2, 1.0 / 24), rates[r], 0); /* the edge of two bands */
        }
        end();
    }
}

START_TEST(white_noise_rises_by_3_db_an_octave)
{
    double power[SPECTRUM_BANDS] = {0};
    enum { READINGS = 400 };
    begin(2, 48000);
    play(0, 0, 48000, 4);
    for (size_t n = 0; n < READINGS; n++) {
        play(0, 0, 48000, 1);
        ck_assert(spectrum_read(spectrum, &history, db));
        for (size_t i = 0; i < SPECTRUM_BANDS; i++)
            power[i] += audio_from_db(db[i]) * audio_from_db(db[i]) / READINGS;
    }
    for (size_t octave = 0; octave < SPECTRUM_BANDS; octave += 12) {
        double error = 0;
        for (size_t i = octave; i < octave + 12; i++) {
            /* two channels of power 1/3, of which a full-scale sine has 1/2 */
            double width = centre(i) * (pow(2, 1.0 / 24) - pow(2, -1.0 / 24));
            double band = 10 * log10(power[i] / (2 * 2.0 / 3 * width / 24000));
            ck_assert(band > -0.8 && band < 1.6);
            error += band / 12;
        }
        ck_assert_msg(fabs(error) < 1, "octave %zu: %g dB", octave / 12, error);
    }
    end();
}

START_TEST(silence_constants_and_many_channels_read_what_they_are)
{
    begin(1, 48000);
    play(0, 1e-30, 48000, 4); /* no sound, and no zero either */
    ck_assert(spectrum_read(spectrum, &history, db));
    for (size_t i = 0; i < SPECTRUM_BANDS; i++)
        ck_assert_double_eq(db[i], SPECTRUM_LEAST);
    play(0, 1, 48000, 8);
    ck_assert(spectrum_read(spectrum, &history, db));
    for (size_t i = 0; i < SPECTRUM_BANDS; i++)
        ck_assert_double_lt(db[i], -90);
    end();
    begin(64, 48000);
    for (size_t i = 0; i < 50; i++, (void)spectrum_read(spectrum, &history, db))
        play(30, 0, 48000, 0.1);
    expect_sine(30, 48000, 10 * log10(64));
    end();
    begin(1, 16000); /* bands above half the rate are silent */
    expect_sine(5000, 16000, 0);
    ck_assert_double_eq(db[SPECTRUM_BANDS - 1], SPECTRUM_LEAST);
    end();
}

/* Writes 997 Hz much faster than real time, until told to stop. */
static void *write_fast(void *stop)
{
    static float sound[48000 + BLOCK];
    for (size_t i = 0; i < 48000 + BLOCK; i++)
        sound[i] = (float)sin(2 * M_PI * 997 * (double)i / 48000);
    while (!atomic_load((atomic_bool *)stop)) {
        const float *in = sound + history.frames % 48000;
        live_history_write(&history, &in);
    }
    return NULL;
}

static void expect_997(void)
{
    ck_assert_double_eq_tol(db[68], 0, 0.1);
    for (size_t i = 0; i < 56; i++)
        ck_assert_double_lt(db[i], -90);
}

START_TEST(an_overtaken_reader_has_no_reading)
{
    pthread_t thread;
    atomic_bool stop = false;
    size_t overtaken = 0;
    begin(1, 48000);
    play(997, 0, 48000, 0.3);
    ck_assert(!spectrum_read(spectrum, &history, db)); /* too short */
    play(997, 0, 48000, 9.7);
    ck_assert(spectrum_read(spectrum, &history, db));
    expect_997();
    ck_assert_int_eq(thread_start(&thread, "writer", THREAD_ORDINARY, write_fast, &stop), 0);
    while (overtaken < 20)
        if (spectrum_read(spectrum, &history, db))
            expect_997();
        else
            overtaken++;
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    ck_assert(spectrum_read(spectrum, &history, db));
    expect_997();
    end();
}

/* The step keeps what the device gets: after gain and limiter. */
START_TEST(the_output_is_kept_as_the_device_gets_it)
{
    struct filter *chain = NULL;
    struct live *live = NULL;
    float sound[BLOCK], heard[BLOCK];
    const float *in = sound;
    float *out = heard;
    struct live_settings settings = {
        .rate = 48000, .ceiling = 0.5, .gain = 0.25, .at_once = true, .heard = 4 * 48000};
    ck_assert_int_eq(gain_create(1, BLOCK, 1, &chain), STATUS_OK);
    ck_assert_int_eq(live_create(&settings, chain, NULL, NULL, &live), STATUS_OK);
    ck_assert_ptr_null(live_input_of(live));
    ck_assert_int_eq(spectrum_create(1, 48000, &spectrum), STATUS_OK);
    for (size_t n = 0; n < 4 * 48000 / BLOCK; n++) {
        for (size_t i = 0; i < BLOCK; i++)
            sound[i] = (float)sin(2 * M_PI * 1000 * (double)(n * BLOCK + i) / 48000);
        live_process(live, &in, &out);
    }
    ck_assert(spectrum_read(spectrum, live_output_of(live), db));
    ck_assert_double_eq_tol(db[68], 20 * log10(0.25), 0.05);
    spectrum_destroy(spectrum);
    live_destroy(live);
    settings.heard = 0;
    ck_assert_int_eq(live_create(&settings, chain, NULL, NULL, &live), STATUS_OK);
    ck_assert_ptr_null(live_output_of(live));
    live_destroy(live);
    filter_destroy(chain);
}
