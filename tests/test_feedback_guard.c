/* The guard against feedback, on loops of any spectrum and on sounds that are no feedback.
 *
 * The input is a source and what was played, later, through a path: a wire or a room. The output is
 * the input through a chain (a few taps), at a gain; then come guard and limiter, as in live.c.
 */
#include "command.h"
#include "live/feedback_guard.h"
#include "signal/audio.h"
#include "signal/limiter.h"
#include "sound.h"
#include "suite.h"
#include "truth.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RATE = 48000, FRAMES_MOST = 40 * RATE, TAPS_MOST = 2400, BLOCK_MOST = 4096 };

#define CEILING 0.891251f /* -1 dB */
#define NEVER SIZE_MAX

struct loop {
    const float *source;
    size_t frames;
    size_t block;
    double gain;  /* of the chain, linear */
    size_t delay; /* of the path; 0: there is none */
    double path[TAPS_MOST];
    size_t path_taps;
    double chain[TAPS_MOST];
    size_t chain_taps;
};

struct outcome {
    size_t over;   /* since when blocks have exceeded the ceiling, with pauses of half a second at
                      most */
    size_t found;  /* the frame after the block, or NEVER */
    size_t silent; /* since when the output has been silent, at `found` */
    double tested; /* seconds in which the guard changed the output */
};

static float input[FRAMES_MOST], played[FRAMES_MOST + BLOCK_MOST];

static double convolve(const double *taps, size_t count, const float *samples, size_t at)
{
    double sum = 0;
    for (size_t k = 0; k < count && k <= at; k++)
        sum += taps[k] * (double)samples[at - k];
    return sum;
}

static struct outcome run_loop(const struct loop *loop)
{
    struct feedback_guard *guard;
    struct limiter limiter;
    struct outcome outcome = {.over = NEVER, .found = NEVER};
    size_t last_over = 0;
    static float before[BLOCK_MOST];
    ck_assert_int_eq(feedback_guard_create(1, 1, RATE, CEILING, &guard), STATUS_OK);
    limiter_init(&limiter, 1, RATE, CEILING);
    for (size_t at = 0; at + loop->block <= loop->frames && outcome.found == NEVER;
         at += loop->block) {
        float *in = input + at, *out = played + at;
        for (size_t i = 0; i < loop->block; i++) {
            in[i] = loop->source[at + i];
            if (loop->delay > 0 && at + i >= loop->delay)
                in[i] += (float)convolve(loop->path, loop->path_taps, played, at + i - loop->delay);
            out[i] = (float)(loop->gain * convolve(loop->chain, loop->chain_taps, input, at + i));
        }
        if (audio_peak(out, loop->block) > CEILING) {
            if (outcome.over == NEVER || at > last_over + RATE / 2)
                outcome.over = at;
            last_over = at;
        }
        if (feedback_guard_process(guard, (const float *const *)&out, loop->block, false))
            outcome.found = at + loop->block;
        limiter_process(&limiter, &out, loop->block);
        memcpy(before, out, loop->block * sizeof *before);
        feedback_guard_play(guard, (const float *const *)&in, &out, loop->block);
        if (memcmp(before, out, loop->block * sizeof *before) != 0)
            outcome.tested += (double)loop->block / RATE;
        if (audio_peak(out, loop->block) > 0.01f)
            outcome.silent = at + loop->block;
    }
    feedback_guard_destroy(guard);
    return outcome;
}

/* A wire at a gain in dB, begun by noise of 50 ms. */
static struct loop wire(size_t delay, double gain_db, size_t block)
{
    static float source[FRAMES_MOST];
    memset(source, 0, sizeof source);
    truth_noise(1, source, RATE / 20);
    for (size_t i = 0; i < RATE / 20; i++)
        source[i] *= 0.5f;
    return (struct loop){.source = source,
                         .frames = 20 * RATE,
                         .block = block,
                         .gain = audio_from_db(gain_db),
                         .delay = delay,
                         .path = {1},
                         .path_taps = 1,
                         .chain = {1},
                         .chain_taps = 1};
}

static double response(const double *taps, size_t count, double frequency)
{
    double re = 0, im = 0;
    for (size_t k = 0; k < count; k++) {
        re += taps[k] * cos(2 * M_PI * frequency * (double)k / RATE);
        im -= taps[k] * sin(2 * M_PI * frequency * (double)k / RATE);
    }
    return hypot(re, im);
}

/* Direct sound and a decay of noise, within a loudspeaker's band; at its loudest frequency it
 * returns as loud as it was. */
