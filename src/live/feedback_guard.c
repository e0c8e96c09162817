#include "live/feedback_guard.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "live/feedback_detector.h"
#include "signal/audio.h"
#include "signal/delay_finder.h"
#include "signal/fft.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct output_follower;

struct followed {
    double played; /* share of the input's energy that the played sound does not explain, 0 to 1 */
    double unlimited; /* share that the sound before fade and limiter does not explain */
    double windows;   /* number of windows, weighted, in the result */
};

/* ---- whether the input follows the output ---- */

#define FORGET 0.8f /* factor for the weight of older windows, per window */
/* If the unexplained share falls by this factor, a source has ended; old windows are dropped. */
#define ENDED 0.33
#define MUCH 0.05
#define SILENT 1e-9 /* energy below which a window is ignored */

/* Sums over windows, for each frequency, of the input and another sound. */
struct relation {
    float *product; /* input times the conjugate of the other sound */
    float *power;   /* power of the other sound */
};

struct output_follower {
    size_t window, bins;
    struct fft *fft;
    float *hann, *windowed, *input, *other; /* the Hann window, a windowed sound, two spectra */
    struct relation played, unlimited;
    double last;   /* share that the played sound did not explain in the last window */
    double energy; /* weighted number of windows; each window is scaled to energy 1 */
};

static void output_follower_destroy(struct output_follower *follower)
{
    if (!follower)
        return;
    free(follower->hann);
    free(follower->windowed);
    free(follower->input);
    free(follower->other);
    free(follower->played.product);
    free(follower->played.power);
    free(follower->unlimited.product);
    free(follower->unlimited.power);
    fft_destroy(follower->fft);
    free(follower);
}

static bool alloc_relation(struct relation *relation, size_t window)
{
    return (relation->product = audio_alloc(fft_spectrum_floats(window))) &&
           (relation->power = audio_alloc(window / 2 + 1));
}

HALO_REALTIME static void clear(struct relation *relation, size_t bins)
{
    memset(relation->product, 0, 2 * bins * sizeof *relation->product);
    memset(relation->power, 0, bins * sizeof *relation->power);
}

HALO_REALTIME static void output_follower_reset(struct output_follower *follower)
{
    clear(&follower->played, follower->bins);
    clear(&follower->unlimited, follower->bins);
    follower->energy = 0;
}

/* `window`: frames, a power of two. */
static enum status output_follower_create(size_t window, struct output_follower **result)
{
    struct output_follower *follower = calloc(1, sizeof *follower);
    if (!follower)
        return fail_memory("a feedback guard");
    *follower = (struct output_follower){.window = window, .bins = window / 2 + 1};
    bool done =
        (follower->hann = audio_alloc(window)) && (follower->windowed = audio_alloc(window)) &&
        (follower->input = audio_alloc(fft_spectrum_floats(window))) &&
        (follower->other = audio_alloc(fft_spectrum_floats(window))) &&
        alloc_relation(&follower->played, window) && alloc_relation(&follower->unlimited, window);
    enum status status = done ? STATUS_OK : fail_memory("a feedback guard");
    if (status != STATUS_OK || (status = fft_create(window, &follower->fft))) {
        output_follower_destroy(follower);
        return status;
    }
    for (size_t i = 0; i < window; i++)
        follower->hann[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)window));
    output_follower_reset(follower);
    *result = follower;
    return STATUS_OK;
}

HALO_REALTIME static void transform(struct output_follower *follower, const float *samples,
                                    float *spectrum)
{
    audio_multiply(samples, follower->hann, follower->windowed, follower->window);
    fft_forward(follower->fft, follower->windowed, spectrum);
}

/* `weight`: weight of this window. */
SIMD_CLONES
HALO_REALTIME static void add(float *restrict product, float *restrict power,
                              const float *restrict in, const float *restrict other, float weight,
                              size_t bins)
{
    for (size_t k = 0; k < bins; k++) {
        float re = in[2 * k], im = in[2 * k + 1], ore = other[2 * k], oim = other[2 * k + 1];
        product[2 * k] = product[2 * k] * FORGET + weight * (re * ore + im * oim);
        product[2 * k + 1] = product[2 * k + 1] * FORGET + weight * (im * ore - re * oim);
        power[k] = power[k] * FORGET + weight * (ore * ore + oim * oim);
    }
}

