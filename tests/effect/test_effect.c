/* halo.lv2 and halo.clap, each in a host of the tests: the samples equal the truth, whatever the
 * blocks. */
#include "allocations.h"
#include "command.h"
#include "effect_host.h"
#include "sound.h"
#include "stream.h"
#include "suite.h"
#include "truth.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    RATE = 48000,
    FLOAT_WAV = SF_FORMAT_WAV | SF_FORMAT_FLOAT,
    FADE = RATE / 20 + 64, /* frames between mask changes, and until a block begins */
    SMOOTHING = RATE / 50 + 1,
    LONGEST = 8192,
};

/* A complete sound, in blocks of one length. */
static struct block run_all(struct effect_host *host, const struct block *in, size_t block)
{
    struct block out = stream_noise(999, in->channels, in->frames);
    for (size_t at = 0; at < in->frames; at += block) {
        const float *from[EFFECT_HOST_CHANNELS_MOST];
        float *to[EFFECT_HOST_CHANNELS_MOST];
        for (size_t c = 0; c < in->channels; c++) {
            from[c] = in->data[c] + at;
            to[c] = out.data[c] + at;
        }
        effect_host_run(host, from, to, in->frames - at < block ? in->frames - at : block);
    }
    return out;
}

static struct effect_host *open_with(const char *name, double rate, const char *mask)
{
    const struct effect_host_request request = {.name = name, .rate = rate};
    struct effect_host *host = effect_host_open(&request);
    effect_host_set_mask(host, mask);
    return host;
}

static void expect_near(float a, float b, float most)
{
    ck_assert_msg(fabsf(a - b) <= most, "%.9g, not %.9g", (double)a, (double)b);
}

static void expect_same(const struct block *a, const struct block *b)
{
    for (size_t c = 0; c < a->channels; c++)
        for (size_t i = 0; i < a->frames; i++)
            ck_assert_msg(a->data[c][i] == b->data[c][i], "channel %zu, frame %zu: %.9g, not %.9g",
                          c, i, (double)b->data[c][i], (double)a->data[c][i]);
}

static void expect_truth(const struct block *out, const struct mask *mask, const struct block *in)
{
    const struct sound sound = {.block = *out, .rate = RATE};
    sound_expect_truth(&sound, mask, in, 0);
}

static void save_taps(const char *name, size_t taps, size_t place, float tap)
{
    struct sound sound = sound_create(FLOAT_WAV, RATE, 1, taps);
    sound.block.data[0][place] = tap;
    sound_save(&sound, name);
}

/* ---- the sound ---- */

static const struct mask_path crossing[] = {{0, 0, 0}, {0, 1, 1}, {1, 0, 2}, {1, 1, 3}};

static void check_truth(const char *name, uint32_t rate, size_t columns, size_t taps)
{
    size_t channels = strcmp(name, "mono") == 0 ? 1 : 2;
    command_clean();
    struct sound saved = sound_noise("mask.wav", taps + columns, FLOAT_WAV, rate, columns, taps);
    struct mask *mask =
        sound_mask(&saved, columns == 4 ? crossing : NULL, columns == 4 ? 4 : 0, channels);
    struct block in = stream_noise(5, channels, 2 * taps + 10000);
    struct effect_host *host = open_with(name, rate, "mask.wav");
    struct block out = run_all(host, &in, 512);
    ck_assert_str_eq(effect_host_log(host), "");
    ck_assert(effect_host_latency(host) == 0);
    expect_truth(&out, mask, &in);
    effect_host_close(host);
}

START_TEST(sound_is_the_truth)
{
    const size_t taps[] = {1, 63, 64, 65, 4800, 96000};
    const uint32_t rates[] = {48000, 44100, 96000};
    for (size_t i = 0; i < sizeof taps / sizeof *taps; i++) {
        check_truth("mono", rates[i % 3], 1, taps[i]);
        check_truth("stereo", rates[(i + 1) % 3], 1, taps[i]);
        check_truth("stereo", rates[(i + 1) % 3], 2, taps[i]);
        check_truth("true-stereo", rates[(i + 2) % 3], 4, taps[i]);
    }
    check_truth("true-stereo", RATE, 2, 4800);
}

/* The GPU, or without one the CPU with a line in the log. No driver is loaded unless it is
 * requested. */
