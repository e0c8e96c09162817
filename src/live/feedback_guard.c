#include "live/feedback_guard.h"

#include "base/monotonic.h"
#include "base/realtime.h"
#include "live/feedback_detector.h"
#include "signal/audio.h"
#include "signal/delay_finder.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOWS_A_SECOND = 12, /* at least, without overlap */
    MEMORY = 24,           /* half windows kept: a second */
    AT_CEILING = 4,        /* of them, for a suspicion, if the input repeats the output */
    SITS = 10,             /* the same, in a row and without */
    NOISE_HALVES = 12,     /* half windows of noise */
    NOISE_SHORT = 6,       /* the same, where the input does not repeat the output */
    LEAST_HALVES = 3,      /* before it is looked for */
    BEFORE = 3,            /* half windows before the output is silent */
    REST_FIRST = 24,       /* half windows after a test without feedback: a second */
    REST_MOST = 32 * REST_FIRST,
    FORGIVEN = 8 * 48, /* half windows without suspicion, until the first rest again */
};

/* In seconds. */
static const double DELAY_MOST = 1.2;
static const double DUCK_FADE = 0.002, DUCK_MARGIN = 0.005, DUCK_WINDOW = 0.03, DUCK_HOLD = 0.5;
static const double REPEATED = 0.15; /* likeness of input and past output, for a suspicion */
static const double FOUND = 7;       /* sigmas of the noise in the input */
#define NOISE 0.125f                 /* over the ceiling */
#define COLLAPSED 0.2                /* of the input's power, at most, while the output is silent */
#define UNCERTAIN 1.2                /* powers that are compared may differ by chance, at most */
#define SHARE_MOST 0.5               /* of them: more may be a sound that decays */
#define SOUNDING 1e-5                /* of the ceiling's power, at least, in half a window */
#define OF_ODD 0.6f                  /* weight of odd channels, so that none cancel */
#define RECENT 0.75f                 /* what a window counts after the next one */

enum guard_test { TEST_NONE, TEST_NOISE, TEST_DUCK };

/* The output is silent for a moment. Frames count from its begin. */
struct duck {
    size_t at, delay, window, margin, hold;
    double before; /* energy of the input, until the silence returns */
    double after;  /* and in a window afterwards */
    size_t before_frames, after_frames;
    double least;         /* mean power of half a window before */
    double share;         /* of it that may remain, if the loop runs away with a source */
    bool sounds, remains; /* more than if it does without one, and with one */
    float gain, step;     /* of the output, and its change in a frame */
};

struct feedback_guard {
    size_t inputs, outputs, window, blocks;
    float ceiling;
    struct feedback_detector *tones;
    struct delay_finder *passive, *active; /* the output in the input, and the noise */
    float *in, *out, *noise;               /* windows, of the channels' sum */
    size_t filled;                         /* frames of the three */
    size_t sits;                           /* half windows at the ceiling, in a row */
    uint64_t random;
    bool over;           /* a sample of this half window */
    bool overs[MEMORY];  /* of the last ones, newest first */
    bool tonal, repeats; /* suspicions */
    enum guard_test test;
    bool found, is_tone;
    size_t halves;       /* of the test */
    size_t noise_halves; /* of them with noise, at most */
    struct duck duck;
    size_t rest, rest_next, calm;
    double likeness;           /* of input and past output */
    double tested_at;          /* the same, when the last test began */
    double powers[BEFORE];     /* of the input, in the last half windows, newest first */
    double unlimited, limited; /* energy of the output before and after the limiter, faded */
    double suspected;          /* Hz */
    _Atomic double frequency;
};

void feedback_guard_destroy(struct feedback_guard *guard)
{
    if (!guard)
        return;
    feedback_detector_destroy(guard->tones);
    delay_finder_destroy(guard->passive);
    delay_finder_destroy(guard->active);
    free(guard->in);
    free(guard->out);
    free(guard->noise);
    free(guard);
}

static enum status create_parts(struct feedback_guard *guard, uint32_t rate)
{
    if (!(guard->in = audio_alloc(guard->window)) || !(guard->out = audio_alloc(guard->window)) ||
        !(guard->noise = audio_alloc(guard->window)))
        return fail_memory("a feedback guard");
    TRY(feedback_detector_create(guard->outputs, rate, guard->ceiling, &guard->tones));
    TRY(delay_finder_create(guard->window, guard->blocks, RECENT, &guard->passive));
    return delay_finder_create(guard->window, guard->blocks, 1, &guard->active);
}

