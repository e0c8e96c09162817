/* Channel layouts, from file to file: as ffmpeg writes, and ffmpeg and flac read them. Each channel
 * has a tone of its own, by which it is known after any order and codec. */
#include "command.h"
#include "render_call.h"
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

/* Files of these names, each with its options in front: "-q:a 9 in.ogg in.wav". */
static void make_tones(size_t channels, const char *layout, const char *names)
{
    char tones[512] = "";
    size_t length = 0;
    for (size_t c = 0; c < channels; c++)
        length += (size_t)snprintf(tones + length, sizeof tones - length, "%s0.4*sin(2*PI*t*%zu)",
                                   c ? "|" : "", frequency_of(c));
    command_done("ffmpeg -nostdin -v error -y -f lavfi -i \"aevalsrc=%s:s=%d:d=%g:c=%s\" %s", tones,
                 RATE, (double)FRAMES / RATE, layout, names);
}

/* ffmpeg takes far longer to start than to read such files: all of a test are read by one. `names`:
 * separated by blanks, up to PROBED_MOST; the samples of the nth, from 0, are in n.wav. */
enum { PROBED_MOST = 40 };
static struct probe {
    char codec[32], layout[64];
} probes[PROBED_MOST];

static void probe_all(const char *names)
{
    char line[4096], list[2048], *rest = list;
    size_t count = 0,
           length = (size_t)snprintf(line, sizeof line, "ffmpeg -nostdin -hide_banner -y");
    snprintf(list, sizeof list, "%s", names);
    for (char *name; (name = strtok_r(rest, " ", &rest)); count++)
        length += (size_t)snprintf(line + length, sizeof line - length,
                                   " -guess_layout_max 0 -i %s", name);
    ck_assert_uint_le(count, PROBED_MOST);
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(line + length, sizeof line - length,
                                   " -map %zu:a -c:a pcm_f32le %zu.wav", i, i);
    ck_assert_uint_lt(length, sizeof line);
    const char *at = command_done("%s", line).err;
    for (size_t i = 0; i < count; i++) { /* Stream #0:0: Audio: flac, 48000 Hz, 5.1, s16 */
        char stream[32];
        snprintf(stream, sizeof stream, "Stream #%zu:0", i);
        at = strstr(at, stream);
        const char *audio = at ? strstr(at, "Audio: ") : NULL,
                   *rate = at ? strstr(at, " Hz, ") : NULL;
        ck_assert_msg(audio && rate && sscanf(audio, "Audio: %31[^ ,]", probes[i].codec) == 1 &&
                          sscanf(rate, " Hz, %63[^,]", probes[i].layout) == 1,
                      "ffmpeg says nothing of file %zu of %s", i, names);
    }
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

/* ffmpeg's channels, which it sorts as WAV does, are those of make_tones. `index`: of probe_all. */
static void expect_tones(size_t index, size_t channels)
{
    char decoded[32];
    snprintf(decoded, sizeof decoded, "%zu.wav", index);
    struct sound sound = sound_load(decoded);
    ck_assert_uint_eq(sound.block.channels, channels);
    for (size_t c = 0; c < channels; c++) {
        double share = share_of(sound.block.data[c], frequency_of(c));
        ck_assert_msg(share > 0.9, "file %zu: %g of channel %zu is its tone", index, share, c + 1);
    }
}

static const struct source_file {
    const char *ending, *options;
} sources[] = {{"wav", ""}, {"w64", "-c:a pcm_f32le"},        {"flac", ""},
               {"caf", ""}, {"ogg", "-c:a libvorbis -q:a 9"}, {"opus", "-b:a 512k"}};
enum { SOURCES = sizeof sources / sizeof *sources };

static const char *const targets[] = {"wav", "rf64", "w64", "flac", "caf", "aiff", "ogg", "opus"};
enum { TARGETS = sizeof targets / sizeof *targets };

/* Vorbis and Opus have one layout for a number of channels; floating-point W64 does not tell it. */
static void expect_layout(const struct probe *probe, const char *target, size_t channels,
                          const char *layout)
{
    static const char *const fixed[CHANNELS_MOST + 1] = {
        [2] = "stereo", [4] = "quad", [6] = "5.1", [8] = "7.1"};
    char unstated[32];
    snprintf(unstated, sizeof unstated, "%zu channels", channels);
    bool is_fixed = strcmp(target, "ogg") == 0 || strcmp(target, "opus") == 0;
    bool is_unstated = strcmp(target, "w64") == 0 && strncmp(probe->codec, "pcm_f", 5) == 0;
    ck_assert_str_eq(probe->layout, is_unstated ? unstated : is_fixed ? fixed[channels] : layout);
}

/* From the files of these endings, each into every second target: reading knows nothing of writing,
 * and each target has as many. FFmpeg up to 5.1 writes 7.1 into CAF in another order than it says,
 * and no 5.1(side) into Opus. */
static void convert_all(size_t channels, const char *layout, const char *endings)
{
    char made[512] = "", names[2048] = "";
    size_t made_length = 0, length = 0, files = 0, at = 0;
    for (size_t s = 0; s < SOURCES; s++)
        if (strstr(endings, sources[s].ending))
            made_length += (size_t)snprintf(made + made_length, sizeof made - made_length,
                                            " %s in.%s", sources[s].options, sources[s].ending);
    make_tones(channels, layout, made);
    for (size_t s = 0; s < SOURCES; s++) {
        const char *ending = sources[s].ending;
        if (!strstr(endings, ending))
            continue;
        length += (size_t)snprintf(names + length, sizeof names - length, " in.%s", ending);
        for (size_t t = files++ % 2; t < TARGETS; t += 2) {
            command_done("\"$HALO\" render in.%s %s.%s -qf --no-sync --gain 0", ending, ending,
                         targets[t]);
            length += (size_t)snprintf(names + length, sizeof names - length, " %s.%s", ending,
                                       targets[t]);
        }
    }
    probe_all(names);
    for (size_t file = 0; file < files; file++) {
        const char *own = probes[at++].layout;
        for (size_t t = file % 2; t < TARGETS; t += 2, at++) {
            expect_layout(&probes[at], targets[t], channels, own);
            expect_tones(at, channels);
        }
    }
}

START_TEST(surround_at_the_back_survives)
{
    convert_all(6, "5.1", "wav w64 flac caf ogg opus");
}

START_TEST(surround_at_the_sides_survives)
{
    convert_all(6, "5.1(side)", "wav flac");
}

START_TEST(eight_channels_survive)
{
    convert_all(8, "7.1", "wav ogg");
}

START_TEST(a_pair_that_is_no_stereo_survives)
{
    static const char *const containers[] = {"wav", "rf64", "w64", "flac", "caf", "aiff"};
    make_tones(2, "FL+LFE", "in.wav");
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++)
        command_done("\"$HALO\" render in.wav out.%s -q && \"$HALO\" render out.%s %s.wav -q",
                     containers[i], containers[i], containers[i]);
    probe_all("out.wav out.rf64 out.w64 out.flac out.caf out.aiff "
              "wav.wav rf64.wav w64.wav flac.wav caf.wav aiff.wav");
    for (size_t i = 0; i < 2 * sizeof containers / sizeof *containers; i++) {
        ck_assert_str_eq(probes[i].layout, "2 channels (FL+LFE)");
        expect_tones(i, 2);
    }
    command_expect(command_done("\"$HALO\" render in.wav out.ogg 2>&1").out,
                   "out.ogg: Vorbis knows no channel layout FL+LFE: its channels are written as "
                   "stereo\n");
    command_expect(command_done("\"$HALO\" render in.wav out.au 2>&1").out,
                   "out.au: its container cannot hold the channel layout FL+LFE");
}