static bool driver_is_loaded(void)
{
    return command_run("grep -q libcuda.so /proc/%d/maps", (int)getpid()).code == 0;
}

static void check_gpu(const char *fault)
{
    setenv("HALO_GPU_FAULT", fault, 1);
    command_clean();
    struct sound saved = sound_noise("mask.wav", 3, FLOAT_WAV, RATE, 4, 20000);
    struct mask *mask = sound_mask(&saved, crossing, 4, 2);
    struct block in = stream_noise(5, 2, 60000);
    struct effect_host *host = open_with("true-stereo", RATE, "mask.wav");
    effect_host_set(host, "processor", 1);
    struct block out = run_all(host, &in, 1024);
    const char *log = effect_host_log(host);
    ck_assert_msg(!*log || strstr(log, "the CPU"), "%s", log);
    printf("%s\n", *log ? log : "the GPU did it");
    expect_truth(&out, mask, &in);
    effect_host_close(host);
    unsetenv("HALO_GPU_FAULT");
}

START_TEST(gpu_makes_the_same)
{
    save_taps("mask.wav", 1000, 100, 0.5f);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block in = stream_noise(5, 1, 1000);
    run_all(host, &in, 100);
    ck_assert(!driver_is_loaded());
    effect_host_close(host);
    check_gpu("");
    check_gpu("300:late");
    check_gpu("300:memory");
}

/* Blocks of 1 to 8192 frames, some of 0, with in and out in the same buffers. */
static struct block run_in_pieces(struct effect_host *host, const struct block *in, uint64_t seed)
{
    struct block out = stream_noise(999, in->channels, in->frames);
    float size;
    for (size_t at = 0, count; at < in->frames; at += count) {
        truth_noise(seed++, &size, 1);
        count = (size_t)lrintf(powf(LONGEST, fabsf(size)));
        count = size > 0.95f ? 0 : count < in->frames - at ? count : in->frames - at;
        float *place[EFFECT_HOST_CHANNELS_MOST];
        for (size_t c = 0; c < in->channels; c++) {
            place[c] = out.data[c] + at;
            memcpy(place[c], in->data[c] + at, count * sizeof(float));
        }
        effect_host_run(host, (const float *const *)place, place, count);
    }
    return out;
}

static void set_all(struct effect_host *host)
{
    effect_host_set(host, "gain", -3);
    effect_host_set(host, "mix", 0.7f);
    effect_host_set(host, "pre_delay", 12.3f);
    effect_host_set(host, "trim", 1);
}

START_TEST(any_blocks_give_the_same_samples)
{
    const size_t taps[] = {65, 500, 30000};
    for (size_t i = 0; i < 3; i++) {
        command_clean();
        sound_noise_file("mask.wav", 7, FLOAT_WAV, RATE, 4, taps[i]);
        struct block in = stream_noise(6, 2, 100000);
        struct effect_host *host = open_with("true-stereo", RATE, "mask.wav");
        set_all(host);
        struct block whole = run_all(host, &in, in.frames);
        effect_host_close(host);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            host = open_with("true-stereo", RATE, "mask.wav");
            set_all(host);
            struct block pieces = run_in_pieces(host, &in, 1000 * seed);
            expect_same(&whole, &pieces);
            effect_host_close(host);
        }
    }
}

/* The mask has another rate, and silence before its first tap for the pre-ringing: the same as
 * halo makes of it. */
START_TEST(masks_are_resampled)
{
    struct sound saved = sound_noise("mask.wav", 8, FLOAT_WAV, 44100, 2, 3000);
    block_silence(&saved.block, 0, 300);
    sound_save(&saved, "mask.wav");
    struct sound in = sound_noise("in.wav", 9, FLOAT_WAV, RATE, 2, 20000);
    command_done("$HALO render in.wav out.wav --mask mask.wav --tail none --format float");
    struct sound wanted = sound_load("out.wav");
    struct effect_host *host = open_with("stereo", RATE, "mask.wav");
    struct block out = run_all(host, &in.block, 100);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < out.frames; i++)
            expect_near(out.data[c][i], wanted.block.data[c][i], 1e-4f);
    effect_host_close(host);
}

