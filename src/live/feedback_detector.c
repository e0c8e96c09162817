#include "live/feedback_detector.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOWS_A_SECOND = 32, /* at most, without overlap */
    REACH = 2,             /* bins on each side of a sine's peak, with a Hann window */
    LOWEST_BIN = 3,        /* that can be separated from lower ones */
    MEMORY = 48,           /* windows kept: a second */
    PINNED = 18,           /* windows of the last PINNED_OF */
    PINNED_OF = 24,
    PAIRED = 40, /* windows of MEMORY */
};

/* Power ratios. */
#define TONAL 10.0         /* least, of the peak to all else */
#define HARMONIC 0.001     /* most, of a harmonic to the tone */
#define HANN_POWER 0.09375 /* a sine's spectrum, one side, over amplitude^2 window^2 */
/* Frequency deviation, relative and in bins; the larger one holds. */
#define DRIFT 0.02
#define DRIFT_BINS 0.5
/* In decibels. */
#define PINNED_TO (-3.0) /* of the ceiling */
#define PAIRED_TO (-5.0) /* of both together */
#define DYING 1.5        /* below the highest level kept */

/* One window. */
struct tone {
    double bin;   /* of the peak, interpolated */
    double power; /* of the peak and REACH bins to each side */
};

struct moment {
    struct tone strongest, second;
    bool tonal;          /* the strongest over all else */
    bool paired;         /* the two over all else */
    bool over;           /* a sample exceeded the ceiling */
    double level;        /* of the strongest, dB over the ceiling */
    double level_paired; /* of the two */
};

struct listener {
    float *recent; /* a window of samples */
    size_t filled;
    struct moment moments[MEMORY]; /* newest first */
    size_t known;
};

struct feedback_detector {
    size_t channels, window;
    double rate;
    float ceiling;
    struct fft *fft;
    float *hann, *windowed, *spectrum, *power;
    struct listener *listeners;
    double frequency;
};

void feedback_detector_destroy(struct feedback_detector *detector)
{
    if (!detector)
        return;
    if (detector->listeners)
        for (size_t c = 0; c < detector->channels; c++)
            free(detector->listeners[c].recent);
    free(detector->listeners);
    free(detector->hann);
    free(detector->windowed);
    free(detector->spectrum);
    free(detector->power);
    fft_destroy(detector->fft);
    free(detector);
}

static bool alloc_buffers(struct feedback_detector *detector)
{
    bool done = (detector->hann = audio_alloc(detector->window)) &&
                (detector->windowed = audio_alloc(detector->window)) &&
                (detector->spectrum = audio_alloc(fft_spectrum_floats(detector->window))) &&
                (detector->power = audio_alloc(detector->window / 2 + 1)) &&
                (detector->listeners = calloc(detector->channels, sizeof *detector->listeners));
    for (size_t c = 0; done && c < detector->channels; c++)
        done = (detector->listeners[c].recent = audio_alloc(detector->window)) != NULL;
    return done;
}

/* Channels are staggered, so that no block computes two of their windows. */
HALO_REALTIME void feedback_detector_reset(struct feedback_detector *detector, float ceiling)
{
    detector->ceiling = ceiling;
    for (size_t c = 0; c < detector->channels; c++) {
        struct listener *listener = &detector->listeners[c];
        listener->filled = detector->window / 2 * c / detector->channels;
        listener->known = 0;
        memset(listener->recent, 0, listener->filled * sizeof *listener->recent);
    }
}

enum status feedback_detector_create(size_t channels, uint32_t rate, float ceiling,
                                     struct feedback_detector **result)
{
    struct feedback_detector *detector = calloc(1, sizeof *detector);
    if (!detector)
        return fail_memory("a feedback detector");
    *detector = (struct feedback_detector){.channels = channels, .rate = rate, .window = 256};
    while (detector->window < rate / WINDOWS_A_SECOND)
        detector->window *= 2;
    enum status status = alloc_buffers(detector) ? STATUS_OK : fail_memory("a feedback detector");
    if (status != STATUS_OK || (status = fft_create(detector->window, &detector->fft))) {
        feedback_detector_destroy(detector);
        return status;
    }
    for (size_t i = 0; i < detector->window; i++)
        detector->hann[i] =
            (float)(0.5 - 0.5 * cos(2 * M_PI * (double)i / (double)detector->window));
    feedback_detector_reset(detector, ceiling);
    *result = detector;
    return STATUS_OK;
}

SIMD_CLONES
HALO_REALTIME static void powers_of(const float *restrict spectrum, float *restrict power,
                                    size_t bins)
{
    for (size_t k = 0; k < bins; k++)
        power[k] = spectrum[2 * k] * spectrum[2 * k] + spectrum[2 * k + 1] * spectrum[2 * k + 1];
}

/* The peak between bins: the vertex of a parabola through three levels. */
HALO_REALTIME static double top_of(const float *power, size_t peak)
{
    double before = log((double)power[peak - 1]), at = log((double)power[peak]),
           after = log((double)power[peak + 1]);
    double offset = 0.5 * (before - after) / (before - 2 * at + after);
    return (double)peak + (fabs(offset) <= 0.5 ? offset : 0); /* else not a peak */
}

HALO_REALTIME static struct tone extract_tone(float *power, size_t bins)
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