START_TEST(flac_reads_the_comment)
{
    make_tones(6, "5.1", "in.wav");
    command_done("\"$HALO\" render in.wav out.flac -q && flac -s -t out.flac");
    command_done("flac -s -d out.flac -o decoded.wav");
    probe_all("decoded.wav");
    ck_assert_str_eq(probes[0].layout, "5.1");
    command_expect(command_done("metaflac --list --block-type=VORBIS_COMMENT out.flac").out,
                   "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x003F");
}

/* Nothing can be written over in a pipe: the comment stands where libFLAC writes its own. */
START_TEST(piped_flac_has_the_comment)
{
    static const char *const layouts[] = {"5.1", "5.1(side)", "hexagonal"};
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        bool is_implied = strcmp(layouts[i], "5.1(side)") == 0;
        make_tones(6, layouts[i], "in.wav");
        command_done("\"$HALO\" render in.wav - --container flac -q --gain 0 | cat >out.flac");
        command_done("cat in.wav | \"$HALO\" render - - --container flac -q --gain 0 | "
                     "cat >both.flac");
        command_done("cmp out.flac both.flac && flac -s -t out.flac && "
                     "flac -s -d -f out.flac -o decoded.wav");
        const char *comments = command_done("metaflac --export-tags-to=- out.flac").out;
        const char *mask = strstr(comments, "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x");
        bool is_once = mask && !strstr(mask + 1, "WAVEFORMATEXTENSIBLE_CHANNEL_MASK");
        ck_assert_msg(is_implied ? !mask : is_once, "%s", comments);
        probe_all("out.flac decoded.wav");
        expect_tones(0, 6);
        ck_assert_str_eq(probes[0].layout, layouts[i]);
        ck_assert_str_eq(probes[1].layout, layouts[i]);
    }
}

