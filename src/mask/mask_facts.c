#include "mask/mask_facts.h"

#include "mask/response.h"
#include "signal/audio.h"
#include "signal/fft_double.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_LEAST = 1 << 16, LENGTH_WANTED = 1 << 23, PADDING = 8, TWELFTHS = 120, EDGES = 10 };

static const double silence = 1e-5, quiet = 1e-3, loud = 0.1; /* of the peak */
static const double likeness = 5e-4;                          /* of the peak: as 16 bits round */
static const double edge_seconds = 1e-3;
static const double excess_most = 0.01;              /* nepers */
static const double pink_low = 20, pink_high = 20e3; /* Hz */
static const double crest_in = 9, crest_out = 12;    /* dB */
const int mask_facts_levels[MASK_FACTS_LEVELS] = {-60, -90, -120};

/* ---- from the taps ---- */

static size_t last_above(const float *taps, size_t count, double level)
{
    while (count > 0 && fabs((double)taps[count - 1]) < level)
        count--;
    return count;
}

static size_t first_above(const float *taps, size_t count, double level)
{
    size_t k = 0;
    while (k < count && fabs((double)taps[k]) < level)
        k++;
    return k;
}

static void find_sums(const float *taps, size_t count, struct mask_column_facts *facts)
{
    double moment = 0;
    for (size_t k = 0; k < count; k++) {
        double tap = taps[k];
        if (fabs(tap) > fabs(facts->peak)) {
            facts->peak = tap;
            facts->peak_at = k;
        }
        facts->dc += tap;
        facts->magnitude += fabs(tap);
        facts->energy += tap * tap;
        moment += tap * tap * (double)k;
    }
    facts->silent = facts->energy <= 0;
    facts->rms = sqrt(facts->energy / (double)count);
    facts->group_delay = facts->silent ? 0 : moment / facts->energy;
}

static void find_symmetry(const float *taps, size_t count, struct mask_column_facts *facts)
{
    size_t first = 0, last = count - 1;
    bool even = true, odd = true;
    while (taps[first] == 0)
        first++;
    while (taps[last] == 0)
        last--;
    facts->middle = ((double)first + (double)last) / 2;
    for (size_t i = first, j = last; i <= j && (even || odd); i++, j--) {
        even = even && fabs((double)taps[i] - taps[j]) <= likeness * fabs(facts->peak);
        odd = odd && fabs((double)taps[i] + taps[j]) <= likeness * fabs(facts->peak);
        if (j == 0)
            break;
    }
    facts->symmetry = even ? MASK_SYMMETRIC : odd ? MASK_ANTISYMMETRIC : MASK_ASYMMETRIC;
}

static void find_ends(const float *taps, size_t count, uint32_t rate,
                      struct mask_column_facts *facts)
{
    double peak = fabs(facts->peak);
    size_t edge = (size_t)ceil(edge_seconds * rate);
    if (edge > count)
        edge = count;
    for (size_t i = 0; i < MASK_FACTS_LEVELS; i++)
        facts->taps[i] = last_above(taps, count, audio_from_db(mask_facts_levels[i]) * peak);
    facts->silence_before = first_above(taps, count, silence * peak);
    facts->silence_after = count - last_above(taps, count, silence * peak);
    facts->onset = first_above(taps, count, quiet * peak);
    facts->attack = first_above(taps, count, loud * peak) - facts->onset;
    facts->start = (double)audio_peak(taps, edge) / peak;
    facts->end = (double)audio_peak(taps + count - edge, edge) / peak;
    if (count >= EDGES * edge)
        facts->before_end =
            (double)audio_peak(taps + count - EDGES * edge, (EDGES - 1) * edge) / peak;
}

/* ---- from the spectrum ---- */

/* The share of pink noise that a bin has. */
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

/* For a mean of logarithms. A bin right on a zero counts as what makes that mean exact, since the
 * product of |1 - exp(2 pi i k / n)| over k = 1..n-1 is n. */
static double gain_between(const double complex *bins, size_t bin, size_t last)
{
    double before = cabs(bins[bin > 0 ? bin - 1 : 1]);
    double after = cabs(bins[bin < last ? bin + 1 : last - 1]);
    return fmax(cabs(bins[bin]), (before + after) / (4 * M_PI));
}

/* Jensen: the mean of log |H| exceeds that of the first tap by what zeros outside the unit circle
 * add. */
static bool is_minimum_phase(const double complex *bins, size_t length, double first, double gain)
{
    double sum = 0;
    for (size_t b = 0; b <= length / 2; b++)
        sum += (b == 0 || b == length / 2 ? 1 : 2) *
               log(fmax(gain_between(bins, b, length / 2), 1e-12 * gain));
    return sum / (double)length - log(fabs(first)) < excess_most;
}

