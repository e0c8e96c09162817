#include "bench/stream_mask.h"

#include "base/noise.h"
#include "base/stop.h"

#include <math.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const double DECAY = 1e-3; /* level of a mask's last tap relative to its first */

/* Fills a column with a direct sound and decaying noise. The magnitudes sum to `sum_wanted`. */
static void fill_column(double *column, size_t taps, double sum_wanted, uint64_t *random)
{
    double step = pow(DECAY, 1 / (double)taps), level = 1, sum = 1;
    column[0] = 1;
    for (size_t k = 1; k < taps; k++) {
        level *= step;
        column[k] = (float)(level * (double)noise_next(random));
        sum += fabs(column[k]);
    }
    for (size_t k = 0; k < taps; k++)
        column[k] = (float)(column[k] * sum_wanted / sum);
}

/* Number of distinct columns: they fill whole pages, and about STREAM_MASK_BYTES. */
static size_t columns_in_memory(size_t taps)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = taps * sizeof(double), unit = 1;
    while (unit * bytes % page)
        unit *= 2;
    size_t units = STREAM_MASK_BYTES / (unit * bytes);
    return (units > 0 ? units : 1) * unit;
}

/* Maps the same `bytes` again and again, up to `total`. */
static enum status map_repeated(size_t bytes, size_t total, struct stream_mask *mask)
{
    int file = memfd_create("masks", MFD_CLOEXEC);
    size_t times = (total + bytes - 1) / bytes;
    bool done = file >= 0 && ftruncate(file, (off_t)bytes) == 0;
    char *at = done ? mmap(NULL, times * bytes, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
                    : MAP_FAILED;
    done = at != MAP_FAILED;
    if (done) {
        mask->repeated = at;
        mask->bytes = times * bytes;
    }
    for (size_t t = 0; t < times && done; t++)
        done = mmap(at + t * bytes, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                    0) != MAP_FAILED;
    if (file >= 0)
        close(file);
    return done ? STATUS_OK : fail_memory("masks");
}

/* Makes zeroed columns. The caller fills the distinct ones. */
static enum status make_columns(size_t columns, size_t taps, struct stream_mask *mask)
{
    mask->distinct = columns_in_memory(taps);
    if (columns <= mask->distinct) {
        mask->distinct = columns;
        return mask_create("of noise", columns, taps, &mask->mask);
    }
    size_t each = taps * sizeof(double);
    TRY(mask_create("of noise", 1, 1, &mask->mask));
    free(mask->mask->coefficients);
    mask->mask->coefficients = NULL;
    TRY(map_repeated(mask->distinct * each, columns * each, mask));
    mask->mask->coefficients = mask->repeated;
    mask->mask->columns = columns;
    mask->mask->taps = taps;
    return STATUS_OK;
}

enum status stream_mask_create(size_t channels, bool matrix, size_t taps, uint64_t *random,
                               struct stream_mask *mask)
{
    size_t columns = matrix ? channels * channels : channels;
    TRY(make_columns(columns, taps, mask));
    for (size_t c = 0; c < mask->distinct; c++) {
        fill_column(mask_column(mask->mask, c), taps, matrix ? 1 / (double)channels : 1, random);
        if (stop_requested())
            return STATUS_INTERRUPTED;
    }
    return mask_route(mask->mask, channels, MASK_ORDER_LL_LR_RL_RR,
                      matrix ? MASK_MAP_MATRIX : MASK_MAP_AUTO);
}

void stream_mask_fold(struct stream_mask *mask)
{
    struct mask *folded = mask->mask;
    size_t keep = mask->distinct * folded->taps * sizeof(double);
    for (size_t p = 0; p < folded->path_count; p++)
        folded->paths[p].column %= mask->distinct;
    folded->columns = mask->distinct;
    if (mask->repeated)
        munmap((char *)mask->repeated + keep, mask->bytes - keep);
    mask->bytes = mask->repeated ? keep : 0;
}

void stream_mask_destroy(struct stream_mask *mask)
{
    if (mask->repeated) {
        munmap(mask->repeated, mask->bytes);
        mask->mask->coefficients = NULL;
    }
    mask_destroy(mask->mask);
    *mask = (struct stream_mask){0};
}
