/* halo render with plugins of packages (lv2-examples, x42-plugins, swh-lv2, swh-plugins, cmt)
 * and with those of tests/plugins. */
#include "command.h"
#include "plugin_rig.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"

#include <math.h>
#include <string.h>

enum { WAVF = SF_FORMAT_WAV | SF_FORMAT_FLOAT, RATE = 48000, N = 20000 };

#define EG_AMP "http://lv2plug.in/plugins/eg-amp"
#define SWH "http://plugin.org.uk/swh-plugins/"
#define NODELAY "http://gareus.org/oss/lv2/nodelay"

static void expect_close(const struct sound *out, size_t channel, const float *expected,
                         size_t frames, double bound, const char *what)
{
    ck_assert_msg(out->block.frames == frames, "%s: %zu frames", what, out->block.frames);
    for (size_t i = 0; i < frames; i++) {
        double error = fabs((double)(out->block.data[channel][i] - expected[i]));
        ck_assert_msg(error <= bound, "%s: frame %zu of channel %zu is off by %g", what, i,
                      channel + 1, error);
    }
}

static void expect_same_channels(const char *a, const char *b)
{
    struct sound one = sound_load(a), other = sound_load(b);
    ck_assert_uint_eq(one.block.channels, other.block.channels);
    for (size_t c = 0; c < one.block.channels; c++)
        expect_close(&one, c, other.block.data[c], other.block.frames, 0, a);
}

/* ---- output ---- */

START_TEST(plugins_follow_their_formulas)
{
    static const struct {
        const char *stage;
        size_t channels_in, channels_out;
        float factor;
    } rows[] = {
        {"--lv2 " EG_AMP ",gain=-6", 1, 1, 0.5011872f},
        {"--lv2 " EG_AMP ",gain=-6dB", 2, 2, 0.5011872f},
        {"--lv2 " EG_AMP ",gain=-6 --no-isolate", 6, 6, 0.5011872f},
        {"--lv2 " SWH "amp,gain=-6", 2, 2, 0.5011872f},
        {"--lv2 " SWH "inv", 2, 2, -1},
        {"--lv2 " SWH "split", 1, 2, 1},
        {"--lv2 http://gareus.org/oss/lv2/balance", 2, 2, 1},
        {"--lv2 " NODELAY ",delay=480", 2, 2, 1},
        {"--lv2 " NODELAY ",delay=10", 2, 2, 1},
        {"--lv2 " NODELAY ",delay=99 --lv2 " NODELAY ",delay=300", 2, 2, 1},
        {"--lv2 " NODELAY ",delay=480 --isolate --block 64", 1, 1, 1},
        {"--lv2 " NODELAY ",delay=480 --block 100", 1, 1, 1},
        {"--ladspa amp_1181:amp,amps=-6", 2, 2, 0.5011872f},
        {"--ladspa inv_1429:inv", 3, 3, -1},
        {"--ladspa mean:copy", 1, 1, 1},
        {"--lv2 urn:halo:test:in-place", 2, 2, 1},
        {"--lv2 urn:halo:test:writes-input --no-isolate", 2, 2, 1},
        {"--lv2 urn:halo:test:many-ports,c500=1", 1, 1, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        command_clean();
        struct sound in = sound_noise("in.wav", 1, WAVF, RATE, rows[r].channels_in, N);
        command_done("\"$HALO\" render in.wav out.wav %s", rows[r].stage);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.channels, rows[r].channels_out);
        for (size_t c = 0; c < out.block.channels; c++) {
            float expected[N];
            for (size_t i = 0; i < N; i++)
                expected[i] = in.block.data[c % in.block.channels][i] * rows[r].factor;
            expect_close(&out, c, expected, N, 1e-7, rows[r].stage);
        }
    }
}

/* It delays nothing but reports 10 ms, which are removed. */
START_TEST(latency_that_is_reported_is_taken_off)
{
    struct sound in = sound_noise("in.wav", 1, WAVF, RATE, 1, N);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --json --lv2 " SWH
                     "artificialLatency,delay=10 --lv2 " NODELAY ",delay=100");
    struct sound out = sound_load("out.wav");
    float expected[N] = {0};
    memcpy(expected, in.block.data[0] + 480, (N - 480) * sizeof *expected);
    expect_close(&out, 0, expected, N, 0, "artificialLatency");
    json_t *root = command_json(result.out), *stages = json_object_get(root, "stages");
    ck_assert_int_eq(json_integer_value(json_object_get(root, "latency")), 580);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(stages, 0), "latency")),
                     480);
    ck_assert_int_eq(json_integer_value(json_object_get(json_array_get(stages, 1), "latency")),
                     100);
}

