/* Kinds sweep: and deconvolve:, from files to files. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"
#include "sweep/measurement.h"

#include <math.h>
#include <string.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE = 48000, BEFORE = 48, LATER = 7 };

/* sweep.wav, and rec.wav: of two microphones. The second hears the sound LATER, inverted and halved,
 * and a reflection. */
static void record(void)
{
    command_clean();
    struct command_result result =
        command_done("\"$HALO\" mask make sweep:seconds=1,to=22000,level=-12 -o sweep.wav");
    command_expect(result.err, "halo: sweep: seconds=1 is rounded to 1.050460, so that");
    struct sound sweep = sound_load("sweep.wav");
    sound_expect_format(&sweep, WAVF, RATE, 1, 50423);
    struct sound recorded = sound_create(WAVF, RATE, 2, 50423 + 24000);
    for (size_t i = 0; i < 50423; i++) {
        float sample = sweep.block.data[0][i];
        recorded.block.data[0][1000 + i] += sample;
        recorded.block.data[1][1000 + LATER + i] -= sample / 2;
        recorded.block.data[1][1500 + i] += sample / 4;
    }
    sound_save(&recorded, "rec.wav");
}

static void expect_taps(const char *name, size_t frames, double tolerance)
{
    struct sound made = sound_load(name);
    sound_expect_format(&made, WAVF, RATE, 2, frames);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < frames; i++) {
            double truth = c == 0                ? (i == BEFORE ? 1 : 0)
                           : i == BEFORE + LATER ? -0.5
                           : i == BEFORE + 500   ? 0.25
                                                 : 0;
            ck_assert_double_eq_tol(made.block.data[c][i], truth, tolerance);
        }
}

/* The measurement in a file, or NULL. */
static struct measurement *measured_of(const char *name)
{
    struct mask *mask = mask_loaded(name, NULL);
    struct measurement *measurement = NULL;
    if (mask->measured)
        ck_assert_int_eq(measurement_parse(mask->measured, &measurement), STATUS_OK);
    return measurement;
}

START_TEST(recordings_become_responses)
{
    record();
    command_done("\"$HALO\" mask make deconvolve:rec.wav,sweep=sweep.wav -o all.wav");
    expect_taps("all.wav", BEFORE + 23000, 1e-4);
    command_done("\"$HALO\" mask make deconvolve:rec.wav,keep=50ms,sweep=sweep.wav -o some.wav");
    expect_taps("some.wav", BEFORE + 2400, 1e-4);
    struct measurement *sweep = measured_of("sweep.wav"), *all = measured_of("all.wav");
    ck_assert_uint_eq(sweep->path_count, 0);
    ck_assert_uint_eq(all->path_count, 2);
    ck_assert_double_eq_tol(all->seconds, 1.050460, 1e-6);
    ck_assert_double_eq_tol(all->level, -12, 1e-9);
    ck_assert_double_eq_tol(all->paths[1].delay - all->paths[0].delay, LATER / 48000.0, 1e-7);
    ck_assert_double_ge(all->paths[1].snr_all, 90);
    ck_assert_double_eq_tol(all->paths[0].level[17], 0, 0.02);
    measurement_destroy(sweep);
    measurement_destroy(all);
}

/* The same without the parameters of the sweep: they are not in the file, or no longer true. */
START_TEST(sweeps_of_others_will_do)
{
    record();
    struct sound sweep = sound_load("sweep.wav");
    sound_save(&sweep, "plain.wav");
    command_done("\"$HALO\" mask make deconvolve:rec.wav,sweep=plain.wav -o all.wav");
    expect_taps("all.wav", BEFORE + 23000, 1e-3);
    ck_assert_ptr_null(measured_of("all.wav"));
}

