/* The cumulative spectral decay of an impulse response: the response to what comes after a time,
 * for a number of times. Threads: any. Not real-time. */
#ifndef HALO_MASK_WATERFALL_H
#define HALO_MASK_WATERFALL_H

#include "mask/mask.h"
#include "mask/response.h"

struct waterfall {
    struct response_axis axis;
    size_t slices;
    double step; /* seconds from one to the next */
    double *db;  /* slice after slice, axis.points each; 0 dB is the largest of the first */
};

/* From the direct sound on, `seconds` in all. Errors: memory. */
MUST_CHECK enum status waterfall_init(struct waterfall *waterfall, const struct mask *mask,
                                      size_t column, uint32_t rate, double seconds,
                                      const struct response_axis *axis);
void waterfall_free(struct waterfall *waterfall);

#endif