START_TEST(masks_work_around_plugins)
{
    static const char *const stages[] = {
        "--mask m.wav --lv2 " NODELAY ",delay=480",
        "--lv2 " NODELAY ",delay=480 --mask m.wav",
        "--lv2 " NODELAY ",delay=99 --mask m.wav --lv2 " NODELAY ",delay=1000",
        "--mask m.wav --ladspa mean:late-latency,at=30000,amount=300",
        "--ladspa mean:late-latency,at=0,amount=300 --mask m.wav,@mix=1",
        /* In passes, the first or the second of which is late. */
        "--ladspa mean:late-latency,at=30000,amount=300 --mask one.txt,level=input --mask m.wav",
        "--mask one.txt,level=input --ladspa mean:late-latency,at=30000,amount=300 --mask m.wav",
    };
    sound_text("one.txt", "1\n");
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, 40000);
    sound_noise_file("m.wav", 2, WAVF, RATE, 1, 3000);
    command_done("\"$HALO\" render in.wav alone.wav --mask m.wav --gain -20");
    struct sound alone = sound_load("alone.wav");
    float peak = 0;
    for (size_t c = 0; c < 2; c++)
        peak = fmaxf(peak, audio_peak(alone.block.data[c], alone.block.frames));
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        command_done("\"$HALO\" render -f in.wav out.wav %s --gain -20", stages[s]);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_le(out.block.frames, alone.block.frames);
        ck_assert_uint_ge(out.block.frames, 40000); /* its tail may end quietly */
        for (size_t c = 0; c < 2; c++)
            expect_close(&out, c, alone.block.data[c], out.block.frames, (double)peak * 1e-6,
                         stages[s]);
    }
}

/* ---- channels ---- */

START_TEST(channels_are_mapped)
{
    static const struct {
        const char *stage;
        size_t channels, count;
        int input[4]; /* for each output the channel, from 1; 0: silence */
    } rows[] = {
        {"--lv2 http://gareus.org/oss/lv2/balance", 1, 2, {1, 1}},
        {"--lv2 " EG_AMP ",@map=2", 2, 1, {2}},
        {"--lv2 " EG_AMP ",@map=3:0:1", 3, 3, {3, 0, 1}},
        {"--lv2 " SWH "split,@map=each", 2, 4, {1, 1, 2, 2}},
        {"--lv2 http://gareus.org/oss/lv2/balance,@map=2:1", 2, 2, {2, 1}},
        {"--lv2 http://gareus.org/oss/lv2/balance,@map=each", 4, 4, {1, 2, 3, 4}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        command_clean();
        struct sound in = sound_noise("in.wav", 1, WAVF, RATE, rows[r].channels, N);
        command_done("\"$HALO\" render in.wav out.wav %s", rows[r].stage);
        struct sound out = sound_load("out.wav");
        const float silence[N] = {0};
        ck_assert_msg(out.block.channels == rows[r].count, "%s", rows[r].stage);
        for (size_t c = 0; c < rows[r].count; c++)
            expect_close(&out, c, rows[r].input[c] ? in.block.data[rows[r].input[c] - 1] : silence,
                         N, 0, rows[r].stage);
    }
    command_clean();
    sound_noise_file("in.wav", 1, WAVF, RATE, 3, 100);
    command_refused(1, "has 2 inputs and 2 outputs, the sound 3 channels: choose channels",
                    "\"$HALO\" render in.wav out.wav --lv2 http://gareus.org/oss/lv2/balance");
}

/* ---- mix, bypass, automation ---- */

START_TEST(bypassed_stages_change_no_bit)
{
    static const char *const stages[] = {
        "--lv2 " EG_AMP ",gain=-6,@bypass",
        "--lv2 " NODELAY ",delay=480,@mix=0",
        "--lv2 " NODELAY ",delay=480,@mix=0.5",
        "--ladspa amp_1181:amp,0=20,@bypass=on",
        "--gain -6,@bypass",
        "--mask m.wav,@bypass",
        "--lv2 " EG_AMP ",gain=-6,@mix=0,@bypass=off",
    };
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, N);
    sound_noise_file("m.wav", 2, WAVF, RATE, 2, 500);
    for (size_t s = 0; s < sizeof stages / sizeof *stages; s++) {
        command_done("\"$HALO\" render -f in.wav out.wav --tail none %s", stages[s]);
        expect_same_channels("out.wav", "in.wav");
    }
}

