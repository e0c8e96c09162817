/* Each new peak begins at the largest difference. After each, K. Levenberg's and D. Marquardt's
 * damped least squares refines all bands and the preamp. */
#include "design/band_fit.h"

#include "design/correct_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    STEP = 4, /* every fourth point of the curve is used */
    POINTS_MOST = CURVE_POINTS / STEP + 1,
    UNKNOWNS_MOST = 3 * BAND_FIT_MOST + 1,
    ROUNDS = 12,
    ROUNDS_LAST = 80,
};

static const double LOWEST = 20, HIGHEST = 20000; /* Hz */
static const double USABLE = 0.45;                /* highest frequency as a share of the rate */
static const double DB_LIMIT = 24, NUDGE = 0.01, SMOOTHED = 1.0 / 6; /* octaves */

struct band_fit {
    double rate, highest;
    size_t points;
    double hertz[POINTS_MOST], wanted[POINTS_MOST];
    struct eq_bands bands;
    double slopes[UNKNOWNS_MOST][POINTS_MOST];
    double matrix[UNKNOWNS_MOST][UNKNOWNS_MOST + 1]; /* normal equations and their right side */
};

static void band_levels(const struct band_fit *fit, const struct eq_band *band, double *levels)
{
    struct biquad section = eq_band_section(band, fit->rate);
    for (size_t p = 0; p < fit->points; p++)
        levels[p] = 20 * log10(biquad_magnitude(&section, fit->hertz[p], fit->rate));
}

/* What is left of the wanted levels. Returns the sum of its squares. */
static double residual(const struct band_fit *fit, const struct eq_bands *bands, double *left)
{
    double levels[POINTS_MOST], sum = 0;
    for (size_t p = 0; p < fit->points; p++)
        left[p] = fit->wanted[p] - bands->preamp;
    for (size_t b = 0; b < bands->count; b++) {
        band_levels(fit, &bands->bands[b], levels);
        for (size_t p = 0; p < fit->points; p++)
            left[p] -= levels[p];
    }
    for (size_t p = 0; p < fit->points; p++)
        sum += left[p] * left[p];
    return sum;
}

static double within(double value, double least, double most)
{
    return fmin(fmax(value, least), most);
}

/* Changes an unknown: frequency and Q in octaves, gains in dB. Number 3 * count is the preamp. */
static void nudge(const struct band_fit *fit, struct eq_bands *bands, size_t unknown, double by)
{
    struct eq_band *band = &bands->bands[unknown / 3];
    bool is_peak = band->kind == BIQUAD_PEAK;
    if (unknown == 3 * bands->count)
        bands->preamp += by;
    else if (unknown % 3 == 0)
        band->hertz = within(band->hertz * exp2(within(by, -1, 1)), LOWEST, fit->highest);
    else if (unknown % 3 == 1)
        band->db = within(band->db + by, -DB_LIMIT, DB_LIMIT);
    else
        band->q = within(band->q * exp2(within(by, -1, 1)), is_peak ? 0.3 : 0.4, is_peak ? 10 : 1);
}

/* How the levels change with each unknown. */
static void find_slopes(struct band_fit *fit)
{
    double levels[POINTS_MOST];
    size_t count = 3 * fit->bands.count;
    for (size_t u = 0; u < count; u++) {
        struct eq_bands bands = fit->bands;
        nudge(fit, &bands, u, NUDGE);
        band_levels(fit, &fit->bands.bands[u / 3], levels);
        band_levels(fit, &bands.bands[u / 3], fit->slopes[u]);
        for (size_t p = 0; p < fit->points; p++)
            fit->slopes[u][p] = (fit->slopes[u][p] - levels[p]) / NUDGE;
    }
    for (size_t p = 0; p < fit->points; p++)
        fit->slopes[count][p] = 1;
}

