/* Chain files: a saved chain gives the same sound again, from any folder. */
#include "chain/chain_file.h"
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

static void make_sounds(void)
{
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 5000);
    sound_noise_mask("mask.txt", 2, 1, 300);
    sound_noise_mask("a,b.txt", 3, 1, 20);
    command_done("mkdir sub sub/deep");
}

static void expect_same_files(const char *a, const char *b)
{
    struct sound first = sound_load(a), second = sound_load(b);
    sound_expect_same(&first, &second);
}

START_TEST(a_saved_chain_gives_the_same_sound)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --mask mask.txt,gain=-6,trim=10 --gain -3 "
                 "--mask 'a\\,b.txt' --mask 'graphiceq:31 -3; 1000 2' --save-chain sub/chain.yml");
    command_done("\"$HALO\" render in.wav b.wav -q --chain sub/chain.yml");
    expect_same_files("a.wav", "b.wav");
    command_done("cd sub/deep && \"$HALO\" render ../../in.wav c.wav -q --chain ../chain.yml");
    expect_same_files("a.wav", "sub/deep/c.wav");
    command_done("\"$HALO\" render in.wav d.wav -q --chain \"$PWD/sub/chain.yml\"");
    expect_same_files("a.wav", "d.wav");
}

START_TEST(paths_are_from_the_files_folder)
{
    make_sounds();
    command_done("echo 0.5 0.5 >box.mask2d");
    command_done("\"$HALO\" render in.wav a.wav -q --mask mask.txt --mask invert:mask.txt "
                 "--spectral box.mask2d --spectral box2d:3x3 --spectral preset=harmonic "
                 "--save-chain sub/deep/chain.yml");
    struct command_result result = command_done("cat sub/deep/chain.yml");
    command_expect(result.out, "- mask: ../../mask.txt\n");
    command_expect(result.out, "- mask: invert:../../mask.txt\n");
    command_expect(result.out, "- spectral: ../../box.mask2d\n");
    command_expect(result.out, "- spectral: box2d:3x3\n");
    command_expect(result.out, "- spectral: preset=harmonic\n");
    command_done("mv sub moved && \"$HALO\" chain check moved/deep/chain.yml");
    command_done("cd moved/deep && \"$HALO\" render ../../in.wav b.wav -q --mask ../../mask.txt "
                 "--save-chain ../../chain.yml");
    result = command_done("cat chain.yml");
    command_expect(result.out, "- mask: mask.txt\n");
}

START_TEST(saving_again_changes_nothing)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --mask mask.txt,gain=-6 --gain -3 "
                 "--save-chain one.yml");
    command_done("\"$HALO\" render in.wav b.wav -q --chain one.yml --save-chain two.yml");
    command_done("cmp one.yml two.yml");
    command_refused(1, "exists", "\"$HALO\" render in.wav c.wav --gain 0 --save-chain one.yml");
    command_done("cmp one.yml two.yml");
    command_done("\"$HALO\" render in.wav c.wav -q -f --gain 0 --save-chain one.yml");
    struct command_result result = command_done("cat one.yml");
    command_expect(result.out, "- gain: 0\n");
}

/* As a YAML reader might take them otherwise. */
START_TEST(any_name_is_read_back)
{
    static const char *const names[] = {
        "it's #1: x.txt",   " lead.txt",   "trail ",       "[x]{y}.txt", "~",
        "-dash.txt",        "\"q\"\\.txt", "\xc3\xbc.txt", "nl\nx.txt",  "tab\tx.txt",
        "\xf0\x9f\x8e\xb5", "true",        "a: b",         "?x"};
    make_sounds();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        setenv("NAME", names[i], 1);
        command_done("mv mask.txt \"./$NAME\" && \"$HALO\" render in.wav a.wav -qf --mask "
                     "\"./$NAME,gain=-6\" --save-chain c.yml && "
                     "\"$HALO\" render in.wav b.wav -qf --chain c.yml --save-chain d.yml && "
                     "cmp c.yml d.yml && mv \"./$NAME\" mask.txt");
        expect_same_files("a.wav", "b.wav");
    }
}

START_TEST(a_chain_stands_among_other_stages)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --gain -3 --save-chain chain.yml");
    command_done("\"$HALO\" render in.wav b.wav -q --mask mask.txt --chain chain.yml --gain 2");
    command_done("\"$HALO\" render in.wav c.wav -q --mask mask.txt --gain -3 --gain 2");
    expect_same_files("b.wav", "c.wav");
    command_done("printf 'live:\\n  gain: 2\\n  dry: true\\n' >>chain.yml"); /* as a preset */
    struct command_result result =
        command_done("\"$HALO\" render in.wav d.wav --mask mask.txt --chain chain.yml");
    expect_same_files("d.wav", "c.wav");
    command_expect(result.err, "it says dry: true");
}