static void make_room(struct loop *loop, uint64_t seed, double direct, double decay)
{
    double most = 0, low = 0, high = 0;
    truth_noise_taps(seed, loop->path, TAPS_MOST);
    for (size_t k = 0; k < TAPS_MOST; k++) {
        double tap = (k == 0 ? direct : 0) + 0.1 * loop->path[k] * exp(-(double)k / decay);
        low += 0.5 * (tap - low);
        high += 0.04 * (low - high);
        loop->path[k] = low - high;
    }
    loop->path_taps = TAPS_MOST;
    for (double f = 100; f < 12000; f += 10)
        most = fmax(most, response(loop->path, TAPS_MOST, f));
    for (size_t k = 0; k < TAPS_MOST; k++)
        loop->path[k] /= most;
}

/* A recording, again and again. */
static void repeat(float *source, const char *name, float gain)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", getenv("WAV"), name);
    struct sound sound = sound_load(path);
    for (size_t i = 0; i < FRAMES_MOST; i++)
        source[i] = gain * sound.block.data[0][i % sound.block.frames];
    sound_free(&sound);
}

/* Silent after at most that many seconds at the ceiling; `found` comes a quarter of a second later.
 */
static bool expect_found(const char *name, const struct loop *loop, double most)
{
    struct outcome outcome = run_loop(loop);
    ck_assert_msg(outcome.found != NEVER && outcome.over != NEVER, "%s: not found", name);
    double seconds = ((double)outcome.silent - (double)outcome.over) / RATE;
    ck_assert_msg(seconds <= most, "%s: at the ceiling for %.2f s", name, seconds);
    return seconds <= 1;
}

static void expect_nothing(const char *name, const struct loop *loop)
{
    struct outcome outcome = run_loop(loop);
    ck_assert_msg(outcome.found == NEVER, "%s: found at %.2f s", name,
                  (double)outcome.found / RATE);
    ck_assert_msg(outcome.tested <= 0.15 * (double)loop->frames / RATE, "%s: tested for %.2f s",
                  name, outcome.tested);
}

START_TEST(wires_are_muted_within_a_second)
{
    const size_t delays[] = {64, 100, 256, 1024, 2048, 3072, 4096};
    const double gains[] = {0.2, 1, 3, 12};
    const size_t blocks[] = {64, 1024};
    char name[64];
    for (size_t d = 0; d < 7; d++)
        for (size_t g = 0; g < 4; g++)
            for (size_t b = 0; b < 2; b++) {
                if (delays[d] < blocks[b])
                    continue; /* a loop has a block of delay at least */
                struct loop loop = wire(delays[d], gains[g], blocks[b]);
                snprintf(name, sizeof name, "a wire of %zu frames, %+g dB", delays[d], gains[g]);
                expect_found(name, &loop, 1);
            }
    static float noise[FRAMES_MOST];
    truth_noise(2, noise, RATE / 2);
    struct loop far = wire(16384, 1, 4096);
    far.source = noise;
    expect_found("a long wire", &far, 1.5);
}
END_TEST

/* Rooms with and without direct sound, from 2 to 85 ms, with a voice that goes on. */
START_TEST(rooms_are_muted)
{
    static float talk[FRAMES_MOST];
    const double gains[] = {3, 6, 12};
    const size_t delays[] = {96, 480, 4096};
    size_t soon = 0, loops = 0;
    char name[64];
    repeat(talk, "voice.wav", 0.3f);
    for (int kind = 0; kind < 3; kind++)
        for (size_t g = 0; g < 3; g++)
            for (size_t d = 0; d < 3; d++, loops++) {
                struct loop loop = wire(delays[d], gains[g], 64);
                make_room(&loop, 1, kind == 0 ? 1 : kind == 1 ? 0.3 : 0, kind == 0 ? 200 : 600);
                loop.source = talk;
                loop.frames = 8 * RATE;
                snprintf(name, sizeof name, "room %d, %zu frames, %+g dB", kind, delays[d],
                         gains[g]);
                soon += expect_found(name, &loop, 2);
            }
    ck_assert_msg(10 * soon >= 8 * loops, "%zu of %zu within a second", soon, loops);
}
END_TEST

/* A loud source over a loop that runs away, from the first frame on and until `seconds`. */
static struct loop hidden_wire(float *source, double seconds, size_t delay, double gain_db)
{
    struct loop loop = wire(delay, gain_db, 64);
    for (size_t i = (size_t)(seconds * RATE); i < FRAMES_MOST; i++)
        source[i] = 0;
    loop.source = source;
    loop.frames = (size_t)((seconds + 3) * RATE);
    return loop;
}

