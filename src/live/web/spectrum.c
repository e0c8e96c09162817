#include "live/web/spectrum.h"

#include "base/simd.h"
#include "signal/fft.h"
#include "signal/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A view is a transform of one length, and the bands that it shows. Each has enough bins for its
 * lowest band. All but the last are of the slow sound. */
enum { VIEWS = 4, SLOW_VIEWS = VIEWS - 1, SLOW = 4096, DOT = 8 };

static const size_t VIEW_BEGINS[VIEWS + 1] = {0, 12, 24, 40, SPECTRUM_BANDS};
static const double SLOW_RATE = 1100, SLOW_TOP = 204;  /* Hz; SLOW_TOP: upper end of its bands */
static const double FAST_SECONDS = 0.34, ALIASES = 90; /* ALIASES: dB by which they are lowered */
/* Bins by which a band is wider at each end, so that a sine at the edge of two reads right. */
static const double WIDER = 0.65;
static const double LEAST_DB = SPECTRUM_LEAST, MOST_DB = 400;

struct spectrum_view {
    struct fft *fft;
    size_t length;
    double hz; /* of one bin */
    float *window;
};

struct spectrum {
    struct spectrum_view views[VIEWS];
    uint32_t rate;
    size_t step;       /* frames of the sound for one of the slow sound */
    size_t taps;       /* of `lowpass`; slow frame m ends at frame m * step */
    float *lowpass;    /* its taps, and as much room for the frames that it is applied to */
    struct block slow; /* ring of the slow sound, SLOW frames */
    uint64_t next;     /* number of the next slow frame */
    uint64_t full;     /* `next` from which on the ring is full */
    float *samples, *bins;
    double *power; /* of the bins, of all channels */
};

size_t spectrum_history(size_t channels, uint32_t rate)
{
    size_t most = live_change_history(channels, rate), frames = (size_t)4 * rate;
    return frames < most ? frames : most;
}

/* ---- creation ---- */

/* The least length from `least` on of which transforms are fast. */
static size_t fitting(double least)
{
    size_t length = 512;
    while ((double)length < least)
        length = length % 3 == 0 ? length / 3 * 4 : length / 2 * 3;
    return length;
}

static enum status view_init(struct spectrum_view *view, size_t length, double rate)
{
    *view = (struct spectrum_view){.length = length, .hz = rate / (double)length};
    view->window = malloc(length * sizeof *view->window);
    if (!view->window)
        return fail_memory("a spectrum");
    for (size_t i = 0; i < length; i++)
        view->window[i] = (float)window_at(WINDOW_HANN, 0, i, length + 1);
    return fft_create(length, &view->fft);
}

static enum status make_lowpass(struct spectrum *spectrum)
{
    double slow = (double)spectrum->rate / (double)spectrum->step;
    double width = (slow - 2 * SLOW_TOP) / spectrum->rate, sum = 0;
    size_t taps = spectrum->step > 1 ? (size_t)window_taps(WINDOW_KAISER, ALIASES, width) : 1;
    spectrum->taps = (taps + DOT - 1) / DOT * DOT;
    spectrum->lowpass = calloc(2 * spectrum->taps, sizeof *spectrum->lowpass);
    if (!spectrum->lowpass)
        return fail_memory("a spectrum");
    for (size_t pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < taps; i++) {
            double x = M_PI * ((double)i - (double)(taps - 1) / 2) / (double)spectrum->step;
            double tap = window_at(WINDOW_KAISER, window_kaiser_beta(ALIASES), i, taps);
            tap *= x == 0 ? 1 : sin(x) / x;
            spectrum->lowpass[i] = (float)(tap / sum);
            sum += pass == 0 ? tap : 0;
        }
    return STATUS_OK;
}

static enum status spectrum_init(struct spectrum *spectrum, size_t channels)
{
    double slow = spectrum->rate / (double)spectrum->step;
    size_t fast = fitting(FAST_SECONDS * spectrum->rate), most = fast > SLOW ? fast : SLOW;
    for (size_t v = 0; v < SLOW_VIEWS; v++)
        TRY(view_init(&spectrum->views[v], (size_t)SLOW >> v, slow));
    TRY(view_init(&spectrum->views[SLOW_VIEWS], fast, spectrum->rate));
    TRY(make_lowpass(spectrum));
    spectrum->samples = malloc(most * sizeof *spectrum->samples);
    spectrum->bins = malloc(fft_spectrum_floats(most) * sizeof *spectrum->bins);
    spectrum->power = malloc((most / 2 + 1) * sizeof *spectrum->power);
    if (!spectrum->samples || !spectrum->bins || !spectrum->power)
        return fail_memory("a spectrum");
    return block_init(&spectrum->slow, channels, SLOW, "a spectrum");
}

enum status spectrum_create(size_t channels, uint32_t rate, struct spectrum **result)
{
    struct spectrum *spectrum = calloc(1, sizeof *spectrum);
    if (!spectrum)
        return fail_memory("a spectrum");
    spectrum->rate = rate;
    spectrum->step = (size_t)ceil(rate / SLOW_RATE);
    enum status status = spectrum_init(spectrum, channels);
    if (status == STATUS_OK)
        *result = spectrum;
    else
        spectrum_destroy(spectrum);
    return status;
}

void spectrum_destroy(struct spectrum *spectrum)
{
    if (!spectrum)
        return;
    for (size_t v = 0; v < VIEWS; v++) {
        fft_destroy(spectrum->views[v].fft);
        free(spectrum->views[v].window);
    }
    block_free(&spectrum->slow);
    free(spectrum->lowpass);
    free(spectrum->samples);
    free(spectrum->bins);
    free(spectrum->power);
    free(spectrum);
}

