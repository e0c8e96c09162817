/* Every command, where the outside world fails: each call to it, and each allocation.
 * HALO_TEST_FULL: all of them; otherwise a sample, which HALO_TEST_FAULT_SEED (1) chooses. */
#include "command.h"
#include "fault_rig.h"
#include "sound.h"
#include "suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define HALO "\"$HALO\" "
#define RENDER HALO "render \"$IN\"/in.wav out/o.wav -q -f --gain -20 "
#define OLD "echo precious >out/o.wav"
#define LIVE                                                                                       \
    HALO                                                                                           \
        "live --plain -q --no-feedback-guard --device null:in=\"$IN\"/in.wav,pace=1 --seconds 0.05 "

static const struct fault_row renders[] = {
    {.line = RENDER "--mask \"$IN\"/mask.txt", .old = OLD},
    {.line = RENDER "--mask \"$IN\"/mask.txt --no-sync"},
    {.line = HALO "render \"$IN\"/in.wav - -q --gain -20 --mask \"$IN\"/mask.txt"},
    {.line = HALO "render - out/o.wav -q --gain -20 --mask \"$IN\"/mask.wav <\"$IN\"/in.wav"},
    {.line = RENDER "--json --mask \"$IN\"/mask.txt", .old = OLD},
    {.line = RENDER "--container flac", .old = OLD},
    {.line = RENDER "--container ogg", .old = OLD},
    {.line = RENDER "--container opus", .old = OLD},
    {.line = RENDER "--container mp3", .old = OLD},
    {.line = RENDER "--container aiff", .old = OLD},
    {.line = RENDER "--container caf", .old = OLD},
    {.line = RENDER "--container w64", .old = OLD},
    {.line = RENDER "--container rf64", .old = OLD},
    {.line = RENDER "--container au", .old = OLD},
    {.line = HALO "render \"$IN\"/in.flac out/o.wav -q"},
    {.line = HALO "render \"$IN\"/in.ogg out/o.wav -q"},
    {.line = HALO "render \"$IN\"/in.mp3 out/o.wav -q"},
    {.line = RENDER "--normalize -3 --gain 20", .old = OLD},
    {.line = RENDER "--mask \"$IN\"/mask.wav,level=input --noise \"$IN\"/long44.wav,snr=5..20 "
                    "--start 0.002",
     .old = OLD},
    {.line = RENDER "--mask \"$IN\"/long44.wav --threads 2", .old = OLD},
    {.line = RENDER "--mask \"$IN\"/mask.wav,phase=minimum", .old = OLD},
    {.line = RENDER "--mask lowpass:1000 --backend direct", .old = OLD},
    {.line = RENDER "--spectral box2d:3x3", .old = OLD},
    {.line = HALO "render \"$IN\"/in.wav out/o.wav -q -f --replay \"$IN\"/log", .old = OLD},
    {.line = HALO "bench stream --backend cpu --taps 300 --channels 1 --seconds 0.1 --json"},
};

/* Tags that OUT lacks are bytes that differ. Those of AIFF, MP3 and of FLAC's picture need
 * libraries of their own. */
static const struct fault_row tags[] = {
    {.line = HALO "render \"$IN\"/tags.flac out/o.aiff -q -f", .old = "echo precious >out/o.aiff"},
    {.line = HALO "render \"$IN\"/tags.flac out/o.ogg -q"},
    {.line = HALO "render \"$IN\"/tags.ogg out/o.mp3 -q"},
    {.line = HALO "render \"$IN\"/tags.mp3 out/o.wav -q -f", .old = OLD},
    {.line = HALO "render \"$IN\"/tags.wav out/o.w64 -q"},
    {.line = HALO "render \"$IN\"/tags.wav out/o.caf -q --metadata \"$IN\"/tags.json"},
    {.line = HALO "render - out/o.rf64 -q <\"$IN\"/tags.wav"},
    {.line = HALO "render - - -q <\"$IN\"/tags.flac"},
};

