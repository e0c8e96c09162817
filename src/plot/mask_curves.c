#include "plot/mask_curves.h"

#include "acoustics/room_acoustics.h"
#include "signal/audio.h"
#include "signal/fft_double.h"
#include "spectrogram/spectrogram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FREQUENCIES = 1200, /* points of an axis */
    PADDING = 8,
    LENGTH_MOST = 1 << 21,
    PICTURE_COLUMNS = 240, /* the most columns of a spectrogram */
    PICTURE_ROWS = 120,
    WINDOW_LEAST = 64,
    WINDOWS_WANTED = 16, /* windows that should fit into the mask */
};

static const double lowest = 20, finest = 0.1; /* Hz */
static const double window_most = 0.04;        /* seconds of a spectrogram's window */
static const double gap_gain = 1e-3, least_gain = 1e-20;
static const double half_turn = 179.5; /* degrees; from here on, -180 and 180 count as equal */
static const double twelfth = 1.0 / 12;
static const double rough_dip = 0.1; /* part of the mean */

void curve_free(struct curve *curve)
{
    free(curve->x);
    free(curve->y);
    *curve = (struct curve){0};
}

static enum status curve_init(struct curve *curve, size_t most)
{
    *curve = (struct curve){0, calloc(most, sizeof(double)), calloc(most, sizeof(double))};
    if (curve->x && curve->y)
        return STATUS_OK;
    curve_free(curve);
    return fail_memory("a curve");
}

static void curve_add(struct curve *curve, double x, double y)
{
    curve->x[curve->count] = x;
    curve->y[curve->count++] = y;
}

/* Adds a point's values. If there are several, only the least and the largest, in their order. */
static void add_extremes(struct curve *curve, const double *values, size_t from, size_t end,
                         double hz_of_bin)
{
    size_t least = from, largest = from;
    for (size_t i = from; i < end; i++) {
        least = values[i] < values[least] ? i : least;
        largest = values[i] > values[largest] ? i : largest;
    }
    size_t first = least < largest ? least : largest, second = least < largest ? largest : least;
    curve_add(curve, (double)first * hz_of_bin, values[first]);
    if (second != first)
        curve_add(curve, (double)second * hz_of_bin, values[second]);
}

/* The peak's place, or halfway between the first and the last of equal peaks. */
static double delay_of(const double *taps, size_t count)
{
    double peak = 0;
    size_t first = 0, last = 0;
    for (size_t k = 0; k < count; k++)
        peak = fmax(peak, fabs((double)taps[k]));
    for (size_t k = count; k-- > 0;)
        first = fabs((double)taps[k]) > 0.999 * peak ? k : first;
    for (size_t k = 0; k < count; k++)
        last = fabs((double)taps[k]) > 0.999 * peak ? k : last;
    return ((double)first + (double)last) / 2;
}

/* Transforms the taps or, with `times_index`, the taps times their index. */
static double complex *transform(const struct fft_double *fft, const double *taps, size_t count,
                                 bool times_index)
{
    size_t length = fft_double_length(fft);
    double *samples = fft_double_samples(fft);
    double complex *bins = calloc(length / 2 + 1, sizeof *bins);
    if (!bins)
        return NULL;
    memset(samples, 0, length * sizeof *samples);
    for (size_t k = 0; k < count; k++)
        samples[k] = (double)taps[k] * (times_index ? (double)k : 1);
    fft_double_forward(fft);
    memcpy(bins, fft_double_bins(fft), (length / 2 + 1) * sizeof *bins);
    return bins;
}