/* The mask keeps the recording's rate where it is used. */
START_TEST(it_is_used_as_any_mask)
{
    record();
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, 2000);
    command_done("\"$HALO\" mask make deconvolve:rec.wav,sweep=sweep.wav,keep=0.1 -o m.wav");
    command_done("\"$HALO\" render in.wav a.wav -q --mask m.wav --align causal && "
                 "\"$HALO\" render in.wav b.wav -q --align causal "
                 "--mask deconvolve:rec.wav,sweep=sweep.wav,keep=0.1");
    struct sound a = sound_load("a.wav"), b = sound_load("b.wav");
    ck_assert_uint_eq(a.block.frames, b.block.frames);
    for (size_t i = 0; i < a.block.frames; i++)
        ck_assert_double_eq_tol(a.block.data[1][i], b.block.data[1][i], 1e-5);
    command_done("mkdir x && \"$HALO\" render in.wav c.wav -q -f --save-chain x/c.yml --collect "
                 "--mask deconvolve:rec.wav,sweep=sweep.wav && rm rec.wav sweep.wav && "
                 "\"$HALO\" render in.wav d.wav -q --chain x/c.yml && cmp c.wav d.wav");
}

START_TEST(faults_are_told)
{
    static const char *const refused[][2] = {
        {"deconvolve:rec.wav", "sweep= names the file that was played"},
        {"deconvolve:,sweep=sweep.wav", "deconvolve needs a value"},
        {"deconvolve:none.wav,sweep=sweep.wav", "cannot open mask none.wav: No such file"},
        {"deconvolve:rec.wav,sweep=none.wav", "cannot open mask none.wav: No such file"},
        {"deconvolve:sweep.wav,sweep=rec.wav", "record until after its end"},
        {"deconvolve:rec.wav,sweep=sweep.wav,keep=0.5s", "keep=0.5 s is more than rec.wav has"},
        {"deconvolve:rec.wav,sweep=sweep.wav,keep=x", "keep= must be from"},
        {"deconvolve:rec.wav,sweep=sweep.wav,rate=44100", "rec.wav has 48000 Hz: leave out rate="},
        {"deconvolve:rec.wav,sweep=slow.wav", "rec.wav has 48000 Hz, but slow.wav has 44100 Hz"},
        {"deconvolve:silent.wav,sweep=sweep.wav", "channel 1 of silent.wav is silent"},
        {"deconvolve:rec.wav,sweep=quiet.wav", "that was played is silent"},
        {"deconvolve:rec.wav,sweep=nan.wav", "tap 101 of channel 1 is not a number"},
        {"deconvolve:short.wav,sweep=sweep.wav", "short.wav ends 0.010 s after the sweep"},
        {"deconvolve:huge.wav,sweep=sweep.wav", "but at most 8388608 are possible"},
        {"sweep:seconds=500", "24005074 frames at 48000 Hz, but at most 8388608"},
        {"sweep:from=2000,to=1000", "not from 2000 to 1000 Hz"},
        {"sweep:to=25000", "to= must be from 1 to 24000 Hz"},
        {"sweep:seconds=0.1", "takes at least"},
    };
    record();
    sound_noise_file("slow.wav", 1, WAVF, 44100, 1, 1000);
    struct sound silent = sound_create(WAVF, RATE, 1, 60000), sweep = sound_load("sweep.wav");
    sound_save(&silent, "silent.wav");
    silent.block.frames = 1000;
    sound_save(&silent, "quiet.wav");
    silent.block.data[0][100] = NAN;
    sound_save(&silent, "nan.wav");
    silent.block.data[0][100] = 0;
    silent.block.frames = sweep.block.frames + 480;
    memcpy(silent.block.data[0], sweep.block.data[0], sweep.block.frames * sizeof(float));
    sound_save(&silent, "short.wav");
    sound_sparse("huge.wav", RATE, 1, 9000000);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        command_refused(0, refused[i][1], "\"$HALO\" mask make %s -o out.wav", refused[i][0]);
}

START_TEST(spoilt_recordings_are_told)
{
    record();
    command_done("\"$HALO\" render rec.wav hot.wav -q --gain 15 --format pcm16; true");
    struct command_result result =
        command_done("\"$HALO\" mask make deconvolve:hot.wav,sweep=sweep.wav -o a.wav");
    command_expect(result.err, "channel 1 of hot.wav is clipped at ");
    sound_noise_file("noise.wav", 3, WAVF, RATE, 1, 72000);
    result = command_done("\"$HALO\" mask make deconvolve:noise.wav,sweep=sweep.wav,keep=1ms "
                          "-o b.wav; true");
    command_expect(result.err, "channel 1 of noise.wav is mostly noise");
}