START_TEST(a_sound_that_fails_leaves_no_chain)
{
    make_sounds();
    command_refused(1, "exceeds floating point",
                    "\"$HALO\" render in.wav out.wav --gain 300 --gain 300 --gain 300 "
                    "--save-chain new.yml");
    command_done(
        "\"$HALO\" render in.wav a.wav -q --gain -3 --save-chain old.yml && cp old.yml was");
    command_refused(1, "exceeds floating point",
                    "\"$HALO\" render in.wav out.wav -f --gain 300 --gain 300 "
                    "--gain 300 --save-chain old.yml");
    command_done("cmp old.yml was");
    command_refused(1, "exists", "\"$HALO\" render in.wav a.wav --gain 1 --save-chain new.yml");
}

START_TEST(check_reports_the_chain)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --mask lowpass:1000,taps=101 --gain -3 "
                 "--save-chain chain.yml");
    struct command_result result = command_done("\"$HALO\" chain check chain.yml");
    command_expect(result.out, "2 stages, 2 channels in, 2 out, latency 50 frames at 48000 Hz");
    result = command_done("\"$HALO\" chain check chain.yml --json --channels 1 --rate 96000");
    ck_assert_int_eq((int)command_number(result.out, "channels_out"), 1);
    ck_assert_int_eq((int)command_number(result.out, "rate"), 96000);
    ck_assert_int_eq((int)command_number(result.out, "latency"), 50);
}

/* What they are is known without a sound: render makes the same of them again. */
START_TEST(times_from_the_end_are_checked_without_a_sound)
{
    static const char *const good[] = {
        "--gain -3,at=end-40ms-end:gain=-60", "--mask mask.txt,@mix=1,at=end-1000:@mix=0.2",
        "--gain 0,at=10-end-1000:gain=-6,at=end-10ms:gain=0", "--gain 0,at=5-end:gain=-80"};
    make_sounds();
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        command_done("\"$HALO\" render in.wav a.wav -qf %s --save-chain chain.yml", good[i]);
        command_expect(command_done("\"$HALO\" chain check chain.yml").out, "1 stage,");
        command_done("\"$HALO\" render in.wav b.wav -qf --chain chain.yml && "
                     "\"$HALO\" chain collect chain.yml kept.yml -f && "
                     "\"$HALO\" render in.wav c.wav -qf --chain kept.yml && rm chain.yml");
        expect_same_files("a.wav", "b.wav");
        expect_same_files("a.wav", "c.wav");
    }
    static const char *const bad[][2] = {
        {"at=end-1s-end-2s:gain=-60", "ends before it begins"},
        {"at=end-5s-end:gain=-6\\n  - at=end-2s:gain=0", "two at= overlap"},
        {"at=end-5q:gain=-6", "at= takes a time"},
        {"at=end-5s:gian=-6", "changes gain=, not 'gian=-6'"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        command_done(
            "printf 'halo-chain: 1\\nstages:\\n- gain: 0\\n  options:\\n  - %s\\n' >bad.yml",
            bad[i][0]);
        command_refused(2, bad[i][1], "\"$HALO\" chain check bad.yml");
    }
}

static void expect_refused(const char *text, const char *expected)
{
    char message[1024];
    struct stage_list list = {0};
    sound_text("bad.yml", text);
    log_capture(message, sizeof message);
    enum status status = chain_file_load(command_path("bad.yml"), &list, NULL);
    log_capture(NULL, 0);
    stage_list_free(&list);
    ck_assert_msg(status == STATUS_FAILED && strstr(message, expected),
                  "status %d: '%s' lacks '%s'", (int)status, message, expected);
}

