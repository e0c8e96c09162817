/* A mask as the users of libhalo hold it. Threads: created on one, then read by many. */
#ifndef HALO_API_MASK_H
#define HALO_API_MASK_H

#include "mask/mask.h"
#include <halo/halo.h>

struct halo_mask {
    struct mask *mask; /* routed */
    uint32_t rate;     /* Hz, of the sound */
    char *notes;
};

#endif
