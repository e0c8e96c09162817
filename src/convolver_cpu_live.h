/* The CPU's convolver for blocks that are short against the mask: a direct head and
 * segments of growing partitions, at no latency. Shared by its setting up and its step.
 *
 * A segment keeps the spectra of its last partitions of each input in a ring. Its results
 * wait in a ring of outputs, one for each voice, until they are due. When a partition of a
 * segment is full its job begins: transform it for every input; then, for every voice and
 * output, multiply spectra and add up, transform back, and lay down what is due. A job is
 * done in units, none longer than one transform, as many in each block as its share is: it
 * has to be finished when the next partition is full. Only partitions of one block's length
 * are due at once.
 */
#ifndef HALO_CONVOLVER_CPU_LIVE_H
#define HALO_CONVOLVER_CPU_LIVE_H

#include "convolver_cpu.h"

/* How far a segment's job has come. */
struct job {
    uint64_t full; /* the end of its partition, in frames of the stream; 0: no job yet */
    size_t input;  /* to be transformed next; all of them come first */
    size_t voice;  /* then these: whose output comes next, and within it */
    size_t output; /* which path and part */
    size_t path;   /* in the order of the voice's path table */
    size_t part;   /* of the mask */
    bool summing;  /* the segment's sum holds what came of the output so far */
    double cost;   /* ns by the model, all of it */
    double done;   /* of that */
    const struct prepared *prepared[CONVOLVER_VOICES]; /* NULL: nobody waits for it (any more) */
};

struct segment {
    struct partition_segment cut;
    struct fft *fft;
    size_t floats; /* of a spectrum */
    size_t depth;
    size_t newest;
    size_t late;     /* results that can still be due when the next partition is full */
    float **spectra; /* [input] */
    float *sum;      /* of the job's output */
    struct job job;
};

struct convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end; /* frames that came in, the block at hand included */
    struct segment segments[PARTITION_SEGMENTS_MOST];
    size_t due_length;             /* frames of an output's ring */
    float **due[CONVOLVER_VOICES]; /* [output] */
    float *samples;                /* of one transform */
};

struct prepared {
    struct path_table paths;
    float *head;                             /* column after column, plan.head taps each */
    size_t parts[PARTITION_SEGMENTS_MOST];   /* that are not all zero */
    float *spectra[PARTITION_SEGMENTS_MOST]; /* column after column, part after part */
};

/* Real-time; see struct convolver_backend. */
void cpu_live_step(struct convolution *convolution, const float *const *in,
                   const struct convolver_voice voices[CONVOLVER_VOICES]);

#endif
