/* Containers that halo leaves to ffmpeg: the line that a refusal prints does what was asked for. */
#include "command.h"
#include "render_call.h"
#include "sound.h"
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WAV16 = SF_FORMAT_WAV | SF_FORMAT_PCM_16,
    WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    WAVD = SF_FORMAT_WAV | SF_FORMAT_DOUBLE,
    FRAMES = 30000,
};

#define FFMPEG "ffmpeg -nostdin -v error -y "

/* The codec in the line for ffmpeg that a refused command prints; "" if OUT is another program's.
 */
static const char *codec_of(const char *name, const char *command)
{
    static char codec[32];
    struct command_result result = command_run("%s", command);
    ck_assert_msg(result.code == 1 || result.code == 2, "%s\nexit code %d\n%s", command,
                  result.code, result.err);
    ck_assert_uint_eq(command_lines(result.err), 1);
    command_expect(result.err, name);
    *codec = '\0';
    if (result.code == 1)
        ck_assert_int_eq(
            sscanf(strstr(result.err, "ffmpeg"), "ffmpeg -i IN -c:a %31s OUT.wav", codec), 1);
    else
        command_expect(result.err, "ffmpeg -i IN.wav OUT\n");
    return codec;
}

static void begin(void)
{
    sound_noise_file("in.wav", 1, WAV16, 48000, 2, FRAMES);
    sound_noise_file("room.wav", 2, WAVF, 48000, 1, 500);
    sound_text("half.txt", "0.5\n0\n-0.25\n");
}

/* The samples of two files differ by less than `bound`. */
static void expect_near(const char *one, const char *other, double bound)
{
    struct sound a = sound_load(one), b = sound_load(other);
    ck_assert_uint_eq(a.block.channels, b.block.channels);
    ck_assert_uint_eq(a.block.frames, b.block.frames);
    ck_assert_uint_eq(a.rate, b.rate);
    for (size_t c = 0; c < a.block.channels; c++)
        for (size_t i = 0; i < a.block.frames; i++)
            ck_assert_double_le(fabs((double)a.block.data[c][i] - (double)b.block.data[c][i]),
                                bound);
}

/* ---- inputs ---- */

struct container {
    const char *file;
    const char *encoder; /* ffmpeg's options */
    const char *name;
    const char *codec;
};

static const struct container containers[] = {
    {"a.m4a", "", "MPEG-4", "pcm_f32le"},
    {"b.m4a", "-c:a alac", "MPEG-4", "pcm_s16le"},
    {"c.m4a", "-c:a alac -sample_fmt s32p", "MPEG-4", "pcm_s24le"},
    {"a.mp4", "", "MPEG-4", "pcm_f32le"},
    {"a.mov", "", "QuickTime", "pcm_f32le"},
    {"b.mov", "-c:a pcm_f64le", "QuickTime", "pcm_f64le"},
    {"c.mov", "-c:a pcm_s32le", "QuickTime", "pcm_s32le"},
    {"a.aac", "", "AAC", "pcm_f32le"},
    {"a.wv", "", "WavPack", "pcm_s16le"},
    {"b.wv", "-sample_fmt fltp", "WavPack", "pcm_f32le"},
    {"c.wv", "-sample_fmt s32p", "WavPack", "pcm_s32le"},
    {"a.mka", "-c:a ac3", "Matroska", "pcm_f32le"},
    {"a.mkv", "-c:a pcm_f64le", "Matroska", "pcm_f64le"},
    {"b.mkv", "-c:a pcm_s24le", "Matroska", "pcm_s24le"},
    {"c.mkv", "-c:a pcm_f32le", "Matroska", "pcm_f32le"},
    {"d.mkv", "-c:a flac", "Matroska", "pcm_f32le"},
    {"a.wma", "", "Windows Media", "pcm_f32le"},
    {"a.ac3", "", "AC-3", "pcm_f32le"},
    {"a.eac3", "", "AC-3", "pcm_f32le"},
    {"a.tta", "", "True Audio", "pcm_s16le"},
    {"a.ts", "-c:a aac", "transport stream", "pcm_f32le"},
    {"a.avi", "-c:a aac", "AVI", "pcm_f32le"},
    {"a.flv", "-c:a aac", "Flash", "pcm_f32le"},
    {"a.oga", "-c:a flac", "Ogg FLAC", "pcm_f32le"},
};

enum { CONTAINERS = sizeof containers / sizeof *containers, LINE = 4096 };

/* As ffmpeg decodes it, without loss. All containers share one start of ffmpeg, which takes most of
 * its time; that of the other tests is the printed line itself. */
