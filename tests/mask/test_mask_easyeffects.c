/* Presets of EasyEffects as masks: kernels by hand, bands against their analogue prototypes
 * computed by NumPy, and against the plugin itself. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <string.h>

#define PRESET(name, settings)                                                                     \
    "{ \"output\": { \"blocklist\": [], \"plugins_order\": [\"" name "#0\"], \"" name              \
    "#0\": { \"bypass\": false, " settings " } } }"
#define CONVOLVER(settings) PRESET("convolver", settings)
#define BAND(type, mode, slope, frequency, gain, q)                                                \
    "{ \"type\": \"" type "\", \"mode\": \"" mode "\", \"slope\": \"" slope                        \
    "\", \"frequency\": " frequency ", \"gain\": " gain ", \"q\": " q                              \
    ", \"mute\": false, \"solo\": false, \"width\": 4.0 }"
#define EQUALIZER(settings, band)                                                                  \
    PRESET("equalizer", "\"mode\": \"IIR\", \"num-bands\": 1, \"input-gain\": 0.0, "               \
                        "\"output-gain\": 0.0, \"split-channels\": false, " settings               \
                        "\"left\": { \"band0\": " band " }, \"right\": { \"band0\": {} }")

static void make_kernel_of(const char *name, uint32_t rate, size_t channels)
{
    struct sound sound = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, rate, channels, 2);
    for (size_t c = 0; c < channels; c++) {
        sound.block.data[c][0] = 0.5f / (float)(c + 1);
        sound.block.data[c][1] = 0.25f * (float)c;
    }
    sound_save(&sound, name);
}

static void make_kernel(const char *name, size_t channels)
{
    make_kernel_of(name, 48000, channels);
}

static struct mask *preset_loaded(const char *text)
{
    mask_save_text("a.json", text);
    return mask_loaded("a.json", NULL);
}

/* 0.5 0 | 0.25 0.25; ir-width 50 adds a third of the other channel. */
START_TEST(stereo_kernel)
{
    make_kernel("Room.irs", 2);
    struct mask *mask = preset_loaded(CONVOLVER(
        "\"kernel-name\": \"Room\", \"ir-width\": 50, \"autogain\": false, \"input-gain\": 20, "
        "\"output-gain\": -20"));
    ck_assert_str_eq(mask->kind, "EasyEffects preset");
    ck_assert_uint_eq(mask->path_count, 2);
    for (size_t c = 0; c < 2; c++) {
        const double *taps = mask_path_column(mask, (struct mask_path){c, c, 0});
        ck_assert_double_eq_tol(taps[0], c == 0 ? 0.5 + 0.25 / 3 : 0.25 + 0.5 / 3, 1e-12);
        ck_assert_double_eq_tol(taps[1], c == 0 ? 0.25 / 3 : 0.25, 1e-12);
    }
}

/* The larger energy becomes 1; wet and dry. An older preset names a path of another machine, and
 * its plugins have no numbers. */
START_TEST(level_and_dry_sound)
{
    make_kernel("Room.irs", 2);
    struct mask *mask = preset_loaded(
        "{ \"input\": { \"plugins_order\": [\"spectrum#0\", \"convolver#0\"], \"spectrum\": {},\n"
        "  \"convolver\": { \"kernel-path\": \"/home/x/.config/easyeffects/irs/Room.irs\",\n"
        "  \"autogain\": true, \"dry\": -20, \"wet\": 6.0205999132796239 } } }");
    double scale = 2 / 0.5;
    mask_expect_path(mask, 0, 0, 1, (double[]){0.5 * scale + 0.1});
    const double *right = mask_path_column(mask, (struct mask_path){1, 1, 0});
    ck_assert_double_eq_tol(right[0], 0.25 * scale + 0.1, 1e-12);
    ck_assert_double_eq_tol(right[1], 0.25 * scale, 1e-12);
}

