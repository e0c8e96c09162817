/* Channel layouts, from file to file: as ffmpeg writes and ffprobe and flac read them. Each channel
 * has a tone of its own, by which it is known after any order and codec. */
#include "command.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, FRAMES = 12000, CHANNELS_MOST = 8, LFE = 3 };

/* That of LFE is one that codecs keep. */
static size_t frequency_of(size_t channel)
{
    return channel == LFE ? 64 : 400 + 168 * channel;
}

static void make_tones(const char *name, size_t channels, const char *layout, const char *options)
{
    char tones[512] = "";
    size_t length = 0;
    for (size_t c = 0; c < channels; c++)
        length += (size_t)snprintf(tones + length, sizeof tones - length, "%s0.4*sin(2*PI*t*%zu)",
                                   c ? "|" : "", frequency_of(c));
    command_done("ffmpeg -nostdin -v error -y -f lavfi -i \"aevalsrc=%s:s=%d:d=%g:c=%s\" %s %s",
                 tones, RATE, (double)FRAMES / RATE, layout, options, name);
}

/* What ffprobe says of the layout; valid until the next call. */
static const char *probed(const char *name)
{
    static char layout[64];
    struct command_result result =
        command_done("ffprobe -v error -show_entries stream=channel_layout -of csv=p=0 %s", name);
    snprintf(layout, sizeof layout, "%.63s", result.out);
    layout[strcspn(layout, "\n")] = '\0';
    return layout;
}

/* How much of the middle of a channel is a tone of that frequency, from 0 to 1. */
static double share_of(const float *samples, size_t frequency)
{
    double sine = 0, cosine = 0, all = 0;
    for (size_t i = FRAMES / 4; i < FRAMES * 3 / 4; i++) {
        double at = 2 * M_PI * (double)frequency * (double)i / RATE;
        sine += samples[i] * sin(at);
        cosine += samples[i] * cos(at);
        all += (double)samples[i] * samples[i];
    }
    return (sine * sine + cosine * cosine) / (all * FRAMES / 4);
}

/* ffmpeg's channels, which it sorts as WAV does, are those of make_tones. */
static void expect_tones(const char *name, size_t channels)
{
    command_done("ffmpeg -nostdin -v error -y -i %s -c:a pcm_f32le decoded.wav", name);
    struct sound sound = sound_load("decoded.wav");
    ck_assert_uint_eq(sound.block.channels, channels);
    for (size_t c = 0; c < channels; c++) {
        double share = share_of(sound.block.data[c], frequency_of(c));
        ck_assert_msg(share > 0.9, "%s: %g of channel %zu is its tone", name, share, c + 1);
    }
    sound_free(&sound);
}

static const struct source_file {
    const char *ending, *options;
} sources[] = {{"wav", ""}, {"w64", "-c:a pcm_f32le"},        {"flac", ""},
               {"caf", ""}, {"ogg", "-c:a libvorbis -q:a 9"}, {"opus", "-b:a 512k"}};

static const char *const targets[] = {"wav", "rf64", "w64", "flac", "caf", "aiff", "ogg", "opus"};
enum { TARGETS = sizeof targets / sizeof *targets };

static bool is_float(const char *name)
{
    return strstr(
        command_done("ffprobe -v error -show_entries stream=codec_name -of csv=p=0 %s", name).out,
        "pcm_f");
}

/* Vorbis and Opus have one layout for a number of channels; floating-point W64 does not tell it. */
static void expect_layout(const char *name, const char *target, size_t channels, const char *layout)
{
    static const char *const fixed[CHANNELS_MOST + 1] = {
        [2] = "stereo", [4] = "quad", [6] = "5.1", [8] = "7.1"};
    bool is_fixed = strcmp(target, "ogg") == 0 || strcmp(target, "opus") == 0;
    bool is_unstated = strcmp(target, "w64") == 0 && is_float(name);
    ck_assert_str_eq(probed(name), is_unstated ? "unknown" : is_fixed ? fixed[channels] : layout);
}

/* From the files of these endings, each into every second target: reading knows nothing of writing,
 * and each target has as many. FFmpeg up to 5.1 writes 7.1 into CAF in another order than it says,
 * and no 5.1(side) into Opus. */
