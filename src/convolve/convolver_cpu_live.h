/* The CPU's convolver for blocks that are short compared with the mask: a direct head and
 * segments of growing partitions, without latency. Private to its set-up and its step.
 *
 * A segment keeps the spectra of its recent partitions of each input in a ring. Results wait in a
 * ring per output and slot until they are due. When a partition of a segment is full, its job
 * begins: transform it for every input; then for every slot and output multiply spectra, sum,
 * transform back and add to the ring. Jobs are done in units, none longer than one transform, and
 * must be finished one block before the next partition is full. Only partitions of one block's
 * length are due at once.
 *
 * In each block the step does its share of each job. If there is a second thread, a worker does
 * the jobs of partitions of two blocks and more, the most urgent first, and the step only what is
 * unfinished one block before it is due. The holder of a segment's lock works on its job; between
 * units the lock is free. The worker has its own rings of results.
 *
 * Before a mask becomes active it is armed: the rings of its slot are cleared, it joins the jobs
 * that begin from then on, and the step repeats the earlier jobs for it alone, a share per block.
 */
#ifndef HALO_CONVOLVER_CPU_LIVE_H
#define HALO_CONVOLVER_CPU_LIVE_H

#include "convolve/convolver_cpu.h"

#include <pthread.h>
#include <stdatomic.h>

/* For each precision. */
#define job_begin REAL(job_begin)
#define job_run REAL(job_run)
#define job_run_unit REAL(job_run_unit)
#define job_run_armed REAL(job_run_armed)
#define job_lock REAL(job_lock)
#define job_try REAL(job_try)
#define job_release REAL(job_release)
#define poll_timer_start REAL(poll_timer_start)
#define poll_timer_next REAL(poll_timer_next)
#define live_work REAL(live_work)
#define cpu_live_leave REAL(cpu_live_leave)
#define cpu_live_arm REAL(cpu_live_arm)
#define cpu_live_step REAL(cpu_live_step)
#define cpu_live_is_worker_late REAL(cpu_live_is_worker_late)

enum ring_owner { STEPS_RING, WORKER_RING, RINGS };

/* The progress of the work on one partition. */
struct segment_job {
    uint64_t full;     /* the end of its partition, in frames of the stream; 0: no job yet */
    const real **ends; /* [input] where its partition ends in the history */
    size_t input;      /* next to be transformed; all inputs come first */
    size_t slot;       /* then whose output is next, and the position within it */
    size_t output;
    size_t path;                      /* of the output, in the slot's path table */
    size_t partition;                 /* of the mask */
    const struct cpu_live_mask *only; /* the mask being armed; NULL: all wanted ones */
    enum ring_owner ring;             /* destination of the results */
    bool summing;                     /* `sum` holds products of the output */
    const struct fft_double *precise; /* which has that sum then; NULL: single precision */
    real *sum;
    real *samples; /* of one transform */
    double cost;   /* estimated ns in all */
    double done;   /* of `cost` */
};

struct segment {
    struct partition_segment cut;
    struct real_fft *fft;
    size_t floats; /* of a spectrum */
    size_t depth;
    size_t newest;
    real **spectra;      /* [input] */
    uint64_t near_until; /* frames: until then outputs may come near the bound */
    enum ring_owner ring;
    struct segment_job job; /* of the last full partition */
    /* The masks the job serves; NULL: none. Written by the step; a mask that is about to be freed
     * is removed under the lock. */
    _Atomic(const struct cpu_live_mask *) wanted[CONVOLVER_SLOTS];
    atomic_flag lock;              /* held while working on the job */
    atomic_uint_fast64_t deadline; /* frames; UINT64_MAX: the job is done */
};

/* A slot's mask in the jobs that begin. */
struct joined {
    const struct cpu_live_mask *mask; /* or NULL */
    uint64_t number;                  /* of the mask: its address may be reused */
    bool awaited;                     /* armed since the last step */
};

