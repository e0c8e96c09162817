#include "signal/remez.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { DENSITY = 96, DENSITY_LEAST = 24, TERMS_MANY = 200, EXCHANGES_MOST = 100, TERMS_SMALL = 40 };

static const double ROUNDING = 1e-13; /* rounding of errors, for gains around 1 */
static const double ENOUGH = 1e-10;   /* weighted error that is below anything audible */
static const double CLOSE = 1e-7;     /* relative to the ripple; peaks so close count as equal */

/* The problem in cosines: P(x) = sum of a[k] cos(2 pi f k), with x = cos(2 pi f). */
struct exchange {
    size_t terms;  /* terms of the sum */
    size_t points; /* points of the grid */
    double *frequency, *wanted, *weight, *error;
    size_t *extremes; /* terms + 1 grid indices */
    size_t *found;    /* grid indices of the error's peaks; room for all points */
    double *x, *y, *barycentric;
    double delta;
};

/* Grid points per term. Between grid points the error is about 1 / density^2 larger. */
static double density(const struct exchange *exchange)
{
    return exchange->terms < TERMS_MANY ? DENSITY : DENSITY_LEAST;
}

static size_t band_points(const struct remez_band *band, const struct exchange *exchange)
{
    double points = (band->to - band->from) * 2 * density(exchange) * (double)exchange->terms;
    return (size_t)ceil(points) + 2;
}

/* Fills the grid. With an even number of taps, the target is divided by their factor cos(pi f). */
static void fill_grid(struct exchange *exchange, const struct remez_band *bands, size_t band_count,
                      bool even)
{
    size_t at = 0;
    for (size_t b = 0; b < band_count; b++) {
        size_t count = band_points(&bands[b], exchange);
        double to = bands[b].to;
        if (even) /* the common factor is 0 at half the rate */
            to = fmin(to, 0.5 - 0.5 / (density(exchange) * (double)exchange->terms));
        for (size_t i = 0; i < count; i++, at++) {
            double share = (double)i / ((double)count - 1);
            double f = bands[b].from + (to - bands[b].from) * share;
            double factor = even ? cos(M_PI * f) : 1;
            exchange->frequency[at] = f;
            exchange->wanted[at] = bands[b].gain / factor;
            exchange->weight[at] = bands[b].weight * factor;
        }
    }
}

/* Doubles differences, since -1..1 has capacity 1/2: long products stay within range. */
static void find_weights(struct exchange *exchange)
{
    size_t count = exchange->terms + 1;
    for (size_t i = 0; i < count; i++)
        exchange->x[i] = cos(2 * M_PI * exchange->frequency[exchange->extremes[i]]);
    for (size_t i = 0; i < count; i++) {
        double product = 1;
        for (size_t j = 0; j < count; j++)
            if (j != i)
                product *= 2 * (exchange->x[i] - exchange->x[j]);
        exchange->barycentric[i] = 1 / product;
    }
}

static void find_delta(struct exchange *exchange)
{
    double above = 0, below = 0, sign = 1;
    for (size_t i = 0; i <= exchange->terms; i++, sign = -sign) {
        size_t at = exchange->extremes[i];
        above += exchange->barycentric[i] * exchange->wanted[at];
        below += sign * exchange->barycentric[i] / exchange->weight[at];
    }
    exchange->delta = above / below;
    sign = 1;
    for (size_t i = 0; i <= exchange->terms; i++, sign = -sign) {
        size_t at = exchange->extremes[i];
        exchange->y[i] = exchange->wanted[at] - sign * exchange->delta / exchange->weight[at];
    }
}

static double interpolate(const struct exchange *exchange, double frequency)
{
    double x = cos(2 * M_PI * frequency), above = 0, below = 0;
    for (size_t i = 0; i <= exchange->terms; i++) {
        double distance = x - exchange->x[i];
        if (fabs(distance) < 1e-15)
            return exchange->y[i];
        double share = exchange->barycentric[i] / distance;
        above += share * exchange->y[i];
        below += share;
    }
    return above / below;
}

/* ---- the exchange ---- */

static double magnitude_at(const struct exchange *exchange, size_t place)
{
    return fabs(exchange->error[exchange->found[place]]);
}

