#include "signal/true_peak.h"

#include "signal/audio.h"

#include <math.h>
#include <soxr.h>
#include <stdlib.h>

enum { OVERSAMPLING = 4, CHUNK = 4096 };

struct true_peak {
    soxr_t resampler;
    size_t channels;
    struct block oversampled;
    const void **in;
    void **out;
    double peak;
};

void true_peak_destroy(struct true_peak *meter)
{
    if (!meter)
        return;
    soxr_delete(meter->resampler);
    block_free(&meter->oversampled);
    free(meter->in);
    free(meter->out);
    free(meter);
}

enum status true_peak_create(size_t channels, struct true_peak **result)
{
    struct true_peak *meter = calloc(1, sizeof *meter);
    if (!meter)
        return fail_memory("a meter");
    soxr_io_spec_t io = soxr_io_spec(SOXR_FLOAT32_S, SOXR_FLOAT32_S);
    soxr_quality_spec_t quality = soxr_quality_spec(SOXR_HQ, SOXR_STEEP_FILTER);
    soxr_error_t error = NULL;
    meter->channels = channels;
    meter->in = calloc(channels, sizeof *meter->in);
    meter->out = calloc(channels, sizeof *meter->out);
    meter->resampler =
        soxr_create(1, OVERSAMPLING, (unsigned)channels, &error, &io, &quality, NULL);
    enum status status =
        block_init(&meter->oversampled, channels, (size_t)OVERSAMPLING * CHUNK, "a meter");
    if (status == STATUS_OK && (error || !meter->in || !meter->out))
        status = fail_memory("a meter");
    if (status != STATUS_OK) {
        true_peak_destroy(meter);
        return status;
    }
    for (size_t c = 0; c < channels; c++)
        meter->out[c] = meter->oversampled.data[c];
    *result = meter;
    return STATUS_OK;
}

static void take(struct true_peak *meter, size_t frames)
{
    for (size_t c = 0; c < meter->channels; c++)
        for (size_t i = 0; i < frames; i++)
            meter->peak = fmax(meter->peak, fabs((double)meter->oversampled.data[c][i]));
}

void true_peak_add(struct true_peak *meter, const float *const *planar, size_t frames)
{
    for (size_t done = 0; done < frames;) {
        size_t used = 0, made = 0;
        for (size_t c = 0; c < meter->channels; c++)
            meter->in[c] = planar[c] + done;
        size_t part = frames - done < CHUNK ? frames - done : CHUNK;
        soxr_process(meter->resampler, meter->in, part, &used, meter->out,
                     (size_t)OVERSAMPLING * CHUNK, &made);
        take(meter, made);
        done += used;
    }
}

double true_peak_finish(struct true_peak *meter)
{
    size_t made;
    do {
        soxr_process(meter->resampler, NULL, 0, NULL, meter->out, (size_t)OVERSAMPLING * CHUNK,
                     &made);
        take(meter, made);
    } while (made > 0);
    return meter->peak;
}
