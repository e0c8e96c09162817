#include "bench/render_bench.h"

#include "base/monotonic.h"
#include "base/noise.h"
#include "base/stop.h"
#include "convolve/partition.h"
#include "signal/audio.h"
#include "signal/fft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 1 << 20,
    TRANSFORMS_LEAST = 4, /* timed per length, at least, if there are more */
};

static const double TRANSFORMS_SECONDS = 0.25; /* timed per length; the rest is extrapolated */

/* ---- the bytes ---- */

static enum status refuse_write(const char *path, int error)
{
    return fail(STATUS_FAILED, "cannot write %s: %s", path, strerror(error));
}

static enum status copy_bytes(int from, int to, const char *path, uint64_t left, char *piece)
{
    size_t held = 0;
    for (off_t at = 0; left > 0 && !stop_requested();) {
        ssize_t got = pread(from, piece, PIECE_BYTES, at);
        if (got > 0)
            held = (size_t)got;
        if (got < 0 || held == 0)
            return fail(STATUS_FAILED, "cannot read the noise: %s", strerror(errno));
        at += got;
        ssize_t put = write(to, piece, left < held ? (size_t)left : held);
        if (put < 0 && errno != EINTR)
            return refuse_write(path, errno);
        left -= put > 0 ? (uint64_t)put : 0;
    }
    return stop_requested() ? STATUS_INTERRUPTED : STATUS_OK;
}

enum status render_floor_copy(int from, const char *path, uint64_t bytes, double *seconds)
{
    char *piece = malloc(PIECE_BYTES);
    if (!piece)
        return fail_memory("a copy");
    double start = monotonic_seconds();
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0) {
        free(piece);
        return refuse_write(path, errno);
    }
    unlink(path); /* so that it is removed in any case */
    enum status status = copy_bytes(from, to, path, bytes, piece);
    *seconds = monotonic_seconds() - start;
    close(to);
    free(piece);
    return status;
}

/* ---- the transforms ---- */

struct bench_transform {
    struct fft *fft;
    float *samples;
    float *spectrum;
    float *back;
};

static void transform_pair(const struct bench_transform *transform)
{
    /* Not in place: unscaled, the values would soon be infinite. */
    fft_forward(transform->fft, transform->samples, transform->spectrum);
    fft_inverse(transform->fft, transform->spectrum, transform->back);
}

static enum status time_some(const struct bench_transform *transform, uint64_t count,
                             double *seconds)
{
    uint64_t done = 0;
    transform_pair(transform); /* touches its memory */
    double spent = 0, start = monotonic_seconds();
    while (done < count && (done < TRANSFORMS_LEAST || spent < TRANSFORMS_SECONDS)) {
        transform_pair(transform);
        done++;
        spent = monotonic_seconds() - start;
        if (stop_requested())
            return STATUS_INTERRUPTED;
    }
    *seconds = done > 0 ? spent / (double)done * (double)count : 0;
    return STATUS_OK;
}

/* `count` of length n. */
static enum status time_transforms(size_t n, uint64_t count, double *seconds)
{
    struct bench_transform transform = {.samples = audio_alloc(n),
                                        .spectrum = audio_alloc(fft_spectrum_floats(n)),
                                        .back = audio_alloc(n)};
    bool is_complete = transform.samples && transform.spectrum && transform.back;
    enum status status = is_complete ? fft_create(n, &transform.fft) : fail_memory("a transform");
    uint64_t state = 3;
    if (status != STATUS_OK)
        goto end;
    for (size_t i = 0; i < n; i++)
        transform.samples[i] = noise_next(&state);
    status = time_some(&transform, count, seconds);
end:
    fft_destroy(transform.fft);
    free(transform.back);
    free(transform.spectrum);
    free(transform.samples);
    return status;
}

enum status render_floor_transforms(size_t taps, size_t block, uint64_t frames, size_t channels,
                                    uint64_t *pairs, double *seconds)
{
    struct partition_plan plan = partition_plan(taps, block, PARTITION_AVERAGE);
    uint64_t blocks = (frames + block - 1) / block;
    enum status status = STATUS_OK;
    *pairs = 0;
    *seconds = 0;
    if (plan.algorithm == PARTITION_OVERLAP_SAVE) {
        *pairs = blocks * plan.chunks * channels;
        status = time_transforms(plan.fft, *pairs, seconds);
    }
    for (size_t s = 0; s < plan.segment_count && status == STATUS_OK; s++) {
        size_t size = plan.segments[s].size;
        uint64_t count = blocks * block / size * channels;
        double some = 0;
        status = time_transforms(2 * size, count, &some);
        *pairs += count;
        *seconds += some;
    }
    return status;
}