/* ---- reading ---- */

/* Copies `count` frames from frame `from` of a ring. */
static void copy_ring(const struct block *ring, size_t channel, uint64_t from, size_t count,
                      float *to)
{
    size_t at = (size_t)(from % ring->frames);
    size_t first = ring->frames - at < count ? ring->frames - at : count;
    memcpy(to, ring->data[channel] + at, first * sizeof *to);
    memcpy(to + first, ring->data[channel], (count - first) * sizeof *to);
}

/* `count` is a multiple of DOT. */
SIMD_CLONES
static float dot(const float *restrict a, const float *restrict b, size_t count)
{
    float sums[DOT] = {0}, sum = 0;
    for (size_t i = 0; i < count; i += DOT)
        for (size_t k = 0; k < DOT; k++)
            sums[k] += a[i + k] * b[i + k];
    for (size_t k = 0; k < DOT; k++)
        sum += sums[k];
    return sum;
}

/* Where the slow sound is continued, or begun again if it does not go on from the last reading. */
static void find_next(struct spectrum *spectrum, const struct live_history *history, uint64_t now)
{
    uint64_t step = spectrum->step;
    uint64_t since = live_history_since(history, SLOW * step + spectrum->taps);
    if (spectrum->next * step >= since + spectrum->taps && spectrum->next * step <= now + step)
        return;
    for (size_t c = 0; c < spectrum->slow.channels; c++)
        memset(spectrum->slow.data[c], 0, SLOW * sizeof(float));
    spectrum->next = (since + spectrum->taps + step - 1) / step;
    spectrum->full = since == history->begin ? spectrum->next : (since / step) + SLOW;
}

static void continue_slow(struct spectrum *spectrum, const struct live_history *history,
                          uint64_t now)
{
    size_t taps = spectrum->taps;
    float *frames = spectrum->lowpass + taps;
    for (; spectrum->next * spectrum->step <= now; spectrum->next++)
        for (size_t c = 0; c < spectrum->slow.channels; c++) {
            copy_ring(&history->ring, c, spectrum->next * spectrum->step - taps, taps, frames);
            spectrum->slow.data[c][spectrum->next % SLOW] = dot(frames, spectrum->lowpass, taps);
        }
}

SIMD_CLONES
static void apply_window(float *restrict samples, const float *restrict window, size_t count)
{
    for (size_t i = 0; i < count; i++)
        samples[i] *= window[i];
}

SIMD_CLONES
static void add_power(const float *restrict bins, double *restrict power, size_t count)
{
    for (size_t b = 0; b < count; b++)
        power[b] += (double)(bins[2 * b] * bins[2 * b] + bins[2 * b + 1] * bins[2 * b + 1]);
}

/* Sums the power of all channels of the view's last frames of a ring, before frame `end`. */
static void measure_power(struct spectrum *spectrum, const struct spectrum_view *view,
                          const struct block *ring, uint64_t end)
{
    memset(spectrum->power, 0, (view->length / 2 + 1) * sizeof *spectrum->power);
    for (size_t c = 0; c < ring->channels; c++) {
        copy_ring(ring, c, end - view->length, view->length, spectrum->samples);
        apply_window(spectrum->samples, view->window, view->length);
        fft_forward(view->fft, spectrum->samples, spectrum->bins);
        add_power(spectrum->bins, spectrum->power, view->length / 2 + 1);
    }
}

/* The level of a band. Bins at its ends count in part. */
static float level_of(const struct spectrum *spectrum, const struct spectrum_view *view,
                      size_t band)
{
    const double most = (double)(view->length / 2);
    double centre = 1000 * exp2(((double)band - 68) / 12) / view->hz, half = exp2(1.0 / 24);
    double low = centre / half - WIDER, high = fmin(centre * half + WIDER, most);
    if (low >= high)
        return (float)LEAST_DB;
    size_t first = (size_t)(low + 0.5), last = (size_t)(high + 0.5);
    double sum = spectrum->power[first] * ((double)first - 0.5 - low) +
                 spectrum->power[last] * (high - 0.5 - (double)last);
    for (size_t b = first; b <= last; b++)
        sum += spectrum->power[b];
    /* A full-scale sine has n times the sum of the window's squares, 3/8 n, over 4. */
    double full = (double)view->length * (double)view->length * 3 / 32;
    return sum > 0 ? (float)fmin(fmax(10 * log10(sum / full), LEAST_DB), MOST_DB) : (float)LEAST_DB;
}

bool spectrum_read(struct spectrum *spectrum, const struct live_history *history,
                   float db[static SPECTRUM_BANDS])
{
    uint64_t now = atomic_load(&history->frames), fast = spectrum->views[SLOW_VIEWS].length;
    if (now - history->begin < fast || history->ring.frames < fast)
        return false;
    find_next(spectrum, history, now);
    uint64_t first = spectrum->next * spectrum->step - spectrum->taps;
    first = first < now - fast ? first : now - fast;
    bool was_there = live_history_has(history, first);
    continue_slow(spectrum, history, now);
    for (size_t v = 0; v < VIEWS; v++) {
        bool slow = v < SLOW_VIEWS;
        measure_power(spectrum, &spectrum->views[v], slow ? &spectrum->slow : &history->ring,
                      slow ? spectrum->next : now);
        for (size_t i = VIEW_BEGINS[v]; i < VIEW_BEGINS[v + 1]; i++)
            db[i] = level_of(spectrum, &spectrum->views[v], i);
    }
    if (was_there && live_history_has(history, first))
        return spectrum->next >= spectrum->full;
    spectrum->next = 0; /* the slow sound has wrong frames */
    return false;
}