static void convert_all(size_t channels, const char *layout, const char *endings)
{
    size_t files = 0;
    for (size_t s = 0; s < sizeof sources / sizeof *sources; s++) {
        char in[32], out[32], own[64];
        if (!strstr(endings, sources[s].ending))
            continue;
        snprintf(in, sizeof in, "in.%s", sources[s].ending);
        make_tones(in, channels, layout, sources[s].options);
        snprintf(own, sizeof own, "%s", probed(in));
        for (size_t t = files++ % 2; t < TARGETS; t += 2) {
            snprintf(out, sizeof out, "out.%s", targets[t]);
            command_done("\"$HALO\" render %s %s -qf --no-sync --gain 0", in, out);
            expect_layout(out, targets[t], channels, own);
            expect_tones(out, channels);
        }
    }
}

START_TEST(surround_at_the_back_survives)
{
    command_clean();
    convert_all(6, "5.1", "wav w64 flac caf ogg opus");
}
END_TEST

START_TEST(surround_at_the_sides_survives)
{
    command_clean();
    convert_all(6, "5.1(side)", "wav flac");
}
END_TEST

START_TEST(eight_channels_survive)
{
    command_clean();
    convert_all(8, "7.1", "wav ogg");
}
END_TEST

START_TEST(a_pair_that_is_no_stereo_survives)
{
    command_clean();
    static const char *const containers[] = {"wav", "rf64", "w64", "flac", "caf", "aiff"};
    make_tones("in.wav", 2, "FL+LFE", "");
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        command_done("\"$HALO\" render in.wav out.%s -qf", containers[i]);
        char name[32];
        snprintf(name, sizeof name, "out.%s", containers[i]);
        ck_assert_str_eq(probed(name), "2 channels (FL+LFE)");
        expect_tones(name, 2);
        command_done("\"$HALO\" render %s again.wav -qf", name);
        ck_assert_str_eq(probed("again.wav"), "2 channels (FL+LFE)");
        expect_tones("again.wav", 2);
    }
    command_expect(command_done("\"$HALO\" render in.wav out.ogg 2>&1").out,
                   "out.ogg: Vorbis knows no channel layout FL+LFE: its channels are written as "
                   "stereo\n");
    command_expect(command_done("\"$HALO\" render in.wav out.au 2>&1").out,
                   "out.au: its container cannot hold the channel layout FL+LFE");
}
END_TEST

START_TEST(flac_reads_the_comment)
{
    command_clean();
    make_tones("in.wav", 6, "5.1", "");
    command_done("\"$HALO\" render in.wav out.flac -q && flac -s -t out.flac");
    command_done("flac -s -d out.flac -o decoded.wav");
    ck_assert_str_eq(probed("decoded.wav"), "5.1");
    command_expect(command_done("metaflac --list --block-type=VORBIS_COMMENT out.flac").out,
                   "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x003F");
}
END_TEST

/* Nothing can be written over in a pipe: the comment stands where libFLAC writes its own. */
START_TEST(piped_flac_has_the_comment)
{
    static const char *const layouts[] = {"5.1", "5.1(side)", "hexagonal"};
    command_clean();
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        bool is_implied = strcmp(layouts[i], "5.1(side)") == 0;
        make_tones("in.wav", 6, layouts[i], "");
        command_done("\"$HALO\" render in.wav - --container flac -q --gain 0 | cat >out.flac");
        command_done("cat in.wav | \"$HALO\" render - - --container flac -q --gain 0 | "
                     "cat >both.flac");
        command_done("cmp out.flac both.flac && flac -s -t out.flac");
        ck_assert_str_eq(probed("out.flac"), layouts[i]);
        expect_tones("out.flac", 6);
        const char *comments = command_done("metaflac --export-tags-to=- out.flac").out;
        const char *mask = strstr(comments, "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x");
        bool is_once = mask && !strstr(mask + 1, "WAVEFORMATEXTENSIBLE_CHANNEL_MASK");
        ck_assert_msg(is_implied ? !mask : is_once, "%s", comments);
        command_done("flac -s -d -f out.flac -o decoded.wav");
        ck_assert_str_eq(probed("decoded.wav"), layouts[i]);
    }
}
END_TEST

