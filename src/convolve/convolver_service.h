/* A backend that the convolvers of many jobs share: what a batch offers to them (gather.h), instead
 * of the backend that their settings name.
 */
#ifndef HALO_CONVOLVER_SERVICE_H
#define HALO_CONVOLVER_SERVICE_H

#include "convolve/convolver.h"

struct convolver_service {
    const struct convolver_backend *backend;
    /* Whether it can take a convolver of that shape now. Threads: any. */
    bool (*serves)(const struct convolver_service *service, const struct convolver_shape *shape,
                   const struct mask *mask);
    /* The longest block for so many channels and taps, in frames; 0: none. */
    size_t (*block_most)(size_t channels, size_t taps);
};

#endif
