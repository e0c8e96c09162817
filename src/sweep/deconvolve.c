#include "sweep/deconvolve.h"

#include "signal/phase.h"
#include "signal/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_LEAST = 4096, /* least frames of the transforms of parts of the response */
    STEPS = 48,         /* bands an octave */
    BANDS_MOST = 1200,
    BAND_LEAST = 4, /* least width of a band, in cycles of the time kept */
    REACH = 32,     /* frames of the sinc's kernel on each side */
    SEARCHES = 50,
};

static const double REGULAR = 0.01;      /* share of the sound's mean power */
static const double SHARE_INSIDE = 0.25; /* left by the regularisation where the sound is */
static const double CERTAIN = 1.3;       /* power with noise over the noise that is surely signal */
static const double LOW = 0.82;          /* share of the highest frequency that stays to the ends */
static const double FADE = 0.0007;       /* seconds */
static const double DIRECT = 0.3;    /* least peak of the direct sound, as a share of the largest */
static const double EARLIEST = 0.03; /* seconds from the direct sound to the largest sample */
static const double ONSET = 0.02;    /* seconds in which a direct sound rises */
static const double SMOOTHED = 2e-4; /* seconds */
static const double RISEN = 0.015;   /* where it begins, as a share of its peak */
static const double BEFORE = 0.1;    /* share of a harmonic's window before its peak */
static const double AUDIBLE = 4;     /* power of a harmonic and its noise over the noise */
static const double KERNEL_BETA = 9;
static const double THIRD = 0.05;      /* decades from the middle of a third to its edge */
static const double THIRD_LEAST = 0.4; /* least share of a third inside of the sweep */

struct deconvolver {
    struct sweep sweep; /* rate 0: unknown */
    uint32_t rate;
    size_t played;
    size_t recordings;
    struct fft_double *fft; /* as long as the recordings, so that noise has no gap */
    double complex *sound;
    double complex *sum; /* spectra of all recordings */
    double *response;    /* the circular response, regularised; see is_ready */
    double regular;      /* added to the power of each bin */
    bool is_ready;
};

/* Parts of the response, transformed. Powers are of a response's or a noise's energy by bins. */
struct pieces {
    struct fft_double *fft;
    size_t count;    /* frames kept */
    double *kept;    /* energy of the part that is kept */
    double *noise;   /* power of noise per frame */
    double *part;    /* energy of a harmonic */
    double *regular; /* power that the regularisation leaves, by bins of the sound */
    double *played;  /* power of the sound, by its bins */
};

/* By narrow bands: the power of the response, and that of the noise in a frame recorded. */
struct bands {
    double first; /* Hz */
    size_t count;
    double signal[BANDS_MOST], noise[BANDS_MOST];
    double edges[2]; /* Hz: where the sound is */
};

static double power_of(double complex bin)
{
    return creal(bin) * creal(bin) + cimag(bin) * cimag(bin);
}

/* From 0 at 0 to 1 at 1. */
static double half_cosine(double place)
{
    return place >= 1 ? 1 : place <= 0 ? 0 : 0.5 - 0.5 * cos(M_PI * place);
}

static size_t bins_of(const struct fft_double *fft)
{
    return fft_double_length(fft) / 2 + 1;
}

void deconvolver_destroy(struct deconvolver *deconvolver)
{
    if (!deconvolver)
        return;
    fft_double_destroy(deconvolver->fft);
    free(deconvolver->sound);
    free(deconvolver->sum);
    free(deconvolver->response);
    free(deconvolver);
}

static void transform(const struct fft_double *fft, const double *samples, size_t count)
{
    double *padded = fft_double_samples(fft);
    memcpy(padded, samples, count * sizeof *samples);
    memset(padded + count, 0, (fft_double_length(fft) - count) * sizeof *samples);
    fft_double_forward(fft);
}

static enum status prepare(struct deconvolver *made, const double *played, size_t frames)
{
    TRY(fft_double_create(frames + frames % 2, &made->fft));
    size_t bins = bins_of(made->fft);
    made->sound = malloc(bins * sizeof *made->sound);
    made->sum = calloc(bins, sizeof *made->sum);
    made->response = malloc(fft_double_length(made->fft) * sizeof *made->response);
    if (!made->sound || !made->sum || !made->response)
        return fail_memory("a deconvolution");
    transform(made->fft, played, made->played);
    memcpy(made->sound, fft_double_bins(made->fft), bins * sizeof *made->sound);
    for (size_t k = 0; k < bins; k++)
        made->regular += power_of(made->sound[k]) * REGULAR / (double)bins;
    if (!(made->regular > 0))
        return fail(CAUSE_OTHER, "the sound that was played is silent: nothing can be measured");
    return STATUS_OK;
}