enum status feedback_guard_create(size_t inputs, size_t outputs, uint32_t rate, float ceiling,
                                  struct feedback_guard **result)
{
    struct feedback_guard *guard = calloc(1, sizeof *guard);
    if (!guard)
        return fail_memory("a feedback guard");
    *guard = (struct feedback_guard){.inputs = inputs,
                                     .outputs = outputs,
                                     .ceiling = ceiling,
                                     .window = 256,
                                     .random = (uint64_t)monotonic_ns() | 1,
                                     .rest_next = REST_FIRST};
    while (guard->window < rate / WINDOWS_A_SECOND)
        guard->window *= 2;
    guard->duck = (struct duck){.window = (size_t)(DUCK_WINDOW * (double)rate),
                                .margin = (size_t)(DUCK_MARGIN * (double)rate),
                                .hold = (size_t)(DUCK_HOLD * (double)rate),
                                .gain = 1,
                                .step = (float)(1 / (DUCK_FADE * (double)rate))};
    guard->blocks = 1 + (size_t)(2 * DELAY_MOST * (double)rate / (double)guard->window);
    enum status status = create_parts(guard, rate);
    if (status == STATUS_OK)
        *result = guard;
    else
        feedback_guard_destroy(guard);
    return status;
}

HALO_REALTIME static void start_again(struct feedback_guard *guard)
{
    memset(guard->overs, 0, sizeof guard->overs);
    guard->over = guard->tonal = guard->repeats = guard->found = false;
    guard->likeness = 0;
    guard->test = TEST_NONE;
    delay_finder_reset(guard->passive);
    feedback_detector_reset(guard->tones);
}

/* ---- before the limiter ---- */

HALO_REALTIME static double energy(const float *samples, size_t frames)
{
    double sum = 0;
    for (size_t i = 0; i < frames; i++)
        sum += (double)samples[i] * (double)samples[i];
    return sum;
}

HALO_REALTIME bool feedback_guard_process(struct feedback_guard *guard, const float *const *out,
                                          size_t frames, bool fades_in)
{
    enum feedback_kind kind = feedback_detector_process(guard->tones, out, frames, fades_in);
    for (size_t c = 0; c < guard->outputs; c++) {
        guard->over = guard->over || audio_peak(out[c], frames) > guard->ceiling;
        guard->unlimited += energy(out[c], frames);
    }
    if (kind != FEEDBACK_NONE)
        guard->suspected = feedback_detector_frequency(guard->tones);
    guard->tonal = guard->tonal || kind == FEEDBACK_AT_CEILING;
    if (kind != FEEDBACK_GROWING && !guard->found)
        return false;
    bool is_tone = kind == FEEDBACK_GROWING || guard->is_tone;
    atomic_store(&guard->frequency, is_tone ? guard->suspected : 0);
    start_again(guard);
    return true;
}

/* ---- after the limiter ---- */

HALO_REALTIME static size_t count_overs(const struct feedback_guard *guard)
{
    size_t count = 0;
    for (size_t i = 0; i < MEMORY; i++)
        count += guard->overs[i];
    return count;
}

HALO_REALTIME static void begin_test(struct feedback_guard *guard)
{
    guard->test = TEST_NOISE;
    guard->is_tone = guard->tonal;
    guard->tested_at = guard->likeness;
    guard->halves = 0;
    guard->noise_halves = guard->tonal || guard->repeats ? NOISE_HALVES : NOISE_SHORT;
    delay_finder_reset(guard->active);
    memset(guard->noise, 0, guard->window * sizeof *guard->noise);
}

HALO_REALTIME static void end_test(struct feedback_guard *guard)
{
    guard->test = TEST_NONE;
    guard->tonal = guard->repeats = false;
    guard->likeness = 0;
    guard->rest = guard->rest_next;
    guard->rest_next = guard->rest_next < REST_MOST ? 2 * guard->rest_next : REST_MOST;
    delay_finder_reset(guard->passive);
}

