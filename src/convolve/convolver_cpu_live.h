/* The CPU's convolver for blocks that are short against the mask: a direct head and
 * segments of growing partitions, at no latency. Shared by its setting up and its step.
 *
 * A segment keeps the spectra of its last partitions of each input in a ring. Its results
 * wait in a ring of outputs, one for each slot, until they are due. When a partition of a
 * segment is full its job begins: transform it for every input; then, for every slot and
 * output, multiply spectra and add up, transform back, and lay down what is due. A job is
 * done in units, none longer than one transform; it has to be finished when the next
 * partition is full but for a block. Only partitions of one block's length are due at once.
 *
 * The step does as much of each job in each block as its share is. Where there is a second
 * thread, a worker does those of partitions of two blocks and more, the most urgent first, and
 * the step only what is not done a block before it is due. A segment's job is whose lock it is;
 * between units the lock is free. The worker's results lie in rings of their own.
 *
 * A mask that is to sound is armed first: its slot's rings are emptied, it joins the jobs
 * that begin from then on, and jobs like those that began before it came are done for it
 * alone, in the step, a share a block. Then all that is due to it is there.
 */
#ifndef HALO_CONVOLVER_CPU_LIVE_H
#define HALO_CONVOLVER_CPU_LIVE_H

#include "convolve/convolver_cpu.h"

#include <pthread.h>
#include <stdatomic.h>

enum side_of_ring { STEPS_RING, WORKER_RING, RINGS };

/* How far the work on one partition has come. */
struct segment_job {
    uint64_t full;      /* the end of its partition, in frames of the stream; 0: no job yet */
    const float **ends; /* [input] where its partition ends in the history */
    size_t input;       /* to be transformed next; all of them come first */
    size_t slot;        /* then these: whose output comes next, and within it */
    size_t output;
    size_t path;                      /* of the output, in the order of the slot's path table */
    size_t partition;                 /* of the mask */
    const struct cpu_live_mask *only; /* one that is armed; NULL: all that are wanted */
    enum side_of_ring ring;           /* where its results go */
    bool summing;                     /* the sum holds what came of the output so far */
    float *sum;                       /* of the output */
    float *samples;                   /* of one transform */
    double cost;                      /* ns by the model, all of it */
    double done;                      /* of that */
};

struct segment {
    struct partition_segment cut;
    struct fft *fft;
    size_t floats; /* of a spectrum */
    size_t depth;
    size_t newest;
    float **spectra; /* [input] */
    enum side_of_ring ring;
    struct segment_job job; /* for the partition that was full last */
    /* Whose masks the job is for. NULL: nobody waits for it (any more). The step's to write;
     * a mask that is about to be freed leaves under the lock. */
    _Atomic(const struct cpu_live_mask *) wanted[CONVOLVER_SLOTS];
    atomic_flag lock;              /* held by who works on the job */
    atomic_uint_fast64_t deadline; /* frames; UINT64_MAX: nothing is left of the job */
};

/* The mask that a slot has in the jobs that begin. */
struct joined {
    const struct cpu_live_mask *mask; /* or NULL */
    uint64_t number;                  /* of it: another may come to lie where it did */
    bool awaited;                     /* it was asked for since the step before */
};

/* A mask on its way to a slot. */
struct arming {
    const struct cpu_live_mask *prepared;
    uint64_t number; /* of it; 0: none is */
    size_t slot;
    size_t free_segments; /* the first ones, which the worker does not work on for the slot */
    size_t emptied;       /* floats of the slot's rings, one after the other */
    bool joined;
    uint64_t fulls[PARTITION_SEGMENTS_MOST]; /* of the last job that it was not in; 0: none */
    size_t segment;                          /* whose jobs are being caught up with */
    bool caught_up;                          /* with the one in `job` */
    struct segment_job job;
};

struct cpu_live_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end; /* frames that came in, the block at hand included */
    struct segment segments[PARTITION_SEGMENTS_MOST];
    size_t due_length;                   /* frames of an output's ring */
    float **due[RINGS][CONVOLVER_SLOTS]; /* [output]; WORKERS_RING: NULL without a worker */
    struct joined joined[CONVOLVER_SLOTS];
    struct arming arming;

    pthread_t worker; /* works on the jobs of WORKERS_RING, a priority below the step */
    bool has_worker;
    atomic_bool leave;
    int64_t worker_period; /* ns from one beginning of its shortest jobs to the next */
};

struct cpu_live_mask {
    uint64_t number; /* from 1 on, no two alike */
    struct path_table paths;
    float *head;                                /* column after column, plan.head taps each */
    size_t partitions[PARTITION_SEGMENTS_MOST]; /* that are not all zero */
    float *spectra[PARTITION_SEGMENTS_MOST];    /* column after column, part after part */
};

/* ---- jobs and the worker: convolver_cpu_live_job.c; real-time ---- */

/* A segment's job for the partition that is full now. */
void job_begin(struct cpu_live_convolution *convolution, size_t s);

/* As many units as come to no more than `until` ns of the whole job, or just the next one;
 * the lock is the caller's. */
void job_run(struct cpu_live_convolution *convolution, size_t s, double until);
void job_run_unit(struct cpu_live_convolution *convolution, size_t s);

/* One unit of a job for an armed mask, whose partition is transformed; adds to job->done.
 * False: nothing was left of it. */
bool job_run_armed(const struct cpu_live_convolution *convolution, size_t s,
                   struct segment_job *job);

/* The lock, waited for as long as a unit takes: the step asks for one that another may hold
 * only where a job was not done in time. */
void job_lock(struct segment *segment);
bool job_try(struct segment *segment); /* true: it is the caller's */
void job_release(struct segment *segment);

/* When a thread looks for work that comes once a period from a thread that must not wake it.
 *
 * Where work is there at the first look, the next one is a little earlier; where none is, it
 * looks again soon, and then knows when work comes. So looks keep falling in with the other
 * thread's beat, whatever either clock does, at little more than one a period
 * where that is known.
 * Plain arithmetic; times are a clock's nanoseconds. Threads: one. Real-time.
 */
struct poll_timer {
    int64_t period; /* ns */
    int64_t look;   /* when the look at hand was to be */
    int64_t found;  /* when the last one was that found work */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now);

/* Call with what the look at hand came to, after the work that it found is done. Returns when
 * to look next. */
int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now);

/* The thread's main: works on all jobs of WORKERS_RING until it is to leave. */
void *live_work(void *convolution);

/* ---- arming and the step: convolver_cpu_live_step.c; real-time ---- */

/* Hz, of the stream; where nobody knows it, as high as it may be. */
static inline double live_rate(const struct cpu_live_convolution *convolution)
{
    return convolution->shape.rate ? convolution->shape.rate : 192000;
}

/* A slot is in no job that begins from now on. */
void cpu_live_leave(struct cpu_live_convolution *convolution, size_t slot);

/* See struct convolver_backend. */
bool cpu_live_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                  bool at_once);
void cpu_live_step(struct convolution *convolution, const float *const *in,
                   const struct convolver_slot slots[CONVOLVER_SLOTS]);

#endif
