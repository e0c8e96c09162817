/* The two-dimensional kernels. All compute
 *
 *   out[r][c] = sum over i, j of x[first + r - i + floor(R/2)][c - j + floor(C/2)] m[i][j]
 *
 * for i = 0..R-1 and j = 0..C-1, where x is a channel of `in`, extended by the boundary policy.
 * mask2d.h has the convention. For a whole picture, in and out have the same rows, and first is 0.
 * For some rows of a picture, `in` begins with `first` rows before them. kernel.h names the source.
 *
 *   basic      one thread per output, mask in global memory
 *   constant   as basic, mask in constant memory
 *   tiled-in   a block of the input tile's size: threads on its rim write no output
 *   tiled-out  a block of the output tile's size: threads load several cells
 *   cached     the tile is in shared memory, halo cells come from the caches
 *   register   small masks run down strips with their sums in registers, larger ones over
 *              patches of shared memory, 32 outputs per thread
 *
 * Cells are floats. Channels are planar. Rows begin `pitch` bytes apart; multiples of 16 are
 * fastest (cudaMallocPitch).
 *
 * The mask is in device memory. `load` makes it current, in stream order. Functions with a stream
 * do not synchronise. Threads: one host thread at a time per kernel, since constant memory holds
 * one mask.
 */
#ifndef HALO_GPU_KERNEL2D_H
#define HALO_GPU_KERNEL2D_H

#include "gpu/kernel.h"
#include "gpu/tile2d.h"

enum {
    KERNEL2D_SIDE_MOST = 1 << 28, /* the most rows, and the most columns */
    KERNEL2D_CHANNELS_MOST = 65535,
};

/* A picture to convolve, and the mask. */
struct kernel2d_job {
    const void *in;    /* device */
    void *out;         /* device, not overlapping in */
    const float *mask; /* device, row after row */
    enum kernel_boundary boundary;
    size_t channels;
    size_t rows_in;
    size_t rows;      /* rows of out */
    size_t first;     /* rows of `in` before the first row of out */
    size_t columns;   /* columns of in and out */
    size_t pitch_in;  /* bytes from row to row of in, a multiple of a cell's */
    size_t pitch_out; /* bytes from row to row of out, a multiple of a cell's */
    size_t plane_in;  /* bytes from channel to channel of in, a multiple of a cell's */
    size_t plane_out; /* bytes from channel to channel of out, a multiple of a cell's */
    size_t mask_rows;
    size_t mask_columns;
    struct block2d block; /* threads of a block; 0 x 0: the kernel chooses */
};

struct kernel2d {
    const char *name;
    const char *technique; /* short description for users */
    enum tile2d_way way;
    /* NULL: there is nothing to load */
    cudaError_t (*load)(const struct kernel2d_job *job, cudaStream_t stream);
    cudaError_t (*launch)(const struct kernel2d_job *job, cudaStream_t stream);
};

extern const struct kernel2d kernel2d_basic, kernel2d_constant, kernel2d_tiled_in,
    kernel2d_tiled_out, kernel2d_cached, kernel2d_register;

/* The kernel with this index. NULL after the last. */
const struct kernel2d *kernel2d_at(size_t index);

/* How the kernel tiles the job's picture. */
struct tile2d kernel2d_tile(const struct kernel2d *kernel, const struct kernel2d_job *job);

/* Why the kernel cannot do the job, as words that follow its name. NULL: it can. `shared`: bytes of
 * shared memory that a block can have. */
const char *kernel2d_obstacle(const struct kernel2d *kernel, const struct kernel2d_job *job,
                              size_t shared);

/* Whether the kernel can do the job on the current device. Errors: it cannot; errors of CUDA. */
enum status kernel2d_check(const struct kernel2d *kernel, const struct kernel2d_job *job);

/* Makes job->mask the kernel's current mask. */
cudaError_t kernel2d_load(const struct kernel2d *kernel, const struct kernel2d_job *job,
                          cudaStream_t stream);

#endif