/* Finds the error's peaks that reach the last level; of neighbours with one sign, the largest. */
static size_t find_peaks(struct exchange *exchange)
{
    const double *error = exchange->error;
    size_t count = 0, last = exchange->points - 1;
    double level = fabs(exchange->delta) * (1 - 1e-9) - ROUNDING;
    for (size_t i = 0; i <= last; i++) {
        double now = fabs(error[i]);
        bool peak = now >= level &&
                    (i == 0 || error[i] * error[i - 1] < 0 || now >= fabs(error[i - 1])) &&
                    (i == last || error[i] * error[i + 1] < 0 || now > fabs(error[i + 1]));
        if (!peak)
            continue;
        bool same = count > 0 && error[exchange->found[count - 1]] * error[i] > 0;
        if (!same)
            exchange->found[count++] = i;
        else if (now > magnitude_at(exchange, count - 1))
            exchange->found[count - 1] = i;
    }
    return count;
}

static size_t remove_peaks(struct exchange *exchange, size_t count, size_t from, size_t many)
{
    for (size_t i = from; i + many < count; i++)
        exchange->found[i] = exchange->found[i + many];
    return count - many;
}

/* Drops the smallest surplus peaks, one at an end or two neighbours, so that signs alternate. */
static size_t thin_peaks(struct exchange *exchange, size_t count)
{
    size_t wanted = exchange->terms + 1;
    while (count > wanted) {
        if (count == wanted + 1) {
            bool first = magnitude_at(exchange, 0) < magnitude_at(exchange, count - 1);
            count = remove_peaks(exchange, count, first ? 0 : count - 1, 1);
            continue;
        }
        size_t least = 0;
        double smallest = INFINITY;
        for (size_t i = 0; i + 1 < count; i++) {
            double pair = fmax(magnitude_at(exchange, i), magnitude_at(exchange, i + 1));
            if (pair < smallest) {
                smallest = pair;
                least = i;
            }
        }
        count = remove_peaks(exchange, count, least, 2);
    }
    return count;
}

enum remez_progress { GOING_ON, LEVEL, STUCK };

static enum remez_progress exchange_once(struct exchange *exchange)
{
    double largest = 0;
    find_weights(exchange);
    find_delta(exchange);
    for (size_t i = 0; i < exchange->points; i++) {
        double gain = interpolate(exchange, exchange->frequency[i]);
        exchange->error[i] = exchange->weight[i] * (exchange->wanted[i] - gain);
        if (!isfinite(exchange->error[i]))
            return STUCK;
        largest = fmax(largest, fabs(exchange->error[i]));
    }
    if (largest - fabs(exchange->delta) <= CLOSE * largest || largest < ENOUGH)
        return LEVEL;
    size_t count = thin_peaks(exchange, find_peaks(exchange));
    if (count < exchange->terms + 1)
        return STUCK;
    memcpy(exchange->extremes, exchange->found, count * sizeof *exchange->extremes);
    return GOING_ON;
}

static bool exchange_run(struct exchange *exchange)
{
    enum remez_progress progress = GOING_ON;
    for (int i = 0; i < EXCHANGES_MOST && progress == GOING_ON; i++)
        progress = exchange_once(exchange);
    return progress == LEVEL;
}

/* ---- initial extremes ---- */

/* Places extremes evenly: at least one in each band, in proportion to its width. */
static void begin_evenly(struct exchange *exchange, const struct remez_band *bands,
                         size_t band_count)
{
    size_t wanted = exchange->terms + 1, placed = 0, first = 0;
    for (size_t b = 0; b < band_count; b++) {
        size_t points = band_points(&bands[b], exchange), left = band_count - 1 - b;
        size_t share = 1 + (wanted - band_count) * points / exchange->points;
        if (left == 0 || share > wanted - placed - left)
            share = wanted - placed - left;
        for (size_t i = 0; i < share; i++)
            exchange->extremes[placed++] =
                first + (share > 1 ? i * (points - 1) / (share - 1) : points / 2);
        first += points;
    }
}

