/* The CPU's convolver for blocks that are short compared with the mask: a direct head and segments
 * of growing partitions, without latency. Private to its .c files.
 *
 * A segment keeps the spectra of each input's recent partitions in a ring. Results wait until they
 * are due in rings of their own, one for each segment, slot and output. When a partition of a
 * segment is full, its job begins:
 *   1. transform the partition of every input;
 *   2. for every slot and output, multiply spectra, sum, transform back and add to the ring.
 * A job is done in units of at most one transform. It must be finished one block before the next
 * partition is full. Only partitions of one block's length are due at once.
 *
 * In each block the step does its share of each job. If there are more threads, workers do the jobs
 * of partitions of two blocks and more, the most urgent first. The step then does only what is
 * unfinished one block before it is due. A worker's job is divided into lanes. Each lane has a
 * share of the inputs and of the outputs. Products begin when the inputs of all lanes are
 * transformed. Whoever holds a lane's lock works on the lane's job, and frees the lock between
 * units. Any worker takes the lane that is due first, so that a worker that is held up delays only
 * its unit.
 *
 * The step's own work (the history, partitions of one block, the direct head, results that are due)
 * is divided into pieces, each for some channels. If this work takes much of a block, workers take
 * pieces, too. They are awake when the block is expected and begin no long unit shortly before. The
 * step does not wait for a worker that has not taken a piece.
 *
 * Every sum is computed in one order, so the sound is the same to the bit for any number of
 * workers.
 *
 * A mask is armed before it becomes active: its slot's rings are cleared, it joins the jobs that
 * begin from then on, and the step repeats the earlier jobs for this mask alone, a share per block.
 */
#ifndef HALO_CONVOLVER_CPU_LIVE_H
#define HALO_CONVOLVER_CPU_LIVE_H

#include "base/futex.h"
#include "base/realtime.h"
#include "convolve/convolver_cpu.h"

#include <pthread.h>
#include <stdatomic.h>

/* Names of their own for each precision. */
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

/* The progress of one job: of a lane, or for a mask being armed. */
struct segment_job {
    uint64_t full;    /* frame of the stream at which the job's partition ends; 0: no job yet */
    size_t lane;      /* number of the lane, or LANE_ARMING */
    size_t input;     /* next input to transform; inputs come before outputs */
    size_t input_end; /* end of the lane's inputs */
    size_t first_output, output_end;  /* the lane's outputs: first one, end */
    size_t slot;                      /* slot of the next output */
    size_t output;                    /* next output of that slot */
    size_t path;                      /* next path of that output, in the slot's path table */
    size_t partition;                 /* next partition of the mask on that path */
    const struct cpu_live_mask *only; /* mask being armed; NULL: the job serves all wanted masks */
    bool summing;                     /* `sum` or `precise` holds products of the current output */
    const struct fft_double *precise; /* holds the sum in double precision; NULL: `sum` holds it */
    real *sum;
    real *samples; /* scratch for one transform */
    double cost;   /* estimated ns of the whole job */
    double done;   /* estimated ns that are done */
};

struct lane {
    struct segment_job job;        /* job of the last full partition */
    atomic_flag lock;              /* held while working on the job */
    atomic_uint_fast64_t deadline; /* frames; UINT64_MAX: the job is done */
};

struct segment {
    struct partition_segment cut;
    struct real_odd_fft *fft;
    size_t floats;                       /* length of a spectrum */
    double transform_cost, product_cost; /* estimated ns */
    size_t depth;                        /* spectra of each input in the ring */
    size_t newest;                       /* place of the newest spectrum */
    uint64_t full;                   /* frame of the stream at which the last full partition ends */
    const real **ends;               /* [input] end of the last full partition in the history */
    atomic_size_t untransformed;     /* inputs of the current job that are not transformed yet */
    real **spectra;                  /* [input] the ring of spectra */
    atomic_uint_fast64_t near_until; /* frame until which outputs may come near the bound */
    /* Results that are not due yet, in a ring of blocks, each output by output. Zeros elsewhere. */
    real *due[CONVOLVER_SLOTS];
    size_t due_length; /* frames in that ring */
    bool helped; /* Workers do the jobs, in lanes. If false, the jobs are in the step's pieces. */
    struct lane *lanes;
    size_t lane_count;
    /* Masks that the jobs serve; NULL: none. The step writes it. The control thread removes a mask
     * that it is about to free, holding the locks of all lanes. */
    _Atomic(const struct cpu_live_mask *) wanted[CONVOLVER_SLOTS];
};

