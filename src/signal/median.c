#include "signal/median.h"

#include "base/simd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median_of(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

/* Floats from 0 up compare as their bits do. Integers have minimum and maximum instructions. */
enum { LANES = MEDIAN_LANES, LANES_BYTES = LANES * sizeof(int32_t) };

SIMD_CLONES
HALO_REALTIME static void insert(int32_t *window, size_t filled, const float *values)
{
    int32_t carried[LANES];
    memcpy(carried, values, LANES_BYTES);
    for (size_t i = 0; i < filled; i++)
        for (size_t l = 0; l < LANES; l++) {
            int32_t here = window[i * LANES + l], taken = carried[l];
            window[i * LANES + l] = here < taken ? here : taken;
            carried[l] = here < taken ? taken : here;
        }
    memcpy(window + filled * LANES, carried, LANES_BYTES);
}

void median_lanes_fill(int32_t *window, size_t extent, const float *values, size_t pitch)
{
    for (size_t i = 0; i + 1 < extent; i++)
        insert(window, i, values + i * pitch);
}

/* Moves the newest value up to its place. Values from the oldest's place on move down by one. */
SIMD_CLONES
HALO_REALTIME static void step(int32_t *window, size_t extent, const float *newest,
                               const float *oldest, float *median)
{
    int32_t carried[LANES], gone[LANES], below[LANES], middle[LANES] = {0};
    memcpy(carried, newest, LANES_BYTES);
    memcpy(gone, oldest, LANES_BYTES);
    for (size_t i = 0; i < extent; i++) {
        const int32_t *here = window + i * LANES;
        for (size_t l = 0; l < LANES; l++) {
            int32_t value = i + 1 < extent ? here[l] : INT32_MAX, taken = carried[l];
            int32_t least = value < taken ? value : taken;
            carried[l] = value < taken ? taken : value;
            if (i > 0)
                window[(i - 1) * LANES + l] = below[l] < gone[l] ? below[l] : least;
            below[l] = least;
        }
        if (i == extent / 2)
            memcpy(middle, below, LANES_BYTES);
    }
    memcpy(median, middle, LANES_BYTES);
}

void median_lanes_step(int32_t *window, size_t extent, const float *newest, const float *oldest,
                       float *median)
{
    step(window, extent, newest, oldest, median);
}