START_TEST(sound_goes_on_after_a_long_silence)
{
    struct sound saved = sound_noise("mask.wav", 3, FLOAT_WAV, RATE, 1, 5000);
    struct mask *mask = sound_mask(&saved, NULL, 0, 1);
    struct block in = stream_noise(4, 1, 60000);
    memset(in.data[0] + 10001, 0, 30000 * sizeof(float));
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block out = run_all(host, &in, 333);
    expect_truth(&out, mask, &in);
    for (size_t i = 10001 + 3 * 5000; i < 40001; i++)
        ck_assert(out.data[0][i] == 0);
    effect_host_close(host);
}

/* ---- controls ---- */

/* Mono noise through a mask of one tap, 0.5 after 100 frames, with one control set. */
static void check_control(const char *symbol, float value, float dry, float wet, size_t delay)
{
    command_clean();
    save_taps("mask.wav", 1000, 100, 0.5f);
    struct block in = stream_noise(2, 1, 10000);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    effect_host_set(host, symbol, value);
    struct block out = run_all(host, &in, 480);
    for (size_t i = 0; i < in.frames; i++) {
        float history = i < delay ? 0 : in.data[0][i - delay];
        expect_near(out.data[0][i], dry * in.data[0][i] + wet * history, 1e-6f);
    }
    effect_host_close(host);
}

START_TEST(controls_do_what_they_say)
{
    check_control("gain", 0, 0, 0.5f, 100);
    check_control("gain", 6.0206f, 0, 1, 100);
    check_control("gain", -6.0206f, 0, 0.25f, 100);
    check_control("gain", NAN, 0, 0.5f, 100);
    check_control("mix", 0, 1, 0, 100);
    check_control("mix", 0.25f, 0.75f, 0.125f, 100);
    check_control("pre_delay", 10, 0, 0.5f, 580);
    check_control("pre_delay", 1e9f, 0, 0.5f, 100 + RATE);
    check_control("trim", 2, 0, 0.5f, 4);
    check_control("enabled", 0, 1, 0, 0);
    check_control("processor", 1, 0, 0.5f, 100); /* whatever this machine has */
}

/* A step of a control, and a 100 Hz sine: no sample is far from the one before. */
static void check_smooth(const char *symbol, float value)
{
    command_clean();
    save_taps("mask.wav", 100, 0, 1);
    struct block in = stream_noise(2, 1, 20000);
    for (size_t i = 0; i < in.frames; i++)
        in.data[0][i] = (float)sin(2 * M_PI * 100 * (double)i / RATE);
    struct block first = {1, in.frames / 2, in.data},
                 second = {1, in.frames / 2, (float *[]){in.data[0] + in.frames / 2}};
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block before = run_all(host, &first, 500);
    effect_host_set(host, symbol, value);
    struct block after = run_all(host, &second, 500);
    float last = before.data[0][before.frames - 1];
    for (size_t i = 0; i < after.frames; i++) {
        ck_assert_float_le(fabsf(after.data[0][i] - last), 0.03f);
        last = after.data[0][i];
    }
    effect_host_close(host);
}

START_TEST(controls_are_smooth)
{
    check_smooth("gain", -20);
    check_smooth("gain", 3);
    check_smooth("mix", 0);
    check_smooth("enabled", 0);
    check_smooth("pre_delay", 5);
    check_smooth("trim", 1);
}

START_TEST(disabled_is_bit_exact_dry)
{
    sound_noise_file("mask.wav", 3, FLOAT_WAV, RATE, 2, 2000);
    struct block in = stream_noise(2, 2, 10000);
    struct effect_host *host = open_with("stereo", RATE, "mask.wav");
    struct block out = run_all(host, &in, 1000);
    effect_host_set(host, "enabled", 0);
    out = run_all(host, &in, 1000);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = SMOOTHING; i < in.frames; i++)
            ck_assert(out.data[c][i] == in.data[c][i]);
    effect_host_close(host);
}

START_TEST(without_a_mask_sound_passes)
{
    const char *names[] = {"mono", "stereo", "true-stereo"};
    for (size_t n = 0; n < 3; n++)
        for (size_t bare = 0; bare < 2; bare++) {
            const struct effect_host_request request = {.name = names[n], .bare = bare};
            struct effect_host *host = effect_host_open(&request);
            struct block in = stream_noise(2, effect_host_channels(host), 1000);
            struct block out = run_all(host, &in, 77);
            expect_same(&in, &out);
            effect_host_close(host);
        }
}

