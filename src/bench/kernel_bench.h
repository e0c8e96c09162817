/* The kernel bench: each kernel is timed on this GPU, compared with a copy, and checked in double
 * precision. It uses random data, a warm-up, the median of many runs, and rotating buffers, so that
 * no cache holds them. There are two kinds, sound and pictures; sound is a picture of one row. */
#ifndef HALO_KERNEL_BENCH_H
#define HALO_KERNEL_BENCH_H

#include "base/options.h"
#include "base/status.h"
#include "bench/bench_columns.h"
#include "gpu/kernel2d.h"

#include <stdint.h>

struct kernel_bench_report;

/* The GPU that is measured. */
struct kernel_bench_device {
    char name[256];
    int driver;  /* CUDA version: 1000 major + 10 minor */
    int runtime; /* CUDA version: 1000 major + 10 minor */
    int multiprocessors;
    double clock;      /* Hz */
    double flops_peak; /* peak of float32 operations per second: two per cycle and core */
    size_t cache;      /* bytes of L2 */
    size_t shared;     /* most bytes of shared memory per block */
};

/* Errors: no GPU, no driver. */
MUST_CHECK enum status kernel_bench_device_open(struct kernel_bench_device *device);

/* A size of a mask, a picture, or a block of threads. */
struct size2d {
    size_t rows;
    size_t columns;
};

struct size2d_list {
    size_t count;
    struct size2d values[OPTIONS_LIST_MOST];
};

struct kernel_bench_settings {
    const struct kernel_bench_kind *kind;
    struct number_list kernels; /* numbers of kernels; see kind->kernel_name */
    struct size2d_list masks;
    struct size2d_list sizes;      /* sizes of the sound or picture */
    struct size2d_list blocks;     /* threads per block; 0 columns: the kernel chooses */
    struct size2d_list transforms; /* transform lengths, if a kernel has any; 0: its choice */
    struct number_list pitched;    /* 1: rows with the pitch of cudaMallocPitch; 0: packed rows */
    enum kernel_boundary boundary;
    size_t channels;
    size_t repeats;
};

/* The result of one cell of the grid. */
struct kernel_bench_row {
    const char *kernel; /* "copy": a device-to-device copy of the same size */
    struct size2d size;
    struct size2d mask;  /* size of the mask; 0 for the copy */
    struct size2d block; /* as requested: threads per block, or a transform length */
    bool pitched;
    struct size2d launched; /* pictures: threads per block that were launched */
    struct tile2d tile;     /* pictures: the tile of a block */
    double seconds;         /* median of the runs */
    double samples_rate;    /* samples per second */
    double bytes_rate;      /* bytes per second, each read once and written once */
    double copy_share;      /* share of the rate of a copy of the same size */
    double flops;           /* operations per second, of the direct form: two per tap and sample */
    double peak_share;      /* share of the GPU's float32 peak */
    double error_db;        /* largest error at sampled places, in dB of max|x| sum|h| */
};

/* Most sets of buffers, which are used in turn. */
enum { KERNEL_BENCH_SETS_MOST = 64 };

/* The state of a run, for one size. */
struct kernel_bench {
    const struct kernel_bench_settings *settings;
    const struct kernel_bench_device *device;
    struct size2d size;
    bool pitched;
    size_t row_bytes;
    size_t pitch; /* bytes */
    size_t lines; /* rows of all channels together */
    size_t sets;
    char *in[KERNEL_BENCH_SETS_MOST];
    char *out[KERNEL_BENCH_SETS_MOST];
    float *cells; /* random input, in host memory */
    float *mask;  /* random mask, in host memory */
    float *device_mask;
    double *times; /* seconds of each run */
    cudaEvent_t begin;
    cudaEvent_t end;
    double copy_seconds;
    uint64_t random;

    /* Used by the kind: the kernel that is launched. */
    size_t kernel;
    struct kernel_job job;
    float *form; /* the mask in the form that the kernel needs */
    struct kernel2d_job job2d;
};

/* The functions that differ between sound and pictures. */
struct kernel_bench_kind {
    const char *(*kernel_name)(size_t kernel); /* NULL: there are no more kernels */
    const struct size2d_list *(*blocks)(const struct kernel_bench_settings *settings,
                                        size_t kernel);

    /* Whether the kernel can run in this cell; other cells are skipped. */
    bool (*can_run)(const struct kernel_bench *bench, size_t kernel, struct size2d mask,
                    struct size2d block);
    /* Prepares bench->kernel for the row, with bench->mask; bench->device_mask has the same.
     * `release` (may be NULL) is always called afterwards. */
    enum status (*prepare)(struct kernel_bench *bench, struct kernel_bench_row *row);
    cudaError_t (*launch)(struct kernel_bench *bench, size_t set);
    void (*release)(struct kernel_bench *bench);

    const struct bench_column *columns;
    const char *table_head; /* head of the columns that print_cells prints */
    void (*print_head)(const struct kernel_bench_settings *settings, bool csv);
    void (*print_cells)(const struct kernel_bench_row *row);
    /* Prints the arithmetic intensity of the tiles, below the table. */
    void (*print_tiles)(const struct kernel_bench_report *report);
    json_t *(*describe)(const struct kernel_bench_settings *settings);
};

extern const struct kernel_bench_kind kernel_bench_1d;
extern const struct kernel_bench_kind kernel_bench_2d;

/* Measures all cells; for each size, first the copy. Errors: CUDA's, memory, a wrong result. */
MUST_CHECK enum status kernel_bench_run(const struct kernel_bench_settings *settings,
                                        const struct kernel_bench_device *device,
                                        struct kernel_bench_report *report);

#define TRY_GPU(call, what)                                                                        \
    do {                                                                                           \
        cudaError_t try_error = (call);                                                            \
        if (try_error != cudaSuccess)                                                              \
            return gpu_failed(try_error, what);                                                    \
    } while (0)

#endif
