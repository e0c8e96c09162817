/* The CPU's convolver for blocks that are short compared with the mask: a direct head and
 * segments of growing partitions, without latency. Private to its set-up and its step.
 *
 * A segment keeps the spectra of its recent partitions of each input in a ring. Results wait in a
 * ring per segment, slot and output until they are due. When a partition of a segment is full, its
 * job begins: transform it for every input; then for every slot and output multiply spectra, sum,
 * transform back and add to the ring. Jobs are done in units, none longer than one transform, and
 * must be finished one block before the next partition is full. Only partitions of one block's
 * length are due at once.
 *
 * In each block the step does its share of each job. If there are more threads, workers do the
 * jobs of partitions of two blocks and more, the most urgent first, and the step only what is
 * unfinished one block before it is due. A job of theirs is in lanes, each a share of the inputs
 * and of the outputs. Products begin when the inputs of all lanes are transformed. The holder of a
 * lane's lock works on its job; between units the lock is free. Any worker takes whatever is due
 * first, so that one that is held up delays no more than its unit.
 *
 * The step's own work (the history, partitions of one block, the direct head, what is due) is in
 * pieces of channels. Where it takes much of a block, the workers take pieces as well: they expect
 * the block, are awake when it comes, and begin nothing long before it. The step waits for no
 * worker that has not taken a piece.
 *
 * Every sum is in one order, whoever computes what and when, so that the sound is the same to the
 * bit for any number of workers.
 *
 * Before a mask becomes active it is armed: the rings of its slot are cleared, it joins the jobs
 * that begin from then on, and the step repeats the earlier jobs for it alone, a share per block.
 */
#ifndef HALO_CONVOLVER_CPU_LIVE_H
#define HALO_CONVOLVER_CPU_LIVE_H

#include "base/futex.h"
#include "base/realtime.h"
#include "convolve/convolver_cpu.h"

#include <pthread.h>
#include <stdatomic.h>

/* For each precision. */
#define job_begin REAL(job_begin)
#define job_run REAL(job_run)
#define job_run_unit REAL(job_run_unit)
#define job_run_armed REAL(job_run_armed)
#define job_lock REAL(job_lock)
#define job_pause REAL(job_pause)
#define job_is_done REAL(job_is_done)
#define job_try REAL(job_try)
#define job_release REAL(job_release)
#define poll_timer_start REAL(poll_timer_start)
#define poll_timer_next REAL(poll_timer_next)
#define live_work REAL(live_work)
#define live_share_cost REAL(live_share_cost)
#define live_share_is_worthwhile REAL(live_share_is_worthwhile)
#define live_share_init REAL(live_share_init)
#define live_share_begin REAL(live_share_begin)
#define live_share_run REAL(live_share_run)

enum { LANES_MOST = 32, LANE_ARMING = LANES_MOST };

/* The progress of the work on one partition: of a lane, or for a mask being armed. */
struct segment_job {
    uint64_t full; /* the end of its partition, in frames of the stream; 0: no job yet */
    size_t lane;   /* or LANE_ARMING */
    size_t input;  /* next to be transformed, up to input_end; they come first */
    size_t input_end;
    size_t first_output, output_end;
    size_t slot; /* then whose output is next, and the position within it */
    size_t output;
    size_t path;                      /* of the output, in the slot's path table */
    size_t partition;                 /* of the mask */
    const struct cpu_live_mask *only; /* the mask being armed; NULL: all wanted ones */
    bool summing;                     /* `sum` holds products of the output */
    const struct fft_double *precise; /* which has that sum then; NULL: single precision */
    real *sum;
    real *samples; /* of one transform */
    double cost;   /* estimated ns in all */
    double done;   /* of `cost` */
};

struct lane {
    struct segment_job job;        /* of the last full partition */
    atomic_flag lock;              /* held while working on the job */
    atomic_uint_fast64_t deadline; /* frames; UINT64_MAX: the job is done */
};

struct segment {
    struct partition_segment cut;
    struct real_odd_fft *fft;
    size_t floats;                       /* of a spectrum */
    double transform_cost, product_cost; /* estimated ns */
    size_t depth;
    size_t newest;
    uint64_t full;                   /* of the jobs */
    const real **ends;               /* [input] where their partition ends in the history */
    atomic_size_t untransformed;     /* inputs of the jobs */
    real **spectra;                  /* [input] */
    atomic_uint_fast64_t near_until; /* frames: until then outputs may come near the bound */
    /* What is due, a ring of blocks, each of them output by output: zeros where no result is. */
    real *due[CONVOLVER_SLOTS];
    size_t due_length; /* frames */
    bool helped;       /* by workers, in lanes; the step's are in its pieces */
    struct lane *lanes;
    size_t lane_count;
    /* The masks the jobs serve; NULL: none. Written by the step; a mask that is about to be freed
     * is removed under the locks. */
    _Atomic(const struct cpu_live_mask *) wanted[CONVOLVER_SLOTS];
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
    size_t free_segments; /* number of segments the workers are known to have left */
    size_t emptied_rings; /* of the slot, one a segment */
    size_t emptied;       /* samples of the next one */
    bool joined;
    uint64_t fulls[PARTITION_SEGMENTS_MOST]; /* of the last job without the mask; 0: none */
    size_t segment;                          /* whose jobs are being repeated */
    bool caught_up;                          /* `job` is done */
    struct segment_job job;
};

