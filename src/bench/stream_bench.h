/* The stream bench: the time that a convolver takes for a block of a live stream.
 *
 * A cell is one convolver (halo's, or another program's as a filter), with a mask of noise for each
 * channel, or for each pair of channels (a matrix). It processes blocks of noise. Each block is
 * timed from input to output on the calling thread. Before and after, outputs are compared with a
 * sum in double precision.
 *
 * Paced: block n begins n periods after the first, as with a sound card. A delayed block begins as
 * soon as possible, and later blocks keep their times. If the system allows it, the thread and its
 * workers get real-time priority, and memory is locked.
 * Spun: like paced, but at ordinary priority and without sleep between blocks. So the times exclude
 * the cost of waking (cold caches, a lower clock).
 * Back to back: each block begins when the previous one is done. Spun and back to back run at
 * ordinary priority, since Linux throttles a real-time thread that never sleeps.
 *
 * At every pace, the first STREAM_FIRST_BLOCKS blocks run back to back and are not timed. */
#ifndef HALO_STREAM_BENCH_H
#define HALO_STREAM_BENCH_H

#include "base/status.h"
#include "convolve/convolver.h"

enum { STREAM_FIRST_BLOCKS = 14 };

enum stream_pace { STREAM_PACED, STREAM_SPUN, STREAM_BACK_TO_BACK };

struct stream_cell;

/* Makes a filter with the cell's block that convolves each channel with its column of `mask`. Mask
 * and workers outlive the filter; the bench destroys it. */
typedef enum status stream_make(const struct stream_cell *cell, const struct mask *mask,
                                struct workers *workers, struct filter **filter);

struct stream_cell {
    const char *backend; /* name of a backend (convolver_backend_name); with `make`, any name */
    stream_make *make;   /* NULL: halo's convolver */
    enum gpu_mode gpu_mode;
    struct gpu_devices devices;
    enum stream_pace pace;
    uint32_t rate; /* Hz */
    size_t block;  /* frames */
    size_t channels;
    bool matrix; /* a path from each channel to each channel */
    size_t taps;
    size_t threads;
    size_t blocks;  /* blocks to time, at least 1 */
    double seconds; /* time after which no further block begins */
    double warm_up; /* seconds before timing, at the cell's pace */
};

/* The result of a cell. Times are in seconds. */
struct stream_row {
    struct stream_cell cell;
    char algorithm[128];
    double period; /* duration of a block at the rate: its deadline */
    size_t blocks; /* blocks that were timed */
    double p50;
    double p99;
    double p999;
    double p9999;
    double most; /* longest time of a block */
    double sum;
    double cpu;    /* processor time of all threads during the timed blocks, including spinning */
    size_t missed; /* blocks that took longer than their period */
    size_t late;   /* blocks that ended after the end of their period; SIZE_MAX: back to back */
    size_t worker_late;       /* blocks in which the step did the work of a late worker */
    double share;             /* p50 divided by the period */
    double blocks_per_second; /* NAN unless back to back */
    double times_real_time;   /* NAN unless back to back */
    double cpu_per_second;    /* NAN unless back to back */
    const char *pace_name;    /* name for the report */
    const char *mode_name;    /* NULL: no GPU */
    const char *paths_name;
    double error_db; /* largest error at sampled places, in dB of max|x| sum|h| */
    bool realtime;   /* real-time priority was granted */
    bool locked;     /* memory was locked */
};

/* Measures a cell. Errors: memory, threads, a backend that is not available or fails, a wrong
 * result. STATUS_INTERRUPTED after a signal. */
MUST_CHECK enum status stream_bench_measure(const struct stream_cell *cell, struct stream_row *row);

#endif
