/* halo render on the CPU, and the masks that halo makes: the bytes are known beforehand, and the same
 * with any threads, block, home folder and processor from AVX2 on; with --reproducible also through a
 * pipe.
 *
 * HALO_TEST_EMULATOR is a command before the program, such as qemu-x86_64 -cpu max, which has AVX2
 * and no AVX-512. Exit 77 (skipped) where this processor has no AVX2. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

enum { WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16, WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT };
enum { FRAMES = 60000, DIGEST = 16 /* digits */ };

struct golden {
    const char *arguments; /* of halo, which writes out.wav */
    const char *digest;    /* the first digits of its SHA-256 */
    bool once;             /* a command without the options of a render */
};

/* With libsoxr 0.1.3 and glibc 2.36. A change of one is a change
 * of what halo writes: for the changelog, if it cannot be helped. */
static const struct golden goldens[] = {
    {"render in.wav out.wav --mask short.wav", "99a0fe71a7f374d2", false},
    {"render in.wav out.wav --mask short.wav --format float", "0e68c306467d78d4", false},
    {"render in.wav out.wav --mask short.wav --format double --backend direct", "b22f66ff65031929",
     false},
    {"render in.wav out.wav --mask middle.wav --format float", "25ce643302eb0bb4", false},
    {"render in.wav out.wav --mask long.wav", "146b138f9bd9adf3", false},
    {"render in.wav out.wav --mask long.wav --format float", "75589c25cdc952eb", false},
    {"render in.wav out.wav --mask long.wav --format pcm24 --dither none", "8aa77f68f55c01e3",
     false},
    {"render in.wav out.wav --gain -3 --dither shaped", "834d74c10582dc97", false},
    {"render fast.wav out.wav --gain -3 --dither shaped", "c7373ef06e02bd59", false},
    {"render in.wav out.wav --mask matrix.wav --format float", "ad5e3828c5a3da6e", false},
    {"render in.wav out.wav --mask slower.wav --format float", "b72192fbeaea2cbf", false},
    {"render low.wav out.wav --mask above.wav --format float", "c04a507472f09e82", false},
    {"render low.wav out.wav --mask long.wav --mask above.wav --format float", "d63775d605669d01",
     false},
    {"render in.wav out.wav --mask lowpass:1000 --format float", "6c87a108fd03f953", false},
    {"render in.wav out.wav --mask highpass:80,phase=minimum --format float", "965e794b58739c40",
     false},
    {"render in.wav out.wav --mask middle.wav,phase=minimum --format float", "f2ab7842370f2049",
     false},
    {"render in.wav out.wav --mask invert:short.wav --format float", "c15920c2efcc8855", false},
    {"render in.wav out.wav --mask room:rt60=0.3 --format float", "4803d9eec77569e8", false},
    {"render in.wav out.wav --mask 'parametric:PK 1000 -6 1.4' --mask short.wav --gain -3 "
     "--mask matrix.wav,normalize=energy --gain -6,at=0.3s:gain=-12",
     "901c9020de25b403", false},
    {"render in.wav out.wav --mask long.wav --edge reflect --format float", "3f40c622441ef19b",
     false},
    {"render in.wav out.wav --mask long.wav --normalize -1", "085037d4a9400e3b", false},
    {"render in.wav out.wav --mask long.wav --tail until:-60dB --format float", "45fa2b1c1819b405",
     false},
    {"render in.wav out.wav --spectral gaussian2d:5x5,size=1024 --format float", "ed2f58f9acc14f8c",
     false},
    {"render in.wav out.wav --mask short.wav --precision double --format double",
     "bc1ccf2e3c21e7b2", false},
    {"render in.wav out.wav --mask long.wav --precision double", "722b9e949ac261b4", false},
    {"render in.wav out.wav --mask long.wav --precision double --format double", "1787629a5eb12a8a",
     false},
    {"render in.wav out.wav --mask matrix.wav --precision double --format double",
     "59e434d4dbac7fb4", false},
    {"render in.wav out.wav --mask slower.wav --precision double --format double",
     "0e670377ae46e704", false},
    {"render in.wav out.wav --mask short.wav --precision double --format double --backend direct",
     "bc1ccf2e3c21e7b2", false},
    {"render in.wav out.wav --mask 'parametric:PK 1000 -6 1.4' --mask middle.wav --gain -3 "
     "--gain -6,at=0.3s:gain=-12 --precision double --format double",
     "11638a2a6290aec8", false},
    {"mask make bandpass:300-3400 -o out.wav", "13d3795f11ab6199", true},
    {"mask make 'equiripple:0-1k 1; 2k- 0 10' -o out.wav", "e68ff6b0c9449800", true},
    {"mask make tilt:-3dB/oct,phase=minimum -o out.wav", "cdfb2500f275c8e3", true},
    {"mask make 'combine:lowpass:1000*invert:short.wav' -o out.wav", "f692e084fad65fa7", true},
};
enum { GOLDENS = sizeof goldens / sizeof *goldens };