HALO_REALTIME static double unexplained(const struct output_follower *follower,
                                        const struct relation *relation)
{
    double explained = 0;
    for (size_t k = 0; k < follower->bins; k++) {
        double re = (double)relation->product[2 * k], im = (double)relation->product[2 * k + 1];
        if (relation->power[k] > 1e-15f)
            explained += (re * re + im * im) / (double)relation->power[k];
    }
    return 1 - explained / follower->energy;
}

HALO_REALTIME static void relate(struct output_follower *follower, struct relation *relation,
                                 double weight)
{
    add(relation->product, relation->power, follower->input, follower->other, (float)weight,
        follower->bins);
}

/* The share of a window's energy that cannot be predicted from earlier windows. */
HALO_REALTIME static double unpredicted(const struct output_follower *follower,
                                        const struct relation *relation, double energy)
{
    double sum = 0;
    for (size_t k = 0; k < follower->bins; k++) {
        const float *other = follower->other + 2 * k, *product = relation->product + 2 * k;
        float scale = relation->power[k] > 1e-15f ? 1 / relation->power[k] : 0;
        double re = (double)(product[0] * other[0] - product[1] * other[1]),
               im = (double)(product[0] * other[1] + product[1] * other[0]);
        re = (double)follower->input[2 * k] - re * (double)scale;
        im = (double)follower->input[2 * k + 1] - im * (double)scale;
        sum += re * re + im * im;
    }
    return sum / energy;
}

/* Takes the next window, which begins half a window later. Costs three FFTs. */
HALO_REALTIME static struct followed output_follower_write(struct output_follower *follower,
                                                           const float *input, const float *played,
                                                           const float *unlimited)
{
    double energy = 0;
    transform(follower, input, follower->input);
    for (size_t i = 0; i < 2 * follower->bins; i++)
        energy += (double)follower->input[i] * (double)follower->input[i];
    if (!(energy > SILENT)) /* also true for NaN */
        return (struct followed){1, 1, 0};
    transform(follower, played, follower->other);
    if (follower->energy > 0 && follower->last > MUCH &&
        unpredicted(follower, &follower->played, energy) < ENDED * follower->last)
        output_follower_reset(follower);
    relate(follower, &follower->played, 1 / energy);
    transform(follower, unlimited, follower->other);
    relate(follower, &follower->unlimited, 1 / energy);
    follower->energy = follower->energy * (double)FORGET + 1;
    follower->last = unexplained(follower, &follower->played);
    return (struct followed){follower->last, unexplained(follower, &follower->unlimited),
                             follower->energy};
}

enum {
    WINDOWS_A_SECOND = 12, /* windows per second, without overlap; at least */
    ACTIVE = 24,  /* half windows for which a sample above the ceiling counts: about a second */
    IN_A_ROW = 3, /* half windows that must agree, one after the other */
    HELD = 24,    /* half windows that the output must be at the ceiling */
    HELD_GAP = 4, /* half windows without a sample above the ceiling that may lie between */
    BLOCK_MOST = 1 << 13,       /* frames */
    TONE_WINDOWS_A_SECOND = 94, /* windows per second to measure a tone, without overlap */
    TONE_OVERLAP = 4,
};

/* Seconds. */
static const double DELAY_LEAST = 0.0006, DELAY_MOST = 1.2, DELAY_UNKNOWN = 0.12, HISTORY = 2,
                    JUDGED = 0.02, DIES = 0.14, PAUSE_FIRST = 2, PAUSE_MOST = 64, TRY = 3,
                    FORGIVEN = 60, REST_FIRST = 30, REST_MOST = 600, SETTLED = 0.3,
                    ARRIVAL_LEAST = 0.012;
#define LIKENESS 0.1    /* likeness of the input and the past output, at least */
#define UNEXPLAINED 0.1 /* share of the input that the played sound may leave unexplained */
#define CLOSER 1.3    /* factor: played sound must explain the input better than unlimited sound */
#define ROUNDING 1e-5 /* least share of the input that counts as unexplained */
#define WINDOWS 2.5   /* least number of windows, weighted */
#define GOES_ON 0.5   /* power of the input over that before a mute, above which there is no loop */
#define SOUNDING 1e-5 /* power of the input in half a window, relative to the ceiling's, at least */
#define OF_ODD 0.6f   /* weight of odd channels in the sum, so that equal channels do not cancel */
#define RECENT 0.75f  /* factor for the weight of older windows, per window */
#define EVEN_LEAST 0.7 /* bounds for the times of the two halves of a tone's rise, as a ratio */
#define EVEN_MOST 1.4