/* ---- mask changes while sound runs ---- */

struct change {
    struct sound saved[2];
    struct mask *masks[2];
    struct block in;
    struct block outs[2]; /* all with either mask */
};

static struct change change_begin(size_t taps, size_t other)
{
    struct change change = {.in = stream_noise(1, 1, 100000)};
    command_clean();
    for (size_t m = 0; m < 2; m++) {
        char name[] = "0.wav";
        name[0] = (char)('0' + m);
        change.saved[m] = sound_noise(name, m + 1, FLOAT_WAV, RATE, 1, m ? other : taps);
        change.masks[m] = sound_mask(&change.saved[m], NULL, 0, 1);
        struct effect_host *host = open_with("mono", RATE, name);
        change.outs[m] = run_all(host, &change.in, 64);
        effect_host_close(host);
    }
    return change;
}

static struct block part_of(const struct block *block, size_t from, size_t to, float **data)
{
    data[0] = block->data[0] + from;
    return (struct block){1, to - from, data};
}

/* The share of the second output in `out`; NaN where both outputs are nearly equal. */
static double share_at(const struct change *change, const struct block *out, size_t from, size_t i)
{
    double a = (double)change->outs[0].data[0][from + i];
    double b = (double)change->outs[1].data[0][from + i];
    return fabs(b - a) < 1 ? NAN : ((double)out->data[0][i] - a) / (b - a);
}

/* The work is done while the sound continues. */
static void check_change(size_t taps, size_t other, bool gpu)
{
    struct change change = change_begin(taps, other);
    const struct effect_host_request request = {.name = "mono",
                                                .worker = EFFECT_HOST_WORKS_WHEN_REPORTED};
    struct effect_host *host = effect_host_open(&request);
    float *data;
    enum { BEFORE = 40000, WAITING = 41000 };
    float tolerance = 1e-4f * sqrtf((float)(taps > other ? taps : other));
    effect_host_set(host, "processor", gpu);
    effect_host_set_mask(host, "0.wav");
    effect_host_run(host, (const float *const *)change.in.data, change.in.data, 0);
    ck_assert_uint_eq(effect_host_work(host), 1);
    struct block first = part_of(&change.in, 0, BEFORE, &data), out = run_all(host, &first, 640);
    for (size_t i = 0; i < out.frames; i++)
        expect_near(out.data[0][i], change.outs[0].data[0][i], gpu ? tolerance : 0);
    effect_host_set_mask(host, "1.wav");
    struct block second = part_of(&change.in, BEFORE, WAITING, &data);
    out = run_all(host, &second, 500);
    for (size_t i = 0; i < out.frames; i++) /* nothing is loaded yet */
        expect_near(out.data[0][i], change.outs[0].data[0][BEFORE + i], gpu ? tolerance : 0);
    ck_assert_uint_eq(effect_host_work(host), 1);
    struct block third = part_of(&change.in, WAITING, change.in.frames, &data);
    out = run_all(host, &third, 500);
    double last = 0;
    for (size_t i = 0; i < out.frames; i++) {
        double share = share_at(&change, &out, WAITING, i);
        if (i > FADE + 640)
            expect_near(out.data[0][i], change.outs[1].data[0][WAITING + i], tolerance);
        else if (!isnan(share)) {
            ck_assert_double_ge(share, last - 1e-3);
            ck_assert_double_le(share, fmin(1, last + 0.05) + 1e-3);
            last = share;
        }
    }
    ck_assert_double_ge(last, 0.9);
    ck_assert_uint_eq(effect_host_work(host), 1); /* the old one is freed */
    effect_host_close(host);
}

START_TEST(mask_changes_crossfade_with_history)
{
    check_change(1000, 1000, false);
    check_change(100, 30000, false);
    check_change(30000, 50, false);
    check_change(64, 65, false);
    check_change(1000, 30000, true);
}