/* Solves the damped normal equations in place, by elimination: the matrix is positive definite. */
static void solve_changes(struct band_fit *fit, const double *left, double damping)
{
    size_t count = 3 * fit->bands.count + 1;
    for (size_t u = 0; u < count; u++)
        for (size_t v = 0; v <= count; v++) {
            double sum = u == v ? 1e-6 : 0;
            for (size_t p = 0; p < fit->points; p++)
                sum += fit->slopes[u][p] * (v < count ? fit->slopes[v][p] : left[p]);
            fit->matrix[u][v] = u == v ? sum * (1 + damping) : sum;
        }
    for (size_t u = 0; u < count; u++)
        for (size_t v = 0; v < count; v++) {
            double factor = v == u ? 0 : fit->matrix[v][u] / fit->matrix[u][u];
            for (size_t w = u; w <= count; w++)
                fit->matrix[v][w] -= factor * fit->matrix[u][w];
        }
    for (size_t u = 0; u < count; u++)
        fit->matrix[u][count] /= fit->matrix[u][u];
}

static void refine(struct band_fit *fit, size_t rounds)
{
    double left[POINTS_MOST], damping = 0.1, sum = residual(fit, &fit->bands, left);
    size_t count = 3 * fit->bands.count + 1;
    for (size_t round = 0; round < rounds; round++) {
        struct eq_bands bands = fit->bands;
        double other[POINTS_MOST];
        find_slopes(fit);
        solve_changes(fit, left, damping);
        for (size_t u = 0; u < count; u++)
            nudge(fit, &bands, u, fit->matrix[u][count]);
        double now = residual(fit, &bands, other);
        damping = within(now < sum ? damping / 3 : damping * 5, 1e-6, 1e6);
        if (now >= sum)
            continue;
        fit->bands = bands;
        sum = now;
        memcpy(left, other, sizeof left);
    }
}

static void add_peak(struct band_fit *fit)
{
    double left[POINTS_MOST];
    size_t top = 0, from, to;
    (void)residual(fit, &fit->bands, left);
    for (size_t p = 1; p < fit->points; p++)
        if (fabs(left[p]) > fabs(left[top]))
            top = p;
    for (from = top; from > 0 && left[from - 1] / left[top] > 0.5; from--)
        ;
    for (to = top; to + 1 < fit->points && left[to + 1] / left[top] > 0.5; to++)
        ;
    double octaves = (double)((to - from + 1) * STEP) / CURVE_PER_OCTAVE;
    double q = within(1 / octaves, 0.3, 10), db = within(left[top], -DB_LIMIT, DB_LIMIT);
    fit->bands.bands[fit->bands.count++] =
        (struct eq_band){.kind = BIQUAD_PEAK, .hertz = fit->hertz[top], .db = db, .q = q};
}

static enum status find_wanted(const double *taps, size_t count, struct band_fit *fit)
{
    double powers[CURVE_POINTS], levels[CURVE_POINTS];
    TRY(curve_measure(taps, count, 0, fit->rate, 0, powers));
    curve_smooth(powers, SMOOTHED, levels);
    for (size_t p = curve_point(LOWEST); p < curve_point(fit->highest); p += STEP) {
        fit->hertz[fit->points] = curve_hertz(p);
        fit->wanted[fit->points++] = levels[p];
    }
    fit->bands.preamp = curve_mean(levels, LOWEST, fit->highest);
    return STATUS_OK;
}

static void fit_bands(struct band_fit *fit, size_t count)
{
    static const struct eq_band shelves[] = {{BIQUAD_LOW_SHELF, 100, 0, M_SQRT1_2},
                                             {BIQUAD_HIGH_SHELF, 6000, 0, M_SQRT1_2}};
    for (size_t b = 0; b < count; b++) {
        if (count >= 3 && b < 2 && shelves[b].hertz < fit->highest)
            fit->bands.bands[fit->bands.count++] = shelves[b];
        else
            add_peak(fit);
        refine(fit, b + 1 < count ? ROUNDS : ROUNDS_LAST);
    }
}

enum status band_fit(const double *taps, size_t taps_count, double rate, size_t count,
                     struct eq_bands *bands, double *error)
{
    double left[POINTS_MOST];
    struct band_fit *fit = calloc(1, sizeof *fit);
    if (!fit)
        return fail_memory("an equaliser");
    fit->rate = rate;
    fit->highest = fmin(HIGHEST, USABLE * rate);
    enum status status = find_wanted(taps, taps_count, fit);
    if (status == STATUS_OK) {
        fit_bands(fit, count);
        *bands = fit->bands;
        *error = sqrt(residual(fit, bands, left) / (double)fit->points);
    }
    free(fit);
    return status;
}