START_TEST(true_stereo_kernel_at_home)
{
    command_done("mkdir -p home/.local/share/easyeffects/irs");
    make_kernel("home/.local/share/easyeffects/irs/Hall.v2.irs", 4);
    setenv("HOME", command_path("home"), 1);
    unsetenv("XDG_DATA_HOME");
    command_done(
        "mkdir sub && ln -s ../home/.local/share/easyeffects/irs/Hall.v2.irs sub/Link.irs");
    mask_refused("sub/a.json", CONVOLVER("\"kernel-name\": \"Link\""), "is a symbolic link out of");
    struct mask *mask =
        preset_loaded(CONVOLVER("\"kernel-name\": \"Hall.v2\", \"autogain\": false"));
    ck_assert_uint_eq(mask->path_count, 4);
    mask_expect_path(mask, 0, 0, 1, (double[]){0.5});
    mask_expect_path(mask, 0, 1, 2, (double[]){0.25f, 0.25f});
    mask_expect_path(mask, 1, 0, 2, (double[]){0.5f / 3, 0.5f});
    mask_expect_path(mask, 1, 1, 2, (double[]){0.125f, 0.75f});
}

static void expect_kernel(const char *name, const struct mask_load_options *options)
{
    struct mask *mask = mask_loaded(name, options);
    mask_expect_path(mask, 0, 0, 1, (double[]){0.5});
}

/* pack/ was downloaded; irs/ lies beside it. */
START_TEST(kernels_beside_a_preset)
{
    static const char room[] = CONVOLVER("\"kernel-name\": \"Room\", \"autogain\": false");
    char folder[4096];
    command_clean();
    command_done("mkdir -p irs pack/output/Room.irs home/.config/easyeffects/output");
    snprintf(folder, sizeof folder, "%s", command_path("irs"));
    const struct mask_load_options allowing = {.folder = folder};
    setenv("HOME", command_path("home"), 1);
    unsetenv("XDG_CONFIG_HOME");
    mask_refused("pack/output/a.json", room, "there is no kernel Room.irs"); /* it is a folder */
    make_kernel("irs/Room.irs", 1);
    expect_kernel("pack/output/a.json", &allowing);
    command_done("rmdir pack/output/Room.irs && ln -s ../irs pack/irs");
    mask_refused("pack/output/a.json", room, "irs/Room.irs is a symbolic link out of ");
    expect_kernel("pack/output/a.json", &allowing);
    command_done("rm pack/irs && mkdir pack/kernels && ln -s kernels pack/irs && mv irs/Room.irs "
                 "pack/kernels/");
    expect_kernel("pack/output/a.json", NULL);
    /* the user's own folder may be a link */
    command_done("mv pack/kernels/Room.irs irs/ && cp pack/output/a.json "
                 "home/.config/easyeffects/output && ln -s ../../../irs "
                 "home/.config/easyeffects/irs");
    expect_kernel("home/.config/easyeffects/output/a.json", NULL);
}

/* As an archive of presets has it, and as the preset of another machine names it. */
START_TEST(kernels_in_a_folder_beside)
{
    command_done("mkdir -p pack/irs");
    setenv("HOME", command_path("home"), 1);
    make_kernel("pack/irs/A Room.irs", 1);
    mask_save_text("pack/a.json", CONVOLVER("\"kernel-name\": \"A Room\", \"autogain\": false"));
    expect_kernel("pack/a.json", NULL);
    mask_save_text("pack/a.json", CONVOLVER("\"kernel-path\": \"/home/x/irs/A Room.irs\", "
                                            "\"autogain\": false"));
    const char *said = mask_said("pack/a.json", NULL);
    command_expect(said, "pack/irs/A Room.irs for /home/x/irs/A Room.irs");
    ck_assert_uint_eq(command_lines(said), 1);
}