enum guard_state {
    GUARD_LISTENS,
    GUARD_MUTES,
    GUARD_TRIES,
};

struct feedback_guard {
    size_t inputs, outputs, rate, window, blocks;
    float full, ceiling; /* full and present ceiling of the limiter */
    struct feedback_detector *tones;
    struct delay_finder *finder;
    struct output_follower *follower;
    /* Sums of channels, the last `length` frames, stored twice: so every window is contiguous. */
    float *in, *unlimited, *played;
    size_t length;
    size_t frames;        /* frames played so far */
    size_t filled;        /* frames of the current half window so far */
    size_t last_over;     /* last frame above the ceiling, from 1; 0: none */
    size_t lag, in_a_row; /* loop's delay, frames, 0: unknown; half windows in a row that agreed */
    size_t held;          /* half windows in a row with a sample above the ceiling */
    float *cosine, *sine; /* Hann window times a tone's cosine and sine */
    /* Level of a tone in the input over time. The last `levels_left` are still to be measured. */
    float *levels;
    size_t levels_left, levels_end;
    double frequency_of_tone;
    size_t tone_window;
    bool tonal, follows; /* a tone was found; a half window is to be examined by `follower` */
    enum guard_state state;
    size_t since; /* frames since the state was entered */
    size_t pause; /* frames of the next mute */
    /* frames without detection after a mute without a loop: left now, and after the next mute */
    size_t rest, rest_next;
    size_t delay;       /* frames: delay of the loop that the mute tests */
    double before;      /* mean power of the input before the mute */
    double before_full; /* mean power of the input before the mute that began at the full ceiling */
    _Atomic double frequency;
};

void feedback_guard_destroy(struct feedback_guard *guard)
{
    if (!guard)
        return;
    feedback_detector_destroy(guard->tones);
    delay_finder_destroy(guard->finder);
    output_follower_destroy(guard->follower);
    free(guard->in);
    free(guard->unlimited);
    free(guard->played);
    free(guard->cosine);
    free(guard->sine);
    free(guard->levels);
    free(guard);
}

HALO_REALTIME static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

HALO_REALTIME static size_t frames_of(const struct feedback_guard *guard, double seconds)
{
    return (size_t)(seconds * (double)guard->rate);
}

HALO_REALTIME static size_t count_levels(const struct feedback_guard *guard)
{
    return (frames_of(guard, HISTORY) - guard->tone_window) / (guard->tone_window / TONE_OVERLAP);
}

static enum status create_parts(struct feedback_guard *guard)
{
    if (!(guard->in = audio_alloc(2 * guard->length)) ||
        !(guard->unlimited = audio_alloc(2 * guard->length)) ||
        !(guard->played = audio_alloc(2 * guard->length)) ||
        !(guard->cosine = audio_alloc(guard->tone_window)) ||
        !(guard->sine = audio_alloc(guard->tone_window)) ||
        !(guard->levels = audio_alloc(count_levels(guard))))
        return fail_memory("a feedback guard");
    TRY(feedback_detector_create(guard->outputs, (uint32_t)guard->rate, guard->full,
                                 &guard->tones));
    TRY(output_follower_create(guard->window, &guard->follower));
    return delay_finder_create(guard->window, guard->blocks, RECENT, &guard->finder);
}

enum status feedback_guard_create(size_t inputs, size_t outputs, uint32_t rate, float ceiling,
                                  struct feedback_guard **result)
{
    struct feedback_guard *guard = calloc(1, sizeof *guard);
    if (!guard)
        return fail_memory("a feedback guard");
    *guard = (struct feedback_guard){.inputs = inputs,
                                     .outputs = outputs,
                                     .rate = rate,
                                     .full = ceiling,
                                     .ceiling = ceiling,
                                     .window = 256,
                                     .tone_window = TONE_OVERLAP};
    while (guard->window < rate / WINDOWS_A_SECOND)
        guard->window *= 2;
    while (guard->tone_window < rate / TONE_WINDOWS_A_SECOND)
        guard->tone_window += TONE_OVERLAP;
    guard->length = frames_of(guard, HISTORY) + 2 * guard->window + BLOCK_MOST;
    guard->blocks = 1 + (size_t)(2 * DELAY_MOST * (double)rate / (double)guard->window);
    guard->pause = frames_of(guard, PAUSE_FIRST);
    guard->rest_next = frames_of(guard, REST_FIRST);
    enum status status = create_parts(guard);
    if (status == STATUS_OK)
        *result = guard;
    else
        feedback_guard_destroy(guard);
    return status;
}

