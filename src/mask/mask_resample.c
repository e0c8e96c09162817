/* Resampling of masks. Taps are samples of a continuous impulse response times the sampling
 * interval, so they are scaled by the ratio of the rates (old / new).
 *
 * A mask that is only a gain stays as it is.
 *
 * The resampler's low-pass rings on both sides of every tap. The ringing before the first tap is
 * kept as taps before time zero (the origin moves), unless it is negligible.
 */
#include "base/machine.h"
#include "base/plural.h"
#include "mask/mask.h"
#include "signal/audio.h"
#include "signal/fft_double.h"
#include "signal/phase.h"
#include "sound/soxr_library.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const double NEGLIGIBLE = 1e-7; /* part of the sum of |h| that may be cut off: -140 dB */

enum {
    PIECE = 2048,         /* taps given to libsoxr at a time */
    RING = 2048,          /* taps of ringing on each side, at the slower rate */
    SOXR_BYTES = 1 << 21, /* bytes that libsoxr takes at most; measured, with a margin */
    SOXR_BYTES_EACH = 12, /* further bytes for each sample of its input and output */
};

/* Silence around the taps for the ringing. Time zero is on a tap that both rates share. */
struct padding {
    uint64_t before; /* taps of silence */
    uint64_t length; /* taps of the padded input */
    uint64_t origin; /* tap of time zero in the output */
    uint64_t output;
};

static struct padding padding_for(const struct mask *mask, uint32_t rate)
{
    uint32_t divisor = (uint32_t)audio_common_divisor(mask->rate, rate);
    uint64_t up = rate / divisor, down = mask->rate / divisor;
    uint64_t ring = up >= down ? RING : (RING * down + up - 1) / up;
    uint64_t zero = (mask->origin + ring + down - 1) / down * down;
    struct padding padding = {.before = zero - mask->origin, .origin = zero / down * up};
    padding.length = padding.before + mask->taps + ring;
    padding.output = (padding.length * up + down - 1) / down;
    return padding;
}

struct resample_job {
    const struct mask *mask;
    double rate;
    struct padding padding;
    double *columns;
    _Atomic(const char *) error; /* error of a column, or NULL */
};

static const char no_memory[] = "not enough memory";

/* Copies taps [from, from + count) of a column with the silence around it. */
static void copy_padded(const struct resample_job *job, size_t column, uint64_t from, size_t count,
                        double *taps)
{
    const double *all = mask_column(job->mask, column);
    uint64_t before = job->padding.before;
    for (size_t i = 0; i < count; i++) {
        uint64_t at = from + i;
        bool there = at >= before && at - before < job->mask->taps;
        taps[i] = there ? all[at - before] : 0;
    }
}

/* Resamples a column in pieces, to touch little memory, since libsoxr copies its input. */
static const char *run_soxr(const struct resample_job *job, size_t column, soxr_t soxr)
{
    const struct padding *padding = &job->padding;
    double *output = job->columns + column * padding->output, piece[PIECE];
    const char *error = NULL;
    uint64_t at = 0, made = 0;
    bool is_over = false; /* libsoxr knows that the input has ended */
    for (size_t done = 1; !error && made < padding->output && (!is_over || done > 0);
         made += done) {
        uint64_t left = padding->length - at;
        size_t count = left < PIECE ? (size_t)left : PIECE;
        copy_padded(job, column, at, count, piece);
        at += count;
        is_over = count == 0;
        error = soxr_process(soxr, count ? piece : NULL, count, NULL, output + made,
                             padding->output - made, &done);
    }
    return error;
}

static void resample_column(void *context, size_t column, size_t worker)
{
    (void)worker;
    struct resample_job *job = context;
    const struct padding *padding = &job->padding;
    const char *error = no_memory;
    if (job->error)
        return;
    if (memory_is_there(SOXR_BYTES + SOXR_BYTES_EACH * (padding->length + padding->output))) {
        soxr_io_spec_t samples = soxr_io_spec(SOXR_FLOAT64_I, SOXR_FLOAT64_I);
        soxr_quality_spec_t quality = soxr_quality_spec(SOXR_VHQ, SOXR_ROLLOFF_NONE);
        soxr_t soxr = soxr_create(job->mask->rate, job->rate, 1, &error, &samples, &quality, NULL);
        if (soxr)
            error = run_soxr(job, column, soxr);
        soxr_delete(soxr);
    }
    if (error)
        job->error = error;
}