static void find_gains(const struct fft_double *fft, uint32_t rate, double first,
                       struct mask_column_facts *facts)
{
    const double complex *bins = fft_double_bins(fft);
    size_t length = fft_double_length(fft);
    find_largest(bins, length, rate, &facts->gain, &facts->gain_hz);
    facts->pink = pink_gain(bins, length, rate);
    facts->minimum_phase = is_minimum_phase(bins, length, first, facts->gain);
}

static void add_column(const struct fft_double *fft, const float *taps, size_t count)
{
    double *samples = fft_double_samples(fft);
    for (size_t k = 0; k < count; k++)
        samples[k] += (double)taps[k];
}

static void clear(const struct fft_double *fft)
{
    memset(fft_double_samples(fft), 0, fft_double_length(fft) * sizeof(double));
}

static void find_column(const struct fft_double *fft, const struct mask *mask, size_t column,
                        struct mask_facts *facts)
{
    const float *taps = mask_column(mask, column);
    struct mask_column_facts *own = &facts->column[column];
    find_sums(taps, mask->taps, own);
    if (own->silent)
        return;
    find_symmetry(taps, mask->taps, own);
    find_ends(taps, mask->taps, facts->rate, own);
    clear(fft);
    add_column(fft, taps, mask->taps);
    fft_double_forward(fft);
    find_gains(fft, facts->rate, (double)taps[first_above(taps, mask->taps, 1e-45)], own);
}

/* Of inputs that are alike by the sum of their columns, of others by the sum of their powers. */
static void find_output(const struct fft_double *fft, const struct mask *mask, size_t output,
                        struct mask_facts *facts)
{
    struct mask_output_facts *own = &facts->output[output];
    double power = 0;
    clear(fft);
    for (size_t p = 0; p < mask->path_count; p++) {
        size_t column = mask->paths[p].column;
        if (mask->paths[p].output != output)
            continue;
        add_column(fft, mask_column(mask, column), mask->taps);
        own->magnitude += facts->column[column].magnitude;
        power += pow(facts->column[column].pink, 2);
    }
    fft_double_forward(fft);
    const double complex *bins = fft_double_bins(fft);
    size_t length = fft_double_length(fft);
    find_largest(bins, length, facts->rate, &own->gain, &own->gain_hz);
    own->pink = fmax(pink_gain(bins, length, facts->rate), sqrt(power));
    own->headroom =
        fmax(0, fmin(audio_to_db(own->magnitude), audio_to_db(own->pink) + crest_out - crest_in));
}

static enum status find_loudest(const struct mask *mask, struct mask_facts *facts)
{
    struct response_axis axis = {pink_low, fmin(pink_high, facts->rate / 2.0), TWELFTHS};
    double db[TWELFTHS];
    if (axis.low * 2 > axis.high) /* a rate for no sound */
        axis.low = axis.high / 2;
    enum status status = response_measure(mask, facts->rate, &axis, db);
    facts->loudest = -INFINITY;
    for (size_t p = 0; p < TWELFTHS && status == STATUS_OK; p++)
        if (db[p] > facts->loudest) {
            facts->loudest = db[p];
            facts->loudest_hz = response_frequency(&axis, (double)p);
        }
    return status;
}

static size_t length_for(size_t taps)
{
    size_t length = LENGTH_LEAST;
    while (length < taps || (length < PADDING * taps && length < LENGTH_WANTED))
        length *= 2;
    return length;
}

enum status mask_facts_init(struct mask_facts *facts, const struct mask *mask, uint32_t rate)
{
    struct fft_double *fft = NULL;
    *facts = (struct mask_facts){
        .columns = mask->columns,
        .outputs = mask->outputs,
        .taps = mask->taps,
        .rate = rate,
        .column = calloc(mask->columns, sizeof *facts->column),
        .output = calloc(mask->outputs, sizeof *facts->output),
    };
    enum status status = facts->column && facts->output
                             ? fft_double_create(length_for(mask->taps), &fft)
                             : fail_memory("facts about a mask");
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++)
        find_column(fft, mask, c, facts);
    for (size_t o = 0; o < mask->outputs && status == STATUS_OK; o++)
        find_output(fft, mask, o, facts);
    if (status == STATUS_OK)
        status = find_loudest(mask, facts);
    fft_double_destroy(fft);
    if (status != STATUS_OK)
        mask_facts_free(facts);
    return status;
}

void mask_facts_free(struct mask_facts *facts)
{
    free(facts->column);
    free(facts->output);
    *facts = (struct mask_facts){0};
}
