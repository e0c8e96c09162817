/* Two streams as one: an input and an output that have two clocks, with a bridge between them
 * (device_bridge.h). The output's calls drive the step. Threads: the control thread.
 */
#ifndef HALO_DEVICE_JOIN_H
#define HALO_DEVICE_JOIN_H

#include "live/device_bridge.h"
#include "live/device_driver.h"

struct device_join {
    struct bridge bridge;
    struct device_stream *input, *output; /* not owned */
    struct device_slot slot;              /* of the output: the user's */
};

/* The streams must outlive it. Errors: memory. */
MUST_CHECK enum status device_join_create(struct device_stream *input, uint32_t rate_in,
                                          struct device_stream *output, uint32_t rate_out,
                                          struct device_join **join);
void device_join_destroy(struct device_join *join);

/* As device_run. Both streams stop as others do. */
void device_join_run(struct device_join *join, device_step *step, void *context);

#endif