/* A mask being armed. */
struct arming {
    const struct cpu_live_mask *prepared;
    uint64_t number; /* of the mask; 0: none */
    size_t slot;
    size_t free_segments; /* number of segments the worker is known to have left */
    size_t emptied;       /* floats of the slot's rings, one after the other */
    bool joined;
    uint64_t fulls[PARTITION_SEGMENTS_MOST]; /* of the last job without the mask; 0: none */
    size_t segment;                          /* whose jobs are being repeated */
    bool caught_up;                          /* `job` is done */
    struct segment_job job;
};

struct cpu_live_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end;      /* input frames so far, with the current block */
    _Atomic real peak; /* of the sound so far; written by the step */
    struct segment segments[PARTITION_SEGMENTS_MOST];
    size_t due_length;                  /* frames of an output's ring */
    real **due[RINGS][CONVOLVER_SLOTS]; /* [output]; WORKER_RING: NULL without a worker */
    struct joined joined[CONVOLVER_SLOTS];
    struct arming arming;

    pthread_t worker; /* does the jobs of WORKER_RING, one priority below the step */
    bool has_worker;
    bool worker_late; /* in the last step */
    atomic_bool leave;
    int64_t worker_period; /* ns between the beginnings of its shortest jobs */
};

struct cpu_live_mask {
    uint64_t number; /* unique, from 1 on */
    struct path_table paths;
    real *head;                                 /* column by column, plan.head taps each */
    size_t partitions[PARTITION_SEGMENTS_MOST]; /* that are not all zero */
    real *spectra[PARTITION_SEGMENTS_MOST];     /* column by column, partition by partition */
    /* Where outputs may come near the bound; the jobs of a segment use the first, those of a mask
     * being armed the second. */
    struct near_bound bound;
    struct fft_double *precise[2][PARTITION_SEGMENTS_MOST];
};

/* ---- jobs and the worker: convolver_cpu_live_job.c; real-time ---- */

/* Begin the job of the partition that has just become full. */
void job_begin(struct cpu_live_convolution *convolution, size_t s);

/* Do units up to `until` ns of the job's cost, or only the next one. The caller holds the lock. */
void job_run(struct cpu_live_convolution *convolution, size_t s, double until);
void job_run_unit(struct cpu_live_convolution *convolution, size_t s);

/* One unit of a job for the mask being armed, with the inputs transformed; adds to job->done.
 * False: the job is done. */
bool job_run_armed(const struct cpu_live_convolution *convolution, size_t s,
                   struct segment_job *job);

/* Waiting takes one unit at most. The step locks a segment of the worker's only if its job is
 * late. */
void job_lock(struct segment *segment);
bool job_try(struct segment *segment); /* true: the caller holds it now */
void job_release(struct segment *segment);

/* When to poll for work that arrives once a period from a thread that must not wake the poller.
 *
 * If the first poll finds work, the next period's poll is a little earlier; if not, another
 * follows soon and finds when work arrives. So the polls follow the other thread's period, even
 * with clock drift, at little more than one poll per period.
 * Plain arithmetic; times are ns of one clock. Threads: one. Real-time.
 */
struct poll_timer {
    int64_t period; /* ns */
    int64_t look;   /* time of the current poll */
    int64_t found;  /* time of the last one that found work */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now);

/* Call after each poll, when the work it found is done. Returns the time of the next poll. */
int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now);

/* The worker's main: does the jobs of WORKER_RING until `leave`. */
void *live_work(void *convolution);

/* ---- arming and the step: convolver_cpu_live_step.c; real-time ---- */

/* Hz; if unknown, as high as it may be. */
static inline double live_rate(const struct cpu_live_convolution *convolution)
{
    return convolution->shape.rate ? convolution->shape.rate : 192000;
}

/* Remove a slot from the jobs that begin from now on. */
void cpu_live_leave(struct cpu_live_convolution *convolution, size_t slot);

/* See struct convolver_backend. */
bool cpu_live_arm(struct convolution *convolution, size_t slot, const struct prepared *prepared,
                  bool at_once);
bool cpu_live_is_worker_late(const struct convolution *convolution);
void cpu_live_step(struct convolution *convolution, const real *const *in,
                   const struct convolver_slot slots[CONVOLVER_SLOTS]);

#endif
