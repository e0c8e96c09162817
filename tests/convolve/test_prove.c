/* halo render --prove and halo live --prove: what they report is true, good renders pass, and a
 * damaged kernel does not. */
#include "command.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16, WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

#define RENDER "\"$HALO\" render in.wav out.wav -f "

#define FAULTY "HALO=" HALO_FAULTY "; KERNEL_FAULT="

/* ---- good renders pass ---- */

static const char *const signals[] = {"dc", "bass", "clicks", "silence", "square"};
enum { SIGNALS = sizeof signals / sizeof *signals };

static float sample_of(size_t signal, size_t i)
{
    double bass = sin(2 * 3.14159265358979 * 50 * (double)i / 8000);
    const double values[SIGNALS] = {0.9, 0.9 * bass, i % 1777 == 5 ? 0.9 : 0, 0,
                                    bass >= 0 ? 0.9 : -0.9};
    return (float)values[signal];
}

static void make_sound(size_t signal, size_t channels, size_t frames)
{
    struct sound sound = sound_create(WAV16, 8000, channels, frames);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            sound.block.data[c][i] = sample_of(signal, i + 3 * c);
    sound_save(&sound, "in.wav");
}

/* A mask of one sign adds a constant sound up to the bound. */
static void make_masks(void)
{
    const size_t taps[] = {1, 20, 300, 20000};
    for (size_t t = 0; t < 4; t++) {
        char name[32];
        snprintf(name, sizeof name, "m%zu.wav", taps[t]);
        struct sound mask = sound_noise(name, taps[t], WAVF, 8000, 2, taps[t]);
        for (size_t c = 0; c < 2; c++)
            for (size_t k = 0; k < taps[t]; k++)
                mask.block.data[c][k] = fabsf(mask.block.data[c][k]) / (float)taps[t];
        sound_save(&mask, name);
    }
    sound_noise_file("matrix.wav", 3, WAVF, 8000, 4, 500);
}

START_TEST(hard_sounds_pass)
{
    static const char *const chains[] = {
        "--mask m1.wav",
        "--mask m20.wav",
        "--mask m300.wav",
        "--mask m20000.wav",
        "--mask matrix.wav,gain=-30",
        "--mask m300.wav --gain -3 --mask m20.wav,@mix=0.5 --mask m20000.wav",
        "--mask m300.wav --block 64",
        "--mask m300.wav --tail none --normalize -1",
        "--mask m300.wav --align centre --edge reflect",
        "--mask m300.wav --backend direct --format pcm24",
        "--mask m20000.wav --tail until:-40dB --threads 1",
    };
    make_masks();
    for (size_t s = 0; s < SIGNALS; s++) {
        make_sound(s, 2, 20000 + 60000 * (s % 2)); /* whole, or sampled */
        for (size_t i = 0; i < sizeof chains / sizeof *chains; i++) {
            struct command_result result = command_run(RENDER "%s --prove", chains[i]);
            ck_assert_msg(result.code == 0, "%s, %s: %s", signals[s], chains[i], result.err);
            command_expect(result.err, "proven: ");
            command_expect(result.err, "(bound -120 dB)");
        }
    }
}

/* ---- the report ---- */

/* A float file holds what the convolver made. */
static void check_report(size_t taps, size_t frames, const char *options)
{
    struct sound in = sound_noise("in.wav", 1, WAVF, 8000, 2, frames);
    struct sound columns = sound_noise("mask.wav", 2, WAVF, 8000, 2, taps);
    struct mask *mask = sound_mask(&columns, NULL, 0, 2);
    double **truth = truth_render(mask, in.block.data, frames);
    struct command_result result =
        command_done(RENDER "--mask mask.wav --prove=-110 --json -q %s", options);
    struct sound out = sound_load("out.wav");
    struct truth_error error = stream_error(&out.block, truth, mask, &in.block);
    json_t *report = command_json(result.out), *proof = json_object_get(report, "proof");
    ck_assert_double_eq_tol(command_json_number(proof, "error_db"), truth_error_bound_db(&error),
                            0.01);
    ck_assert_double_eq_tol(command_json_number(proof, "peak_error_db"),
                            truth_error_peak_db(&error), 0.01);
    ck_assert_double_eq(command_json_number(proof, "bound_db"), -110);
    ck_assert_double_eq(command_json_number(proof, "share"), 1);
    ck_assert_double_eq(command_json_number(proof, "frames"), (double)out.block.frames);
    ck_assert(json_is_true(json_object_get(proof, "holds")));
    json_t *stage = json_array_get(json_object_get(report, "stages"), 0);
    ck_assert_double_eq(command_json_number(json_object_get(stage, "proof"), "error_db"),
                        command_json_number(proof, "error_db"));
}

