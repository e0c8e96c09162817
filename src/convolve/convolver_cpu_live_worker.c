/* The CPU's live convolver: the thread that works on long partitions beside the step.
 *
 * It looks for jobs by its own clock, so that the step has no system call to make: waking a
 * thread costs the one that wakes it some 10 us, more where the machine is virtual and the
 * other processor has to be interrupted. Jobs of the shortest of its partitions can be due a
 * block after they began: the looks fall in with their beginnings.
 */
#include "convolve/convolver_cpu_live.h"

#include "base/poll_timer.h"
#include "base/monotonic.h"
#include "base/realtime.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct live_worker {
    struct convolution *convolution;
    int64_t period; /* ns from one beginning of the shortest jobs to the next */
    atomic_bool leave;
    pthread_t thread;
    bool started;
};

/* The job whose results are due first; segment_count where nothing is to be done. */
static size_t most_urgent(const struct convolution *convolution)
{
    size_t best = convolution->plan.segment_count;
    uint64_t earliest = UINT64_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        uint64_t deadline = atomic_load(&convolution->segments[s].deadline);
        if (convolution->segments[s].ring != WORKER_RING || deadline >= earliest)
            continue;
        earliest = deadline;
        best = s;
    }
    return best;
}

/* One unit of the most urgent job; false when there is none. */
static bool help(struct convolution *convolution)
{
    size_t s = most_urgent(convolution);
    if (s == convolution->plan.segment_count)
        return false;
    struct segment *segment = &convolution->segments[s];
    job_lock(segment);
    job_run_unit(convolution, s); /* the step may have done the rest by now: then nothing */
    job_release(segment);
    return true;
}

static void *worker_main(void *argument)
{
    struct live_worker *worker = argument;
    realtime_flush_denormals();
    struct poll_timer clock = poll_timer_start(worker->period, monotonic_ns());
    while (!atomic_load(&worker->leave)) {
        bool found = false;
        while (!atomic_load(&worker->leave) && help(worker->convolution))
            found = true;
        monotonic_sleep_until(poll_timer_next(&clock, found, monotonic_ns()));
    }
    return NULL;
}

static int64_t jobs_period(const struct convolution *convolution)
{
    size_t shortest = SIZE_MAX;
    for (size_t s = 0; s < convolution->plan.segment_count; s++) {
        const struct segment *segment = &convolution->segments[s];
        if (segment->ring == WORKER_RING && segment->cut.size < shortest)
            shortest = segment->cut.size;
    }
    return (int64_t)(1e9 * (double)shortest / live_rate(convolution));
}

enum status live_worker_create(struct convolution *convolution, struct live_worker **result)
{
    struct live_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return fail_memory("a convolver");
    worker->convolution = convolution;
    worker->period = jobs_period(convolution);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    worker->started = pthread_create(&worker->thread, NULL, worker_main, worker) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!worker->started) {
        live_worker_destroy(worker);
        return fail(STATUS_FAILED, "cannot start a thread; try --threads 1");
    }
    realtime_lower(worker->thread);
    *result = worker;
    return STATUS_OK;
}

void live_worker_destroy(struct live_worker *worker)
{
    if (!worker)
        return;
    atomic_store(&worker->leave, true);
    if (worker->started)
        pthread_join(worker->thread, NULL);
    free(worker);
}
