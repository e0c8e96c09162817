/* A filter that scales every channel by one factor. _in_double: for double precision. */
#ifndef HALO_GAIN_H
#define HALO_GAIN_H

#include "base/status.h"
#include "sound/automation.h"
#include "sound/filter.h"

/* `factor` is linear. Errors: memory. */
MUST_CHECK enum status gain_create(size_t channels, size_t block, double factor,
                                   struct filter **filter);
MUST_CHECK enum status gain_create_in_double(size_t channels, size_t block, double factor,
                                             struct filter **filter);

/* A gain that changes over time. `automation` has linear factors. A change is a linear ramp that
 * begins at its time and takes AUTOMATION_SMOOTH seconds at least. */
struct gain_settings {
    double factor;                       /* initial factor, linear */
    const struct automation *automation; /* must outlive the filter */
    uint32_t rate;
    uint64_t before; /* frames processed before the sound's first frame */
};
MUST_CHECK enum status gain_create_automated(size_t channels, size_t block,
                                             const struct gain_settings *settings,
                                             struct filter **filter);
MUST_CHECK enum status gain_create_automated_in_double(size_t channels, size_t block,
                                                       const struct gain_settings *settings,
                                                       struct filter **filter);

#endif