START_TEST(bad_chains_are_refused)
{
    make_sounds();
    expect_refused("", "empty");
    expect_refused("# nothing\n", "it is no chain file, which begins with halo-chain: 1");
    expect_refused("# halo-chain\n", "it has no content");
    expect_refused("halo-chain: 2\nstages: []\n", "version 2");
    expect_refused("stages: []\n", "halo-chain");
    expect_refused("halo-chain: 1\nstages:\n- mask: mask.txt\n  gian: 3\n",
                   "line 4: there is no key 'gian'");
    expect_refused("halo-chain: 1\nstages:\n- mask: mask.txt\n  gain: 3\n", "both");
    expect_refused("halo-chain: 1\nstages:\n- options: [gain=3]\n", "has no kind");
    expect_refused("halo-chain: 1\nstages:\n- [a, b\n", "bad.yml");
    expect_refused("halo-chain: 1\nstages:\n- &a {gain: 1}\n- *a\n", "line 4: it has an alias");
    expect_refused("halo-chain: 1\nstages:\n- gain: 1\n  gain: 2\n",
                   "line 4: it has the key 'gain' twice");
    expect_refused("halo-chain: 1\nstages:\n- gain: 1\n  or: ture\n", "line 4: 'ture'");
    expect_refused("halo-chain: 1\nstages:\n- gain: [1]\n", "line 3: it has a list where");
    expect_refused("halo-chain: 1\n", "line 1: it has no key 'stages'");
    expect_refused("\x01\xff\xfe", "bad.yml");
    expect_refused("halo-chain: 1\nstages:\n- gain: \xff\n", "line 3: it is no valid YAML");
    sound_text("bad.yml", "halo-chain: 1\nstages:\n- mask: nosuch.wav\n");
    command_refused(1, "nosuch.wav", "\"$HALO\" chain check bad.yml");
    sound_text("bad.yml", "halo-chain: 1\nstages:\n- gain: 1\n- gain: loud\n");
    command_refused(2, "chain bad.yml, stage 2: ", "\"$HALO\" chain check bad.yml");
    sound_text("bad.wav", "no sound");
    sound_text("room.conf", "/convolver/new 1 1 256 1000\n/impulse/read 1 1 1 0 0 0 1 bad.wav\n");
    sound_text("bad.yml", "halo-chain: 1\nstages:\n- mask: room.conf\n");
    struct command_result refused = command_run("\"$HALO\" chain check bad.yml");
    static const char message[] = "chain bad.yml, stage 1: ";
    const char *origin = strstr(refused.err, message);
    ck_assert_msg(origin && !strstr(origin + strlen(message), message), "%s", refused.err);
    command_refused(1, "nosuch.yml", "\"$HALO\" chain check nosuch.yml");
    command_refused(1, "directory", "\"$HALO\" chain check sub");
    command_refused(1, "regular", "\"$HALO\" chain check /dev/zero");
    command_done("truncate -s 9M big.yml");
    command_refused(1, "bytes", "\"$HALO\" chain check big.yml");
    command_refused(2, "FILE", "\"$HALO\" chain check");
    command_refused(2, "check", "\"$HALO\" chain mend bad.yml");
    command_refused(1, "nosuch",
                    "\"$HALO\" render in.wav out.wav --gain 1 --save-chain nosuch/c.yml");
}

#ifdef HALO_LV2_BUNDLE
#define CONVOLVER "LV2_PATH=%s/..:/usr/lib/lv2 "
#define MASK "urn:halo:convolver:stereo,param:urn:halo:convolver#mask="

START_TEST(plugin_state_is_saved_beside_the_chain)
{
    make_sounds();
    sound_noise_file("a,b.wav", 4, WAVF, 48000, 2, 700);
    command_done(CONVOLVER "\"$HALO\" render in.wav a.wav -q --lv2 '" MASK
                           "a\\,b.wav,gain=-6' --gain -3 --save-chain sub/chain.yml",
                 HALO_LV2_BUNDLE);
    command_done("test -s sub/chain.yml.state/1/state.ttl");
    struct command_result result = command_done("cat sub/chain.yml");
    command_expect(result.out, "mask=../a,b.wav\n");
    command_expect(result.out, "'@state=chain.yml.state/1'\n");
    command_done("mv sub moved && " CONVOLVER
                 "\"$HALO\" render in.wav b.wav -q --chain moved/chain.yml",
                 HALO_LV2_BUNDLE);
    expect_same_files("a.wav", "b.wav");
    command_done("mkdir bundles && cp -r %s bundles/halo.lv2 && LV2_PATH=bundles:/usr/lib/lv2 "
                 "\"$HALO\" render in.wav d.wav -q --chain moved/chain.yml && rm d.wav",
                 HALO_LV2_BUNDLE);
    /* The state alone holds the mask, by a link, and the values, too. */
    command_done(
        "sed -i -e /gain=-6/d -e 's/param:.*=\\(.*\\)/\"@reads=\\1\"/' moved/chain.yml && " CONVOLVER
        "\"$HALO\" render in.wav c.wav -q --chain moved/chain.yml",
        HALO_LV2_BUNDLE);
    expect_same_files("a.wav", "c.wav");
    command_refused(1, "exists",
                    "rm moved/chain.yml; " CONVOLVER "\"$HALO\" render in.wav d.wav --lv2 '" MASK
                    "mask.txt' --save-chain moved/chain.yml",
                    HALO_LV2_BUNDLE);
    command_done(CONVOLVER "\"$HALO\" render in.wav d.wav -q -f --lv2 '" MASK
                           "mask.txt' --save-chain moved/chain.yml",
                 HALO_LV2_BUNDLE);
    command_refused(1, "cannot replace moved/chain.yml.state: this command reads it",
                    CONVOLVER "\"$HALO\" render in.wav d.wav -q -f --chain moved/chain.yml "
                              "--save-chain moved/chain.yml",
                    HALO_LV2_BUNDLE);
    /* With another stage before it, each state follows its stage. */
    command_done(CONVOLVER "\"$HALO\" render in.wav e.wav -q -f --gain 0 --chain moved/chain.yml "
                           "--save-chain moved/more.yml",
                 HALO_LV2_BUNDLE);
    command_done("test -d moved/more.yml.state/2 && test ! -e moved/more.yml.state/1");
    expect_same_files("d.wav", "e.wav");
    command_done("rm e.wav; mkdir taken.yml.state && echo mine >taken.yml.state/letter.txt");
    command_refused(1, "holds other files than states",
                    CONVOLVER "\"$HALO\" render in.wav e.wav -f --chain moved/more.yml "
                              "--save-chain taken.yml",
                    HALO_LV2_BUNDLE);
    command_done("test -s taken.yml.state/letter.txt && test ! -e taken.yml");
    sound_text("plain.txt", "no mask\n");
    command_refused(1, "plain.txt: line 1",
                    CONVOLVER "\"$HALO\" render in.wav e.wav -q --lv2 '" MASK "plain.txt'",
                    HALO_LV2_BUNDLE);
    command_refused(1, "nosuch",
                    CONVOLVER "\"$HALO\" render in.wav e.wav --lv2 '" MASK
                              "mask.txt,@state=nosuch'",
                    HALO_LV2_BUNDLE);
}

