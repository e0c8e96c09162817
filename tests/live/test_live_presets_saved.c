/* Presets of halo live: saved, begun with, listed, and what is wrong with them. */
#include "live_rig.h"
#include "preset_rig.h"
#include "suite.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is saved ---- */

START_TEST(what_is_chosen_is_saved_and_resumed)
{
    preset_rig_begin();
    pid_t process = live_rig_start(LIVE_RIG_DEVICE "--meter-interval 0.02 --mask half.txt --or "
                                                   "--mask quarter.txt --mask half.txt,@mix=1");
    live_rig_keys("2]]]-");
    live_rig_wait("2 quarter.txt  [2 mask @mix 0.98]  gain +3.0 dB");
    live_rig_keys("stea time\n");
    live_rig_wait("saved as preset tea time");
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    struct command_result result = command_done("\"$HALO\" preset show 'tea time'");
    command_expect(result.out, "/quarter.txt\n  or: true\n");
    command_expect(result.out, "- '@mix=0.98");
    command_expect(result.out, "live:\n  mask: 2\n  dry: false\n  gain: 3\n");
    process = live_rig_start("--resume " LIVE_RIG_DEVICE "--meter-interval 0.02");
    live_rig_wait("quarter.txt  [2 mask @mix 0.98]  gain +3.0 dB");
    live_rig_keys("0");
    live_rig_wait("0 dry");
    live_rig_keys("s\n"); /* over itself */
    live_rig_wait("saved as preset tea time");
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    result = command_done("\"$HALO\" preset show 'tea time'");
    command_expect(result.out, "dry: true");
}

/* A control keeps its changed value in a preset that is saved after the device took another rate. */
START_TEST(a_changed_control_survives_another_rate)
{
    preset_rig_begin();
    pid_t process = live_rig_start("--device null:in=in.wav,pace=4,turn=96000,to=44100 "
                                   "--meter-interval 0.02 --mask half.txt,@mix=1");
    live_rig_keys("-");
    live_rig_wait("@mix 0.98");
    live_rig_wait("the rate is 44100 Hz now");
    live_rig_keys("sturned\n");
    live_rig_wait("saved as preset turned");
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    command_expect(preset_rig_text("turned"), "@mix=0.98");
}

/* @wet= as it was saved: what sounds is the input and a quarter of the stage's output. */
START_TEST(a_wet_level_is_kept)
{
    preset_rig_begin();
    sound_text("echo.txt", "0.5\n0\n0.25\n");
    preset_rig_make("wet", "--mask echo.txt,@wet=-12dB");
    command_expect(preset_rig_text("wet"), "@wet=-12dB");
    pid_t process = live_rig_start("--preset wet " LIVE_RIG_DEVICE "--meter-interval 0.02 "
                                   "--record rec.wav --record-dry dry.wav");
    live_rig_record(1500);
    live_rig_end_well(process);
    live_rig_expect_replay();
    command_done("\"$HALO\" render dry.wav wet.wav --mask echo.txt,@wet=-12dB --tail none "
                 "--format float");
    struct sound take = sound_load("rec.wav"), wet = sound_load("wet.wav");
    size_t first = LIVE_RIG_RATE; /* behind the fade and the limiter's release */
    live_rig_expect(&take.block, &wet.block, first, LIVE_RIG_RATE / 10);
}

/* Through two chains and back: the level that a listener gets, from the first frame of each. */
START_TEST(keys_go_round_the_presets)
{
    preset_rig_begin();
    preset_rig_make("a", "--mask half.txt");
    preset_rig_make("b", "--mask quarter.txt");
    preset_rig_make("c", "--mask half.txt --mask half.txt --mask half.txt");
    pid_t process = live_rig_start("--preset a " LIVE_RIG_DEVICE "--meter-interval 0.02");
    live_rig_keys("P");
    live_rig_wait("preset c  1");
    live_rig_keys("p");
    live_rig_wait("preset a  1 ");
    live_rig_keys("PP"); /* the last counts */
    live_rig_wait("halo: preset b");
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    ck_assert_str_eq(command_done("cat state/halo/preset").out, "b\n");
}

