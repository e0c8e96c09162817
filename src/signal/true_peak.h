/* The highest value a sound reaches between its samples, by 4 times oversampling
 * (after ITU-R BS.1770, annex 2). Threads: one. Not real-time. */
#ifndef HALO_TRUE_PEAK_H
#define HALO_TRUE_PEAK_H

#include "base/status.h"

struct true_peak;

MUST_CHECK enum status true_peak_create(size_t channels, struct true_peak **meter);
void true_peak_destroy(struct true_peak *meter);
void true_peak_add(struct true_peak *meter, const float *const *planar, size_t frames);

/* The peak so far, linear; ends the measurement. */
double true_peak_finish(struct true_peak *meter);

#endif
