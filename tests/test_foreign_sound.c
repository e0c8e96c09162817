/* Containers that halo leaves to ffmpeg: the line that a refusal prints does what was asked for. */
#include "command.h"
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

/* What follows "use: " in the first of so many lines that a refused command prints. */
static const char *line_of_many(const char *name, const char *command, size_t lines)
{
    static struct command_result result;
    result = command_run("%s", command);
    ck_assert_msg(result.code == 1 || result.code == 2, "%s\nexit code %d\n%s", command,
                  result.code, result.err);
    ck_assert_msg(command_lines(result.err) == lines, "%s\n%s", command, result.err);
    command_expect(result.err, name);
    char *line = strstr(result.err, "use: ");
    ck_assert_msg(line, "no line to paste: %s", result.err);
    line[strcspn(line, "\n")] = '\0';
    return line + strlen("use: ");
}

static const char *line_of(const char *name, const char *command)
{
    return line_of_many(name, command, 1);
}

/* By sh, as a user pastes it. */
static void paste(const char *line)
{
    char path[512];
    snprintf(path, sizeof path, "%s", command_path("line.sh"));
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%s\n", line);
    ck_assert_int_eq(fclose(file), 0);
    struct command_result result = command_run("sh line.sh </dev/null");
    ck_assert_msg(result.code == 0, "%s\nexit code %d\n%s", line, result.code, result.err);
}

static void begin(void)
{
    command_clean();
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
    sound_free(&a);
    sound_free(&b);
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

/* As ffmpeg decodes it, without loss, and halo convolves that. */
START_TEST(each_container_is_read_by_the_line)
{
    char command[512];
    begin();
    for (size_t i = 0; i < sizeof containers / sizeof *containers; i++) {
        const struct container *container = &containers[i];
        command_done("ffmpeg -nostdin -v error -y -i in.wav %s %s", container->encoder,
                     container->file);
        snprintf(command, sizeof command,
                 "\"$HALO\" render %s out.wav -f -q --mask half.txt --tail none --format double",
                 container->file);
        const char *line = line_of(container->name, command);
        command_expect(line, container->codec);
        paste(line);
        command_done("ffmpeg -nostdin -v error -y -i %s -c:a pcm_f64le decoded.wav && \"$HALO\" "
                     "render decoded.wav truth.wav -f -q --mask half.txt --tail none --format "
                     "double",
                     container->file);
        expect_near("out.wav", "truth.wav", 1e-7);
    }
}
END_TEST

START_TEST(names_are_quoted)
{
    static const char *const names[] = {
        "a b.m4a",       "it's.m4a",  "-i.m4a",         "a:b.m4a",       "$(touch x).m4a",
        "`x`\\n.m4a",    "a\nb.m4a",  "tab\there.m4a",  "\xFF.m4a",      "Björk.m4a",
        "50% \"x\".m4a", "*?[a].m4a", "-\x1B[31m'.m4a", "a\xC2\x85.m4a",
    };
    char command[512], path[600];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        begin();
        command_done("ffmpeg -nostdin -v error -y -i in.wav a.m4a && ffmpeg -nostdin -v error -i "
                     "a.m4a -c:a pcm_f32le truth.wav");
        snprintf(path, sizeof path, "%s", command_path(names[i]));
        ck_assert_int_eq(rename(command_path("a.m4a"), path), 0);
        /* the shell has no part in it: the only file of that ending */
        snprintf(command, sizeof command, "\"$HALO\" render -q -f --gain 0 -- *.m4a out.wav");
        paste(line_of("MPEG-4", command));
        expect_near("out.wav", "truth.wav", 0);
        ck_assert_msg(!strstr(command_files(), " x "), "a word was run: %s", command_files());
        /* and as a name that ffmpeg writes */
        if (strchr(names[i], '/') || remove(path) != 0)
            continue;
        snprintf(path, sizeof path, "%s", names[i]);
        FILE *file = fopen(command_path("name"), "w");
        ck_assert_ptr_nonnull(file);
        fprintf(file, "%s.", path);
        fclose(file);
        paste(line_of("container", "n=$(cat name); \"$HALO\" render -q -- in.wav \"${n%.}\""));
        command_done("n=$(cat name); test -s \"./${n%%.}\"");
    }
}
END_TEST

