/* Collected chains: moved to another folder, with everything else gone, they sound the same. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

static void make_noise(const char *path, uint64_t seed)
{
    sound_noise_file(path, seed, WAVF, 48000, 1, 200);
}

static void make_sounds(void)
{
    command_done("mkdir -p all/cfg/more all/irs all/a all/b home");
    sound_noise_file("in.wav", 1, WAVF, 48000, 2, 5000);
    make_noise("all/irs/left.wav", 2);
    make_noise("all/irs/right.wav", 3);
    make_noise("all/cfg/left.wav", 4);
    make_noise("all/a/hall.wav", 5);
    make_noise("all/b/hall.wav", 6);
    command_done(
        "cp all/a/hall.wav all/b/same.wav && cp all/irs/right.wav all/cfg/more/left.wav && "
        "cp in.wav 'all/b/with => arrow.wav'");
    command_done("echo 0.5 0.5 >all/b/box.mask2d");
    command_done(
        "printf '/convolver/new 2 2 256 1000\\n/impulse/read 1 1 1 0 0 0 1 left.wav\\n"
        "/impulse/read 2 2 1 0 0 0 1 %%s/all/irs/left.wav\\n' \"$PWD\" >all/cfg/room.conf");
    sound_text("all/cfg/config.txt",
               "Preamp: -3 dB\nInclude: more/part.txt\nConvolution: left.wav\n");
    /* The same name for another file. */
    sound_text("all/cfg/more/part.txt",
               "Convolution: left.wav\nConvolution: ../../irs/right.wav\n");
}

/* The chain at `from` is moved to the folder `to`, and the rest of `all` goes: it gives a.wav. */
static void expect_travels(const char *from, const char *to)
{
    command_done("mkdir -p %s && mv %s %s.files %s/ && mv all gone", to, from, from, to);
    command_done("\"$HALO\" render in.wav b.wav -q -f --chain %s/%s && cmp a.wav b.wav", to,
                 strrchr(from, '/') ? strrchr(from, '/') + 1 : from);
    command_done("mv gone all");
}

START_TEST(masks_of_all_kinds_travel)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --mask all/a/hall.wav,gain=-3 "
                 "--mask all/b/hall.wav --mask all/b/same.wav --mask 'all/b/with => arrow.wav' "
                 "--mask invert:all/a/hall.wav --spectral all/b/box.mask2d "
                 "--mask 'combine:lowpass:1000*all/a/hall.wav*all/b/hall.wav,gain=-20' "
                 "--mask lowpass:9000 --gain -3 --save-chain all/c.yml --collect");
    struct command_result result = command_done("cat all/c.yml && ls all/c.yml.files");
    command_expect(result.out, "- mask: c.yml.files/hall.wav\n  options:\n  - gain=-3\n");
    command_expect(result.out, "- mask: c.yml.files/hall-2.wav\n");
    command_expect(result.out, "- mask: invert:c.yml.files/hall.wav\n");
    command_expect(result.out,
                   "combine:lowpass:1000*c.yml.files/hall.wav*c.yml.files/hall-2.wav\n");
    command_expect(result.out, "COLLECTED\nbox.mask2d\nhall-2.wav\nhall.wav\n");
    ck_assert_ptr_null(strstr(result.out, "same.wav")); /* one copy per content */
    expect_travels("all/c.yml", "far/away");
}

START_TEST(files_of_configurations_travel)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --mask all/cfg/room.conf,folder=all/irs "
                 "--mask all/cfg/config.txt --save-chain all/c.yml --collect");
    struct command_result result = command_done("cat all/c.yml");
    command_expect(result.out, "- folder=c.yml.files\n");
    command_expect(result.out, "all/irs/left.wav=>c.yml.files/left-2.wav\n");
    command_expect(result.out, "- file=../../irs/right.wav=>c.yml.files/");
    command_expect(result.out, "- file=config.txt:left.wav=>c.yml.files/left.wav\n");
    expect_travels("all/c.yml", "far/away");
    /* Files of the same names where it is now are not taken. */
    command_done("mkdir -p far/away/more && cp all/b/hall.wav far/away/left.wav && "
                 "cp all/b/hall.wav all/irs/left.wav && cp all/b/hall.wav all/cfg/left.wav");
    command_done("\"$HALO\" render in.wav b.wav -q -f --chain far/away/c.yml && cmp a.wav b.wav");
    /* A collected chain is collected again. */
    command_done("\"$HALO\" chain collect far/away/c.yml all/again.yml && rm -r far");
    expect_travels("all/again.yml", "elsewhere");
}

