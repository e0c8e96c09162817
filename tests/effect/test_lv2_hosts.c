/* halo.lv2 in other hosts: the output of lv2apply and jalv equals halo's own. */
#include "command.h"
#include "jack_rig.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, FLOAT_WAV = SF_FORMAT_WAV | SF_FORMAT_FLOAT };

static const float CLOSE = 2e-5f; /* for sound of about full scale, summed in another order */

/* A decaying noise at full scale. */
static void make_mask(const char *name, size_t channels, size_t taps)
{
    struct sound mask = sound_noise(name, 3, FLOAT_WAV, RATE, channels, taps);
    for (size_t c = 0; c < channels; c++)
        for (size_t k = 0; k < taps; k++)
            mask.block.data[c][k] *= 0.2f * expf(-(float)k / 400);
    sound_save(&mask, name);
}

/* The bundle as built, with a mask in it: for hosts without state support. */
static void make_bundle(size_t channels)
{
    command_clean();
    command_done("mkdir bundles && cp -r %s bundles/halo.lv2", HALO_LV2_BUNDLE);
    make_mask("bundles/halo.lv2/mask.wav", channels, 4000);
}

START_TEST(the_descriptions_are_valid)
{
    struct command_result result = command_run("lv2_validate %s/*.ttl", HALO_LV2_BUNDLE);
    ck_assert_msg(result.code == 0 && strstr(result.out, "Found 0 errors"), "%s%s", result.out,
                  result.err);
}

static void expect_close(const char *name, const struct block *wanted)
{
    struct sound out = sound_load(name);
    ck_assert_uint_eq(out.block.channels, wanted->channels);
    ck_assert_uint_eq(out.block.frames, wanted->frames);
    for (size_t c = 0; c < wanted->channels; c++)
        for (size_t i = 0; i < wanted->frames; i++)
            ck_assert_float_eq_tol(out.block.data[c][i], wanted->data[c][i], CLOSE);
}

static void check_lv2apply(const char *name, size_t channels, size_t mask_channels)
{
    make_bundle(mask_channels);
    sound_noise_file("in.wav", 9, FLOAT_WAV, RATE, channels, 30000);
    command_done("$HALO render in.wav wanted.wav --mask bundles/halo.lv2/mask.wav,gain=-6 "
                 "--tail none --format float");
    command_done("LV2_PATH=$PWD/bundles lv2apply -i in.wav -o out.wav -c gain -6 "
                 "urn:halo:convolver:%s",
                 name);
    struct sound wanted = sound_load("wanted.wav");
    expect_close("out.wav", &wanted.block);
}

START_TEST(lv2apply_equals_halo)
{
    check_lv2apply("mono", 1, 1);
    check_lv2apply("stereo", 2, 2);
    check_lv2apply("true-stereo", 2, 4);
}

/* ---- jalv ---- */

static void make_session(const char *name)
{
    char text[1024];
    snprintf(text, sizeof text,
             "@prefix atom: <http://lv2plug.in/ns/ext/atom#> .\n"
             "@prefix lv2: <http://lv2plug.in/ns/lv2core#> .\n"
             "@prefix pset: <http://lv2plug.in/ns/ext/presets#> .\n"
             "@prefix state: <http://lv2plug.in/ns/ext/state#> .\n"
             "<> a pset:Preset ; lv2:appliesTo <urn:halo:convolver:%s> ;\n"
             "   lv2:port [ lv2:symbol \"gain\" ; pset:value -6.0 ] ;\n"
             "   state:state [ <urn:halo:convolver#mask> \"mask.wav\"^^atom:Path ] .\n",
             name);
    command_done("mkdir session");
    sound_text("session/state.ttl", text);
}

/* halo.lv2 and the masks as they are installed, in a folder that was moved. */
static void install_and_move(void)
{
    command_clean();
    command_done("mkdir -p here/%s/lv2 here/share/halo here/bin; cp $HALO here/bin/halo; "
                 "cp -r %s here/%s/lv2/; cp %s here/%s/lv2/halo.lv2/presets.ttl; "
                 "cp -r $FILTERS here/share/halo/filters; mkdir moved; mv here 'moved/to there'",
                 HALO_LIBDIR, HALO_LV2_BUNDLE, HALO_LIBDIR, HALO_LV2_PRESETS, HALO_LIBDIR);
}
#define INSTALLED                                                                                  \
    "HALO_PROGRAM=\"$PWD/moved/to there/bin/halo\" "                                               \
    "LV2_PATH=\"$PWD/moved/to there/" HALO_LIBDIR "/lv2\" "

/* jalv as the client "jalv", with session/, between the two clients of the test. */
static void expect_of_jalv(const char *bundle, const char *const in[], const char *const out[],
                           size_t channels)
{
    struct sound sound = sound_load("in.wav"), wanted = sound_load("wanted.wav");
    jack_rig_start(RATE, 256);
    struct jack_wire *wire = jack_wire_open(&sound.block, channels, sound.block.frames);
    pid_t jalv = command_start("LV2_PATH=%s/.. exec jalv -x -n jalv -i -l session/ "
                               "</dev/null >/dev/null 2>jalv.err",
                               bundle);
    for (size_t c = 0; c < channels; c++) {
        command_done("n=0; until jack_connect feed:%zu jalv:%s 2>/dev/null; do n=$((n+1)); "
                     "[ $n -lt 100 ]; sleep 0.1; done; jack_connect jalv:%s rec:%zu",
                     c + 1, in[c], out[c], c + 1);
    }
    jack_wire_run(wire);
    const struct block *recorded = jack_wire_recorded(wire);
    ck_assert_uint_eq(jack_wire_gaps(wire), 0);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < recorded->frames; i++)
            ck_assert_float_eq_tol(recorded->data[c][i], wanted.block.data[c][i], CLOSE);
    kill(jalv, SIGINT);
    (void)command_wait(jalv);
    jack_wire_close(wire);
    jack_rig_end(SIGTERM);
}