enum status mask_spectrum_init(struct mask_spectrum *spectrum, const struct mask *mask,
                               size_t column, uint32_t rate)
{
    struct fft_double *fft = NULL;
    const double *taps = mask_column(mask, column);
    size_t length = 1 << 10;
    while (
        length < mask->taps ||
        ((length < PADDING * mask->taps || (double)length * finest < rate) && length < LENGTH_MOST))
        length *= 2;
    *spectrum = (struct mask_spectrum){
        .length = length,
        .rate = rate,
        .delay = delay_of(taps, mask->taps) / rate,
        .origin = (double)mask->origin / rate,
        .low = fmin(lowest, rate / 20.0),
        .high = rate / 2.0,
        .smoothing = twelfth,
        .points = FREQUENCIES,
    };
    TRY(fft_double_create(spectrum->length, &fft));
    spectrum->gains = calloc(spectrum->length / 2 + 1, sizeof *spectrum->gains);
    spectrum->bins = transform(fft, taps, mask->taps, false);
    spectrum->moments = transform(fft, taps, mask->taps, true);
    fft_double_destroy(fft);
    if (!spectrum->gains || !spectrum->bins || !spectrum->moments) {
        mask_spectrum_free(spectrum);
        return fail_memory("a curve");
    }
    for (size_t b = 0; b <= spectrum->length / 2; b++) {
        spectrum->gains[b] = cabs(spectrum->bins[b]);
        spectrum->largest = fmax(spectrum->largest, spectrum->gains[b]);
    }
    return STATUS_OK;
}

void mask_spectrum_free(struct mask_spectrum *spectrum)
{
    free(spectrum->gains);
    free(spectrum->bins);
    free(spectrum->moments);
    *spectrum = (struct mask_spectrum){0};
}

/* A point's bins, at least one: those nearer to it than to others, or within `smoothing`. */
struct bin_share {
    double hz;
    size_t from, end;
};

static struct bin_share share_of(const struct mask_spectrum *spectrum, size_t point, bool smooth)
{
    double ratio = spectrum->high / spectrum->low;
    double hz = spectrum->low * pow(ratio, (double)point / (double)(spectrum->points - 1));
    double half =
        smooth ? exp2(spectrum->smoothing / 2) : pow(ratio, 0.5 / (double)(spectrum->points - 1));
    double bin = (double)spectrum->length / spectrum->rate, last = (double)spectrum->length / 2;
    struct bin_share share = {hz, (size_t)fmin(ceil(hz / half * bin), last),
                              (size_t)fmin(floor(hz * half * bin), last) + 1};
    if (share.end <= share.from) {
        share.from = (size_t)fmin(rint(hz * bin), last);
        share.end = share.from + 1;
        share.hz = (double)share.from / bin;
    }
    return share;
}

static double mean_gain(const struct mask_spectrum *spectrum, struct bin_share share)
{
    double power = 0;
    for (size_t b = share.from; b < share.end; b++)
        power += pow(spectrum->gains[b], 2);
    return sqrt(power / (double)(share.end - share.from));
}

bool mask_spectrum_is_rough(const struct mask_spectrum *spectrum)
{
    size_t rough = 0, of = 0;
    for (size_t p = 0; p < spectrum->points; p++) {
        struct bin_share share = share_of(spectrum, p, true);
        double least = INFINITY, mean = mean_gain(spectrum, share);
        for (size_t b = share.from; b < share.end; b++)
            least = fmin(least, spectrum->gains[b]);
        if (mean < gap_gain * spectrum->largest)
            continue;
        rough += least < rough_dip * mean;
        of++;
    }
    return rough > of / 4;
}

enum status curve_magnitude(const struct mask_spectrum *spectrum, bool smooth, struct curve *curve)
{
    TRY(curve_init(curve, 2 * spectrum->points));
    for (size_t p = 0; p < spectrum->points; p++) {
        struct bin_share share = share_of(spectrum, p, smooth);
        if (smooth)
            curve_add(curve, share.hz, mean_gain(spectrum, share));
        else
            add_extremes(curve, spectrum->gains, share.from, share.end,
                         spectrum->rate / (double)spectrum->length);
    }
    for (size_t i = 0; i < curve->count; i++)
        curve->y[i] = spectrum->largest > 0 ? 20 * log10(fmax(curve->y[i], least_gain)) : NAN;
    return STATUS_OK;
}