START_TEST(sixty_four_bits_come_through)
{
    begin();
    struct sound in = sound_create(WAVD, 48000, 1, 3);
    sound_free(&in);
    SF_INFO info = {.samplerate = 48000, .channels = 1, .format = WAVD};
    const double samples[] = {1e300, -1e-300, 1.0 + 0x1p-52, 0};
    SNDFILE *file = sf_open(command_path("wide.wav"), SFM_WRITE, &info);
    ck_assert_int_eq(sf_write_double(file, samples, 4), 4);
    sf_close(file);
    command_done("ffmpeg -nostdin -v error -i wide.wav -c:a pcm_f64le wide.mkv");
    paste(line_of("Matroska", "\"$HALO\" render wide.mkv out.wav -q --gain 0"));
    double back[4] = {0};
    file = sf_open(command_path("out.wav"), SFM_READ, &info);
    ck_assert_int_eq(info.format & SF_FORMAT_SUBMASK, SF_FORMAT_DOUBLE);
    ck_assert_int_eq(sf_read_double(file, back, 4), 4);
    sf_close(file);
    ck_assert_mem_eq(back, samples, sizeof samples);
}
END_TEST

/* What seeks does not read from a pipe. */
START_TEST(others_are_converted_first)
{
    begin();
    command_done("ffmpeg -nostdin -v error -i in.wav -c:a alac in.m4a && ffmpeg -nostdin -v error "
                 "-i room.wav room.wv && mv in.wav whole.wav && mv room.wav hall.wav");
    paste(line_of("MPEG-4", "\"$HALO\" render in.m4a out.wav -q --edge wrap --mask half.txt"));
    command_done("\"$HALO\" render whole.wav truth.wav -q --edge wrap --mask half.txt");
    expect_near("out.wav", "truth.wav", 0);
    const char *line = line_of(
        "WavPack", "\"$HALO\" render whole.wav wet.wav -q --gain 1 --mask room.wv,gain=-20");
    command_expect(line, "room.wav,gain=-20");
    paste(line);
    command_done("\"$HALO\" render whole.wav wet_truth.wav -q --gain 1 --mask hall.wav,gain=-20");
    expect_near("wet.wav", "wet_truth.wav", 1.0 / 32768);
    command_done("rm room.wav in.wav");
    paste(line_of("WavPack", "\"$HALO\" render whole.wav wet.wav -f -q --mask=room.wv,gain=-20"));
    paste(line_of("MPEG-4", "\"$HALO\" spectrogram in.m4a >shown.txt"));
    command_done("rm in.wav");
    paste(line_of("MPEG-4", "\"$HALO\" listen in.m4a --to-file heard.wav --mask half.txt"));
    command_done("test -s heard.wav");
}
END_TEST

/* The name is taken: another is found. */
START_TEST(nothing_is_overwritten)
{
    begin();
    command_done("ffmpeg -nostdin -v error -i in.wav -c:a alac in.m4a && cp in.wav before.wav");
    paste(line_of("MPEG-4", "\"$HALO\" render in.m4a out.wav -q --edge reflect"));
    command_done("cmp in.wav before.wav && test -s in.m4a.wav");
    const char *line =
        line_of("MPEG-4", "rm in.wav in.m4a.wav; \"$HALO\" render in.m4a in.wav -q --edge wrap");
    paste(line);
    expect_near("in.wav", "in.m4a.wav", 0);
}
END_TEST

START_TEST(a_stream_is_recognised)
{
    begin();
    command_done("ffmpeg -nostdin -v error -i in.wav a.wv");
    const char *line = line_of("WavPack", "cat a.wv | \"$HALO\" render - out.wav -q --gain 0");
    command_expect(line, "-i - -c:a pcm_s16le");
    char piped[1024];
    snprintf(piped, sizeof piped, "cat a.wv | %s", line);
    paste(piped);
    expect_near("out.wav", "in.wav", 0);
}
END_TEST

/* Of many inputs the line has the one alone, under its own number: the others are done, and stay as
 * they are. A mask is everybody's. */
START_TEST(many_inputs_are_not_repeated)
{
    begin();
    command_done(
        "for i in 1 2 3 4 5 6 7 8 9; do cp in.wav $i.wav; done; ffmpeg -nostdin -v error -i "
        "in.wav -c:a alac 'the 10.m4a' && rm in.wav");
    const char *line = line_of_many(
        "MPEG-4",
        "\"$HALO\" render -q -O out --name 'no{index}-{stem}.wav' --mask half.txt [1-9].wav "
        "'the 10.m4a' --gain=1",
        2);
    ck_assert_ptr_null(strstr(line, "1.wav"));
    ck_assert_ptr_null(strstr(line, "9.wav"));
    command_expect(line, "--mask half.txt");
    command_done("stat -c '%%n %%i %%y' out/* >before.txt && [ $(wc -l <before.txt) = 9 ]");
    paste(line); /* nothing is there already, so it needs no --force */
    command_done("stat -c '%%n %%i %%y' out/* | grep -v 'no10-the 10.wav' | diff before.txt - && "
                 "\"$HALO\" render -q 'the 10.wav' truth.wav --mask half.txt --gain=1");
    expect_near("out/no10-the 10.wav", "truth.wav", 0);
    command_done("ffmpeg -nostdin -v error -i 1.wav room.wv && rm room.wav");
    line = line_of_many("WavPack", "\"$HALO\" render -q -O wet -m room.wv -- 1.wav 2.wav", 3);
    command_expect(line, "-- 1.wav 2.wav");
    command_expect(line, "-m room.wav");
}
END_TEST

