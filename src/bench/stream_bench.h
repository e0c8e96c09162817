/* The stream bench: the time that a convolver takes for a block of a live stream.
 *
 * A cell is one convolver (ours, or another program's as a filter), one mask of noise for each
 * channel or, as a matrix, for each pair of channels, and blocks of noise. Each block is timed from
 * input to output on the calling thread. Outputs are compared with a sum in double precision before
 * and after.
 *
 * Paced: block n begins n periods after the first, as with a sound card; a delayed block begins as
 * soon as possible and later ones keep their times. The thread and its workers get real-time
 * priority, and memory is locked, where the system allows it.
 * Spun: the same at ordinary priority without sleeping between blocks, which excludes the cost of
 * waking (cold caches, a lower clock).
 * Back to back: each block begins when the previous one is done. Spun and back to back run at
 * ordinary priority, since Linux throttles a real-time thread that never sleeps.
 *
 * The first STREAM_FIRST_BLOCKS are sent back to back at every pace and not timed.
 */
#ifndef HALO_STREAM_BENCH_H
#define HALO_STREAM_BENCH_H

#include "base/status.h"
#include "convolve/convolver.h"

enum { STREAM_FIRST_BLOCKS = 14 };

enum stream_pace { STREAM_PACED, STREAM_SPUN, STREAM_BACK_TO_BACK };

struct stream_cell;

/* Make a filter of the cell's block that convolves each channel with its column of `mask`. The mask
 * and the workers outlive it; the bench destroys it. */
typedef enum status stream_make(const struct stream_cell *cell, const struct mask *mask,
                                struct workers *workers, struct filter **filter);

struct stream_cell {
    const char *backend; /* a name of convolver_backend_name, or, with `make`, any */
    stream_make *make;   /* NULL: our convolver */
    enum gpu_mode gpu_mode;
    struct gpu_devices devices;
    enum stream_pace pace;
    uint32_t rate; /* Hz */
    size_t block;  /* frames */
    size_t channels;
    bool matrix; /* from each channel to each */
    size_t taps;
    size_t threads;
    size_t blocks;  /* to time, at least 1 */
    double seconds; /* after which no block begins, except the first */
    double warm_up; /* seconds at the cell's pace, before timing */
};

/* Times are in seconds. */
struct stream_row {
    struct stream_cell cell;
    char algorithm[128];
    double period; /* of a block at the rate: its deadline */
    size_t blocks; /* timed */
    double p50;
    double p99;
    double p999;
    double p9999;
    double most;
    double sum;
    double cpu;    /* of all threads of the process during the timed blocks, spinning included */
    size_t missed; /* blocks that took longer than their period */
    size_t late;   /* outputs that came after the end of their period; SIZE_MAX: back to back */
    size_t worker_late;       /* blocks in which the step did what a worker should have done */
    double share;             /* p50 over the period */
    double blocks_per_second; /* these three: NAN unless back to back */
    double times_real_time;
    double cpu_per_second;
    const char *pace_name; /* for the report */
    const char *mode_name; /* NULL: no GPU */
    const char *paths_name;
    double error_db; /* largest error at sampled places, of max|x| sum|h| */
    bool realtime;   /* real-time priority was granted */
    bool locked;     /* memory was locked */
};

/* Measure one cell. Errors: memory, threads, a backend that is unavailable or fails, a wrong
 * result. STATUS_INTERRUPTED after a signal. */
MUST_CHECK enum status stream_bench_measure(const struct stream_cell *cell, struct stream_row *row);

#endif