enum status curve_phase(const struct mask_spectrum *spectrum, struct curve *curve)
{
    double before = NAN;
    TRY(curve_init(curve, 2 * spectrum->points));
    for (size_t p = 0; p < spectrum->points; p++) {
        struct bin_share share = share_of(spectrum, p, false);
        size_t bin = (share.from + share.end) / 2;
        double hz = (double)bin * spectrum->rate / (double)spectrum->length;
        double complex value = spectrum->bins[bin] * cexp(2 * M_PI * I * hz * spectrum->delay);
        double degrees =
            cabs(value) > gap_gain * spectrum->largest ? carg(value) * 180 / M_PI : NAN;
        if (degrees < -half_turn)
            degrees += 360;
        if (fabs(degrees - before) > 180)
            curve_add(curve, hz, NAN);
        curve_add(curve, hz, degrees);
        before = degrees;
    }
    return STATUS_OK;
}

enum status curve_group_delay(const struct mask_spectrum *spectrum, bool smooth,
                              struct curve *curve)
{
    TRY(curve_init(curve, spectrum->points));
    for (size_t p = 0; p < spectrum->points; p++) {
        struct bin_share share = share_of(spectrum, p, smooth);
        double power = 0, moment = 0;
        for (size_t b = share.from; b < share.end; b++) {
            power += pow(spectrum->gains[b], 2);
            moment += creal(conj(spectrum->bins[b]) * spectrum->moments[b]);
        }
        bool gap = mean_gain(spectrum, share) <= gap_gain * spectrum->largest;
        curve_add(curve, share.hz,
                  gap ? NAN : 1e3 * (moment / power / spectrum->rate - spectrum->origin));
    }
    return STATUS_OK;
}

enum status curve_thirds(const double levels[MEASURED_THIRDS], struct curve *curve)
{
    TRY(curve_init(curve, MEASURED_THIRDS));
    for (size_t t = 0; t < MEASURED_THIRDS; t++)
        curve_add(curve, measured_hz(t), levels[t]);
    return STATUS_OK;
}

/* The tap at a time, from 0 to `most`. */
static size_t tap_of(const struct mask *mask, uint32_t rate, double seconds, size_t most)
{
    return (size_t)fmin(fmax(rint(seconds * rate) + (double)mask->origin, 0), (double)most);
}

enum status mask_spectrogram_init(const struct mask *mask, size_t column, uint32_t rate, double low,
                                  double high, const struct time_axis *time,
                                  struct spectrogram *picture)
{
    struct spectrogram_frame *frame = NULL;
    size_t first = tap_of(mask, rate, time->from, mask->taps - 1);
    size_t end = tap_of(mask, rate, time->to, mask->taps - 1) + 1;
    size_t taps = end > first ? end - first : 1, window = WINDOW_LEAST;
    while (window < taps / WINDOWS_WANTED && (double)window * 2 < window_most * rate)
        window *= 2;
    size_t columns = taps < PICTURE_COLUMNS ? taps : PICTURE_COLUMNS;
    double step = (double)taps / (double)columns;
    *picture = (struct spectrogram){
        .axis = {.is_log = true, .rows = PICTURE_ROWS, .low = low, .high = high},
        .columns = columns,
        .from = ((double)first - (double)mask->origin) / rate,
        .step = step / rate,
        .power = calloc(columns * PICTURE_ROWS, sizeof *picture->power),
    };
    float *samples = calloc(window, sizeof *samples);
    struct spectrogram_frame_settings settings = {.window = WINDOW_HANN,
                                                  .size = window,
                                                  .padding = PADDING,
                                                  .rate = rate,
                                                  .mean = true,
                                                  .axis = picture->axis};
    enum status status = picture->power && samples ? spectrogram_frame_create(&settings, &frame)
                                                   : fail_memory("a spectrogram");
    for (size_t c = 0; c < columns && status == STATUS_OK; c++) {
        double start = (double)first + rint(((double)c + 0.5) * step) - (double)window / 2;
        for (size_t i = 0; i < window; i++) {
            double at = start + (double)i;
            bool is_inside = at >= 0 && at < (double)mask->taps;
            samples[i] = is_inside ? (float)mask_column(mask, column)[(size_t)at] : 0;
        }
        spectrogram_frame_measure(frame, samples, picture->power + c * PICTURE_ROWS);
    }
    double largest = status == STATUS_OK ? spectrogram_find_peak(picture).power : 0;
    for (size_t i = 0; i < columns * PICTURE_ROWS && largest > 0; i++)
        picture->power[i] = (float)((double)picture->power[i] / largest);
    if (status != STATUS_OK)
        spectrogram_free(picture);
    spectrogram_frame_destroy(frame);
    free(samples);
    return status;
}