static const char *emulator(void)
{
    const char *command = getenv("HALO_TEST_EMULATOR");
    return command ? command : "";
}

/* A constant and a slow ramp: in a mask of one sign they come near the bound (near_bound.h). */
static void save_low(void)
{
    struct sound low = sound_create(WAV16, 48000, 2, FRAMES);
    for (size_t i = 0; i < FRAMES; i++) {
        low.block.data[0][i] = 0.75F;
        low.block.data[1][i] = (float)(i % 4096) / 8192;
    }
    sound_save(&low, "low.wav");
}

/* Noise that falls to zero in a straight line. */
static void save_mask(const char *name, uint64_t seed, uint32_t rate, size_t channels, size_t taps,
                      bool positive)
{
    struct sound mask = sound_noise(name, seed, WAVF, rate, channels, taps);
    for (size_t c = 0; c < channels; c++)
        for (size_t k = 0; k < taps; k++) {
            float tap = mask.block.data[c][k] * (float)(taps - k) / (float)(taps * 64);
            mask.block.data[c][k] = positive && tap < 0 ? -tap : tap;
        }
    sound_save(&mask, name);
}

static void save_files(void)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, FRAMES);
    sound_noise_file("fast.wav", 8, WAV16, 96000, 2, FRAMES);
    save_low();
    save_mask("short.wav", 2, 48000, 1, 20, false);
    save_mask("middle.wav", 3, 48000, 2, 1000, false);
    save_mask("long.wav", 4, 48000, 1, 30000, false);
    save_mask("matrix.wav", 5, 48000, 4, 3000, false);
    save_mask("slower.wav", 6, 44100, 2, 2000, false);
    save_mask("above.wav", 7, 48000, 1, 3000, true);
}

static void expect_all(const char *before)
{
    for (size_t i = 0; i < GOLDENS; i++) {
        const struct golden *golden = &goldens[i];
        struct command_result result =
            command_done("rm -f out.wav && %s %s \"$HALO\" %s %s -f && sha256sum out.wav", before,
                         emulator(), golden->arguments, golden->once ? "" : "-q");
        char digest[DIGEST + 1] = "";
        snprintf(digest, sizeof digest, "%.*s", DIGEST, result.out);
        if (strcmp(digest, golden->digest) != 0)
            ck_abort_msg("%s halo %s: %s, not %s", before, golden->arguments, digest,
                         golden->digest);
    }
}

START_TEST(bytes_are_known)
{
    save_files();
    expect_all("");
}

/* $n is the number of channels. Masks in a row have blocks that suit the longer one. */
static const char *const chains[] = {
    "--mask m1.wav",
    "--mask m2.wav",
    "--mask m31.wav",
    "--mask m257.wav",
    "--mask m4097.wav",
    "--mask m100000.wav",
    "--mask m4097.wav --mask m100000.wav",
    "--mask m31.wav --mask m4097.wav,level=input",
    "--mask m257.wav --mask m31.wav --normalize -20LUFS",
    "--mask each$n.wav",
    "--mask matrix$n.wav,map=matrix",
    "--mask slower.wav",
    "--spectral gaussian2d:3x3,size=600 --spectral box2d:1x3,size=1024,hop=256",
    "--mask m257.wav --spectral median2d:9x17,part=harmonic",
    "--gain -3,at=0.3s:gain=-12 --noise m100000.wav,snr=7",
};
enum { CHAINS = sizeof chains / sizeof *chains };

static void save_grid(const size_t *channels, size_t count)
{
    static const size_t taps[] = {1, 2, 31, 257, 4097, 100000};
    char name[32];
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++) {
        snprintf(name, sizeof name, "m%zu.wav", taps[i]);
        save_mask(name, i, 48000, 1, taps[i], false);
    }
    save_mask("slower.wav", 6, 44100, 1, 2000, false);
    for (size_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "in%zu.wav", channels[i]);
        sound_noise_file(name, i, WAVF, 48000, channels[i], 100000);
        snprintf(name, sizeof name, "each%zu.wav", channels[i]);
        save_mask(name, 10 + i, 48000, channels[i], 3000, false);
        snprintf(name, sizeof name, "matrix%zu.wav", channels[i]);
        save_mask(name, 20 + i, 48000, channels[i] * channels[i], 900, false);
    }
}

