/* The stream bench: what a block costs a convolver that is fed as live sound is.
 *
 * A cell is one convolver (ours, or another program's as a filter), one mask of noise for
 * each channel, and blocks of noise handed in one by one. Each is timed from handing it in
 * to having its output, on the thread that calls. Outputs are compared with a sum in double
 * precision before and after.
 *
 * Paced: block n begins at n periods after the first, as a sound card would have it; a
 * block that is held up begins as soon as it can and the grid stays. Where the system
 * allows it the thread gets real-time priority (its helpers too) and memory is locked.
 * Spun: the same, but the thread does not sleep between blocks, which leaves out what
 * waking costs: caches gone cold, a processor that had clocked down.
 * Back to back: each block begins when the one before is done, at ordinary priority, as when
 * spun, since Linux holds a real-time thread that never sleeps off the processor.
 *
 * The first STREAM_FIRST_BLOCKS come back to back at every pace, and are not timed.
 */
#ifndef HALO_STREAM_BENCH_H
#define HALO_STREAM_BENCH_H

#include "base/status.h"
#include "convolve/convolver.h"

enum { STREAM_FIRST_BLOCKS = 14 };

enum stream_pace { STREAM_PACED, STREAM_SPUN, STREAM_BACK_TO_BACK };

struct stream_cell;

/* Make a filter of the cell's block that convolves with `mask`, each channel by a column of
 * its own. The mask and the workers outlive it; the bench destroys it. */
typedef enum status stream_make(const struct stream_cell *cell, const struct mask *mask,
                                struct workers *workers, struct filter **filter);

struct stream_cell {
    const char *backend; /* a name of convolver_backend_name; of `make`'s: any */
    stream_make *make;   /* NULL: our convolver */
    enum gpu_mode gpu_mode;
    enum stream_pace pace;
    uint32_t rate; /* Hz */
    size_t block;  /* frames */
    size_t channels;
    size_t taps;
    size_t threads;
    size_t blocks;  /* to time, at least 1 */
    double seconds; /* no block begins later than that, but the first */
    double warm_up; /* seconds at the cell's pace before */
};

/* Times are in seconds. */
struct stream_row {
    struct stream_cell cell;
    char algorithm[96];
    double period; /* of a block at the rate: its deadline */
    size_t blocks; /* that were timed */
    double p50;
    double p99;
    double p999;
    double p9999;
    double most;
    double sum;
    double cpu;    /* that all threads of the process ran during the timed blocks, waits spun too */
    size_t missed; /* blocks that took longer than their period */
    size_t late;   /* outputs that came after the end of their period; SIZE_MAX: back to back */
    double share;  /* p50 over the period */
    double blocks_per_second; /* these three: NAN unless back to back */
    double times_real_time;
    double cpu_per_second;
    const char *pace_name; /* for the report */
    const char *mode_name; /* NULL: no GPU */
    double error_db; /* largest error at sampled places, of max|x| sum|h| */
    bool realtime;   /* the priority was granted */
    bool locked;     /* the memory was */
};

/* Measure one cell. Errors: memory, threads, a backend that cannot work here or fails
 * on the way, a result that is wrong. STATUS_INTERRUPTED where a signal asked to stop. */
MUST_CHECK enum status stream_bench_measure(const struct stream_cell *cell, struct stream_row *row);

#endif