enum { TIMES = 2000 /* points of an axis */ };

static const double least_db = -400;

static enum status fill_impulse(const struct mask *mask, size_t column, uint32_t rate,
                                double *values)
{
    (void)rate;
    for (size_t k = 0; k < mask->taps; k++)
        values[k] = mask_column(mask, column)[k];
    return STATUS_OK;
}

static enum status fill_step(const struct mask *mask, size_t column, uint32_t rate, double *values)
{
    (void)rate;
    for (size_t k = 0; k < mask->taps; k++)
        values[k] = mask_column(mask, column)[k] + (k ? values[k - 1] : 0);
    return STATUS_OK;
}

/* Computes the energy of the taps themselves. An envelope by a Hilbert transform would not do: its
 * kernel falls as 1/t, so a constant in the response would show above the end of any decay. */
static enum status fill_energy(const struct mask *mask, size_t column, uint32_t rate,
                               double *values)
{
    (void)rate;
    double silence =
        audio_peak_in_double(mask_column(mask, column), mask->taps) > 0 ? least_db : NAN;
    for (size_t k = 0; k < mask->taps; k++) {
        double level = audio_to_db(fabs(mask_column(mask, column)[k]));
        values[k] = level > least_db ? level : silence;
    }
    return STATUS_OK;
}

static enum status fill_decay(const struct mask *mask, size_t column, uint32_t rate, double *values)
{
    struct room_decay decay;
    size_t onset;
    TRY(room_decay_of_taps(&decay, mask_column(mask, column), mask->taps, rate, &onset));
    for (size_t k = 0; k < mask->taps; k++) {
        size_t from = k > onset ? k - onset : 0;
        bool is_known = decay.knee > 0 && from <= decay.knee && from < decay.count;
        values[k] = is_known ? 10 * log10(decay.energy[from] / decay.total) : NAN;
    }
    room_decay_free(&decay);
    return STATUS_OK;
}

static enum status (*const fill[])(const struct mask *, size_t column, uint32_t rate,
                                   double *values) = {
    [TIME_CURVE_IMPULSE] = fill_impulse,
    [TIME_CURVE_STEP] = fill_step,
    [TIME_CURVE_ENERGY] = fill_energy,
    [TIME_CURVE_DECAY] = fill_decay,
};

struct time_values {
    const double *values; /* values of all taps */
    const struct mask *mask;
    const struct time_axis *axis;
    double rate;
    enum time_curve kind;
};

/* The first tap at or after a share of the axis. */
static size_t tap_at(const struct time_values *of, double share)
{
    const struct time_axis *axis = of->axis;
    double seconds = axis->is_log ? axis->from * pow(axis->to / axis->from, share)
                                  : axis->from + (axis->to - axis->from) * share;
    double tap = ceil(seconds * of->rate + (double)of->mask->origin - 1e-6);
    return (size_t)fmin(fmax(tap, 0), (double)of->mask->taps);
}

static void add(const struct time_values *of, size_t tap, struct curve *curve)
{
    double seconds = ((double)tap - (double)of->mask->origin) / of->rate;
    curve_add(curve, of->axis->gathers ? fmax(seconds, of->axis->from) : seconds, of->values[tap]);
}

/* Adds a point's least and largest value, in their order. For an energy adds only the largest. */
static void add_point(const struct time_values *of, size_t from, size_t end, struct curve *curve)
{
    size_t least = end, largest = end;
    for (size_t k = from; k < end; k++) {
        if (isnan(of->values[k]))
            continue;
        least = least == end || of->values[k] < of->values[least] ? k : least;
        largest = largest == end || of->values[k] > of->values[largest] ? k : largest;
    }
    if (largest == end)
        return;
    size_t first = least < largest ? least : largest, second = least < largest ? largest : least;
    if (of->kind == TIME_CURVE_ENERGY)
        first = second = largest;
    add(of, first, curve);
    if (second != first)
        add(of, second, curve);
}