HALO_REALTIME static void enter(struct feedback_guard *guard, enum guard_state state, float ceiling)
{
    guard->state = state;
    guard->since = 0;
    guard->ceiling = ceiling;
    guard->tonal = guard->follows = false;
    guard->last_over = guard->lag = guard->in_a_row = guard->held = guard->levels_left = 0;
    delay_finder_reset(guard->finder);
    feedback_detector_reset(guard->tones, ceiling);
}

HALO_REALTIME void feedback_guard_restart(struct feedback_guard *guard)
{
    enter(guard, GUARD_LISTENS, guard->full);
}

HALO_REALTIME void feedback_guard_set_ceiling(struct feedback_guard *guard, float ceiling)
{
    guard->full = ceiling;
    if (guard->state == GUARD_MUTES)
        guard->ceiling = ceiling;
    else
        enter(guard, guard->state, ceiling * (guard->state == GUARD_TRIES ? FEEDBACK_QUIET : 1));
}

/* ---- input and output ---- */

HALO_REALTIME static void keep(const struct feedback_guard *guard, const float *const *planar,
                               size_t channels, size_t frames, float *to)
{
    size_t at = guard->frames % guard->length;
    for (size_t i = 0; i < frames; i++) {
        float sum = 0;
        for (size_t c = 0; c < channels; c++)
            sum += planar[c][i] * (c % 2 ? OF_ODD : 1);
        to[at] = to[at + guard->length] = isfinite(sum) ? sum : 0;
        at = at + 1 < guard->length ? at + 1 : 0;
    }
}

/* The `frames` frames that end at frame `end`. */
HALO_REALTIME static const float *window_until(const struct feedback_guard *guard,
                                               const float *samples, size_t end, size_t frames)
{
    return samples + (end + guard->length - frames) % guard->length;
}

HALO_REALTIME static double energy(const float *samples, size_t frames)
{
    double sum = 0;
    for (size_t i = 0; i < frames; i++)
        sum += (double)samples[i] * (double)samples[i];
    return sum;
}

HALO_REALTIME void feedback_guard_begin(struct feedback_guard *guard, const float *const *in,
                                        const float *const *out, size_t frames)
{
    keep(guard, in, guard->inputs, frames, guard->in);
    keep(guard, out, guard->outputs, frames, guard->unlimited);
}

HALO_REALTIME void feedback_guard_observe(struct feedback_guard *guard, const float *const *out,
                                          size_t frames)
{
    enum { PART = 64 };
    for (size_t c = 0; c < guard->outputs; c++)
        for (size_t at = 0; at < frames; at += PART) {
            size_t part = least(frames - at, PART);
            size_t end = guard->frames + at + part;
            if (audio_peak(out[c] + at, part) > guard->ceiling && end > guard->last_over)
                guard->last_over = end;
        }
    guard->tonal = feedback_detector_process(guard->tones, out, frames) || guard->tonal;
}

/* ---- a tone that grew at a constant rate ---- */

SIMD_CLONES
HALO_REALTIME static float amplitude_of(const float *samples, const float *cosine,
                                        const float *sine, size_t frames)
{
    float re = 0, im = 0;
    for (size_t i = 0; i < frames; i++) {
        re += samples[i] * cosine[i];
        im += samples[i] * sine[i];
    }
    return sqrtf(re * re + im * im);
}

HALO_REALTIME static void begin_levels(struct feedback_guard *guard)
{
    double step = 2 * M_PI / (double)guard->tone_window;
    guard->frequency_of_tone = feedback_detector_frequency(guard->tones);
    for (size_t i = 0; i < guard->tone_window; i++) {
        double hann = 0.5 - 0.5 * cos(step * (double)i);
        double phase = 2 * M_PI * guard->frequency_of_tone / (double)guard->rate * (double)i;
        guard->cosine[i] = (float)(hann * cos(phase));
        guard->sine[i] = (float)(hann * sin(phase));
    }
    guard->levels_end = guard->frames;
    guard->levels_left = count_levels(guard);
}

/* Measures some levels: all within half a window. Returns true if it measured the last one. */
HALO_REALTIME static bool measure_levels(struct feedback_guard *guard, size_t frames)
{
    size_t window = guard->tone_window, hop = window / TONE_OVERLAP, count = count_levels(guard);
    size_t left = guard->levels_left, part = least(left, 1 + 2 * frames * count / guard->window);
    for (; guard->levels_left > left - part; guard->levels_left--) {
        size_t i = count - guard->levels_left;
        size_t end = guard->levels_end + guard->length - (count - 1 - i) * hop;
        guard->levels[i] = amplitude_of(window_until(guard, guard->in, end, window), guard->cosine,
                                        guard->sine, window);
    }
    return part > 0 && guard->levels_left == 0;
}