/* What hides a loop ends: then it sits at the ceiling alone, mostly for a second at most. */
START_TEST(loops_are_muted_when_a_loud_source_ends)
{
    static float source[FRAMES_MOST];
    const char *const names[] = {"voice.wav", "drums.wav", "guitar.wav", "pink-noise.wav"};
    const size_t delays[] = {256, 4096};
    size_t soon = 0;
    for (size_t n = 0; n < 4; n++)
        for (size_t d = 0; d < 2; d++) {
            repeat(source, names[n], 4);
            struct loop loop = hidden_wire(source, 1.5, delays[d], d == 0 ? 3 : 9);
            struct outcome outcome = run_loop(&loop);
            double after = (double)outcome.silent / RATE - 1.5;
            ck_assert_msg(outcome.found != NEVER, "%s: not found", names[n]);
            ck_assert_msg(after <= 2.5, "%s, %zu frames: %.2f s after its end", names[n], delays[d],
                          after);
            soon += after <= 1;
        }
    ck_assert_uint_ge(soon, 6); /* the others wait for the rest after a test */
}
END_TEST

/* The loop's own share of the input tells its gain. */
START_TEST(loops_are_muted_while_a_source_goes_on)
{
    static float source[FRAMES_MOST];
    const size_t delays[] = {256, 480, 4096};
    const double gains[] = {3, 6, 12};
    char name[64];
    for (size_t d = 0; d < 3; d++)
        for (size_t g = 0; g < 3; g++) {
            truth_noise(9, source, FRAMES_MOST);
            for (size_t i = 0; i < FRAMES_MOST; i++)
                source[i] *= 0.35f;
            struct loop loop = hidden_wire(source, 5, delays[d], gains[g]);
            snprintf(name, sizeof name, "noise in a wire of %zu frames, %+g dB", delays[d],
                     gains[g]);
            expect_found(name, &loop, 1.2);
        }
}
END_TEST

/* 20 ms that come back after half a second and a second. */
START_TEST(bursts_far_apart_are_muted)
{
    static float source[FRAMES_MOST];
    const size_t delays[] = {12000, 24000, 48000};
    char name[64];
    for (size_t d = 0; d < 3; d++) {
        truth_noise(11, source, RATE / 50);
        struct loop loop = hidden_wire(source, 0.02, delays[d], 6);
        loop.frames = 20 * RATE;
        snprintf(name, sizeof name, "bursts %zu frames apart", delays[d]);
        expect_found(name, &loop, 2 + 8 * (double)delays[d] / RATE);
    }
}
END_TEST

/* Far above the ceiling, with a wire that would hold, and without one. */
START_TEST(loud_sounds_with_pauses_are_left_alone)
{
    static float source[FRAMES_MOST];
    for (size_t gap = 0; gap < 3; gap++)
        for (size_t held = 0; held < 2; held++)
            for (int kind = 0; kind < 3; kind++) {
                truth_noise(13, source, FRAMES_MOST);
                for (size_t i = 0; i < FRAMES_MOST; i++) {
                    bool pause = i % (12000 + 7000 * gap) > 8000;
                    double bass = sin(2 * M_PI * 40 * (double)i / RATE);
                    double sound = kind == 0 ? source[i] : kind == 1 ? bass : 1;
                    source[i] = pause ? 0 : (float)(4 * sound);
                }
                struct loop loop = wire(held ? 480 : 0, held ? -6 : 0, 64);
                loop.source = source;
                loop.frames = 6 * RATE;
                struct outcome outcome = run_loop(&loop);
                ck_assert_msg(outcome.found == NEVER, "kind %d, gap %zu, held %zu: found at %.2f s",
                              kind, gap, held, (double)outcome.found / RATE);
            }
}
END_TEST

/* The input follows the output here, too, but would not without the source. */
START_TEST(loops_that_hold_are_left_alone)
{
    static float source[FRAMES_MOST];
    const char *const names[] = {"voice.wav", "drums.wav", "pink-noise.wav"};
    for (size_t n = 0; n < 3; n++)
        for (int room = 0; room < 2; room++) {
            struct loop loop = wire(480, -6, 64);
            if (room)
                make_room(&loop, 1, 1, 200);
            repeat(source, names[n], 8);
            loop.source = source;
            loop.frames = 8 * RATE;
            expect_nothing(names[n], &loop);
        }
}
END_TEST

START_TEST(recordings_at_the_ceiling_are_left_alone)
{
    DIR *folder = opendir(getenv("WAV"));
    static float source[FRAMES_MOST];
    ck_assert_ptr_nonnull(folder);
    for (struct dirent *entry; (entry = readdir(folder));)
        for (double gain = 0; strstr(entry->d_name, ".wav") && gain <= 24; gain += 8) {
            struct loop loop = wire(0, gain, 64);
            repeat(source, entry->d_name, 1);
            loop.source = source;
            loop.frames = 12 * RATE;
            expect_nothing(entry->d_name, &loop);
        }
    closedir(folder);
}
END_TEST

