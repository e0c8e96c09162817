/* Presets of halo live are changed to exactly. */
#include "convolve/convolver_backend.h"
#include "live_rig.h"
#include "plugin_rig.h"
#include "preset_rig.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AMP "http://lv2plug.in/plugins/eg-amp"
#define BEAT "urn:halo:test:beat-controls"

enum { RATE = LIVE_RIG_RATE, RISEN = RATE * 3 / 4 /* after the fade-in */ };

/* False, and the suite is skipped, where a plugin is missing. */
static bool is_there(const char *id)
{
    struct plugin_info *info = plugin_rig_describe("lv2", id);
    plugin_info_destroy(info);
    return info != NULL;
}

/* The number after `key` in the first line of the log with `line` in it. */
static size_t logged(const char *line, const char *key)
{
    struct command_result result = command_done("grep -m1 '%s' rec.wav.log", line);
    const char *at = strstr(result.out, key);
    ck_assert_msg(at != NULL, "%s", result.out);
    return strtoul(at + strlen(key), NULL, 10);
}

/* The largest difference from the crossfade of `old` and `new`, which begins at frame `at`,
 * relative to the peak, in dB, from frame `first` on. */
static double error_of_change(const struct block *out, const struct block *old,
                              const struct block *new, size_t first, size_t at, size_t fade)
{
    double peak = 0, error = 0;
    size_t frames = live_rig_frames_before_end(out);
    ck_assert_uint_gt(at, first);
    ck_assert_uint_gt(frames, at + fade);
    for (size_t c = 0; c < out->channels; c++)
        for (size_t i = first; i < frames; i++) {
            double t = i < at ? 0 : fmin(1, (double)(i - at) / (double)fade);
            double truth = (1 - t) * (double)old->data[c][i] + t * (double)new->data[c][i];
            peak = fmax(peak, fabs(truth));
            error = fmax(error, fabs(truth - (double)out->data[c][i]));
        }
    return 20 * log10(error / peak);
}

/* The recording changed from preset a to b, but for an error of at most `most` dB. */
static void expect_change(double most)
{
    size_t at = logged("\"preset\"", "\"frame\":"), fade = logged("\"preset\"", "\"fade\":");
    ck_assert_uint_eq(fade, RATE / 10);
    command_done(
        "\"$HALO\" render dry.wav a.wav -q -f --tail none --precision double --format double "
        "--chain config/halo/presets/a");
    command_done(
        "\"$HALO\" render dry.wav b.wav -q -f --tail none --precision double --format double "
        "--chain config/halo/presets/b");
    struct sound out = sound_load("rec.wav"), a = sound_load("a.wav"), b = sound_load("b.wav");
    double error = error_of_change(&out.block, &a.block, &b.block, RISEN, at, fade);
    ck_assert_msg(error < most, "%.1f dB", error);
}

/* False: a plugin missed a block. */
static bool take_from_a_to_b(size_t block)
{
    pid_t process = live_rig_start("--preset a --precision double --device null:in=in.wav "
                                   "--block %zu --fade 0.1 --record rec.wav --record-dry dry.wav "
                                   "--force",
                                   block);
    live_rig_record(1300);
    live_rig_keys("p");
    live_rig_wait("preset b");
    live_rig_record(1000);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    return !strstr(result.err, "missed a block");
}

/* From one chain to another with more taps, a gain and a share of the dry sound: before, during and
 * after, the output is the crossfade of what each of them would be alone. */
START_TEST(a_change_is_the_exact_crossfade)
{
    preset_rig_begin();
    preset_rig_make("a", "--mask room.txt,gain=-40");
    preset_rig_make("b", "--mask hall.txt,gain=-50,@mix=0.5 --gain -3 --mask half.txt");
    (void)take_from_a_to_b(256);
    expect_change(-140);
    live_rig_expect_replay();
}

/* Plugins in processes of their own are waited for as their chain catches up: they miss nothing.
 * Where the machine lets one miss a block, which is said, the take is made again. */
START_TEST(isolated_plugins_change_exactly)
{
    if (!is_there(AMP))
        return;
    preset_rig_begin();
    preset_rig_make("a", "--mask room.txt,gain=-40 --lv2 " AMP ",gain=-6");
    preset_rig_make("b", "--lv2 " AMP ",gain=6 --mask hall.txt,gain=-50 --lv2 " AMP ",gain=-3");
    int tries = 0;
    while (!take_from_a_to_b(1024) && tries < 10)
        tries++;
    if (tries == 10) {
        printf("the machine is too slow for isolated plugins\n");
        return;
    }
    expect_change(-120);
    live_rig_expect_replay();
}

/* A preset whose masks make different numbers of channels follows another; one channel plays on
 * both. */
START_TEST(masks_of_other_channels_are_changed_to)
{
    preset_rig_begin();
    char stages[512];
    const char *filters = getenv("FILTERS");
    snprintf(stages, sizeof stages, "--mask %s/quadrature.txt,gain=-6 --or --mask half.txt",
             filters);
    preset_rig_make_of(1, "a", stages);
    snprintf(stages, sizeof stages, "--mask quarter.txt --or --mask %s/quadrature.txt", filters);
    preset_rig_make_of(1, "b", stages);
    pid_t process = live_rig_start("--preset a --channels 1 --device null:in=mono.wav "
                                   "--block 256 --record rec.wav --record-dry dry.wav");
    live_rig_record(900);
    live_rig_keys("p");
    live_rig_wait("preset b");
    live_rig_keys("2");
    live_rig_wait_answer("mask 2 ");
    live_rig_record(300);
    live_rig_keys("1");
    live_rig_wait_answer("mask 1 ");
    live_rig_record(900);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    struct sound out = sound_load("rec.wav"), dry = sound_load("dry.wav");
    ck_assert_uint_eq(out.block.channels, 2);
    size_t end = live_rig_frames_before_end(&out.block), latency = 0;
    while (latency < RATE / 10 && fabs((double)out.block.data[0][end] -
                                       0.25 * (double)dry.block.data[0][end - latency]) > 1e-6)
        latency++;
    for (size_t i = end - RATE / 10; i < end; i++)
        for (size_t c = 0; c < 2; c++)
            ck_assert_double_eq_tol((double)out.block.data[c][i],
                                    0.25 * (double)dry.block.data[0][i - latency], 1e-6);
    live_rig_expect_replay();
}