enum status deconvolver_create(const double *played, size_t played_frames, size_t frames,
                               uint32_t rate, const struct sweep *sweep,
                               struct deconvolver **deconvolver)
{
    struct deconvolver *made = calloc(1, sizeof *made);
    if (!made)
        return fail_memory("a deconvolution");
    *made = (struct deconvolver){.rate = rate, .played = played_frames};
    if (sweep)
        made->sweep = *sweep;
    enum status status = prepare(made, played, frames > played_frames ? frames : played_frames);
    if (status == STATUS_OK)
        *deconvolver = made;
    else
        deconvolver_destroy(made);
    return status;
}

void deconvolver_begin(struct deconvolver *deconvolver)
{
    memset(deconvolver->sum, 0, bins_of(deconvolver->fft) * sizeof *deconvolver->sum);
    deconvolver->recordings = 0;
    deconvolver->is_ready = false;
}

void deconvolver_add(struct deconvolver *deconvolver, const double *recorded, size_t frames,
                     double delay)
{
    size_t n = fft_double_length(deconvolver->fft), bins = bins_of(deconvolver->fft);
    const double complex *spectrum = fft_double_bins(deconvolver->fft);
    transform(deconvolver->fft, recorded, frames < n ? frames : n);
    for (size_t k = 0; k < bins; k++)
        deconvolver->sum[k] +=
            delay == 0 ? spectrum[k]
                       : spectrum[k] * cexp(2 * M_PI * I * fmod(delay * (double)k / (double)n, 1));
    deconvolver->recordings++;
    deconvolver->is_ready = false;
}

/* The share of a bin that the regularisation leaves. */
static double regular_share(const struct deconvolver *deconvolver, size_t bin)
{
    double power = power_of(deconvolver->sound[bin]);
    return power / (power + deconvolver->regular);
}

static void make_response(struct deconvolver *deconvolver)
{
    size_t n = fft_double_length(deconvolver->fft), bins = bins_of(deconvolver->fft);
    double complex *spectrum = fft_double_bins(deconvolver->fft);
    double scale = 1 / ((double)n * (double)deconvolver->recordings);
    for (size_t k = 0; k < bins; k++)
        spectrum[k] = scale * deconvolver->sum[k] * conj(deconvolver->sound[k]) /
                      (power_of(deconvolver->sound[k]) + deconvolver->regular);
    fft_double_inverse(deconvolver->fft);
    memcpy(deconvolver->response, fft_double_samples(deconvolver->fft), n * sizeof(double));
    deconvolver->is_ready = true;
}

/* ---- the direct sound ---- */

static double sample_at(const struct deconvolver *deconvolver, ptrdiff_t frame)
{
    ptrdiff_t n = (ptrdiff_t)fft_double_length(deconvolver->fft);
    return deconvolver->response[(frame % n + n) % n];
}

static double value_at(const struct deconvolver *deconvolver, double time)
{
    ptrdiff_t middle = (ptrdiff_t)floor(time);
    double sum = 0;
    for (ptrdiff_t i = middle - REACH + 1; i <= middle + REACH; i++) {
        double from = time - (double)i, sinc = from == 0 ? 1 : sin(M_PI * from) / (M_PI * from);
        sum += sample_at(deconvolver, i) * sinc *
               window_kaiser(KERNEL_BETA, 1 - from * from / (REACH * REACH));
    }
    return fabs(sum);
}

/* The peak between frames about `frame`. */
static double refine(const struct deconvolver *deconvolver, ptrdiff_t frame)
{
    double low = (double)frame - 1, high = (double)frame + 1;
    for (int i = 0; i < SEARCHES; i++) {
        double third = (high - low) / 3;
        if (value_at(deconvolver, low + third) < value_at(deconvolver, high - third))
            low += third;
        else
            high -= third;
    }
    return (low + high) / 2;
}