/* The mask's latency is half its length, and the dry sound is delayed by the same. */
START_TEST(mixes_are_aligned)
{
    struct sound in = sound_noise("in.wav", 1, WAVF, RATE, 1, N);
    sound_text("m.txt", "0\n0\n0\n0\n0.5\n0\n0\n0\n0\n");
    command_done("\"$HALO\" render in.wav out.wav --align centre --tail none --mask m.txt,@mix=0.5 "
                 "--lv2 " EG_AMP ",gain=6.0206,@mix=0.25");
    struct sound out = sound_load("out.wav");
    float expected[N];
    for (size_t i = 0; i < N; i++)
        expected[i] = in.block.data[0][i] * (0.5f * 0.5f + 0.5f) * (2 * 0.25f + 0.75f);
    expect_close(&out, 0, expected, N, 1e-6, "mix");
}

static float db(float value)
{
    return powf(10, value * 0.05f);
}

/* Frames of the sound, whatever its delay at the stage. A ramp has steps of 32 frames. */
START_TEST(values_change_at_their_time)
{
    struct sound in = sound_noise("in.wav", 1, WAVF, RATE, 1, N);
    command_done("\"$HALO\" render in.wav out.wav --lv2 " NODELAY
                 ",delay=480 --ladspa amp_1181:amp,0=-6,at=10ms:0=3,at=0.1s-0.2s:0=-9");
    struct sound out = sound_load("out.wav");
    float expected[N];
    for (size_t i = 0; i < N; i++) {
        float value = i >= 480 ? 3 : -6, step = (float)(i / 32 * 32);
        if (i >= 4800)
            value = 3 - 12 * fminf((step - 4800) / 4800, 1);
        expected[i] = in.block.data[0][i] * db(value);
    }
    expect_close(&out, 0, expected, N, 1e-6, "automation");

    command_done("\"$HALO\" render -f in.wav out.wav --lv2 " NODELAY
                 ",delay=480 --gain 0,at=0.1s:gain=-6,at=0.2s-0.3s:gain=6");
    out = sound_load("out.wav");
    for (size_t i = 0; i < N; i++) {
        float at = (float)i, value = 1 + (db(-6) - 1) * fmaxf(0, fminf((at - 4800) / 480, 1));
        if (at >= 9600)
            value = db(-6) + (db(6) - db(-6)) * fminf((at - 9600) / 4800, 1);
        expected[i] = in.block.data[0][i] * value;
    }
    expect_close(&out, 0, expected, N, 1e-5, "gain");
}

/* At one second the first sample that differs is number 48000, whatever is before the stage, and
 * wherever the plugin runs; a mix and a gain have their first value there, and leave it with the
 * next sample. */
START_TEST(a_second_is_48000_frames)
{
    static const struct {
        const char *stages;
        size_t first;
    } rows[] = {
        {"--ladspa amp_1181:amp,0=-6,at=1s:0=3", 48000},
        {"--no-isolate --ladspa amp_1181:amp,0=-6,at=1s:0=3", 48000},
        {"--lv2 " EG_AMP ",gain=-6,at=1s:gain=3", 48000},
        {"--lv2 " NODELAY ",delay=4801 --ladspa amp_1181:amp,0=-6,at=1s:0=3", 48000},
        {"--ladspa mean:late-latency,at=0,amount=77 --lv2 " EG_AMP ",gain=-6,at=1s:gain=3", 48000},
        {"--mask m.wav --lv2 " EG_AMP ",gain=-6,at=1s:gain=3", 48000},
        {"--lv2 " NODELAY ",delay=4801 --gain -6,at=1s:gain=3", 48001},
        {"--lv2 " EG_AMP ",gain=-6,@mix=0.5,at=1s:@mix=1", 48001},
        {"--lv2 " EG_AMP ",gain=-6,at=1s:@bypass=on", 48001},
    };
    struct sound in = sound_noise("in.wav", 1, WAVF, RATE, 1, 50000);
    sound_text("m.txt", "0\n0\n0\n0\n0.5\n0\n0\n0\n0\n");
    command_done("\"$HALO\" mask convert m.txt m.wav --rate 48000");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        command_done("\"$HALO\" render -f in.wav out.wav --align centre --block 16384 %s",
                     rows[r].stages);
        struct sound out = sound_load("out.wav");
        float before = out.block.data[0][1000] / in.block.data[0][1000];
        size_t at = 0;
        while (at < 50000 && fabsf(out.block.data[0][at] - before * in.block.data[0][at]) < 1e-5f)
            at++;
        ck_assert_msg(at == rows[r].first, "%s: frame %zu", rows[r].stages, at);
    }
}