/* Blocks of comments, pictures and padding, in the order of flac and in another, with a layout that
 * is another one than that of the file. */
START_TEST(piped_flac_keeps_its_own_blocks)
{
    static const char *const files[] = {"own.flac", "late.flac"};
    command_clean();
    make_tones("in.wav", 6, "5.1", "");
    command_done("for c in red blue; do ffmpeg -nostdin -v error -f lavfi -i color=$c:s=4x4:d=1 "
                 "-frames:v 1 $c.png; done");
    command_done("flac -s in.wav -o own.flac --padding=3000 --tag=TITLE=one --tag=TITLE=two "
                 "--tag=MINE='a value' --picture=red.png --picture='4||the back||blue.png'");
    command_done("cp own.flac late.flac && metaflac --export-tags-to=tags late.flac && "
                 "metaflac --remove --block-type=VORBIS_COMMENT --dont-use-padding late.flac && "
                 "metaflac --dont-use-padding --import-tags-from=tags late.flac");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        command_done("cat %s | \"$HALO\" render - - --container flac -q --gain 0 --layout 6.0 | "
                     "cat >out.flac",
                     files[i]);
        ck_assert_str_eq(probed("out.flac"), "6.0");
        command_done("flac -s -t out.flac && metaflac --export-tags-to=- out.flac | "
                     "sed 's/MASK=0x.*/MASK=0x003F/' | sort >new; sort tags | diff - new");
        command_done("n=0; for b in $(metaflac --list --block-type=PICTURE out.flac | "
                     "sed -n 's/^METADATA block #//p'); do n=$((n + 1)); "
                     "metaflac --block-number=$b --export-picture-to=picture$n out.flac; done; "
                     "cmp picture1 red.png && cmp picture2 blue.png && [ $n = 2 ]");
        command_expect(command_done("metaflac --list --block-type=PICTURE out.flac").out,
                       "description: the back");
    }
}
END_TEST

/* What the header of a WAV has at these places. */
static unsigned wav_number(const char *name, long at)
{
    unsigned char bytes[2];
    FILE *stream = fopen(command_path(name), "rb");
    ck_assert(stream && fseek(stream, at, SEEK_SET) == 0 && fread(bytes, 1, 2, stream) == 2);
    fclose(stream);
    return bytes[0] | (unsigned)bytes[1] << 8;
}

enum { FORMAT_TAG = 20, FORMAT_MASK = 40, AFTER_JUNK = 52, PLAIN = 1, EXTENSIBLE = 0xFFFE };