static void check_jalv(const char *name, const char *const in[], const char *const out[],
                       size_t channels)
{
    command_clean();
    make_session(name);
    make_mask("session/mask.wav", channels, 4000);
    sound_noise_file("in.wav", 9, FLOAT_WAV, RATE, channels, 30000);
    command_done("$HALO render in.wav wanted.wav --mask session/mask.wav,gain=-6 --tail none "
                 "--format float");
    expect_of_jalv(HALO_LV2_BUNDLE, in, out, channels);
}

/* Its text in presets.ttl, from where jalv finds it. */
static void check_preset_in_jalv(const char *mask)
{
    install_and_move();
    sound_noise_file("in.wav", 9, FLOAT_WAV, RATE, 2, 30000);
    command_done(
        "$HALO render in.wav wanted.wav --mask $FILTERS/%s.wav --tail none "
        "--format float; mkdir session; "
        "sed -n '/^@prefix/p; /preset:stereo:%s>/,/\\.$/p' "
        "'moved/to there/%s/lv2/halo.lv2/presets.ttl' | sed \"s|^<urn.*|<>|; "
        "s|<[.][.].*share/halo|<file://$PWD/moved/to%%20there/share/halo|\" >session/state.ttl; "
        "grep -q 'mask> <file:.*/moved.*%s' session/state.ttl",
        mask, mask, HALO_LIBDIR, mask);
    struct command_result listed = command_done(INSTALLED "lv2info urn:halo:convolver:stereo");
    command_expect(listed.out, mask);
    expect_of_jalv(HALO_LV2_BUNDLE, (const char *[]){"in_left", "in_right"},
                   (const char *[]){"out_left", "out_right"}, 2);
}

START_TEST(presets_are_the_installed_masks)
{
    check_preset_in_jalv("hall");
    check_preset_in_jalv("telephone");
}

START_TEST(jalv_equals_halo)
{
    check_jalv("mono", (const char *[]){"in"}, (const char *[]){"out"}, 1);
    check_jalv("stereo", (const char *[]){"in_left", "in_right"},
               (const char *[]){"out_left", "out_right"}, 2);
}

/* ---- halo ---- */

static void check_halo(const char *name, size_t channels, size_t mask_channels)
{
    command_clean();
    make_mask("mask.wav", mask_channels, 4000);
    sound_noise_file("in.wav", 9, FLOAT_WAV, RATE, channels, 30000);
    command_done("$HALO render in.wav wanted.wav --mask mask.wav,gain=-6 --tail none "
                 "--format float");
    command_done("LV2_PATH=%s/.. $HALO render in.wav out.wav --tail none --format float --lv2 "
                 "'urn:halo:convolver:%s,gain=-6,param:urn:halo:convolver#mask=mask.wav'",
                 HALO_LV2_BUNDLE, name);
    struct sound wanted = sound_load("wanted.wav");
    expect_close("out.wav", &wanted.block);
}

START_TEST(halo_hosts_its_own_plugin)
{
    if (!HALO_HOSTS_LV2)
        return;
    check_halo("mono", 1, 1);
    check_halo("mono", 2, 1); /* one instance for each */
    check_halo("stereo", 2, 2);
    check_halo("true-stereo", 2, 4);
}

/* Each installed mask is a preset of the plugins that take it, and of no other. */
START_TEST(presets_equal_masks_in_halo)
{
    if (!HALO_HOSTS_LV2)
        return;
    install_and_move();
    sound_noise_file("in.wav", 9, FLOAT_WAV, RATE, 2, 3000);
    command_done(
        "set -e; for file in 'moved/to there/share/halo/filters/'[a-z]*.[tw][xa][tv]; do "
        "mask=${file##*/} name=${mask%%.*}; takes=0; for plugin in stereo true-stereo; do "
        "[ $takes = 0 ] || break; lists=0; "
        "LV2_PATH=%s/.. $HALO render -f in.wav a.wav --tail none --format float --lv2 "
        "\"urn:halo:convolver:$plugin,param:urn:halo:convolver#mask=$file\" && takes=1; " INSTALLED
        "'moved/to there/bin/halo' render -f in.wav b.wav --tail none --format float "
        "--lv2 urn:halo:convolver:$plugin,preset=$name && lists=1; "
        "echo $plugin $name $takes $lists; [ $takes = $lists ]; "
        "[ $takes = 0 ] || cmp a.wav b.wav; rm -f a.wav b.wav; done; done",
        HALO_LV2_BUNDLE);
    command_done("rm -r 'moved/to there/share'");
    command_refused(1, "cannot",
                    INSTALLED "'moved/to there/bin/halo' render in.wav b.wav "
                              "--lv2 urn:halo:convolver:stereo,preset=hall 2>&1 | "
                              "tail -n 1 >&2; [ -e b.wav ]");
}

static bool is_there(const char *program, const char *package)
{
    if (command_run("command -v %s", program).code == 0)
        return true;
    printf("skipped: there is no %s (Debian's package %s)\n", program, package);
    return false;
}

int main(void)
{
    if (!is_there("lv2_validate", "lv2-dev") || !is_there("sord_validate", "sordi") ||
        !is_there("lv2apply", "lilv-utils") || !is_there("jalv", "jalv") || !jack_rig_is_there())
        return 77;
    return suite_run();
}
