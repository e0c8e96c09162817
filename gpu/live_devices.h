/* Which GPUs share a live stream: those that the user named, or as few as it needs. */
#ifndef HALO_GPU_LIVE_DEVICES_H
#define HALO_GPU_LIVE_DEVICES_H

#include "convolve/convolver.h"

/* See struct convolver_backend. What was chosen, and why, is noted in detail. */
enum status live_share_out(const struct convolver_shape *shape, const struct mask *mask,
                           struct gpu_devices *devices, char why[CONVOLVER_WHY]);

/* See struct convolver_backend. */
bool live_choose_spare(const struct convolver_shape *shape, const struct gpu_devices *taken,
                       unsigned char *device);

#endif
