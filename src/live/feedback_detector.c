#include "live/feedback_detector.h"

#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOWS_A_SECOND = 32, /* at most, before they overlap */
    REACH = 2,             /* bins that a sine takes to each side of its peak, after Hann */
    LOWEST_BIN = 3,        /* that is told from what lies below */
    MEMORY = 48,           /* windows looked back at: a second */
    GROWING = 8,           /* windows at least */
    PINNED = 18,           /* windows of the last PINNED_OF: speech goes on between */
    PINNED_OF = 24,
    PAIRED = 40, /* windows of MEMORY */
};

/* Of power. */
#define TONAL 10.0         /* the peak over all else, at least */
#define HARMONIC 0.001     /* a harmonic over the tone, at most */
#define HANN_POWER 0.09375 /* a sine's spectrum, one side, over amplitude^2 window^2 */
/* Of frequency, whichever is more. */
#define DRIFT 0.02
#define DRIFT_BINS 0.5
/* In decibels. */
#define GROWN 10.0
#define GROWN_TO (-12.0) /* of the ceiling */
#define STEP_BACK 0.2
#define PINNED_TO (-3.0) /* of the ceiling */
#define PAIRED_TO (-5.0) /* both together: each alone is lower */
#define DYING 1.5        /* below the highest of the time looked back at */

/* What was heard in one window. */
struct tone {
    double bin;   /* of the peak, and between bins */
    double power; /* of the peak and REACH bins to each side */
};

struct moment {
    struct tone strongest, second;
    bool tonal;          /* the strongest over all else */
    bool paired;         /* the two over all else */
    bool over;           /* a sample was beyond the ceiling */
    double level;        /* of the strongest, dB over the ceiling */
    double level_paired; /* of the two */
};

struct listener {
    float *recent; /* a window of samples */
    size_t filled;
    struct moment moments[MEMORY]; /* the latest first */
    size_t known;
};

struct feedback_detector {
    size_t channels, window;
    double rate;
    float ceiling;
    struct fft *fft;
    float *hann, *windowed, *spectrum, *power;
    struct listener *listeners;
    _Atomic double frequency;
};

void feedback_detector_destroy(struct feedback_detector *guard)
{
    if (!guard)
        return;
    if (guard->listeners)
        for (size_t c = 0; c < guard->channels; c++)
            free(guard->listeners[c].recent);
    free(guard->listeners);
    free(guard->hann);
    free(guard->windowed);
    free(guard->spectrum);
    free(guard->power);
    fft_destroy(guard->fft);
    free(guard);
}

static bool have_buffers(struct feedback_detector *guard)
{
    guard->hann = audio_alloc(guard->window);
    guard->windowed = audio_alloc(guard->window);
    guard->spectrum = audio_alloc(fft_spectrum_floats(guard->window));
    guard->power = audio_alloc(guard->window / 2 + 1);
    guard->listeners = calloc(guard->channels, sizeof *guard->listeners);
    if (!guard->hann || !guard->windowed || !guard->spectrum || !guard->power || !guard->listeners)
        return false;
    for (size_t c = 0; c < guard->channels; c++) {
        guard->listeners[c].recent = audio_alloc(guard->window);
        if (!guard->listeners[c].recent)
            return false;
    }
    return true;
}

/* No two channels end a window at once, so that no block pays for both. */
void feedback_detector_reset(struct feedback_detector *guard)
{
    for (size_t c = 0; c < guard->channels; c++) {
        struct listener *listener = &guard->listeners[c];
        listener->filled = guard->window / 2 * c / guard->channels;
        listener->known = 0;
        memset(listener->recent, 0, listener->filled * sizeof *listener->recent);
    }
}