/* The delay is dry 480 frames late at the stage, so whole blocks begin at other frames there. */
START_TEST(plugins_that_want_whole_blocks_say_so)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 1, N);
    struct command_result result = command_done("\"$HALO\" render in.wav out.wav --lv2 " NODELAY
                                                ",delay=480,at=1000:delay=300");
    ck_assert_ptr_nonnull(strstr(result.err, "changed every 256 frames"));
    result = command_done("\"$HALO\" render -f in.wav out.wav --lv2 " EG_AMP ",at=1000:gain=3");
    ck_assert_ptr_null(strstr(result.err, "changed every"));
}

START_TEST(stages_fade_in_and_out)
{
    struct sound in = sound_noise("in.wav", 1, WAVF, RATE, 1, N);
    command_done("\"$HALO\" render in.wav out.wav --lv2 " EG_AMP
                 ",gain=-6,at=0.1s:@bypass=on,at=0.2s:@bypass=off");
    struct sound out = sound_load("out.wav");
    float expected[N];
    for (size_t i = 0; i < N; i++) {
        float at = (float)i, wet = 1 - fmaxf(0, fminf((at - 4800) / 480, 1));
        if (at >= 9600)
            wet = fminf((at - 9600) / 480, 1);
        expected[i] = in.block.data[0][i] * (wet * db(-6) + 1 - wet);
    }
    expect_close(&out, 0, expected, N, 1e-6, "bypass");
}

/* ---- side chains ---- */

static bool has_plugin(const char *id)
{
    struct plugin_info *info = plugin_rig_describe("lv2", id);
    plugin_info_destroy(info);
    return info != NULL;
}

enum { KEYED = 3 * RATE };

/* Two channels of noise, and a third that is loud from the first second to the second. The key is
 * that third channel as a file, which ends there. */
static void make_keyed(void)
{
    struct block block = stream_noise(1, 3, KEYED), key;
    key = stream_block(1, 2 * RATE);
    for (size_t i = 0; i < KEYED; i++) {
        block.data[0][i] *= 0.05f;
        block.data[1][i] *= 0.05f;
        block.data[2][i] *= i >= RATE && i < 2 * RATE ? 0.9f : 0;
        if (i < 2 * RATE)
            key.data[0][i] = block.data[2][i];
    }
    sound_save(&(struct sound){.format = WAVF, .rate = RATE, .block = block}, "keyed.wav");
    sound_save(&(struct sound){.format = WAVF, .rate = RATE, .block = key}, "key.wav");
    block.channels = 2;
    sound_save(&(struct sound){.format = WAVF, .rate = RATE, .block = block}, "main.wav");
    block.channels = 3;
}

/* In dB, of a second of the sound without its beginning. */
static double level(const struct sound *sound, size_t second)
{
    double sum = 0;
    for (size_t i = second * RATE + RATE / 2; i < (second + 1) * RATE; i++)
        sum += pow((double)sound->block.data[0][i], 2);
    return 10 * log10(sum);
}

START_TEST(side_chains_duck)
{
    static const struct {
        const char *id, *values;
    } rows[] = {
        {"http://lsp-plug.in/plugins/lv2/sc_compressor_mono", "sct=External,al=0.05,cr=20"},
        {"http://lsp-plug.in/plugins/lv2/sc_compressor_stereo", "sct=External,al=0.05,cr=20"},
        {"urn:zamaudio:ZamComp", "sidechain=on,thr=-20,rat=20"},
        {"urn:zamaudio:ZamCompX2", "sidechain=on,thr=-20,rat=20"},
    };
    make_keyed();
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (!has_plugin(rows[r].id))
            continue;
        command_done("\"$HALO\" render -f keyed.wav out.wav --tail none --lv2 %s,%s,@sidechain=3",
                     rows[r].id, rows[r].values);
        struct sound out = sound_load("out.wav");
        ck_assert_uint_eq(out.block.channels, 2);
        double before = level(&out, 0), keyed = level(&out, 1), after = level(&out, 2);
        ck_assert_msg(keyed < before - 6, "%s: %g dB, then %g", rows[r].id, before, keyed);
        ck_assert_msg(fabs(after - before) < 1, "%s: %g dB, then %g", rows[r].id, before, after);

        /* A file is the same, wherever the stage is and runs. */
        command_done("\"$HALO\" render -f main.wav file.wav --tail none --no-isolate --lv2 "
                     "%s,%s,@sidechain=key.wav",
                     rows[r].id, rows[r].values);
        expect_same_channels("file.wav", "out.wav");
        command_done("\"$HALO\" render -f main.wav file.wav --tail none --lv2 " NODELAY
                     ",delay=480 --lv2 %s,%s,@sidechain=key.wav",
                     rows[r].id, rows[r].values);
        struct sound file = sound_load("file.wav");
        ck_assert_msg(level(&file, 1) < before - 6, "%s", rows[r].id);
        command_done("\"$HALO\" render -f main.wav file.wav --tail none --lv2 %s,%s", rows[r].id,
                     rows[r].values);
        file = sound_load("file.wav");
        ck_assert_msg(fabs(level(&file, 1) - before) < 1, "%s", rows[r].id);
    }
}