START_TEST(the_prompt_asks_before_it_replaces)
{
    preset_rig_begin();
    preset_rig_make("a", "--mask half.txt");
    pid_t process = live_rig_start(LIVE_RIG_DEVICE "--meter-interval 0.02 --mask quarter.txt");
    live_rig_keys("sa\n");
    live_rig_wait("REPLACE preset a");
    live_rig_keys("\033"); /* no */
    live_rig_rest(100);
    command_expect(preset_rig_text("a"), "half.txt");
    live_rig_keys("s../x\n");
    live_rig_wait("a preset cannot be called '../x': it has a slash");
    live_rig_keys("sa\n\n");
    live_rig_wait("saved as preset a");
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    command_expect(command_done("\"$HALO\" preset show a").out, "quarter.txt");
}

/* The name of what is heard is offered: a letter replaces it, a backspace edits it. */
START_TEST(the_offered_name_is_replaced_or_edited)
{
    preset_rig_begin();
    preset_rig_make("evening", "--mask half.txt");
    pid_t process = live_rig_start("--preset evening " LIVE_RIG_DEVICE);
    live_rig_keys("snight\n");
    live_rig_wait("saved as preset night\n");
    live_rig_keys("s\177\177-2\n");
    live_rig_wait("saved as preset nig-2\n");
    live_rig_keys("s\n");
    live_rig_wait("saved as preset nig-2\n");
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    ck_assert_str_eq(command_done("ls config/halo/presets").out, "evening\nnig-2\nnight\n");
}

/* ---- errors ---- */

START_TEST(wrong_presets_are_refused)
{
    static const struct {
        const char *expected, *arguments;
    } cases[] = {
        {"there is no preset 'nix'", "live --preset nix"},
        {"there is no preset 'nix'", "preset show nix"},
        {"there is no preset 'nix'", "preset remove nix"},
        {"no preset was used yet", "live --resume"},
        {"it has a slash", "live --preset ../a"},
        {"it has a slash", "preset remove ../../x"},
        {"begins with a point or a dash", "preset show .."},
        {"begins with a point or a dash", "live --mask half.txt --save-preset=-a"},
        {"--preset needs a value", "live --preset ''"},
        {"control characters", "preset show \"$(printf 'a\\033b')\""},
        {"no UTF-8", "preset show \"$(printf 'a\\377b')\""},
        {"longer than 64", "preset show aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
                           "aaaaaaaaaaaaaaaaaaaaa"},
        {"--preset has stages of its own: remove --mask", "live --preset a --mask half.txt"},
        {"exclude each other", "live --preset a --resume"},
    };
    preset_rig_begin();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        command_refused(2, cases[i].expected, "timeout -s KILL 20 \"$HALO\" %s",
                        cases[i].arguments);
    preset_rig_make("a", "--mask half.txt");
    command_refused(1, "exists; --force replaces it",
                    "\"$HALO\" live --plain --device null --seconds 0.05 --mask half.txt "
                    "--save-preset a");
    static const char *const broken[] = {
        "halo-chain: 1\nstages: []\nlive:\n  mask: 2\n",
        "halo-chain: 1\nstages:\n- gain: 1\n- mask: m\n  or: true\n",
        "halo-chain: 1\nstages: []\nlive:\n  gain: 99\n",
        "halo-chain: 1\nstages: []\nlive:\n  gain: .nan\n",
        "halo-chain: 1\nstages: []\nlive:\n  louder: 9\n",
        "",
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        sound_text("config/halo/presets/broken", broken[i]);
        command_refused(1, "cannot use ", "\"$HALO\" live --plain --device null --preset broken");
    }
    sound_text("config/halo/presets/broken", "");
    command_expect(command_done("\"$HALO\" preset list").out, "broken  cannot use chain ");
    command_expect(command_done("\"$HALO\" preset list --json").out, "\"error\": \"cannot use");
}