/* A name tells nothing. */
START_TEST(contents_decide)
{
    begin();
    command_done("ffmpeg -nostdin -v error -i in.wav a.wv && mv a.wv a.wav && cp in.wav b.m4a");
    paste(line_of("WavPack", "\"$HALO\" render a.wav out.wav -q"));
    expect_near("out.wav", "in.wav", 0);
    command_done("\"$HALO\" render b.m4a other.wav -q");
    sound_text("c.m4a", "none\n");
    command_refused(1, "not a sound file", "\"$HALO\" render c.m4a out2.wav");
}
END_TEST

/* ---- outputs ---- */

START_TEST(outputs_go_through_a_pipe)
{
    static const char *const lossless[] = {"out.wv", "out.tta"};
    begin();
    command_done("\"$HALO\" render in.wav truth.wav -q --mask half.txt");
    for (size_t i = 0; i < 2; i++) {
        char command[256];
        snprintf(command, sizeof command, "\"$HALO\" render in.wav %s -q --mask half.txt",
                 lossless[i]);
        paste(line_of(lossless[i], command));
        command_done("ffmpeg -nostdin -v error -y -i %s back.wav", lossless[i]);
        expect_near("back.wav", "truth.wav", 0);
    }
    static const char *const lossy[] = {"out.m4a", "out.mka", "out.mkv", "out.webm",
                                        "out.wma", "out.ac3", "out.mov", "out.aac"};
    for (size_t i = 0; i < sizeof lossy / sizeof *lossy; i++) {
        char command[256];
        snprintf(command, sizeof command, "\"$HALO\" render in.wav %s -q --mask half.txt",
                 lossy[i]);
        const char *line = line_of(lossy[i], command);
        command_expect(line, "--format float");
        paste(line);
        command_done("ffmpeg -nostdin -v error -y -i %s back.wav", lossy[i]);
        struct sound back = sound_load("back.wav");
        ck_assert_uint_eq(back.block.channels, 2);
        ck_assert_uint_ge(back.block.frames, FRAMES - 4096); /* AAC alone tells no length */
        ck_assert_float_ge(audio_peak(back.block.data[0], FRAMES - 4096), 0.1F);
        sound_free(&back);
    }
}
END_TEST

START_TEST(both_sides_are_one_line)
{
    begin();
    command_done("ffmpeg -nostdin -v error -i in.wav in.wv");
    const char *line = line_of(
        "WavPack", "\"$HALO\" render in.wv out.tta --mask half.txt --format=pcm24 --tail none -q");
    paste(line);
    command_done("\"$HALO\" render in.wav truth.wav --mask half.txt --format pcm24 --tail none -q; "
                 "ffmpeg -nostdin -v error -i out.tta -c:a pcm_s24le back.wav");
    expect_near("back.wav", "truth.wav", 0);
}
END_TEST

/* As halo itself does: only with --force. */
START_TEST(an_output_is_replaced_if_asked)
{
    begin();
    sound_text("out.wv", "precious\n");
    sound_text("line.sh", line_of("out.wv", "\"$HALO\" render in.wav out.wv -q"));
    struct command_result result = command_run("sh line.sh </dev/null");
    ck_assert_int_ne(result.code, 0);
    command_done("grep precious out.wv");
    paste(line_of("out.wv", "\"$HALO\" render in.wav out.wv -qf"));
    paste(line_of("out.wv", "\"$HALO\" render in.wav out.wv -q --force"));
    command_done("! grep precious out.wv");
}
END_TEST

SUITE_MAIN("foreign_sound", each_container_is_read_by_the_line, names_are_quoted,
           sixty_four_bits_come_through, others_are_converted_first, nothing_is_overwritten,
           a_stream_is_recognised, many_inputs_are_not_repeated, contents_decide,
           outputs_go_through_a_pipe, both_sides_are_one_line, an_output_is_replaced_if_asked)