/* The mask of a slot in the jobs that begin from now on. */
struct joined {
    const struct cpu_live_mask *mask; /* NULL: none */
    uint64_t number;                  /* the mask's unique number, as its address may be reused */
    bool awaited;                     /* The mask was armed after the last step. */
};

/* A mask being armed. */
struct arming {
    const struct cpu_live_mask *prepared;
    uint64_t number; /* the mask's number; 0: no mask is being armed */
    size_t slot;
    size_t free_segments; /* segments whose workers are known to have left the slot's former mask */
    size_t emptied_rings; /* rings of the slot that are cleared, one for each segment */
    size_t emptied;       /* samples of the next ring that are cleared */
    bool joined;          /* the mask takes part in jobs that begin */
    uint64_t fulls[PARTITION_SEGMENTS_MOST]; /* [segment] `full` of the last job without it, or 0 */
    size_t segment;                          /* segment whose earlier jobs are being repeated */
    bool caught_up;                          /* no earlier job is being repeated; `job` is done */
    struct segment_job job;                  /* an earlier job, repeated for the mask alone */
};

struct cpu_live_convolution;

/* A thread for jobs of helped segments and for the step's pieces, one priority below the step's. */
struct live_worker {
    struct cpu_live_convolution *convolution;
    size_t first_lane;  /* lane that the worker tries first */
    size_t first_piece; /* piece that the worker tries first */
    unsigned phase;     /* number of the last phase in which the worker took part */
    pthread_t thread;
};

/* How the step's own work is shared. Each block has two phases, numbered from 1: the inputs' work,
 * then the outputs'. A thread takes a piece by raising its entry in `taken` to the phase's number,
 * which fails unless the phase is current. The next phase begins when all pieces are done. */
struct live_share {
    size_t pieces;                      /* number of pieces; 1: the step works alone */
    int64_t period;                     /* ns of a block */
    const real *const *in;              /* inputs of the current block */
    const struct convolver_slot *slots; /* slots of the current block */
    atomic_uint phase;                  /* number of the current phase */
    atomic_size_t left;                 /* pieces of the phase that are not done */
    atomic_int_fast64_t expected;       /* when the next block is expected, monotonic_ns() */
    atomic_uint taken[LANES_MOST];      /* [piece]: last phase in which the piece was taken */
};

struct cpu_live_convolution {
    struct convolver_shape shape;
    struct partition_plan plan;
    struct history history;
    uint64_t end;      /* input frames so far, including the current block */
    _Atomic real peak; /* peak of the sound so far; the step writes it */
    struct segment segments[PARTITION_SEGMENTS_MOST];
    struct live_share share;
    struct joined joined[CONVOLVER_SLOTS];
    struct arming arming;

    struct live_worker workers[LANES_MOST];
    size_t worker_count; /* workers that are running */
    size_t lanes;        /* lanes of each helped segment */
    bool worker_late;    /* A worker was late in the last step. */
    struct futex bell;   /* raised when there is new work for sleeping workers */
    atomic_bool leave;
    int64_t worker_period; /* ns between the beginnings of the workers' shortest jobs */
};

/* The results that are due to an output in the block that begins at `frame`. */
HALO_REALTIME static inline real *due_block(const struct cpu_live_convolution *convolution,
                                            const struct segment *segment, size_t slot,
                                            size_t output, uint64_t frame)
{
    size_t row = (size_t)(frame % segment->due_length) * convolution->shape.outputs;
    return segment->due[slot] + row + output * convolution->shape.block;
}