static const struct fault_row masks[] = {
    {.line = HALO "mask make lowpass:1000 -o out/m.wav -f", .old = "echo precious >out/m.wav"},
    {.line = HALO "mask make lowpass:1000 -o out/m.caf"},
    {.line = HALO "mask make room:rt60=0.1,seed=1 -o out/m.aiff -f",
     .old = "echo precious >out/m.aiff"},
    {.line = HALO "mask make inverse:\"$IN\"/mic.cal,taps=64 -o out/m.wav"},
    {.line = HALO "mask make gaussian2d:5x5 -o out/m.mask2d -f",
     .old = "echo precious >out/m.mask2d"},
    {.line = HALO "mask show \"$IN\"/mask.wav"},
    {.line = HALO "mask show \"$IN\"/mask.txt box2d:3x3 --json"},
    {.line = HALO "mask plot \"$IN\"/mask.txt", .tells = true}, /* without a locale in ASCII */
    {.line = HALO "mask plot \"$IN\"/mask.txt -o out/p.svg -f", .old = "echo precious >out/p.svg"},
    {.line = HALO "mask plot box2d:3x3 -o out/p.png -f", .old = "echo precious >out/p.png"},
    {.line = HALO "mask convert \"$IN\"/mask.wav out/m.txt -f", .old = "echo precious >out/m.txt"},
    {.line = HALO "mask convert \"$IN\"/mask.txt out/m.mask -f",
     .old = "echo precious >out/m.mask"},
    {.line = HALO "mask convert \"$IN\"/filters.yml out/m.wav"},
    {.line = HALO "mask convert \"$IN\"/eq.txt out/m.wav"},
    {.line = HALO "mask convert \"$IN\"/preset.json out/m.wav"},
    {.line = HALO "spectrogram \"$IN\"/in.wav"},
    {.line = HALO "spectrogram \"$IN\"/in.wav -o out/s.png -f", .old = "echo precious >out/s.png"},
    {.line = HALO "chain check \"$IN\"/chain.yml"},
    {.line = RENDER "--mask \"$IN\"/mask.txt --save-chain out/c.yml",
     .old = OLD ";echo precious >out/c.yml"},
    {.line = RENDER "--chain \"$IN\"/chain.yml", .old = OLD},
    {.line = HALO "--version"},
    {.line = HALO "render --help"},
};

/* Calls alone, and without a sound server: libraries of sound systems crash without memory
 * (libasound in snd_config_update). */
static const struct fault_row devices[] = {
    {.line =
         "XDG_RUNTIME_DIR=$PWD PIPEWIRE_RUNTIME_DIR=$PWD ALSA_CONFIG_PATH=\"$IN\"/asound.conf " HALO
         "devices --json",
     .tells = true},
};

static const struct fault_row collections[] = {
    {.line = RENDER "--mask \"$IN\"/eq.txt --save-chain out/c.yml --collect",
     .old = OLD ";echo precious >out/c.yml"},
    {.line = HALO "chain collect \"$IN\"/eq.yml out/c.yml -f",
     .old = "cp \"$IN\"/old.yml out/c.yml; cp -r \"$IN\"/old.yml.files out/c.yml.files"},
};

static const struct fault_row streams[] = {
    {.line = LIVE "--mask \"$IN\"/mask.txt --record out/o.wav -f",
     .old = OLD ";echo {} >out/o.wav.log",
     .grows = true},
    {.line = LIVE "--mask \"$IN\"/mask.txt --or --mask \"$IN\"/mask.wav --record out/o.caf",
     .grows = true},
    {.line = LIVE "--record-dry out/o.w64 --record out/p.wav --json", .grows = true, .tells = true},
    {.line = LIVE "--mask \"$IN\"/long.wav --watch --osc 0 --meter-interval 0.02",
     .grows = true,
     .tells = true},
    {.line = HALO "listen \"$IN\"/in.wav --mask \"$IN\"/mask.txt --or --mask \"$IN\"/mask.wav -q "
                  "-f --to-file out/o.wav --script '0:A 0.05s:B'",
     .old = OLD},
    {.line = HALO "listen \"$IN\"/in.wav --mask \"$IN\"/mask.txt -q --plain --seconds 0.05 "
                  "--device null:out=out/o.wav,pace=1",
     .grows = true},
};

