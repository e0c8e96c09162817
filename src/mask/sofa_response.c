#include "mask/sofa_response.h"

#include "base/plural.h"
#include "mask/mask_matrix.h"
#include "signal/fft_double.h"
#include "signal/window.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SINC_HALF = 32, BLOCK_LEAST = 512 };
static const double sinc_beta = 9, whole = 1e-4, rounding = 1e-9;

static bool is_for_each_emitter(const struct sofa_file *file)
{
    return strcmp(file->data_type, "FIR-E") == 0 || strcmp(file->data_type, "FIRE") == 0;
}

/* How many delays there are, by the file's own word: I,R or M,R, with emitters also I,R,E. */
static size_t delays_of(const struct sofa_file *file)
{
    const char *dimensions = file->arrays[SOFA_DELAY].dimensions;
    return (strchr(dimensions, 'M') ? file->measurements : 1) * file->receivers *
           (strchr(dimensions, 'E') ? file->emitters : 1);
}

static enum status check_delays(const char *name, const struct sofa_file *file)
{
    const struct sofa_array *delay = &file->arrays[SOFA_DELAY];
    if (delay->count > 0 && delay->count != delays_of(file))
        return fail(CAUSE_DAMAGED, "cannot read mask %s: %zu delays of the dimensions %s", name,
                    delay->count, delay->dimensions);
    for (size_t i = 0; i < delay->count; i++)
        if (!(delay->values[i] >= 0 && delay->values[i] <= MATRIX_TAPS_MOST))
            return fail(CAUSE_DAMAGED, "cannot read mask %s: a delay of %g frames", name,
                        (double)delay->values[i]);
    return STATUS_OK;
}

static bool is_product(size_t count, const size_t factors[4])
{
    for (size_t i = 0; i < 4; i++) {
        if (factors[i] == 0 || count % factors[i] != 0)
            return false;
        count /= factors[i];
    }
    return count == 1;
}

enum status sofa_response_check(const char *name, const struct sofa_file *file)
{
    bool is_each = is_for_each_emitter(file);
    const char *dimensions = file->arrays[SOFA_IR].dimensions;
    if (!is_each && strcmp(file->data_type, "FIR") != 0)
        return fail(CAUSE_UNSUPPORTED,
                    "cannot read mask %s: it is of the convention %s with data of the type %s; "
                    "halo reads impulse responses, FIR and FIR-E",
                    name, file->convention, file->data_type);
    if (!is_each && file->emitters != 1)
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: it is of the convention %s with %zu emitters, but has "
                    "no responses for each",
                    name, file->convention, file->emitters);
    size_t factors[] = {file->measurements, file->receivers, file->emitters, file->taps};
    if (!is_product(file->arrays[SOFA_IR].count, factors))
        return fail(CAUSE_DAMAGED,
                    "cannot read mask %s: %zu samples are not %zu measurement%s of %zu "
                    "receiver%s, %zu emitter%s and %zu tap%s",
                    name, file->arrays[SOFA_IR].count, file->measurements,
                    plural_s(file->measurements), file->receivers, plural_s(file->receivers),
                    file->emitters, plural_s(file->emitters), file->taps, plural_s(file->taps));
    if (is_each && strcmp(dimensions, "M,R,E,N") != 0 && strcmp(dimensions, "M,R,N,E") != 0)
        return fail(CAUSE_DAMAGED, "cannot read mask %s: responses of the dimensions '%s'", name,
                    dimensions);
    return check_delays(name, file);
}

/* Its taps, `*step` apart. */
static const float *taps_of(const struct sofa_response *response, size_t *step)
{
    const struct sofa_file *file = response->file;
    const struct sofa_array *all = &file->arrays[SOFA_IR];
    size_t pair = response->measurement * file->receivers + response->receiver;
    bool taps_last = strcmp(all->dimensions, "M,R,N,E") != 0;
    *step = taps_last ? 1 : file->emitters;
    return all->values + pair * file->emitters * file->taps +
           response->emitter * (taps_last ? file->taps : 1);
}

double sofa_response_delay(const struct sofa_response *response)
{
    const struct sofa_file *file = response->file;
    const struct sofa_array *delay = &file->arrays[SOFA_DELAY];
    bool is_each = strchr(delay->dimensions, 'E') != NULL;
    size_t at = strchr(delay->dimensions, 'M') ? response->measurement * file->receivers : 0;
    at += response->receiver;
    at = is_each ? at * file->emitters + response->emitter : at;
    return delay->count > 0 ? (double)delay->values[at] : 0;
}

/* ---- how far apart two responses are ---- */

/* The correlation of two responses for lags up to `most`, in blocks whose spectra are added up: the
 * work grows with the taps and not with the lags. */
struct lag_search {
    size_t most, block;
    struct fft_double *a, *b;
    double complex *sum;
};

