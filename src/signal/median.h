/* Medians. */
#ifndef HALO_MEDIAN_H
#define HALO_MEDIAN_H

#include "base/realtime.h"

#include <stddef.h>
#include <stdint.h>

/* The median; sorts the values. Even count: the mean of the middle two. No value: NaN. */
double median_of(double *values, size_t count);

/* Running medians of MEDIAN_LANES series side by side. They are exact, for an odd extent of up to
 * thousands. Each lane keeps its values in order. A step takes one pass over them without a branch,
 * the same for all lanes. Values are not negative and not NaN.
 *
 * A window holds the extent - 1 values that the next step keeps, as bits. The caller owns its
 * (extent - 1) * MEDIAN_LANES numbers. All 0 is a window of zeros. Threads: one for each window.
 * Real-time.
 */
enum { MEDIAN_LANES = 16 };

/* Fills the window with extent - 1 values of each lane. `values` has the lanes side by side, and
 * the next values `pitch` floats later. */
HALO_REALTIME void median_lanes_fill(int32_t *window, size_t extent, const float *values,
                                     size_t pitch);

/* Adds the newest value of each lane, writes the medians, and drops the oldest values. */
HALO_REALTIME void median_lanes_step(int32_t *window, size_t extent, const float *newest,
                                     const float *oldest, float *median);

#endif
