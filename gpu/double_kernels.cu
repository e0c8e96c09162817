extern "C" {
#include "gpu/double_kernels.h"
}

static constexpr unsigned THREADS = 256;
static constexpr size_t ROWS_MOST = 65535; /* rows of a grid; more channels take turns */

/* blockIdx.y is the column. */
__global__ void pad(size_t fft, const double *__restrict__ taps, size_t count,
                    double *__restrict__ work)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, column = blockIdx.y;
    if (i < fft)
        work[column * fft + i] = i < count ? taps[column * count + i] / (double)fft : 0.0;
}

/* blockIdx.y runs over the rows. */
__global__ void widen(const float *__restrict__ in, size_t frames, double *__restrict__ out,
                      size_t stride, size_t rows)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < frames)
        for (size_t r = blockIdx.y; r < rows; r += gridDim.y)
            out[r * stride + i] = in[r * frames + i];
}

/* In the kernels from here on, blockIdx.x runs along the points, y is the chunk, z the channel. */
__global__ void gather(double_plan plan, const double *__restrict__ rows, size_t stride,
                       size_t inputs, size_t first, double *__restrict__ work)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, chunk = blockIdx.y;
    if (i >= plan.fft)
        return;
    bool is_silent = first + chunk >= plan.chunks;
    for (size_t c = blockIdx.z; c < inputs; c += gridDim.z)
        work[(c * plan.batch + chunk) * plan.fft + i] =
            is_silent ? 0.0 : rows[c * stride + (first + chunk) * plan.hop + i];
}

__global__ void multiply(double_plan plan, double_paths paths, size_t outputs,
                         const double2 *__restrict__ in, const double2 *__restrict__ forms,
                         double2 *__restrict__ out)
{
    size_t bin = (size_t)blockIdx.x * blockDim.x + threadIdx.x, chunk = blockIdx.y;
    if (bin >= plan.bins)
        return;
    for (size_t o = blockIdx.z; o < outputs; o += gridDim.z) {
        double2 sum = make_double2(0, 0);
        for (unsigned p = paths.first[o]; p < paths.first[o + 1]; p++) {
            double2 x = in[(paths.paths[p].x * plan.batch + chunk) * plan.bins + bin];
            double2 h = forms[paths.paths[p].y * plan.bins + bin];
            sum.x += x.x * h.x - x.y * h.y;
            sum.y += x.x * h.y + x.y * h.x;
        }
        out[(o * plan.batch + chunk) * plan.bins + bin] = sum;
    }
}

template <typename sample>
__global__ void scatter(double_plan plan, const double *__restrict__ work, size_t outputs,
                        size_t first, sample *__restrict__ rows, size_t frames)
{
    size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x, chunk = blockIdx.y;
    size_t frame = (first + chunk) * plan.hop + i;
    if (i >= plan.hop || frame >= frames)
        return;
    for (size_t o = blockIdx.z; o < outputs; o += gridDim.z)
        rows[o * frames + frame] =
            (sample)work[(o * plan.batch + chunk) * plan.fft + plan.keep + i];
}

static dim3 grid_for(const struct double_plan *plan, size_t points, size_t channels)
{
    size_t rows = channels < ROWS_MOST ? channels : ROWS_MOST;
    return dim3((unsigned)((points + THREADS - 1) / THREADS), (unsigned)plan->batch,
                (unsigned)rows);
}

cudaError_t double_pad(const struct double_plan *plan, const double *taps, size_t count,
                       size_t columns, double *work, cudaStream_t stream)
{
    dim3 grid((unsigned)((plan->fft + THREADS - 1) / THREADS), (unsigned)columns);
    pad<<<grid, THREADS, 0, stream>>>(plan->fft, taps, count, work);
    return cudaGetLastError();
}

cudaError_t double_widen(const float *in, size_t frames, double *out, size_t stride, size_t rows,
                         cudaStream_t stream)
{
    dim3 grid((unsigned)((frames + THREADS - 1) / THREADS),
              (unsigned)(rows < ROWS_MOST ? rows : ROWS_MOST));
    widen<<<grid, THREADS, 0, stream>>>(in, frames, out, stride, rows);
    return cudaGetLastError();
}

cudaError_t double_gather(const struct double_plan *plan, const double *rows, size_t stride,
                          size_t inputs, size_t first, double *work, cudaStream_t stream)
{
    gather<<<grid_for(plan, plan->fft, inputs), THREADS, 0, stream>>>(*plan, rows, stride, inputs,
                                                                      first, work);
    return cudaGetLastError();
}

cudaError_t double_multiply(const struct double_plan *plan, const struct double_paths *paths,
                            size_t outputs, const double2 *in, const double2 *forms, double2 *out,
                            cudaStream_t stream)
{
    multiply<<<grid_for(plan, plan->bins, outputs), THREADS, 0, stream>>>(*plan, *paths, outputs,
                                                                          in, forms, out);
    return cudaGetLastError();
}

cudaError_t double_scatter(const struct double_plan *plan, const double *work, size_t outputs,
                           size_t first, void *rows, bool is_single, size_t frames,
                           cudaStream_t stream)
{
    dim3 grid = grid_for(plan, plan->hop, outputs);
    if (is_single)
        scatter<<<grid, THREADS, 0, stream>>>(*plan, work, outputs, first,
                                              static_cast<float *>(rows), frames);
    else
        scatter<<<grid, THREADS, 0, stream>>>(*plan, work, outputs, first,
                                              static_cast<double *>(rows), frames);
    return cudaGetLastError();
}
