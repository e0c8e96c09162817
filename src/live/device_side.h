/* One stream of a driver, for device.c: opened, watched, and closed on a thread that can be
 * abandoned. Threads: the control thread.
 */
#ifndef HALO_DEVICE_SIDE_H
#define HALO_DEVICE_SIDE_H

#include "live/device_join.h"

enum { DEVICE_SIDES = 2 /* of a device, at most */ };

struct device_side {
    const struct device_driver *driver;
    struct device_stream *stream;
    void *opened;      /* the driver's; NULL: none */
    char label[264];   /* of input and output */
    size_t calls_seen; /* by device_side_is_lost, at seen_at */
    int64_t seen_at;
    int64_t stalled; /* ns since seen_at; 0: it is not */
};

/* Open what was chosen as one stream, at the first of `count` rates that works (0: the device's),
 * and learn its period. Errors: the driver's, no sound; to be closed in any case. */
MUST_CHECK enum status device_side_open(const struct device_request *request,
                                        const struct device_choice *choice, const uint32_t *rates,
                                        size_t count, struct device_side *side);

uint32_t device_side_rate(const struct device_side *side);

/* As device_stop, and whether device_state says LOST. */
bool device_side_stop(struct device_side *side);
bool device_side_is_lost(struct device_side *side);

/* Close DEVICE_SIDES sides, and free `join` (or NULL) and their streams; their drivers end. Errors:
 * those of device_close. */
enum status device_sides_close(const struct device_side *sides, struct device_join *join);

/* The driver ends, which has no stream. */
void device_side_end(const struct device_driver *driver);

/* Errors: a close that hung has not returned. */
MUST_CHECK enum status device_sides_are_clear(void);
double device_sides_hang(void); /* seconds for which it is so by now */

#endif
