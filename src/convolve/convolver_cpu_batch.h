/* The CPU's convolver for blocks that are long compared with the mask: direct form, or overlap-save
 * in chunks. Private to its set-up and its step.
 *
 * The spectra of a block's chunks, and of earlier ones if the mask is partitioned, are in a ring
 * shared by all outputs and by both slots of a fade. Threads: the workers share each step, and the
 * preparing of a mask in a file; live both are done by the caller alone.
 */
#ifndef HALO_CONVOLVER_CPU_BATCH_H
#define HALO_CONVOLVER_CPU_BATCH_H

#include "convolve/convolver_cpu.h"

#include <stdatomic.h>

/* For each precision. */
#define cpu_batch_step REAL(cpu_batch_step)

struct cpu_batch_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    struct real_odd_fft *fft;
    size_t floats;                     /* of a spectrum */
    size_t depth;                      /* spectra per input */
    size_t newest;                     /* the block's first chunk; the others follow */
    real **spectra;                    /* [input] */
    bool *silent;                      /* spectra of silence: [input * depth + place] */
    size_t group;                      /* chunks computed together, 1 to GROUP_MOST */
    real **sums;                       /* [worker], `group` spectra each */
    real **samples;                    /* [worker] */
    real peak;                         /* of the sound so far */
    real *peaks;                       /* [input] of the block */
    const struct cpu_batch_mask *near; /* of the step's masks, one with `precise`, or NULL */
    atomic_size_t precise_frames;      /* how long outputs may come near the bound from now on */
    struct workers *sharers;           /* of a step: NULL where it is too short, or live */
    struct workers *takers;            /* of its inputs: the same */
};

struct cpu_batch_mask {
    struct path_table paths;
    real *head;        /* direct form: column by column */
    size_t partitions; /* that are not all zero */
    real *spectra;     /* column by column, partition by partition: */
    size_t floats;     /* of all */
    struct near_bound bound;
    struct fft_double **precise; /* [worker]; NULL: not needed */
    bool is_shared;              /* a form of the mask (mask_share.h): without `precise` */
};

/* Live, the step works alone: waking threads would take longer than the work; and the threads of a
 * running stream are not for preparing masks. */
static inline struct workers *batch_workers(const struct cpu_batch_convolution *convolution)
{
    return convolution->shape.live ? NULL : convolution->shape.workers;
}

/* See struct convolver_backend. */
void cpu_batch_step(struct convolution *convolution, const real *const *in,
                    const struct convolver_slot slots[CONVOLVER_SLOTS]);

#endif
