/* Which GPUs share a file: those that the user named, or as many as make it clearly faster. */
#ifndef HALO_GPU_FILE_DEVICES_H
#define HALO_GPU_FILE_DEVICES_H

#include "convolve/convolver.h"

/* Each once. `why`: see struct convolver_backend. Errors: one does not exist. */
MUST_CHECK enum status file_devices_choose(const struct convolver_shape *shape, size_t columns,
                                           int devices[GPU_MOST], size_t *count,
                                           char why[CONVOLVER_WHY]);

#endif