/* Of a sound file that is longer than memory, no more is read than the sound needs; and of one that
 * is damaged behind that, no harm comes. */
START_TEST(side_chains_are_read_as_the_sound_goes_on)
{
    static const char *const id = "http://lsp-plug.in/plugins/lv2/sc_compressor_mono";
    if (!has_plugin(id))
        return;
    make_keyed();
    /* Silence of ten seconds, and of nine hours, 3 GiB with holes. */
    command_done("printf 'RIFF\\370\\377\\377\\277WAVEfmt \\20\\0\\0\\0\\1\\0\\1\\0\\200\\273\\0\\0"
                 "\\0\\167\\1\\0\\2\\0\\20\\0data\\324\\377\\377\\277' >long.wav && "
                 "truncate -s 3G long.wav && ffmpeg -v error -t 10 -i long.wav short.wav");
    static const char *const files[] = {"short.wav", "long.wav"};
    long memory[2];
    for (size_t i = 0; i < 2; i++)
        memory[i] = command_memory("\"$HALO\" render -f main.wav %zu.wav --tail none --lv2 "
                                   "%s,sct=External,al=0.05,cr=20,@sidechain=%s",
                                   i, id, files[i]);
    command_done("cmp 0.wav 1.wav");
    ck_assert_int_lt(memory[1], memory[0] + (100 << 10));
    /* One that is no number, after a second: it fails there. */
    command_done("head -c 6000 /dev/zero | tr '\\0' '\\377' >bad && cp key.wav bad.wav && "
                 "dd if=bad of=bad.wav bs=1 seek=200000 conv=notrunc status=none");
    command_refused(1, "as a side chain: a sample is not a number",
                    "\"$HALO\" render main.wav o.wav --lv2 %s,@sidechain=bad.wav", id);
}

/* At another rate, in a chain in another folder; and what is wrong. */
START_TEST(side_chains_are_files)
{
    static const char *const id = "http://lsp-plug.in/plugins/lv2/sc_compressor_mono";
    if (!has_plugin(id))
        return;
    make_keyed();
    sound_noise_file("wide.wav", 1, WAVF, RATE, 5, 1000);
    command_done(
        "ffmpeg -v error -y -i key.wav -ar 24000 -c:a pcm_f32le slow.wav; mkdir -p chains");
    command_done("\"$HALO\" render -f main.wav out.wav --tail none --lv2 "
                 "%s,sct=External,al=0.05,cr=20,@sidechain=slow.wav --save-chain chains/c.yml",
                 id);
    struct sound out = sound_load("out.wav");
    ck_assert(level(&out, 1) < level(&out, 0) - 6);
    ck_assert(fabs(level(&out, 2) - level(&out, 0)) < 1);
    command_done("grep -q '@sidechain=../slow.wav' chains/c.yml; cd chains && \"$HALO\" render -f "
                 "../main.wav ../again.wav --tail none --chain c.yml");
    expect_same_channels("again.wav", "out.wav");
    command_refused(1, "none.wav", "\"$HALO\" render main.wav o.wav --lv2 %s,@sidechain=none.wav",
                    id);
    command_done("mkfifo pipe");
    command_refused(1, "is a regular file",
                    "\"$HALO\" render main.wav o.wav --lv2 %s,@sidechain=pipe", id);
    command_refused(2, "has 5 channels",
                    "\"$HALO\" render main.wav o.wav --lv2 %s,@sidechain=wide.wav", id);
    command_refused(2, "from 1 to 2", "\"$HALO\" render main.wav o.wav --lv2 %s,@sidechain=3", id);
    command_refused(2, "declares no side chain",
                    "\"$HALO\" render main.wav o.wav --lv2 " EG_AMP ",@sidechain=2");
}

/* ---- tempo ---- */

