#include "mask/mask_stats.h"

#include "mask/response.h"
#include "signal/audio.h"
#include "signal/fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_LEAST = 1 << 16, LENGTH_WANTED = 1 << 23, PADDING = 8, TWELFTHS = 120, ENDS = 10 };

static const double silence = 1e-5, quiet = 1e-3, loud = 0.1; /* of the peak */
static const double likeness = 5e-4;                          /* of the peak: rounding to 16 bits */
static const double edge_seconds = 1e-3;
static const double excess_most = 0.01;              /* nepers */
static const double pink_low = 20, pink_high = 20e3; /* Hz */
static const double crest_in = 9, crest_out = 12;    /* dB */
const int mask_stats_levels[MASK_STATS_LEVELS] = {-60, -90, -120};

static size_t last_above(const double *taps, size_t count, double level)
{
    while (count > 0 && fabs(taps[count - 1]) < level)
        count--;
    return count;
}

static size_t first_above(const double *taps, size_t count, double level)
{
    size_t k = 0;
    while (k < count && fabs(taps[k]) < level)
        k++;
    return k;
}

static void find_sums(const double *taps, size_t count, struct mask_column_stats *stats)
{
    double moment = 0;
    for (size_t k = 0; k < count; k++) {
        double tap = taps[k];
        if (fabs(tap) > fabs(stats->peak)) {
            stats->peak = tap;
            stats->peak_at = k;
        }
        stats->dc += tap;
        stats->magnitude += fabs(tap);
        stats->energy += tap * tap;
        moment += tap * tap * (double)k;
    }
    stats->silent = stats->energy <= 0;
    stats->rms = sqrt(stats->energy / (double)count);
    stats->group_delay = stats->silent ? 0 : moment / stats->energy;
}

static void find_symmetry(const double *taps, size_t count, struct mask_column_stats *stats)
{
    size_t first = 0, last = count - 1;
    bool even = true, odd = true;
    while (taps[first] == 0)
        first++;
    while (taps[last] == 0)
        last--;
    stats->middle = ((double)first + (double)last) / 2;
    for (size_t i = first, j = last; i <= j && (even || odd); i++, j--) {
        even = even && fabs(taps[i] - taps[j]) <= likeness * fabs(stats->peak);
        odd = odd && fabs(taps[i] + taps[j]) <= likeness * fabs(stats->peak);
        if (j == 0)
            break;
    }
    stats->symmetry = even ? MASK_SYMMETRIC : odd ? MASK_ANTISYMMETRIC : MASK_ASYMMETRIC;
}

static void find_ends(const double *taps, size_t count, uint32_t rate,
                      struct mask_column_stats *stats)
{
    double peak = fabs(stats->peak);
    size_t edge = (size_t)ceil(edge_seconds * rate);
    if (edge > count)
        edge = count;
    for (size_t i = 0; i < MASK_STATS_LEVELS; i++)
        stats->taps[i] = last_above(taps, count, audio_from_db(mask_stats_levels[i]) * peak);
    stats->silence_before = first_above(taps, count, silence * peak);
    stats->silence_after = count - last_above(taps, count, silence * peak);
    stats->onset = first_above(taps, count, quiet * peak);
    stats->attack = first_above(taps, count, loud * peak) - stats->onset;
    stats->start = audio_peak_in_double(taps, edge) / peak;
    stats->end = audio_peak_in_double(taps + count - edge, edge) / peak;
    if (count >= ENDS * edge)
        stats->before_end =
            audio_peak_in_double(taps + count - ENDS * edge, (ENDS - 1) * edge) / peak;
}

static double pink_share(double bin, double hz_of_bin)
{
    double from = fmax((bin - 0.5) * hz_of_bin, pink_low);
    double to = fmin((bin + 0.5) * hz_of_bin, pink_high);
    return to > from ? log(to / from) : 0;
}

static double pink_gain(const double complex *bins, size_t length, uint32_t rate)
{
    double power = 0, shares = 0, hz = (double)rate / (double)length;
    for (size_t b = 0; b <= length / 2; b++) {
        double share = pink_share((double)b, hz);
        power += share * pow(cabs(bins[b]), 2);
        shares += share;
    }
    return shares > 0 ? sqrt(power / shares) : 0;
}

static void find_largest(const double complex *bins, size_t length, uint32_t rate, double *gain,
                         double *hz)
{
    *gain = *hz = 0;
    for (size_t b = 0; b <= length / 2; b++)
        if (cabs(bins[b]) > *gain * (1 + 1e-9)) {
            *gain = cabs(bins[b]);
            *hz = (double)b * rate / (double)length;
        }
}

/* For a mean of logarithms. The floor makes the mean exact for a bin on a zero, since the product
 * of |1 - exp(2 pi i k / n)| over k = 1..n-1 is n. */
static double gain_between(const double complex *bins, size_t bin, size_t last)
{
    double before = cabs(bins[bin > 0 ? bin - 1 : 1]);
    double after = cabs(bins[bin < last ? bin + 1 : last - 1]);
    return fmax(cabs(bins[bin]), (before + after) / (4 * M_PI));
}

