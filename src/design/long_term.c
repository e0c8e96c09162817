#include "design/long_term.h"

#include "sound/port.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 1 << 14, HOP = BLOCK / 2 /* frames */ };

static void add_block(const struct fft_double *fft, const float *block, uint32_t rate,
                      double powers[CURVE_POINTS])
{
    double own[CURVE_POINTS];
    for (size_t i = 0; i < BLOCK; i++)
        fft_double_samples(fft)[i] = (double)block[i] * (1 - cos(2 * M_PI * (double)i / BLOCK));
    fft_double_forward(fft);
    curve_of_bins(fft, rate, own);
    for (size_t p = 0; p < CURVE_POINTS; p++)
        powers[p] += own[p];
}

/* planar[c]: the second half of a block, at first zeros. A last block ends with zeros. */
static enum status add_blocks(struct source *source, const struct fft_double *fft,
                              float *const *planar, double powers[CURVE_POINTS])
{
    for (size_t got = HOP; got == HOP;) {
        TRY(source_read(source, planar, HOP, &got));
        for (size_t c = 0; c < source->format.channels; c++) {
            memset(planar[c] + got, 0, (HOP - got) * sizeof *planar[c]);
            add_block(fft, planar[c] - HOP, source->format.rate, powers);
            memcpy(planar[c] - HOP, planar[c], HOP * sizeof *planar[c]);
        }
    }
    return STATUS_OK;
}

static enum status add_sound(struct source *source, double powers[CURVE_POINTS])
{
    size_t channels = source->format.channels;
    struct fft_double *fft = NULL;
    float **planar = calloc(channels, sizeof *planar),
          *blocks = calloc(channels * BLOCK, sizeof *blocks);
    enum status status =
        planar && blocks ? fft_double_create(BLOCK, &fft) : fail_memory("a spectrum");
    for (size_t c = 0; status == STATUS_OK && c < channels; c++)
        planar[c] = blocks + c * BLOCK + HOP;
    if (status == STATUS_OK)
        status = add_blocks(source, fft, planar, powers);
    fft_double_destroy(fft);
    free(planar);
    free(blocks);
    return status;
}

enum status long_term_spectrum(const char *file, bool allow_truncated, uint32_t *rate,
                               double powers[CURVE_POINTS])
{
    struct source *source;
    double sum = 0;
    memset(powers, 0, CURVE_POINTS * sizeof *powers);
    TRY(source_open_sound(file, allow_truncated, &source));
    *rate = source->format.rate;
    enum status status = add_sound(source, powers);
    source_close(source);
    TRY(status);
    for (size_t p = 0; p < CURVE_POINTS; p++)
        sum += powers[p];
    return sum > 0 ? STATUS_OK : fail(CAUSE_OTHER, "%s is silent: it has no spectrum", file);
}
