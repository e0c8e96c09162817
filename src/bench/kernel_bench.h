/* The kernel bench: each kernel on this GPU, timed beside a copy and checked in double precision.
 * Random data, warm-up, the median of many runs, buffers rotated so that no cache holds them. It
 * has two kinds, sound and pictures; sound is a picture of one row. */
#ifndef HALO_KERNEL_BENCH_H
#define HALO_KERNEL_BENCH_H

#include "base/options.h"
#include "base/status.h"
#include "bench/bench_columns.h"
#include "gpu/kernel2d.h"

#include <stdint.h>

struct kernel_bench_report;

/* The GPU that is measured, and its peak rates. */
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
    struct number_list kernels; /* as kind->kernel_name counts them */
    struct size2d_list masks;
    struct size2d_list sizes;      /* of what is filtered */
    struct size2d_list blocks;     /* threads; 0 columns: the kernel's choice */
    struct size2d_list transforms; /* lengths, for kernels that transform; 0: the kernel's choice */
    struct number_list pitched;    /* 1: rows at cudaMallocPitch's pitch; 0: packed */
    enum kernel_boundary boundary;
    size_t channels;
    size_t repeats;
};

/* One cell of the grid. */
struct kernel_bench_row {
    const char *kernel; /* "copy": a device-to-device copy of as many bytes */
    struct size2d size;
    struct size2d mask;  /* no cells: the copy */
    struct size2d block; /* as requested: threads, or a transform length */
    bool pitched;
    struct size2d launched; /* pictures: the block as launched, and its tile */
    struct tile2d tile;
    double seconds;      /* median of the runs */
    double samples_rate; /* per second */
    double bytes_rate;   /* read once and written once, per second */
    double copy_share;   /* of the rate of the copy of the same size */
    double flops;        /* of the direct form, two per tap, per second */
    double peak_share;   /* of the GPU's float32 peak */
    double error_db;     /* largest error at sampled places, of max|x| sum|h|, or of 255 */
};

/* Sets of buffers, rotated. */
enum { KERNEL_BENCH_SETS_MOST = 64 };

/* The state of a run, for one size. */
struct kernel_bench {
    const struct kernel_bench_settings *settings;
    const struct kernel_bench_device *device;
    struct size2d size;
    bool pitched;
    size_t row_bytes;
    size_t pitch; /* bytes */
    size_t lines; /* rows of all channels */
    size_t sets;
    char *in[KERNEL_BENCH_SETS_MOST];
    char *out[KERNEL_BENCH_SETS_MOST];
    float *cells; /* host */
    float *mask;  /* host */
    float *device_mask;
    double *times; /* seconds */
    cudaEvent_t begin;
    cudaEvent_t end;
    double copy_seconds;
    uint64_t random;

    /* Owned by the kind: what is launched. */
    size_t kernel;
    struct kernel_job job;
    float *form; /* the mask in the kernel's form */
    struct kernel2d_job job2d;
};

struct kernel_bench_kind {
    const char *(*kernel_name)(size_t kernel); /* NULL: no more */
    const struct size2d_list *(*blocks)(const struct kernel_bench_settings *settings,
                                        size_t kernel);

    /* Whether the kernel can run; other cells are skipped. */
    bool (*can_run)(const struct kernel_bench *bench, size_t kernel, struct size2d mask,
                    struct size2d block);
    /* Prepare bench->kernel for the row with bench->mask, which is also at bench->device_mask.
     * Always followed by `release`, which may be NULL. */
    enum status (*prepare)(struct kernel_bench *bench, struct kernel_bench_row *row);
    cudaError_t (*launch)(struct kernel_bench *bench, size_t set);
    void (*release)(struct kernel_bench *bench);

    const struct bench_column *columns;
    const char *table_head; /* of the columns that print_cells prints */
    void (*print_head)(const struct kernel_bench_settings *settings, bool csv);
    void (*print_cells)(const struct kernel_bench_row *row);
    /* The arithmetic intensity of the tiles, after the table. */
    void (*print_tiles)(const struct kernel_bench_report *report);
    json_t *(*describe)(const struct kernel_bench_settings *settings);
};

extern const struct kernel_bench_kind kernel_bench_1d;
extern const struct kernel_bench_kind kernel_bench_2d;

/* Add a row to the report for each cell as it is measured, the copy first for each size. Errors:
 * CUDA's, memory, a wrong result. */
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