static void expect_one_sound(const char *chain, size_t channels, const char *format,
                             const char *ways)
{
    struct command_result result = command_done(
        "n=%zu; for way in %s; do \"$HALO\" render in$n.wav out.wav -qf --no-sync --format %s %s $way "
        "&& sha256sum <out.wav || echo failed; done | sort | uniq -c",
        channels, ways, format, chain);
    if (command_lines(result.out) != 1 || strstr(result.out, "failed"))
        ck_abort_msg("%zu channels, %s, %s: %s%s", channels, format, chain, result.out, result.err);
}

START_TEST(threads_and_blocks_change_nothing)
{
    static const size_t channels[] = {2, 1, 6};
    static const char some[] = "'' '--threads 1 --block 64' '--threads 3 --block 65536'";
    static const char all[] =
        "'' '--threads 1' '--threads 2' '--threads 3' '--threads 4' '--threads 5' '--threads 6' "
        "'--threads 7' '--threads 8' '--threads 9' '--block 64' '--block 777' '--block 4096' "
        "'--block 65536' '--block 1000000'";
    bool full = getenv("HALO_TEST_FULL") != NULL;
    size_t count = full ? 3 : 1;
    save_grid(channels, count);
    for (size_t i = 0; i < count * CHAINS; i++) {
        const char *chain = chains[i % CHAINS];
        expect_one_sound(chain, channels[i / CHAINS], "float", full ? all : some);
        if (full)
            expect_one_sound(chain, channels[i / CHAINS], "pcm24", all);
    }
}

START_TEST(homes_change_nothing)
{
    save_files();
    expect_all("XDG_CACHE_HOME=$PWD/new");
}

/* Beyond AVX2: without it the library has another sine and cosine. */
START_TEST(vectors_of_the_c_library_change_nothing)
{
    save_files();
    expect_all("GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-ERMS");
}

START_TEST(a_pipe_changes_nothing)
{
    static const char start[] = "render in.wav";
    save_files();
    for (size_t i = 0; i < GOLDENS; i++) {
        const char *rest = goldens[i].arguments + sizeof start - 1;
        if (strncmp(goldens[i].arguments, start, sizeof start - 1) != 0 || strstr(rest, "--edge"))
            continue; /* a pipe cannot be reflected */
        command_done("\"$HALO\" render in.wav%s --reproducible -qf && mv out.wav file.wav && "
                     "cat in.wav | \"$HALO\" render -%s --reproducible -q && cmp file.wav out.wav",
                     rest, rest);
    }
}

START_TEST(the_sound_is_right)
{
    static const char *const masks[] = {"short.wav", "middle.wav", "long.wav"};
    save_files();
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        command_done("\"$HALO\" render in.wav out.wav --mask %s --format float -qf", masks[i]);
        sound_expect_filtered("out.wav", "in.wav", masks[i]);
    }
}

START_TEST(the_report_says_so)
{
    save_files();
    struct command_result result = command_done(
        "\"$HALO\" render in.wav out.wav --mask long.wav --reproducible --json --block 64");
    json_t *report = command_json(result.out);
    ck_assert(json_is_true(json_object_get(report, "reproducible")));
    ck_assert_str_eq(command_json_string(report, "backend"), "cpu");
    command_expect(result.err, "--block 64 is not used");
    command_expect(result.err, "reproducible: on the CPU, in blocks");
    result = command_done("\"$HALO\" render in.wav out.wav -f --mask long.wav --json");
    report = command_json(result.out);
    ck_assert(json_is_false(json_object_get(report, "reproducible")));
}

START_TEST(what_cannot_be_is_refused)
{
    save_files();
    static const char *const gpu[] = {"--backend cuda", "--kernel fft", "--devices 0",
                                      "--gpu-mode graph"};
    for (size_t i = 0; i < sizeof gpu / sizeof *gpu; i++)
        command_refused(2, "--reproducible needs the CPU",
                        "\"$HALO\" render in.wav out.wav --mask short.wav --reproducible %s",
                        gpu[i]);
    command_refused(2, "differs, by a random number",
                    "\"$HALO\" render in.wav out.wav --mask short.wav --reproducible "
                    "--container ogg");
    command_refused(2, "--replay takes everything from its log",
                    "\"$HALO\" render in.wav out.wav --reproducible --replay take.log");
}

static bool has_avx2(void)
{
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

int main(void)
{
    if (*emulator())
        setenv("CK_RUN_CASE", "bytes_are_known", 1);
    else if (!has_avx2())
        return 77;
    return suite_run();
}
