#include "live/feedback_detector.h"

#include "base/realtime.h"
#include "base/simd.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WINDOWS_A_SECOND = 32, /* windows per second, without overlap; at most */
    REACH = 2,      /* bins of a sine's peak on each side of its maximum, with a Hann window */
    LOWEST_BIN = 3, /* lowest bin that can be separated from lower ones */
    MEMORY = 48,    /* windows that are kept: about a second */
    PINNED = 18,    /* windows of the last PINNED_OF that must be at the ceiling */
    PINNED_OF = 24,
    PAIRED = 40, /* windows of MEMORY that a pair of tones must be at the ceiling */
};

/* Power ratios. */
#define TONAL 10.0         /* power of the peak over all else, at least */
#define HARMONIC 0.001     /* power of a harmonic over that of the tone, at most */
#define HANN_POWER 0.09375 /* power of one side of a sine's spectrum over amplitude^2 window^2 */
/* Frequency deviation of a steady tone: relative, and in bins. The larger of the two applies. */
#define DRIFT 0.02
#define DRIFT_BINS 0.5
#define PINNED_TO (-3.0) /* dB above the ceiling: least level of a tone */
#define PAIRED_TO (-5.0) /* dB above the ceiling: least level of two tones together */
#define DYING 1.5        /* dB below the highest level kept: a tone is decaying */

/* A tone in one window. */
struct tone {
    double bin;   /* bin of the peak, interpolated */
    double power; /* power of the peak's bin and REACH bins on each side */
};

/* What one window of a channel contains. */
struct moment {
    struct tone strongest, second;
    bool tonal;          /* the strongest tone dominates all else */
    bool paired;         /* the two strongest tones dominate all else */
    bool over;           /* a sample exceeded the ceiling */
    double level;        /* dB above the ceiling: level of the strongest tone */
    double level_paired; /* dB above the ceiling: level of the two tones together */
};

/* State of one channel. */
struct listener {
    float *recent; /* samples of the current window */
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

/* Forgets all windows. Channels' windows are staggered, so that no block computes two of them. */
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

/* The position of the peak between bins: the vertex of a parabola through three levels. */
HALO_REALTIME static double top_of(const float *power, size_t peak)
{
    double before = log((double)power[peak - 1]), at = log((double)power[peak]),
           after = log((double)power[peak + 1]);
    double offset = 0.5 * (before - after) / (before - 2 * at + after);
    return (double)peak + (fabs(offset) <= 0.5 ? offset : 0); /* otherwise it is not a peak */
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

/* Whether there is power at two or three times the tone's frequency. `power` lacks the tone. */
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

/* Number of windows in which a tone, or a pair of tones, was at the ceiling. */
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

/* Whether a tone is at the ceiling. A few windows may be missing: speech interrupts the tone, and
 * makes the limiter attenuate more. The latest window must not be missing. */
HALO_REALTIME static bool is_pinned(const struct moment *moments, size_t known)
{
    struct pinned pinned = {.highest = moments[0].level};
    for (size_t back = 0; back < known && back < PINNED_OF; back++)
        if (moments[back].tonal && is_near(moments[back].strongest.bin, moments[0].strongest.bin))
            add_pinned(&pinned, &moments[back], moments[back].level, PINNED_TO);
    return pinned.at_ceiling >= PINNED && pinned.over >= PINNED / 2 && moments[0].tonal &&
           moments[0].level > pinned.highest - DYING;
}

/* Whether two tones are at the ceiling: two room modes may share it before one dominates. */
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
