/* What is true of any mask that was read. */
#ifndef HALO_TESTS_FUZZ_MASK_CHECK_H
#define HALO_TESTS_FUZZ_MASK_CHECK_H

#include "mask/mask.h"

#include <stdlib.h>

static inline void fuzz_mask_check(const struct mask *mask)
{
    if (mask->columns == 0 || mask->taps == 0 || mask->origin >= mask->taps)
        abort();
    for (size_t p = 0; p < mask->path_count; p++)
        if (mask->paths[p].input >= mask->inputs || mask->paths[p].output >= mask->outputs ||
            mask->paths[p].column >= mask->columns)
            abort();
}

#endif