ptrdiff_t deconvolver_direct(struct deconvolver *deconvolver, double *peak)
{
    if (!deconvolver->is_ready)
        make_response(deconvolver);
    size_t n = fft_double_length(deconvolver->fft), largest = 0;
    for (size_t i = 1; i < n; i++)
        if (fabs(deconvolver->response[i]) > fabs(deconvolver->response[largest]))
            largest = i;
    ptrdiff_t frame = (ptrdiff_t)largest, best = frame;
    double most = fabs(deconvolver->response[largest]);
    for (ptrdiff_t i = frame - (ptrdiff_t)(EARLIEST * deconvolver->rate); i < frame; i++)
        if (fabs(sample_at(deconvolver, i)) >= DIRECT * most) {
            best = i;
            break;
        }
    while (fabs(sample_at(deconvolver, best + 1)) > fabs(sample_at(deconvolver, best)))
        best++;
    /* Nobody records the sound but misses half of it. So that is negative. */
    if (best > (ptrdiff_t)(n - deconvolver->played / 2))
        best -= (ptrdiff_t)n;
    *peak = refine(deconvolver, best);
    return best;
}

/* The sum of a fifth of a millisecond about a frame, in which ringing above a sweep's end
 * vanishes. */
static double smoothed_at(const struct deconvolver *deconvolver, ptrdiff_t frame)
{
    ptrdiff_t half = (ptrdiff_t)(SMOOTHED / 2 * deconvolver->rate);
    double sum = 0;
    for (ptrdiff_t i = frame - half; i <= frame + half; i++)
        sum += sample_at(deconvolver, i);
    return fabs(sum);
}

ptrdiff_t deconvolver_onset(struct deconvolver *deconvolver, ptrdiff_t direct)
{
    if (!deconvolver->is_ready)
        make_response(deconvolver);
    ptrdiff_t span = (ptrdiff_t)(ONSET * deconvolver->rate), onset = direct - span;
    double noise = 0;
    for (ptrdiff_t i = onset - span; i < onset; i++)
        noise = fmax(noise, smoothed_at(deconvolver, i));
    double least = fmax(RISEN * smoothed_at(deconvolver, direct), 2 * noise);
    while (onset < direct && smoothed_at(deconvolver, onset) < least)
        onset++;
    return onset;
}

/* ---- powers by frequency ---- */