/* Blocks of comments, pictures and padding, in the order of flac and in another, with a layout that
 * is another one than that of the file. */
START_TEST(piped_flac_keeps_its_own_blocks)
{
    static const char *const files[] = {"own.flac", "late.flac"};
    make_tones(6, "5.1", "in.wav");
    command_done("ffmpeg -nostdin -v error -f lavfi -i color=red:s=4x4:d=1 -f lavfi -i "
                 "color=blue:s=4x4:d=1 -map 0 -frames:v 1 red.png -map 1 -frames:v 1 blue.png");
    command_done("flac -s in.wav -o own.flac --padding=3000 --tag=TITLE=one --tag=TITLE=two "
                 "--tag=MINE='a value' --picture=red.png --picture='4||the back||blue.png'");
    command_done("cp own.flac late.flac && metaflac --export-tags-to=tags late.flac && "
                 "metaflac --remove --block-type=VORBIS_COMMENT --dont-use-padding late.flac && "
                 "metaflac --dont-use-padding --import-tags-from=tags late.flac");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        command_done("cat %s | \"$HALO\" render - - --container flac -q --gain 0 --layout 6.0 | "
                     "cat >out.flac",
                     files[i]);
        probe_all("out.flac");
        ck_assert_str_eq(probes[0].layout, "6.0");
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

/* libsndfile would write its guess of a mask. */
START_TEST(a_length_that_is_unknown_changes_nothing)
{
    sound_noise_file("plain.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 6, FRAMES);
    command_done("\"$HALO\" render - out.wav -q <plain.wav --tail until:-80dB "
                 "--mask \"$FILTERS/identity.txt\"");
    command_expect(command_done("head -c 4 out.wav").out, "RIFF");
    ck_assert_uint_eq(wav_number("out.wav", AFTER_JUNK), PLAIN);
    struct sound in = sound_load("plain.wav"), out = sound_load("out.wav");
    sound_expect_same(&in, &out);
    render_done("plain.wav", "out.rf64", "--quiet");
    command_expect(command_done("\"$HALO\" render out.rf64 out2.wav --json -q").out,
                   "\"layout\": null");
}

/* libsndfile reads W64 that is both floating-point and extensible as integers, which is noise at
 * full scale, or not at all. So it is not extensible. */
START_TEST(floating_w64_is_what_it_is_for_all)
{
    static const struct {
        const char *layout, *format, *probed;
        const char *noted;
    } cases[] = {
        {"5.1", "float", "6 channels", "cannot hold the channel layout 5.1; wav and caf can"},
        {"5.1", "double", "6 channels", "cannot hold the channel layout 5.1; wav and caf can"},
        {"5.1(side)", "float", "6 channels", "cannot hold the channel layout 5.1(side)"},
        {"5.1", "pcm24", "5.1", NULL},
    };
    sound_noise_file("in.wav", 1, SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE, 6, FRAMES);
    struct sound in = sound_load("in.wav");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct command_result result = command_done(
            "\"$HALO\" render in.wav out%zu.w64 --no-sync --layout '%s' --format %s && "
            "ln -f out%zu.w64 out.w64",
            i, cases[i].layout, cases[i].format, i);
        if (cases[i].noted)
            command_expect(result.err, cases[i].noted);
        else
            ck_assert_msg(!strstr(result.err, "cannot hold"), "%s", result.err);
        command_done("\"$HALO\" render out.w64 back.wav -qf --no-sync --format float && "
                     "cat out.w64 | \"$HALO\" render - - -q --container wav --format float | "
                     "cat >stream.wav");
        struct sound back = sound_load("back.wav"), stream = sound_load("stream.wav");
        sound_expect_same(&back, &stream);
        if (cases[i].noted) {
            struct sound out = sound_load("out.w64"); /* by whichever libsndfile is here */
            sound_expect_same(&in, &out);
            sound_expect_same(&in, &back);
        }
    }
    probe_all("out0.w64 out1.w64 out2.w64 out3.w64");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_str_eq(probes[i].layout, cases[i].probed);
    command_done("\"$HALO\" render in.wav out.w64 -f --no-sync 2>err; ! grep hold err");
}

START_TEST(streams_have_layouts)
{
    static const char *const endings[] = {"wav", "w64", "flac", "caf", "ogg"};
    make_tones(6, "5.1", "in.wav in.w64 in.flac in.caf in.ogg");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        command_done("cat in.%s | \"$HALO\" render - - --container wav -q --gain 0 | cat >%s.wav",
                     endings[i], endings[i]);
    probe_all("wav.wav w64.wav flac.wav caf.wav ogg.wav");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *own = strcmp(endings[i], "caf") == 0 ? "5.1(side)" : "5.1"; /* ffmpeg's tag */
        ck_assert_str_eq(probes[i].layout, own);
        expect_tones(i, 6);
    }
}