struct cpu_live_convolution;

/* Does jobs of helped segments and pieces of the step, one priority below it. */
struct live_worker {
    struct cpu_live_convolution *convolution;
    size_t first_lane; /* where it looks first, as the next */
    size_t first_piece;
    unsigned phase; /* the last one it took part in */
    pthread_t thread;
};

/* The step's own work in a block, in two phases: what the inputs need, then the outputs. The first
 * phase ever is number 1. A piece is taken by counting it up to the phase's number, which fails
 * for any phase but the current one, and the next phase begins when all pieces are done. */
struct live_share {
    size_t pieces;         /* 1: the step does it alone */
    int64_t period;        /* ns, of a block */
    const real *const *in; /* of the block, as the next */
    const struct convolver_slot *slots;
    atomic_uint phase;             /* number of the current one */
    atomic_size_t left;            /* pieces that are not done */
    atomic_int_fast64_t expected;  /* when the next block comes, monotonic_ns() */
    atomic_uint taken[LANES_MOST]; /* [piece]: number of the last phase for which it was taken */
};

struct cpu_live_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end;      /* input frames so far, with the current block */
    _Atomic real peak; /* of the sound so far; written by the step */
    struct segment segments[PARTITION_SEGMENTS_MOST];
    struct live_share share;
    struct joined joined[CONVOLVER_SLOTS];
    struct arming arming;

    struct live_worker workers[LANES_MOST];
    size_t worker_count; /* that are started */
    size_t lanes;        /* of the helped segments */
    bool worker_late;    /* in the last step */
    struct futex bell;   /* raised when there is more to do for workers that found nothing */
    atomic_bool leave;
    int64_t worker_period; /* ns between the beginnings of their shortest jobs */
};

/* What is due to an output in the block from `frame` on. */
HALO_REALTIME static inline real *due_block(const struct cpu_live_convolution *convolution,
                                            const struct segment *segment, size_t slot,
                                            size_t output, uint64_t frame)
{
    size_t row = (size_t)(frame % segment->due_length) * convolution->shape.outputs;
    return segment->due[slot] + row + output * convolution->shape.block;
}

struct cpu_live_mask {
    uint64_t number; /* unique, from 1 on */
    struct path_table paths;
    real *head;                                 /* column by column, plan.head taps each */
    size_t partitions[PARTITION_SEGMENTS_MOST]; /* that are not all zero */
    real *spectra[PARTITION_SEGMENTS_MOST];     /* column by column, partition by partition */
    struct near_bound bound;
    /* [lane]: where outputs may come near the bound */
    struct fft_double *precise[LANES_MOST + 1][PARTITION_SEGMENTS_MOST];
};

/* ---- jobs: convolver_cpu_live_job.c; real-time ---- */

/* Begin the jobs of the partition that has just become full. */
void job_begin(struct cpu_live_convolution *convolution, size_t s);

/* Do units up to `until` ns of the job's cost, or transform its inputs, or do the next unit. The
 * caller holds the lane's lock. */
void job_run(struct cpu_live_convolution *convolution, size_t s, struct lane *lane, double until);
enum job_progress { JOB_RAN, JOB_WAITS /* for inputs of other lanes */, JOB_DONE };
enum job_progress job_run_unit(struct cpu_live_convolution *convolution, size_t s,
                               struct lane *lane);

/* One unit of a job for the mask being armed, with the inputs transformed; adds to job->done.
 * False: the job is done. */
bool job_run_armed(struct cpu_live_convolution *convolution, size_t s, struct segment_job *job);

/* Whether the jobs of all lanes are done. */
bool job_is_done(const struct segment *segment);

/* Waiting takes one unit at most. The step locks a worker's lane only if its job is late, or
 * begins. job_pause is one turn of such a wait, numbered from 1 on. */
void job_pause(size_t turn);
void job_lock(struct lane *lane);
bool job_try(struct lane *lane); /* true: the caller holds it now */
void job_release(struct lane *lane);

/* ---- the step's own work: convolver_cpu_live_job.c; real-time but for its set-up ---- */

/* Estimated ns of the step's own work in a block, and whether workers share it. */
double live_share_cost(const struct convolver_shape *shape, const struct partition_plan *plan);
bool live_share_is_worthwhile(const struct convolver_shape *shape,
                              const struct partition_plan *plan);

/* The number of pieces, and no phase yet. */
void live_share_init(struct cpu_live_convolution *convolution);

/* For the step: a block has come. Then each of its two phases. */
void live_share_begin(struct cpu_live_convolution *convolution, const real *const *in,
                      const struct convolver_slot slots[CONVOLVER_SLOTS]);
void live_share_run(struct cpu_live_convolution *convolution);

/* ---- the workers: convolver_cpu_live_job.c; real-time ---- */

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

/* A worker's main: until `leave`. */
void *live_work(void *live_worker);

/* Hz; if unknown, as high as it may be. */
static inline double live_rate(const struct convolver_shape *shape)
{
    return shape->rate ? shape->rate : 192000;
}

#endif