static void expect_no_alarm(const char *name, float *source, bool clipped)
{
    for (int room = 0; room < 2; room++) {
        struct loop loop = wire(0, 3, 256);
        for (size_t i = 0; clipped && i < FRAMES_MOST; i++)
            source[i] = fmaxf(-1, fminf(1, source[i]));
        if (room) { /* as the mask */
            make_room(&loop, 1, 1, 200);
            memcpy(loop.chain, loop.path, sizeof loop.chain);
            loop.chain_taps = loop.path_taps;
            loop.gain = 4;
        }
        loop.source = source;
        loop.frames = 6 * RATE;
        struct outcome outcome = run_loop(&loop);
        ck_assert_msg(outcome.found == NEVER && outcome.over != NEVER, "%s: %g", name,
                      (double)outcome.found / RATE);
    }
}

/* What repeats itself exactly, and what a generator makes. */
START_TEST(periodic_sounds_at_the_ceiling_are_left_alone)
{
    static float source[FRAMES_MOST];
    for (size_t i = 0; i < FRAMES_MOST; i++)
        source[i] = (float)sin(2 * M_PI * 1000 * (double)i / RATE);
    expect_no_alarm("a sine", source, false);
    for (size_t i = 0; i < FRAMES_MOST; i++)
        source[i] = 2 * (float)(i % 1024) / 1024 - 1;
    expect_no_alarm("a sawtooth", source, false);
    truth_noise(3, source, 4096);
    for (size_t i = 4096; i < FRAMES_MOST; i++)
        source[i] = source[i - 4096];
    expect_no_alarm("repeated noise", source, false);
    repeat(source, "drums.wav", 8);
    for (size_t i = 24000; i < FRAMES_MOST; i++)
        source[i] = source[i - 24000];
    expect_no_alarm("a drum machine, clipped", source, true);
    repeat(source, "guitar.wav", 12);
    expect_no_alarm("a clipped guitar", source, true);
}
END_TEST

/* NaN finds nothing and breaks nothing; 16 channels, of which one pair is a loop. */
START_TEST(one_channel_of_many)
{
    enum { CHANNELS = 16, BLOCK = 256 };
    static float in[CHANNELS][BLOCK], out[CHANNELS][BLOCK];
    float *ins[CHANNELS], *outs[CHANNELS];
    struct feedback_guard *guard;
    bool found = false;
    ck_assert_int_eq(feedback_guard_create(CHANNELS, CHANNELS, RATE, CEILING, &guard), STATUS_OK);
    for (size_t c = 0; c < CHANNELS; c++) {
        ins[c] = in[c];
        outs[c] = out[c];
    }
    truth_noise(5, out[7], BLOCK);
    for (size_t b = 0; b < 3 * RATE / BLOCK && !found; b++) {
        memcpy(in[2], out[7], sizeof in[2]);
        for (size_t i = 0; i < BLOCK; i++)
            out[7][i] = fmaxf(-CEILING, fminf(CEILING, 1.2f * in[2][i]));
        out[7][0] = 1.2f * in[2][0] + 1e-3f;
        if (b == 20)
            in[3][5] = NAN;
        for (size_t c = 0; c < CHANNELS; c++)
            if (c != 7)
                memset(out[c], 0, sizeof out[c]);
        out[7][BLOCK - 1] = CEILING * 1.1f;
        found = feedback_guard_process(guard, (const float *const *)outs, BLOCK, false);
        out[7][BLOCK - 1] = CEILING;
        in[3][5] = 0;
        feedback_guard_play(guard, (const float *const *)ins, outs, BLOCK);
    }
    ck_assert(found);
    feedback_guard_destroy(guard);
    feedback_guard_destroy(NULL);
}
END_TEST

int main(void)
{
    const TTest *const tests[] = {wires_are_muted_within_a_second,
                                  rooms_are_muted,
                                  loops_are_muted_when_a_loud_source_ends,
                                  loops_are_muted_while_a_source_goes_on,
                                  bursts_far_apart_are_muted,
                                  loud_sounds_with_pauses_are_left_alone,
                                  loops_that_hold_are_left_alone,
                                  recordings_at_the_ceiling_are_left_alone,
                                  periodic_sounds_at_the_ceiling_are_left_alone,
                                  one_channel_of_many};
    command_folder(); /* names the folder of the recordings */
    return suite_run("feedback_guard", tests, sizeof tests / sizeof *tests);
}
