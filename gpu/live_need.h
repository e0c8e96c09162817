/* What a live stream needs of a GPU, and how many GPUs it needs then: arithmetic without a GPU.
 *
 * Each block reads the spectra of the masks and of the inputs once over the periods of the ladder
 * (live_ladder.h), and that is what limits a GPU: on an H200, streams of 4,096 and 16,384 channels
 * take about three times as long as reading alone would (docs/measurements.md).
 */
#ifndef HALO_GPU_LIVE_NEED_H
#define HALO_GPU_LIVE_NEED_H

#include <stdbool.h>
#include <stddef.h>

struct live_job {
    size_t inputs, outputs, paths, columns, taps;
    size_t block;  /* frames */
    double period; /* seconds */
    size_t masks;  /* that are there at once: 2 where masks change */
};

struct live_need {
    double bytes;   /* of the device's memory */
    double seconds; /* in every block */
};

struct live_device {
    double bytes;     /* all that it has */
    double bandwidth; /* bytes per second */
};

/* Of one of `shares` GPUs that share the outputs. */
struct live_need live_need_for(const struct live_job *job, size_t shares,
                               const struct live_device *device);

/* The fewest of `count` GPUs that hold the stream and compute it in time; `count` if none do.
 * *first: what one alone would need. */
size_t live_devices_needed(const struct live_job *job, const struct live_device *devices,
                           size_t count, struct live_need *first);

/* Whether a device that has `shares` shares like that one, and `free` bytes left, could stand by
 * for it: it hears its inputs, and may have to do its work beside its own. */
bool live_spare_suits(const struct live_job *job, const struct live_need *need, size_t shares,
                      double free);

#endif