enum status feedback_detector_create(size_t channels, uint32_t rate, float ceiling,
                                     struct feedback_detector **result)
{
    struct feedback_detector *guard = calloc(1, sizeof *guard);
    if (!guard)
        return fail_memory("a howl guard");
    *guard = (struct feedback_detector){
        .channels = channels, .rate = rate, .ceiling = ceiling, .window = 256};
    while (guard->window < rate / WINDOWS_A_SECOND)
        guard->window *= 2;
    if (!have_buffers(guard)) {
        feedback_detector_destroy(guard);
        return fail_memory("a howl guard");
    }
    enum status status = fft_create(guard->window, &guard->fft);
    if (status != STATUS_OK) {
        feedback_detector_destroy(guard);
        return status;
    }
    for (size_t i = 0; i < guard->window; i++)
        guard->hann[i] = (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)guard->window));
    feedback_detector_reset(guard);
    *result = guard;
    return STATUS_OK;
}

SIMD_CLONES
static void multiply(const float *restrict a, const float *restrict b, float *restrict product,
                     size_t count)
{
    for (size_t i = 0; i < count; i++)
        product[i] = a[i] * b[i];
}

SIMD_CLONES
static void powers_of(const float *restrict spectrum, float *restrict power, size_t bins)
{
    for (size_t k = 0; k < bins; k++)
        power[k] = spectrum[2 * k] * spectrum[2 * k] + spectrum[2 * k + 1] * spectrum[2 * k + 1];
}

/* Where between bins the peak stands: the top of a parabola through three levels. */
static double top_of(const float *power, size_t peak)
{
    double before = log((double)power[peak - 1]), at = log((double)power[peak]),
           after = log((double)power[peak + 1]);
    double offset = 0.5 * (before - after) / (before - 2 * at + after);
    return (double)peak + (fabs(offset) <= 0.5 ? offset : 0); /* else it is no peak */
}

/* The strongest peak, which is then gone from the powers. */
static struct tone take_tone(float *power, size_t bins)
{
    size_t peak = REACH;
    for (size_t k = REACH; k + REACH < bins; k++)
        peak = power[k] > power[peak] ? k : peak;
    struct tone tone = {.bin = top_of(power, peak)};
    for (size_t k = peak - REACH; k <= peak + REACH; k++) {
        tone.power += (double)power[k];
        power[k] = 0.0f;
    }
    return tone;
}

/* At twice and three times the frequency; to be taken after the tone itself. */
static bool has_harmonics(const float *power, size_t bins, const struct tone *tone)
{
    for (int times = 2; times <= 3; times++) {
        size_t middle = (size_t)lround(times * tone->bin);
        double sum = 0;
        for (size_t k = middle - REACH; k <= middle + REACH && k < bins; k++)
            sum += (double)power[k];
        if (sum > HARMONIC * tone->power)
            return true;
    }
    return false;
}

static double level_of(const struct feedback_detector *guard, double power)
{
    double amplitude = sqrt(power / HANN_POWER) / (double)guard->window;
    return audio_to_db(amplitude / (double)guard->ceiling);
}

static struct moment hear(const struct feedback_detector *guard, const float *recent)
{
    size_t window = guard->window, bins = window / 2 + 1;
    multiply(recent, guard->hann, guard->windowed, window);
    fft_forward(guard->fft, guard->windowed, guard->spectrum);
    powers_of(guard->spectrum, guard->power, bins);
    struct moment moment = {.over = audio_peak(recent, window) > guard->ceiling};
    moment.strongest = take_tone(guard->power, bins);
    bool pure =
        moment.strongest.bin >= LOWEST_BIN && !has_harmonics(guard->power, bins, &moment.strongest);
    moment.second = take_tone(guard->power, bins);
    double one = moment.strongest.power, two = one + moment.second.power, rest = 0;
    for (size_t k = 0; k < bins; k++)
        rest += (double)guard->power[k];
    moment.tonal =
        one > 0 && pure && one >= TONAL * (rest + moment.second.power); /* no, with a NaN */
    moment.paired = two > 0 && pure && two >= TONAL * rest;
    moment.level = level_of(guard, one);
    moment.level_paired = level_of(guard, two);
    return moment;
}

static bool is_near(double bin, double other)
{
    return fabs(bin - other) <= fmax(DRIFT * other, DRIFT_BINS);
}