static void correlation_free(struct lag_search *correlation)
{
    fft_double_destroy(correlation->a);
    fft_double_destroy(correlation->b);
    free(correlation->sum);
}

static enum status correlation_init(struct lag_search *correlation, size_t most)
{
    size_t length = fft_double_fitting(4 * most + BLOCK_LEAST);
    *correlation = (struct lag_search){.most = most, .block = length - 2 * most};
    correlation->sum = calloc(length / 2 + 1, sizeof *correlation->sum);
    if (!correlation->sum)
        return fail_memory("a mask");
    TRY(fft_double_create(length, &correlation->a));
    return fft_double_create(length, &correlation->b);
}

/* Transform `count` taps from `first` on, which may be before them; what is not there is 0. */
static void transform(const struct sofa_response *response, int64_t first, size_t count,
                      struct fft_double *fft)
{
    size_t step;
    const float *taps = taps_of(response, &step);
    double *samples = fft_double_samples(fft);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    for (size_t k = 0; k < count; k++) {
        int64_t tap = first + (int64_t)k;
        if (tap >= 0 && tap < (int64_t)response->file->taps)
            samples[k] = (double)taps[(size_t)tap * step];
    }
    fft_double_forward(fft);
}

/* Returns [most + lag]: the sum over k of a[k] b[k + lag], times the length of the transforms. */
static const double *correlate(struct lag_search *correlation, const struct sofa_response *a,
                               const struct sofa_response *b)
{
    size_t length = fft_double_length(correlation->a);
    for (size_t from = 0; from < a->file->taps; from += correlation->block) {
        transform(a, (int64_t)from, correlation->block, correlation->a);
        transform(b, (int64_t)from - (int64_t)correlation->most, length, correlation->b);
        for (size_t i = 0; i <= length / 2; i++)
            correlation->sum[i] +=
                conj(fft_double_bins(correlation->a)[i]) * fft_double_bins(correlation->b)[i];
    }
    memcpy(fft_double_bins(correlation->a), correlation->sum,
           (length / 2 + 1) * sizeof *correlation->sum);
    fft_double_inverse(correlation->a);
    return fft_double_samples(correlation->a);
}

/* Where it is largest; of equals, but for rounding, the one with the least lag. */
static size_t find_largest(const double *at_lag, size_t middle, size_t most)
{
    size_t best = middle;
    double largest = at_lag[middle];
    for (size_t away = 1; away <= most; away++)
        for (size_t side = 0; side < 2; side++) {
            size_t lag = side ? middle + away : middle - away;
            if (at_lag[lag] - largest > rounding * fabs(at_lag[lag])) {
                best = lag;
                largest = at_lag[lag];
            }
        }
    return best;
}

enum status sofa_response_lag(const struct sofa_response *a, const struct sofa_response *b,
                              double most, double *lag)
{
    struct lag_search correlation;
    size_t end = (size_t)fmin(most, (double)a->file->taps), middle = end + 1;
    enum status status = correlation_init(&correlation, middle);
    if (status == STATUS_OK) {
        const double *at_lag = correlate(&correlation, a, b);
        size_t best = find_largest(at_lag, middle, end);
        double before = at_lag[best - 1], after = at_lag[best + 1];
        double bend = before - 2 * at_lag[best] + after;
        double between = bend < 0 ? (before - after) / (2 * bend) : 0;
        *lag = (double)best - (double)middle + fmax(-0.5, fmin(between, 0.5)) +
               sofa_response_delay(b) - sofa_response_delay(a);
    }
    correlation_free(&correlation);
    return status;
}

size_t sofa_delay_margin(double delay)
{
    return fabs(delay - rint(delay)) <= whole ? 0 : SINC_HALF;
}

void sofa_response_add(const struct sofa_response *response, double weight, double delay,
                       double *column)
{
    double kernel[2 * SINC_HALF] = {weight}, *to = column + (size_t)rint(delay);
    size_t length = 1;
    if (sofa_delay_margin(delay) > 0) {
        double first = floor(delay), late = delay - first;
        length = 2 * SINC_HALF;
        to = column + (size_t)first - (SINC_HALF - 1);
        for (size_t i = 0; i < length; i++) {
            double at = (double)i - (SINC_HALF - 1) - late, place = at / SINC_HALF;
            kernel[i] = weight * sin(M_PI * at) / (M_PI * at) *
                        window_kaiser(sinc_beta, fmax(0, 1 - place * place));
        }
    }
    size_t step;
    const float *taps = taps_of(response, &step);
    for (size_t k = 0; k < response->file->taps; k++) {
        double tap = (double)taps[k * step];
        for (size_t i = 0; i < length; i++)
            to[k + i] += kernel[i] * tap;
    }
}
