/* Errors of halo render: bad input of any kind gives one clear line, the exit code (1 failed, 2
 * wrong usage), and no file. */
#include "command.h"
#include "mask_load.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
    WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    WAVD = SF_FORMAT_WAV | SF_FORMAT_DOUBLE,
};

/* A good sound and a good mask, so that each test introduces the only error. */
static void begin(void)
{
    command_clean();
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, 5000);
    sound_noise_file("m.wav", 2, WAVF, 48000, 1, 100);
}

static FILE *open_in_folder(const char *name, const char *mode)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    FILE *file = fopen(path, mode);
    ck_assert_ptr_nonnull(file);
    return file;
}

/* ---- the command line ---- */

START_TEST(wrong_usage_is_reported)
{
    const struct {
        const char *expected; /* of the message */
        const char *arguments;
    } rows[] = {
        {"help", ""},
        {"rendr", "rendr in.wav out.wav"},
        {"did you mean --json?", "render in.wav out.wav --jsno"},
        {"did you mean --format or --force?", "render in.wav out.wav --fo"},
        {"--verbose takes no value, not '--verbose=3'", "render in.wav out.wav --verbose=3"},
        {"--tail needs a value", "render in.wav out.wav --tail"},
        {"did you mean render?", "rendr in.wav out.wav"},
        {"takes IN and OUT, not also 'more.wav'", "render in.wav out.wav more.wav"},
        {"IN and OUT", "render"},
        {"IN and OUT", "render in.wav"},
        {"IN and OUT", "render --mask m.wav"},
        {"third.wav", "render in.wav out.wav third.wav"},
        {"--loud", "render in.wav out.wav --loud"},
        {"-z", "render in.wav out.wav -z"},
        {"--force=yes", "render in.wav out.wav --force=yes"},
        {"--mask", "render in.wav out.wav --mask"},
        {"--gain", "render in.wav out.wav --gain"},
        {"--edge", "render in.wav out.wav --edge"},
        {"--tail", "render in.wav out.wav --tail"},
        {"--format", "render in.wav out.wav --format"},
        {"--threads", "render in.wav out.wav --threads"},
        {"--gain", "render in.wav out.wav --gain loud"},
        {"--gain", "render in.wav out.wav --gain ''"},
        {"--gain", "render in.wav out.wav --gain nan"},
        {"--gain", "render in.wav out.wav --gain inf"},
        {"--gain", "render in.wav out.wav --gain 6x"},
        {"--gain", "render in.wav out.wav --gain 0x10"},
        {"--gain", "render in.wav out.wav --gain ' 6'"},
        {"at=", "render in.wav out.wav --gain 1,at=0x1s:gain=2"},
        {"@mix=", "render in.wav out.wav --gain 1,@mix=0x0"},
        {"--tail", "render in.wav out.wav --tail until:-0x10"},
        {"gain", "render in.wav out.wav --mask m.wav,gain=0x1"},
        {"fade", "render in.wav out.wav --mask m.wav,fade=0x1"},
        {"lowpass", "render in.wav out.wav --mask lowpass:0x3e8"},
        {"--devices", "render in.wav out.wav --mask m.wav --devices +0"},
        {"--gain", "render in.wav out.wav --gain 3,channel=1"},
        {"--edge", "render in.wav out.wav --edge mirror"},
        {"--edge", "render in.wav out.wav --edge ''"},
        {"--align", "render in.wav out.wav --align left"},
        {"--tail", "render in.wav out.wav --tail half"},
        {"--tail", "render in.wav out.wav --tail until"},
        {"--tail", "render in.wav out.wav --tail until:"},
        {"--tail", "render in.wav out.wav --tail until:quiet"},
        {"pcm12", "render in.wav out.wav --format pcm12"},
        {"format", "render in.wav out.wav --format ''"},
        {"pcm32", "render in.wav out.flac --format pcm32"},
        {"float", "render in.wav out.flac --format float"},
        {"mp9", "render in.wav out.wav --container mp9"},
        {"--normalize", "render in.wav out.wav --normalize loud"},
        {"--normalize", "render in.wav out.wav --normalize nan"},
        {"such as -16LUFS, not '-16LUFS,-1.5dBTP'; true peaks are then at most -1 dBTP",
         "render in.wav out.wav --normalize -16LUFS,-1.5dBTP"},
        {"such as -16LUFS", "render in.wav out.wav --normalize -2dBTP"},
        {"--dither", "render in.wav out.wav --dither noise"},
        {"--backend", "render in.wav out.wav --backend abacus"},
        {"--kernel", "render in.wav out.wav --kernel fastest"},
        {"--gpu-mode", "render in.wav out.wav --gpu-mode quick"},
        {"--devices", "render in.wav out.wav --devices none"},
        {"--devices", "render in.wav out.wav --devices 0,,1"},
        {"--devices", "render in.wav out.wav --devices 64"},
        {"--devices", "render in.wav out.wav --devices -1"},
        {"runs on one GPU", "render in.wav out.wav --mask m.wav --devices all"},
        {"runs on one GPU", "render in.wav out.wav --mask m.wav --devices 0,1"},
        {"--devices 0; halo batch", "render in.wav out.wav --mask m.wav --devices 0,0"},
        {"runs on one GPU", "live --device null:pace=0 --mask m.wav --devices 1,0"},
        {"runs on one GPU", "listen --device null:pace=0 --mask m.wav --devices all"},
        {"--backend cpu", "render in.wav out.wav --backend cpu --kernel fft"},
        {"--backend direct", "render in.wav out.wav --backend direct --gpu-mode graph"},
        {"--backend cpu", "render in.wav out.wav --backend cpu --devices 0"},
        {"--kernel", "render in.wav out.wav --kernel fft --gpu-mode graph"},
        {"2048", "render in.wav out.wav --gpu-mode graph --block 2049"},
        {"--block", "render in.wav out.wav --block 0"},
        {"--block", "render in.wav out.wav --block 99999999"},
        {"--threads", "render in.wav out.wav --threads 0"},
        {"--threads", "render in.wav out.wav --threads -1"},
        {"--threads", "render in.wav out.wav --threads two"},
        {"--threads", "render in.wav out.wav --threads 1.5"},
        {"--threads", "render in.wav out.wav --threads ''"},
        {"--threads", "render in.wav out.wav --threads 99999999999999999999"},
        {"out", "render in.wav out"},
        {"out.xyz", "render in.wav out.xyz"},
        {"loud=1", "render in.wav out.wav --mask m.wav,loud=1"},
        {"nonsense", "render in.wav out.wav --mask m.wav,nonsense"},
        {"gain", "render in.wav out.wav --mask m.wav,gain=loud"},
        {"gain", "render in.wav out.wav --mask m.wav,gain="},
        {"channel", "render in.wav out.wav --mask m.wav,channel=0"},
        {"channel", "render in.wav out.wav --mask m.wav,channel=-1"},
        {"channel", "render in.wav out.wav --mask m.wav,channel=left"},
        {"channel 2", "render in.wav out.wav --mask m.wav,channel=2"},
        {"order", "render in.wav out.wav --mask m.wav,order=rllr"},
        {"map", "render in.wav out.wav --mask m.wav,map=all"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        command_refused(2, rows[i].expected, "\"$HALO\" %s", rows[i].arguments);
}

START_TEST(commas_in_names_are_escaped)
{
    begin();
    command_done("mv m.wav 'a,b,gain=3.wav'; printf 1 >'c\\d.txt'");
    command_done(
        "\"$HALO\" render in.wav out.wav --mask 'a\\,b\\,gain=3.wav,gain=-6' --mask 'c\\d.txt'");
    /* A file of that name is meant where there is one. */
    command_done(
        "\"$HALO\" render in.wav same.wav --mask 'a,b,gain=3.wav,gain=-6' --mask 'c\\d.txt' "
        "&& cmp out.wav same.wav");
    command_refused(0, "", "\"$HALO\" render in.wav no.wav --mask 'a,b,gain=4.wav'");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, 5099);
}

START_TEST(names_may_look_like_options)
{
    begin();
    command_done("cp in.wav -- --in.wav && \"$HALO\" render --quiet -- --in.wav --out.wav && "
                 "[ -f ./--out.wav ]");
    command_done("cp in.wav 'with blank.wav' && \"$HALO\" render 'with blank.wav' 'out put.wav'");
    command_done("\"$HALO\" render ./in.wav ./.hidden.wav && [ -f .hidden.wav ]");
}

START_TEST(help_is_not_an_error)
{
    const char *const options[] = {"--help",
                                   "-h",
                                   "--version",
                                   "-V",
                                   "render --help",
                                   "render -h",
                                   "render in.wav --help",
                                   "--help render",
                                   "render --help --bogus"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct command_result result = command_done("\"$HALO\" %s", options[i]);
        ck_assert_uint_gt(command_lines(result.out), 2);
        ck_assert_str_eq(result.err, "");
    }
    ck_assert_int_ne(command_run("\"$HALO\" --help >/dev/full").code,
                     access("/dev/full", W_OK) == 0 ? 0 : -1);
}

/* ---- sounds ---- */

static void refuse_sound(const char *name, const char *expected)
{
    command_refused(1, expected, "\"$HALO\" render %s out.wav", name);
    command_refused(1, expected, "\"$HALO\" render %s out.wav --normalize -1 --mask m.wav", name);
    /* A pipe uses another reader: as clear, and no crash. */
    command_refused(1, "standard input", "cat %s 2>/dev/null | \"$HALO\" render - out.wav", name);
}

START_TEST(invalid_sounds_are_refused)
{
    begin();
    command_done(
        "mkdir folder; : >empty.wav; printf 'hello, world, this is text\\n' >text.wav; "
        "printf x >one.wav; printf RIFF >four.wav; printf 'RIFF\\0\\0\\0\\0WAVE' >head.wav; "
        "head -c 30 in.wav >cut.wav; head -c 40 in.wav >cut40.wav; head -c 4000 /dev/zero >zero.wav");
    command_refused(1, "missing.wav", "\"$HALO\" render missing.wav out.wav");
    command_refused(1, "No such file", "\"$HALO\" render missing.wav out.wav");
    command_refused(1, "folder", "\"$HALO\" render folder out.wav");
    command_refused(1, "no/such.wav", "\"$HALO\" render no/such.wav out.wav");
    command_refused(1, "in.wav/x.wav", "\"$HALO\" render in.wav/x.wav out.wav");
    const char *const names[] = {"empty.wav", "text.wav", "one.wav",   "four.wav",
                                 "head.wav",  "cut.wav",  "cut40.wav", "zero.wav"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        refuse_sound(names[i], names[i]);
    command_refused(1, "standard input", "\"$HALO\" render - out.wav </dev/null");
    command_refused(1, "standard input", "\"$HALO\" render - out.wav <folder");
}

START_TEST(unreadable_files_are_refused)
{
    begin();
    if (geteuid() == 0) {
        puts("not run: unreadable_files_are_refused, since root may");
        return;
    }
    command_done("chmod 0 in.wav");
    command_refused(1, "Permission denied", "\"$HALO\" render in.wav out.wav");
    command_done("chmod 644 in.wav; mkdir closed; chmod 555 closed");
    command_refused(1, "Permission denied", "\"$HALO\" render in.wav closed/out.wav");
}

/* Overwrite `count` bytes of a good file with zeros. */
static void damage(const char *from, const char *to, long at, size_t count)
{
    const char zeros[8] = {0};
    command_done("cp %s %s", from, to);
    FILE *file = open_in_folder(to, "r+b");
    ck_assert_int_eq(fseek(file, at, SEEK_SET), 0);
    ck_assert_uint_eq(fwrite(zeros, 1, count, file), count);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(headers_of_no_channels_or_rate_are_refused)
{
    const struct {
        const char *name;
        int format;
        long channels, rate; /* their offset */
        size_t channel_bytes, rate_bytes;
    } rows[] = {
        {"wav", WAV16, 22, 24, 2, 4},
        {"float.wav", WAVF, 22, 24, 2, 4},
        {"au", SF_FORMAT_AU | SF_FORMAT_PCM_16, 20, 16, 4, 4},
        {"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 44, 20, 4, 8},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char good[32], bad[32];
        snprintf(good, sizeof good, "good.%s", rows[i].name);
        sound_noise_file(good, 1, rows[i].format, 48000, 2, 1000);
        snprintf(bad, sizeof bad, "channels.%s", rows[i].name);
        damage(good, bad, rows[i].channels, rows[i].channel_bytes);
        refuse_sound(bad, bad);
        snprintf(bad, sizeof bad, "rate.%s", rows[i].name);
        damage(good, bad, rows[i].rate, rows[i].rate_bytes);
        refuse_sound(bad, bad);
        command_refused(
            1, i < 2 ? "its header says 2 channels at 0 Hz" : "its header gives no possible rate",
            "\"$HALO\" render %s out.wav", bad);
    }
}

START_TEST(sample_sizes_that_no_file_has_are_refused)
{
    begin();
    sound_noise_file("good.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 48000, 1, 1000);
    for (int bits = 1; bits < 8; bits++) {
        command_done("{ head -c 34 good.wav; printf '\\%o'; tail -c +36 good.wav; } >bad.wav",
                     bits);
        refuse_sound("bad.wav", bits == 1 ? "says 1 bit a sample" : "bits a sample");
    }
    /* 12 bits in 16 are a sample format; ADPCM has 4. */
    sound_noise_file("good.wav", 1, WAV16, 48000, 1, 1000);
    command_done("{ head -c 34 good.wav; printf '\\14'; tail -c +36 good.wav; } >12.wav");
    command_done("\"$HALO\" render 12.wav out.wav");
    sound_noise_file("4.wav", 1, SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 48000, 1, 1000);
    command_done("\"$HALO\" render 4.wav out.wav -f");
}

/* libsndfile turns a rate of 0 into 1 Hz there; the header decides. */
START_TEST(aiff_of_no_channels_or_rate_is_refused)
{
    begin();
    sound_noise_file("good.aiff", 1, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 48000, 2, 1000);
    damage("good.aiff", "channels.aiff", 20, 2);
    refuse_sound("channels.aiff", "channels.aiff");
    damage("good.aiff", "rate.aiff", 28, 8);
    refuse_sound("rate.aiff", "rate.aiff");
}

/* The MP3 library prints messages of its own, which must not appear. */
START_TEST(truncated_mp3_is_reported_in_one_line)
{
    enum { MP3 = 0x230000 | 0x82 }; /* SF_FORMAT_MPEG and _LAYER_III, which older headers lack */
    SF_INFO info = {.samplerate = 48000, .channels = 2, .format = MP3};
    if (!sf_format_check(&info))
        return;
    begin();
    sound_noise_file("good.mp3", 1, MP3, 48000, 2, 48000);
    command_done("head -c 9000 good.mp3 >cut.mp3");
    command_refused(1, "missing", "\"$HALO\" render cut.mp3 out.wav --format pcm16");
    command_done("\"$HALO\" render cut.mp3 out.wav --format pcm16 --allow-truncated");
}

START_TEST(nan_sounds_are_refused)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    const size_t places[] = {0, 4999, 150000, 299999};
    for (size_t b = 0; b < 3; b++)
        for (size_t p = 0; p < 4; p++) {
            char frame[32];
            begin();
            struct sound sound = sound_create(WAVF, 48000, 2, 300000);
            sound.block.data[1][places[p]] = bad[b];
            sound_save(&sound, "bad.wav");
            refuse_sound("bad.wav", "bad.wav");
            snprintf(frame, sizeof frame, "%zu", places[p] + 1);
            command_refused(1, frame, "\"$HALO\" render bad.wav out.wav"); /* its offset */
            command_refused(1, "bad.wav",
                            "\"$HALO\" render bad.wav out.wav --edge wrap --tail none "
                            "--mask m.wav");
        }
}

/* Finite in the file, infinite in single precision. */
START_TEST(doubles_beyond_floats_are_refused)
{
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = WAVD};
    const double samples[] = {0, 1e300, 0};
    char path[256];
    begin();
    snprintf(path, sizeof path, "%s/bad.wav", command_folder());
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(sf_write_double(file, samples, 3), 3);
    sf_close(file);
    const char *advice = "beyond single precision; use --precision double";
    command_refused(1, "frame 2 of channel 1 is 1e+300, beyond single precision",
                    "\"$HALO\" render bad.wav out.wav --precision single");
    command_refused(1, advice, "\"$HALO\" render bad.wav out.wav --format float");
    command_refused(1, advice, "\"$HALO\" render in.wav out.wav --mask bad.wav");
    command_refused(1, "choose --format double",
                    "\"$HALO\" render bad.wav out.wav --format float --precision double");
    /* Where the precision does not help, the advice is another one, and works. */
    command_refused(1,
                    "beyond single precision; make it quieter first: halo render --precision "
                    "double --normalize -1",
                    "\"$HALO\" render in.wav out.wav --noise bad.wav,snr=10 --precision single");
    command_refused(1,
                    "beyond 1e-145 or 1e145; scale it first: halo render --precision double "
                    "--normalize -1",
                    "\"$HALO\" render in.wav out.wav --noise bad.wav,snr=10 --precision double");
    command_done("\"$HALO\" render bad.wav quiet.wav --precision double --normalize -1 && "
                 "\"$HALO\" render in.wav out.wav --noise quiet.wav,snr=10,start=0");
}

/* Two finite sounds and a filter that overflows. */
START_TEST(sums_beyond_floats_are_refused)
{
    begin();
    sound_text("loud.txt", "1e38\n");
    command_refused(1, "", "\"$HALO\" render in.wav out.wav --mask loud.txt --mask loud.txt");
    command_refused(1, "",
                    "\"$HALO\" render in.wav out.wav --format float --mask loud.txt "
                    "--gain 200");
}

/* ---- masks ---- */

static void refuse_mask(const char *name, const char *expected)
{
    char spec[64];
    snprintf(spec, sizeof spec, "%s,gain=1", name);
    mask_spec_refused(1, expected, name, NULL);
    mask_spec_refused(1, name, spec, NULL);
}

START_TEST(invalid_masks_are_refused)
{
    begin();
    command_done(
        "mkdir folder; mkfifo fifo; : >empty.wav; : >empty.txt; head -c 4000 /dev/urandom >noise.bin; "
        "head -c 4000 /dev/zero >zero.bin; head -c 30 m.wav >head.wav");
    refuse_mask("missing.wav", "missing.wav");
    const char *const names[] = {"folder",    "empty.wav", "empty.txt",
                                 "noise.bin", "zero.bin",  "head.wav"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        command_refused(1, names[i],
                        "\"$HALO\" render in.wav out.wav --gain 3 --mask m.wav --mask %s,gain=1",
                        names[i]);
    command_refused(0, "", "\"$HALO\" render in.wav out.wav --mask ''");
    command_refused(0, "", "\"$HALO\" render in.wav out.wav --mask ,gain=3");
    struct sound none = sound_create(WAVF, 48000, 1, 0);
    sound_save(&none, "none.wav");
    refuse_mask("none.wav", "none.wav");
}

START_TEST(truncated_masks_are_refused)
{
    begin();
    command_done("head -c 300 m.wav >cut.wav");
    refuse_mask("cut.wav", "missing");
}

START_TEST(nan_masks_are_refused)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    begin();
    for (size_t b = 0; b < 3; b++) {
        struct sound mask = sound_create(WAVF, 48000, 1, 1000);
        mask.block.data[0][0] = 1;
        mask.block.data[0][777] = bad[b];
        sound_save(&mask, "bad.wav");
        refuse_mask("bad.wav", "bad.wav");
        refuse_mask("bad.wav", "778"); /* its offset */
    }
}

START_TEST(bad_lines_are_named)
{
    const struct {
        const char *text, *expected;
    } rows[] = {
        {"1\n2\nthree\n4\n", "line 3"},
        {"1\n\n# comment\n0.5x\n", "line 4"},
        {"nan\n", "line 1"},
        {"1\ninf\n", "line 2"},
        {"1\n-infinity\n", "line 2"},
        {"1\n1e999\n", "line 2"},
        {"1\n0x10\n", "line 2"},
        {"1\n1e39\n", "line 2"}, /* beyond single precision */
        {"1 2\n3 4\n5\n", "line 3"},
        {"1\n2 3\n", "line 2"},
        {"1,5\n2.5\n", "line 2"},
        {"1,5,2,5\n", "line 1"},
        {"1;x\n", "line 1"},
        {"rate: 0\n1\n", "line 1"},
        {"rate: -48000\n1\n", "line 1"},
        {"rate: fast\n1\n", "line 1"},
        {"rate:\n1\n", "line 1"},
        {"1\nrate: 0\n", "line 2"},
        {"rate: 48000 Hz please\n1\n", "line 1"},
        {"rate: 99999999999\n1\n", "line 1"},
        {"1 2 oops\r\n", "line 1"},
        {"1\n2\n<html>\n", "line 3"},
    };
    begin();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        sound_text("bad.txt", rows[i].text);
        refuse_mask("bad.txt", rows[i].expected);
    }
    const char *const nothing[] = {"\n\n", "# only words\n", "rate: 48000\n", "  \t \r\n"};
    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
        sound_text("bad.txt", nothing[i]);
        refuse_mask("bad.txt", "bad.txt");
    }
}

static void put_big(unsigned char *at, uint64_t value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        at[i] = (unsigned char)(value >> 8 * (bytes - 1 - i));
}

/* A CAF of one channel of zero floats: as long as the file system allows, as a sparse file. */
static bool make_huge(const char *name, uint64_t taps)
{
    unsigned char head[68] = "caff";
    char path[256];
    snprintf(path, sizeof path, "%s/%s", command_folder(), name);
    put_big(head + 4, UINT64_C(0x00010000), 4);
    memcpy(head + 8, "desc", 4);
    put_big(head + 12, 32, 8);
    put_big(head + 20, UINT64_C(0x40E7700000000000), 8); /* 48000 as a double */
    memcpy(head + 28, "lpcm", 4);
    put_big(head + 32, 1, 4); /* floating point */
    put_big(head + 36, 4, 4);
    put_big(head + 40, 1, 4);
    put_big(head + 44, 1, 4);
    put_big(head + 48, 32, 4);
    memcpy(head + 52, "data", 4);
    put_big(head + 56, taps * 4 + 4, 8);
    FILE *file = open_in_folder(name, "wb");
    ck_assert_uint_eq(fwrite(head, 1, sizeof head, file), sizeof head);
    ck_assert_int_eq(fclose(file), 0);
    return truncate(path, (off_t)(sizeof head + taps * 4)) == 0;
}

START_TEST(masks_longer_than_memory_are_refused)
{
    begin();
    ck_assert(make_huge("fine.caf", 1000)); /* the header is valid */
    command_done("\"$HALO\" render in.wav fine.wav --mask fine.caf");
    struct sound out = sound_load("fine.wav");
    ck_assert_uint_eq(out.block.frames, 5999);
    /* 12 TiB of taps where the file system supports such files, else 1 TiB. */
    if (make_huge("huge.caf", UINT64_C(3) << 40) || make_huge("huge.caf", UINT64_C(1) << 38)) {
        command_refused(1, "huge.caf", "\"$HALO\" render in.wav out.wav --mask huge.caf");
        command_refused(1, "memory", "\"$HALO\" render in.wav out.wav --mask huge.caf");
    }
    /* Claimed by the header but missing: truncated. */
    ck_assert(make_huge("claim.caf", 1000));
    command_done("truncate -s 2000 claim.caf");
    refuse_mask("claim.caf", "missing");
    command_done("rm -f huge.caf");
}

/* ---- the output ---- */

START_TEST(unwritable_outputs_are_refused)
{
    begin();
    command_done("mkdir folder folder.wav; echo x >file");
    command_refused(1, "no/such/out.wav", "\"$HALO\" render in.wav no/such/out.wav");
    command_refused(1, "folder.wav", "\"$HALO\" render in.wav folder.wav");
    command_refused(1, "folder.wav", "\"$HALO\" render in.wav folder.wav --force");
    command_refused(0, "", "\"$HALO\" render in.wav folder/");
    command_refused(1, "first pass in none (TMPDIR selects another folder): No such file",
                    "TMPDIR=none \"$HALO\" render in.wav - --normalize -1 >/dev/null");
    command_refused(1, "file/out.wav", "\"$HALO\" render in.wav file/out.wav");
    command_refused(1, "exists", "\"$HALO\" render m.wav in.wav");
    command_refused(0, "", "\"$HALO\" render in.wav \"$(printf '%%300d' 1).wav\"");
}

/* A FLAC holds 8 channels, an Opus file few rates. */
START_TEST(unsupported_container_contents_are_refused)
{
    begin();
    sound_noise_file("nine.wav", 1, WAV16, 48000, 9, 100);
    sound_noise_file("odd.wav", 1, WAV16, 44100, 1, 100);
    sound_noise_file("fast.wav", 1, WAV16, 768000, 1, 100);
    command_refused(2, "9 channels", "\"$HALO\" render nine.wav out.flac --format pcm16");
    command_refused(0, "", "\"$HALO\" render odd.wav out.opus");
    command_refused(2, "FLAC cannot hold 1 channel at 768000 Hz; choose another container",
                    "\"$HALO\" render fast.wav out.flac");
    if (strstr(command_done("\"$HALO\" render in.wav 2>&1 out.xyz || :").out, "mp3"))
        command_refused(2, "MP3 cannot hold 1 channel at 768000 Hz; choose another container",
                        "\"$HALO\" render fast.wav out.mp3");
    command_refused(0, "", "\"$HALO\" render in.wav out.ogg --format float");
    /* Containers that do not stream are refused, with a list of those that do. */
    command_refused(0, "wav",
                    "{ \"$HALO\" render in.wav - --container caf; echo $? >.code; } | "
                    "cat >/dev/null; code=$(cat .code); rm .code; exit $code");
}

/* One line only: no note on the output's format before an error about the output. */
START_TEST(refusal_is_one_line)
{
    begin();
    sound_noise_file("nine.wav", 1, WAV16, 48000, 9, 100);
    command_refused(2, "9 channels", "\"$HALO\" render nine.wav out.flac");
    sound_noise_file("lossy.wav", 1, SF_FORMAT_WAV | SF_FORMAT_ULAW, 44100, 2, 100);
    command_refused(2, "", "\"$HALO\" render lossy.wav out.opus");
}

/* ---- random damage ---- */

/* Good files with some bytes changed: rendered or refused, never a crash. */
START_TEST(damaged_headers_never_crash)
{
    const struct {
        const char *name;
        int format;
    } kinds[] = {
        {"a.wav", WAV16},
        {"b.wav", SF_FORMAT_WAVEX | SF_FORMAT_FLOAT},
        {"c.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24},
        {"d.au", SF_FORMAT_AU | SF_FORMAT_PCM_16},
        {"e.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
        {"f.w64", SF_FORMAT_W64 | SF_FORMAT_PCM_16},
        {"g.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_16},
        {"h.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16},
    };
    enum { CHANGES = 3, HEAD = 90 };
    const uint64_t rounds = getenv("HALO_TEST_FULL") ? 24 : 5;
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        begin();
        sound_noise_file("good", 1, kinds[k].format, 48000, 2, 300);
        for (uint64_t round = 0; round < rounds; round++) {
            float random[2 * CHANGES];
            truth_noise(100 * k + round, random, 2 * CHANGES);
            command_done("cp good bad");
            FILE *file = open_in_folder("bad", "r+b");
            for (size_t c = 0; c < CHANGES; c++) {
                ck_assert_int_eq(fseek(file, (long)((random[2 * c] + 1) * HEAD / 2), SEEK_SET), 0);
                ck_assert_int_ne(fputc((int)((random[2 * c + 1] + 1) * 127), file), EOF);
            }
            ck_assert_int_eq(fclose(file), 0);
            enum { ALLOWED = 3 };
            const char *const ways[] = {"bad out.wav", "- out.wav <bad",
                                        "in.wav out.wav --mask bad",
                                        [ALLOWED] = "bad out.wav --allow-truncated"};
            for (size_t w = 0; w <= ALLOWED; w++) {
                struct command_result result = command_run(
                    "rm -f out.wav; timeout 120 \"$HALO\" render -q --format float %s", ways[w]);
                ck_assert_msg(result.code >= 0 && result.code <= 2, "%s, round %d, %s: %d\n%s",
                              kinds[k].name, (int)round, ways[w], result.code, result.err);
                const char *files = command_files();
                ck_assert_msg(strcmp(files, result.code ? "bad good in.wav m.wav"
                                                        : "bad good in.wav m.wav out.wav") == 0,
                              "%s, round %d, %s: exit code %d and %s", kinds[k].name, (int)round,
                              ways[w], result.code, files);
                size_t lines = command_lines(result.err);
                ck_assert_msg(result.code ? lines == 1 : lines <= (w == ALLOWED),
                              "%s, round %d, %s: exit code %d and\n%s", kinds[k].name, (int)round,
                              ways[w], result.code, result.err);
            }
        }
    }
}

/* As long as a stream has no known length, libsndfile looks for the chunk after the last one. */
START_TEST(a_stream_that_ends_within_its_header_is_refused)
{
    command_refused(
        1, "standard input",
        "echo %s | base64 -d | timeout -k 1 10 \"$HALO\" render - out.wav --gain 0",
        "cmlmZi6Rv////1JJRkb///////9A/wAAAAAAADUIJARELW8AAcwAAAPw+2cAAAAAAAAAAAAAAAAAAAAAAAAAAADw+2cAAAAAAQAAAAAAAAByIGZpbGUz4NAr");
}
