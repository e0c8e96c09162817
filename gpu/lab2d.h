/* The kernel laboratory in two dimensions: what each kernel does to pictures on this GPU, timed
 * beside the copy and against the truth. Random data, warm-up, the median of many runs,
 * buffers rotated so that no cache holds them. */
#ifndef HALO_GPU_LAB2D_H
#define HALO_GPU_LAB2D_H

#include "kernel2d.h"
#include "lab.h"

struct size2d {
    size_t rows;
    size_t columns;
};

struct size2d_list {
    size_t count;
    struct size2d values[OPTIONS_LIST_MOST];
};

struct lab2d_settings {
    const struct kernel2d *kernels[OPTIONS_LIST_MOST];
    size_t kernel_count;
    struct size2d_list masks;
    struct size2d_list sizes;   /* of pictures */
    struct size2d_list blocks;  /* 0x0: each kernel's own choice */
    struct number_list pitched; /* 1: rows at cudaMallocPitch's pitch; 0: packed */
    enum kernel2d_cells cells;
    enum kernel2d_boundary boundary;
    size_t channels;
    size_t repeats;
};

/* One cell of the grid. */
struct lab2d_row {
    const char *kernel; /* "copy": a device-to-device copy of as many bytes */
    struct size2d size;
    struct size2d mask;  /* 0x0: the copy */
    struct size2d block; /* as asked for; 0x0: the kernel's own choice */
    bool pitched;
    struct tile2d tile; /* as it was run */
    double seconds;     /* median of the runs */
    double bytes_rate;  /* read once and written once, a second */
    double copy_share;  /* of the copy's rate, of the same picture, in this run */
    double flops;       /* a second, two for each coefficient */
    double peak_share;  /* of the GPU's float32 peak */
    double error_db;    /* largest error at sampled places, of max|x| sum|m|, or of 255 */
};

/* Calls `row` for each cell as it is measured, the copy first for each picture. What a kernel
 * cannot do is left out. Errors: CUDA's, a result that is wrong, nothing to be done. */
MUST_CHECK enum status lab2d_run(const struct lab2d_settings *settings,
                                 const struct lab_device *device,
                                 enum status (*row)(void *context, const struct lab2d_row *row),
                                 void *context);

#endif