/* What is no filter is left out but for its gains; the rest is there. */
START_TEST(nonlinear_plugins_are_skipped)
{
    static const char *const names[] = {"limiter",  "gate",    "compressor", "multiband_compressor",
                                        "autogain", "exciter", "rnnoise",    "deesser"};
    const struct mask_load_options skipping = {.skips_nonlinear = true};
    make_kernel("Room.irs", 1);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{ \"output\": { \"plugins_order\": [\"%s#0\", \"convolver#0\", \"%s#1\"],\n"
                 " \"convolver#0\": { \"kernel-name\": \"Room\", \"autogain\": false },\n"
                 " \"%s#0\": { \"input-gain\": -26, \"output-gain\": 6, \"threshold\": -9 },\n"
                 " \"%s#1\": { \"bypass\": %s, \"output-gain\": 20 } } }",
                 names[i], names[i], names[i], names[i], i % 2 ? "true" : "false");
        mask_save_text("a.json", text);
        struct mask *mask = mask_loaded("a.json", &skipping);
        mask_expect_path(mask, 0, 0, 1, (double[]){i % 2 ? 0.05 : 0.5});
        const char *said = mask_said("a.json,skip=nonlinear", NULL);
        ck_assert_uint_eq(command_lines(said), i % 2 ? 1 : 2);
        command_expect(said, names[i]);
        mask_refused("a.json", text, "skip=nonlinear leaves it out");
    }
    mask_save_text("a.json", PRESET("crossfeed", "\"x\": 1"));
    mask_spec_refused(1, "cannot be read as a mask", "a.json,skip=nonlinear", NULL);
    mask_spec_refused(2, "skip= is nonlinear, not 'all'", "a.json,skip=all", NULL);
    mask_spec_refused(2, "skip= is for configurations", "Room.irs,skip=nonlinear", NULL);
    mask_spec_refused(2, "is made by halo: skip=", "lowpass:1000,skip=nonlinear", NULL);
}

/* Whatever the order is, the kernel sets the rate, and equalisers are made at it. */
START_TEST(kernels_set_the_rate)
{
    static const char preset[] =
        "{ \"output\": { \"plugins_order\": [\"%s#0\", \"%s#0\"],\n"
        " \"convolver#0\": { \"kernel-name\": \"Room\", \"autogain\": false },\n"
        " \"equalizer#0\": { \"num-bands\": 1, \"left\": { \"band0\": { \"frequency\": 9000,\n"
        "  \"gain\": 6, \"q\": 2 } } } } }";
    const struct mask_load_options options = {.sound = {.rate = 48000, .channels = 2}};
    struct mask *masks[2];
    make_kernel_of("Room.irs", 44100, 2);
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text, preset, i ? "equalizer" : "convolver",
                 i ? "convolver" : "equalizer");
        mask_save_text("a.json", text);
        masks[i] = mask_loaded("a.json", &options);
        ck_assert_uint_eq(masks[i]->rate, 44100);
    }
    ck_assert_uint_eq(masks[0]->columns, masks[1]->columns);
    for (size_t k = 0; k < masks[0]->taps && k < masks[1]->taps; k++)
        ck_assert_double_eq_tol(mask_column(masks[0], 0)[k], mask_column(masks[1], 0)[k], 1e-12);
}

/* As in EasyEffects, but not without a word. */
START_TEST(unknown_settings_are_said)
{
    mask_save_text("a.json", EQUALIZER("\"tilt\": 3, ", "{ \"type\": \"Bell\", \"frequency\": 100, "
                                                        "\"gian\": 3, \"q\": 1 }"));
    const char *said = mask_said("a.json", NULL);
    command_expect(said, "equalizer#0: the setting 'tilt' is not known and has no effect");
    command_expect(said, "equalizer#0, band0: the setting 'gian' is not known");
}