/* The last time before `from`, in hops, at which the tone was below `level`. 0: it never was. */
HALO_REALTIME static size_t crossing(const struct feedback_guard *guard, size_t from, double level)
{
    while (from > 0 && (double)guard->levels[from] >= level)
        from--;
    return from;
}

/* Whether the tone rose by as many dB in the first half of its rise as in the second. A linear
 * attack takes only a third to half of the time for the first half. An attack that is shorter than
 * a window cannot be told from others. */
HALO_REALTIME static bool has_grown_evenly(const struct feedback_guard *guard)
{
    /* dB: level at the end of the rise, rise of each half */
    static const double spans[][2] = {{-4, 10}, {-3, 6}, {-5, 12}};
    size_t hop = guard->tone_window / TONE_OVERLAP, count = count_levels(guard);
    size_t settled = frames_of(guard, SETTLED) / hop, at = count - settled;
    double level = 0;
    for (size_t i = at; i < count; i++)
        level += (double)guard->levels[i] / (double)settled;
    for (size_t s = 0; s < sizeof spans / sizeof *spans; s++) {
        double to = spans[s][0], half = spans[s][1];
        size_t end = crossing(guard, at, level * audio_from_db(to));
        size_t middle = crossing(guard, end, level * audio_from_db(to - half));
        size_t begin = crossing(guard, middle, level * audio_from_db(to - 2 * half));
        double later = (double)(end - middle), earlier = (double)(middle - begin);
        if (begin > 0 && later * (double)hop >= ARRIVAL_LEAST * (double)guard->rate &&
            earlier >= EVEN_LEAST * later && earlier <= EVEN_MOST * later)
            return true;
    }
    return false;
}

/* ---- whether the input follows the output ---- */

/* Examines the half window that ended, with those before; a block later, to spread the work. */
HALO_REALTIME static void follow(struct feedback_guard *guard)
{
    bool is_over = guard->last_over + guard->window / 2 > guard->frames;
    size_t end = guard->frames, window = guard->window, then = end + guard->length - guard->lag;
    struct followed unexplained =
        output_follower_write(guard->follower, window_until(guard, guard->in, end, window),
                              window_until(guard, guard->played, then, window),
                              window_until(guard, guard->unlimited, then, window));
    double played = fmax(unexplained.played, ROUNDING),
           unlimited = fmax(unexplained.unlimited, ROUNDING);
    bool agrees = is_over && unexplained.windows > WINDOWS && played < UNEXPLAINED &&
                  unlimited > CLOSER * played;
    guard->in_a_row = agrees ? guard->in_a_row + 1 : 0;
}

HALO_REALTIME static void end_half_window(struct feedback_guard *guard)
{
    size_t half = guard->window / 2, end = guard->frames;
    double silent = SOUNDING * (double)(guard->ceiling * guard->ceiling) * (double)half;
    bool is_active = guard->last_over > 0 && guard->last_over + ACTIVE * half > end;
    guard->held = is_active && guard->last_over + HELD_GAP * half > end ? guard->held + 1 : 0;
    bool compares = is_active && energy(window_until(guard, guard->in, end, half), half) > silent;
    delay_finder_write(guard->finder, window_until(guard, guard->played, end, guard->window),
                       compares ? window_until(guard, guard->in, end, guard->window) : NULL);
    guard->follows = compares && guard->lag > 0;
    guard->in_a_row = guard->follows ? guard->in_a_row : 0;
}

/* Continues the search for the delay. It is complete when half a window has passed. */
HALO_REALTIME static void search(struct feedback_guard *guard, size_t frames)
{
    struct delay_found best;
    size_t count = 1 + 2 * frames * guard->blocks / guard->window;
    if (!delay_finder_search(guard->finder, 1 + frames_of(guard, DELAY_LEAST), count, &best))
        return;
    size_t lag = best.likeness >= LIKENESS ? best.frames : 0;
    if (lag > guard->lag + 1 || lag + 1 < guard->lag) {
        output_follower_reset(guard->follower);
        guard->in_a_row = 0;
        guard->lag = lag;
    }
}

/* ---- mute, try, resume ---- */