START_TEST(each_container_is_read_by_the_line)
{
    char command[512], encode[LINE] = "", in[LINE] = "", out[LINE] = "";
    size_t e = 0, n = 0, o = 0;
    begin();
    for (size_t i = 0; i < CONTAINERS; i++)
        e += (size_t)snprintf(encode + e, LINE - e, " %s %s", containers[i].encoder,
                              containers[i].file);
    command_done(FFMPEG "-i in.wav %s", encode);
    for (size_t i = 0; i < CONTAINERS; i++) {
        const struct container *container = &containers[i];
        snprintf(command, sizeof command, "\"$HALO\" render %s out.wav --mask half.txt",
                 container->file);
        const char *codec = codec_of(container->name, command);
        ck_assert_str_eq(codec, container->codec);
        n += (size_t)snprintf(in + n, LINE - n, " -i %s", container->file);
        o += (size_t)snprintf(
            out + o, LINE - o,
            " -map %zu:a -c:a %s made%zu.wav -map %zu:a -c:a pcm_f64le true%zu.wav", i, codec, i, i,
            i);
    }
    command_done(FFMPEG "%s %s", in, out);
    for (size_t i = 0; i < CONTAINERS; i++) {
        char made[32], truth[32];
        snprintf(made, sizeof made, "made%zu.wav", i);
        snprintf(truth, sizeof truth, "true%zu.wav", i);
        expect_near(made, truth, 1e-7);
    }
}

START_TEST(sixty_four_bits_come_through)
{
    begin();
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = WAVD};
    const double samples[] = {1e300, -1e-300, 1.0 + 0x1p-52, 0};
    SNDFILE *file = sf_open(command_path("wide.wav"), SFM_WRITE, &info);
    ck_assert_int_eq(sf_write_double(file, samples, 4), 4);
    sf_close(file);
    command_done(FFMPEG "-i wide.wav -c:a pcm_f64le wide.mkv");
    command_done(FFMPEG "-i wide.mkv -c:a %s made.wav",
                 codec_of("Matroska", "\"$HALO\" render wide.mkv out.wav"));
    render_done("made.wav", "out.wav", "--gain 0 --quiet");
    double back[4] = {0};
    file = sf_open(command_path("out.wav"), SFM_READ, &info);
    ck_assert_int_eq(info.format & SF_FORMAT_SUBMASK, SF_FORMAT_DOUBLE);
    ck_assert_int_eq(sf_read_double(file, back, 4), 4);
    sf_close(file);
    ck_assert_mem_eq(back, samples, sizeof samples);
}

/* Masks, other commands and streams. */
START_TEST(all_that_read_sounds_refuse_it)
{
    static const char *const commands[] = {
        "\"$HALO\" render in.wav out.wav --mask a.wv",
        "\"$HALO\" spectrogram a.wv",
        "\"$HALO\" listen a.wv --to-file heard.wav --mask half.txt",
        "\"$HALO\" mask show a.wv",
        "cat a.wv | \"$HALO\" render - out.wav",
        "mv a.wv a.wav; \"$HALO\" render a.wav out.wav"};
    begin();
    command_done(FFMPEG "-i in.wav a.wv");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        ck_assert_str_eq(codec_of("WavPack", commands[i]), "pcm_s16le");
    ck_assert_ptr_null(strstr(command_files(), "out.wav"));
}

/* The name does not decide. */
START_TEST(contents_decide)
{
    begin();
    command_done("cp in.wav b.m4a; \"$HALO\" render b.m4a other.wav -q");
    sound_text("c.m4a", "none\n");
    command_refused(1, "not a sound file", "\"$HALO\" render c.m4a out2.wav");
}

/* ---- outputs ---- */

START_TEST(outputs_are_made_by_the_line)
{
    static const char *const names[] = {"out.wv",   "out.tta", "out.m4a", "out.mka", "out.mkv",
                                        "out.webm", "out.wma", "out.ac3", "out.mov", "out.aac"};
    char command[256], all[512] = "", in[512] = "", out[512] = "";
    size_t a = 0, n = 0, o = 0;
    begin();
    render_done("in.wav", "wet.wav", "--mask half.txt --quiet");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(command, sizeof command, "\"$HALO\" render in.wav %s --mask half.txt", names[i]);
        ck_assert_str_eq(codec_of(names[i], command), "");
        a += (size_t)snprintf(all + a, sizeof all - a, " %s", names[i]);
        n += (size_t)snprintf(in + n, sizeof in - n, " -i %s", names[i]);
        o += (size_t)snprintf(out + o, sizeof out - o, " -map %zu:a back%zu.wav", i, i);
    }
    command_done(FFMPEG "-i wet.wav %s && " FFMPEG "%s %s", all, in, out);
    expect_near("back0.wav", "wet.wav", 0); /* lossless */
    expect_near("back1.wav", "wet.wav", 0);
}