START_TEST(kernels_of_presets_travel)
{
    make_sounds();
    command_done("mkdir -p home/easyeffects/irs && cp all/irs/left.wav "
                 "home/easyeffects/irs/Room.irs");
    sound_noise_file("home/easyeffects/irs/Room.irs.wav", 9, WAVF, 48000, 2, 100);
    command_done("mv home/easyeffects/irs/Room.irs.wav home/easyeffects/irs/Room.irs");
    sound_text("all/preset.json",
               "{\"output\": {\"blocklist\": [], \"plugins_order\": [\"convolver#0\"], "
               "\"convolver#0\": {\"bypass\": false, \"input-gain\": 0.0, \"output-gain\": 0.0, "
               "\"ir-width\": 100, \"autogain\": false, \"kernel-name\": \"Room\"}}}\n");
    command_done("XDG_CONFIG_HOME=$PWD/home \"$HALO\" render in.wav a.wav -q "
                 "--mask all/preset.json --save-chain all/c.yml --collect && rm -r home");
    struct command_result result = command_done("cat all/c.yml");
    command_expect(result.out, "- file=Room=>c.yml.files/Room.irs\n");
    expect_travels("all/c.yml", "far");
}

START_TEST(chains_are_collected_by_command)
{
    make_sounds();
    command_done("\"$HALO\" render in.wav a.wav -q --mask all/a/hall.wav --gain -3 "
                 "--save-chain all/plain.yml");
    command_done("test ! -e all/plain.yml.files");
    command_done("\"$HALO\" chain collect all/plain.yml all/c.yml --channels 2");
    command_done("\"$HALO\" chain check all/c.yml");
    expect_travels("all/c.yml", "far");
    command_done("\"$HALO\" render in.wav d.wav -q --gain -3 --save-chain none.yml --collect && "
                 "test ! -e none.yml.files");
    command_refused(2, "--collect needs --save-chain",
                    "\"$HALO\" render in.wav d.wav -f --gain 1 --collect");
    command_refused(1, "nosuch", "\"$HALO\" chain collect nosuch.yml d.yml");
    command_refused(2, "'=>'", "\"$HALO\" chain collect all/plain.yml 'a=>b.yml'");
}

START_TEST(only_folders_of_copies_are_replaced)
{
    make_sounds();
    command_done("mkdir c.yml.files && echo mine >c.yml.files/letter.txt");
    command_refused(1, "c.yml.files exists; --force replaces it",
                    "\"$HALO\" render in.wav a.wav --mask all/a/hall.wav --save-chain c.yml "
                    "--collect");
    command_refused(1, "holds other files than copies",
                    "\"$HALO\" render in.wav a.wav --mask all/a/hall.wav --save-chain c.yml "
                    "--collect -f");
    command_done("test -s c.yml.files/letter.txt && test ! -e c.yml && test ! -e a.wav");
    command_done("rm -r c.yml.files && \"$HALO\" render in.wav a.wav -q --mask all/a/hall.wav "
                 "--save-chain c.yml --collect");
    command_refused(1, "this command reads it", "\"$HALO\" chain collect c.yml c.yml -f");
    command_refused(1, "exceeds floating point",
                    "\"$HALO\" render in.wav b.wav -f --mask all/b/hall.wav --gain 300 --gain 300 "
                    "--gain 300 --save-chain c.yml --collect");
    command_done("cmp all/a/hall.wav c.yml.files/hall.wav && test $(ls -A | grep -c halo) -le 1");
    command_done("\"$HALO\" render in.wav b.wav -q -f --mask all/b/box.mask2d,raw=s16 --gain -99 "
                 "--save-chain c.yml --collect; \"$HALO\" render in.wav b.wav -q -f "
                 "--spectral all/b/box.mask2d --save-chain c.yml --collect");
    command_done("test -e c.yml.files/box.mask2d && test ! -e c.yml.files/hall.wav");
}

