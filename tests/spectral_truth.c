#include "spectral_truth.h"

#include "suite.h"

#include <complex.h>
#include <math.h>
#include <string.h>

struct picture {
    const struct spectral_truth *truth;
    ptrdiff_t rows;
    ptrdiff_t bins;
    double full_scale;
    double *cells;
    double complex *spectra;
};

static void *zeros(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* Radix 2 while the length is even, then term by term. `sign` is -1 forward. */
static void transform(const double complex *from, size_t step, double complex *to, size_t n,
                      int sign)
{
    if (n % 2) {
        for (size_t k = 0; k < n; k++) {
            to[k] = 0;
            for (size_t i = 0; i < n; i++)
                to[k] +=
                    from[i * step] * cexp(sign * 2 * M_PI * (double)(i * k % n) / (double)n * I);
        }
        return;
    }
    transform(from, 2 * step, to, n / 2, sign);
    transform(from + step, 2 * step, to + n / 2, n / 2, sign);
    double complex turn = cexp(sign * 2 * M_PI / (double)n * I), turned = 1;
    for (size_t k = 0; k < n / 2; k++, turned *= turn) {
        double complex even = to[k], odd = to[k + n / 2] * turned;
        to[k] = even + odd;
        to[k + n / 2] = even - odd;
    }
}

double *spectral_truth_window(const struct spectral_window_settings *settings)
{
    double *window = zeros(settings->size, sizeof *window);
    for (size_t i = 0; i < settings->size; i++) {
        double turn = 2 * M_PI * (double)i / (double)settings->size;
        switch (settings->shape) {
        case SPECTRAL_HANN:
            window[i] = pow(sin(turn / 2), 2);
            break;
        case SPECTRAL_HAMMING:
            window[i] = 0.54 - 0.46 * cos(turn);
            break;
        case SPECTRAL_BLACKMAN:
            window[i] = 0.42 - 0.5 * cos(turn) + 0.08 * cos(2 * turn);
            break;
        case SPECTRAL_SINE:
            window[i] = sin(M_PI * ((double)i + 0.5) / (double)settings->size);
            break;
        default:
            window[i] = 1;
        }
    }
    return window;
}

struct mask2d *spectral_truth_mean(size_t rows, size_t columns)
{
    float *taps = zeros(rows * columns, sizeof *taps);
    struct mask2d *mask;
    for (size_t i = 0; i < rows * columns; i++)
        taps[i] = 1 / (float)(rows * columns);
    ck_assert_int_eq(mask2d_create("mean", rows, columns, taps, &mask), STATUS_OK);
    free(taps);
    return mask;
}

/* ---- forward transform ---- */

static double full_scale(const struct spectral_truth *truth)
{
    double sum = 0;
    for (size_t i = 0; i < truth->settings->window.size; i++)
        sum += truth->window[i] / 2;
    return sum;
}

static void analyse(const struct spectral_truth *truth, const float *x, size_t n,
                    struct picture *picture)
{
    ptrdiff_t size = (ptrdiff_t)truth->settings->window.size;
    ptrdiff_t hop = (ptrdiff_t)truth->settings->window.hop;
    *picture = (struct picture){.truth = truth,
                                .rows = ((ptrdiff_t)n - 1 + size - hop) / hop + 1,
                                .bins = size / 2 + 1,
                                .full_scale = full_scale(truth)};
    size_t cells = (size_t)(picture->rows * picture->bins);
    picture->cells = zeros(cells, sizeof *picture->cells);
    picture->spectra = zeros(cells, sizeof *picture->spectra);
    double complex *frame = zeros(2 * (size_t)size, sizeof *frame), *bins = frame + size;
    for (ptrdiff_t r = 0; r < picture->rows; r++) {
        for (ptrdiff_t i = 0; i < size; i++) {
            ptrdiff_t at = (r + 1) * hop - size + i;
            bool sounds = at >= 0 && at < (ptrdiff_t)n;
            frame[i] = sounds ? (double)x[at] * truth->window[i] : 0;
        }
        transform(frame, 1, bins, (size_t)size, -1);
        for (ptrdiff_t b = 0; b < picture->bins; b++) {
            double level = cabs(bins[b]) / picture->full_scale;
            picture->spectra[r * picture->bins + b] = bins[b];
            picture->cells[r * picture->bins + b] =
                truth->settings->scale == SPECTRAL_DB ? fmax(0, 20 * log10(level) + 120) : level;
        }
    }
    free(frame);
}

/* ---- convolution ---- */

static bool fold(enum convolve2d_boundary boundary, ptrdiff_t *at, ptrdiff_t count)
{
    if (boundary == CONVOLVE2D_ZERO)
        return *at >= 0 && *at < count;
    while (*at < 0 || *at >= count) {
        if (boundary == CONVOLVE2D_REPLICATE || count == 1)
            *at = *at < 0 ? 0 : count - 1;
        else
            *at = *at < 0 ? -*at : 2 * (count - 1) - *at;
    }
    return true;
}

static double cell_at(const struct picture *picture, ptrdiff_t row, ptrdiff_t column)
{
    const struct spectral_settings *settings = picture->truth->settings;
    if (settings->end == 0 && row >= picture->rows) /* in a stream the end was not known */
        return 0;
    if (!fold(settings->boundary, &row, picture->rows) ||
        !fold(settings->boundary, &column, picture->bins))
        return 0;
    return picture->cells[row * picture->bins + column];
}

static double convolved(const struct picture *picture, const struct mask2d *mask, ptrdiff_t r,
                        ptrdiff_t c)
{
    double sum = 0;
    ptrdiff_t rows = (ptrdiff_t)mask->rows, columns = (ptrdiff_t)mask->columns;
    for (ptrdiff_t i = 0; i < rows; i++)
        for (ptrdiff_t j = 0; j < columns; j++)
            sum += cell_at(picture, r - i + rows / 2, c - j + columns / 2) *
                   (double)mask->taps[i * columns + j];
    return sum;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of rows x columns around a cell. */
static double median_at(const struct picture *picture, size_t rows, size_t columns, ptrdiff_t r,
                        ptrdiff_t c)
{
    double *values = zeros(rows * columns, sizeof *values);
    ptrdiff_t down = (ptrdiff_t)rows / 2, across = (ptrdiff_t)columns / 2;
    size_t count = 0;
    for (ptrdiff_t i = -down; i <= down; i++)
        for (ptrdiff_t j = -across; j <= across; j++)
            values[count++] = cell_at(picture, r + i, c + j);
    qsort(values, count, sizeof *values, compare);
    double median = values[count / 2];
    free(values);
    return median;
}

static double soft_mask(double part, double rest, const struct separation *separation)
{
    if (part == 0 && rest == 0)
        return separation->margin > 1 ? 0 : 0.5;
    return 1 / (1 + pow(separation->margin * rest / part, separation->power));
}

static double share_at(const struct picture *picture, ptrdiff_t r, ptrdiff_t c)
{
    const struct separation *separation = &picture->truth->settings->separation;
    double h = median_at(picture, separation->rows, 1, r, c);
    double p = median_at(picture, 1, separation->columns, r, c);
    double harmonic = soft_mask(h, p, separation), percussive = soft_mask(p, h, separation);
    return separation->part == SEPARATION_HARMONIC     ? harmonic
           : separation->part == SEPARATION_PERCUSSIVE ? percussive
                                                       : fmax(0, 1 - harmonic - percussive);
}

static double gain_at(const struct picture *picture, ptrdiff_t r, ptrdiff_t c)
{
    const struct spectral_truth *truth = picture->truth;
    const struct spectral_settings *settings = truth->settings;
    bool is_db = settings->scale == SPECTRAL_DB;
    double level = cabs(picture->spectra[r * picture->bins + c]) / picture->full_scale;
    if (level < 1e-30)
        return 0;
    if (settings->mode == SPECTRAL_SEPARATE)
        return share_at(picture, r, c);
    double to = convolved(picture, truth->mask, r, c);
    if (settings->mode == SPECTRAL_GAIN)
        return fmin(1, fmax(0, is_db ? to / 120 : to));
    if (settings->mode == SPECTRAL_MAGNITUDE && !is_db)
        return fmax(0, to) / level;
    return to <= 0 ? fmin(1, 1e-6 / level) : pow(10, (to - 120) / 20) / level;
}

/* ---- inverse transform ---- */

double *spectral_truth_render(const struct spectral_truth *truth, const float *x, size_t n,
                              const float *part)
{
    ptrdiff_t size = (ptrdiff_t)truth->settings->window.size;
    ptrdiff_t hop = (ptrdiff_t)truth->settings->window.hop;
    ptrdiff_t length = (ptrdiff_t)n + size - 1;
    struct picture picture, other;
    analyse(truth, x, n, &picture);
    analyse(truth, part ? part : x, n, &other);
    double *y = zeros((size_t)length, sizeof *y), squares = 0;
    double complex *frame = zeros(2 * (size_t)size, sizeof *frame), *bins = frame + size;
    for (ptrdiff_t i = 0; i < size; i += hop)
        squares += truth->window[i] * truth->window[i];
    for (ptrdiff_t r = 0; r < picture.rows; r++) {
        for (ptrdiff_t b = 0; b < picture.bins; b++) {
            bins[b] = other.spectra[r * picture.bins + b] * gain_at(&picture, r, b);
            bins[(size - b) % size] = conj(bins[b]);
        }
        transform(bins, 1, frame, (size_t)size, 1);
        for (ptrdiff_t i = 0; i < size; i++) {
            ptrdiff_t at = (r + 1) * hop - size + i;
            if (at >= 0 && at < length)
                y[at] += creal(frame[i]) * truth->window[i] / (double)size / squares;
        }
    }
    free(frame);
    free(picture.cells);
    free(picture.spectra);
    free(other.cells);
    free(other.spectra);
    return y;
}