struct cpu_live_mask {
    uint64_t number; /* unique number of the mask, from 1 on */
    struct path_table paths;
    real *head; /* taps of the direct head, column by column, plan.head each */
    size_t partitions[PARTITION_SEGMENTS_MOST]; /* [segment] up to the last that is not all zero */
    real *spectra[PARTITION_SEGMENTS_MOST];     /* column by column, partition by partition */
    struct near_bound bound;
    /* [lane][segment] transforms in double precision; NULL: outputs do not come near the bound */
    struct fft_double *precise[LANES_MOST + 1][PARTITION_SEGMENTS_MOST];
};

/* ---- jobs: convolver_cpu_live_job.c; real-time ---- */

/* Begins the jobs of the partition of segment `s` that has just become full. */
void job_begin(struct cpu_live_convolution *convolution, size_t s);

/* job_run does units until `until` ns of the job's cost are done. job_run_unit transforms the
 * lane's inputs or does the next unit. The caller holds the lane's lock. */
void job_run(struct cpu_live_convolution *convolution, size_t s, struct lane *lane, double until);
enum job_progress { JOB_RAN, JOB_WAITS /* for inputs of other lanes */, JOB_DONE };
enum job_progress job_run_unit(struct cpu_live_convolution *convolution, size_t s,
                               struct lane *lane);

/* Does one unit of a job for the mask being armed and adds its cost to job->done. The inputs are
 * transformed already. False: the job is done. */
bool job_run_armed(struct cpu_live_convolution *convolution, size_t s, struct segment_job *job);

/* Whether the jobs of all lanes are done. */
bool job_is_done(const struct segment *segment);

/* A wait takes at most one unit. The step locks a worker's lane only when its job is late or
 * begins. job_pause is one turn of such a wait; turns are numbered from 1. */
void job_pause(size_t turn);
void job_lock(struct lane *lane);
bool job_try(struct lane *lane); /* true: the caller holds the lock now */
void job_release(struct lane *lane);

/* ---- the step's own work: convolver_cpu_live_job.c; real-time but for its set-up ---- */

/* Estimated ns of the step's own work in a block. */
double live_share_cost(const struct convolver_shape *shape, const struct partition_plan *plan);
/* Whether that work is large enough for workers to share it. */
bool live_share_is_worthwhile(const struct convolver_shape *shape,
                              const struct partition_plan *plan);

/* Sets the number of pieces. No phase has begun yet. */
void live_share_init(struct cpu_live_convolution *convolution);

/* For the step: live_share_begin announces a block; live_share_run runs one of its two phases. */
void live_share_begin(struct cpu_live_convolution *convolution, const real *const *in,
                      const struct convolver_slot slots[CONVOLVER_SLOTS]);
void live_share_run(struct cpu_live_convolution *convolution);

/* ---- the workers: convolver_cpu_live_job.c; real-time ---- */

/* Decides when to poll for work that arrives once a period. The thread that brings the work must
 * not wake the poller.
 *
 * If the first poll of a period finds work, the next period's poll is a little earlier. If not,
 * another poll follows soon. So the polls follow the other thread's period, even if the clocks
 * drift, with little more than one poll a period.
 * Plain arithmetic; times are ns of one clock. Threads: one. Real-time.
 */
struct poll_timer {
    int64_t period; /* ns */
    int64_t look;   /* time of the current poll */
    int64_t found;  /* time of the last poll that found work */
};

struct poll_timer poll_timer_start(int64_t period, int64_t now);

/* Call it after each poll, when the work found is done. Returns the time of the next poll. */
int64_t poll_timer_next(struct poll_timer *clock, bool found, int64_t now);

/* The main function of a worker. It returns once `leave` is set. */
void *live_work(void *live_worker);

/* The rate in Hz. If it is unknown, the highest usual rate. */
static inline double live_rate(const struct convolver_shape *shape)
{
    return shape->rate ? shape->rate : 192000;
}

#endif
