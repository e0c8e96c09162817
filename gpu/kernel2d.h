/* The kernels of two dimensions, one technique a file. All compute
 *
 *   out[r][c] = sum over i, j of x[first + r - i + floor(R/2)][c - j + floor(C/2)] m[i][j]
 *
 * i = 0..R-1, j = 0..C-1, where x is a channel of `in` and, beyond its ends, what the
 * boundary says
 * (mask2d.h has the convention). For a whole picture in and out have as many rows and first is 0;
 * for some rows of a longer one `in` begins with those before. They are the steps of the
 * textbook's ladder (Kirk and Hwu, "Programming Massively Parallel Processors", chapter on
 * convolution), and on top of it our own:
 *
 *   basic      one thread an output, mask in global memory
 *   constant   the same, mask in constant memory
 *   tiled-in   a block as large as the tile it loads: threads at its rim put nothing out
 *   tiled-out  a block as large as the tile it puts out: threads load more than once
 *   cached     the block's own cells in shared memory, halo cells left to the caches
 *   register   small masks run down strips with their sums in registers, larger ones over
 *              patches of shared memory, 32 outputs a thread
 *
 * Cells are float, or bytes as images have them: their sums are rounded to the nearest whole
 * number and clamped to 0..255. Channels are planar, each a picture of its own (images that
 * interleave them are parted before); rows begin `pitch` bytes after each other, at a multiple
 * of 16 bytes for speed (cudaMallocPitch) or packed without a gap.
 *
 * A mask is in device memory, made current by load, in stream order, and then launched.
 * Nothing that takes a stream synchronises. Threads: one host thread at a time for each kernel,
 * since constant memory has one mask.
 */
#ifndef HALO_GPU_KERNEL2D_H
#define HALO_GPU_KERNEL2D_H

#include "gpu/kernel.h"
#include "gpu/tile2d.h"

enum kernel2d_cells { KERNEL2D_FLOAT, KERNEL2D_BYTE };

enum {
    KERNEL2D_SIDE_MOST = 1 << 28, /* rows, and columns */
    KERNEL2D_CHANNELS_MOST = 65535,
};

struct kernel2d_job {
    const void *in;    /* device */
    void *out;         /* device, apart from in */
    const float *mask; /* device, row after row */
    enum kernel2d_cells cells;
    enum kernel_boundary boundary;
    size_t channels;
    size_t rows_in;
    size_t rows; /* of out */
    size_t first;
    size_t columns;  /* of both */
    size_t pitch_in; /* bytes, a multiple of a cell's */
    size_t pitch_out;
    size_t plane_in; /* bytes from channel to channel, likewise */
    size_t plane_out;
    size_t mask_rows;
    size_t mask_columns;
    struct block2d block; /* none: the kernel's own choice */
};

struct kernel2d {
    const char *name;
    const char *technique; /* for people */
    enum tile2d_way way;
    cudaError_t (*load)(const struct kernel2d_job *job, cudaStream_t stream); /* NULL: nothing */
    cudaError_t (*launch)(const struct kernel2d_job *job, cudaStream_t stream);
};

extern const struct kernel2d kernel2d_basic;
extern const struct kernel2d kernel2d_constant;
extern const struct kernel2d kernel2d_tiled_in;
extern const struct kernel2d kernel2d_tiled_out;
extern const struct kernel2d kernel2d_cached;
extern const struct kernel2d kernel2d_register;

/* By index (NULL past the last) and by name (NULL: there is none). */
const struct kernel2d *kernel2d_at(size_t index);
const struct kernel2d *kernel2d_named(const char *name);

size_t kernel2d_cell_bytes(enum kernel2d_cells cells);

/* How the kernel cuts up the job's picture; its block is the job's, or else the kernel's own. */
struct tile2d kernel2d_tile(const struct kernel2d *kernel, const struct kernel2d_job *job);

/* Why the kernel cannot do the job, in words to follow its name, or NULL. `shared`: bytes of
 * shared memory that a block can have. */
const char *kernel2d_obstacle(const struct kernel2d *kernel, const struct kernel2d_job *job,
                              size_t shared);

/* The same as a refusal, on the current device. An enum status: the obstacle, CUDA's errors. */
enum status kernel2d_check(const struct kernel2d *kernel, const struct kernel2d_job *job);

/* Make job->mask the kernel's. */
cudaError_t kernel2d_load(const struct kernel2d *kernel, const struct kernel2d_job *job,
                          cudaStream_t stream);

#endif