/* Silence says nothing: bursts far apart are one after the other. */
HALO_REALTIME static bool remember_half(struct feedback_guard *guard)
{
    size_t half = guard->window / 2;
    memmove(guard->powers + 1, guard->powers, (BEFORE - 1) * sizeof *guard->powers);
    guard->powers[0] = energy(guard->in + half, half) / (double)half;
    guard->sits = guard->over ? guard->sits + 1 : 0;
    bool finite = isfinite(guard->unlimited) && isfinite(guard->limited);
    guard->unlimited = finite ? guard->unlimited * RECENT : 0;
    guard->limited = finite ? guard->limited * RECENT : 0;
    bool sounds = guard->powers[0] > SOUNDING * (double)(guard->ceiling * guard->ceiling);
    if (sounds || guard->over) {
        memmove(guard->overs + 1, guard->overs, (MEMORY - 1) * sizeof *guard->overs);
        guard->overs[0] = guard->over;
    }
    return sounds;
}

HALO_REALTIME static void suspect(struct feedback_guard *guard, size_t overs)
{
    bool suspicious = guard->tonal || guard->sits >= SITS ||
                      (guard->repeats && guard->over && overs >= AT_CEILING);
    guard->rest -= guard->rest > 0;
    guard->calm = suspicious ? 0 : guard->calm + 1;
    if (guard->calm == FORGIVEN)
        guard->rest_next = REST_FIRST;
    double clearer = guard->tested_at + fmin(guard->tested_at / 2, (1 - guard->tested_at) / 3);
    /* What hid the loop may have ended. */
    if (suspicious && (guard->rest == 0 || (guard->repeats && guard->likeness > clearer)))
        begin_test(guard);
    guard->tonal = false;
}

HALO_REALTIME static void end_half_window(struct feedback_guard *guard)
{
    bool sounds = remember_half(guard);
    size_t overs = count_overs(guard);
    if (guard->test == TEST_NOISE) {
        delay_finder_write(guard->active, guard->noise, guard->in);
        guard->halves++;
    } else if (guard->test == TEST_NONE) {
        delay_finder_write(guard->passive, guard->out, overs > 0 && sounds ? guard->in : NULL);
        suspect(guard, overs);
    }
    guard->over = false;
}

HALO_REALTIME static void begin_duck(struct feedback_guard *guard, size_t delay)
{
    struct duck *duck = &guard->duck;
    guard->test = TEST_DUCK;
    duck->at = 0;
    duck->delay = delay;
    duck->before_frames = duck->window < guard->filled ? duck->window : guard->filled;
    duck->before = energy(guard->in + guard->filled - duck->before_frames, duck->before_frames);
    duck->after = 0;
    duck->after_frames = 0;
    duck->least = guard->powers[0];
    for (size_t i = 1; i < BEFORE; i++)
        duck->least = fmin(duck->least, guard->powers[i]);
    double passed = guard->unlimited > 0 ? guard->limited / guard->unlimited : 1;
    duck->share = fmin(SHARE_MOST, (1 - passed) / UNCERTAIN);
    duck->sounds = duck->remains = false;
}

/* Where a loop runs away, mostly nothing else is at the input, and nothing comes back by itself, as
 * it does after a pause in speech. With a source beside it the power that the loop had returned is
 * missing: times what the limiter takes away, it is the loop's gain, and that is above 1. */
HALO_REALTIME static void judge_duck(struct feedback_guard *guard)
{
    struct duck *duck = &guard->duck;
    double before = duck->before / (double)duck->before_frames;
    double after = duck->after / (double)duck->after_frames;
    duck->sounds = duck->sounds || after > COLLAPSED * before;
    duck->remains = duck->remains || after > duck->share * fmin(before, duck->least);
    if (duck->sounds && duck->remains)
        end_test(guard);
    else if (duck->at >= duck->delay + (duck->delay > duck->hold ? duck->delay : duck->hold))
        guard->found = true;
    duck->after = 0;
    duck->after_frames = 0;
}

HALO_REALTIME static void measure_duck(struct feedback_guard *guard, float in)
{
    struct duck *duck = &guard->duck;
    double power = (double)in * (double)in;
    if (duck->at < duck->delay) {
        duck->before += power;
        duck->before_frames++;
    } else if (duck->at >= duck->delay + duck->margin) {
        duck->after += power;
        duck->after_frames++;
    }
    duck->at++;
    if (duck->after_frames == duck->window)
        judge_duck(guard);
}

