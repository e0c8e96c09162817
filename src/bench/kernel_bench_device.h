/* The GPU that the kernel bench measures, and its peak rates. */
#ifndef HALO_KERNEL_BENCH_DEVICE_H
#define HALO_KERNEL_BENCH_DEVICE_H

#include "base/status.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct kernel_bench_device {
    char name[256];
    int driver; /* CUDA version, 1000 major + 10 minor */
    int runtime;
    int multiprocessors;
    double clock;      /* Hz */
    double flops_peak; /* float32 multiply-adds, two a cycle and core */
    size_t cache;      /* bytes of L2 */
    size_t shared;     /* bytes of shared memory that a block can have */
};

/* Errors: no GPU, no driver. */
MUST_CHECK enum status kernel_bench_device_open(struct kernel_bench_device *device);

/* A line on standard output. */
void kernel_bench_device_print(const struct kernel_bench_device *device);

/* The first lines of --csv, and their parsing: false if the line is another. */
void kernel_bench_device_print_csv(const struct kernel_bench_device *device);
bool kernel_bench_device_parse_csv(struct kernel_bench_device *device, const char *line);

/* Print the device's fields, then those of `report`, which is released. Errors: writing. */
MUST_CHECK enum status kernel_bench_device_print_json(const struct kernel_bench_device *device,
                                                      json_t *report);

#endif