/* For how many windows up to the latest the same tone has sounded. */
static size_t run_of(const struct listener *listener)
{
    const struct moment *moments = listener->moments;
    size_t run = 0;
    while (run < listener->known && moments[run].tonal &&
           is_near(moments[run].strongest.bin, moments[0].strongest.bin))
        run++;
    return run;
}

/* Evenly: each half of the time does about half of it. */
static bool is_growing(const struct moment *moments, size_t run)
{
    if (moments[0].level < GROWN_TO)
        return false;
    for (size_t back = 1; back < run; back++) {
        if (moments[back].level > moments[back - 1].level + STEP_BACK)
            return false;
        double grown = moments[0].level - moments[back].level;
        double later = moments[0].level - moments[back / 2].level;
        if (back + 1 >= GROWING && grown >= GROWN && later > 0.35 * grown && later < 0.65 * grown)
            return true;
    }
    return false;
}

/* Not in all windows: speech goes on between, and turns the limiter further down than the
 * howl alone. The latest is one of them. */
static bool is_pinned(const struct moment *moments, size_t known)
{
    double highest = moments[0].level;
    size_t fitting = 0, over = 0, most = known < PINNED_OF ? known : PINNED_OF;
    for (size_t back = 0; back < most; back++) {
        const struct moment *moment = &moments[back];
        if (!moment->tonal || !is_near(moment->strongest.bin, moments[0].strongest.bin))
            continue;
        highest = fmax(highest, moment->level);
        fitting += moment->level > PINNED_TO;
        over += moment->over;
    }
    return fitting >= PINNED && over >= PINNED / 2 && moments[0].tonal &&
           moments[0].level > highest - DYING;
}

/* Two modes of a room that grow alike share the ceiling for seconds before one wins. */
static bool is_pinned_pair(const struct moment *moments, size_t known)
{
    double highest = moments[0].level_paired;
    size_t fitting = 0, over = 0;
    for (size_t back = 0; back < known; back++) {
        const struct moment *moment = &moments[back];
        bool same = is_near(moment->strongest.bin, moments[0].strongest.bin) ||
                    is_near(moment->strongest.bin, moments[0].second.bin);
        if (!moment->paired || !same)
            continue;
        highest = fmax(highest, moment->level_paired);
        fitting += moment->level_paired > PAIRED_TO;
        over += moment->over;
    }
    return fitting >= PAIRED && over >= PAIRED / 2 && moments[0].paired &&
           moments[0].level_paired > highest - DYING;
}

static bool is_feedback(struct feedback_detector *guard, struct listener *listener)
{
    struct moment *moments = listener->moments;
    memmove(moments + 1, moments, (MEMORY - 1) * sizeof *moments);
    moments[0] = hear(guard, listener->recent);
    listener->known += listener->known < MEMORY;
    size_t run = run_of(listener);
    if (!is_growing(moments, run) && !is_pinned(moments, listener->known) &&
        !is_pinned_pair(moments, listener->known))
        return false;
    atomic_store(&guard->frequency, moments[0].strongest.bin * guard->rate / (double)guard->window);
    return true;
}

static bool listen(struct feedback_detector *guard, struct listener *listener, const float *samples,
                   size_t frames)
{
    size_t window = guard->window, hop = window / 2;
    for (size_t at = 0; at < frames;) {
        size_t part =
            window - listener->filled < frames - at ? window - listener->filled : frames - at;
        memcpy(listener->recent + listener->filled, samples + at, part * sizeof *samples);
        listener->filled += part;
        at += part;
        if (listener->filled < window)
            return false;
        if (is_feedback(guard, listener))
            return true;
        memcpy(listener->recent, listener->recent + hop, hop * sizeof *samples);
        listener->filled = hop;
    }
    return false;
}

bool feedback_detector_process(struct feedback_detector *guard, const float *const *planar,
                               size_t frames)
{
    bool feedback = false;
    for (size_t c = 0; c < guard->channels; c++)
        feedback |= listen(guard, &guard->listeners[c], planar[c], frames);
    if (feedback)
        feedback_detector_reset(guard);
    return feedback;
}

double feedback_detector_frequency(const struct feedback_detector *guard)
{
    return atomic_load(&guard->frequency);
}