static enum status resample_columns(struct resample_job *job, struct workers *workers)
{
    workers_run(workers, job->mask->columns, resample_column, job);
    if (job->error == no_memory)
        return fail_memory("resampling a mask");
    return job->error ? fail(CAUSE_OTHER, "cannot resample a mask from %u to %.0f Hz: %s",
                             job->mask->rate, job->rate, job->error)
                      : STATUS_OK;
}

/* The number of negligible taps at one end of all columns, at most `most`. */
static uint64_t negligible_taps(const double *columns, size_t count, uint64_t length, uint64_t most,
                                bool from_end)
{
    uint64_t cut = most;
    for (size_t c = 0; c < count; c++) {
        const double *taps = columns + c * length;
        double all = 0, sum = 0;
        for (uint64_t k = 0; k < length; k++)
            all += fabs(taps[k]);
        double allowed = NEGLIGIBLE * all;
        uint64_t k = 0;
        while (k < cut && (sum += fabs(taps[from_end ? length - 1 - k : k])) <= allowed)
            k++;
        cut = k;
    }
    return cut;
}

static enum status set_columns(struct mask *mask, const double *columns, struct padding padding,
                               uint32_t rate)
{
    /* Only the ringing outside the old mask's span may be cut. */
    double ratio = (double)rate / mask->rate;
    uint64_t first = padding.origin - (uint64_t)floor((double)mask->origin * ratio);
    uint64_t end = padding.origin + (uint64_t)ceil((double)(mask->taps - mask->origin) * ratio);
    uint64_t before = negligible_taps(columns, mask->columns, padding.output, first, false);
    uint64_t after = end < padding.output ? negligible_taps(columns, mask->columns, padding.output,
                                                            padding.output - end, true)
                                          : 0;
    size_t taps = (size_t)(padding.output - before - after);
    double *coefficients = calloc(mask->columns * taps, sizeof *coefficients);
    if (!coefficients)
        return fail_memory("a mask");
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; k < taps; k++)
            coefficients[c * taps + k] = columns[c * padding.output + before + k] / ratio;
    free(mask->coefficients);
    mask->coefficients = coefficients;
    mask->taps = taps;
    mask->origin = (size_t)(padding.origin - before);
    mask->rate = rate;
    return STATUS_OK;
}

/* Whether the mask is a gain at time zero, which is the same at every rate. */
static bool is_gain(const struct mask *mask)
{
    for (size_t c = 0; c < mask->columns; c++)
        for (size_t k = 0; k < mask->taps; k++)
            if (k != mask->origin && mask_column(mask, c)[k] != 0)
                return false;
    return true;
}

enum status mask_resample(struct mask *mask, uint32_t rate, struct workers *workers)
{
    if (is_gain(mask)) {
        mask->rate = rate;
        return STATUS_OK;
    }
    struct padding padding = padding_for(mask, rate);
    if (padding.output > memory_limit() / 8 / sizeof(double) / mask->columns)
        return fail(CAUSE_NO_MEMORY,
                    "cannot resample mask %s from %u to %u Hz: not enough memory for %llu taps in "
                    "%zu channel%s",
                    mask->name, mask->rate, rate, (unsigned long long)padding.output, mask->columns,
                    plural_s(mask->columns));
    TRY(library_open(&soxr_library));
    double *columns = calloc(mask->columns * padding.output, sizeof *columns);
    if (!columns)
        return fail_memory("resampling a mask");
    struct resample_job job = {mask, rate, padding, columns, NULL};
    enum status status = resample_columns(&job, workers);
    if (status == STATUS_OK)
        status = set_columns(mask, columns, padding, rate);
    free(columns);
    return status;
}

