/* Medians. */
#ifndef HALO_MEDIAN_H
#define HALO_MEDIAN_H

#include "base/realtime.h"

#include <stddef.h>
#include <stdint.h>

/* Sorts the values. An even count: the mean of the middle two. None: NaN. */
double median_of(double *values, size_t count);

/* Running medians of MEDIAN_LANES series side by side, exact, for an odd extent of up to thousands:
 * each lane keeps its values in order, and a step takes one pass over them without a branch, the
 * same for all lanes. Values are not negative and not NaN.
 *
 * A window holds the extent - 1 values that the next step does not drop, as bits: (extent - 1) *
 * MEDIAN_LANES numbers of the caller's. All 0 is a window of zeros. Threads: one for each window.
 * Real-time. */
enum { MEDIAN_LANES = 16 };

/* Fill the window with extent - 1 values of each lane, the lanes' values `pitch` floats apart. */
HALO_REALTIME void median_lanes_fill(int32_t *window, size_t extent, const float *values,
                                     size_t pitch);

/* Take the newest value of each lane, give the median, and drop the oldest value. */
HALO_REALTIME void median_lanes_step(int32_t *window, size_t extent, const float *newest,
                                     const float *oldest, float *median);

#endif