/* At twice and three times the frequency, after the tone was extracted. */
HALO_REALTIME static bool has_harmonics(const float *power, size_t bins, const struct tone *tone)
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

HALO_REALTIME static double level_of(const struct feedback_detector *detector, double power)
{
    double amplitude = sqrt(power / HANN_POWER) / (double)detector->window;
    return audio_to_db(amplitude / (double)detector->ceiling);
}

HALO_REALTIME static struct moment analyse(const struct feedback_detector *detector,
                                           const float *recent)
{
    size_t window = detector->window, bins = window / 2 + 1;
    audio_multiply(recent, detector->hann, detector->windowed, window);
    fft_forward(detector->fft, detector->windowed, detector->spectrum);
    powers_of(detector->spectrum, detector->power, bins);
    struct moment moment = {.over = audio_peak(recent, window) > detector->ceiling};
    moment.strongest = extract_tone(detector->power, bins);
    bool pure = moment.strongest.bin >= LOWEST_BIN &&
                !has_harmonics(detector->power, bins, &moment.strongest);
    moment.second = extract_tone(detector->power, bins);
    double one = moment.strongest.power, two = one + moment.second.power, rest = 0;
    for (size_t k = 0; k < bins; k++)
        rest += (double)detector->power[k];
    moment.tonal =
        one > 0 && pure && one >= TONAL * (rest + moment.second.power); /* false with NaN */
    moment.paired = two > 0 && pure && two >= TONAL * rest;
    moment.level = level_of(detector, one);
    moment.level_paired = level_of(detector, two);
    return moment;
}

HALO_REALTIME static bool is_near(double bin, double other)
{
    return fabs(bin - other) <= fmax(DRIFT * other, DRIFT_BINS);
}

/* How long a tone, or a pair of them, has been at the ceiling. */
struct pinned {
    double highest;
    size_t at_ceiling, over;
};

HALO_REALTIME static void add_pinned(struct pinned *pinned, const struct moment *moment,
                                     double level, double least)
{
    pinned->highest = fmax(pinned->highest, level);
    pinned->at_ceiling += level > least;
    pinned->over += moment->over;
}

/* Not in all windows: speech interrupts, and makes the limiter attenuate more than the feedback
 * alone would. The latest window must be one of them. */
HALO_REALTIME static bool is_pinned(const struct moment *moments, size_t known)
{
    struct pinned pinned = {.highest = moments[0].level};
    for (size_t back = 0; back < known && back < PINNED_OF; back++)
        if (moments[back].tonal && is_near(moments[back].strongest.bin, moments[0].strongest.bin))
            add_pinned(&pinned, &moments[back], moments[back].level, PINNED_TO);
    return pinned.at_ceiling >= PINNED && pinned.over >= PINNED / 2 && moments[0].tonal &&
           moments[0].level > pinned.highest - DYING;
}

/* Two room modes that grow alike share the ceiling for seconds before one dominates. */
HALO_REALTIME static bool is_pinned_pair(const struct moment *moments, size_t known)
{
    struct pinned pinned = {.highest = moments[0].level_paired};
    for (size_t back = 0; back < known; back++)
        if (moments[back].paired &&
            (is_near(moments[back].strongest.bin, moments[0].strongest.bin) ||
             is_near(moments[back].strongest.bin, moments[0].second.bin)))
            add_pinned(&pinned, &moments[back], moments[back].level_paired, PAIRED_TO);
    return pinned.at_ceiling >= PAIRED && pinned.over >= PAIRED / 2 && moments[0].paired &&
           moments[0].level_paired > pinned.highest - DYING;
}

HALO_REALTIME static bool judge(struct feedback_detector *detector, struct listener *listener)
{
    struct moment *moments = listener->moments;
    memmove(moments + 1, moments, (MEMORY - 1) * sizeof *moments);
    moments[0] = analyse(detector, listener->recent);
    listener->known += listener->known < MEMORY;
    if (!is_pinned(moments, listener->known) && !is_pinned_pair(moments, listener->known))
        return false;
    detector->frequency = moments[0].strongest.bin * detector->rate / (double)detector->window;
    return true;
}

HALO_REALTIME static bool listen(struct feedback_detector *detector, struct listener *listener,
                                 const float *samples, size_t frames)
{
    size_t window = detector->window, hop = window / 2;
    for (size_t at = 0; at < frames;) {
        size_t part =
            window - listener->filled < frames - at ? window - listener->filled : frames - at;
        memcpy(listener->recent + listener->filled, samples + at, part * sizeof *samples);
        listener->filled += part;
        at += part;
        if (listener->filled < window)
            return false;
        if (judge(detector, listener))
            return true;
        memcpy(listener->recent, listener->recent + hop, hop * sizeof *samples);
        listener->filled = hop;
    }
    return false;
}

HALO_REALTIME bool feedback_detector_process(struct feedback_detector *detector,
                                             const float *const *planar, size_t frames)
{
    bool found = false;
    for (size_t c = 0; c < detector->channels; c++)
        found = listen(detector, &detector->listeners[c], planar[c], frames) || found;
    if (found)
        feedback_detector_reset(detector, detector->ceiling);
    return found;
}

HALO_REALTIME double feedback_detector_frequency(const struct feedback_detector *detector)
{
    return detector->frequency;
}
