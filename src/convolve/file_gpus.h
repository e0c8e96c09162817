/* How many GPUs a file is shared among where nobody says so, and why: by estimates, without a GPU
 * (backend_cost.h). */
#ifndef HALO_FILE_GPUS_H
#define HALO_FILE_GPUS_H

#include "convolve/backend_cost.h"
#include "convolve/convolver.h"

/* Of `available`, at least 1, for a mask of so many columns. `why` says what decided, unless there
 * is one only. */
size_t file_gpus_wanted(const struct convolver_shape *shape, size_t columns, size_t available,
                        const struct machine_speed *speed, char why[CONVOLVER_WHY]);

#endif
