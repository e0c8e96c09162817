/* A mask on a GPU, which convolves sounds that are in its memory, on streams of others.
 *
 * Samples are those of the mask's device, the one that was current when the convolver was made;
 * output frame i is the sum over k of in[i + origin - k] h[k]. In single precision: errors stay
 * below -125 dB of max|x| sum|h|. Masks in constant memory, of which a module has one, are not
 * used, so that several convolvers may work on streams of their own at once. Threads: one at a time
 * for each. gpu/device_convolver.c; without CUDA there is none.
 */
#ifndef HALO_DEVICE_CONVOLVER_H
#define HALO_DEVICE_CONVOLVER_H

#include "base/status.h"
#include "mask/mask.h"

struct device_convolver;

/* In floats and frames; channels begin at multiples of 16 bytes. */
struct device_job {
    const float *in;
    size_t in_stride, frames;
    float *out;
    size_t out_stride, out_frames;
};

/* On the current device, for outputs of at most `frames` frames. Errors: no GPU, memory, a mask
 * that is too long. */
MUST_CHECK enum status device_convolver_create(const struct mask *mask, size_t frames,
                                               struct device_convolver **convolver);
void device_convolver_destroy(struct device_convolver *convolver);

/* Queue the work on `stream`, a cudaStream_t, after that of the last call; does not wait. Errors:
 * what the driver says when it is queued. */
MUST_CHECK enum status device_convolver_run(struct device_convolver *convolver,
                                            const struct device_job *job, void *stream);

#endif
