/* The batch bench: many sounds of noise through rooms of noise on GPUs, as halo batch does it, from
 * memory.
 *
 *   copies    only the copies to the devices and back: the bound of `pinned`
 *   device    sounds and results stay in the devices' memory
 *   pinned    from host memory that the devices read, and back
 *   gathered  from ordinary memory through gather.h: threads copy, gather batches, and wait
 *
 * Sounds and rooms have random lengths. Masks are on the devices before the time begins, but for
 * `gathered`. Some frames of results are compared with double precision. Threads: the control
 * thread.
 */
#ifndef HALO_BATCH_BENCH_H
#define HALO_BATCH_BENCH_H

#include "convolve/gather_device.h"

enum { BATCH_BENCH_DEVICES = 64, BATCH_BENCH_ROUNDS = 101 };

enum batch_bench_memory {
    BENCH_COPIES,
    BENCH_DEVICE,
    BENCH_PINNED,
    BENCH_GATHERED,
    BENCH_MEMORIES
};

struct batch_bench_settings {
    const struct gather_device_kind *kind;
    size_t sounds, rooms; /* sounds of a round */
    size_t rate;
    double shortest, longest; /* sounds, in seconds */
    double room;              /* the longest; the shortest is a fifth of that */
    size_t threads;           /* of `gathered` */
    size_t rounds;
};

struct batch_bench_row {
    size_t devices;
    const char *memory;
    double sounds;      /* a second: the median of the rounds */
    double seconds;     /* of sound a second */
    double samples;     /* a second, of the sounds */
    double least, most; /* of the rounds, as `samples` */
    double of_copies;   /* `samples` relative to those of the copies; NAN: first of all */
    double error_db;    /* relative to max|x| sum|h|; NAN: not looked at */
};

struct batch_bench;

/* On the first `devices` devices. Errors: there are not so many; memory. */
MUST_CHECK enum status batch_bench_create(const struct batch_bench_settings *settings,
                                          size_t devices, struct batch_bench **bench);
void batch_bench_destroy(struct batch_bench *bench);

/* Errors: a device fails. */
MUST_CHECK enum status batch_bench_measure(struct batch_bench *bench,
                                           enum batch_bench_memory memory,
                                           struct batch_bench_row *row);

#endif