/* The plugin's first channel is the tempo. A preset has that of its file, or none; --tempo comes
 * before it. */
static void expect_tempo(const char *options, double tempo)
{
    pid_t process = live_rig_start("--preset a %s --channels 1 --device null:in=mono.wav --block "
                                   "256 --fade 0.02 --record rec.wav --record-dry dry.wav --force",
                                   options);
    live_rig_record(900);
    live_rig_keys("p");
    live_rig_wait("preset b");
    live_rig_record(1500);
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    struct sound out = sound_load("rec.wav");
    /* A tempo of 0 is silence, fade-out or not. */
    size_t at = tempo > 0 ? live_rig_frames_before_end(&out.block) : out.block.frames - RATE / 5;
    ck_assert_double_eq_tol((double)out.block.data[0][at], tempo / 1000, 1e-4);
    live_rig_expect_replay();
}

START_TEST(a_preset_has_a_tempo)
{
    if (!is_there(BEAT))
        return;
    preset_rig_begin();
    preset_rig_make_of(1, "a", "--tempo 90,3/4 --no-isolate --lv2 " BEAT " --gain -60");
    preset_rig_make_of(1, "b", "--tempo 120 --no-isolate --lv2 " BEAT " --gain -60");
    command_expect(preset_rig_text("a"), "\ntempo: 90,3/4\n");
    expect_tempo("--no-isolate", 120);
    expect_tempo("--no-isolate --tempo 60", 60);
    command_done("sed -i '/^tempo/d' config/halo/presets/b");
    expect_tempo("--no-isolate", 0);
}

/* Masks are switched and controls changed before and after; the log of all that gives it again. */
START_TEST(a_take_with_presets_replays)
{
    preset_rig_begin();
    static const char *const steps[][2] = {
        {"2", NULL}, {"]", NULL}, {"p", "halo: preset b"},
        {"2", NULL}, {"-", NULL}, {"[", NULL},
        {" ", NULL}, {"1", NULL}, {"p", "halo: preset c"},
        {"2", NULL}, {" ", NULL}, {"p", "halo: preset d"},
    };
    preset_rig_make("a", "--mask room.txt,gain=-40 --or --mask half.txt");
    preset_rig_make("b", "--mask hall.txt,gain=-50 --or --mask quarter.txt --mask half.txt,@mix=1");
    preset_rig_make("c", "--mask quarter.txt --or --mask room.txt,gain=-40");
    preset_rig_make("d", "--mask half.txt --or --mask hall.txt,gain=-50");
    pid_t process = live_rig_start("--preset a --device null:in=in.wav "
                                   "--block 256 --record rec.wav --record-dry dry.wav");
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        live_rig_keys(steps[i][0]);
        live_rig_rest(60);
        if (steps[i][1])
            live_rig_wait(steps[i][1]);
    }
    live_rig_keys("pppp2q"); /* at the end, some do not come to pass */
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    struct command_result count = command_done("grep -c '\"preset\"' rec.wav.log");
    ck_assert_int_ge(atoi(count.out), 3);
    live_rig_expect_replay();
}

/* All chains are proven: the error of the first one counts where the second makes none, and the
 * other way round. A chain without a mask cannot be changed to. */
START_TEST(presets_are_proven)
{
    static const char *const chains[][2] = {{"--mask room.txt,gain=-40", "--mask half.txt"},
                                            {"--mask half.txt", "--mask room.txt,gain=-40"}};
    for (size_t i = 0; i < 2; i++) {
        preset_rig_begin();
        preset_rig_make("a", chains[i][0]);
        preset_rig_make("b", chains[i][1]);
        preset_rig_make("c", "--gain -3");
        pid_t process = live_rig_start("--preset a --device null:in=in.wav --block 256 --fade 0.1 "
                                       "--prove=-200 --record rec.wav --record-dry dry.wav");
        live_rig_keys("P");
        live_rig_wait("cannot change to preset c: --prove has nothing to prove");
        live_rig_record(600);
        live_rig_keys("p");
        live_rig_wait("halo: preset b");
        live_rig_record(600);
        live_rig_keys("q");
        struct command_result result = live_rig_end(process);
        ck_assert_int_eq(result.code, 1);
        command_expect(result.err, "room.txt,gain=-40 has an error of -1");
        command_refused(1, "room.txt,gain=-40 has an error of -1",
                        "\"$HALO\" render dry.wav again.wav --replay rec.wav.log --prove=-200");
        result = command_done("\"$HALO\" render dry.wav again.wav --replay rec.wav.log --prove");
        command_expect(result.err, " s (100.0 %), error at most");
    }
}

int main(void)
{
    if (getenv("HALO_TEST_BACKEND") && !(convolver_cuda.is_usable && convolver_cuda.is_usable())) {
        puts("no GPU here: presets on it are not tested");
        return 77;
    }
    plugin_rig_prepare();
    return plugin_rig_code(suite_run());
}