/* The last grid index at or below a frequency. */
static size_t grid_place(const struct exchange *exchange, double frequency)
{
    size_t low = 0, high = exchange->points - 1;
    while (low < high) {
        size_t middle = (low + high + 1) / 2;
        if (exchange->frequency[middle] <= frequency)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Scales up the extremes of a smaller design. S.-I. Filip, "A robust and scalable implementation of
 * the Parks-McClellan algorithm", 2016. */
static void begin_like(struct exchange *exchange, const struct exchange *smaller)
{
    size_t last = exchange->terms;
    for (size_t i = 0; i <= last; i++) {
        double at = (double)i * (double)smaller->terms / (double)last;
        size_t below = (size_t)at < smaller->terms ? (size_t)at : smaller->terms - 1;
        double from = smaller->frequency[smaller->extremes[below]];
        double to = smaller->frequency[smaller->extremes[below + 1]];
        exchange->extremes[i] = grid_place(exchange, from + (to - from) * (at - (double)below));
    }
    /* Makes them distinct and keeps them within the grid. */
    for (size_t i = 1; i <= last; i++)
        if (exchange->extremes[i] <= exchange->extremes[i - 1])
            exchange->extremes[i] = exchange->extremes[i - 1] + 1;
    for (size_t i = last + 1, most = exchange->points; i > 0; i--, most--)
        if (exchange->extremes[i - 1] >= most)
            exchange->extremes[i - 1] = most - 1;
}

/* Computes the taps: the inverse transform of the response at multiples of 1 / count. */
static enum status evaluate_taps(const struct exchange *exchange, double *taps, size_t count)
{
    size_t samples = (count + 1) / 2;
    double *response = malloc(samples * sizeof *response);
    if (!response)
        return fail_memory("a filter design");
    for (size_t k = 0; k < samples; k++) {
        double f = (double)k / (double)count;
        response[k] = interpolate(exchange, f) * (count % 2 ? 1 : cos(M_PI * f));
    }
    for (size_t i = 0; i < samples; i++) {
        double sum = response[0],
               turn = M_PI * (2 * (double)i - (double)(count - 1)) / (double)count;
        for (size_t k = 1; k < samples; k++)
            sum += 2 * response[k] * cos((double)k * turn);
        taps[i] = taps[count - 1 - i] = sum / (double)count;
    }
    free(response);
    return STATUS_OK;
}

static void exchange_free(struct exchange *exchange)
{
    free(exchange->frequency);
    free(exchange->x);
    free(exchange->extremes);
}

static enum status exchange_init(struct exchange *exchange, const struct remez_band *bands,
                                 size_t band_count, size_t terms, bool even)
{
    size_t points = 0;
    *exchange = (struct exchange){.terms = terms};
    for (size_t b = 0; b < band_count; b++)
        points += band_points(&bands[b], exchange);
    exchange->points = points;
    exchange->frequency = calloc(4 * points, sizeof(double));
    exchange->x = calloc(3 * (terms + 1), sizeof(double));
    exchange->extremes = calloc(terms + 1 + points, sizeof(size_t));
    if (!exchange->frequency || !exchange->x || !exchange->extremes)
        return fail_memory("a filter design");
    exchange->wanted = exchange->frequency + points;
    exchange->weight = exchange->wanted + points;
    exchange->error = exchange->weight + points;
    exchange->y = exchange->x + terms + 1;
    exchange->barycentric = exchange->y + terms + 1;
    exchange->found = exchange->extremes + terms + 1;
    fill_grid(exchange, bands, band_count, even);
    return STATUS_OK;
}

/* Solves smaller designs first. Each is the initial guess of the next. */
static enum status solve(struct exchange *exchange, const struct remez_band *bands,
                         size_t band_count, size_t terms, bool even, bool *level)
{
    int halvings = 0;
    while (terms >> halvings > TERMS_SMALL)
        halvings++;
    enum status status = STATUS_OK;
    for (; halvings >= 0 && status == STATUS_OK; halvings--) {
        struct exchange smaller = *exchange;
        status = exchange_init(exchange, bands, band_count, terms >> halvings, even);
        if (status == STATUS_OK && *level)
            begin_like(exchange, &smaller);
        else if (status == STATUS_OK)
            begin_evenly(exchange, bands, band_count);
        *level = status == STATUS_OK && exchange_run(exchange);
        exchange_free(&smaller);
    }
    return status;
}

static enum status refuse(size_t count, const char *advice)
{
    return fail(CAUSE_OTHER, "the equiripple design of %zu taps does not converge: try %s", count,
                advice);
}

enum status remez_design(const struct remez_band *bands, size_t band_count, double *taps,
                         size_t count, double *ripple)
{
    struct exchange exchange = {0};
    bool level = false;
    if ((count + 1) / 2 + 1 < band_count)
        return refuse(count, "more of them for so many bands");
    enum status status =
        solve(&exchange, bands, band_count, (count + 1) / 2, count % 2 == 0, &level);
    *ripple = fabs(exchange.delta);
    if (status == STATUS_OK && !(*ripple >= ENOUGH))
        status = refuse(count, "fewer: the error is already below rounding");
    if (status == STATUS_OK && !level)
        status = refuse(count, "another number of them, or wider gaps between bands");
    if (status == STATUS_OK)
        status = evaluate_taps(&exchange, taps, count);
    exchange_free(&exchange);
    return status;
}
