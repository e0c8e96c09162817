/* The CPU's convolver for blocks that are long against the mask: direct form, or
 * overlap-save in chunks. Shared by its setting up and its step alone.
 *
 * The inputs' spectra of a block's chunks, and where the mask is in parts of the chunks
 * before, lie in a ring; they serve every output and both slots of a fade.
 */
#ifndef HALO_CONVOLVER_CPU_BATCH_H
#define HALO_CONVOLVER_CPU_BATCH_H

#include "convolve/convolver_cpu.h"

enum { GROUP_MOST = 8 }; /* chunks of an output that go through a mask's spectra together */

struct convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    struct fft *fft;
    size_t floats;   /* of a spectrum */
    size_t depth;    /* spectra an input keeps */
    size_t newest;   /* where the block's first chunk lies; the others follow */
    float **spectra; /* [input] */
    size_t group;    /* chunks that are computed together, 1 to GROUP_MOST */
    float **sums;    /* [worker], `group` spectra each */
    float **samples; /* [worker] */
};

struct prepared {
    struct path_table paths;
    float *head;    /* direct form: column after column */
    size_t partitions;   /* that are not all zero */
    float *spectra; /* column after column, part after part */
};

/* Real-time; see struct convolver_backend. */
void cpu_batch_step(struct convolution *convolution, const float *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS]);

#endif