/* The mean of a spectrum of `bins` powers between two frequencies. */
static double mean_between(const double *powers, size_t bins, double rate, const double edges[2])
{
    double per_hertz = 2 * (double)(bins - 1) / rate, sum = 0, weights = 0;
    double from = edges[0] * per_hertz, to = edges[1] * per_hertz;
    for (size_t k = (size_t)(from + 0.5); k < bins && (double)k - 0.5 < to; k++) {
        double weight = fmin(to, (double)k + 0.5) - fmax(from, (double)k - 0.5);
        sum += weight * powers[k];
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

static double band_hertz(const struct bands *bands, size_t band)
{
    return bands->first * pow(2, (double)band / STEPS);
}

/* Adds the energies of a part of the circular response by bins. Its ends are faded over `fade`
 * frames. Returns the energy of the window. */
static double add_part(const struct deconvolver *deconvolver, const struct pieces *pieces,
                       ptrdiff_t first, size_t count, double fade, double *energies)
{
    double energy = 0, *samples = fft_double_samples(pieces->fft);
    for (size_t i = 0; i < count; i++) {
        double end = fmin((double)i, (double)(count - 1 - i)) + 0.5;
        double window = fade > 0 ? half_cosine(end / fade) : 1;
        samples[i] = window * sample_at(deconvolver, first + (ptrdiff_t)i);
        energy += window * window;
    }
    memset(samples + count, 0, (fft_double_length(pieces->fft) - count) * sizeof *samples);
    fft_double_forward(pieces->fft);
    for (size_t k = 0; k < bins_of(pieces->fft); k++)
        energies[k] += power_of(fft_double_bins(pieces->fft)[k]);
    return energy;
}

/* Measures the noise behind the response. The last three eighths of what is left may hold
 * harmonics, and the first eighth an end of the response that is not kept. */
static void measure_noise(const struct deconvolver *deconvolver, const struct pieces *pieces,
                          ptrdiff_t first)
{
    size_t n = fft_double_length(deconvolver->fft);
    size_t rest = n > pieces->count ? n - pieces->count : 0, region = rest / 2;
    size_t longest = fft_double_length(pieces->fft);
    size_t length = region / 4 < longest ? region / 4 : longest, step = length / 2;
    ptrdiff_t at = first + (ptrdiff_t)(pieces->count + rest / 8);
    double energy = 0;
    for (size_t i = 0; step > 0 && i + length <= region; i += step)
        energy += add_part(deconvolver, pieces, at + (ptrdiff_t)i, length, (double)length / 2,
                           pieces->noise);
    for (size_t k = 0; energy > 0 && k < bins_of(pieces->fft); k++)
        pieces->noise[k] /= energy;
}

/* Fills a band. Returns whether the sound is in it. */
static bool fill_band(const struct deconvolver *deconvolver, const struct pieces *pieces,
                      double middle, struct bands *bands)
{
    double rate = deconvolver->rate, wide = BAND_LEAST * rate / (double)pieces->count;
    double half = fmax(middle * M_LN2 / STEPS, wide / 2);
    double edges[2] = {fmax(0, middle - half), fmin(rate / 2, middle + half)};
    size_t bins = bins_of(deconvolver->fft), own = bins_of(pieces->fft), band = bands->count++;
    double share = mean_between(pieces->regular, bins, rate, edges);
    double noise = mean_between(pieces->noise, own, rate, edges);
    double signal =
        mean_between(pieces->kept, own, rate, edges) - CERTAIN * noise * (double)pieces->count;
    bands->signal[band] = share > 0 ? fmax(0, signal) / share : 0;
    bands->noise[band] =
        share > 0 ? noise * mean_between(pieces->played, bins, rate, edges) / share : 0;
    return share >= SHARE_INSIDE;
}

static void fill_bands(const struct deconvolver *deconvolver, const struct pieces *pieces,
                       struct bands *bands)
{
    double largest = 0, least = INFINITY, middle;
    bands->first = fmax(1, deconvolver->rate / (double)fft_double_length(pieces->fft));
    while (bands->count < BANDS_MOST &&
           (middle = band_hertz(bands, bands->count)) <= deconvolver->rate / 2.0) {
        size_t band = bands->count;
        if (!fill_band(deconvolver, pieces, middle, bands))
            continue;
        bands->edges[0] = least < INFINITY ? bands->edges[0] : middle;
        bands->edges[1] = middle;
        largest = fmax(largest, bands->signal[band]);
        least = fmin(least, bands->noise[band]);
    }
    /* Beyond the sound, both may be errors of the division. */
    for (size_t i = 0; i < bands->count; i++) {
        bands->signal[i] = fmin(bands->signal[i], largest);
        bands->noise[i] = fmax(bands->noise[i], least < INFINITY ? least : 0);
    }
    if (deconvolver->sweep.rate) {
        bands->edges[0] = deconvolver->sweep.from;
        bands->edges[1] = deconvolver->sweep.to;
    }
}

/* ---- the response ---- */

/* The weight of a bin in which the sound has this power: its share of signal, or 1 inside a sweep,
 * where the sound is strong in all bins. */
static double weight_of(const struct deconvolver *deconvolver, const struct pieces *pieces,
                        const struct bands *bands, double hertz, double power)
{
    if (deconvolver->sweep.rate && hertz >= bands->edges[0] && hertz <= bands->edges[1])
        return 1;
    double last = (double)bands->count - 1;
    double place = fmin(last, STEPS * log2(fmax(hertz, bands->first) / bands->first));
    size_t band = (size_t)place, next = band + 1 < bands->count ? band + 1 : band;
    double part = place - (double)band;
    double signal = power * (bands->signal[band] * (1 - part) + bands->signal[next] * part);
    double noise =
        (double)pieces->count * (bands->noise[band] * (1 - part) + bands->noise[next] * part);
    return signal > 0 ? signal / (signal + noise) : 0;
}

/* Divides, into the samples. Without what is beyond the sound and near its upper end, if is_low. */
static void divide(const struct deconvolver *deconvolver, const struct pieces *pieces,
                   const struct bands *bands, bool is_low)
{
    size_t n = fft_double_length(deconvolver->fft), bins = bins_of(deconvolver->fft);
    double complex *spectrum = fft_double_bins(deconvolver->fft);
    double scale = 1 / ((double)n * (double)deconvolver->recordings), top = bands->edges[1];
    for (size_t k = 0; k < bins; k++) {
        double hertz = (double)k * deconvolver->rate / (double)n;
        double weight = weight_of(deconvolver, pieces, bands, hertz, pieces->played[k]);
        if (is_low)
            weight *= half_cosine((top - hertz) / (top * (1 - LOW)));
        spectrum[k] = weight > 0 ? weight * scale * deconvolver->sum[k] / deconvolver->sound[k] : 0;
    }
    fft_double_inverse(deconvolver->fft);
}

/* A cut would spread the noise beyond the sound, which is strong, over all frequencies. So the start
 * fades in, and that noise fades out at the end. */
static void write_taps(const struct deconvolver *deconvolver, const struct pieces *pieces,
                       const struct bands *bands, ptrdiff_t first, double *taps)
{
    ptrdiff_t n = (ptrdiff_t)fft_double_length(deconvolver->fft);
    const double *samples = fft_double_samples(deconvolver->fft);
    size_t fade = (size_t)fmin(FADE * deconvolver->rate, (double)pieces->count / 2);
    for (int is_low = 0; is_low < 2; is_low++) {
        divide(deconvolver, pieces, bands, is_low);
        for (size_t i = is_low ? pieces->count - fade : 0; i < pieces->count; i++) {
            double sample = samples[((first + (ptrdiff_t)i) % n + n) % n];
            double share = half_cosine(((double)(pieces->count - i) - 0.5) / (double)fade);
            taps[i] = is_low ? share * taps[i] + (1 - share) * sample : sample;
        }
    }
    phase_fade_in(taps, fade);
}

/* ---- what is told ---- */

/* The part of a third, times `order`, that the sweep holds. False: too little of it. */
static bool third_edges(const struct deconvolver *deconvolver, size_t third, size_t order,
                        double edges[2])
{
    double low = 0, high = deconvolver->rate / 2.0, middle = measured_hz(third) * (double)order;
    if (deconvolver->sweep.rate) {
        low = deconvolver->sweep.from;
        high = deconvolver->sweep.to;
    }
    edges[0] = fmax(low, middle * pow(10, -THIRD));
    edges[1] = fmin(high, middle * pow(10, THIRD));
    return edges[1] > edges[0] && log10(edges[1] / edges[0]) >= 2 * THIRD * THIRD_LEAST;
}

static double noise_between(const struct deconvolver *deconvolver, const struct pieces *pieces,
                            const double edges[2], double *share)
{
    *share = mean_between(pieces->regular, bins_of(deconvolver->fft), deconvolver->rate, edges);
    return mean_between(pieces->noise, bins_of(pieces->fft), deconvolver->rate, edges) / *share;
}

static double decibels(double ratio)
{
    return ratio > 0 && isfinite(ratio) ? 10 * log10(ratio) : NAN;
}

static void tell_levels(const struct deconvolver *deconvolver, const struct pieces *pieces,
                        struct measured_path *path)
{
    for (size_t t = 0; t < MEASURED_THIRDS; t++) {
        double edges[2], share;
        path->level[t] = path->snr[t] = NAN;
        if (!third_edges(deconvolver, t, 1, edges))
            continue;
        double noise = noise_between(deconvolver, pieces, edges, &share) * (double)pieces->count;
        double power =
            mean_between(pieces->kept, bins_of(pieces->fft), deconvolver->rate, edges) / share -
            noise;
        if (power > noise)
            path->level[t] = decibels(power);
        path->snr[t] = decibels(power / noise);
    }
}

/* Harmonic `order` of all thirds. Its window is that between its neighbours, from a tenth of the
 * gap before its direct sound. */
static void tell_order(const struct deconvolver *deconvolver, const struct pieces *pieces,
                       double direct, size_t order, struct measured_path *path)
{
    const struct sweep *sweep = &deconvolver->sweep;
    double rate = deconvolver->rate, at = sweep_advance(sweep, order);
    double before = BEFORE * (sweep_advance(sweep, order + 1) - at) * rate;
    double gap = (at - sweep_advance(sweep, order - 1)) * rate * (1 - BEFORE) + before;
    size_t length = gap < (double)pieces->count ? (size_t)gap : pieces->count;
    memset(pieces->part, 0, bins_of(pieces->fft) * sizeof *pieces->part);
    double energy = add_part(deconvolver, pieces, lround(direct - at * rate - before), length,
                             fmin(before, (double)length / 4), pieces->part);
    for (size_t t = 0; t < MEASURED_THIRDS; t++) {
        double edges[2], unused[2], share;
        double *told = &path->distortion[order - 2][t];
        *told = NAN;
        if (isnan(path->level[t]) || !third_edges(deconvolver, t, 1, unused) ||
            !third_edges(deconvolver, t, order, edges))
            continue;
        double noise = noise_between(deconvolver, pieces, edges, &share) * energy;
        double power =
            mean_between(pieces->part, bins_of(pieces->fft), deconvolver->rate, edges) / share;
        if (power > AUDIBLE * noise)
            *told = decibels(power - noise) - path->level[t];
    }
}

static void tell_distortion(struct deconvolver *deconvolver, const struct pieces *pieces,
                            double direct, struct measured_path *path)
{
    for (size_t order = 2; order < MEASURED_ORDERS + 2; order++) {
        if (deconvolver->sweep.rate)
            tell_order(deconvolver, pieces, direct, order, path);
        else
            for (size_t t = 0; t < MEASURED_THIRDS; t++)
                path->distortion[order - 2][t] = NAN;
    }
}

static enum status pieces_create(const struct deconvolver *deconvolver, size_t count,
                                 struct pieces *pieces)
{
    size_t bins = bins_of(deconvolver->fft);
    *pieces = (struct pieces){.count = count};
    TRY(fft_double_create(fft_double_fitting(count > PIECE_LEAST ? count : PIECE_LEAST),
                          &pieces->fft));
    size_t own = bins_of(pieces->fft);
    pieces->kept = calloc(own, sizeof(double));
    pieces->noise = calloc(own, sizeof(double));
    pieces->part = calloc(own, sizeof(double));
    pieces->regular = malloc(bins * sizeof(double));
    pieces->played = malloc(bins * sizeof(double));
    if (!pieces->kept || !pieces->noise || !pieces->part || !pieces->regular || !pieces->played)
        return fail_memory("a deconvolution");
    for (size_t k = 0; k < bins; k++) {
        double share = regular_share(deconvolver, k);
        pieces->regular[k] = share * share;
        pieces->played[k] = power_of(deconvolver->sound[k]);
    }
    return STATUS_OK;
}

static void pieces_free(struct pieces *pieces)
{
    fft_double_destroy(pieces->fft);
    free(pieces->kept);
    free(pieces->noise);
    free(pieces->part);
    free(pieces->regular);
    free(pieces->played);
}

/* The frame of the largest sample. */
static ptrdiff_t largest_from(const struct deconvolver *deconvolver, ptrdiff_t first, size_t count)
{
    ptrdiff_t largest = first;
    for (ptrdiff_t i = first; i < first + (ptrdiff_t)count; i++)
        if (fabs(sample_at(deconvolver, i)) > fabs(sample_at(deconvolver, largest)))
            largest = i;
    return largest;
}

static void finish(struct deconvolver *deconvolver, const struct pieces *pieces, ptrdiff_t first,
                   double *taps, struct measured_path *path)
{
    struct bands bands = {0};
    double share;
    add_part(deconvolver, pieces, first, pieces->count, 0, pieces->kept);
    measure_noise(deconvolver, pieces, first);
    fill_bands(deconvolver, pieces, &bands);
    write_taps(deconvolver, pieces, &bands, first, taps);
    if (!path)
        return;
    double noise = noise_between(deconvolver, pieces, bands.edges, &share) * (double)pieces->count;
    path->snr_all =
        decibels(mean_between(pieces->kept, bins_of(pieces->fft), deconvolver->rate, bands.edges) /
                     share / noise -
                 1);
    tell_levels(deconvolver, pieces, path);
    tell_distortion(deconvolver, pieces, (double)largest_from(deconvolver, first, pieces->count),
                    path);
}

enum status deconvolver_finish(struct deconvolver *deconvolver, ptrdiff_t first, size_t count,
                               double *taps, struct measured_path *path)
{
    struct pieces pieces;
    if (!deconvolver->is_ready)
        make_response(deconvolver);
    enum status status = pieces_create(deconvolver, count, &pieces);
    if (status == STATUS_OK)
        finish(deconvolver, &pieces, first, taps, path);
    pieces_free(&pieces);
    return status;
}
