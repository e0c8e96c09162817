#include "mask/response_chain.h"

#include "mask/mask_matrix.h"
#include "signal/fft_double.h"

#include <stdlib.h>
#include <string.h>

enum { DIRECT_MOST = 1 << 20 }; /* products that cost less than a transform */

void response_chain_free(struct response_chain *response)
{
    free(response->taps);
    *response = (struct response_chain){0};
}

static enum status check_length(const struct mask_config *config, uint64_t delay, uint64_t count)
{
    if (delay > MATRIX_TAPS_MOST || count > MATRIX_TAPS_MOST - delay)
        return mask_config_refuse(
            config, "%llu taps after a delay of %llu are too long; together at most %d",
            (unsigned long long)count, (unsigned long long)delay, MATRIX_TAPS_MOST);
    return STATUS_OK;
}

/* Room for the taps [first, end), what is there kept. */
static enum status reach(struct response_chain *response, size_t first, size_t end)
{
    size_t old_end = response->first + response->count;
    if (response->count > 0 && first >= response->first && end <= old_end)
        return STATUS_OK;
    if (response->count > 0 && response->first < first)
        first = response->first;
    if (response->count > 0 && old_end > end)
        end = old_end;
    float *taps = calloc(end - first, sizeof *taps);
    if (!taps)
        return fail_memory("a mask");
    if (response->count > 0)
        memcpy(taps + (response->first - first), response->taps, response->count * sizeof *taps);
    free(response->taps);
    *response = (struct response_chain){first, end - first, taps};
    return STATUS_OK;
}

enum status response_chain_add(const struct mask_config *config, struct response_chain *response,
                               double gain, uint64_t delay, const float *taps, size_t count)
{
    TRY(check_length(config, delay, count));
    if (count > 0)
        TRY(reach(response, (size_t)delay, (size_t)delay + count));
    if (count == 0)
        return STATUS_OK;
    float *to = response->taps + ((size_t)delay - response->first);
    for (size_t k = 0; k < count; k++)
        to[k] = (float)((double)to[k] + gain * (double)taps[k]);
    return STATUS_OK;
}

/* ---- in series ---- */

static enum status convolve_direct(const float *a, size_t a_count, const float *b, size_t b_count,
                                   float *result)
{
    double *sum = calloc(a_count + b_count - 1, sizeof *sum);
    if (!sum)
        return fail_memory("a mask");
    for (size_t i = 0; i < a_count; i++)
        for (size_t k = 0; k < b_count; k++)
            sum[i + k] += (double)a[i] * (double)b[k];
    for (size_t i = 0; i < a_count + b_count - 1; i++)
        result[i] = (float)sum[i];
    free(sum);
    return STATUS_OK;
}

static enum status convolve_fft(const float *a, size_t a_count, const float *b, size_t b_count,
                                float *result)
{
    struct fft_double *fft;
    size_t count = a_count + b_count - 1, n = fft_double_fitting(count < 2 ? 2 : count);
    double complex *first = calloc(n / 2 + 1, sizeof *first);
    enum status status = first ? fft_double_create(n, &fft) : fail_memory("a mask");
    if (status != STATUS_OK) {
        free(first);
        return status;
    }
    double *samples = fft_double_samples(fft);
    double complex *bins = fft_double_bins(fft);
    for (size_t i = 0; i < n; i++)
        samples[i] = i < a_count ? (double)a[i] : 0;
    fft_double_forward(fft);
    memcpy(first, bins, (n / 2 + 1) * sizeof *first);
    for (size_t i = 0; i < n; i++)
        samples[i] = i < b_count ? (double)b[i] : 0;
    fft_double_forward(fft);
    for (size_t i = 0; i <= n / 2; i++)
        bins[i] *= first[i];
    fft_double_inverse(fft);
    for (size_t i = 0; i < count; i++)
        result[i] = (float)(samples[i] / (double)n);
    fft_double_destroy(fft);
    free(first);
    return STATUS_OK;
}

enum status response_chain_filter(const struct mask_config *config, struct response_chain *response,
                                  double gain, uint64_t delay, const float *taps, size_t count)
{
    if (count == 0 || gain == 0)
        response_chain_free(response);
    if (response->count == 0)
        return STATUS_OK;
    enum status status = check_length(config, response->first + delay, response->count + count - 1);
    if (status != STATUS_OK)
        return status;
    size_t length = response->count + count - 1;
    float *result = calloc(length, sizeof *result);
    if (!result)
        return fail_memory("a mask");
    size_t fewer = count < response->count ? count : response->count;
    status = fewer <= DIRECT_MOST / length
                 ? convolve_direct(response->taps, response->count, taps, count, result)
                 : convolve_fft(response->taps, response->count, taps, count, result);
    for (size_t i = 0; i < length; i++)
        result[i] = (float)((double)result[i] * gain);
    free(response->taps);
    *response = (struct response_chain){response->first + (size_t)delay, length, result};
    return status;
}

bool response_chain_equal(const struct response_chain *a, const struct response_chain *b)
{
    return a->first == b->first && a->count == b->count &&
           (a->count == 0 || memcmp(a->taps, b->taps, a->count * sizeof *a->taps) == 0);
}
