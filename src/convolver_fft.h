/* The convolver of the CPU: float32, by the plan that partition.c finds cheapest.
 * Shared by its setting up (convolver_fft.c) and its step (convolver_fft_step.c)
 * alone.
 *
 * Spectra of the inputs are computed once a block and serve every output and
 * both masks of a fade. Overlap-save: each chunk of a block has one spectrum an
 * input. Partitioned: each segment keeps the spectra of its last partitions in a
 * ring; a partition's result is due `offset` frames after its input, so results
 * wait in a ring of outputs, one for each voice.
 */
#ifndef HALO_CONVOLVER_FFT_H
#define HALO_CONVOLVER_FFT_H

#include "convolver.h"
#include "fft.h"
#include "history.h"
#include "partition.h"

/* The spectra of one segment's past: depth of them an input, the newest at `newest`. */
struct spectra_ring {
    const struct partition_segment *segment;
    struct fft *fft;
    size_t floats; /* of a spectrum */
    size_t depth;
    size_t newest;
    size_t late;     /* results that can still be due when the next partition is full */
    float **spectra; /* [input] */
};

struct convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end; /* frames that came in, the block at hand included */

    struct fft *chunk_fft; /* overlap-save */
    size_t chunk_floats;
    float **chunk_spectra; /* [input], chunk after chunk */

    struct spectra_ring rings[PARTITION_SEGMENTS_MOST];
    size_t due_length;             /* frames of an output's ring */
    float **due[CONVOLVER_VOICES]; /* [output] */

    float **scratch_spectrum; /* [worker] */
    float **scratch_samples;
};

struct prepared {
    struct path_table paths;
    float *head;                                  /* column after column, plan.head taps each */
    float *chunk_spectra;                         /* column after column */
    size_t parts[PARTITION_SEGMENTS_MOST];        /* that are not all zero */
    float *part_spectra[PARTITION_SEGMENTS_MOST]; /* column after column, part after part */
};

/* Real-time; see struct convolver_backend. */
void fft_step(struct convolution *convolution, const float *const *in,
              const struct convolver_voice voices[CONVOLVER_VOICES]);

#endif