START_TEST(the_report_is_true)
{
    check_report(10, 50000, "");
    check_report(1000, 70000, "");
    check_report(1000, 70000, "--tail none");
    check_report(15000, 20000, "--backend direct");
    struct command_result result = command_done(RENDER "--mask mask.wav --json");
    json_t *report = command_json(result.out);
    ck_assert_ptr_null(json_object_get(report, "proof"));
}

/* 200 s at 8 kHz: ten seconds are more than one percent; 2,000 s: one percent is more. */
START_TEST(long_sounds_are_sampled)
{
    const size_t seconds[] = {200, 2000}, least[] = {80000, 160000};
    sound_noise_file("mask.wav", 2, WAVF, 8000, 1, 300);
    for (size_t i = 0; i < 2; i++) {
        sound_noise_file("in.wav", 1, WAV16, 8000, 1, 8000 * seconds[i]);
        struct command_result result =
            command_done(RENDER "--mask mask.wav,gain=-30 --prove --json -q");
        json_t *report = command_json(result.out), *proof = json_object_get(report, "proof");
        double frames = command_json_number(proof, "frames");
        ck_assert_msg(frames >= (double)least[i] && frames < 2 * (double)least[i], "%g frames",
                      frames);
    }
}

START_TEST(pipes_of_unknown_length_are_proven)
{
    sound_noise_file("in.wav", 1, WAV16, 8000, 1, 400000);
    sound_noise_file("mask.wav", 2, WAVF, 8000, 1, 300);
    struct command_result result =
        command_done("\"$HALO\" render in.wav - --container au -q | "
                     "\"$HALO\" render - out.wav --mask mask.wav,gain=-30 --prove --json -q");
    json_t *report = command_json(result.out), *proof = json_object_get(report, "proof");
    double frames = command_json_number(proof, "frames");
    ck_assert_msg(frames >= 80000 && frames < 120000, "%g frames", frames);
}

/* ---- what fails ---- */

START_TEST(what_fails_is_not_written)
{
    sound_noise_file("in.wav", 1, WAV16, 8000, 1, 20000);
    sound_noise_file("mask.wav", 2, WAVF, 8000, 1, 300);
    sound_text("old.wav", "precious\n");
    command_refused(1, "the proof failed: at ",
                    "\"$HALO\" render in.wav out.wav --mask mask.wav --save-chain c.yml "
                    "--prove=-200");
    ck_assert_str_eq(command_files(), "in.wav mask.wav old.wav");
    command_refused(1, "--mask mask.wav has an error of -1",
                    "\"$HALO\" render in.wav old.wav -f --mask mask.wav --prove=-200");
    command_refused(
        1, "above the bound of -200 dB; old.wav is not written",
        "\"$HALO\" render in.wav old.wav -f --mask mask.wav --prove=-200dB --normalize -1");
    command_done("grep precious old.wav");
    command_refused(1, "what standard output got cannot be trusted",
                    "\"$HALO\" render in.wav - --container wav --mask mask.wav --prove=-200 "
                    "--gain -40 >/dev/null");
}