static void expect_beat(const char *stages, const char *tempo, double bpm, unsigned bar,
                        unsigned unit)
{
    command_done("\"$HALO\" render -f in.wav out.wav --tail none %s %s", tempo, stages);
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.channels, 3);
    for (size_t i = 0; i < out.block.frames; i++) {
        double seconds = (double)i / RATE, offset = i >= 1001 && strstr(stages, "at=") ? 0.5 : 0;
        const double expected[] = {seconds, seconds * bpm / 60 / (bar ? bar : 1),
                                   bpm + bar / 100.0 + unit / 10000.0};
        for (size_t c = 0; c < 3; c++) {
            double value = (double)out.block.data[c][i] - offset;
            ck_assert_msg(fabs(value - (bpm > 0 ? expected[c] : 0)) < 2e-5,
                          "%s %s: output %zu in frame %zu is %.8g, not %.8g", stages, tempo, c, i,
                          value, expected[c]);
        }
    }
}

#define LEVEL "param:urn:halo:test:beat#level="

START_TEST(plugins_know_the_position)
{
    static const char *const rows[] = {
        "--lv2 urn:halo:test:beat",
        "--no-isolate --lv2 urn:halo:test:beat",
        "--lv2 " NODELAY ",delay=481 --lv2 urn:halo:test:beat",
        "--lv2 " NODELAY ",delay=481 --lv2 urn:halo:test:beat,at=1001:offset=0.5",
        "--block 100 --lv2 urn:halo:test:beat,at=1001:offset=0.5",
        "--lv2 urn:halo:test:beat,at=1001:" LEVEL "0.5",
        "--no-isolate --lv2 " NODELAY ",delay=481 --lv2 urn:halo:test:beat,at=2001:" LEVEL
        "0.25,at=1001:" LEVEL "0.5,at=2001:offset=0.25," LEVEL "0,at=1001:offset=0",
    };
    sound_noise_file("in.wav", 1, WAVF, RATE, 1, N);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        expect_beat(rows[r], "--tempo 90.5,6/8", 90.5, 6, 8);
    expect_beat(rows[0], "--tempo 120", 120, 4, 4);
    expect_beat(rows[5], "", 0, 0, 0);
    command_refused(2, "cannot be a ramp",
                    "\"$HALO\" render in.wav o.wav --lv2 urn:halo:test:beat,at=0s-1s:" LEVEL "1");
    static const char *const wrong[] = {"0",       "120,", "120,3", "120,3/5",
                                        "120,0/4", "1e9",  "fast",  "120,4/4x"};
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++)
        command_refused(2, "120 or 90,6/8", "\"$HALO\" render in.wav o.wav --gain 0 --tempo %s",
                        wrong[w]);
}

/* The first channel is what `tempo` says, the second the beats; both are 0 without a tempo. */
static void expect_position(const char *options, double tempo, double beats_per_second)
{
    command_done("\"$HALO\" render in.wav out.wav -f --tail none --format float %s", options);
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, N);
    for (size_t i = 0; i < N; i++) {
        double beats = (double)i / RATE * beats_per_second;
        ck_assert_msg(fabs((double)out.block.data[0][i] - tempo) < 2e-5 &&
                          fabs((double)out.block.data[1][i] - beats) < 2e-5,
                      "%s: frame %zu has %.8g and %.8g", options, i, (double)out.block.data[0][i],
                      (double)out.block.data[1][i]);
    }
}

START_TEST(designated_controls_know_the_position)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 1, N);
    expect_position("--tempo 90.5,6/8 --lv2 urn:halo:test:beat-controls", 90.5608, 90.5 / 60);
    expect_position("--tempo 90.5,6/8 --no-isolate --lv2 urn:halo:test:beat-controls", 90.5608,
                    90.5 / 60);
    expect_position("--tempo 90,3/4 --lv2 urn:halo:test:beat-controls,speed=0.5", 45.0152,
                    0.75); /* a value that the user sets wins */
    expect_position("--lv2 urn:halo:test:beat-controls", 0, 0);
}

/* A chain file holds the tempo; --tempo comes before it. */
START_TEST(chains_keep_the_tempo)
{
    static const char stage[] = "--lv2 urn:halo:test:beat";
    sound_noise_file("in.wav", 1, WAVF, RATE, 1, N);
    command_done("\"$HALO\" render in.wav a.wav --tempo 90.55,6/8 %s --save-chain c.yml", stage);
    command_done("grep -qx 'tempo: 90.55,6/8' c.yml");
    expect_beat("--chain c.yml", "", 90.55, 6, 8);
    expect_beat("--chain c.yml", "--tempo 120", 120, 4, 4);
    expect_beat("--tempo 120 --chain c.yml", "", 120, 4, 4);
    command_done(
        "\"$HALO\" chain collect c.yml d.yml --channels 1 && grep -qx 'tempo: 90.55,6/8' d.yml");
    command_done(
        "sed -i 's/tempo: .*/tempo: 100/' d.yml && \"$HALO\" chain check d.yml --channels 1");
    command_refused(2, "the chains have different tempos; choose one by --tempo",
                    "\"$HALO\" render in.wav o.wav --chain c.yml --chain d.yml");
    command_done("sed -i 's/tempo: .*/tempo: soon/' d.yml");
    command_refused(1, "cannot use chain d.yml: its tempo is beats a minute from 1 to 1000",
                    "\"$HALO\" render in.wav o.wav --chain d.yml");
    command_done("\"$HALO\" render in.wav b.wav %s --save-chain e.yml && ! grep -q tempo e.yml",
                 stage);
}

