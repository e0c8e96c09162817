/* How long the phases of a render take, in seconds, summed over threads. Shown by --verbose. For
 * measurements, which --verbose would disturb, HALO_LAPS=1 in the environment shows only them.
 * Before laps_begin, a lap costs one comparison. Threads: any. */
#ifndef HALO_LAPS_H
#define HALO_LAPS_H

#include <stdbool.h>
#include <stdint.h>

enum lap {
    LAP_OPEN,    /* opening the input */
    LAP_CONTEXT, /* the GPU's context, in a thread of its own */
    LAP_LIBRARY, /* the library of the GPU's transforms, in that thread */
    LAP_MASKS,   /* reading and adapting masks */
    LAP_CHAIN,   /* making filters; the laps up to LAP_FORM are parts of it */
    LAP_DEVICE,  /* waiting for the thread of LAP_CONTEXT */
    LAP_PIN,     /* allocating memory of the GPU, and memory for its copies */
    LAP_PLAN,    /* plans of the GPU's transforms */
    LAP_FORM,    /* sending masks to the GPU and transforming them */
    LAP_SINK,    /* opening the output */
    LAP_BUFFERS, /* allocating blocks */
    LAP_FIRST,   /* until the first block is read */
    LAP_READ,    /* reading, on the reader's thread */
    LAP_STARVED, /* the chain waits for the reader */
    LAP_STEP,    /* the chain's step; the laps up to LAP_HISTORY are parts of it */
    LAP_SEND,    /* copying inputs to pinned memory and sending them */
    LAP_LAUNCH,  /* queuing kernels */
    LAP_COMPUTE, /* waiting for the kernels */
    LAP_RETURN,  /* returning outputs and copying them from pinned memory */
    LAP_HISTORY, /* keeping inputs for the CPU */
    LAP_HELD,    /* the chain waits for the writer */
    LAP_MEASURE, /* measuring peaks, on the writer's thread */
    LAP_WRITE,
    LAP_COMMIT, /* making the output permanent */
    LAPS
};

/* Starts measuring, with all sums at 0. Call it before there are other threads. */
void laps_begin(bool is_verbose);

int64_t lap_begin(void); /* the present time in ns; 0: measuring has not started */
void lap_end(enum lap lap, int64_t begin);

/* Prints the phases that took half a millisecond or more, if the user wants them. */
void laps_note(void);

#endif