START_TEST(values_are_checked)
{
    sound_noise_file("in.wav", 1, WAV16, 8000, 1, 2000);
    sound_text("mask.txt", "1\n-0.5\n");
    command_refused(2, "--prove must be a number of dB from -300 to 0",
                    RENDER "--mask mask.txt --prove=loud");
    command_refused(2, "--prove must be", RENDER "--mask mask.txt --prove=5");
    command_refused(2, "--prove needs a value", RENDER "--mask mask.txt --prove=");
    command_refused(2, "--prove must be", RENDER "--mask mask.txt --prove=-301");
    command_refused(2, "nothing to prove", RENDER "--gain -3 --prove");
    command_refused(2, "nothing to prove", RENDER "--prove");
    command_refused(2, "nothing to prove",
                    "\"$HALO\" live --device null --seconds 1 --plain --gain 3 --prove");
    command_refused(2, "is not an option", RENDER "--mask mask.txt --prove -100");
}

START_TEST(a_damaged_kernel_is_found)
{
    sound_noise_file("mask.wav", 2, WAVF, 8000, 2, 3000);
    sound_noise_file("in.wav", 1, WAV16, 8000, 2, 40000);
    command_refused(1, "the proof failed", FAULTY "1 " RENDER "--mask mask.wav,gain=-40 --prove");
    command_refused(1, "the proof failed", FAULTY "5 " RENDER "--mask mask.wav,gain=-40 --prove");
    command_done(FAULTY "1 " RENDER "--mask mask.wav,gain=-40"); /* else it is not noticed */
    sound_noise_file("in.wav", 1, WAV16, 8000, 2, 8000 * 300);
    command_refused(1, "the proof failed", FAULTY "50 " RENDER "--mask mask.wav,gain=-40 --prove");
    command_done(RENDER "--mask mask.wav,gain=-40 --prove");
}

/* ---- live ---- */

#define LIVE                                                                                       \
    "\"$HALO\" live --device null:in=in.wav,out=wet.wav --plain --no-feedback-guard --mask mask.wav,gain=-40 "

START_TEST(live_sound_is_proven)
{
    sound_noise_file("mask.wav", 2, WAVF, 8000, 2, 3000);
    sound_noise_file("in.wav", 1, WAV16, 8000, 2, 16000);
    struct command_result result = command_done(LIVE "--seconds 1.5 --prove --json");
    char *last = strstr(result.out, "{\"event\":\"report\"");
    if (!last)
        last = strstr(result.out, "{\"event\": \"report\"");
    ck_assert_ptr_nonnull(last);
    json_t *report = command_json(last), *proof = json_object_get(report, "proof");
    ck_assert_double_eq(command_json_number(proof, "share"), 1);
    double error = command_json_number(proof, "error_db");
    ck_assert_msg(error < -130 && error > -200, "%g dB", error);
    result = command_done(LIVE "--or --mask mask.wav,gain=-20 --seconds 1 --prove "
                               "--record-dry dry.wav");
    command_expect(result.err, "proven: ");
    result = command_done("\"$HALO\" render dry.wav heard.wav --replay dry.wav.log --prove");
    command_expect(result.err, "proven: ");
    result = command_run(LIVE "--seconds 1 --prove=-200");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "what was heard and recorded cannot be trusted");
    result = command_run(FAULTY "30 " LIVE "--seconds 1.5 --prove");
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "the proof failed");
}

/* A burst is heard only at the second of three rates: its proof fails as the device returns. */
START_TEST(a_failure_is_told_as_the_device_returns)
{
    enum { RATE = 48000, BEGIN = RATE, END = 3 * RATE / 2 };
    struct sound sound = sound_create(WAV16, RATE, 1, 2 * RATE);
    for (size_t i = BEGIN; i < END; i++)
        sound.block.data[0][i] = sample_of(1, i);
    sound_save(&sound, "in.wav");
    struct command_result result = command_run(
        "\"$HALO\" live --plain --no-feedback-guard --reconnect --seconds 2.5 --device "
        "null:in=in.wav,turn=%d,to=44100,lose=%d,back=1 --mask \"$FILTERS/hall.wav\",gain=-40 "
        "--prove=-200",
        RATE / 2, 2 * RATE);
    ck_assert_int_eq(result.code, 1);
    command_expect(result.err, "halo: the proof failed: ");
    command_expect(result.err, "halo: the device is back");
}