/* 20 log10 |H| of the prototypes at s = i tan(pi f / 48000) / tan(pi 1000 / 48000). */
START_TEST(bands)
{
    static const struct {
        const char *text;
        double decibels[3]; /* at 300, 900 and 6000 Hz */
    } cases[] = {
        {BAND("Bell", "RLC (BT)", "x1", "1000", "6", "0.7"), {0.991584, 5.837547, 0.280432}},
        {BAND("Bell", "RLC (BT)", "x3", "1000", "-9", "2"), {-1.315410, -8.743822, -0.361037}},
        {BAND("Lo-shelf", "RLC (BT)", "x2", "1000", "5", "0.5"), {5.009303, 3.079390, -0.010834}},
        {BAND("Hi-pass", "RLC (BT)", "x2", "1000", "9", "0.3"), {-42.224425, -9.481353, -0.084817}},
        {BAND("Lo-pass", "BWC (BT)", "x2", "1000", "9", "0"), {-0.000282, -1.551940, -64.055596}},
        {BAND("Hi-pass", "LRX (BT)", "x1", "1000", "0", "0"), {-41.945204, -8.048034, -0.005444}},
        {BAND("Bell", "APO (DR)", "x1", "1000", "-6", "1.2"), {-0.446683, -5.612349, -0.116051}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const double frequencies[] = {300, 900, 6000};
        char text[1024];
        snprintf(text, sizeof text, EQUALIZER("", "%s"), cases[i].text);
        struct mask *mask = preset_loaded(text);
        ck_assert_uint_eq(mask->columns, 1); /* left serves both */
        for (size_t f = 0; f < 3; f++)
            ck_assert_double_eq_tol(mask_magnitude(mask, 0, frequencies[f]), cases[i].decibels[f],
                                    2e-4); /* the end is cut at -160 dB */
    }
}

/* A band without q: has the one that EasyEffects takes then. */
START_TEST(usual_quality)
{
    struct mask *mask = preset_loaded(
        EQUALIZER("", "{\"type\": \"Hi-pass\", \"mode\": \"APO (DR)\", \"frequency\": 700}"));
    struct mask *wanted =
        preset_loaded(EQUALIZER("", BAND("Hi-pass", "APO (DR)", "x1", "700", "0", "4.36")));
    ck_assert_uint_eq(mask->taps, wanted->taps);
    for (size_t k = 0; k < mask->taps; k++)
        ck_assert_double_eq(mask_column(mask, 0)[k], mask_column(wanted, 0)[k]);
}

#ifdef HALO_TEST_LSP
/* All modes of a type in series. The plugin computes in single precision. */
static void expect_plugin(size_t type, const char *name)
{
    static const char *const modes[] = {"RLC (BT)", "RLC (MT)", "BWC (BT)", "BWC (MT)",
                                        "LRX (BT)", "LRX (MT)", "APO (DR)"};
    char list[4096] = "", controls[1024] = "";
    size_t first = strcmp(name, "Allpass") == 0 ? 2 : 0, count = 7 - first; /* RLC: see refused */
    for (size_t i = 0; i < count; i++) {
        sprintf(list + strlen(list),
                "%s\"band%zu\": " BAND("%s", "%s", "x2", "2000", "-4.4369749923271273", "0.8"),
                i ? ", " : "", i, name, modes[first + i]);
        sprintf(controls + strlen(controls),
                ",ftl_%zu=%zu,fml_%zu=%zu,sl_%zu=1,fl_%zu=2000,gl_%zu=0.6,ql_%zu=0.8", i, type, i,
                first + i, i, i, i, i);
    }
    char text[8192];
    snprintf(text, sizeof text, PRESET("equalizer", "\"num-bands\": %zu, \"left\": { %s }"), count,
             list);
    mask_save_text("a.json", text);
    command_done("$HALO render in.wav ours.wav -f --mask a.json --format float --tail none");
    command_done("$HALO render in.wav theirs.wav -f --tail none --format float --lv2 "
                 "http://lsp-plug.in/plugins/lv2/para_equalizer_x32_lr%s",
                 controls);
    struct sound ours = sound_load("ours.wav"), theirs = sound_load("theirs.wav");
    for (size_t i = 0; i < theirs.block.frames; i++)
        ck_assert_msg(fabsf(ours.block.data[0][i] - theirs.block.data[0][i]) < 2e-5f,
                      "%s: frame %zu is %g, not %g", name, i, (double)ours.block.data[0][i],
                      (double)theirs.block.data[0][i]);
}

START_TEST(bands_of_the_plugin_itself)
{
    static const char *const types[] = {"Off",      "Bell",  "Hi-pass",   "Hi-shelf", "Lo-pass",
                                        "Lo-shelf", "Notch", "Resonance", "Allpass"};
    struct sound in = sound_create(SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 2000);
    in.block.data[0][0] = 1;
    sound_save(&in, "in.wav");
    for (size_t type = 1; type < sizeof types / sizeof *types; type++)
        expect_plugin(type, types[type]);
}
#define PLUGIN_TESTS bands_of_the_plugin_itself,
#else
#define PLUGIN_TESTS
#endif

/* Nothing is done to the sound. */
START_TEST(presets_without_plugins)
{
    static const char *const texts[] = {
        "{ \"output\": { \"blocklist\": [], \"plugins_order\": [] } }",
        "{ \"input\": { \"plugins_order\": [] } }",
        "{ \"input\": { \"plugins_order\": [] }, \"output\": { \"plugins_order\": [] } }",
        "{ \"output\": { \"plugins_order\": [\"limiter#0\"], \"limiter#0\": { \"bypass\": true } } }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct mask *mask = preset_loaded(texts[i]);
        ck_assert_uint_eq(mask->path_count, 2);
        for (size_t c = 0; c < 2; c++)
            mask_expect_path(mask, c, c, 1, (double[]){1});
    }
}

START_TEST(refused)
{
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {PRESET("limiter", "\"x\": 1"), "limiter#0: this plugin is no filter; skip="},
        {PRESET("reverb", "\"x\": 1"), "reverb#0: this plugin cannot be read as a mask"},
        {CONVOLVER("\"kernel-name\": \"No\""), "convolver#0: there is no kernel No.irs"},
        {CONVOLVER("\"kernel-name\": \"../Room\""), "is not the name of a kernel"},
        {CONVOLVER("\"autogain\": true"), "it has no kernel-name"},
        {CONVOLVER("\"kernel-name\": \"Room\", \"ir-width\": 300"), "'ir-width' must be"},
        {CONVOLVER("\"kernel-name\": \"Three\""), "the kernel has 3 channels"},
        {CONVOLVER("\"state\": \"true\""), "presets of PulseEffects"},
        {EQUALIZER("\"balance\": 5, ", BAND("Bell", "RLC (BT)", "x1", "9", "1", "1")), "a balance"},
        {EQUALIZER("\"decramp\": \"x2\", ", BAND("Bell", "RLC (BT)", "x1", "9", "1", "1")),
         "decramp must be Off"},
        {EQUALIZER("", BAND("Bandpass", "RLC (BT)", "x1", "9", "1", "1")),
         "equalizer#0, band0: a band of the type 'Bandpass'"},
        {EQUALIZER("", BAND("Allpass", "RLC (MT)", "x1", "9", "1", "1")), "an Allpass in RLC"},
        {EQUALIZER("", BAND("Bell", "XYZ", "x1", "9", "1", "1")), "there is no mode 'XYZ'"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x9", "9", "1", "1")), "a slope must be"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x1", "99", "36.5", "1")),
         "'gain' is 36.5, but EasyEffects has -36 to 36"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x1", "99", "-37", "1")), "'gain' is -37"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x1", "9.5", "1", "1")), "'frequency' is 9.5"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x1", "24001", "1", "1")), "has 10 to 24000"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x1", "99", "1", "-0.1")), "'q' is -0.1"},
        {EQUALIZER("", BAND("Bell", "RLC (BT)", "x1", "99", "1", "101")), "has 0 to 100"},
        {EQUALIZER("\"pitch-right\": 121, ", BAND("Bell", "RLC (BT)", "x1", "99", "1", "1")),
         "'pitch-right' is 121, but EasyEffects has -120 to 120"},
        {CONVOLVER("\"kernel-name\": \"Room\", \"dry\": 20.5"), "'dry' is 20.5"},
        {CONVOLVER("\"kernel-name\": \"Room\", \"wet\": -101"), "has -100 to 20"},
        {CONVOLVER("\"kernel-name\": \"Room\", \"input-gain\": -40"), "'input-gain' is -40"},
        {CONVOLVER("\"kernel-name\": \"Room\", \"output-gain\": 40"), "'output-gain' is 40"},
        {EQUALIZER("", "{\"solo\": true}"), "a band is solo"},
        {PRESET("equalizer", "\"mode\": \"FIR\""), "the mode 'FIR'"},
        {PRESET("equalizer", "\"num-bands\": 2"), "equalizer#0, band0: the preset does not have"},
        {"{ \"output\": { \"plugins_order\": 3 } }", "plugins_order must list"},
        {"{ \"output\": { \"plugins_order\": [\"gate#0\"] } }", "no settings of it"},
        {"{ \"output\": { \"plugins_order\": [\"a#0\"] }, \"input\": { \"plugins_order\": [\"b#0\"] "
         "} }",
         "for output and for input"},
        {"{ \"plugins_order\"\n x", "line 2: not JSON"},
    };
    make_kernel("Room.irs", 2);
    make_kernel("Three.irs", 3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        mask_refused("a.json", cases[i].text, cases[i].expected);
}
