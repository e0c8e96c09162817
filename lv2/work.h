/* What run asks of the worker: the message that the host carries. */
#ifndef HALO_LV2_WORK_H
#define HALO_LV2_WORK_H

#include "instance.h"

#include <stddef.h>

enum work_task { WORK_LOAD, WORK_FREE, WORK_TELL };

struct work {
    enum work_task task;
    struct processor *processor; /* to free, or whose convolver has something to tell */
    uint32_t number;     /* to load: of the wish, and the wish */
    float trim;
    bool gpu;
    char file[FILE_MOST]; /* sent no further than it goes */
};

#endif
