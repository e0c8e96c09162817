#include "gpu/kernel2d.h"

#include "gpu/gpu.h"

/* A new kernel needs one file, and one entry here. */
static const struct kernel2d *const kernels[] = {
    &kernel2d_basic,     &kernel2d_constant, &kernel2d_tiled_in,
    &kernel2d_tiled_out, &kernel2d_cached,   &kernel2d_register,
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

enum { MULTIPROCESSORS = 132 }; /* assumed if there is no GPU */

const struct kernel2d *kernel2d_at(size_t index)
{
    return index < KERNELS ? kernels[index] : NULL;
}

static size_t multiprocessors(void)
{
    int count;
    if (gpu_attribute(cudaDevAttrMultiProcessorCount, &count) == cudaSuccess)
        return (size_t)count;
    (void)cudaGetLastError(); /* clears the error, which a launch will report */
    return MULTIPROCESSORS;
}

struct tile2d kernel2d_tile(const struct kernel2d *kernel, const struct kernel2d_job *job)
{
    struct picture2d picture = {job->channels, job->rows, job->columns};
    return tile2d_for(kernel->way, job->block, &picture, job->mask_rows, job->mask_columns,
                      multiprocessors());
}

static const char *block_obstacle(const struct kernel2d *kernel, const struct kernel2d_job *job,
                                  const struct tile2d *tile)
{
    const struct block2d *block = &tile->block;
    bool strips = kernel->way == TILE2D_REGISTER &&
                  strip_shape_for(job->mask_rows, job->mask_columns).rows > 0;
    if (strips && block->columns != STRIP_THREADS)
        return "takes blocks of 32 threads across";
    if (!strips && (size_t)block->columns * block->rows > TILE2D_THREADS_MOST)
        return "takes blocks of up to 1024 threads";
    if (tile->columns == 0)
        return "needs a block larger than the mask's halo (a row and a column less than the mask)";
    return NULL;
}

const char *kernel2d_obstacle(const struct kernel2d *kernel, const struct kernel2d_job *job,
                              size_t shared)
{
    if (job->mask_rows > KERNEL_TAPS_CONSTANT || job->mask_columns > KERNEL_TAPS_CONSTANT ||
        job->mask_rows * job->mask_columns > KERNEL_TAPS_CONSTANT)
        return "takes masks of up to 16384 coefficients, the 64 KB of constant memory";
    if (job->rows > KERNEL2D_SIDE_MOST || job->rows_in > KERNEL2D_SIDE_MOST ||
        job->columns > KERNEL2D_SIDE_MOST || job->channels > KERNEL2D_CHANNELS_MOST)
        return "takes pictures of up to 2^28 rows and columns and 65535 channels";
    struct tile2d tile = kernel2d_tile(kernel, job);
    const char *obstacle = block_obstacle(kernel, job, &tile);
    if (!obstacle && tile.shared_cells * sizeof(float) > shared)
        obstacle = "has too little shared memory for its tile; use a smaller block or mask";
    return obstacle;
}

enum status kernel2d_check(const struct kernel2d *kernel, const struct kernel2d_job *job)
{
    int shared;
    cudaError_t error = gpu_attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, &shared);
    if (error != cudaSuccess)
        return gpu_failed(error, "report its shared memory");
    const char *obstacle = kernel2d_obstacle(kernel, job, (size_t)shared);
    if (!obstacle)
        return STATUS_OK;
    return fail(CAUSE_UNSUPPORTED, "the kernel %s %s; the mask is %zux%zu", kernel->name, obstacle,
                job->mask_rows, job->mask_columns);
}

cudaError_t kernel2d_load(const struct kernel2d *kernel, const struct kernel2d_job *job,
                          cudaStream_t stream)
{
    return kernel->load ? kernel->load(job, stream) : cudaSuccess;
}