/* Files that a user edited, or that something else overwrote, in plain words. */
START_TEST(broken_files_are_explained)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"hello\n", "it is no chain file, which begins with halo-chain: 1"},
        {"\001\002\377", "it is no chain file, which begins with halo-chain: 1"},
        {"halo-chain: x\nstages: []\n", "line 1: 'x' is no number that can be there"},
        {"halo-chain: 1\n", "it has no key 'stages'"},
        {"halo-chain: 1\nhalo-chain: 1\n", "it has the key 'halo-chain' twice"},
        {"halo-chain: 1\nstages: 3\n", "it has a single value where a list should be"},
        {"halo-chain: 1\nstages:\n- maks: a\n",
         "line 3: there is no key 'maks'; did you mean mask?"},
        {"halo-chain: 1\nstages:\n- mask: [a]\n", "it has a list where a single value should be"},
        {"halo-chain: 1\nstages: []\nlive:\n  dry: maybe\n", "'maybe' is neither true nor false"},
        {"halo-chain: 1\nstages: [\n", "it is no valid YAML: "},
        {"halo-chain: 1\nstages:\n- mask: &a x\n- mask: *a\n", "line 4: it has an alias (*)"},
    };
    preset_rig_begin();
    preset_rig_make("a", "--mask half.txt");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sound_text("config/halo/presets/a", cases[i].text);
        command_refused(1, cases[i].expected, "\"$HALO\" live --plain --device null --resume");
        command_refused(
            1, "cannot resume preset a: ", "\"$HALO\" live --plain --device null --resume");
    }
    preset_rig_make("b", "--mask half.txt --or --mask quarter.txt");
    command_done("sed -i 's,quarter.txt,&\\n  options: [gian=-6],' config/halo/presets/b");
    command_refused(2, "presets/b, stage 1, alternative 2: unknown mask option 'gian=-6'",
                    "\"$HALO\" live --plain --device null --preset b");
    pid_t process = live_rig_start(LIVE_RIG_DEVICE);
    live_rig_keys("P");
    live_rig_wait("did you mean gain=?\n"); /* the whole line */
    live_rig_keys("q");
    ck_assert_int_eq(live_rig_end(process).code, 0);
    command_done("\"$HALO\" live --plain --device null --seconds 0.05 --mask half.txt -f "
                 "--save-preset a");
    ck_assert_int_eq(unlink(command_path("half.txt")), 0);
    command_refused(1, "presets/a, stage 1: cannot open mask ",
                    "\"$HALO\" live --plain --device null --resume");
}

#define FAULTY "ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD='" FAULTS "' "

/* A full disk, or one that fails: what was saved before stays. */
START_TEST(a_preset_that_cannot_be_saved_leaves_the_old_one)
{
    static const char *const faults[] = {"write presets 0 28", "fsync presets 0 5"};
    preset_rig_begin();
    preset_rig_make("a", "--mask half.txt");
    char before[4096];
    strcpy(before, preset_rig_text("a"));
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        command_refused(1, "presets/a: ",
                        FAULTY "FAULT='%s' \"$HALO\" live --plain -q --device null:pace=0 "
                               "--seconds 0.05 --mask quarter.txt -f --save-preset a",
                        faults[i]);
        ck_assert_str_eq(preset_rig_text("a"), before);
        ck_assert_str_eq(command_done("ls -A config/halo/presets").out, "a\n");
    }
    struct command_result result =
        command_done(FAULTY "FAULT='write state 0 28' \"$HALO\" live --plain -q --device "
                            "null:pace=0 --seconds 0.05 --mask quarter.txt --save-preset b");
    command_expect(result.err, "halo: --resume will not know preset b: ");
    ck_assert_str_eq(command_done("cat state/halo/preset").out, "a\n");
}

