/* What batch_bench.c (batches that are full) and batch_bench_gather.c (gathered by threads) share.
 */
#ifndef HALO_BATCH_BENCH_STATE_H
#define HALO_BATCH_BENCH_STATE_H

#include "bench/batch_bench.h"
#include "mask/mask.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

/* A device with batches that are full, and the thread that runs them. */
struct bench_station {
    struct batch_bench *bench;
    struct gather_device *device;
    struct gather_batch *batches[GATHER_BATCHES], *scratch;
    struct gather_form **forms; /* of each room: a list */
    size_t sounds, frames;      /* of a round */
    const char *why;            /* it failed; or NULL */
};

struct batch_bench {
    struct batch_bench_settings settings;
    uint64_t random;
    struct mask **rooms;
    struct path_table paths;
    size_t station_count;
    struct bench_station stations[BATCH_BENCH_DEVICES];
    pthread_mutex_t gate; /* threads begin when it opens */
    atomic_size_t taken;  /* sounds */
    double copies;        /* samples a second; 0: not measured */
    double gather_error;
};

struct bench_round {
    size_t sounds, frames;
    double seconds;
};

/* Prints that its device failed. */
MUST_CHECK enum status batch_bench_fail(const struct bench_station *station, const char *why);

/* station->bench is set, and has its rooms. Errors: the device, memory. A station that is half open
 * may be closed. */
MUST_CHECK enum status bench_station_open(struct bench_station *station, int number);
void bench_station_close(struct bench_station *station);

/* Threads, each with one of the contexts of `size` bytes. They begin with batch_bench_wait, and
 * wait there until finish, which takes the time until all have ended. Errors: threads; a signal. */
MUST_CHECK enum status batch_bench_start(struct batch_bench *bench, pthread_t *threads,
                                         size_t count, void *(*run)(void *context), void *contexts,
                                         size_t size);
MUST_CHECK enum status batch_bench_finish(struct batch_bench *bench, pthread_t *threads,
                                          size_t count, double *seconds);

void batch_bench_wait(struct batch_bench *bench);

/* The length of the next sound. */
size_t batch_bench_frames(struct batch_bench *bench, uint64_t *random);

/* Of some frames, relative to max|x| sum|h|. */
double batch_bench_error(const struct mask *room, const float *in, const float *out, size_t frames,
                         uint64_t *random);

MUST_CHECK enum status batch_bench_gather(struct batch_bench *bench, struct bench_round *round);

#endif