START_TEST(the_last_of_many_requests_wins)
{
    struct change change = change_begin(3000, 2000);
    const struct effect_host_request request = {.name = "mono",
                                                .worker = EFFECT_HOST_WORKS_WHEN_REPORTED};
    struct effect_host *host = effect_host_open(&request);
    float *data;
    size_t at = 0;
    for (size_t i = 0; i < 20; i++, at += 1000) {
        struct block part = part_of(&change.in, at, at + 1000, &data);
        effect_host_set_mask(host, i % 2 ? "1.wav" : "0.wav");
        effect_host_set(host, "trim", i % 3 == 1 ? 1 : 0);
        run_all(host, &part, 100);
        if (i % 5 == 0)
            effect_host_work(host);
    }
    effect_host_set(host, "trim", 0);
    for (; at < 70000; at += 1000) {
        struct block part = part_of(&change.in, at, at + 1000, &data);
        run_all(host, &part, 100);
        effect_host_work(host);
    }
    struct block rest = part_of(&change.in, at, change.in.frames, &data);
    struct block out = run_all(host, &rest, 100);
    for (size_t i = 0; i < out.frames; i++)
        expect_near(out.data[0][i], change.outs[1].data[0][at + i], 1e-2f);
    ck_assert(strstr(effect_host_reported(host), "/1.wav") != NULL);
    effect_host_close(host);
}

/* ---- errors ---- */

static void check_refused(const char *name, const char *mask, const char *expected)
{
    struct block in = stream_noise(2, strcmp(name, "mono") == 0 ? 1 : 2, 5000);
    struct effect_host *host = open_with(name, RATE, "good.wav");
    struct block wanted = run_all(host, &in, 500);
    effect_host_close(host);
    host = open_with(name, RATE, "good.wav");
    effect_host_run(host, (const float *const *)in.data, in.data, 0);
    effect_host_set_mask(host, mask);
    struct block out = run_all(host, &in, 500);
    expect_same(&wanted, &out);
    const char *log = effect_host_log(host);
    ck_assert_msg(strstr(log, expected) && command_lines(log) == 1, "%s", log);
    ck_assert(strstr(effect_host_reported(host), "/good.wav") != NULL);
    effect_host_close(host);
}

START_TEST(bad_masks_are_logged_and_the_old_one_is_kept)
{
    save_taps("good.wav", 300, 200, 0.5f);
    sound_noise_file("four.wav", 1, FLOAT_WAV, RATE, 4, 100);
    sound_noise_file("three.wav", 1, FLOAT_WAV, RATE, 3, 100);
    sound_text("bad.txt", "no number\n");
    sound_text("nan.txt", "nan\n");
    check_refused("mono", "missing.wav", "No such file");
    check_refused("mono", "bad.txt", "is not a number");
    check_refused("stereo", "nan.txt", "not a number");
    check_refused("stereo", "four.wav", "true stereo");
    check_refused("true-stereo", "three.wav", "3");
    check_refused("mono", "/", "directory");
}

START_TEST(mono_uses_the_first_channel_and_logs_it)
{
    struct sound saved = sound_noise("mask.wav", 3, FLOAT_WAV, RATE, 2, 500);
    struct sound first = {.block = {1, 500, saved.block.data}, .rate = RATE};
    struct mask *mask = sound_mask(&first, NULL, 0, 1);
    struct block in = stream_noise(2, 1, 5000);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block out = run_all(host, &in, 500);
    expect_truth(&out, mask, &in);
    ck_assert(strstr(effect_host_log(host), "uses the first") != NULL);
    effect_host_close(host);
}

/* ---- sessions ---- */

START_TEST(sessions_restore_the_mask)
{
    sound_noise_file("mask.wav", 3, FLOAT_WAV, RATE, 2, 3000);
    struct block in = stream_noise(2, 2, 20000);
    struct effect_host *host = open_with("stereo", RATE, "mask.wav");
    effect_host_set(host, "trim", 2);
    struct block wanted = run_all(host, &in, 500);
    struct effect_host_state state, again;
    effect_host_save(host, &state);
    ck_assert_str_eq(state.mask, "mask.wav");
    ck_assert(state.portable == effect_host_is_portable && state.trim == 2);
    effect_host_close(host);
    /* Before activation, and in a host without a worker. */
    const struct effect_host_request requests[] = {
        {.name = "stereo"},
        {.name = "stereo", .worker = EFFECT_HOST_WORKS_NEVER},
        {.name = "stereo", .worker = EFFECT_HOST_WORKS_WHEN_REPORTED}};
    for (size_t w = 0; w < 3; w++) {
        host = effect_host_open_idle(&requests[w]);
        ck_assert(effect_host_restore(host, &state));
        effect_host_set(host, "trim", 2);
        effect_host_activate(host);
        struct block out = run_all(host, &in, 500);
        expect_same(&wanted, &out);
        ck_assert(strstr(effect_host_reported(host), "/mask.wav") != NULL);
        ck_assert_uint_eq(effect_host_work(host), 0);
        effect_host_save(host, &again);
        ck_assert_str_eq(again.mask, "mask.wav");
        effect_host_close(host);
    }
}