/* ---- late, bad and endless plugins ---- */

START_TEST(latency_reported_late_renders_again)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, 60000);
    struct command_result result = command_done(
        "\"$HALO\" render in.wav out.wav --ladspa mean:late-latency,at=40000,amount=480");
    ck_assert_ptr_nonnull(strstr(result.err, "rendering again from the start"));
    expect_same_channels("out.wav", "in.wav");
    result = command_done("\"$HALO\" render in.wav -f out.wav --normalize -6 "
                          "--ladspa mean:late-latency,at=40000,amount=480");
    command_done("\"$HALO\" render in.wav -f alone.wav --normalize -6");
    expect_same_channels("out.wav", "alone.wav");
    /* Input that cannot be read again stays late, with a warning. */
    result = command_done("\"$HALO\" render - -f out.wav --tail none --ladspa "
                          "mean:late-latency,at=40000,amount=480 < in.wav");
    ck_assert_ptr_nonnull(strstr(result.err, "480 frames late"));
    struct sound in = sound_load("in.wav"), out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, 60000);
    ck_assert_mem_eq(out.block.data[0] + 480, in.block.data[0], (60000 - 480) * sizeof(float));
}

/* Rendering again overwrites the chain saved before. */
START_TEST(a_chain_is_saved_once)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, 60000);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --save-chain chain.yml --gain -3 "
                     "--ladspa mean:late-latency,at=40000,amount=480");
    ck_assert_ptr_nonnull(strstr(result.err, "rendering again from the start"));
    command_done("\"$HALO\" render in.wav again.wav --chain chain.yml");
    expect_same_channels("out.wav", "again.wav");
    command_refused(1, "out.wav exists",
                    "\"$HALO\" render in.wav out.wav --chain chain.yml --save-chain other.yml");
    command_done("test ! -e other.yml");
}

START_TEST(bad_samples_are_counted)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, N);
    struct command_result result = command_done("\"$HALO\" render in.wav out.wav --json --lv2 "
                                                "urn:halo:test:nan,at=5000,amount=7,@allow-loud");
    ck_assert_ptr_nonnull(strstr(result.err, "14 invalid samples"));
    json_t *root = command_json(result.out);
    json_t *stage = json_array_get(json_object_get(root, "stages"), 0);
    ck_assert_int_eq(json_integer_value(json_object_get(stage, "bad_samples")), 14);
    struct sound out = sound_load("out.wav");
    ck_assert_float_eq(out.block.data[0][5000], 0);
    ck_assert_float_ne(out.block.data[0][5007], 0);
}

START_TEST(absurd_samples_end_the_render)
{
    static const char *const before[] = {"", "--no-isolate ", "--lv2 " NODELAY ",delay=480 "};
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, N);
    for (size_t i = 0; i < 3; i++) {
        size_t at = i == 2 ? 5480 : 5000; /* of the plugin's input */
        command_refused(1,
                        "urn:halo:test:nan made a sample that is not a number at 0.104 s, in "
                        "frame 5000",
                        "\"$HALO\" render in.wav out.wav %s--lv2 urn:halo:test:nan,at=%zu",
                        before[i], at);
        command_refused(1, "mean:loud made a sample of +66 dBFS at 0.104 s, in frame 5000",
                        "\"$HALO\" render in.wav out.wav %s--ladspa mean:loud,at=%zu,amount=2000 "
                        "--gain -60",
                        before[i], at);
    }
    command_refused(1, "mean:loud made a sample of +66 dBFS",
                    "\"$HALO\" render in.wav out.wav --ladspa mean:loud,amount=2000,@mix=0.1");
    command_done("\"$HALO\" render in.wav out.wav --ladspa mean:loud,at=5000,amount=2000,"
                 "@allow-loud --gain -60");
    struct sound out = sound_load("out.wav");
    ck_assert_float_eq_tol(out.block.data[0][5000], 2, 1e-4F);
}

