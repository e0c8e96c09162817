/* The GPUs that --devices names. */
#ifndef HALO_GPU_DEVICES_H
#define HALO_GPU_DEVICES_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

enum { GPU_MOST = 64 };

/* GPUs, counted from 0. A stream or a file uses one GPU, a batch several. All zero: automatic. */
struct gpu_devices {
    bool all;
    size_t count;
    unsigned char of[GPU_MOST]; /* numbers of the GPUs */
};

static inline bool gpu_devices_are_given(const struct gpu_devices *devices)
{
    return devices->all || devices->count > 0;
}

/* Errors (usage): more than one GPU is named, for work that runs on one. */
MUST_CHECK enum status gpu_devices_check_one(const struct gpu_devices *devices);

/* Parses "all", or numbers as in 0,2. Errors: any other value; the message names --`option`. */
MUST_CHECK enum status gpu_devices_parse(const char *option, const char *value,
                                         struct gpu_devices *devices);

#endif