START_TEST(what_stays_is_named)
{
    make_sounds();
    sound_text("all/cfg/one.txt", "Convolution: left.wav\n");
    struct command_result result = command_done(
        "\"$HALO\" render in.wav a.wav -q --mask 'combine:lowpass:1000*all/cfg/one.txt' "
        "--mask all/b/hall.wav --save-chain far.yml --collect");
    command_expect(result.err, "all/cfg/one.txt is not collected: it names other files");
    result = command_done("cat far.yml && ls far.yml.files");
    command_expect(result.out, "combine:lowpass:1000*all/cfg/one.txt\n");
    command_expect(result.out, "COLLECTED\nhall.wav\n");
    command_done("\"$HALO\" render in.wav b.wav -q --chain far.yml && cmp a.wav b.wav");
#ifdef LABELS
    command_done("cp " LABELS "/labels.so all/x.so && cp all/x.so 'all/y:z.so'");
    result = command_done("\"$HALO\" render in.wav a.wav -q -f --ladspa "
                          "all/x.so:http://halo.test/plugins/gain --gain -20 "
                          "--save-chain all/b/c.yml --collect");
    command_expect(result.err, "all/x.so is not collected");
    command_done("cd home && \"$HALO\" render ../in.wav ../b.wav -q -f --chain ../all/b/c.yml && "
                 "cmp ../a.wav ../b.wav");
    command_done("\"$HALO\" render in.wav a.wav -q -f --ladspa 'all/y\\:z.so:a:b' --gain -20 "
                 "--save-chain all/b/d.yml && cd home && "
                 "\"$HALO\" render ../in.wav ../b.wav -q -f --chain ../all/b/d.yml && "
                 "cmp ../a.wav ../b.wav");
#endif
}

START_TEST(one_configuration_with_two_folders_is_refused)
{
    make_sounds();
    command_done("mkdir all/m all/n && mv all/cfg/left.wav all/m && cp all/irs/right.wav "
                 "all/n/left.wav");
    sound_text("all/preset.json",
               "{\"output\": {\"blocklist\": [], \"plugins_order\": [\"convolver#0\"], "
               "\"convolver#0\": {\"kernel-name\": \"left\"}}}\n");
    command_refused(1, "it names both ",
                    "\"$HALO\" render in.wav a.wav --mask all/preset.json,folder=all/m "
                    "--mask all/preset.json,folder=all/n --save-chain c.yml --collect");
    command_done("test ! -e c.yml && test ! -e c.yml.files");
}

#ifdef HALO_LV2_BUNDLE
#define CONVOLVER "LV2_PATH=%s/..:/usr/lib/lv2 "

START_TEST(states_and_parameters_travel)
{
    make_sounds();
    command_done(CONVOLVER "\"$HALO\" render in.wav a.wav -q --lv2 "
                           "'urn:halo:convolver:stereo,param:urn:halo:convolver#mask="
                           "all/a/hall.wav,gain=-6' --save-chain all/c.yml --collect",
                 HALO_LV2_BUNDLE);
    struct command_result result = command_done("cat all/c.yml");
    command_expect(result.out, "mask=c.yml.files/hall.wav\n");
    command_done("test -z \"$(find all/c.yml.state -type l)\"");
    command_done("mkdir far && mv all/c.yml* far/ && mv all gone && " CONVOLVER
                 "\"$HALO\" render in.wav b.wav -q --chain far/c.yml && cmp a.wav b.wav",
                 HALO_LV2_BUNDLE);
    /* The state alone, too. */
    command_done("sed -i -e /param:/d far/c.yml && rm -r far/c.yml.files && " CONVOLVER
                 "\"$HALO\" render in.wav c.wav -q --chain far/c.yml && cmp a.wav c.wav",
                 HALO_LV2_BUNDLE);
}
#else
START_TEST(states_and_parameters_travel)
{
    puts("skipped: this halo is built without LV2 plugins");
}
#endif