START_TEST(crashes_end_the_render)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, 60000);
    /* 40000 of 48000 is in the 157th block of 256. */
    command_refused(1, "urn:halo:test:crash crashed at 0.832 s, in block 157",
                    "\"$HALO\" render in.wav out.wav --lv2 urn:halo:test:crash,at=40000");
    command_refused(1, "urn:halo:test:crash",
                    "\"$HALO\" render in.wav out.wav --lv2 urn:halo:test:crash,at=40000,@mix=0.5");
}

START_TEST(tails_end_when_quiet)
{
    sound_noise_file("in.wav", 1, WAVF, RATE, 1, N);
    struct command_result result =
        command_done("\"$HALO\" render in.wav out.wav --json --ladspa cmt:delay_1s");
    struct sound out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, N + 48000);
    ck_assert_float_ne(out.block.data[0][N + 47999], 0);
    ck_assert_double_eq(command_number(result.out, "tail_frames"), 48000);
    ck_assert_ptr_nonnull(strstr(result.out, "\"tail_cut\": false"));
    ck_assert_ptr_nonnull(strstr(result.err, "plugins report no tail: 1.00 s were kept"));

    command_done("\"$HALO\" render in.wav -f out.wav --tail none --ladspa cmt:delay_1s");
    out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, N);

    /* A tail without an end. */
    result =
        command_done("\"$HALO\" render in.wav -f out.wav --json --ladspa cmt:noise_source_white");
    out = sound_load("out.wav");
    ck_assert_uint_eq(out.block.frames, N + 30 * RATE);
    ck_assert_ptr_nonnull(strstr(result.out, "\"tail_cut\": true"));
    ck_assert_ptr_nonnull(strstr(result.err, "cut off"));
}

/* ---- errors ---- */

START_TEST(wrong_arguments_are_refused)
{
    static const struct {
        int code;
        const char *expected, *stage;
    } rows[] = {
        {1, "cannot find", "--lv2 urn:halo:test:none"},
        {1, "no LADSPA library", "--ladspa none:none"},
        {0, "mean", "--ladspa mean:none"},
        {2, "its controls: gain", "--lv2 " EG_AMP ",foo=1"},
        {2, "from -90 to 24 dB", "--lv2 " EG_AMP ",gain=25"},
        {2, "no preset 'foo'", "--lv2 " EG_AMP ",preset=foo"},
        {2, "@mix=, @wet=, @bypass, @map=, @sidechain=, @allow-loud", "--lv2 " EG_AMP ",@foo=1"},
        {2, "from 0 to 1, not '2'", "--lv2 " EG_AMP ",@mix=2"},
        {2, "keeps no state", "--lv2 " EG_AMP ",@state=."},
        {1, "it is not a folder", "--lv2 http://lv2plug.in/plugins/eg-params,@state=in.wav"},
        {1, "No such file", "--lv2 http://lv2plug.in/plugins/eg-params,@state=none"},
        {2, "on or off", "--gain 0,@bypass=maybe"},
        {2, "at=12.5s:gain=-6", "--lv2 " EG_AMP ",at=x:gain=3"},
        {2, "at=12.5s:gain=-6", "--lv2 " EG_AMP ",at=3"},
        {2, "changes gain=", "--gain 0,at=3s:foo=3"},
        {2, "@wet= and @bypass", "--gain 0,foo=3"},
        {2, "cannot be used with --edge", "--gain 0,at=3s:gain=3 --edge wrap"},
        {2, "looks back", "--lv2 " EG_AMP " --edge wrap"},
        {1, "urn:halo:test:feature", "--lv2 urn:halo:test:unknown-feature"},
        {1, "urn:halo:test:null", "--lv2 urn:halo:test:null"},
    };
    sound_noise_file("in.wav", 1, WAVF, RATE, 2, 1000);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        command_refused(rows[r].code, rows[r].expected, "\"$HALO\" render in.wav out.wav %s",
                        rows[r].stage);
}

/* Requires the packages; without them there is little to test. */
static bool is_there(void)
{
    static const char *const needed[][2] = {
        {"lv2", EG_AMP},
        {"lv2", SWH "amp"},
        {"lv2", NODELAY},
        {"ladspa", "amp_1181:amp"},
        {"ladspa", "cmt:delay_1s"},
        {"ladspa", "mean:copy"},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        struct plugin_info *info = plugin_rig_describe(needed[i][0], needed[i][1]);
        all &= info != NULL;
        plugin_info_destroy(info);
    }
    return all;
}

int main(void)
{
    plugin_rig_prepare();
    if (!is_there())
        return plugin_rig_code(EXIT_SUCCESS);
    return suite_run();
}