START_TEST(wav_stays_plain_or_extensible)
{
    command_clean();
    sound_noise_file("plain.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 6, FRAMES);
    sound_noise_file("stereo.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 2, FRAMES);
    sound_noise_file("extensible.wav", 1, SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, RATE, 2, FRAMES);
    command_done("for f in plain stereo extensible; do "
                 "\"$HALO\" render $f.wav $f-out.wav -q; "
                 "\"$HALO\" render - - -q <$f.wav >$f-stream.wav; done");
    ck_assert_uint_eq(wav_number("plain-out.wav", FORMAT_TAG), PLAIN);
    ck_assert_uint_eq(wav_number("plain-stream.wav", FORMAT_TAG), PLAIN);
    ck_assert_uint_eq(wav_number("stereo-out.wav", FORMAT_TAG), PLAIN);
    ck_assert_uint_eq(wav_number("stereo-stream.wav", FORMAT_TAG), PLAIN);
    ck_assert_uint_eq(wav_number("extensible-out.wav", FORMAT_TAG), EXTENSIBLE);
    ck_assert_uint_eq(wav_number("extensible-out.wav", FORMAT_MASK), 3);
    ck_assert_uint_eq(wav_number("extensible-stream.wav", FORMAT_TAG), EXTENSIBLE);
    ck_assert_uint_eq(wav_number("extensible-stream.wav", FORMAT_MASK), 3);
}
END_TEST

/* libsndfile would write its guess of a mask. */
START_TEST(a_length_that_is_unknown_changes_nothing)
{
    command_clean();
    sound_noise_file("plain.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 6, FRAMES);
    command_done("\"$HALO\" render - out.wav -q <plain.wav --tail until:-80dB "
                 "--mask \"$FILTERS/identity.txt\"");
    command_expect(command_done("head -c 4 out.wav").out, "RIFF");
    ck_assert_uint_eq(wav_number("out.wav", AFTER_JUNK), PLAIN);
    struct sound in = sound_load("plain.wav"), out = sound_load("out.wav");
    sound_expect_same(&in, &out);
    sound_free(&in);
    sound_free(&out);
    command_done("\"$HALO\" render plain.wav out.rf64 -q");
    command_expect(command_done("\"$HALO\" render out.rf64 out2.wav --json -q").out,
                   "\"layout\": null");
}
END_TEST

/* libsndfile reads W64 that is both floating-point and extensible as integers, which is noise at
 * full scale, or not at all. So it is not extensible. */
START_TEST(floating_w64_is_what_it_is_for_all)
{
    static const struct {
        const char *layout, *format, *probed;
        const char *noted;
    } cases[] = {
        {"5.1", "float", "unknown", "cannot hold the channel layout 5.1; wav and caf can"},
        {"5.1", "double", "unknown", "cannot hold the channel layout 5.1; wav and caf can"},
        {"5.1(side)", "float", "unknown", "cannot hold the channel layout 5.1(side)"},
        {"5.1", "pcm24", "5.1", NULL},
    };
    command_clean();
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 6, FRAMES);
    struct sound in = sound_load("in.wav");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct command_result result =
            command_done("\"$HALO\" render in.wav out.w64 -f --no-sync --layout '%s' --format %s",
                         cases[i].layout, cases[i].format);
        ck_assert_str_eq(probed("out.w64"), cases[i].probed);
        if (cases[i].noted)
            command_expect(result.err, cases[i].noted);
        else
            ck_assert_msg(!strstr(result.err, "cannot hold"), "%s", result.err);
        if (cases[i].noted) {
            struct sound out = sound_load("out.w64"); /* by whichever libsndfile is here */
            sound_expect_same(&in, &out);
            sound_free(&out);
        }
        command_done("\"$HALO\" render out.w64 back.wav -qf --no-sync --format float");
        command_done("cat out.w64 | \"$HALO\" render - - -q --container wav --format float | "
                     "cat >stream.wav && ffmpeg -v error -y -i stream.wav -f f32le stream && "
                     "ffmpeg -v error -y -i back.wav -f f32le back && cmp stream back");
        if (strcmp(cases[i].format, "pcm24") != 0)
            command_done("ffmpeg -v error -y -i back.wav -f f32le back && "
                         "ffmpeg -v error -y -i in.wav -f f32le in && cmp in back");
    }
    command_done("\"$HALO\" render in.wav out.w64 -f --no-sync 2>err; ! grep hold err");
    sound_free(&in);
}
END_TEST

START_TEST(streams_have_layouts)
{
    command_clean();
    static const char *const endings[] = {"wav", "w64", "flac", "caf", "ogg"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        char name[32];
        snprintf(name, sizeof name, "in.%s", endings[i]);
        make_tones(name, 6, "5.1", "");
        const char *own = strcmp(endings[i], "caf") == 0 ? "5.1(side)" : "5.1"; /* ffmpeg's tag */
        command_done("cat %s | \"$HALO\" render - - --container wav -q --gain 0 | cat >out.wav",
                     name);
        ck_assert_str_eq(probed("out.wav"), own);
        expect_tones("out.wav", 6);
    }
}
END_TEST

START_TEST(the_option_wins)
{
    command_clean();
    make_tones("in.wav", 6, "5.1(side)", "");
    sound_noise_file("plain.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 6, FRAMES);
    struct command_result result = command_done("\"$HALO\" render in.wav out.wav --layout 5.1");
    command_expect(result.err, "in.wav says that its channels are 5.1(side); --layout takes them "
                               "for 5.1\n");
    ck_assert_str_eq(probed("out.wav"), "5.1");
    result = command_done("\"$HALO\" render plain.wav out.wav -f --layout '5.1(side)' --json");
    ck_assert_str_eq(probed("out.wav"), "5.1(side)");
    command_expect(result.out, "\"layout\": \"5.1(side)\"");
    ck_assert_ptr_null(strstr(result.err, "says"));
    command_refused(2, "--layout 7.1 is for 8 channels, but in.wav has 6",
                    "\"$HALO\" render in.wav no.wav --layout 7.1");
    command_refused(2, "unknown channel layout '5.9'",
                    "\"$HALO\" render in.wav no.wav --layout 5.9");
    command_refused(2, "FL has to stand further left",
                    "\"$HALO\" render in.wav no.wav --layout LFE+FL");
}
END_TEST

START_TEST(ambisonics_survive)
{
    command_clean();
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 4, FRAMES);
    static const char *const kept[][2] = {{"ambisonic 1", "caf"},       {"ambisonic 1 N3D", "caf"},
                                          {"ambisonic 1 FuMa", "caf"},  {"ambisonic 1 FuMa", "wav"},
                                          {"ambisonic 1 FuMa", "rf64"}, {"ambisonic 1 FuMa", "w64"},
                                          {"ambisonic 1", "aiff"}};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        command_done("\"$HALO\" render in.wav out.%s -qf --layout '%s'", kept[i][1], kept[i][0]);
        struct command_result result =
            command_done("\"$HALO\" render out.%s again.caf -qf --json", kept[i][1]);
        json_t *report = command_json(result.out);
        ck_assert_str_eq(command_json_string(report, "layout_in"), kept[i][0]);
        json_decref(report);
    }
    command_expect(command_done("\"$HALO\" render in.wav out.wav -f --layout 'ambisonic 1'").err,
                   "out.wav: its container cannot hold the channel layout ambisonic 1; caf can");
    SF_INFO info = {0}; /* libsndfile's own opinion */
    command_done("\"$HALO\" render in.wav out.wav -f --layout 'ambisonic 1 FuMa'");
    SNDFILE *file = sf_open(command_path("out.wav"), SFM_READ, &info);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(sf_command(file, SFC_WAVEX_GET_AMBISONIC, NULL, 0), SF_AMBISONIC_B_FORMAT);
    sf_close(file);
}
END_TEST

