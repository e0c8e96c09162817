/* The plot of a laboratory, through gnuplot: bandwidth beside arithmetic, a line a kernel. */
#ifndef HALO_GPU_LAB_PLOT_H
#define HALO_GPU_LAB_PLOT_H

#include "base/options.h"
#include "base/status.h"
#include "lab_device.h"

#include <stdbool.h>
#include <stdio.h>

struct lab_plot {
    const char *file;
    const struct lab_device *device;
    size_t kernel_count;
    const char *kernels[OPTIONS_LIST_MOST]; /* names */
    const char *against;                    /* the axis below */
    const char *arithmetic;                 /* the right panel's title */
    bool falls;                             /* bandwidths fall towards the right */
    double flops_least;                     /* where that axis begins, in TFLOP/s; 0: anywhere */
    /* Writes the data: a block $kN for each kernel, of x, GB/s and TFLOP/s in a line, and $copy, of
     * x and GB/s. */
    void (*send)(const void *context, FILE *commands);
    const void *context;
};

/* Before anything is measured: a file that can be drawn, and gnuplot; NULL is fine. */
MUST_CHECK enum status lab_plot_check(const char *file);

/* Replaces a file that stands there. Errors: gnuplot's, the file's. */
MUST_CHECK enum status lab_plot_draw(const struct lab_plot *plot);

#endif