/* ---- minimum phase ---- */

enum { LENGTH_LEAST = 1 << 12, LENGTH_MOST = 1 << 23, TIMES_WANTED = 16, TIMES_LEAST = 4 };

static const double good_error = 1e-6;

static void transform(const struct fft_double *fft, const double *taps, size_t count)
{
    double *samples = fft_double_samples(fft);
    memset(samples, 0, fft_double_length(fft) * sizeof *samples);
    memcpy(samples, taps, count * sizeof *taps);
    fft_double_forward(fft);
}

/* *error: the largest difference of the magnitudes, as a part of the largest magnitude.
 * `magnitudes` has room for those of the transform. */
static void synthesise(struct fft_double *fft, const double *taps, size_t count, double *magnitudes,
                       double *result, double *error)
{
    double complex *bins = fft_double_bins(fft);
    size_t last = fft_double_length(fft) / 2;
    double largest = 0;
    *error = 0;
    transform(fft, taps, count);
    for (size_t b = 0; b <= last; b++) {
        magnitudes[b] = cabs(bins[b]);
        largest = fmax(largest, magnitudes[b]);
    }
    if (largest <= 0)
        return;
    for (size_t b = 0; b <= last; b++)
        bins[b] = magnitudes[b];
    phase_minimum_of(fft);
    memcpy(result, fft_double_samples(fft), count * sizeof *result);
    transform(fft, result, count);
    for (size_t b = 0; b <= last; b++)
        *error = fmax(*error, fabs(cabs(bins[b]) - magnitudes[b]));
    *error /= largest;
}

static enum status try_length(const double *taps, size_t count, size_t length, double *result,
                              double *error)
{
    struct fft_double *fft;
    TRY(fft_double_create(length, &fft));
    double *magnitudes = calloc(length / 2 + 1, sizeof *magnitudes);
    if (magnitudes)
        synthesise(fft, taps, count, magnitudes, result, error);
    enum status status = magnitudes ? STATUS_OK : fail_memory("a minimum phase");
    free(magnitudes);
    fft_double_destroy(fft);
    return status;
}

static double sign_of(const double *taps, size_t count)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++)
        if (fabs(taps[i]) > fabs(largest))
            largest = taps[i];
    return largest < 0 ? -1 : 1;
}

enum status minimum_phase(const double *taps, size_t count, double *result, double *error)
{
    double sign = sign_of(taps, count), reached = INFINITY;
    double *trial = calloc(count, sizeof *trial);
    size_t length = LENGTH_LEAST;
    while (length < TIMES_LEAST * count || (length < TIMES_WANTED * count && length < LENGTH_MOST))
        length *= 2;
    enum status status = trial ? STATUS_OK : fail_memory("a minimum phase");
    while (status == STATUS_OK) {
        status = try_length(taps, count, length, trial, &reached);
        if (reached <= good_error || length >= LENGTH_MOST)
            break;
        length = length * 4 < LENGTH_MOST ? length * 4 : LENGTH_MOST;
    }
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        result[i] = sign * trial[i];
    if (error)
        *error = reached;
    free(trial);
    return status;
}

enum status mask_minimum_phase(struct mask *mask)
{
    double *taps = calloc(mask->taps, sizeof *taps);
    double error = 0, worst = 0;
    enum status status = taps ? STATUS_OK : fail_memory("a minimum phase");
    for (size_t c = 0; c < mask->columns && status == STATUS_OK; c++) {
        double *column = mask_column(mask, c);
        for (size_t i = 0; i < mask->taps; i++)
            taps[i] = column[i];
        status = minimum_phase(taps, mask->taps, taps, &error);
        worst = fmax(worst, error);
        for (size_t i = 0; i < mask->taps && status == STATUS_OK; i++)
            column[i] = taps[i];
    }
    if (status == STATUS_OK)
        note_detail("mask %s: minimum phase, magnitudes to within %.0f dB of the largest",
                    mask->name, audio_to_db(worst));
    mask->origin = 0;
    free(taps);
    return status;
}