/* What cannot come leaves what is heard. */
START_TEST(a_preset_that_does_not_fit_changes_nothing)
{
    preset_rig_begin();
    preset_rig_make("a", "--mask half.txt");
    preset_rig_make("b", "--mask quarter.txt");
    pid_t process = live_rig_start("--preset a --channels 1 " LIVE_RIG_DEVICE
                                   "--block 256 --record rec.wav --record-dry dry.wav "
                                   "--meter-interval 0.02");
    ck_assert_int_eq(unlink(command_path("quarter.txt")), 0);
    live_rig_keys("p");
    live_rig_wait("cannot change to preset b: ");
    char text[512];
    snprintf(text, sizeof text, "halo-chain: 1\nstages:\n- mask: %s/quadrature.txt\n",
             getenv("FILTERS"));
    sound_text("config/halo/presets/b", text);
    live_rig_keys("p");
    live_rig_wait("it makes 2 channels, not 1 as what plays");
    live_rig_keys("]q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
    ck_assert_ptr_null(strstr(result.out, "preset b  1"));
    live_rig_expect_replay();
}

/* The device takes another rate in the middle of a long crossfade: the change begins again. */
START_TEST(a_change_goes_on_at_another_rate)
{
    preset_rig_begin();
    preset_rig_make("a", "--mask room.txt,gain=-40");
    preset_rig_make("b", "--mask hall.txt,gain=-50");
    pid_t process =
        live_rig_start("--preset a --fade 3 --device null:in=in.wav,turn=96000,to=44100 "
                       "--record rec.wav");
    live_rig_rest(500);
    live_rig_keys("p");
    live_rig_wait("the rate is 44100 Hz now");
    live_rig_wait("preset b");
    live_rig_keys("q");
    struct command_result result = live_rig_end(process);
    ck_assert_msg(result.code == 0, "%s", result.err);
}

/* Of a span of the output. */
static double measured_gain(const struct sound *in, const struct sound *out, size_t first,
                            size_t frames)
{
    double both = 0, power = 0;
    for (size_t i = first; i < first + frames; i++) {
        both += (double)in->block.data[0][i] * (double)out->block.data[0][i];
        power += (double)in->block.data[0][i] * (double)in->block.data[0][i];
    }
    return both / power;
}

/* Back from shortly before the end: the gain never was below `after`, and was `before` once. */
static void expect_crossfade(double before, double after)
{
    enum { SPAN = 64, TAIL = LIVE_RIG_RATE / 2 };
    const double tolerance = 1e-3;
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    double gain = after;
    ck_assert_uint_ge(out.block.frames, TAIL);
    for (size_t at = out.block.frames - TAIL; gain < before - tolerance; at -= SPAN) {
        ck_assert_uint_ge(at, SPAN);
        gain = measured_gain(&in, &out, at, SPAN);
        ck_assert_msg(gain > after - tolerance, "the gain is %g at frame %zu", gain, at);
    }
}

/* What comes after a rate was followed hears the present sound, at once. */
START_TEST(a_change_after_another_rate_is_exact)
{
    preset_rig_begin();
    preset_rig_make("a", "--mask half.txt");
    preset_rig_make("b", "--mask quarter.txt");
    pid_t process = live_rig_start("--preset a --fade 1 --device null:in=in.wav,out=out.wav,pace=4,"
                                   "turn=96000,to=44100");
    live_rig_wait("the rate is 44100 Hz now");
    live_rig_play(2000); /* it fades in */
    live_rig_keys("p");
    live_rig_wait("halo: preset b");
    live_rig_play(1000);
    live_rig_end_well(process);
    expect_crossfade(0.5, 0.25);
}

START_TEST(presets_are_listed)
{
    preset_rig_begin();
    command_expect(command_done("\"$HALO\" preset list").err, "there are no presets");
    preset_rig_make("b", "--mask half.txt --or --mask quarter.txt --gain 2");
    preset_rig_make("a", "--gain 2");
    command_done("touch config/halo/presets/.hidden");
    ck_assert_str_eq(command_done("\"$HALO\" preset list").out,
                     "a  1 stage, gain +0.0 dB\nb  2 stages, mask 1 of 2, gain +0.0 dB\n");
    json_t *root = command_json(command_done("\"$HALO\" preset list --json").out);
    const json_t *rows = json_object_get(root, "presets");
    ck_assert_uint_eq(json_array_size(rows), 2);
    const json_t *b = json_array_get(rows, 1);
    ck_assert_str_eq(command_json_string(b, "name"), "b");
    ck_assert_str_eq(command_json_string(b, "path"), command_path("config/halo/presets/b"));
    ck_assert(command_json_number(b, "masks") == 2);
    command_done("\"$HALO\" preset remove a");
    ck_assert_str_eq(command_done("\"$HALO\" preset list").out,
                     "b  2 stages, mask 1 of 2, gain +0.0 dB\n");
    struct stat about;
    ck_assert_int_eq(stat(command_path("config/halo/presets"), &about), 0);
    ck_assert_uint_eq(about.st_mode & 077, 0);
}