/* A chunk "chan" in front of samples that are in the order that it says. */
START_TEST(channels_in_any_order_of_caf_are_sorted)
{
    command_clean();
    /* MPEG_5_1_D: C L R Ls Rs LFE */
    static const unsigned order[] = {2, 0, 1, 4, 5, 3};
    make_tones("in.caf", 6, "5.1", "");
    FILE *file = fopen(command_path("in.caf"), "r+b");
    ck_assert(file && fseek(file, 0x40, SEEK_SET) == 0 && fwrite("\0\x7c\0\x06", 1, 4, file) == 4 &&
              fclose(file) == 0);
    command_done("\"$HALO\" render in.caf out.wav -q --gain 0");
    ck_assert_str_eq(probed("out.wav"), "5.1(side)");
    struct sound in = sound_load("in.caf"), out = sound_load("out.wav");
    for (size_t c = 0; c < 6; c++)
        ck_assert_mem_eq(in.block.data[c], out.block.data[order[c]], FRAMES * sizeof(float));
    sound_free(&in);
    sound_free(&out);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {
        surround_at_the_back_survives,
        surround_at_the_sides_survives,
        eight_channels_survive,
        a_pair_that_is_no_stereo_survives,
        wav_stays_plain_or_extensible,
        a_length_that_is_unknown_changes_nothing,
        floating_w64_is_what_it_is_for_all,
        streams_have_layouts,
        the_option_wins,
        ambisonics_survive,
        channels_in_any_order_of_caf_are_sorted,
    };
    const TTest *const with_flac[] = {flac_reads_the_comment, piped_flac_has_the_comment,
                                      piped_flac_keeps_its_own_blocks};
    if (system("command -v ffmpeg >/dev/null 2>&1 && command -v ffprobe >/dev/null 2>&1") != 0) {
        puts("skipped: ffmpeg is not installed");
        return 77;
    }
    int failed = suite_run("layouts", tests, sizeof tests / sizeof *tests);
    if (system("command -v flac >/dev/null 2>&1") == 0)
        failed =
            suite_run("layouts_flac", with_flac, sizeof with_flac / sizeof *with_flac) || failed;
    return failed;
}