/* Jensen's formula: zeros outside the unit circle raise the mean of log |H| above the log of the
 * first tap. */
static bool is_minimum_phase(const double complex *bins, size_t length, double first, double gain)
{
    double sum = 0;
    for (size_t b = 0; b <= length / 2; b++)
        sum += (b == 0 || b == length / 2 ? 1 : 2) *
               log(fmax(gain_between(bins, b, length / 2), 1e-12 * gain));
    return sum / (double)length - log(fabs(first)) < excess_most;
}

static void add_column(const struct fft_double *fft, const struct response_span *span,
                       const double *taps)
{
    double *samples = fft_double_samples(fft);
    for (size_t k = 0; k < span->count; k++)
        samples[k] += taps[span->first + k];
}

static void clear(const struct fft_double *fft)
{
    memset(fft_double_samples(fft), 0, fft_double_length(fft) * sizeof(double));
}

static enum status find_column(const struct fft_double *fft, const struct response_span *span,
                               const struct mask *mask, size_t column, struct mask_stats *stats)
{
    const double *taps = mask_column(mask, column);
    struct mask_column_stats *own = &stats->column[column];
    find_sums(taps, mask->taps, own);
    TRY(room_acoustics_measure(taps, mask->taps, stats->rate, &own->room));
    if (own->silent)
        return STATUS_OK;
    find_symmetry(taps, mask->taps, own);
    find_ends(taps, mask->taps, stats->rate, own);
    clear(fft);
    add_column(fft, span, taps);
    fft_double_forward(fft);
    const double complex *bins = fft_double_bins(fft);
    size_t length = fft_double_length(fft);
    find_largest(bins, length, stats->rate, &own->gain, &own->gain_hz);
    own->pink = pink_gain(bins, length, stats->rate);
    double first = taps[first_above(taps, mask->taps, 1e-45)];
    own->minimum_phase = is_minimum_phase(bins, length, first, own->gain);
    return STATUS_OK;
}

/* Identical inputs add their columns, uncorrelated ones their powers. */
static void find_output(const struct fft_double *fft, const struct response_span *span,
                        const struct mask *mask, size_t output, struct mask_stats *stats)
{
    struct mask_output_stats *own = &stats->output[output];
    double power = 0;
    clear(fft);
    for (size_t p = 0; p < mask->path_count; p++) {
        size_t column = mask->paths[p].column;
        if (mask->paths[p].output != output)
            continue;
        add_column(fft, span, mask_column(mask, column));
        own->magnitude += stats->column[column].magnitude;
        power += pow(stats->column[column].pink, 2);
    }
    fft_double_forward(fft);
    const double complex *bins = fft_double_bins(fft);
    size_t length = fft_double_length(fft);
    find_largest(bins, length, stats->rate, &own->gain, &own->gain_hz);
    own->pink = fmax(pink_gain(bins, length, stats->rate), sqrt(power));
    own->headroom =
        fmax(0, fmin(audio_to_db(own->magnitude), audio_to_db(own->pink) + crest_out - crest_in));
}

static enum status find_loudest(const struct mask *mask, struct mask_stats *stats)
{
    struct response_axis axis = {
        .low = pink_low, .high = fmin(pink_high, stats->rate / 2.0), .points = TWELFTHS};
    double db[TWELFTHS];
    if (axis.low * 2 > axis.high) /* a very low rate */
        axis.low = axis.high / 2;
    TRY(response_measure(mask, stats->rate, &axis, db));
    stats->loudest = -INFINITY;
    for (size_t p = 0; p < TWELFTHS; p++)
        if (db[p] > stats->loudest) {
            stats->loudest = db[p];
            stats->loudest_hz = response_frequency(&axis, (double)p);
        }
    return STATUS_OK;
}

enum status mask_stats_init(struct mask_stats *stats, const struct mask *mask, uint32_t rate)
{
    struct fft_double *fft = NULL;
    struct response_span span = response_span(mask);
    size_t length = LENGTH_LEAST;
    while (length < span.count || (length < PADDING * span.count && length < LENGTH_WANTED))
        length *= 2;
    *stats = (struct mask_stats){
        .columns = mask->columns,
        .outputs = mask->outputs,
        .taps = mask->taps,
        .rate = rate,
        .column = calloc(mask->columns, sizeof *stats->column),
        .output = calloc(mask->outputs, sizeof *stats->output),
    };
    enum status status = stats->column && stats->output ? fft_double_create(length, &fft)
                                                        : fail_memory("statistics of a mask");
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++)
        status = find_column(fft, &span, mask, c, stats);
    for (size_t o = 0; o < mask->outputs && status == STATUS_OK; o++)
        find_output(fft, &span, mask, o, stats);
    if (status == STATUS_OK)
        status = find_loudest(mask, stats);
    fft_double_destroy(fft);
    if (status != STATUS_OK)
        mask_stats_free(stats);
    return status;
}

void mask_stats_free(struct mask_stats *stats)
{
    free(stats->column);
    free(stats->output);
    *stats = (struct mask_stats){0};
}
