/* The GPU that a laboratory measures: what it is and what it could do. */
#ifndef HALO_GPU_LAB_DEVICE_H
#define HALO_GPU_LAB_DEVICE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct lab_device {
    char name[256];
    int driver; /* CUDA version, 1000 major + 10 minor */
    int runtime;
    int multiprocessors;
    double clock;      /* Hz */
    double flops_peak; /* float32 multiply-adds, two a cycle and core */
    size_t cache;      /* bytes of L2 */
};

/* Errors: no GPU, no driver; says what is missing. */
MUST_CHECK enum status lab_device_open(struct lab_device *device);

/* A line on standard output. */
void lab_device_print(const struct lab_device *device);

/* The first lines of --csv, and whether a line is one of them: then it is taken. */
void lab_device_print_csv(const struct lab_device *device);
bool lab_device_parse_csv(struct lab_device *device, const char *line);

/* Print `report`, which it releases, with the device's facts added. Errors: writing. */
MUST_CHECK enum status lab_device_print_json(const struct lab_device *device, json_t *report);

#endif