START_TEST(a_session_keeps_a_mask_that_is_missing)
{
    const struct effect_host_state state = {.mask = "gone.wav", .trim = 1};
    const struct effect_host_request request = {.name = "mono"};
    struct effect_host *host = effect_host_open_idle(&request);
    ck_assert(!effect_host_restore(host, &state));
    ck_assert(strstr(effect_host_log(host), "gone.wav") != NULL);
    effect_host_activate(host);
    struct block in = stream_noise(2, 1, 1000), out = run_all(host, &in, 100);
    expect_same(&in, &out);
    struct effect_host_state again;
    effect_host_save(host, &again);
    ck_assert_str_eq(again.mask, "gone.wav");
    ck_assert(again.trim == 1);
    effect_host_close(host);
}

START_TEST(a_session_restored_later_has_the_history)
{
    sound_noise_file("mask.wav", 3, FLOAT_WAV, RATE, 1, 3000);
    struct block in = stream_noise(2, 1, 20000);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block wanted = run_all(host, &in, 500);
    struct effect_host_state state;
    effect_host_save(host, &state);
    effect_host_close(host);
    host = effect_host_open(&(struct effect_host_request){.name = "mono"});
    float *data;
    struct block first = part_of(&in, 0, 9000, &data), out = run_all(host, &first, 500);
    ck_assert(effect_host_restore(host, &state));
    struct block second = part_of(&in, 9000, in.frames, &data);
    out = run_all(host, &second, 500);
    for (size_t i = FADE; i < out.frames; i++)
        expect_near(out.data[0][i], wanted.data[0][9000 + i], 1e-3f);
    effect_host_close(host);
}

START_TEST(an_empty_session_removes_the_mask)
{
    save_taps("mask.wav", 300, 200, 0.5f);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block in = stream_noise(2, 1, 10000), out = run_all(host, &in, 100);
    ck_assert(effect_host_restore(host, &(struct effect_host_state){0}));
    out = run_all(host, &in, 100);
    for (size_t i = SMOOTHING + 64; i < in.frames; i++)
        ck_assert(out.data[0][i] == in.data[0][i]);
    ck_assert_str_eq(effect_host_reported(host), "");
    effect_host_close(host);
}

START_TEST(activation_clears_the_history)
{
    sound_noise_file("mask.wav", 3, FLOAT_WAV, RATE, 1, 3000);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block in = stream_noise(2, 1, 10000), wanted = run_all(host, &in, 100);
    effect_host_deactivate(host);
    effect_host_activate(host);
    struct block out = run_all(host, &in, 100);
    for (size_t i = 0; i < in.frames; i++)
        expect_near(out.data[0][i], wanted.data[0][i], 1e-4f);
    effect_host_close(host);
}

START_TEST(the_mask_is_reported_when_asked)
{
    save_taps("mask.wav", 300, 200, 0.5f);
    struct effect_host *host = open_with("mono", RATE, "mask.wav");
    struct block in = stream_noise(2, 1, 100);
    run_all(host, &in, 100);
    ck_assert(strstr(effect_host_reported(host), "/mask.wav") != NULL);
    effect_host_get_mask(host);
    run_all(host, &in, 100);
    ck_assert(strstr(effect_host_reported(host), "/mask.wav") != NULL);
    effect_host_close(host);
}

/* ---- behaviour in a host ---- */