START_TEST(the_option_wins)
{
    make_tones(6, "5.1(side)", "in.wav");
    sound_noise_file("plain.wav", 1, SF_FORMAT_WAV | SF_FORMAT_PCM_16, RATE, 6, FRAMES);
    struct command_result result = render_done("in.wav", "out.wav", "--layout 5.1");
    command_expect(result.err, "in.wav says that its channels are 5.1(side); --layout takes them "
                               "for 5.1\n");
    result = command_done("\"$HALO\" render plain.wav side.wav --layout '5.1(side)' --json");
    probe_all("out.wav side.wav");
    ck_assert_str_eq(probes[0].layout, "5.1");
    ck_assert_str_eq(probes[1].layout, "5.1(side)");
    command_expect(result.out, "\"layout\": \"5.1(side)\"");
    ck_assert_ptr_null(strstr(result.err, "says"));
    command_refused(2, "--layout 7.1 is for 8 channels, but in.wav has 6",
                    "\"$HALO\" render in.wav no.wav --layout 7.1");
    command_refused(2, "unknown channel layout '5.9'",
                    "\"$HALO\" render in.wav no.wav --layout 5.9");
    command_refused(2, "FL has to stand further left",
                    "\"$HALO\" render in.wav no.wav --layout LFE+FL");
}

START_TEST(ambisonics_survive)
{
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

/* A chunk "chan" in front of samples that are in the order that it says. */
START_TEST(channels_in_any_order_of_caf_are_sorted)
{
    /* MPEG_5_1_D: C L R Ls Rs LFE */
    static const unsigned order[] = {2, 0, 1, 4, 5, 3};
    make_tones(6, "5.1", "in.caf");
    FILE *file = fopen(command_path("in.caf"), "r+b");
    ck_assert(file && fseek(file, 0x40, SEEK_SET) == 0 && fwrite("\0\x7c\0\x06", 1, 4, file) == 4 &&
              fclose(file) == 0);
    render_done("in.caf", "out.wav", "--gain 0 --quiet");
    probe_all("out.wav");
    ck_assert_str_eq(probes[0].layout, "5.1(side)");
    struct sound in = sound_load("in.caf"), out = sound_load("out.wav");
    for (size_t c = 0; c < 6; c++)
        ck_assert_mem_eq(in.block.data[c], out.block.data[order[c]], FRAMES * sizeof(float));
}

int main(void)
{
    if (system("command -v ffmpeg >/dev/null 2>&1") != 0) {
        puts("skipped: ffmpeg is not installed");
        return 77;
    }
    if (system("command -v flac >/dev/null 2>&1") != 0)
        suite_leave_out("flac_reads_the_comment piped_flac_has_the_comment "
                        "piped_flac_keeps_its_own_blocks");
    return suite_run();
}