static const struct fault_row plugins[] = {
    {.line = RENDER "--ladspa mean:copy", .old = OLD, .tells = true},
    {.line = RENDER "--ladspa mean:copy --no-isolate", .old = OLD},
    {.line = RENDER "--lv2 urn:halo:test:copy", .old = OLD, .tells = true},
    {.line = RENDER "--lv2 urn:halo:test:copy,@mix=0.5 --no-isolate", .old = OLD, .tells = true},
    {.line = HALO "plugins list --json --kind ladspa", .tells = true},
    {.line = HALO "plugins info mean:copy", .tells = true},
    {.line = HALO "plugins info urn:halo:test:copy --json", .tells = true},
    {.line = LIVE "--ladspa mean:copy --isolate", .grows = true, .tells = true},
#ifdef HALO_LV2_BUNDLE
    {.line =
         RENDER "--lv2 urn:halo:convolver:stereo,param:urn:halo:convolver#mask=\"$IN\"/mask.txt "
                "--no-isolate --save-chain out/c.yml",
     .old =
         OLD "; cp -r \"$IN\"/state.yml out/c.yml; cp -r \"$IN\"/state.yml.state out/c.yml.state",
     .tells = true},
#endif
};

#ifdef HALO_LV2_BUNDLE
#define LV2_FOLDERS HALO_TEST_PLUGINS "/lv2:" HALO_LV2_BUNDLE "/.."
#else
#define LV2_FOLDERS HALO_TEST_PLUGINS "/lv2"
#endif

static void make_inputs(void)
{
    command_clean();
    setenv("IN", "../in", 1);
    setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 0);
    setenv("LADSPA_PATH", command_path("ladspa"), 1);
    setenv("LV2_PATH", LV2_FOLDERS, 1);
    setenv("LD_LIBRARY_PATH", HALO_TEST_PLUGINS "/ladspa",
           1); /* the bundles' libraries are there */
    command_done("mkdir in ladspa && cp %s/ladspa/mean.so ladspa", HALO_TEST_PLUGINS);
    sound_noise_file("in/in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 3000);
    sound_noise_file("in/mask.wav", 2, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 300);
    sound_noise_file("in/long.wav", 3, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 9000);
    sound_noise_file("in/long44.wav", 3, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 44100, 2, 9000);
    sound_noise_mask("in/mask.txt", 4, 1, 200);
    command_done("cd in; for e in flac ogg mp3; do \"$HALO\" render in.wav in.$e -q; done; :");
    command_done(
        "cd in; \"$HALO\" render in.wav c.wav -q --mask mask.txt --gain -3 --save-chain "
        "chain.yml && \"$HALO\" live --plain -q --no-feedback-guard "
        "--device null:in=in.wav,pace=0 --seconds 0.1 --mask mask.txt --record take.wav && "
        "sed 's:mask.txt:../in/mask.txt:' take.wav.log >log");
    command_done("cd in; echo '{\"tags\": {\"TITLE\": \"one\", \"ARTIST\": [\"two\", "
                 "\"three\"], \"OWN\": \"four\"}}' >tags.json; for e in flac ogg mp3 wav; do "
                 "\"$HALO\" render in.wav tags.$e -q --metadata tags.json; done; :");
#ifdef HALO_LV2_BUNDLE
    command_done("cd in; \"$HALO\" render in.wav c.wav -f -q --save-chain state.yml --lv2 "
                 "urn:halo:convolver:stereo,param:urn:halo:convolver#mask=mask.wav");
#endif
    command_done("cat >in/eq.txt <<'END'\nInclude: bass.txt\nCopy: X=L\nChannel: X\n"
                 "Convolution: mask.wav\nDelay: `1+1` samples\nCopy: R=X+0.5*R\nEND\n"
                 "echo 'Filter: ON PK Fc 2000 Hz Gain -3 dB Q 1' >in/bass.txt");
    command_done(
        "cd in; \"$HALO\" render in.wav c.wav -f -q --mask eq.txt --save-chain eq.yml && "
        "\"$HALO\" render in.wav c.wav -f -q --mask mask.wav --save-chain old.yml --collect");
    command_done("printf '* microphone\\n20 -1\\n20000 -1.2\\n' >in/mic.cal");
    command_done(
        "printf 'pcm.default { type null }\\nctl.default { type null }\\n' >in/asound.conf");
    command_done("echo '{\"output\": {\"plugins_order\": [\"convolver#0\"], \"convolver#0\": "
                 "{\"kernel-name\": \"mask\"}}}' >in/preset.json");
    command_done("cat >in/filters.yml <<'END'\n"
                 "devices:\n  samplerate: 48000\n  capture: {channels: 2}\n"
                 "filters:\n  c: &c {type: Conv}\n"
                 "  f:\n    <<: *c\n    parameters:\n      type: Wav\n"
                 "      filename: mask.wav\n      channel: 0\n"
                 "pipeline:\n  - type: Filter\n    channel: 0\n    names: [f]\nEND");
}