START_TEST(run_allocates_nothing)
{
    if (!allocations_are_counted())
        return;
    command_clean();
    sound_noise_file("0.wav", 3, FLOAT_WAV, RATE, 4, 3000);
    sound_noise_file("1.wav", 4, FLOAT_WAV, RATE, 4, 100000);
    const struct effect_host_request request = {.name = "true-stereo",
                                                .worker = EFFECT_HOST_WORKS_WHEN_REPORTED};
    struct effect_host *host = effect_host_open(&request);
    struct block in = stream_noise(2, 2, 4000), out = stream_noise(3, 2, 4000);
    for (size_t i = 0; i < 60; i++) {
        if (i % 10 == 3)
            effect_host_set_mask(host, i % 20 == 3 ? "0.wav" : "1.wav");
        effect_host_set(host, "gain", -(float)(i % 7));
        effect_host_set(host, "pre_delay", (float)(i % 3));
        effect_host_set(host, "enabled", i % 16 ? 1 : 0);
        effect_host_run(host, (const float *const *)in.data, out.data, 1 + 67 * i);
        effect_host_work(host);
    }
    ck_assert_uint_eq(effect_host_allocations(host), 0);
    effect_host_close(host);
}

struct worker {
    struct effect_host *host;
    atomic_bool leave;
};

static void *work_on(void *argument)
{
    struct worker *worker = argument;
    while (!atomic_load(&worker->leave))
        effect_host_work(worker->host);
    return NULL;
}

/* As in a running host: the worker is a thread of its own. */
START_TEST(the_worker_runs_beside_run)
{
    struct change change = change_begin(20000, 3000);
    const struct effect_host_request request = {.name = "mono",
                                                .worker = EFFECT_HOST_WORKS_WHEN_REPORTED};
    struct effect_host *host = effect_host_open(&request);
    struct worker worker = {.host = host};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, work_on, &worker), 0);
    for (size_t i = 0; i < 8; i++) {
        effect_host_set_mask(host, i % 2 ? "1.wav" : "0.wav");
        struct block out = run_all(host, &change.in, 256);
        for (size_t k = 0; k < out.frames; k++)
            ck_assert(isfinite(out.data[0][k]));
    }
    atomic_store(&worker.leave, true);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_str_eq(effect_host_log(host), "");
    effect_host_close(host); /* with work left in the queue */
}

struct thread {
    pthread_t id;
    size_t number;
    bool gpu;
    const struct block *in;
    struct block out;
};

static void *run_instance(void *argument)
{
    struct thread *thread = argument;
    char name[16];
    snprintf(name, sizeof name, "%zu.wav", thread->number % 4);
    for (size_t i = 0; i < 4; i++) {
        struct effect_host *host = open_with("stereo", RATE, name);
        effect_host_set(host, "processor", thread->gpu);
        thread->out = run_all(host, thread->in, 1000);
        effect_host_close(host);
    }
    return NULL;
}

static void check_instances(bool gpu)
{
    struct thread threads[8];
    struct block in = stream_noise(2, 2, 20000);
    command_clean();
    for (size_t i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "%zu.wav", i);
        sound_noise_file(name, i, FLOAT_WAV, RATE, 2, 1000 + 3000 * i);
    }
    for (size_t i = 0; i < 8; i++) {
        threads[i] = (struct thread){.number = i, .gpu = gpu, .in = &in};
        ck_assert_int_eq(pthread_create(&threads[i].id, NULL, run_instance, &threads[i]), 0);
    }
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_join(threads[i].id, NULL), 0);
    for (size_t i = 0; i < 4; i++)
        for (size_t c = 0; c < 2; c++)
            for (size_t k = 0; k < in.frames; k++)
                expect_near(threads[i].out.data[c][k], threads[i + 4].out.data[c][k],
                            gpu ? 1e-2f : 0);
}

START_TEST(many_instances_live_side_by_side)
{
    check_instances(false);
    check_instances(true);
}

START_TEST(the_module_exports_nothing_else)
{
    void *module = dlopen(HALO_MODULE, RTLD_NOW | RTLD_LOCAL);
    ck_assert_ptr_nonnull(module);
    ck_assert_ptr_nonnull(dlsym(module, effect_host_entry));
    ck_assert_ptr_null(dlsym(module, "convolver_create"));
    ck_assert_ptr_null(dlsym(module, "fail"));
    ck_assert_ptr_null(dlsym(module, "effect_run"));
}
