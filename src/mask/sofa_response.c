#include "mask/sofa_response.h"

#include "mask/mask_matrix.h"
#include "signal/window.h"

#include <math.h>
#include <string.h>

enum { SINC_HALF = 32 };
static const double sinc_beta = 9, whole = 1e-4;

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
        return fail(STATUS_FAILED, "cannot read mask %s: %zu delays of the dimensions %s", name,
                    delay->count, delay->dimensions);
    for (size_t i = 0; i < delay->count; i++)
        if (!(delay->values[i] >= 0 && delay->values[i] <= MATRIX_TAPS_MOST))
            return fail(STATUS_FAILED, "cannot read mask %s: a delay of %g frames", name,
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
        return fail(STATUS_FAILED,
                    "cannot read mask %s: it is of the convention %s with data of the type %s; "
                    "halo reads impulse responses, FIR and FIR-E",
                    name, file->convention, file->data_type);
    if (!is_each && file->emitters != 1)
        return fail(STATUS_FAILED,
                    "cannot read mask %s: it is of the convention %s with %zu emitters, but has "
                    "no responses for each",
                    name, file->convention, file->emitters);
    size_t factors[] = {file->measurements, file->receivers, file->emitters, file->taps};
    if (!is_product(file->arrays[SOFA_IR].count, factors))
        return fail(STATUS_FAILED,
                    "cannot read mask %s: %zu samples are not %zu measurements of %zu receivers, "
                    "%zu emitters and %zu taps",
                    name, file->arrays[SOFA_IR].count, file->measurements, file->receivers,
                    file->emitters, file->taps);
    if (is_each && strcmp(dimensions, "M,R,E,N") != 0 && strcmp(dimensions, "M,R,N,E") != 0)
        return fail(STATUS_FAILED, "cannot read mask %s: responses of the dimensions '%s'", name,
                    dimensions);
    return check_delays(name, file);
}

double sofa_response_tap(const struct sofa_response *response, size_t tap)
{
    const struct sofa_file *file = response->file;
    size_t pair = response->measurement * file->receivers + response->receiver;
    bool taps_last = strcmp(file->arrays[SOFA_IR].dimensions, "M,R,N,E") != 0;
    size_t at =
        taps_last ? response->emitter * file->taps + tap : tap * file->emitters + response->emitter;
    return (double)file->arrays[SOFA_IR].values[pair * file->emitters * file->taps + at];
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

static double correlation(const struct sofa_response *a, const struct sofa_response *b, int64_t lag)
{
    double sum = 0;
    for (size_t k = lag < 0 ? (size_t)-lag : 0; k < a->file->taps; k++) {
        if ((int64_t)k + lag >= (int64_t)a->file->taps)
            break;
        sum += sofa_response_tap(a, k) * sofa_response_tap(b, (size_t)((int64_t)k + lag));
    }
    return sum;
}

double sofa_response_lag(const struct sofa_response *a, const struct sofa_response *b, double most)
{
    int64_t best = 0, end = (int64_t)most;
    double largest = correlation(a, b, 0);
    for (int64_t lag = -end; lag <= end; lag++) {
        double now = correlation(a, b, lag);
        best = now > largest ? lag : best;
        largest = fmax(now, largest);
    }
    double before = correlation(a, b, best - 1), after = correlation(a, b, best + 1);
    double bend = before - 2 * largest + after;
    double between = bend < 0 ? (before - after) / (2 * bend) : 0;
    return (double)best + fmax(-0.5, fmin(between, 0.5)) + sofa_response_delay(b) -
           sofa_response_delay(a);
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
    for (size_t k = 0; k < response->file->taps; k++)
        for (size_t i = 0; i < length; i++)
            to[k + i] += kernel[i] * sofa_response_tap(response, k);
}
