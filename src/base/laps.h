/* Where the time of a render goes: seconds of each phase, added up over threads. Shown by
 * --verbose, and for measurements, which the rest of that would disturb, by HALO_LAPS=1 in the
 * environment. Before they begin, a lap costs a comparison. Threads: any. */
#ifndef HALO_LAPS_H
#define HALO_LAPS_H

#include <stdbool.h>
#include <stdint.h>

enum lap {
    LAP_OPEN,    /* the input */
    LAP_CONTEXT, /* a GPU's, in a thread of its own */
    LAP_LIBRARY, /* of its transforms, in that thread */
    LAP_MASKS,   /* read and adapted */
    LAP_CHAIN,   /* filters made; the following are parts of it: */
    LAP_DEVICE,  /* waiting for that thread */
    LAP_PIN,     /* memory of the GPU and for its copies */
    LAP_PLAN,    /* its transforms */
    LAP_FORM,    /* masks sent to it and transformed */
    LAP_SINK,    /* the output opened */
    LAP_BUFFERS, /* blocks allocated */
    LAP_FIRST,   /* until the first block is read */
    LAP_READ,    /* on the reader's thread */
    LAP_STARVED, /* the chain waits for it */
    LAP_STEP,    /* the chain; the following are parts of it: */
    LAP_SEND,    /* inputs copied to pinned memory and sent */
    LAP_LAUNCH,  /* kernels queued */
    LAP_COMPUTE, /* until they are done */
    LAP_RETURN,  /* outputs sent and copied from pinned memory */
    LAP_HISTORY, /* inputs kept for the CPU */
    LAP_HELD,    /* the chain waits for the writer */
    LAP_MEASURE, /* peaks, on the writer's thread */
    LAP_WRITE,
    LAP_COMMIT, /* the output made permanent */
    LAPS
};

/* From now on, and from nothing. Before there are other threads. */
void laps_begin(bool is_verbose);

int64_t lap_begin(void); /* ns; 0: they have not begun */
void lap_end(enum lap lap, int64_t begin);

/* Print all that took half a millisecond, if that is wanted. */
void laps_note(void);

#endif