/* The calls, then memory. HALO_TEST_FULL: how many of each kind; all: which takes hours. */
static const struct fault_kind kinds[] = {
    {"any", 0, 4}, {"any", EIO, 4}, {"wait", EINTR, 4}, {"short", 0, 4}, {"memory", 0, 8}};
enum { KINDS = COUNT(kinds), CALLS = KINDS - 1 };

static void run(const struct fault_row *rows, size_t count, size_t kind_count)
{
    const char *full = getenv("HALO_TEST_FULL");
    struct fault_kind tried[KINDS];
    memcpy(tried, kinds, sizeof kinds);
    for (size_t k = 0; full && k < KINDS; k++)
        tried[k].most = (unsigned)strtoul(full, NULL, 10);
    make_inputs();
    fault_rig_run(rows, count, tried, kind_count);
}

START_TEST(failures_of_renders)
{
    run(renders, COUNT(renders), KINDS);
}

START_TEST(failures_of_tags)
{
    run(tags, COUNT(tags), KINDS);
}

START_TEST(failures_of_masks)
{
    run(masks, COUNT(masks), KINDS);
}

START_TEST(failures_of_devices)
{
    run(devices, COUNT(devices), KINDS);
}

START_TEST(failures_of_collecting)
{
    run(collections, 1, KINDS);
    run(collections + 1, 1, CALLS); /* an old folder is removed as well as memory lets it */
}

START_TEST(failures_of_streams)
{
    run(streams, COUNT(streams), KINDS);
}

START_TEST(failures_of_plugins)
{
    run(plugins, COUNT(plugins), KINDS);
}

/* ---- little memory in all ---- */

static bool may_be_limited(void)
{
    return command_run("ulimit -v 1000000 && \"$HALO\" --version").code == 0;
}

/* What libraries take is asked for before; codecs would crash. */
START_TEST(little_memory_is_an_error)
{
    static const char *const commands[] = {
        "render in/in.wav out.ogg -q -f --gain -20 --mask in/long.wav",
        "render in/in.ogg out.mp3 -q -f --gain -20 --mask in/long44.wav",
        "render in/in.wav out.flac -q -f --gain -20 --spectral box2d:3x3",
        "mask plot in/mask.wav -f -o out.svg",
        "plugins info urn:halo:test:copy",
    };
    enum { LEAST = 30000, MOST = 120000 /* KiB */ };
    make_inputs();
    int step = getenv("HALO_TEST_FULL") ? 300 : 4500;
    if (!may_be_limited()) {
        puts("not run: little_memory_is_an_error, since a sanitizer needs all addresses");
        return;
    }
    for (int most = LEAST; most < MOST; most += step) {
        const char *limited = "unset HOME XDG_CACHE_HOME; ulimit -v";
        if (command_run("%s %d; \"$HALO\" --version", limited, most).code != 0)
            continue; /* too little to begin */
        for (size_t i = 0; i < COUNT(commands); i++) {
            struct command_result result =
                command_run("%s %d; \"$HALO\" %s", limited, most, commands[i]);
            ck_assert_msg(result.code <= 1, "%s: %d KiB: exit code %d\n%s", commands[i], most,
                          result.code, result.err);
            ck_assert_msg(result.code == 0 || strstr(result.err, "halo: "), "%s: %d KiB: %s",
                          commands[i], most, result.err);
        }
    }
}