static size_t points_of(const struct time_axis *axis)
{
    return axis->points ? axis->points : TIMES;
}

/* Adds all points. A point is one tap or, if there are too many taps, a share of the axis. */
static void add_points(const struct time_values *of, struct curve *curve)
{
    size_t points = points_of(of->axis);
    size_t from = of->axis->gathers ? 0 : tap_at(of, 0);
    size_t last = tap_at(of, 1) < of->mask->taps ? tap_at(of, 1) + 1 : of->mask->taps;
    if (last - from <= 2 * points && !of->axis->is_log) {
        for (size_t k = from; k < last; k++)
            add_point(of, k, k + 1, curve);
        return;
    }
    for (size_t p = 1; p <= points; p++) {
        size_t end = p < points ? tap_at(of, (double)p / (double)points) : last;
        if (end > from) {
            add_point(of, from, end, curve);
            from = end;
        }
    }
}

enum status curve_time(const struct mask *mask, size_t column, uint32_t rate, enum time_curve kind,
                       const struct time_axis *axis, struct curve *curve)
{
    double *values = calloc(mask->taps, sizeof *values);
    if (!values)
        return fail_memory("a curve");
    struct time_values of = {values, mask, axis, rate, kind};
    enum status status = fill[kind](mask, column, rate, values);
    if (status == STATUS_OK)
        status = curve_init(curve, 2 * points_of(axis));
    if (status == STATUS_OK)
        add_points(&of, curve);
    free(values);
    return status;
}

/* ---- waterfalls ---- */

enum { SLICES = 40 };

static const double rise_most = 0.01; /* seconds; longest fade-in of a slice */

/* Cuts the taps before a time. Those just before it are faded in. */
static void cut_before(const double *taps, size_t count, double from, double rise, double *cut)
{
    for (size_t k = 0; k < count; k++) {
        double place = fmin(fmax(1 - (from - (double)k) / rise, 0), 1);
        cut[k] = taps[k] * (0.5 - 0.5 * cos(M_PI * place));
    }
}

static enum status measure_slices(struct waterfall *waterfall, const double *taps, size_t count,
                                  double onset, uint32_t rate, double *slice)
{
    double rise = fmax(1, fmin(rise_most, waterfall->step) * rate), largest = -INFINITY;
    struct mask_path path;
    struct mask mask = response_column(slice, count, rate, &path);
    for (size_t s = 0; s < waterfall->slices; s++) {
        double *db = waterfall->db + s * waterfall->axis.points;
        cut_before(taps, count, onset + (double)s * waterfall->step * rate, rise, slice);
        if (s == 0)
            memcpy(slice, taps, count * sizeof *slice);
        TRY(response_measure(&mask, rate, &waterfall->axis, db));
        for (size_t p = 0; p < waterfall->axis.points && s == 0; p++)
            largest = fmax(largest, db[p]);
    }
    for (size_t i = 0; i < waterfall->slices * waterfall->axis.points; i++)
        waterfall->db[i] -= isfinite(largest) ? largest : 0;
    return STATUS_OK;
}

enum status waterfall_init(struct waterfall *waterfall, const struct mask *mask, size_t column,
                           uint32_t rate, double seconds, const struct response_axis *axis)
{
    const double *taps = mask_column(mask, column);
    double onset = (double)room_acoustics_onset(taps, mask->taps);
    *waterfall =
        (struct waterfall){.axis = *axis, .slices = SLICES, .step = seconds / (SLICES - 1)};
    waterfall->db = calloc(axis->points * SLICES, sizeof *waterfall->db);
    double *slice = calloc(mask->taps, sizeof *slice);
    enum status status = waterfall->db && slice
                             ? measure_slices(waterfall, taps, mask->taps, onset, rate, slice)
                             : fail_memory("a waterfall");
    free(slice);
    if (status != STATUS_OK)
        waterfall_free(waterfall);
    return status;
}

void waterfall_free(struct waterfall *waterfall)
{
    free(waterfall->db);
    *waterfall = (struct waterfall){0};
}