/* `in`: the sum of the channels. */
HALO_REALTIME static void run_duck(struct feedback_guard *guard, const float *in, float *const *out,
                                   size_t from, size_t frames)
{
    struct duck *duck = &guard->duck;
    for (size_t i = 0; i < frames; i++) {
        bool down = guard->test == TEST_DUCK;
        if (down && !guard->found)
            measure_duck(guard, in[i]);
        duck->gain = down ? fmaxf(0, duck->gain - duck->step) : fminf(1, duck->gain + duck->step);
        for (size_t c = 0; c < guard->outputs; c++)
            out[c][from + i] *= duck->gain;
    }
}

/* All blocks within half a window. */
HALO_REALTIME static void search(struct feedback_guard *guard, size_t frames)
{
    struct delay_found best;
    size_t count = 1 + 2 * frames * guard->blocks / guard->window;
    if (guard->test == TEST_DUCK)
        return;
    if (guard->test == TEST_NONE) {
        if (delay_finder_search(guard->passive, 1, count, &best))
            guard->likeness = best.likeness;
        guard->repeats = guard->likeness >= REPEATED;
        return;
    }
    if (!delay_finder_search(guard->active, 0, count, &best) || guard->halves < LEAST_HALVES)
        return;
    if (best.sigmas >= FOUND && guard->is_tone)
        guard->found = true;
    else if (best.sigmas >= FOUND)
        begin_duck(guard, best.frames);
    else if (guard->halves >= guard->noise_halves + guard->blocks) {
        end_test(guard);
        /* There is no path that a source could hide. */
        guard->tested_at = guard->noise_halves == NOISE_HALVES ? 1 : guard->tested_at;
    }
}

/* Of the same sign in all channels. What was played stays below the ceiling. */
HALO_REALTIME static void add_noise(struct feedback_guard *guard, float *const *out, size_t from,
                                    size_t frames)
{
    float *noise = guard->noise + guard->filled;
    for (size_t i = 0; i < frames; i++) {
        guard->random ^= guard->random << 13;
        guard->random ^= guard->random >> 7;
        guard->random ^= guard->random << 17;
        noise[i] = guard->random >> 63 ? NOISE * guard->ceiling : -NOISE * guard->ceiling;
    }
    for (size_t c = 0; c < guard->outputs; c++)
        for (size_t i = 0; i < frames; i++)
            out[c][from + i] = (1 - NOISE) * out[c][from + i] + noise[i];
}

HALO_REALTIME static void sum_channels(const float *const *planar, size_t channels, size_t from,
                                       float *sum, size_t frames)
{
    memset(sum, 0, frames * sizeof *sum);
    for (size_t c = 0; c < channels; c++)
        for (size_t i = 0; i < frames; i++)
            sum[i] += planar[c][from + i] * (c % 2 ? OF_ODD : 1);
}

HALO_REALTIME void feedback_guard_play(struct feedback_guard *guard, const float *const *in,
                                       float *const *out, size_t frames)
{
    size_t half = guard->window / 2;
    for (size_t at = 0, part; at < frames; at += part) {
        size_t left = guard->window - guard->filled;
        part = left < frames - at ? left : frames - at;
        for (size_t c = 0; c < guard->outputs; c++)
            guard->limited += energy(out[c] + at, part);
        if (guard->test == TEST_NOISE && guard->halves < guard->noise_halves)
            add_noise(guard, out, at, part);
        else
            memset(guard->noise + guard->filled, 0, part * sizeof *guard->noise);
        sum_channels(in, guard->inputs, at, guard->in + guard->filled, part);
        if (guard->test == TEST_DUCK || guard->duck.gain < 1)
            run_duck(guard, guard->in + guard->filled, out, at, part);
        sum_channels((const float *const *)out, guard->outputs, at, guard->out + guard->filled,
                     part);
        guard->filled += part;
        if (guard->filled == guard->window) {
            end_half_window(guard);
            memcpy(guard->in, guard->in + half, half * sizeof *guard->in);
            memcpy(guard->out, guard->out + half, half * sizeof *guard->out);
            memcpy(guard->noise, guard->noise + half, half * sizeof *guard->noise);
            guard->filled = half;
        }
        search(guard, part);
    }
}

HALO_REALTIME double feedback_guard_frequency(const struct feedback_guard *guard)
{
    return atomic_load(&guard->frequency);
}