#define STRANGER                                                                                   \
    CONVOLVER "\"$HALO\" render in.wav out.wav -q -f --lv2 "                                       \
              "'urn:halo:convolver:stereo,@state=stranger%s' %s"

/* A state from elsewhere: its link to the mask leads to a file that nobody named. */
START_TEST(links_of_a_state_are_read_where_they_are_named)
{
    static const char *const leads[] = {
        "ln -sf ../secret.wav stranger/mask.wav",
        "ln -sf \"$PWD/secret.wav\" stranger/mask.wav",
        "ln -sf ../secret.wav stranger/second && ln -sf second stranger/mask.wav",
        "ln -sf .. stranger/second",
        "rm stranger/second && ln -s / stranger/second",
    };
    make_sounds();
    sound_noise_file("mask.wav", 4, WAVF, 48000, 2, 700);
    sound_noise_file("secret.wav", 5, WAVF, 48000, 2, 700);
    command_done(CONVOLVER "\"$HALO\" render in.wav a.wav -q --lv2 '" MASK
                           "secret.wav' --save-chain c.yml",
                 HALO_LV2_BUNDLE);
    command_done("mv c.yml.state/1 stranger && sed -i s/secret/mask/ stranger/state.ttl");
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
        command_done("rm -f stranger/*.wav && cp mask.wav stranger && %s", leads[i]);
        command_refused(1, "which no option names; @reads=", STRANGER, HALO_LV2_BUNDLE, "", "");
        command_refused(1, "which no option names; @reads=", STRANGER, HALO_LV2_BUNDLE, "",
                        "--no-isolate");
    }
    command_done("rm stranger/second && ln -sf ../secret.wav stranger/mask.wav");
    command_done(STRANGER, HALO_LV2_BUNDLE, ",@reads=secret.wav", "--save-chain s.yml");
    expect_same_files("a.wav", "out.wav");
    command_done("test $(grep -c @reads=secret.wav s.yml) = 1");
    command_done(CONVOLVER "\"$HALO\" render in.wav out.wav -q -f --chain s.yml", HALO_LV2_BUNDLE);
    expect_same_files("a.wav", "out.wav");
    command_done(STRANGER, HALO_LV2_BUNDLE, ",@reads=.", ""); /* where the output is */
    expect_same_files("a.wav", "out.wav");
    /* What lies inside needs no word. */
    command_done("cp secret.wav stranger/second && ln -sf second stranger/mask.wav");
    command_done(STRANGER, HALO_LV2_BUNDLE, "", "");
    expect_same_files("a.wav", "out.wav");
}
#else
START_TEST(plugin_state_is_saved_beside_the_chain)
{
    puts("skipped: this halo is built without LV2 plugins");
}

START_TEST(links_of_a_state_are_read_where_they_are_named)
{
    puts("skipped: this halo is built without LV2 plugins");
}
#endif
