/* The device of gather.h that is a GPU: its set-up (gather_cuda.c), what it does with a batch
 * (gather_cuda_run.c) and its transforms (gather_cuda_transforms.c).
 *
 * Each stretch is split into chunks for overlap-save, two to a complex transform; the pairs of all
 * stretches of one transform length are rows of one launch, whatever their masks: fused kernels up
 * to 16384 points, three passes above. Copies there and back have streams of their own. */
#ifndef HALO_GPU_GATHER_CUDA_H
#define HALO_GPU_GATHER_CUDA_H

#include "convolve/gather_device.h"
#include "gpu/fault.h"
#include "gpu/fft_kernels.h"
#include "gpu/gpu.h"

enum {
    GATHER_POWER_LEAST = 10, /* transforms of 2^10 points */
    GATHER_POWERS = 16,
    GATHER_WORK_POINTS = 1 << 23, /* of long transforms at a time: 64 MB */
};

/* What a device has of a batch. */
struct gather_cuda_batch {
    float *in, *out;                    /* device */
    struct fft_pair *pairs, *filled_in; /* device; pinned */
    cudaEvent_t arrived, computed, returned;
};

struct gather_cuda_device {
    struct gather_device base;
    size_t fused_most;
    cudaStream_t up, work, down;
    float *tables[GATHER_POWERS]; /* NULL: not yet needed */
    float2 *points;               /* GATHER_WORK_POINTS; NULL: not yet needed */
    uint64_t begun;
    struct fault fault;
    char problem[256];
};

/* How a stretch is split where the form has that length. */
struct fft_plan gather_cuda_plan(const struct gather_cuda_device *device, size_t taps,
                                 size_t frames, size_t length);

const char *gather_cuda_begin(struct gather_device *device, struct gather_batch *batch);
const char *gather_cuda_end(struct gather_device *device, struct gather_batch *batch);

/* Spectra of the columns at `taps`, to form->on_device, on the stream `work`. */
cudaError_t gather_cuda_form(struct gather_cuda_device *device, struct gather_form *form,
                             const float *taps);

/* Pairs of one length; those of one launch write to different places. */
cudaError_t gather_cuda_convolve(struct gather_cuda_device *device, size_t length,
                                 const struct fft_pair *pairs, size_t count);

void gather_cuda_free_transforms(struct gather_cuda_device *device);

#endif
