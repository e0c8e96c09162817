/* A convolver for sounds that are already in a GPU's memory. Its work runs on a CUDA stream of the
 * caller.
 *
 * Samples are in the memory of the mask's device, which is the device that was current when the
 * convolver was created. Output frame i is the sum over k of in[i + origin - k] h[k]. Single
 * precision: errors stay below -125 dB of max|x| sum|h|.
 * A module has only one constant memory. So that several convolvers can work at once, on streams of
 * their own, their masks are not kept there.
 * Threads: one at a time for each convolver. Implemented in gpu/device_convolver.c; not available
 * without CUDA.
 */
#ifndef HALO_DEVICE_CONVOLVER_H
#define HALO_DEVICE_CONVOLVER_H

#include "base/status.h"
#include "mask/mask.h"

struct device_convolver;

/* Strides are in floats. Each channel begins at a multiple of 16 bytes. */
struct device_job {
    const float *in;
    size_t in_stride, frames;
    float *out;
    size_t out_stride, out_frames;
};

/* Creates a convolver on the current device, for outputs of at most `frames` frames. Errors: no
 * GPU, memory, a mask that is too long. */
MUST_CHECK enum status device_convolver_create(const struct mask *mask, size_t frames,
                                               struct device_convolver **convolver);
void device_convolver_destroy(struct device_convolver *convolver);

/* Queues the work on `stream`, a cudaStream_t, after the work of the last call. Does not wait.
 * Errors: those of the driver when it queues the work. */
MUST_CHECK enum status device_convolver_run(struct device_convolver *convolver,
                                            const struct device_job *job, void *stream);

#endif
