/* A filter that scales every channel by one factor. */
#ifndef HALO_GAIN_H
#define HALO_GAIN_H

#include "base/status.h"
#include "sound/automation.h"
#include "sound/filter.h"

/* `factor` is linear. Errors: memory. */
MUST_CHECK enum status gain_create(size_t channels, size_t block, double factor,
                                   struct filter **filter);

/* One that changes at times of the sound: `automation` has factors. A change is a straight line,
 * over AUTOMATION_SMOOTH seconds at least, from its time on. */
struct gain_settings {
    double factor;                       /* at first */
    const struct automation *automation; /* outlives the filter */
    uint32_t rate;
    uint64_t before; /* frames that the sound comes late: times count from there */
};
MUST_CHECK enum status gain_create_automated(size_t channels, size_t block,
                                             const struct gain_settings *settings,
                                             struct filter **filter);

#endif