HALO_REALTIME static bool is_loop(struct feedback_guard *guard, size_t frames)
{
    bool has_grown = measure_levels(guard, frames) && has_grown_evenly(guard);
    if (guard->tonal && guard->levels_left == 0)
        begin_levels(guard);
    guard->tonal = false;
    if (guard->rest > 0 || (!has_grown && guard->in_a_row < IN_A_ROW))
        return false;
    atomic_store(&guard->frequency, has_grown ? guard->frequency_of_tone : 0);
    return true;
}

HALO_REALTIME static enum feedback_act mute(struct feedback_guard *guard)
{
    guard->delay = guard->lag > 0 ? guard->lag : frames_of(guard, DELAY_UNKNOWN);
    guard->before =
        energy(window_until(guard, guard->in, guard->frames, guard->window), guard->window) /
        (double)guard->window;
    enter(guard, GUARD_MUTES, guard->full);
    return FEEDBACK_MUTE;
}

/* Whether the input is as loud as before the mute. With a loop it cannot be, while the output is
 * muted or quiet. Music that paused is as loud again after the pause. */
HALO_REALTIME static bool goes_on(const struct feedback_guard *guard, double before)
{
    size_t piece = frames_of(guard, JUDGED);
    return energy(window_until(guard, guard->in, guard->frames, piece), piece) >=
           GOES_ON * before * (double)piece;
}

HALO_REALTIME static enum feedback_act resume(struct feedback_guard *guard, bool is_trusted)
{
    enter(guard, GUARD_LISTENS, guard->full);
    if (is_trusted) {
        guard->rest = guard->rest_next;
        guard->rest_next = least(2 * guard->rest_next, frames_of(guard, REST_MOST));
    }
    return FEEDBACK_RESUME;
}

/* Decides, after the loop's delay and a room's decay, whether the sound goes on without the output.
 * If it does, there was no loop, and the guard resumes and rests. After a mute during a quiet try
 * the guard does not rest, since a loop may still ring at the full ceiling. */
HALO_REALTIME static enum feedback_act act_mute(struct feedback_guard *guard)
{
    if (guard->since >= frames_of(guard, DIES) + guard->delay && goes_on(guard, guard->before))
        return resume(guard, guard->before == guard->before_full);
    if (guard->since < guard->pause)
        return FEEDBACK_NOTHING;
    guard->pause = least(2 * guard->pause, frames_of(guard, PAUSE_MOST));
    enter(guard, GUARD_TRIES, guard->full * FEEDBACK_QUIET);
    return FEEDBACK_TRY;
}

/* If the output stays at the low ceiling, a loop may ring. Then the guard mutes again as a test. */
HALO_REALTIME static enum feedback_act act_try(struct feedback_guard *guard)
{
    if (goes_on(guard, guard->before_full))
        return resume(guard, true);
    if (guard->since < frames_of(guard, TRY))
        return FEEDBACK_NOTHING;
    return guard->held >= HELD ? mute(guard) : resume(guard, false);
}

HALO_REALTIME static enum feedback_act act(struct feedback_guard *guard, size_t frames)
{
    if (guard->state == GUARD_MUTES)
        return act_mute(guard);
    bool tries = guard->state == GUARD_TRIES;
    if (is_loop(guard, frames)) {
        enum feedback_act act = mute(guard);
        *(tries ? &guard->before : &guard->before_full) =
            tries ? guard->before_full : guard->before;
        return act;
    }
    if (tries)
        return act_try(guard);
    if (guard->since >= frames_of(guard, FORGIVEN))
        guard->pause = frames_of(guard, PAUSE_FIRST);
    return FEEDBACK_NOTHING;
}

HALO_REALTIME enum feedback_act feedback_guard_play(struct feedback_guard *guard,
                                                    const float *const *out, size_t frames)
{
    size_t half = guard->window / 2;
    keep(guard, out, guard->outputs, frames, guard->played);
    for (size_t at = 0, part; at < frames; at += part) {
        if (guard->follows)
            follow(guard);
        guard->follows = false;
        part = least(half - guard->filled, frames - at);
        guard->filled += part;
        guard->frames += part;
        if (guard->filled == half) {
            end_half_window(guard);
            guard->filled = 0;
        }
        search(guard, part);
    }
    guard->since += frames;
    guard->rest -= least(frames, guard->rest);
    return act(guard, frames);
}

HALO_REALTIME double feedback_guard_frequency(const struct feedback_guard *guard)
{
    return atomic_load(&guard->frequency);
}
